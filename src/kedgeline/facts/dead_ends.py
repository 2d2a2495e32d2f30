"""Dead ends: what was tried and dropped, as far as the record proves it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from kedgeline.facts.edits import pairs_in
from kedgeline.facts.errors import failure_of, named
from kedgeline.facts.extractor import EXIT_PLAN, Recent, Setting, plain_name
from kedgeline.facts.git_output import Console
from kedgeline.facts.paths import Paths, is_scratch
from kedgeline.facts.requests import said_in
from kedgeline.facts.steps import only_looks, steps_of
from kedgeline.model import DeadEnd, ToolCall, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.text.prose import cut, first_sentence, one_line, sentences

# The user's words about work that was done or begun.

WHY_SHOWN = 200
"""Characters of a reason: two sentences of a user."""
LOOKED_AT = 4_000
"""Characters of the user's words from which a reason is taken."""
HEARD = 800
"""Characters of the user's words in which a cue counts; behind them stands what they pasted."""

_WORK = (
    r"(?:all (?:of )?)?(?:that|this|it|those|these|everything|your(?: \w{1,12}){0,2}"
    r"|the (?:last|latest|previous)(?: \w{1,12})?|the (?:changes?|edits?))\b"
)
_UNDID = re.compile(
    r"\bI(?:[’']ve| have)? (?:just |already |had to )?(?:undid|undone|reverted|rolled back"
    rf"|backed out|discarded|undo) {_WORK}",
    re.IGNORECASE,
)
_UNDO = re.compile(
    r"(?:^|[.!?,;:—–-] ?|\b(?:please|pls|can you|could you|would you|you can|let[’']?s|and|then"
    r"|just|so|now|also|ok|okay|yes|yeah|no|must|need to) )"
    rf"(?:revert|undo|roll back|back out) {_WORK}",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\W{0,8}(?:[\w’']{1,20}\W{1,4})?(?:stop|don[’']?t|do not|no|nope|not|instead|wrong|why"
    r"|wait|never|isn[’']?t|shouldn[’']?t|hold on|cancel|rather)\b",
    re.IGNORECASE,
)
"""How words begin that speak against something."""
_SENDS_ON = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )\b(?:continue|go on|go ahead|carry on|resume|proceed|keep going"
    r"|try (?:it |that )?again|retry|by (?:mistake|accident)|accidental(?:ly)?"
    r"|(?:run|do) (?:it|that|them)(?: now| again)?\W*$)|^\W*(?:yes|ok)\W*$",
    re.IGNORECASE,
)
"""In short words, wants what was stopped to go on."""
ON_THE_WAY = 120
"""Characters of words that send the agent on, whatever else they say."""
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def _why(words: str) -> str:
    """The user's words; what they pasted, only where there are no others."""
    words = words[:LOOKED_AT]
    spoken = _BLOCK.sub(" … ", words)
    return cut(one_line(spoken if any(map(str.isalnum, spoken)) else words), WHY_SHOWN)


# What was tried, in words.

WHAT_SHOWN = 90
"""Characters of a command or a line of code: one line of a terminal."""
EDIT_WITHIN = 20_000
"""Characters of the old and of the new text of an edit that are compared."""
_HEADING = re.compile(r"^#{1,3} +(.{1,200})$", re.MULTILINE)
_PRINTS = re.compile(r"print|console\.|fmt\.P|\blog|debug|dbg!|t\.Log|puts |echo ", re.IGNORECASE)
_COMMENTS = ("//", "#", "/*", "*", "--", '"""', "<!--")


def attempt(call: ToolCall, paths: Paths) -> str:
    """What a call was to do; empty for one that only asks."""
    if plain_name(call) in EXIT_PLAN:
        plan = call.parameters.get("plan")
        title = _HEADING.search(plan[:2_000]) if isinstance(plan, str) else None
        return f"plan “{cut(title[1].strip(), WHAT_SHOWN)}” as proposed" if title else ""
    if line := shell_line(call):
        return f"`{cut(one_line(line[: WHAT_SHOWN * 8]), WHAT_SHOWN)}`"
    if call.verb in ("edit", "write", "delete", "move"):
        path = paths.name(next(iter(call.paths()), ""))
        pair = next(iter(pairs_in(call.parameters)), None)
        line = _telling(_added(pair.old, pair.new)) if pair else ""
        return f"{call.verb} of {path}{f' (`{line}`)' if line else ''}" if path else ""
    if call.verb == "delegate":
        said = call.parameters.get("description")
        return f"sub-agent “{cut(one_line(said), WHAT_SHOWN)}”" if isinstance(said, str) else ""
    return "" if call.verb == "ask" else f"a call of {call.tool[:60]}"


