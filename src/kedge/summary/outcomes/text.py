"""The summary as text, and back: an earlier summary found in a conversation is taken up again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from kedge.model import (
    ANCHOR_TYPES,
    MOST_ERRORS,
    MOST_FILES,
    AnchorType,
    BuildStatus,
    PreservationContext,
    Value,
)
from kedge.summary.outcomes.lines import Line, LineKind, safe, verbatim

HEADING = "Key outcomes:"
BEGINNINGS: dict[LineKind, str] = {
    "anchor": "[ANCHOR] ",
    "user": 'User: "',
    "task": 'Task: "',
    "succeeded": "✓ ",
    "failed": "✗ ",
    "neutral": "• ",
}
"""How a line of each kind begins. Every line begins with one of them, so that nothing a turn says
can look like another kind."""
_QUOTED = ("user", "task")
_TYPES: dict[str, AnchorType] = {name.replace("_", " "): name for name in ANCHOR_TYPES}
_TURNS = re.compile(r"(.*) \[t(\d{1,9})(?:-(\d{1,9}))?\]", re.DOTALL)
_TYPE = re.compile(rf"(.*) \(({'|'.join(_TYPES)})\)", re.DOTALL)
_LEFT_OUT = re.compile(r"\((\d{1,9}) older turns? left out\)")


class Outcomes(Value, frozen=True):
    context: PreservationContext = PreservationContext()
    lines: tuple[Line, ...] = ()
    """In the order of what happened."""
    left_out: int = 0
    """Turns of which a line was left out, as there was no room for it."""


def render(outcomes: Outcomes) -> str:
    """The context, then the lines. Each anchor says of what type it is: a later summary has to
    weigh it again."""
    context = _safe(outcomes.context).format_for_summary()
    lines = [*map(_written, outcomes.lines), *_closing(outcomes.left_out)]
    parts = (context, "\n".join((HEADING, *lines)) if lines else "")
    return "\n\n".join(part for part in parts if part)


def parse(text: str) -> Outcomes:
    """What `render` made a text of. A line that it did not write is kept without its turns."""
    above, _, below = f"\n{text}\n".partition(f"\n{HEADING}\n")
    lines, left_out = [], 0
    for line in below.split("\n"):
        if count := _LEFT_OUT.fullmatch(line):
            left_out += int(count[1])
        elif line.strip():
            lines.append(_read(line))
    return Outcomes(context=_context(above.split("\n")), lines=tuple(lines), left_out=left_out)


def merged(previous: Outcomes, new: Outcomes, *, unseen: bool = False) -> Outcomes:
    """Both, the earlier lines first and as they were.

    The new context is that of the whole conversation, and stands; the earlier one fills its gaps.
    With `unseen` it knows nothing of the turns the earlier one tells of: what that names stays.
    """
    before, now = previous.context, new.context
    files, errors = now.active_files or before.active_files, now.error_states
    if unseen:
        files = _latest((*before.active_files, *now.active_files), MOST_FILES)
        errors = _latest((*before.error_states, *now.error_states), MOST_ERRORS)
    known = now.build_status != "unknown"
    return Outcomes(
        context=PreservationContext(
            active_files=files,
            current_goals=now.current_goals or before.current_goals,
            error_states=errors,
            build_status=now.build_status if known else before.build_status,
            last_user_intent=now.last_user_intent or before.last_user_intent,
        ),
        lines=(*previous.lines, *new.lines),
        left_out=previous.left_out + new.left_out,
    )


def _latest(items: Iterable[str], most: int) -> tuple[str, ...]:
    """Each once, at its latest place."""
    newest = dict.fromkeys(reversed([*items]))
    return tuple(reversed(list(newest)[:most]))


def _safe(context: PreservationContext) -> PreservationContext:
    return PreservationContext(
        active_files=tuple(map(safe, context.active_files)),
        current_goals=tuple(map(verbatim, context.current_goals)),
        error_states=tuple(map(safe, context.error_states)),
        build_status=context.build_status,
        last_user_intent=verbatim(context.last_user_intent),
    )


def _written(line: Line) -> str:
    text = BEGINNINGS[line.kind] + (verbatim if line.kind == "user" else safe)(line.text)
    if line.kind in _QUOTED:
        text += '"'
    if line.kind == "anchor":
        text += f" ({(line.anchor or 'user_checkpoint').replace('_', ' ')})"
    if line.first < 0:
        return text
    return (
        f"{text} [t{line.first}]"
        if line.first == line.last
        else (f"{text} [t{line.first}-{line.last}]")
    )


def _closing(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"({left_out} older turn{'s' if left_out > 1 else ''} left out)"


def _read(line: str) -> Line:
    first = last = -1
    if found := _TURNS.fullmatch(line):
        line, first = found[1], int(found[2])
        last = int(found[3] or first)
    kind = next((kind for kind in BEGINNINGS if line.startswith(BEGINNINGS[kind])), None)
    text = line.removeprefix(BEGINNINGS[kind]) if kind else line
    anchor: AnchorType | None = None
    if kind in _QUOTED:
        text = text.removesuffix('"')
    elif kind == "anchor":
        typed = _TYPE.fullmatch(text)
        text, anchor = (typed[1], _TYPES[typed[2]]) if typed else (text, "user_checkpoint")
    return Line(kind=kind or "neutral", text=text, first=first, last=last, anchor=anchor)


def _context(lines: Iterable[str]) -> PreservationContext:
    said = {name: value for name, colon, value in (x.partition(": ") for x in lines) if colon}
    build = said.get("Build", "")
    known: dict[str, BuildStatus] = {status: status for status in get_args(BuildStatus)}
    return PreservationContext(
        active_files=_items(said.get("Active files"), ", "),
        current_goals=_items(said.get("Goals"), "; "),
        error_states=_items(said.get("Open errors"), "; "),
        build_status=known.get(build, "unknown"),
        last_user_intent=said.get("Last intent", ""),
    )


def _items(text: str | None, separator: str) -> tuple[str, ...]:
    return tuple(text.split(separator)) if text else ()
