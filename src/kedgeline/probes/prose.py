"""Probes asked of a text in words of its own: it has no sections, and says what it says in its own
way. Only who reads the summaries of others needs it. Names, paths and the user's words are looked
for to the letter, and what became of them in the same line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kedgeline.model import Matter, Probe
from kedgeline.probes.answering import beginning
from kedgeline.text.prose import holds_plain, plain

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
