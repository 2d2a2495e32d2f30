"""Briefs of any text in 128, 512 and 2,048 tokens, counted exactly, in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from kedgeline.bank.entries import ALIASES, field_key
from kedgeline.bank.rows import FRONT_MATTER, MarkdownBlock, blocks
from kedgeline.text.prose import LOOKED_AT, cut, foreign, sentences
from kedgeline.tokens import EXACT

SMALL, MIDDLE, LARGE = 128, 512, 2_048
"""Tokens of the briefs (seed 003)."""
FILES_SHOWN, FILES_SEEN = 12, 200
"""Files named in the smallest brief, and looked for in a text."""
SHOWN, PART_SHOWN = 240, 200
"""Characters of one line of the larger briefs, and of each half of the smallest."""
LONGEST_TOKEN = 16
"""Characters for each token beyond which nothing is tried."""
TEXT_LIMIT = 400_000
"""Characters of a text that a brief is made of."""
_SPOKEN = frozenset(("summary_128", "summary", "text", "title", "rationale", "content"))
"""Keys of a JSON entry that are prose."""

_URL = re.compile(r"\bhttps?://([^\s/?#)\]>]{1,200})[^\s)\]>]{0,2000}")
_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\s]{0,2000}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`+|~~|(?<!\S)\*(?=\w)|(?<=[\w.!?])\*(?!\w)")
_PATH = re.compile(r"[^\s,;:'\"()\[\]{}<>|=`]{1,1000}")
_AGAIN = re.compile(r"(\S{1,80}/\*)(?:, \1)+(?![^\s,;:).])")
"""A pattern of files that is the same as the one before, as their folders are not told."""
_DRIVE = re.compile(r"\b[A-Za-z]:(?=[\\/])")
_ENDING = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,5}$")
_LINE_NUMBER = re.compile(r"(?::\d{1,7}){1,2}$")
_BOX = re.compile(r"\[([ xX])\] +(.*)", re.DOTALL)
_FIELD = re.compile(r"(?:[-*+] +)?\*\*([^*\n:]{1,60})(?:\*\*:|:\*\*)")


def brief_128(text: str, *, title: str = "", sources: Sequence[str] = ()) -> str:
    """One line: what it is about and what came of it, then the files by their names."""
    said = list(_statements(text))
    title = title or next((one.text for one in said if one.depth), "")
    told = [one.text for one in said if not one.depth and one.text != title]
    # with a title, what it begins with; else its beginning and its end
    parts = [title, *told[:1]] if title else [*told[:1], *told[-1:]]
    shown = dict.fromkeys(_plain(part).rstrip(" .:;,") for part in parts if part)
    sentence = "; ".join(filter(None, shown))
    if sentence and sentence[-1] not in "。！？!?…":
        sentence += "."
    names = _file_names(sources or files_in([text]))
    for count in range(min(len(names), FILES_SHOWN), -1, -1):
        line = sentence + _file_list(names, count)
        if EXACT.count(line) <= SMALL:
            return line.strip()
    more = _file_list(names, 0)
    return (cut_to(sentence, SMALL - EXACT.count(more) - 1) + more).strip()


def brief_512(text: str, *, title: str = "") -> str:
    return _brief(text, title, MIDDLE)


def brief_2048(text: str, *, title: str = "") -> str:
    return _brief(text, title, LARGE)


class _Said(NamedTuple):
    text: str
    rank: int
    """Lower ones come first into the room; among equals the earlier."""
    depth: int = 0
    """Of a heading."""


def _brief(text: str, title: str, room: int) -> str:
    """Headings with what they begin with, then open items, lists, and what else is said, as far as
    there is room; in the order of the text, with how many lines are left out."""
    lines = [_Said(_line(title), 0)] if title else []
    for one in _statements(text):
        line = _line(one.text)
        if lines and lines[-1].depth and not one.depth and one.rank < 20:
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}: {line}", depth=0)
        elif line and line != (lines[0].text if lines else ""):
            lines.append(one._replace(text=line))
    order = sorted(range(len(lines)), key=lambda place: (lines[place].rank, place))
    chosen: list[int] = []
    used = 0
    for place in order:
        used += EXACT.count(lines[place].text) + 1
        if used > room:
            break
        chosen.append(place)
    while chosen:
        shown = [lines[place].text for place in sorted(chosen)]
        left = len(lines) - len(chosen)
        whole = "\n".join([*shown, f"+{left} more"] if left else shown)
        if EXACT.count(whole) <= room:
            return whole
        chosen.pop()
    return cut_to(lines[order[0]].text, room) if order else ""


def _statements(text: str) -> Iterator[_Said]:
    """What a text says, without code and comments."""
    front = FRONT_MATTER.match(text)
    text = text[front.end() if front else 0 :][:TEXT_LIMIT]
    if text.lstrip().startswith("{") and (said := list(_json(text))):
        yield from said
        return
    found = blocks(text)
    if all(one.kind == "code" and text[one.start] in " \t" for one in found):  # all is indented
        yield from (_Said(one, 10) for one in islice(sentences(text), 40))
    depth = 0
    for block in found:
        depth = block.depth or depth
        yield from _of_block(block, text[block.start : block.end], depth)


def _of_block(block: MarkdownBlock, text: str, depth: int) -> Iterator[_Said]:
    if block.kind == "heading":
        yield _Said(block.text, depth, depth)
    elif block.kind in ("text", "quote"):
        for paragraph in _paragraphs(text):
            for number, sentence in enumerate(islice(sentences(paragraph), 40)):
                yield _Said(sentence, depth + (30 if number else 10))
    elif block.kind == "item":
        bare = re.sub(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+", "", text)
        if box := _BOX.match(bare):
            is_open = box[1] == " "
            said = f"- [{' ' if is_open else 'x'}] {box[2]}"
            yield _Said(said, depth if is_open else depth + 30)
        elif (field := _FIELD.match(bare)) is None or field_key(field[1]) not in ALIASES:
            yield _Said(f"- {_without_field(bare)}", depth + 20)
    elif block.kind == "row":
        yield _Said("; ".join(filter(None, block.cells)), depth + 20)


def _paragraphs(text: str) -> Iterator[str]:
    """A paragraph, but for fields, each of which is one."""
    lines: list[str] = []
    for line in text[:LOOKED_AT].split("\n"):
        if field := _FIELD.match(line.strip()):
            yield from ["\n".join(lines)] if lines else []
            if field_key(field[1]) not in ALIASES:  # when, who, where from
                yield _without_field(line)
            lines = []
        else:
            lines.append(line.strip().lstrip(">").strip())
    yield "\n".join(lines)


def _without_field(text: str) -> str:
    return _FIELD.sub("", text.strip(), count=1).strip()


def _json(text: str) -> Iterator[_Said]:
    for line in text.splitlines():
        try:
            found = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
        for key, value in found.items():
            if key in _SPOKEN and isinstance(value, str):
                rank = 10 if key != "text" else 20
                yield from (_Said(one, rank) for one in islice(sentences(value), 40))


def _plain(text: str) -> str:
    """For the smallest brief: no code, no folder of a path, on one line."""
    bare = _EMPHASIS.sub("", _LINK.sub(r"\1", _URL.sub(r"\1", text[:LOOKED_AT])))
    line = foreign(bare)
    if "/" in line or "\\" in line:
        line = _AGAIN.sub(r"\1", _PATH.sub(_short_path, _DRIVE.sub("", line)))
    return cut(line, PART_SHOWN)


def _line(text: str) -> str:
    """For the larger ones: as it says it, on one line."""
    bare = re.sub("`{2,}", "`", _LINK.sub(r"\1", text[:LOOKED_AT].replace("**", "")))
    return cut(foreign(bare), SHOWN)


def _short_path(found: re.Match[str]) -> str:
    """A path by its name. What may be prose, as in yes/no/maybe, shows that it was cut."""
    word = found[0].replace("\\", "/")
    parts = [part for part in word.split("/") if part]
    if "/" not in word or not parts or all(part.strip(".").isdigit() for part in parts):
        return found[0] if "/" not in word or parts else ""
    last = parts[-1]
    if last.startswith("*") and len(parts) > 1:
        return f"{parts[-2]}/*"
    is_path = word.startswith(("/", "~", ".")) or word.endswith("/")
    if is_path or _ENDING.search(last.rstrip(".!?")):
        return f"{last}/" if word.endswith("/") else last
    return found[0] if len(parts) <= 2 else f"…/{last}"


def files_in(texts: Iterable[str]) -> list[str]:
    """Paths that texts name."""
    found: dict[str, None] = {}
    for text in texts:
        for word in _PATH.findall(_URL.sub("", text[:TEXT_LIMIT])) if "/" in text else ():
            name = word.strip("*_.!?")
            if "/" in name and _ENDING.search(name):
                found[name] = None
                if len(found) == FILES_SEEN:
                    return list(found)
    return list(found)


def _file_names(paths: Iterable[str]) -> list[str]:
    """Base names in their order, each once; patterns with their folder."""
    names = (_LINE_NUMBER.sub("", path.strip()).replace(",", " ") for path in paths)
    rooted = (name if name.startswith(("/", "~", ".")) else f"./{name}" for name in names)
    return list(dict.fromkeys(filter(None, (cut(_plain(name), 60) for name in rooted))))


def _file_list(names: Sequence[str], shown: int) -> str:
    if not names:
        return ""
    more = [f"+{len(names) - shown} more"] if shown < len(names) else []
    return f" Files: {', '.join([*names[:shown], *more])}"


def cut_to(text: str, room: int) -> str:
    """The longest beginning that fits so many tokens; nothing where not one character does."""
    text = cut(text, max(1, room) * LONGEST_TOKEN)
    if EXACT.count(text) <= room:
        return text
    best, low, high = "", 1, len(text)
    while low <= high:
        middle = (low + high) // 2
        tried = cut(text, middle)
        if EXACT.count(tried) <= room:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best
