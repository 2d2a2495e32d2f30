"""Pieces of messages out of whatever clients write: texts, thoughts, calls, results, media, counts;
and whose words stand under the user's role.

Every function takes values of any type, and makes of a wrong one an empty one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from kedgeline.formats.records import Record, mapping, mappings, maybe_tokens, string
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    SUMMARY_TAG,
    WRAPPERS,
    Media,
    Note,
    NoteKind,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

Kind = Literal["image", "document", "audio", "video", "file"]
Change = Literal["", "create", "update", "delete"]

# What was said.


def texts(content: Any) -> list[Piece]:
    """The texts of a string or of blocks, those that are empty left out."""
    blocks = content if isinstance(content, list) else [content]
    found = (block if isinstance(block, str) else mapping(block).get("text") for block in blocks)
    return [Text(text=text) for text in found if isinstance(text, str) and text]


def without(text: str, found: re.Match[str]) -> str:
    """The words around what was found in a text."""
    around = (text[: found.start()].strip(), text[found.end() :].strip())
    return "\n\n".join(filter(None, around))


def thoughts(text: Any, signature: Any = "") -> list[Piece]:
    thought = Thinking(text=string(text), signature=string(signature))
    return [thought] if thought.text or thought.signature else []


def reasoning(item: Record) -> list[Piece]:
    """A reasoning item of OpenAI's Responses API; without a text its seal alone is kept."""
    blocks = [block for name in ("summary", "content") for block in mappings(item.get(name))]
    words = filter(None, (string(block.get("text")) for block in blocks))
    return thoughts("\n\n".join(words), item.get("encrypted_content"))


def heard(content: Any, *, person: bool = True) -> list[Piece]:
    """What stands under the user's role, as a text or in blocks; where no `person` wrote it, its
    words are nobody's."""
    pieces: list[Piece] = []
    for block in content if isinstance(content, list) else [content]:
        text = block if isinstance(block, str) else mapping(block).get("text")
        if isinstance(text, str):
            if text.strip():
                pieces += said_by_user(text) if person else [Note(kind="injected", text=text)]
        elif isinstance(block, dict):
            pieces.append(other(block))
    return pieces


def said_by_agent(content: Any) -> list[Piece]:
    """What the assistant said, thought and called, as a text or in blocks."""
    if not isinstance(content, list):
        return texts(content)
    return [_spoken(block) for block in mappings(content)]


def _spoken(block: Record) -> Piece:
    """One block of an assistant's."""
    kind = block.get("type")
    if kind == "text":
        return Text(text=string(block.get("text")))
    if kind == "thinking":
        seal = string(block.get("signature")) or string(block.get("thinkingSignature"))
        return Thinking(text=string(block.get("thinking")), signature=seal)
    if kind == "redacted_thinking":
        return Thinking(signature=string(block.get("data")), wire={"type": kind})
    if kind in ("tool_use", "toolCall"):
        arguments = block.get("input" if kind == "tool_use" else "arguments")
        return call(block.get("id"), block.get("name"), arguments)
    return other(block)


def other(block: Record) -> Piece:
    """A block that holds no words: media, or one that nobody knows."""
    return media_of(block) or Opaque(kind=str(block.get("type")), wire=block)


