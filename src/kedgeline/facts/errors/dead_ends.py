"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from kedgeline.facts.errors.errors import Tries
from kedgeline.facts.errors.runs import Ran, Step, failure_of, only_looks, steps_of
from kedgeline.facts.errors.words import (
    added_lines,
    against,
    asked_to_undo,
    attempt,
    goes_on,
    named,
    only_prints,
    proposes_plan,
    replacements,
    sends_on,
    shown,
    telling_line,
    undone_by_user,
    why,
)
from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.files.paths import Paths
from kedgeline.facts.said.requests import said_in
from kedgeline.model import DeadEnd, ToolCall, Turn
from kedgeline.outcomes import Outcome
from kedgeline.outcomes.calls import shell_line
from kedgeline.text.prose import cut, one_line

# Edits that were made and taken back.

REMEMBERED = 64
"""Files remembered as edited, or created; the oldest goes."""
SWAPS = 128
"""Edits remembered by their texts, of which another may be the exact reverse."""
SHORTEST = 12
"""Characters of the old and the new text together: shorter ones are reversed by chance."""
_CHOOSES = frozenset({"--ours", "--theirs", "-b", "-B", "--orphan", "--merge", "-p", "--patch"})
"""Options of `git checkout` with which it undoes nothing."""


class _When(NamedTuple):
    turn: int
    exchange: int


class Edits:
    """The files changed since the last commit, and those created."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._edited = Recent[str, _When](REMEMBERED)
        self._created = Recent[str, _When](REMEMBERED)
        self._stashed = Recent[str, _When](REMEMBERED)
        self._swaps = Recent[bytes, str](SWAPS)
        self._back: set[str] = set()
        """What the call at hand has taken back."""

    def of_exchange(self, exchange: int) -> tuple[str, ...]:
        """Files last changed in the latest exchange before this one in which any was."""
        before = [when.exchange for when in self._edited.values() if when.exchange < exchange]
        latest = max(before, default=-1)
        return tuple(path for path, when in self._edited.items() if when.exchange == latest)

    def forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._edited.pop(path, None)
            self._created.pop(path, None)

    def add(self, outcome: Outcome, turn: int, exchange: int) -> None:
        """Take the files that a call changed; those it took back are as they were."""
        when = _When(turn, exchange)
        back, self._back = self._back, set()
        for touch in outcome.touched:
            path = self._paths.name(touch.path)
            if touch.action == "read" or not path or self._paths.is_scratch(path):
                continue
            if path in back:
                continue
            if touch.action == "deleted":
                self.forget((path,))
                continue
            self._edited.put(path, when)
            if touch.action == "created" and touch.by == "tool" and path not in self._created:
                self._created.put(path, when)

    def deleted(self, outcome: Outcome, exchange: int) -> Iterator[tuple[str, int]]:
        """Files that a call deletes and that an earlier exchange created, with their turns."""
        for touch in outcome.touched:
            created = self._created.get(self._paths.name(touch.path))
            if touch.action == "deleted" and created and created.exchange < exchange:
                yield self._paths.name(touch.path), created.turn

    def reversed(self, outcome: Outcome) -> Iterator[str]:
        """Edits whose exact reverse a call makes, in words."""
        if not outcome.success or outcome.call.verb != "edit":
            return
        path = self._paths.name(next(iter(outcome.call.paths()), ""))
        if not path:
            return
        if outcome.call.parameters.get("command") == "undo_edit":
            yield f"last edit of {path}, taken back"
        for old, new in replacements(outcome.call.parameters):
            if old == new or len(old) + len(new) < SHORTEST:
                continue
            tried = self._swaps.pop(_digest(path, new, old), None)
            if tried is not None:
                if tried:
                    yield tried
                continue
            added = added_lines(old, new)
            line = "" if only_prints(added) else telling_line(added)
            told = f"{path}: `{line}`, taken back" if line else ""
            self._swaps.put(_digest(path, old, new), told)

    def undone(self, outcome: Outcome, steps: Sequence[Step]) -> Iterator[tuple[str, set[str]]]:
        """What commands of git took back, in words, with the files."""
        for step in steps:
            if step.passing and step.run.purpose in ("commit", "merge"):
                self._edited.clear()
            if step.ran.program != "git" or step.failing or not outcome.success:
                self._failed_stash(step)
                continue
            files = self._taken_back(step.ran, step.command.folder)
            if files:
                yield f"edits of {named(files)}, undone by `{shown(step.run.text)}`", files
                self.forget(files)
                self._back |= files

    def _failed_stash(self, step: Step) -> None:
        """A line that fails may have stashed before it did: it is not known then what is still
        there to be undone."""
        if step.ran.words[:2] == ("git", "stash"):
            self._stashed.clear()
            self._edited.clear()

    def _taken_back(self, ran: Ran, folder: str) -> set[str]:
        does = next((word for word in ran.words[1:] if not word.startswith("-")), "")
        given = set(ran.words[1:])
        if does == "reset":
            return set(self._edited) if "--hard" in given else set()
        if does == "stash":
            return self._stash(ran.words[2:])
        if does == "checkout" and not given & _CHOOSES:
            return self._among(ran.words[2:], folder)
        if does == "restore" and not (given & {"--staged", "-S"} and not given & {"--worktree"}):
            return self._among(ran.words[2:], folder)
        return set()

    def _stash(self, words: Sequence[str]) -> set[str]:
        """Stashed edits are undone when the stash is dropped."""
        does = words[0] if words else "push"
        if does in ("push", "save") or does.startswith("-"):
            if "--keep-index" not in words:
                self._stashed, self._edited = self._edited, Recent(REMEMBERED)
        elif does in ("pop", "apply"):
            self._edited.update(self._stashed)
            self._stashed = Recent(REMEMBERED)
        elif does in ("drop", "clear"):
            files, self._stashed = set(self._stashed), Recent(REMEMBERED)
            return files
        return set()

    def _among(self, words: Sequence[str], folder: str) -> set[str]:
        """The files among a command's words that were edited; all where it names all."""
        if "." in words and not folder:
            return set(self._edited)
        return {name for word in words if (name := self._paths.name(word, folder)) in self._edited}


