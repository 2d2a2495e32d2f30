"""Dead ends: what was tried and dropped, as far as the record proves it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from kedgeline.facts.edits import pairs_in
from kedgeline.facts.errors import file_names
from kedgeline.facts.extractor import EXIT_PLAN, Recent, Setting, plain_name
from kedgeline.facts.git_output import Console
from kedgeline.facts.paths import Paths
from kedgeline.facts.requests import said_in
from kedgeline.facts.steps import only_looks
from kedgeline.model import DeadEnd, ToolCall, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.text.prose import cut, one_line

WHY_SHOWN = 200
"""Characters of a reason: two sentences of a user."""
LOOKED_AT = 4_000
"""Characters of the user's words from which a reason is taken."""
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

SWAPS = 128
"""Edits remembered by their texts, of which another may be the exact reverse."""
SHORTEST = 12
"""Characters of the old and the new text together: shorter ones are reversed by chance."""


class Edits:
    """The texts that were put in."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._swaps = Recent[int, str](SWAPS)

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
            tried = self._swaps.pop(hash((path, new, old)), None)
            if tried:
                yield tried
            if tried is None:
                added = _added(old, new)
                line = "" if _only_prints(added) else _telling(added)
                told = f"{path}: `{line}`, taken back" if line else ""
                self._swaps.put(hash((path, old, new)), told)


# Calls that the user did not let run, and what followed.

MOST_REFUSED = 2
"""Refused calls given of one turn: the user refused what they do together."""
_CHANGES = frozenset({"edit", "write", "delete", "delegate"})


class Refusals:
    """With the user's reason, a refusal is told at once; without one, with what they say next, in
    their words."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._waiting: tuple[ToolCall, ...] = ()
        """Calls that were refused without a word, until anybody speaks or acts."""
        self._session = 0

    def before(self, turn: Turn) -> Iterator[DeadEnd]:
        """What a turn tells of the calls refused before it."""
        if turn.session != self._session:
            self._waiting, self._session = (), turn.session
        words = _order(turn) if self._waiting else ""
        if not words and not turn.tool_calls and not turn.assistant_response:
            return  # a client's mark that it was interrupted
        waiting, self._waiting = self._waiting, ()
        left = (one for one in waiting if not any(_same(one, call) for call in turn.tool_calls))
        told = filter(None, (attempt(call, self._paths) for call in left))
        for what in islice(told, MOST_REFUSED):
            why = f"the user then said “{_why(words)}”" if words else ""
            yield DeadEnd(turn=turn.index, by="user", what=f"{what}, refused", why=why)

    def of(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        """What is refused in a turn with the user's reason; the others wait."""
        told = 0
        for outcome in outcomes:
            call, result = outcome.call, outcome.result
            if result is None or not result.refused:
                continue
            if not result.reason:
                self._waiting += (call,) if _does(call) else ()
            elif told < MOST_REFUSED and (what := attempt(call, self._paths)):
                told += 1
                reason = _why(result.reason)
                yield DeadEnd(turn=turn.index, by="user", what=f"{what}, refused", why=reason)


def _does(call: ToolCall) -> bool:
    """Whether a call is more than a look. A plan may be approved by refusing to leave plan mode."""
    line = shell_line(call)
    return call.verb in _CHANGES or (bool(line) and not only_looks(line))


def _order(turn: Turn) -> str:
    """What the user said before a turn; of commands, those that start work."""
    said = [one for one in said_in(turn) if one.way != "reason"]
    prompts = [one.text for one in said if not one.command]
    return next(iter([*prompts, *(one.typed for one in said if one.starts_work)]), "")


def _same(one: ToolCall, other: ToolCall) -> bool:
    line = shell_line(one)
    if line:
        return line == shell_line(other)
    return one.tool == other.tool and one.parameters == other.parameters


UNDONE_SHOWN = 100
"""Characters of the message of a commit that was undone."""


class DeadEndExtractor:
    """Gives edits taken back, calls the user refused, and commits undone by aider's `/undo`."""

    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root, setting.checkouts)
        self._edits = Edits(self._paths)
        self._refusals = Refusals(self._paths)
        self._console = Console(self._paths)
        self._told = -1
        """The exchange in which an edit was given as taken back: others there belong to it."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        yield from self._undone(turn, outcomes)
        yield from self._refusals.before(turn)
        yield from self._refusals.of(turn, outcomes)
        for outcome in outcomes:
            for what in islice(self._edits.reversed(outcome), 1):
                if self._told != turn.exchange:
                    self._told = turn.exchange
                    yield DeadEnd(turn=turn.index, what=what, why=_why(turn.user_message))

    def _undone(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        """What was undone before a turn, as one dead end."""
        undone = [one for one in self._console.see(turn, outcomes) if one.undone]
        if not undone:
            return
        first = undone[-1]  # the oldest is undone last
        about = f" “{cut(first.about, UNDONE_SHOWN)}”" if first.about else ""
        several = f" and {len(undone) - 1} more after it" if len(undone) > 1 else ""
        files = tuple(dict.fromkeys(edit.path for one in undone for edit in one.edits))
        where = f" ({file_names(files)})" if files else ""
        yield DeadEnd(
            turn=turn.index,
            by="user",
            what=f"commit {first.name}{about}{several}{where}, undone by the user",
        )
