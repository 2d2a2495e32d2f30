"""Turns as a model reads them, and as what it then says is held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kedge.foreign import unmarked, without_tags
from kedge.model import AnyFact, Note, ToolCall, ToolResult, Turn
from kedge.sentences import cut, one_line, visible
from kedge.shortening import Count, shortened
from kedge.wording.listing import told
from kedge.wording.shape import Sources


class Limits(NamedTuple):
    """Tokens of one text that are shown; the error lines of a longer one are among them."""

    user: int
    agent: int
    output: int
    """Of a call that failed, or whose output is its purpose."""
    note: int
    """Of what a client put in."""
    looked_up: int
    """Characters of a file that was read, or of what was found in files: how it begins. What
    matters of it is in what the agent says and does."""
    call: int
    """Characters of a call's arguments."""


FULL = Limits(user=1_500, agent=600, output=200, note=80, looked_up=120, call=500)
TIGHT = Limits(user=150, agent=80, output=40, note=15, looked_up=60, call=120)
"""Of a turn that does not fit otherwise."""

ARGUMENT = 200
"""Characters of one argument of a call, where it is not what the call is made for."""
ARGUMENTS = 8
"""Arguments of a call that are shown, and values looked at in each."""
TELLING = frozenset({"command", "cmd", "content", "new_string", "new_str", "input", "patch"})
"""Arguments that are what a call is made for: they may fill its line."""
DEEPEST = 20
"""Levels of lists and objects in arguments that are looked at."""
QUIET = frozenset({"write", "edit", "delete", "move", "todo"})
"""Verbs whose result says nothing that the call does not, where it succeeded."""
LOOK_UPS = frozenset({"read", "search"})
NOTES = {
    "command": "command of the user",
    "command_output": "output of this command",
    "shell": "shell command of the user",
    "shell_output": "output of this command",
    "notification": "report of a task",
    "interruption": "the user stopped the agent",
    "edited": "changed outside",
    "failure": "the agent's client failed",
    "plan": "plan the user agreed to",
}
"""Notes that are shown, and as what; the others say nothing of the work."""
MOST_SOURCE = 20_000_000
"""Characters of a packet's texts that claims are held against: hundreds of times what a model is
shown of them."""
LEAST_SOURCE = 50_000
"""Characters of each of these texts in any case: head, tail and error lines beyond what is shown.
"""


def turn_text(turn: Turn, *, count: Count, limits: Limits = FULL) -> str:
    """What was said and done in a turn: who speaks stands before each text, and nothing in a text
    can look like the beginning of another. Thinking is left out."""
    parts = (_part(turn, who, text) for who, text in _spoken(turn, count, limits))
    return "\n".join(part for part in parts if part)


def sources_of(
    turns: Sequence[Turn], facts: Iterable[AnyFact], known: str, reported: str = ""
) -> Sources:
    """All that may hold a claim about these turns. Giant texts are cut to their head, their tail
    and their error lines: as much as nobody was shown of them. `known`, `reported`: what is known
    of earlier turns, by user and agent, and by tools."""
    said = [[*_all_said(turn)] for turn in turns]
    shown = [[*_all_shown(turn)] for turn in turns]
    room = max(LEAST_SOURCE, MOST_SOURCE // max(1, sum(map(len, (*said, *shown)))))
    spoken = ["\n".join(_within(text, room) for text in texts) for texts in said]
    given = ["\n".join(_within(text, room) for text in texts) for texts in shown]
    lines = [told(fact) for fact in facts]
    return Sources(
        said="\n".join(spoken),
        shown="\n".join(given),
        known="\n".join((known, *(line for one in lines for line in one.voiced))),
        reported="\n".join((reported, *(line for one in lines for line in one.reported))),
        turns=tuple(
            (turn.index, "\n".join(texts))
            for turn, *texts in zip(turns, spoken, given, strict=True)
        ),
    )


def _part(turn: Turn, who: str, text: str) -> str:
    clean = unmarked(without_tags(visible(text))).strip()
    whole = clean.encode(errors="replace").decode()
    return f"[t{turn.index}] {who}: {whole}" if whole else ""


def _spoken(turn: Turn, count: Count, limits: Limits) -> Iterator[tuple[str, str]]:
    yield from _noted(turn.notes, count, limits)
    yield "user", _short(turn.user_message, limits.user, count)
    agent = "sub-agent" if turn.agent else "agent"
    yield agent, _short(turn.assistant_response, limits.agent, count)
    results = {result.call_id: result for result in turn.tool_results}
    for call in turn.tool_calls:
        if call.verb != "todo":  # the items are among the facts
            yield f"{agent} calls", _called(call, limits)
        if result := results.pop(call.id, None):
            yield from _given_back(call.verb, result, count, limits)
    for result in results.values():
        yield from _given_back("other", result, count, limits)


def _noted(notes: Iterable[Note], count: Count, limits: Limits) -> Iterator[tuple[str, str]]:
    for note in notes:
        if who := NOTES.get(note.kind):
            most = limits.agent if note.kind == "plan" else limits.note
            yield who, _short(note.text, most, count) or "-"


def _given_back(
    verb: str, result: ToolResult, count: Count, limits: Limits
) -> Iterator[tuple[str, str]]:
    if result.refused:
        yield "user refuses this call", _short(result.reason, limits.user, count) or "no reason"
        return
    if result.interrupted:
        yield "user stops this call", "-"
    text = "\n".join(filter(None, (result.output, result.error)))
    if result.failed or result.exit_code:
        code = "" if result.exit_code is None else f" with exit code {result.exit_code}"
        yield f"tool fails{code}", _short(text, limits.output, count) or "-"
    elif verb in LOOK_UPS:
        yield "tool output", cut(one_line(text[: 2 * limits.looked_up]), limits.looked_up)
    elif verb not in QUIET:
        yield "tool output", _short(text, limits.output, count)


def _called(call: ToolCall, limits: Limits) -> str:
    told = (one for one in call.parameters.items() if not isinstance(one[1], bool))
    shown = (_argument(name, value, limits) for name, value in islice(told, ARGUMENTS))
    return cut(one_line(" ".join((call.tool, *filter(None, shown)))), limits.call)


def _argument(name: str, value: Any, limits: Limits) -> str:
    most = limits.call if name in TELLING else min(limits.call, ARGUMENT)
    text = " ".join(one[:most] for one in islice(_leaves(value), ARGUMENTS))
    return f"{name}={cut(one_line(text), most)}" if text.strip() else ""


def _leaves(value: Any, depth: int = DEEPEST) -> Iterator[str]:
    """The plain values in an argument, from first to last."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (bool, int, float)):
        yield str(value)
    elif depth and isinstance(value, (dict, list, tuple)):
        inner = value.values() if isinstance(value, dict) else value
        for one in inner:
            yield from _leaves(one, depth - 1)


def _all_said(turn: Turn) -> Iterator[str]:
    yield from turn.user_words()
    yield turn.assistant_response
    for call in turn.tool_calls:
        yield call.tool
        yield from _leaves(call.parameters)


def _all_shown(turn: Turn) -> Iterator[str]:
    for result in turn.tool_results:
        yield result.output
        yield result.error or ""
        if result.exit_code is not None:
            yield f"exit code {result.exit_code}"
    for note in turn.notes:
        yield note.text


def _short(text: str, most: int, count: Count) -> str:
    return text if len(text) <= most else shortened(text, room=most, count=count)


def _within(text: str, room: int) -> str:
    return text if len(text) <= room else shortened(text, room=room, count=len)
