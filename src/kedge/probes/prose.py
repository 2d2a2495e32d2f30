"""Probes asked of a text in words of its own: it has no sections, and says what it says in its
own way.

What is exact must stand there to the letter: paths, commands, names, the user's words. Our words
for what is the matter with a thing need not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, takewhile

from kedge.matching import holds_plain, plain
from kedge.model import Matter, Probe
from kedge.probes.making.requests import beginning
from kedge.probes.telling import became, ended, was_not_done

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
OURS_ALONE: tuple[Matter, ...] = ("edited since",)
"""Matters that no other text tells in words that could be known again."""
FILES: tuple[Matter, ...] = ("created", "modified", "deleted", "renamed", "change")
NEAR = 3
"""Lines of a list below one that names a file in which it may be told what was done to it."""
ABBREVIATED = 7
"""Characters of a commit's hash that tell it."""
LONG = 1_000
"""Characters of the user's words from which their beginning and their end tell them: nobody says a
pasted log again."""

_LABEL = re.compile(r"(?:Mode|Plan file|Worktree): ")
"""Our words in front of a thing."""
_COUNT = re.compile(r"\d+ of \d+")
"""What we count ourselves."""
_PUBLISHED = re.compile(r"\b(?:push|PR\b|pull request|tag)", re.IGNORECASE)
_POINT = re.compile(r"\s*[-*•] ")
_PLUMBING = re.compile(r"(?:\s+2>(?:&1|/dev/null)|\s+\|\s+(?:head|tail|grep|cat|tee)\b[^|]*)+$")
"""What is put behind a command to see less of what it says: another text leaves it out."""


class Prose:
    """A text whose sentences are looked through for what a probe is about."""

    def __init__(self, text: str) -> None:
        text = text.replace("\\|", "|")  # in a table a bar is written in this way
        self._raw = text.split("\n")
        self._lines = [plain(line) for line in self._raw]
        self._whole = plain(text)

    def tells(self, probe: Probe) -> bool:
        """Whether what is asked for stands there, in whatever words of its own."""
        if probe.matter == "absence":
            return was_not_done(probe.key or probe.expected[0], self._lines)
        about = subject(probe)
        if not about or probe.matter in OURS_ALONE:
            return False
        return _READ.get(probe.matter, Prose._has)(self, probe, plain(about))

    def _has(self, probe: Probe, about: str) -> bool:
        return holds_plain(self._whole, about)

    def _quotes(self, probe: Probe, about: str) -> bool:
        if len(about) <= LONG:  # within a sentence it begins with a small letter
            begun = {about, about[:1].lower() + about[1:], about[:1].upper() + about[1:]}
            return any(holds_plain(self._whole, one) for one in begun)
        return self._has(probe, beginning(about)) and self._has(probe, _ending(about))

    def _begins(self, probe: Probe, about: str) -> bool:
        return self._has(probe, beginning(about))

    def _runs(self, probe: Probe, about: str) -> bool:
        return self._has(probe, bare(about))

    def _knows(self, probe: Probe, about: str) -> bool:
        return about[:ABBREVIATED] in self._whole

    def _did(self, probe: Probe, about: str) -> bool:
        return any(became(probe.matter, about, lines) for lines in self._around(about))

    def _ended(self, probe: Probe, about: str) -> bool:
        """A command and how it ended, with its counts where there are any."""
        command, wanted = bare(about), probe.expected[1:]
        return any(ended(line, command, wanted) for line in self._with(command))

    def _published(self, probe: Probe, about: str) -> bool:
        return any(_PUBLISHED.search(line.replace(about, "")) for line in self._with(about))

    def _with(self, part: str) -> Iterator[str]:
        return (line for line in self._lines if holds_plain(line, part))

    def _around(self, path: str) -> Iterator[tuple[str, ...]]:
        """Lines that name a path, each with the list below it."""
        for number, line in enumerate(self._lines):
            if holds_plain(line, path):
                behind = takewhile(partial(_is_below, self._raw[number]), self._raw[number + 1 :])
                yield line, *map(plain, islice(behind, NEAR))


_READ: dict[Matter, Callable[[Prose, Probe, str], bool]] = {
    **dict.fromkeys(FILES, Prose._did),
    "request": Prose._quotes,
    "rule": Prose._quotes,
    "decision": Prose._begins,
    "question": Prose._begins,
    "command": Prose._runs,
    "head": Prose._knows,
    "commit": Prose._knows,
    "check": Prose._ended,
    "published": Prose._published,
}
"""How each matter is looked for; all others to the letter."""


def subject(probe: Probe) -> str:
    """What a probe is about: the first that is expected and no word of ours; empty where all
    are."""
    things = (part for part in probe.expected if part not in LABELS and not _COUNT.fullmatch(part))
    return _LABEL.sub("", next(things, ""), count=1)


def bare(command: str) -> str:
    """A command without what is put behind it to see less of what it says."""
    return _PLUMBING.sub("", command)


def _is_below(above: str, line: str) -> bool:
    """Whether a line belongs to a list below another: it is moved in, or begins one."""
    depth, moved = (len(one) - len(one.lstrip()) for one in (above, line))
    return moved > depth or bool(_POINT.match(line) and not _POINT.match(above))


def _ending(text: str) -> str:
    """The last words, as `beginning` gives the first."""
    return beginning(text[::-1])[::-1]
