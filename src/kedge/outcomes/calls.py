"""What the calls of a turn came to."""

from __future__ import annotations

import shlex
from functools import lru_cache

from kedge.model import ToolCall, ToolResult, Turn
from kedge.model.catalogue import verb_of
from kedge.outcomes.runs import runs_of
from kedge.outcomes.shell.parsing import commands_in, script_in
from kedge.outcomes.touched.files import touched_by
from kedge.outcomes.values import Outcome

HOLD_CODE = frozenset({"python", "codeinterpreter", "ipython", "jupyter", "repl", "writestdin"})
"""Running tools whose text is no shell line, without case and dashes."""
TOOLS = 256
"""Tools of which it is remembered what they hold; a client has some dozens."""
_FOLDED = str.maketrans("", "", "_-. ")


def outcomes_of(turn: Turn) -> tuple[Outcome, ...]:
    """One outcome per call, in their order."""
    return tuple(_outcome(call, turn.result_of(call)) for call in turn.tool_calls)


def _outcome(call: ToolCall, result: ToolResult | None) -> Outcome:
    line = shell_line(call)
    commands = commands_in(line) if line else ()
    return Outcome(
        call=call,
        result=result,
        runs=runs_of(commands, result, waited=not left_alone(call)) if commands else (),
        touched=touched_by(call, result, commands),
    )


def shell_line(call: ToolCall) -> str:
    """The shell line a call runs; empty when it runs none."""
    if call.verb != "run" and not (call.verb == "edit" and verb_of(call.tool, {}) == "run"):
        return ""
    if _holds_code(call.tool):
        return ""
    for name in ("command", "cmd"):
        given = call.parameters.get(name)
        if isinstance(given, str):
            return given
        if isinstance(given, (list, tuple)):
            words = [word for word in given if isinstance(word, str)]
            return script_in(words) or shlex.join(words)
    return ""


@lru_cache(maxsize=TOOLS)
def _holds_code(tool: str) -> bool:
    return tool.translate(_FOLDED).casefold() in HOLD_CODE


def left_alone(call: ToolCall) -> bool:
    """Whether the call only started something."""
    return any(
        call.parameters.get(name) is True
        for name in ("run_in_background", "is_background", "isBackground", "background")
    )