def as_notes(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Words that are neither the user's nor the model's, whatever role they stand under."""
    return tuple(
        Note(kind="injected", text=piece.text, wire=piece.wire)
        if isinstance(piece, Text)
        else piece
        for piece in pieces
    )


# What was called, and what came of it.


def call(call_id: Any, tool: Any, arguments: Any) -> ToolCall:
    parameters = parsed_arguments(arguments)
    return ToolCall(id=string(call_id), tool=string(tool), parameters=parameters)


def calls_in(message: Record) -> list[ToolCall]:
    """The calls of a message as OpenAI's chat messages carry them; many agents write them so."""
    found = ((one, mapping(one.get("function"))) for one in mappings(message.get("tool_calls")))
    return [call(one.get("id"), named.get("name"), named.get("arguments")) for one, named in found]


def result(
    call_id: Any,
    content: Any,
    *,
    failed: bool = False,
    exit_code: int | None = None,
    refused: bool = False,
    reason: str = "",
    interrupted: bool = False,
    error: str = "",
    change: Change = "",
    around: str = "",
    media: Sequence[Media] = (),
) -> ToolResult:
    """A result. It is a success unless something says otherwise; a call that was refused did not
    fail either. The `error` is the output, where nothing else is told."""
    output, shown = text_and_media(content)
    success = not (failed or refused or interrupted or exit_code)
    return ToolResult(
        call_id=string(call_id),
        success=success,
        output=output,
        error=None if success or refused else error or output,
        exit_code=exit_code,
        refused=refused,
        reason=reason if refused else "",
        interrupted=interrupted,
        change=change if success else "",
        around=around if success else "",
        media=(*shown, *media),
    )


LOOKED_BACK = 2_000
"""Lines above an edit among which those that enclose it are looked for."""
HEAD_LENGTH = 200
"""Characters of such a line."""
NOT_OPENING = (".", "`", ";", '"', "'")
"""How no line ends that encloses others: prose in a string of several lines does."""
_HEADING = re.compile(r"#{1,6} \S")


def enclosing(text: str, place: int, path: str) -> str:
    """The lines of a file that enclose a place: by indentation, as every language has it; in
    Markdown the heading above."""
    end = text.rfind("\n", 0, place)
    indent = len(text[end + 1 : place].expandtabs())
    markdown = path.endswith((".md", ".mdx", ".markdown"))
    found: list[str] = []
    for _ in range(LOOKED_BACK):
        if end < 0 or not (indent or markdown):
            break
        start = text.rfind("\n", 0, end)
        one, end = text[start + 1 : end], start
        if markdown:
            if _HEADING.match(one):
                return one[:HEAD_LENGTH]
            continue
        bare = one.lstrip()
        width = len(one[: len(one) - len(bare)].expandtabs())
        if width < indent and bare[:1].isalpha() and not bare.endswith(NOT_OPENING):
            found.append(one[:HEAD_LENGTH])
            indent = width
    return "\n".join(reversed(found))


def parsed_arguments(arguments: Any) -> Record:
    """A call's arguments as an object, also when they were written as a JSON string."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str) or not arguments.strip():
        return {}
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": value}


def object_in(text: str) -> Record:
    """The object that a text is as JSON; an empty one where it is none."""
    try:
        return mapping(msgspec.json.decode(text))
    except (ValueError, RecursionError):
        return {}


_EXIT_CODE = re.compile(r"Exit code (-?\d{1,10})\b")


def exit_code_in(output: str) -> int | None:
    """The exit code that a failed command's output begins with, as Claude's clients word it."""
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None


class DistinctIds:
    """Ids made distinct, where a call and its result are one item and only its place pairs them."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def one_of(self, *wanted: Any) -> str:
        """The first of the values that is an id and was not given before, or one like it."""
        known = [value for value in wanted if isinstance(value, str) and value] or ["call"]
        fresh = next((value for value in known if value not in self._given), "")
        number = len(self._given)
        while not fresh or fresh in self._given:
            number += 1
            fresh = f"{known[-1]}-{number}"
        self._given.add(fresh)
        return fresh


# Content of results: texts and media.


def plain_words(content: Any) -> str:
    """The text of a string or of a list of text blocks."""
    return text_and_media(content)[0]


def text_and_media(content: Any) -> tuple[str, tuple[Media, ...]]:
    """A content as text, and the media in it; other values as JSON."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        return "" if content is None else as_json(content), ()
    words: list[str] = []
    media: list[Media] = []
    for block in content:
        if isinstance(block, str):
            words.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            words.append(block["text"])
        elif isinstance(block, dict) and (found := media_of(block)) is not None:
            media.append(found)
        else:
            words.append(as_json(block))
    return "\n".join(words), tuple(media)


def media_of(block: Record) -> Media | None:
    """An image, document, audio or file block of any provider; None when it is none."""
    kind = block.get("type")
    if kind in ("image", "document") and isinstance(source := block.get("source"), dict):
        return Media(
            kind="image" if kind == "image" else "document",
            mime=string(source.get("media_type")),
            data=string(source.get("data")),
            url=string(source.get("url")),
        )
    if kind == "image" and isinstance(data := block.get("data"), str):  # MCP and pi
        return Media(kind="image", mime=string(block.get("mimeType")), data=data)
    if kind in ("image_url", "input_image"):
        url = block.get("image_url")
        if found := string(url.get("url") if isinstance(url, dict) else url):
            return media_from_url(found, "image")
    if kind == "input_audio" and isinstance(audio := block.get("input_audio"), dict):
        mime = f"audio/{string(audio.get('format'))}"
        return Media(kind="audio", mime=mime, data=string(audio.get("data")))
    if kind in ("file", "input_file"):
        file = block["file"] if isinstance(block.get("file"), dict) else block
        return media_from_url(file.get("file_data") or file.get("file_url"), "file")
    return None


def media_from_url(url: Any, kind: Kind, mime: Any = "") -> Media:
    """Media behind a URL; a `data:` URL holds the bytes itself."""
    head, _, data = string(url).partition(",")
    if not head.startswith("data:"):
        return Media(kind=kind, mime=string(mime), url=string(url))
    told = head.removeprefix("data:").partition(";")[0]
    return Media(kind=kind, mime=told or string(mime), data=data)


def media_of_part(part: Record) -> Media | None:
    """Media in a part of Gemini's."""
    if not (found := mapping(part.get("inlineData")) or mapping(part.get("fileData"))):
        return None
    mime = string(found.get("mimeType"))
    data, url = string(found.get("data")), string(found.get("fileUri"))
    written = mime in ("application/pdf", "text/plain")
    return Media(kind="document" if written else media_kind(mime), mime=mime, data=data, url=url)


def media_kind(mime: str) -> Kind:
    """What a file of this type is."""
    known: tuple[Kind, ...] = ("image", "audio", "video")
    return next((kind for kind in known if mime.startswith(f"{kind}/")), "file")


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# Times and counts.


def utc_time(value: Any) -> datetime | None:
    """An ISO 8601 string, or seconds or milliseconds since 1970, as a time in UTC."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            if time.tzinfo is UTC:  # as most clients write it
                return time
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


Names = str | tuple[str, ...]


def usage_in(
    counts: Any,
    given: Names,
    output: Names,
    read: str = "",
    written: str = "",
    *,
    within: bool = False,
) -> Usage | None:
    """Tokens by the names that a client counts them under, several of which may add up; None where
    it counts nothing. With `within` what came from the cache, or went into it, is part of the
    input."""
    if not isinstance(counts, dict):
        return None
    known = [_count(counts, names) for names in (given, output, read, written)]
    if known == [None] * 4:
        return None
    sent, received, cached, stored = (number or 0 for number in known)
    return Usage(
        input=max(sent - cached - stored, 0) if within else sent,
        output=received,
        cache_read=cached,
        cache_write=stored,
    )


def _count(counts: Record, names: Names) -> int | None:
    if isinstance(names, str):
        return maybe_tokens(counts.get(names))
    several = [maybe_tokens(counts.get(name)) for name in names]
    return None if several == [None] * len(names) else sum(filter(None, several))


# Whose words stand under the user's role: what a person typed, and what clients wrote.

SENTENCES: tuple[tuple[str, NoteKind], ...] = (
    ("Caveat: The messages below were generated by the user while running", "injected"),
    ("Operation stopped by hook:", "hook"),
    ("Stop hook feedback:", "hook"),
    ("[Request interrupted by user", "interruption"),
    ("Another Claude session sent a message:", "notification"),
    ("Another Claude session sent a message while you were working:", "notification"),
    ("A peer session sent a message while you were working:", "notification"),
    ("# AGENTS.md instructions for ", "instructions"),
    ("This session is being continued from a previous conversation", "summary"),
    ("Another language model started to solve this problem", "summary"),
    ("Base directory for this skill:", "injected"),
)
"""How a text begins that a client wrote to its end, and what kind of note it is."""
BEHIND_NOTIFICATIONS = ("Read the output file to retrieve", "Full transcript available at:")
"""How a client continues behind the tags of a notification."""

SEALED = ("hook_context", SUMMARY_TAG)
"""Wrappers whose writers leave no closing tag of theirs inside. What the user says behind them may
have one."""
ONLY_FIRST = ("command", "instructions", "shell", "summary")
"""Kinds of notes that are believed to tell what the user did or asked for: only before all words,
where clients put them, and not in what the user pastes."""
QUERY, QUERY_END = "<user_query>", "</user_query>"
"""Around the user's own words, where a client puts what it knows before them."""
_TAG = re.compile(rf"<({'|'.join(WRAPPERS)})(?:\s+[\w:-]+=[^>]*)?>")
_BEHIND = [
    tag for tag, kind in WRAPPERS.items() if kind not in ONLY_FIRST and re.search("[-_]", tag)
]
"""Wrappers that may stand behind words; any document may have tags of a single word."""
_BEHIND_WORDS = re.compile(
    rf"<(system-reminder)>|^[ \t]*<({'|'.join(_BEHIND)})(?:\s[^<>\n]{{0,400}})?>", re.MULTILINE
)
_BLANKS = re.compile(r"\s*")


class _Wrapped(NamedTuple):
    kind: NoteKind
    start: int
    end: int


def said_by_user(text: str) -> tuple[Piece, ...]:
    """One user text as pieces: the user's words, and notes for what a client put around them.

    What a client wraps may hold anything, also closing and opening tags of the same wrapper. So a
    wrapper ends at the last closing tag of its name, and without one at the end of the text: words
    between two wrappers of one name cannot be told from words that the first one holds."""
    notes = _in_a_row(text)
    if len(notes) == 1 and notes[0].end == len(text):
        return (Note(kind=notes[0].kind, text=text),)
    rest = notes[-1].end if notes else 0
    if not notes and "<" not in text:
        return (Text(text=text),)
    wrapped = (Note(kind=kind, text=text[start:end].strip()) for kind, start, end in notes)
    return (*wrapped, *_with_wrappers(text, rest))


def _in_a_row(text: str) -> list[_Wrapped]:
    """The wrappers a text begins with; those of one kind that follow each other are one."""
    found: list[_Wrapped] = []
    position = _behind_blanks(text, 0)
    while position < len(text) and (wrapped := _wrapped(text, position, found)) is not None:
        if found and found[-1].kind == wrapped.kind != "injected":
            wrapped = wrapped._replace(start=found.pop().start)
        found.append(wrapped)
        position = wrapped.end
    return found


def _wrapped(text: str, start: int, before: list[_Wrapped]) -> _Wrapped | None:
    """What a client wrote from here on, with the blanks behind it; without an end, it is all."""
    if tag := _TAG.match(text, start):
        end = _closed(text, tag[1], tag.end())
        behind = len(text) if end < 0 else _behind_blanks(text, end)
        return _Wrapped(WRAPPERS[tag[1]], start, behind)
    notified = bool(before) and before[-1].kind == "notification"
    if notified and text.startswith(BEHIND_NOTIFICATIONS, start):
        return _Wrapped("notification", start, len(text))
    for sentence, kind in SENTENCES:
        if text.startswith(sentence, start):
            return _Wrapped(kind, start, len(text))
    return None


def _closed(text: str, tag: str, start: int) -> int:
    """Where the wrapper ends whose inner text begins here; -1 where nothing closes it."""
    closing = f"</{tag}>"
    found = (text.find if tag in SEALED else text.rfind)(closing, start)
    return found if found < 0 else found + len(closing)


def _behind_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _with_wrappers(text: str, position: int) -> Iterator[Piece]:
    """The user's words from here on, and what a client put behind or between them."""
    unclosed: set[str] = set()
    begun = position
    for opening in _BEHIND_WORDS.finditer(text, position):
        tag = opening[1] or opening[2]
        if opening.start() < begun or tag in unclosed:
            continue
        if (end := _closed(text, tag, opening.end())) < 0:
            unclosed.add(tag)
            continue
        yield from _asked(text[begun : opening.start()].strip())
        yield Note(kind=WRAPPERS[tag], text=text[opening.start() : end].strip())
        begun = end
    yield from _asked(text[begun:].strip() if begun else text)


def _asked(words: str) -> tuple[Piece, ...]:
    """Words of the user's; where the client marks them, the tags before the mark are its own. The
    last mark is the client's: what it puts before may hold others. Behind other words it is not."""
    whole = words.rstrip()
    before, marked, query = whole.removesuffix(QUERY_END).rpartition(QUERY)
    before = before.strip()
    own = not before or (before.startswith("<") and before.endswith(">"))
    if not (own and whole.endswith(QUERY_END) and marked and query.strip()):
        return (Text(text=words),) if words else ()
    notes = (Note(kind="environment", text=before),) if before else ()
    return (*notes, Text(text=query.strip()))


# Files that Gemini CLI puts behind the user's words where these name them with an `@`.

_BEGIN = re.compile(r"^--- Content from referenced files ---[ \t\r]*$", re.MULTILINE)
_END = re.compile(r"^--- End of content ---[ \t\r]*$", re.MULTILINE)

Cut = tuple[int, int]
"""Where the files begin and end in one text; the same number twice where it holds none."""
NO_FILES: Cut = (0, 0)


def cuts(texts: Sequence[str]) -> list[Cut]:
    """The files in each text of one message."""
    begin = next(((n, m.start()) for n, t in enumerate(texts) if (m := _BEGIN.search(t))), None)
    if begin is None:
        return [NO_FILES] * len(texts)
    ends = [(n, m.end()) for n, t in enumerate(texts) for m in _END.finditer(t)]
    end = max(((n, at) for n, at in ends if (n, at) > begin), default=(len(texts), 0))
    return [
        _widened(text, begin[1] if n == begin[0] else 0, end[1] if n == end[0] else len(text))
        if begin[0] <= n <= end[0]
        else NO_FILES
        for n, text in enumerate(texts)
    ]


def said_around(text: str, cut: Cut) -> tuple[Piece, ...]:
    """One user text as pieces, the files in it a note."""
    start, end = cut
    if start == end:
        return said_by_user(text)
    before = said_by_user(text[:start].rstrip()) if start else ()
    after = said_by_user(text[end:].lstrip()) if end < len(text) else ()
    return (*before, Note(kind="injected", text=text[start:end]), *after)


def _widened(text: str, start: int, end: int) -> Cut:
    """The cut, without leaving blanks on either side."""
    return (
        start if text[:start].strip() else 0,
        end if text[end:].strip() else len(text),
    )