def _added(old: str, new: str) -> list[str]:
    """The lines that an edit adds and that say something."""
    before = {*map(str.strip, old[:EDIT_WITHIN].splitlines())}
    lines = map(str.strip, new[:EDIT_WITHIN].splitlines())
    return [line for line in lines if line not in before and any(map(str.isalnum, line))]


def _telling(lines: Sequence[str]) -> str:
    """The first of the lines that an edit adds, of code where there is any."""
    code = (line for line in lines if not line.startswith(_COMMENTS))
    line = next(code, lines[0] if lines else "")
    return cut(one_line(line).replace("`", "'"), WHAT_SHOWN)


def _only_prints(lines: Sequence[str]) -> bool:
    """Whether all that an edit adds prints something: put in to be taken out again."""
    code = [line for line in lines if not line.startswith(_COMMENTS)]
    return bool(code) and all(_PRINTS.search(line) for line in code)


# Edits that were made and taken back.

REMEMBERED = 64
"""Files remembered as edited; the oldest goes."""
SWAPS = 128
"""Edits remembered by their texts, of which another may be the exact reverse."""
SHORTEST = 12
"""Characters of the old and the new text together: shorter ones are reversed by chance."""


class Edits:
    """The files changed last, and the texts that were put in."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._edited = Recent[str, int](REMEMBERED)
        """With the exchange in which it was."""
        self._swaps = Recent[bytes, str](SWAPS)

    def of_exchange(self, exchange: int) -> tuple[str, ...]:
        """Files last changed in the latest exchange before this one in which any was."""
        before = [last for last in self._edited.values() if last < exchange]
        latest = max(before, default=-1)
        return tuple(path for path, when in self._edited.items() if when == latest)

    def forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._edited.pop(path, None)

    def add(self, outcome: Outcome, turn: Turn) -> None:
        """Take the files that a call changed."""
        for touch in outcome.touched:
            path = self._paths.name(touch.path)
            if touch.action == "read" or not path or is_scratch(path):
                continue
            if touch.action == "deleted":
                self.forget((path,))
                continue
            self._edited.put(path, turn.exchange)

    def reversed(self, outcome: Outcome) -> Iterator[str]:
        """Edits whose exact reverse a call makes, in words."""
        path = self._paths.name(next(iter(outcome.call.paths()), ""))
        if not outcome.success or outcome.call.verb != "edit" or not path:
            return
        if outcome.call.parameters.get("command") == "undo_edit":
            yield f"last edit of {path}, taken back"
        for piece in pairs_in(outcome.call.parameters):
            old, new = piece.old, piece.new
            if old == new or len(old) + len(new) < SHORTEST:
                continue
            tried = self._swaps.pop(_digest(path, new, old), None)
            if tried:
                yield tried
            if tried is None:
                added = _added(old, new)
                line = "" if _only_prints(added) else _telling(added)
                told = f"{path}: `{line}`, taken back" if line else ""
                self._swaps.put(_digest(path, old, new), told)


def _digest(path: str, old: str, new: str) -> bytes:
    parts = [text.encode(errors="replace") for text in (path, old, new)]
    sizes = b"".join(len(part).to_bytes(8, "big") for part in parts)
    return blake2b(sizes + b"".join(parts), digest_size=12).digest()


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
        words = _order(turn) if self._waiting else ""
        if not words and not turn.tool_calls and not turn.assistant_response:
            return  # a client's mark that it was interrupted
        stopped, self._waiting = self._waiting, ()
        yield from islice(self._told(stopped, turn, words), MOST_REFUSED)

    def _told(self, waiting: Sequence[_Stopped], turn: Turn, words: str) -> Iterator[DeadEnd]:
        for stopped in waiting:
            again = any(_same(stopped.call, call) for call in turn.tool_calls)
            if plain_name(stopped.call) in EXIT_PLAN or again:  # an approval may be worded so, too
                continue
            reason = _reason_of(stopped, words)
            if reason is not None and (what := attempt(stopped.call, self._paths)):
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
                reason = _why(result.reason)
                yield DeadEnd(turn=turn.index, by="user", what=f"{what}, refused", why=reason)


def _order(turn: Turn) -> str:
    """What the user said before a turn; of commands, those that start work."""
    said = [one for one in said_in(turn) if one.way != "reason"]
    prompts = [one.text for one in said if not one.command]
    return next(iter([*prompts, *(one.typed for one in said if one.starts_work)]), "")


def _reason_of(stopped: _Stopped, words: str) -> str | None:
    """Why a call was stopped; None where nothing shows that it was meant. A command may have been
    interrupted for any reason."""
    line = shell_line(stopped.call)
    ran = stopped.refused and bool(line) and not only_looks(line)
    changes = stopped.call.verb in _CHANGES
    if not words:  # the agent went on: it was told no, and nothing more
        return "" if ran or (stopped.refused and changes) else None
    if len(words) <= ON_THE_WAY and _SENDS_ON.search(words):
        return None
    if changes or _AGAINST.match(words[:HEARD]):
        return _why(words)
    return f"the user then said “{_why(words)}”" if ran else None


def _same(one: ToolCall, other: ToolCall) -> bool:
    line = shell_line(one)
    if line:
        return line == shell_line(other)
    return one.tool == other.tool and one.parameters == other.parameters


ERROR_SHOWN = 180
"""Characters of an error as a reason."""


class DeadEndExtractor:
    """Gives edits taken back, and calls the user refused."""

    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root)
        self._edits = Edits(self._paths)
        self._refusals = Refusals(self._paths)
        self._told = -1
        """The exchange in which work was given as taken back: other edits there belong to it."""
        self._error = ""
        """What went wrong since the last edit."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        yield from self._heard(turn)
        yield from self._refusals.before(turn)
        yield from self._refusals.of(turn, outcomes)
        for outcome in outcomes:
            steps = steps_of(outcome)
            told = [*islice(self._edits.reversed(outcome), 1)]
            if told and self._told == turn.exchange:
                told = []
            elif told:
                self._told = turn.exchange
            for what in told:
                yield DeadEnd(
                    turn=turn.index, what=what, why=_why(turn.user_message) or self._error
                )
            self._edits.add(outcome, turn)
            failure = failure_of(outcome, steps, self._paths)
            if failure is not None and not failure.minor:
                self._error = cut(one_line(failure.told[0].line), ERROR_SHOWN)
            if outcome.changed:
                self._error = ""

    def _heard(self, turn: Turn) -> Iterator[DeadEnd]:
        """What the user says of the work before."""
        files = self._edits.of_exchange(turn.exchange) if turn.user_message else ()
        for said in sentences(turn.user_message[:HEARD]) if files else ():
            if _UNDID.search(said):
                what = f"changes to {named(files)}, undone by the user"
                self._edits.forget(files)
            elif _UNDO.search(said):
                what = f"part of the work on {named(files)}, which the user asked to undo"
                self._told = turn.exchange
            else:
                continue
            yield DeadEnd(turn=turn.index, by="user", what=what, why=_why(said))
            return