def _digest(path: str, old: str, new: str) -> bytes:
    whole = blake2b(digest_size=12)
    for text in (path, old, new):
        data = text.encode(errors="replace")
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.digest()


# Calls that the user did not let run, and what followed.

MOST_REFUSED = 2
"""Refused calls given of one turn: the user refused what they do together."""
_CHANGES = frozenset({"edit", "write", "delete", "delegate"})


class _Stopped(NamedTuple):
    call: ToolCall
    refused: bool
    """Otherwise it was interrupted while it ran, or while it waited."""


class Refusals:
    """With the user's reason, a refusal is told at once. Without one, what follows decides: a user
    who stops a call may only want to say something before it."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._waiting: tuple[_Stopped, ...] = ()
        """Calls that were stopped without a word, until anybody speaks or acts."""
        self._session = 0

    def before(self, turn: Turn) -> Iterator[DeadEnd]:
        """What a turn tells of the calls stopped before it."""
        if turn.session != self._session:
            self._waiting, self._session = (), turn.session
        if not self._waiting:
            return
        words = _order(turn)
        if not words and not turn.tool_calls and not turn.assistant_response:
            return  # a client's mark that it was interrupted
        stopped, self._waiting = self._waiting, ()
        if not goes_on(words):
            yield from islice(self._told(stopped, turn, words), MOST_REFUSED)

    def _told(self, waiting: Sequence[_Stopped], turn: Turn, words: str) -> Iterator[DeadEnd]:
        for stopped in waiting:
            again = any(_same(stopped.call, call) for call in turn.tool_calls)
            if proposes_plan(stopped.call) or again:  # a plan that is approved is worded so, too
                continue
            reason = _answered(stopped, words) if words else _left(stopped)
            if reason is None or not (what := attempt(stopped.call, self._paths)):
                continue
            how = "refused" if stopped.refused else "stopped"
            yield DeadEnd(turn=turn.index, by="user", what=f"{what}, {how}", why=reason)

    def of(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        """What is refused in a turn with the user's reason; the others wait."""
        told = 0
        for outcome in outcomes:
            result = outcome.result
            if result is None or not (result.refused or result.interrupted):
                continue
            if not result.reason:
                self._waiting = (*self._waiting, _Stopped(outcome.call, result.refused))
            elif told < MOST_REFUSED and (what := attempt(outcome.call, self._paths)):
                told += 1
                reason = why(result.reason)
                yield DeadEnd(turn=turn.index, by="user", what=f"{what}, refused", why=reason)


