"""Errors that are open, and what shows them to be past."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kedge.facts.errors.addresses import same_request
from kedge.facts.errors.changes import Changes, shown
from kedge.facts.errors.failures import Failure, target_of
from kedge.facts.errors.packages import packages_run, shows_built
from kedge.facts.errors.runs import Ran, Step, alike, searched_for, whole_output
from kedge.facts.errors.scope import shows_past, tags_of
from kedge.facts.files.paths import Paths
from kedge.model import Turn
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line
from kedge.outcomes.evidence import NO_OUTPUT, shown_part
from kedge.outcomes.telling.told import Told

REMEMBERED = 48
"""Open errors remembered; the oldest goes, and stays open for whoever was told of it."""
NEAR = 6
"""Turns within which another command of the same kind that works stands for the one that
failed."""
ALSO = 3
"""Commands remembered that showed the same error before."""
ALIKE = 0.5
"""Share of words that two lines have in common where one is a variant of the other."""

_WORD = re.compile(r"[\w./@-]{1,80}")
_INLINE = frozenset({"-c", "-e", "--eval", "-"})
"""How an interpreter is given a script; two of them need not be about the same."""
_FOUND_NOTHING = re.compile(r"\s*(?:Command|Process)? ?exited with (?:exit )?code 1\.?\s*")

Kind = Literal["test", "compiler", "raised", "other"]
Past = tuple[str, str]
"""An error's key, and by what it went away."""


class Open(NamedTuple):
    line: str
    kind: Kind
    name: str
    places: tuple[str, ...]
    missing: bool
    awaited: tuple[Ran, ...]
    """Commands that must succeed for it to be past."""
    also: tuple[Ran, ...]
    """Others that showed it before: one of them is enough."""
    target: str
    about: str
    since: int
    """How many changes there had been when it was first seen."""
    turn: int
    exchange: int