# Work that the user took back by aider's `/undo`.

UNDONE_SHOWN = 100
"""Characters of the message of a commit that was undone."""


_REASON = re.compile(
    r"\b(?:instead|rather|wrong|breaks|broke|because|fails|failed"
    r"|(?:do|does|did|is|was|are|were|should)(?:n[’']?t| not))\b",
    re.IGNORECASE,
)
"""What a sentence has that says why something was not to be."""


class UndoExtractor:
    """Gives what was undone before a turn, as one dead end."""

    def __init__(self, setting: Setting) -> None:
        self._console = Console(Paths(setting.root))

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        undone = [one for one in self._console.see(turn, outcomes) if one.undone]
        if not undone:
            return
        first = undone[-1]  # the oldest is undone last
        about = f" “{cut(first.about, UNDONE_SHOWN)}”" if first.about else ""
        several = f" and {len(undone) - 1} more after it" if len(undone) > 1 else ""
        files = tuple(dict.fromkeys(edit.path for one in undone for edit in one.edits))
        where = f" ({named(files)})" if files else ""
        said = first_sentence(turn.user_message[:HEARD])
        meant = _AGAINST.match(said) or _REASON.search(said)
        yield DeadEnd(
            turn=turn.index,
            by="user",
            what=f"commit {first.name}{about}{several}{where}, undone by the user",
            why=_why(turn.user_message) if meant else "",
        )
