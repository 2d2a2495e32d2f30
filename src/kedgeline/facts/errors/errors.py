"""Errors: seen, and shown to be past."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedgeline.facts.errors.runs import (
    Failure,
    Kind,
    Open,
    Ran,
    Step,
    alike,
    failure_of,
    scope_of,
    searched_for,
    shows_past,
    steps_of,
    tags_of,
    target_of,
    whole_output,
)
from kedgeline.facts.errors.words import (
    MOST_PLACES,
    PACKAGE_RUN,
    WHAT_SHOWN,
    Changes,
    key_of,
    places_of,
    same_request,
    shown,
    shows_built,
)
from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.files.paths import Paths
from kedgeline.model import ErrorResolved, ErrorSeen, Speaker, Turn
from kedgeline.outcomes import Outcome
from kedgeline.outcomes.calls import shell_line
from kedgeline.outcomes.evidence import NO_OUTPUT, shown_part
from kedgeline.outcomes.telling import Told
from kedgeline.text.prose import cut, one_line, sentences

# Errors that are open, and what shows them to be past.

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

Past = tuple[str, str]
"""An error's key, and by what it went away."""


class OpenErrors:
    def __init__(self, paths: Paths) -> None:
        self.changes = Changes(paths)
        self._paths = paths
        self._open = Recent[str, Open](REMEMBERED)
        self._read = Recent[str, int](REMEMBERED)
        """In which turn a file was last read."""

    def items(self) -> tuple[tuple[str, Open], ...]:
        return tuple(self._open.items())

    def add(self, key: str, error: Open) -> None:
        """Take an error; one that is open already stays so since it was first seen."""
        before = self._open.get(key)
        if before is not None:
            also = [ran for ran in (*before.also, *before.awaited) if ran not in error.awaited]
            error = error._replace(since=before.since, also=tuple(also)[-ALSO:])
        self._open.put(key, error)

    def settle(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[Past]:
        """What a call shows to be past."""
        result = outcome.result
        if result is None or result.refused or result.interrupted:
            return
        self.changes.add(outcome, steps)
        if outcome.success and outcome.call.verb == "read":
            for path in outcome.call.paths()[:4]:
                self._read.put(self._paths.name(path), turn.index)
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
        ran = PACKAGE_RUN.findall(shown_part(output)) if step.run.purpose == "test" else ()
        packages = frozenset(ran)
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

    def drop(self, key: str) -> None:
        """It is past by what somebody said."""
        self._open.pop(key, None)

    def _past(self, key: str, how: str) -> Past:
        self.drop(key)
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


# Ways of running something that failed before one worked.

TRIES_REMEMBERED = 16
"""Programs whose failed tries are remembered."""
FEWEST = 2
"""Different tries that must have failed; one is a slip."""
MOST = 4
"""Tries kept of each."""
TRIES_ALIKE = 0.4
"""Share of words that a try has in common with the line that works."""
_TRIED = frozenset({"other", "install", "deploy", "migration"})
"""Purposes whose failing is a matter of how they are run; tests and builds fail for what they
check."""


class _Try(NamedTuple):
    line: str
    error: str
    turn: int


class Tries:
    def __init__(self) -> None:
        self._tried = Recent[tuple[str, ...], list[_Try]](TRIES_REMEMBERED)
        self._exchange = -1

    def fail(self, turn: Turn, failure: Failure) -> None:
        """Take a command that failed."""
        self._enter(turn)
        step = failure.step
        if step is None or step.run.purpose not in _TRIED or step.ran.looks:
            return
        head = scope_of(step.ran).head[:2]
        tries = self._tried.get(head, [])
        if all(one.line != failure.about for one in tries):
            error = cut(one_line(failure.told[0].line), 2 * WHAT_SHOWN)
            tries = [*tries, _Try(failure.about, error, turn.index)][-MOST:]
        self._tried.put(head, tries)

    def work(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> tuple[str, str] | None:
        """The tries that a command which works has made needless, and why the last one failed."""
        self._enter(turn)
        line = shell_line(outcome.call)
        for step in steps:
            head = scope_of(step.ran).head[:2]
            if not step.passing or head not in self._tried:
                continue
            tries = [one for one in self._tried.pop(head) if turn.index - one.turn <= 2 * NEAR]
            tries = [one for one in tries if _alike(one.line, line)]
            if len({one.line for one in tries}) >= FEWEST:
                failed = ", ".join(f"`{cut(one.line, WHAT_SHOWN)}`" for one in tries[-FEWEST:])
                works = cut(one_line(line[: 8 * WHAT_SHOWN]), WHAT_SHOWN)
                return f"{failed}; `{works}` works", tries[-1].error
        return None

    def _enter(self, turn: Turn) -> None:
        if turn.exchange != self._exchange:
            self._tried.clear()
            self._exchange = turn.exchange


def _alike(tried: str, line: str) -> bool:
    one, other = words_of(tried), words_of(line)
    return tried != line and len(one & other) >= TRIES_ALIKE * len(one | other)


LINE_SHOWN = 240
"""Characters of a telling line: a message, a path, what was expected and what came."""
MOST_SEEN = 3
"""Errors given of one output: the first ones cause many of the others."""

HOW_SHOWN = 120
LOOKED_AT = 4_000
"""Characters of an answer in which it says what is done instead."""
_INSTEAD = re.compile(
    r"\bfail\w*\b.{0,300}?[,;—-] ?(?:so |therefore |instead,? )?(?:I|we)?(?:'ve| have)? ?"
    r"(switched to .{2,200}|moved to .{2,200}|went with .{2,200}|use[ds]? .{2,200} instead)",
    re.IGNORECASE,
)
_NAMES = re.compile(r"[\w./-]{3,80}")

Found = ErrorSeen | ErrorResolved


class ErrorExtractor:
    """Gives each error when it is seen, and again when something shows it to be past."""

    def __init__(self, setting: Setting) -> None:
        self._root = setting.root
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._paths = Paths(setting.root)
        self._errors = OpenErrors(self._paths)
        self._minor = Recent[str, int](REMEMBERED)
        """In which exchange a client's rule was last broken: once is enough to be told."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Found]:
        for outcome in outcomes:
            steps = steps_of(outcome)
            for key, how in self._errors.settle(turn, outcome, steps):
                yield ErrorResolved(turn=turn.index, by=_speaker(turn), key=key, how=how)
            failure = failure_of(outcome, steps, self._paths)
            if failure is not None:
                yield from self._failed(turn, outcome, failure)
            if outcome.call.verb == "delegate" and outcome.call.id in self._agents:
                yield from self._of_agent(turn, outcome.call.id)
        if not outcomes and turn.assistant_response:
            yield from self._given_up(turn)

    def _given_up(self, turn: Turn) -> Iterator[ErrorResolved]:
        """What the agent says it does instead of what failed, where it names the error."""
        told = [s for s in sentences(turn.assistant_response[:LOOKED_AT]) if _INSTEAD.search(s)]
        for key, error in self._errors.items() if told else ():
            names = {name for name in _NAMES.findall(error.line) if not name.isalpha()}
            for sentence in told:
                found = _INSTEAD.search(sentence)
                if found and names & set(_NAMES.findall(sentence)):
                    self._errors.drop(key)
                    how = cut(one_line(found[1]), HOW_SHOWN).rstrip(".")
                    yield ErrorResolved(turn=turn.index, by="agent", key=key, how=how)
                    break

    def _failed(self, turn: Turn, outcome: Outcome, failure: Failure) -> Iterator[Found]:
        found = self._keyed(failure)
        gone = self._errors.replace(outcome, failure, failure.told[0].kind, set(found))
        for key, how in gone:
            yield ErrorResolved(turn=turn.index, by=_speaker(turn), key=key, how=how)
        for key, (told, places) in list(found.items())[:MOST_SEEN]:
            if failure.minor and self._told_before(told, turn.exchange):
                continue
            line = cut(one_line(told.line), LINE_SHOWN)
            count = self._errors.changes.count
            error = Open(
                line=line,
                kind=told.kind,
                name=told.name,
                places=places,
                missing=failure.missing,
                awaited=failure.awaited,
                also=(),
                target=failure.target,
                about=failure.about,
                since=count,
                turn=turn.index,
                exchange=turn.exchange,
            )
            self._errors.add(key, error)
            yield ErrorSeen(
                turn=turn.index,
                by=_speaker(turn),
                key=key,
                line=line,
                about=failure.about,
                places=places,
            )

    def _keyed(self, failure: Failure) -> dict[str, tuple[Told, tuple[str, ...]]]:
        """The errors by their keys; those of one key are one, with all its places."""
        folder = failure.awaited[-1].folder if failure.awaited else ""
        found: dict[str, tuple[Told, tuple[str, ...]]] = {}
        for told in failure.told:
            key = self._key(told, failure)
            first, before = found.get(key, (told, ()))
            places = (*before, *places_of(told, self._paths, folder))
            found[key] = (first, tuple(dict.fromkeys(places))[:MOST_PLACES])
        return found

    def _key(self, told: Told, failure: Failure) -> str:
        """Where the line tells little, what it is about belongs to the key."""
        key = key_of(told.line, self._root)
        if failure.minor or told.line.startswith("exit code "):
            return f"{key} [{failure.target or shown(failure.about)}]"
        return key

    def _told_before(self, told: Told, exchange: int) -> bool:
        """Whether the same rule was broken in this exchange already, by whichever call."""
        key = key_of(told.line, self._root)
        before = self._minor.get(key)
        self._minor.put(key, exchange)
        return before == exchange

    def _of_agent(self, turn: Turn, call_id: str) -> Iterator[ErrorSeen]:
        """What a sub-agent left unsolved: its word, as nobody looked on."""
        for key, error in self._left_open(self._agents[call_id].turns)[-MOST_SEEN:]:
            count = self._errors.changes.count
            here = error._replace(since=count, turn=turn.index, exchange=turn.exchange)
            self._errors.add(key, here)
            yield ErrorSeen(
                turn=turn.index,
                by="agent",
                key=key,
                line=error.line,
                about=error.about,
                places=error.places,
            )

    def _left_open(self, turns: Sequence[Turn]) -> tuple[tuple[str, Open], ...]:
        inner = ErrorExtractor(Setting(root=self._root))
        for turn in turns:
            for _ in inner.see(turn, self._outcomes(turn)):
                pass
        return tuple(one for one in inner._errors.items() if not one[1].target)


def _speaker(turn: Turn) -> Speaker:
    return "agent" if turn.agent else "tool"
