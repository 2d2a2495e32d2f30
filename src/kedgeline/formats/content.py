"""What stands in messages: blocks, calls, and whose words they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from kedgeline.formats.intake import Record, mapping, mappings, string, tokens_in
from kedgeline.formats.turns import Piece
from kedgeline.model import SUMMARY_TAG, WRAPPERS, Media, Note, NoteKind, Text, ToolCall, Usage

# Content in the shapes providers share: text, images, lists of both.

Kind = Literal["image", "document", "audio", "video", "file"]


def text_of(content: Any) -> str:
    """The text of a string or of a list of text blocks."""
    return text_and_media(content)[0]


def text_and_media(content: Any) -> tuple[str, tuple[Media, ...]]:
    """A tool result's content as text, and the media in it; other values as JSON."""
    if isinstance(content, str):
        return content, ()
    if content is None:
        return "", ()
    if not isinstance(content, list):
        return as_json(content), ()
    texts: list[str] = []
    media: list[Media] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, dict) and (found := media_of(block)) is not None:
            media.append(found)
        else:
            texts.append(as_json(block))
    return "\n".join(texts), tuple(media)


def media_of(block: Record) -> Media | None:
    """An image, document or audio block of any provider; None when it is none."""
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
    if kind in ("image_url", "input_image") and (url := _image_url(block)):
        return media_from_url(url, "image")
    if kind == "input_audio" and isinstance(audio := block.get("input_audio"), dict):
        return Media(
            kind="audio",
            mime=f"audio/{string(audio.get('format'))}",
            data=string(audio.get("data")),
        )
    if kind in ("file", "input_file"):
        file = block["file"] if isinstance(block.get("file"), dict) else block
        return media_from_url(string(file.get("file_data")) or string(file.get("file_url")), "file")
    return None


def media_from_url(url: str, kind: Kind) -> Media:
    """Media behind a URL; a `data:` URL holds the bytes itself."""
    if not url.startswith("data:"):
        return Media(kind=kind, url=url)
    head, _, data = url.partition(",")
    return Media(kind=kind, mime=head.removeprefix("data:").partition(";")[0], data=data)


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


def time_of(value: Any) -> datetime | None:
    """An ISO 8601 string, or seconds or milliseconds since 1970, as a time in UTC."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def usage_in(
    counts: Any, given: str, output: str, read: str = "", written: str = "", *, within: bool = False
) -> Usage | None:
    """Tokens by the names that a client counts them under; None where it counts nothing. With
    `within` what came from the cache, or went into it, is part of the input."""
    found = tokens_in(counts, *filter(None, (given, output, read, written)))
    if not found:
        return None
    cached = found[read] + found[written] if within else 0
    return Usage(
        input=max(found[given] - cached, 0),
        output=found[output],
        cache_read=found[read],
        cache_write=found[written],
    )


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _image_url(block: Record) -> str:
    url = block.get("image_url")
    return string(url.get("url") if isinstance(url, dict) else url)


# Tool calls as OpenAI's chat messages carry them; many agents write them this way.


def calls_in(message: Record) -> list[ToolCall]:
    """The calls of an assistant message, arguments parsed."""
    calls = []
    for item in mappings(message.get("tool_calls")):
        function = mapping(item.get("function"))
        calls.append(
            ToolCall(
                id=string(item.get("id")),
                tool=string(function.get("name")),
                parameters=parsed_arguments(function.get("arguments")),
            )
        )
    return calls


class Ids:
    """Ids made distinct, where a call and its result are one item and only its place pairs them."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def distinct(self, *wanted: Any) -> str:
        """The first of the values that is an id and was not given before, or one like it."""
        known = [value for value in wanted if isinstance(value, str) and value] or ["call"]
        fresh = next((value for value in known if value not in self._seen), "")
        number = len(self._seen)
        while not fresh:
            number += 1
            numbered = f"{known[-1]}-{number}"
            fresh = "" if numbered in self._seen else numbered
        self._seen.add(fresh)
        return fresh


# How Claude's clients word what became of a call, in results that carry an error flag.

REFUSALS = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission to use ",
    "Permission for this tool use was denied.",
    "Claude requested permissions to ",
)
"""How the client words a call that was not allowed to run."""
INTERRUPTED = "[Request interrupted by user"
_SAID = ("the user said:\n", "The user provided the following reason for the rejection:")
_NOT_SAID = ("The user wants to clarify these questions.",)
"""The client's own words where the user's would stand."""
_EXIT_CODE = re.compile(r"Exit code (-?\d{1,10})\b")


OWN_TOOLS = (
    *("Agent", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob"),
    *("Grep", "LS", "MultiEdit", "NotebookEdit", "Read", "Task", "TaskCreate", "TaskUpdate"),
    *("TodoWrite", "Write", "exit_plan_mode"),
)
"""Tools of the client's own whose errors it words itself. All others could put an instruction
into the user's mouth by imitating a refusal: a server's, and those that bring text from the web."""
REJECTED, FAILED = "User rejected tool use", "Error: "
"""What the client's record says beside the result of a call that was refused, in some versions
without the user's words, in others as of any call that failed."""


def words_of_client(output: str, call: ToolCall | None, beside: object) -> str:
    """The output where the client wrote it; `beside` is what its record holds beside the result. A
    server's tool that fails stands there in the same way."""
    own = call is not None and call.tool in OWN_TOOLS and beside == f"{FAILED}{output}"
    return output if own or beside == REJECTED else ""


def reason_in(output: str) -> str:
    """The user's own words in the text of a refusal."""
    for marker in _SAID:
        _, found, said = output.partition(marker)
        if found and not said.lstrip().startswith(_NOT_SAID):
            return said.strip()
    return ""


def exit_code_in(output: str) -> int | None:
    """The exit code a failed command's output begins with."""
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None


# Text that stands under the user's role and that no person typed.

SENTENCES: tuple[tuple[str, NoteKind], ...] = (
    (
        "Caveat: The messages below were generated by the user while running local commands",
        "injected",
    ),
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
"""How a client goes on behind the tags of a notification."""

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
NOTHING: Cut = (0, 0)


def cuts(texts: Sequence[str]) -> list[Cut]:
    """The files in each text of one message."""
    begin = next(((n, m.start()) for n, t in enumerate(texts) if (m := _BEGIN.search(t))), None)
    if begin is None:
        return [NOTHING] * len(texts)
    ends = [(n, m.end()) for n, t in enumerate(texts) for m in _END.finditer(t)]
    end = max(((n, at) for n, at in ends if (n, at) > begin), default=(len(texts), 0))
    return [
        _widened(text, begin[1] if n == begin[0] else 0, end[1] if n == end[0] else len(text))
        if begin[0] <= n <= end[0]
        else NOTHING
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
