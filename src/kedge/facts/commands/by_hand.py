"""Commands that the user ran inside the session, with what their output says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from kedge.model import Note, ToolCall, ToolResult
from kedge.outcomes import Outcome, Run
from kedge.outcomes.evidence import said, shown_part
from kedge.outcomes.runs import runs_of
from kedge.outcomes.shell.parsing import commands_in

LONGEST = 4_000
"""Characters of a line that is looked at; nobody types a longer one."""
MOST_BEGINNINGS = 8
"""Lines like the first that are looked at as the beginning of a repetition."""

_MARKS = re.compile(r"^\s*(?:/(?:test|run|lint)\s+|<bash-input>|!)\s*")
_TAGS = re.compile(r"</?bash-std(?:out|err)>")
"""What a client writes around what a command printed."""


class ByHand(NamedTuple):
    line: str
    outcome: Outcome | None = None
    """None where the session does not show what it printed. No client notes an exit code, so only
    what the output proves is known of it."""
    interrupted: bool = False

    def success(self, run: Run) -> bool | None:
        """How one of its commands went, as far as what was printed says so."""
        if self.outcome is None or self.outcome.result is None or self.interrupted:
            return None
        if run.success is False or (run.counts is not None and run.success):
            return run.success
        text = shown_part(self.outcome.result.output)
        same = (one for one in commands_in(self.line) if one.words == run.words)
        return True if any(said(one, run.purpose, text) for one in same) else None


def by_hand(notes: Sequence[Note]) -> Iterator[ByHand]:
    """The lines among the notes of a turn, each with the output behind it."""
    for place, note in enumerate(notes):
        if note.kind != "shell":
            continue
        line = _MARKS.sub("", note.text[:LONGEST]).removesuffix("</bash-input>").strip()
        if not line or line.startswith(("/", "<")) or "\n" in line:
            continue
        behind = tuple(takewhile(_of_command, notes[place + 1 :]))
        printed = [one.text for one in behind if one.kind == "shell_output"]
        stopped = any(one.kind == "interruption" for one in behind)
        outcome = _outcome(line, "\n".join(printed)) if printed else None
        yield ByHand(line, outcome, interrupted=stopped)


def _of_command(note: Note) -> bool:
    return note.kind in ("shell_output", "interruption")


def _outcome(line: str, printed: str) -> Outcome:
    call = ToolCall(id="by-hand", tool="shell", parameters={"command": line}, verb="run")
    result = ToolResult(call_id=call.id, output=_once(_TAGS.sub("\n", printed).strip("\n")))
    return Outcome(call=call, result=result, runs=runs_of(commands_in(line), result))


def _once(printed: str) -> str:
    """An output without its repetition: aider prints what it gives to the model once more, without
    indentation, and a runner's counts would be added up."""
    lines = printed.split("\n")
    told = [(_folded(line), place) for place, line in enumerate(lines) if line.strip()]
    words = [folded for folded, _ in told]
    again = (place for place, word in enumerate(words[1:], 1) if word == words[0])
    for place in islice(again, MOST_BEGINNINGS):
        if words[place : 2 * place] == words[:place]:
            return "\n".join(lines[: told[place][1]])
    return printed


def _folded(line: str) -> str:
    """A line without blanks, and without the sign before it that aider takes for its own."""
    return "".join(line.split()).lstrip(">")
