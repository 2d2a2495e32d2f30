"""The anchored summary as Markdown, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kedge.foreign import foreign, neutral, without_tags
from kedge.model.summary import Entry, SectionName
from kedge.sentences import one_line
from kedge.summary.items import SECTIONS, Item, cited

NOTHING = "N/A"
TABLE: SectionName = "Files Modified"
COLUMNS = ("File", "Action", "What Changed")
NUMBERED: SectionName = "Next Steps"
INDEX: SectionName = "Index"
KINDS: dict[SectionName, str] = {
    "Session Intent": "requests",
    "Standing Instructions": "instructions",
    "Files Modified": "files",
    "Files Read (Not Modified)": "files",
    "Decisions Made": "decisions",
    "Current State": "commands",
    "Blockers / Open Questions": "questions",
    "Error Context": "errors",
    "Next Steps": "todos",
    "Commands": "commands",
    "Index": "names",
}
"""Where to see what a section leaves out."""
VERBATIM: tuple[SectionName, ...] = ("Session Intent", "Standing Instructions")
"""What the user said: byte for byte. All else is what others said, and made to look like it."""
WIDEST = 100_000
"""Turns of a span that are told one by one; a session with more has no line about all of them."""

_TURN = r"t\d{1,9}(?:-\d{1,9})?"
_MARKS = re.compile(rf"^(.*?) ?\[({_TURN}(?:, {_TURN})*)\]$", re.DOTALL)
_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MOVED_IN = re.compile("(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029])  ")
"""Behind a break that is not the one between our lines."""
_MORE = re.compile(r"\(([\d,]+) more left out(?:: kedge facts FILE --kind [a-z]+)?\)")
_ROW = re.compile(r"(?<!\\)\|")
_TOPIC = re.compile(r"(`[^`]+`|[^\s`]\S*): (.*)", re.DOTALL)
_NAME = re.compile(r"(`[^`]+`|[^\s`(]\S*)(?: \(([^()]*)\))?")
_LOOSE = re.compile(r"\s|^\(|[:,]$")
"""In a name: what would make it two, a detail, or a topic. It stands in back-ticks then."""
UNSEEN = "\N{REPLACEMENT CHARACTER}"
"""Stands for a name of which nothing can be seen."""
_INNER = str.maketrans("()", "[]")
"""A detail stands in round brackets and has none."""


def render(
    items: Iterable[Item],
    left_out: Mapping[SectionName, int] | None = None,
    *,
    heading: str = "##",
) -> str:
    """Every section, `N/A` where it has nothing."""
    sections: dict[SectionName, list[Item]] = {name: [] for name in SECTIONS}
    for item in items:
        sections[item.section].append(item)
    more = left_out or {}
    return "\n\n".join(
        "\n".join([f"{heading} {name}", *body(name, found, more.get(name, 0))])
        for name, found in sections.items()
    )


def parse(text: str) -> tuple[list[Item], dict[SectionName, int]]:
    """The items of a rendering, and how many were left out of each section."""
    items: list[Item] = []
    left_out: dict[SectionName, int] = {}
    for name, lines in _sections(text):
        for line in lines:
            if more := _MORE.fullmatch(line):
                left_out[name] = int(more[1].replace(",", ""))
            elif line != NOTHING:
                items.extend(_read(name, line))
    return items, left_out


def entries_of(text: str) -> tuple[Entry, ...]:
    """What a rendering says, entry by entry."""
    return tuple(map(as_entry, parse(text)[0]))


def as_entry(item: Item) -> Entry:
    return Entry(
        section=item.section,
        text=item.text,
        turns=item.turns,
        action=item.action,
        detail=item.detail,
        topic=item.topic,
    )


def body(name: SectionName, items: Sequence[Item], more: int) -> Iterator[str]:
    """The lines of one section, its heading left off."""
    if not items and not more:
        yield NOTHING
        return
    if name == TABLE and items:
        yield from _table([item for item in items if item.action])
        for item in items:
            if not item.action:  # words about a file, below the table
                yield f"- {_with_marks(foreign(item.text), item.turns)}"
    elif name == INDEX:
        yield from _grouped(items)
    else:
        for number, item in enumerate(items, 1):
            mark = f"{number}." if name == NUMBERED else "-"
            yield f"{mark} {_with_marks(said(item.section, _told(item)), item.turns)}"
    if more:
        yield f"({more:,} more left out: kedge facts FILE --kind {KINDS[name]})"


def _table(rows: Sequence[Item]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(COLUMNS)} |"
        yield "|---|---|---|"
        yield from map(_row, rows)


def said(section: SectionName, text: str) -> str:
    """Text as it may stand in a section: no words can begin one, or an entry, or end it all."""
    return _inside(neutral(text)) if section in VERBATIM else foreign(text)


def _told(item: Item) -> str:
    return f"{item.text}: {item.detail}" if item.detail else item.text


def _row(item: Item) -> str:
    detail = without_tags(one_line(item.detail))  # its marks are ours: each change has its own
    detail = detail if "[t" in detail else _with_marks(detail, item.turns)
    cells = (foreign(item.text), foreign(item.action), detail)
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _grouped(items: Sequence[Item]) -> Iterator[str]:
    """Names of one topic on one line, parted by blanks, topics in the order of their first names;
    cited are the turns from the first to the last of them."""
    topics: dict[str, list[Item]] = {}
    for item in items:
        topics.setdefault(_bound(item.topic), []).append(item)
    for topic, names in topics.items():
        told = " ".join(_named(item) for item in names)
        cites = sorted({turn for item in names for turn in item.turns})
        span = f"[t{cites[0]}-{cites[-1]}]" if len(cites) > 1 else cited(cites)
        yield f"- {f'{topic}: {told}' if topic else told} {span}".rstrip()


def _named(item: Item) -> str:
    detail = " ".join(foreign(item.detail).translate(_INNER).split())
    return f"{_bound(item.text)} ({detail})" if detail else _bound(item.text)


def _bound(name: str) -> str:
    """A name as one word."""
    word = " ".join(foreign(name).replace("`", "'").split()) or (UNSEEN if name else "")
    return f"`{word}`" if _LOOSE.search(word) else word


def _unbound(word: str) -> str:
    return word[1:-1] if word.startswith("`") else word


def _with_marks(text: str, turns: Iterable[int]) -> str:
    return f"{text} {cited(turns)}".strip()


def _inside(text: str) -> str:
    """Lines behind the first are moved in."""
    return _BREAK.sub(r"\g<0>  ", text)


def _sections(text: str) -> Iterator[tuple[SectionName, list[str]]]:
    """Each section with its entries, continued lines joined."""
    known: dict[str, SectionName] = {
        f"{heading} {name}": name for name in SECTIONS for heading in ("##", "###")
    }
    name: SectionName | None = None
    entries: list[str] = []
    for line in text.split("\n"):
        if line in known:
            if name is not None:
                yield name, entries
            name, entries = known[line], []
        elif line.startswith("  ") and entries:
            entries[-1] += "\n" + line[2:]
        elif line.strip() and name is not None:
            entries.append(line)
    if name is not None:
        yield name, entries


def _read(name: SectionName, line: str) -> Iterator[Item]:
    if name == TABLE and line.startswith("|"):
        cells = [cell.strip().replace("\\|", "|") for cell in _ROW.split(line)[1:-1]]
        if len(cells) == len(COLUMNS) and cells not in (list(COLUMNS), ["---"] * len(COLUMNS)):
            yield Item(name, cells[0], _turns(cells[2]), action=cells[1], detail=cells[2])
        return
    text = re.sub(r"^(?:-|\d+\.) ", "", line)
    found = _MARKS.match(text)
    text, turns = (found[1], _turns(f"[{found[2]}]")) if found else (text, ())
    if name == INDEX:
        yield from _names(text, turns)
    else:
        yield Item(name, _MOVED_IN.sub("", text), turns)


def _names(text: str, turns: tuple[int, ...]) -> Iterator[Item]:
    """Blanks part names; a comma behind one is by hand."""
    found = _TOPIC.fullmatch(text)
    topic, told = found.groups() if found else ("", text)
    for name, detail in _NAME.findall(told):
        yield Item(INDEX, _unbound(name.rstrip(",")), turns, detail=detail, topic=_unbound(topic))


def _turns(text: str) -> tuple[int, ...]:
    """The turns that marks name."""
    turns: list[int] = []
    for marks in re.findall(rf"\[((?:{_TURN}(?:, )?)+)\]", text):
        for first, last in re.findall(r"t(\d{1,9})(?:-(\d{1,9}))?", marks):
            span = range(int(first), int(last or first) + 1)
            turns.extend(span if len(span) <= WIDEST else (span[0], span[-1]))
    return tuple(dict.fromkeys(turns))
