"""Answering probes by look-up in what the agent sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kedgeline.model import Answer, Entry, Probe, SectionName
from kedgeline.text.prose import holds_plain, one_line, plain

BEGINNING = 80
"""Characters of a request by which it is known again."""
LEAST = 20
"""Characters below which a beginning would be that of many."""


def beginning(text: str) -> str:
    """The first words, whole ones; none of a text that goes on without a place to part it."""
    line = one_line(text)
    if len(line) <= BEGINNING:
        return line
    end = max(line.rfind(" ", LEAST, BEGINNING), 0)
    if not end:  # before the word that a text without blanks would be cut in
        end = BEGINNING
        while end > LEAST and (line[end - 1].isalnum() or line[end - 1] == "_"):
            end -= 1
        end = end if end > LEAST else 0
    return line[:end].rstrip(" ,;:")


READ: SectionName = "Files Read (Not Modified)"
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
        self._by_turn: defaultdict[int, list[str]] = defaultdict(list)
        self._by_name: defaultdict[tuple[SectionName, str], list[Entry]] = defaultdict(list)
        self._text = () if entries else (*map(plain, text.split("\n")), plain(text))
        for entry in entries:
            line = plain(_line(entry))
            self._lines[entry.section].append(line)
            self._by_name[entry.section, _name(entry)].append(entry)
            for turn in entry.turns:
                self._by_turn[turn].append(line)

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

    def of_turn(self, turn: int) -> Sequence[str]:
        """Lines of any section that cite a turn."""
        return self._by_turn[turn] if self.has_sections else self._text[:-1]

    def named(self, section: SectionName, name: str) -> Sequence[Entry]:
        """Entries of a section that are about this very file or command."""
        return self._by_name[section, plain(name)]


def answer(probe: Probe, shown: Shown) -> Answer:
    """Every expected item must stand in one entry of the section where the answer belongs; what was
    said in a turn, in one that cites the turn."""
    if not probe.expected:
        return Answer(probe=probe, found=(), passed=False)
    found = _look_up(probe, shown)
    if probe.matter in VERBATIM and len(found) < len(probe.expected):
        found = max(found, _best(probe.expected, shown.verbatim), key=len)
    return Answer(probe=probe, found=found, passed=found == probe.expected)


def _look_up(probe: Probe, shown: Shown) -> tuple[str, ...]:
    if probe.section == "Story":
        return _best(probe.expected, shown.of_turn(probe.turn))
    listed = probe.matter == "earlier text" and probe.section in (READ, "Commands")
    by_name = _BY_NAME.get(probe.section) if shown.has_sections and not listed else None
    return (by_name or _in_lines)(probe, shown)


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


_BY_NAME = {
    "Files Modified": _in_table,
    READ: _in_list,
    "Commands": _in_list,
}
"""Sections whose entries are about one thing with a name."""


def _line(entry: Entry) -> str:
    return " ".join(part for part in (entry.text, entry.action, entry.detail) if part)


def _name(entry: Entry) -> str:
    """What an entry is about: its path, its command, its name."""
    text = entry.text
    if entry.section == READ:
        text = text.partition(": ")[0]
    elif entry.section == "Commands" and text.startswith("`"):
        text = text[1:].rpartition("`")[0]
    return plain(text)