class OpenErrors:
    def __init__(self, paths: Paths) -> None:
        self.changes = Changes(paths)
        self._paths = paths
        self._open: dict[str, Open] = {}
        self._read: dict[str, int] = {}
        """In which turn a file was last read."""

    def items(self) -> tuple[tuple[str, Open], ...]:
        return tuple(self._open.items())

    def add(self, key: str, error: Open) -> None:
        """Take an error; one that is open already stays so since it was first seen."""
        before = self._open.pop(key, None)
        if before is not None:
            also = [ran for ran in (*before.also, *before.awaited) if ran not in error.awaited]
            error = error._replace(since=before.since, also=tuple(also)[-ALSO:])
        self._open[key] = error
        if len(self._open) > REMEMBERED:
            del self._open[next(iter(self._open))]

    def settle(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[Past]:
        """What a call shows to be past."""
        result = outcome.result
        if result is None or result.refused or result.interrupted:
            return
        self.changes.add(outcome, steps)
        if outcome.success and outcome.call.verb == "read":
            self._note(outcome, turn)
        elif outcome.success and not steps and self._open:
            yield from self._repaired(turn, outcome)
        for step in steps if self._open else ():
            if step.passing:
                yield from self._passed(turn, outcome, step)
            yield from self._by_name(step, result.output)
            yield from self._built(step, outcome, result.output)
            yield from self._silent(step, result.output)
        self.changes.add_printed(outcome)

    def replace(
        self, outcome: Outcome, failure: Failure, kind: Kind, keys: set[str]
    ) -> Iterator[Past]:
        """The same command fails again, with other errors: those it no longer names are gone,
        where all it said is there and something was changed."""
        step, result = failure.step, outcome.result
        if step is None or result is None or len(failure.awaited) != 1:
            return
        if not whole_output(step, result.output):
            return
        for key, error in self.items():
            how = self.changes.how(error.since)
            if how and key not in keys and _again(step, error) and _follows(kind, error.kind):
                yield self._past(key, how)

    def _passed(self, turn: Turn, outcome: Outcome, step: Step) -> Iterator[Past]:
        """A command succeeded."""
        line = shell_line(outcome.call)
        for key, error in self.items():
            left = tuple(ran for ran in error.awaited if not shows_past(step.ran, ran, error))
            other = any(shows_past(step.ran, ran, error) for ran in error.also)
            if error.awaited and (other or not left):
                how = f"`{shown(line)}` works" if _again(step, error) else f"by `{shown(line)}`"
                yield self._past(key, self.changes.how(error.since) or how)
            elif left != error.awaited:
                self._open[key] = error._replace(awaited=left)
            elif _is_variant(step.ran, line, error, turn) or _at_other_address(step.ran, error):
                edited = self.changes.how_in(error.since, f"{error.about} {error.line}")
                yield self._past(key, edited or f"by `{shown(line)}` instead")

    def _built(self, step: Step, outcome: Outcome, output: str) -> Iterator[Past]:
        """Tests were run of a package that could not be built before: some of them may fail."""
        packages = packages_run(output) if step.run.purpose == "test" else frozenset()
        for key, error in self.items() if packages else ():
            if len(error.awaited) != 1:
                continue
            (failed,) = error.awaited
            if shows_built(packages, step.ran, failed, error):
                other = tags_of(step.ran) != tags_of(failed)
                how = "" if other else self.changes.how(error.since)
                yield self._past(key, how or f"by `{shown(shell_line(outcome.call))}`")

    def _by_name(self, step: Step, output: str) -> Iterator[Past]:
        """A test that failed before is among those that a runner says to have passed."""
        named = [(key, error) for key, error in self.items() if error.name]
        if step.run.purpose != "test" or not named:
            return
        text = shown_part(output)
        for key, error in named:
            if _says_passed(text, error.name):
                how = self.changes.how(error.since) or f"`{shown(step.run.text)}` passes it"
                yield self._past(key, how)

    def _silent(self, step: Step, output: str) -> Iterator[Past]:
        """The same command's output was searched for words of the error, and has none. A test that
        was not run is silent too, unless failures of any kind were searched for."""
        sought = searched_for(step)
        if not sought or not (output.strip() in NO_OUTPUT or _FOUND_NOTHING.fullmatch(output[:80])):
            return
        for key, error in self.items():
            how = self.changes.how(error.since)
            if error.kind == "test":
                proves = any("FAIL" in word for word in sought)
            else:
                proves = any(word in error.line for word in sought)
            if how and proves and _again(step, error):
                yield self._past(key, how)

    def _repaired(self, turn: Turn, outcome: Outcome) -> Iterator[Past]:
        """A call of the same tool succeeded; for a file, any change of that file."""
        target = target_of(outcome.call, self._paths)
        path = target.partition(" ")[2]
        for key, error in self.items():
            other = error.target.partition(" ")[2]
            same = path == other if path else error.target == target
            if not error.target or not same or (not path and error.exchange != turn.exchange):
                continue
            read = self._read.get(path, -1) >= error.turn
            yield self._past(key, "by reading it first" if read else "at the next try")

    def _note(self, outcome: Outcome, turn: Turn) -> None:
        for path in outcome.call.paths()[:4]:
            name = self._paths.name(path)
            self._read.pop(name, None)
            self._read[name] = turn.index
        while len(self._read) > REMEMBERED:
            del self._read[next(iter(self._read))]

    def _past(self, key: str, how: str) -> Past:
        self._open.pop(key, None)
        return key, how


def _again(step: Step, error: Open) -> bool:
    return any(alike(step.ran, ran) for ran in (*error.awaited, *error.also))


def _follows(now: Kind, before: Kind) -> bool:
    """Whether an error would have been named among those that came now. What does not compile
    says nothing about tests; what was said otherwise says nothing about either."""
    if before == "test":
        return now == "test"
    return now in ("test", "compiler") if before == "compiler" else True


def _says_passed(text: str, name: str) -> bool:
    short = name.rpartition("::")[2]
    return any(
        line in text for line in (f"--- PASS: {name} (", f"{name} PASSED", f"test {name} ... ok")
    ) or (" " in short and (f"✓ {short}" in text or f"✔ {short}" in text))


def _is_variant(ran: Ran, line: str, error: Open, turn: Turn) -> bool:
    """Whether a line that works stands for one that failed shortly before it: the same program,
    and half of the words."""
    if turn.index - error.turn > NEAR or turn.exchange != error.exchange or ran.looks:
        return False
    if not any(_same_program(ran, other) for other in error.awaited):
        return False
    if ran.purpose != error.awaited[-1].purpose or ran.purpose in ("test", "build", "lint"):
        return False
    if error.kind == "raised" or _INLINE.intersection(ran.words[:3]):
        return False
    one, other = words_of(line), words_of(error.about)
    return bool(one) and len(one & other) >= ALIKE * len(one | other)


def _same_program(one: Ran, other: Ran) -> bool:
    """`git add` and `git rebase` are two."""
    if one.program != other.program:
        return False
    does = next((word for word in other.words[1:] if not word.startswith("-")), "")
    return one.program != "git" or not does or does in one.words


def _at_other_address(ran: Ran, error: Open) -> bool:
    return (
        len(error.awaited) == 1
        and error.kind == "other"
        and not ran.looks
        and same_request(ran, error.awaited[0])
    )


def words_of(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line[:400]))


def opened(
    told: Told, line: str, places: tuple[str, ...], turn: Turn, failure: Failure, since: int
) -> Open:
    """An error as it is remembered."""
    return Open(
        line=line,
        kind=told.kind,
        name=told.name,
        places=places,
        missing=failure.missing,
        awaited=failure.awaited,
        also=(),
        target=failure.target,
        about=failure.about,
        since=since,
        turn=turn.index,
        exchange=turn.exchange,
    )
