"""Answering probes by look-up in what the agent sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kedge.matching import holds_plain, plain
from kedge.model import Answer, Entry, Probe, SectionName

READ: SectionName = "Files Read (Not Modified)"
NAMING: tuple[SectionName, ...] = ("Files Modified", READ, "Index")
"""Sections that name files."""
CURRENT = ("Now:", "Asked last")
"""How the line of the current request begins."""
VERBATIM = ("request", "rule")
"""Matters whose words may also stand beside the summary, where they are said again, or in the
request itself."""


class Shown:
    """What an agent sees in the place of folded turns: the entries of the summary and the words
    that are said again beside it. A text without sections is looked through line by line."""

    def __init__(self, entries: Sequence[Entry], *, beside: Iterable[str] = (), text: str = ""):
        self.beside = tuple(map(plain, beside))
        self._lines: defaultdict[SectionName, list[str]] = defaultdict(list)
        self._by_name: defaultdict[tuple[SectionName, str], list[Entry]] = defaultdict(list)
        self._text = () if entries else (*map(plain, text.split("\n")), plain(text))
        self._told: set[str] = set()
        for entry in entries:
            if entry.section in NAMING:
                self._told.update(_with_folders(plain(entry.topic)), _with_folders(_name(entry)))
            self._lines[entry.section].append(plain(_line(entry)))
            for name in _names(entry):
                self._by_name[entry.section, name].append(entry)

    @property
    def has_sections(self) -> bool:
        return not self._text

    def lines(self, section: SectionName) -> Sequence[str]:
        return self._lines[section] if self.has_sections else self._text[:-1]

    @property
    def verbatim(self) -> Sequence[str]:
        """Where words of the user may stand that hold now."""
        current = (line for line in self._lines["Session Intent"] if line.startswith(CURRENT))
        return (*self.beside, *current, *self._text[-1:])

    def tells(self, name: str) -> bool:
        """Whether a file, a folder or a name is told by any line, as a part of a path too."""
        return plain(name) in self._told

    def named(self, section: SectionName, name: str) -> Sequence[Entry]:
        """Entries of a section that are about this very file, command or name."""
        return self._by_name[section, plain(name)]


def answer(probe: Probe, shown: Shown) -> Answer:
    """Every expected item must stand in one entry of the section where the answer belongs; names of
    one file each under that file."""
    if not probe.expected:
        return Answer(probe=probe, found=(), passed=False)
    found = _look_up(probe, shown)
    if probe.matter in VERBATIM and len(found) < len(probe.expected):
        found = max(found, _best(probe.expected, shown.verbatim), key=len)
    return Answer(probe=probe, found=found, passed=found == probe.expected)


def _look_up(probe: Probe, shown: Shown) -> tuple[str, ...]:
    if shown.has_sections:
        listed = probe.matter == "earlier text" and probe.section in (READ, "Commands")
        by_name = None if listed else _BY_NAME.get(probe.section)
        return (by_name or _in_lines)(probe, shown)
    return (_anywhere if probe.matter == "name" else _in_lines)(probe, shown)


def answers(probes: Iterable[Probe], shown: Shown) -> tuple[Answer, ...]:
    return tuple(answer(probe, shown) for probe in probes)


def _in_lines(probe: Probe, shown: Shown) -> tuple[str, ...]:
    return _best(probe.expected, shown.lines(probe.section))


def _best(expected: tuple[str, ...], lines: Iterable[str]) -> tuple[str, ...]:
    """What stands in the one line that holds most of it."""
    wanted = [plain(part) for part in expected]
    best: tuple[str, ...] = ()
    for line in lines:
        held = zip(expected, wanted, strict=True)
        found = tuple(part for part, words in held if holds_plain(line, words))
        best = max(best, found, key=len)
        if len(best) == len(expected):
            break
    return best


def _in_table(probe: Probe, shown: Shown) -> tuple[str, ...]:
    """A row of this path, with this action, and what else is expected in its last cell."""
    path, *rest = probe.expected
    best: tuple[str, ...] = ()
    for row in shown.named(probe.section, path):
        told = plain(row.detail)
        says = probe.matter == "change"
        found = tuple(
            part
            for part in rest
            if (holds_plain(told, plain(part)) if says else part == row.action)
        )
        best = max(best, (path, *found), key=len)
    return best


def _in_list(probe: Probe, shown: Shown) -> tuple[str, ...]:
    """An entry of this very file or command."""
    name, *rest = probe.expected
    best: tuple[str, ...] = ()
    for entry in shown.named(probe.section, name):
        told = plain(_line(entry))
        best = max(best, (name, *(p for p in rest if holds_plain(told, plain(p)))), key=len)
    return best


def _in_index(probe: Probe, shown: Shown) -> tuple[str, ...]:
    """Names under the file they belong to, or in the row of that file."""
    return tuple(name for name in probe.expected if _stands(name, probe.key, shown))


def _stands(name: str, topic: str, shown: Shown) -> bool:
    where = plain(topic)
    if not topic and shown.tells(name):
        return True
    if any(plain(entry.topic) == where for entry in shown.named("Index", name)):
        return True
    rows = (*shown.named("Files Modified", topic), *shown.named(READ, topic)) if topic else ()
    return any(holds_plain(plain(f"{row.text} {row.detail}"), plain(name)) for row in rows)


def _anywhere(probe: Probe, shown: Shown) -> tuple[str, ...]:
    """Names in a text that has no index: each somewhere."""
    return tuple(
        name
        for name in probe.expected
        if any(holds_plain(line, plain(name)) for line in shown.lines(probe.section))
    )


_BY_NAME = {
    "Files Modified": _in_table,
    READ: _in_list,
    "Commands": _in_list,
    "Index": _in_index,
}
"""Sections whose entries are about one thing with a name."""


def _line(entry: Entry) -> str:
    parts = (entry.topic, entry.text, entry.action, entry.detail)
    return " ".join(part for part in parts if part)


def _names(entry: Entry) -> Iterator[str]:
    """What an entry may be called by: a name may have a blank in it."""
    yield _name(entry)
    if entry.section == "Index" and entry.detail:
        yield plain(f"{entry.text} {entry.detail.split(' ')[0]}")


def _name(entry: Entry) -> str:
    """What an entry is about: its path, its command, its name."""
    text = entry.text
    if entry.section == READ:
        text = text.partition(": ")[0]
    elif entry.section == "Commands" and text.startswith("`"):
        text = text[1:].rpartition("`")[0]
    return plain(text)


def _with_folders(path: str) -> Iterator[str]:
    """A path, its last name, and the folders above it."""
    yield path
    yield path.rpartition("/")[2]
    above = path.rpartition("/")[0]
    while above:
        yield above
        above = above.rpartition("/")[0]
