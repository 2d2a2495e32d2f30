"""Answering probes by look-up in what the agent sees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from kedgeline.model import Answer, Entry, Matter, Probe, SectionName
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


# Probes asked of a text in words of its own: it has no sections, and says what it says in its own
# way. Only who reads the summaries of others needs it. Names, paths and the user's words are looked
# for to the letter, and what became of them in the same line.

LABELS = frozenset(
    (
        "OPEN",
        "Resolved",
        "Branch",
        "HEAD",
        "Pushed",
        "Pull request",
        "Tag",
        "Edited since the last test run",
        "Edited since the last commit",
        "No test was run",
        "The agent made no commit",
    )
)
"""Our words for what is the matter with a thing: another text has its own."""
ABBREVIATED = 7
"""Characters of a commit's hash that tell it."""
LONG = 1_000
"""Characters of the user's words from which their beginning and their end tell them: nobody says a
pasted log again."""

_LABEL = re.compile(r"(?:Mode|Plan file|Worktree): ")
"""Our words in front of a thing."""
_COUNT = re.compile(r"\d+ of \d+")
"""What we count ourselves."""
_PLUMBING = re.compile(r"(?:\s+2>(?:&1|/dev/null)|\s+\|\s+(?:head|tail|grep|cat|tee)\b[^|]*)+$")
"""What is put behind a command to see less of what it says: another text leaves it out."""
_ENDED = {
    "FAILS": re.compile(r"\b(?:fail|broke|error)", re.IGNORECASE),
    "passes": re.compile(r"\b(?:pass|succe|clean|green|ok\b)", re.IGNORECASE),
}
_COUNTED = re.compile(r"(\d+) (.+) (pass|fail)ed")
_SAYS: dict[Matter, re.Pattern[str]] = {
    "deleted": re.compile(r"\b(?:delet|remov|drop)", re.IGNORECASE),
    "renamed": re.compile(r"\b(?:renam|mov(?:e|es|ed|ing)\b)", re.IGNORECASE),
    "published": re.compile(r"\b(?:push|PR\b|pull request|tag)", re.IGNORECASE),
}
"""What a line must say of the thing it names."""
_ABSENT = {
    "The agent made no commit": re.compile(
        r"(?i)\bno (?:\w+ )?commits? (?:was|were|made|yet)|\bnothing (?:\w+ )?committed"
        r"|\b(?:not|n['’]t) (?:been |yet )*committed|\buncommitted\b|agent made no commit"
    ),
    "No test was run": re.compile(
        r"(?i)\bno tests? (?:was|were) (?:run|executed)|\b(?:did|has|have) ?(?:not|n['’]t) run "
        r"(?:\w+ )?tests?\b|\buntested\b"
    ),
}
"""How others tell what was not done."""


class Prose:
    """A text whose lines are looked through for what a probe is about."""

    def __init__(self, text: str) -> None:
        text = text.replace("\\|", "|")  # in a table a bar is written in this way
        self._lines = [plain(line) for line in text.split("\n")]
        self._whole = plain(text)

    def tells(self, probe: Probe) -> bool:
        """Whether what is asked for stands there, in whatever words of its own."""
        if probe.matter == "absence":
            absent = _ABSENT[probe.key or probe.expected[0]]
            return any(absent.search(line) for line in self._lines)
        about = plain(subject(probe))
        if not about or probe.matter == "edited since":  # no other text tells it in such words
            return False
        return _READ.get(probe.matter, Prose._has)(self, probe, about)

    def _has(self, probe: Probe, about: str) -> bool:
        return holds_plain(self._whole, about)

    def _quotes(self, probe: Probe, about: str) -> bool:
        if len(about) <= LONG:  # within a sentence it begins with a small letter
            begun = {about, about[:1].lower() + about[1:], about[:1].upper() + about[1:]}
            return any(holds_plain(self._whole, one) for one in begun)
        ending = beginning(about[::-1])[::-1]
        return self._has(probe, beginning(about)) and self._has(probe, ending)

    def _begins(self, probe: Probe, about: str) -> bool:
        return self._has(probe, beginning(about))

    def _runs(self, probe: Probe, about: str) -> bool:
        return self._has(probe, bare(about))

    def _knows(self, probe: Probe, about: str) -> bool:
        return about[:ABBREVIATED] in self._whole

    def _says(self, probe: Probe, about: str) -> bool:
        said = _SAYS[probe.matter]
        return any(said.search(line.replace(about, "")) for line in self._with(about))

    def _ended(self, probe: Probe, about: str) -> bool:
        """A line that names a command tells how it ended and nothing else, or its counts."""
        command = bare(about)
        for line in self._with(command):
            rest = line.replace(command, "")
            ends = {end for end, words in _ENDED.items() if words.search(rest)}
            counts = [found for part in probe.expected[1:] if (found := _COUNTED.fullmatch(part))]
            told = ends == {"FAILS" if "FAILS" in probe.expected else "passes"}
            if all(_tells_count(rest, *one.groups()) for one in counts) if counts else told:
                return True
        return False

    def _reported(self, probe: Probe, about: str) -> bool:
        """All of it in one line: a paragraph, or an item of a list."""
        wanted = [plain(part) for part in probe.expected]
        return any(all(holds_plain(line, part) for part in wanted) for line in self._with(about))

    def _with(self, part: str) -> Iterator[str]:
        return (line for line in self._lines if holds_plain(line, part))


_READ: dict[Matter, Callable[[Prose, Probe, str], bool]] = {
    **dict.fromkeys(_SAYS, Prose._says),
    "request": Prose._quotes,
    "rule": Prose._quotes,
    "decision": Prose._begins,
    "question": Prose._begins,
    "command": Prose._runs,
    "head": Prose._knows,
    "commit": Prose._knows,
    "check": Prose._ended,
    "finding": Prose._reported,
}
"""How each matter is looked for; all others to the letter."""


def _tells_count(line: str, count: str, unit: str, ended: str) -> bool:
    """As `3 tests failed`, `3 of 13 failed` or `failed: 3`."""
    number = rf"(?<![\w.,/-])(?:{count}|{int(count):,})(?![\d,.]*\d)"
    of = r"(?:\s*(?:/|(?:out )?of)\s*\d+)?"
    before = rf"{number}{of}\s+(?:(?:{re.escape(unit)}|tests?|are|still|now) )*{ended}"
    return re.search(rf"(?i){before}|\b{ended}\w*\s*[:=]\s*{number}", line) is not None


def subject(probe: Probe) -> str:
    """What a probe is about: the first that is expected and no word of ours; empty where all
    are."""
    things = (part for part in probe.expected if part not in LABELS and not _COUNT.fullmatch(part))
    return _LABEL.sub("", next(things, ""), count=1)


def bare(command: str) -> str:
    """A command without what is put behind it to see less of what it says."""
    return _PLUMBING.sub("", command)