def _order(turn: Turn) -> str:
    """What the user said before a turn; of commands, those that start work."""
    said = [one for one in said_in(turn) if one.way != "reason"]
    prompts = [one.text for one in said if not one.command]
    return next(iter([*prompts, *(one.typed for one in said if one.starts_work)]), "")


def _answered(stopped: _Stopped, words: str) -> str | None:
    """Why a call was stopped, where the words that follow show that it was meant; else None. A
    command may have been interrupted for any reason."""
    if stopped.call.verb in _CHANGES or against(words):
        return why(words)
    if not _is_run(stopped) or sends_on(words):
        return None
    return f"the user then said “{why(words)}”"


def _left(stopped: _Stopped) -> str | None:
    """The same where the agent went on: it was told no, and nothing more."""
    meant = stopped.refused and (stopped.call.verb in _CHANGES or _is_run(stopped))
    return "" if meant else None


def _is_run(stopped: _Stopped) -> bool:
    """Whether it is a command that does something, and was refused."""
    line = shell_line(stopped.call)
    return stopped.refused and bool(line) and not only_looks(line)


def _same(one: ToolCall, other: ToolCall) -> bool:
    line = shell_line(one)
    if line:
        return line == shell_line(other)
    return one.tool == other.tool and one.parameters == other.parameters


ERROR_SHOWN = 180
"""Characters of an error as a reason."""


class DeadEndExtractor:
    """Gives what the record proves to have been dropped: edits taken back, calls the user refused,
    tries that another one replaced, files deleted again."""

    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root)
        self._edits = Edits(self._paths)
        self._tries = Tries()
        self._refusals = Refusals(self._paths)
        self._asked = -1
        """The exchange in which the user asked for work to be taken back."""
        self._told = -1
        """The exchange in which an edit was given as taken back: others there belong to it."""
        self._error = ""
        """What went wrong since the last edit."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        if turn.user_message:
            yield from self._heard(turn)
        yield from self._refusals.before(turn)
        yield from self._refusals.of(turn, outcomes)
        for outcome in outcomes:
            steps = steps_of(outcome)
            for what in self._dropped(turn, outcome, steps):
                yield DeadEnd(turn=turn.index, what=what, why=why(turn.user_message) or self._error)
            yield from self._replaced(turn, outcome, steps)
            self._edits.add(outcome, turn.index, turn.exchange)
            if outcome.changed:
                self._error = ""

    def _heard(self, turn: Turn) -> Iterator[DeadEnd]:
        """What the user says of the work before."""
        files = self._edits.of_exchange(turn.exchange)
        if files and (said := undone_by_user(turn.user_message)):
            what = f"changes to {named(files)}, undone by the user"
            yield DeadEnd(turn=turn.index, by="user", what=what, why=why(said))
            self._edits.forget(files)
        elif files and (said := asked_to_undo(turn.user_message)):
            self._asked = turn.exchange
            what = f"part of the work on {named(files)}, which the user asked to undo"
            yield DeadEnd(turn=turn.index, by="user", what=what, why=why(said))

    def _dropped(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[str]:
        """What a call takes back, in words."""
        for what, files in self._edits.undone(outcome, steps):
            if files and self._asked != turn.exchange:
                yield what
        taken_back = tuple(self._edits.reversed(outcome))
        if taken_back and turn.exchange not in (self._asked, self._told):
            self._told = turn.exchange
            yield taken_back[0]
        for path, created in self._edits.deleted(outcome, turn.exchange):
            yield f"{path}, created in t{created} and deleted again"

    def _replaced(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[DeadEnd]:
        if (given_up := self._tries.work(turn, outcome, steps)) is not None:
            yield DeadEnd(turn=turn.index, what=given_up[0], why=given_up[1])
        failure = failure_of(outcome, steps, self._paths)
        if failure is not None:
            self._tries.fail(turn, failure)
            if not failure.minor:
                self._error = cut(one_line(failure.told[0].line), ERROR_SHOWN)
