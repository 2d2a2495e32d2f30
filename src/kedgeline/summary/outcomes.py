"""The style `outcomes`: the context, and one line for what each folded turn came to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, get_args

from msgspec.structs import replace

from kedgeline.model import (
    ANCHOR_TYPES,
    MOST_ERRORS,
    MOST_FILES,
    WEIGHTS,
    Anchor,
    AnchorType,
    BuildStatus,
    PreservationContext,
    Turn,
    Value,
)
from kedgeline.text.prose import cut, first_sentence, foreign, neutral, one_line

__all__ = [
    "Effect",
    "Line",
    "Outcomes",
    "effect_of",
    "fit",
    "fitted",
    "merged",
    "outcome_lines",
    "parse",
    "render",
]


# Folded turns as lines: anchors in detail, the user's words, what else was done in a sentence.

ANCHOR_SHOWN = 500
"""Characters of the response in an anchor's turn: the seed's number."""
DESCRIPTION_SHOWN = 200
"""Characters of what a detector says of an anchor."""
SENTENCE_SHOWN = 150
"""Characters of any other response: the seed's number."""
USER_SHOWN = 600
"""Characters of the user's words: requests whole, of a pasted log its head."""
LOOKED_AT = 4_000
"""Characters of a text looked at, so that blanks folded away leave enough."""
PATHS_SHOWN = 8
"""Changed files named in one line; the rest are counted."""
TOOLS_SHOWN = 5
"""Tools named in one line of steps; the rest are counted."""
TOOL_SHOWN = 40
"""Characters of a tool's name, which an agent may make up."""

SAID_ALREADY = 0.75
"""Share of a description's words from which on a response says as much by itself."""

LineKind = Literal["anchor", "user", "task", "succeeded", "failed", "neutral"]
"""`task` is said to a sub-agent by the agent that delegated to it. `neutral` is a turn without
calls, or with one that neither succeeded nor failed."""

_WORD = re.compile(r"\w+")


class Line(Value, frozen=True):
    kind: LineKind
    text: str
    """On one line, without what the kind and the turns add to it."""
    first: int = -1
    """First turn it speaks of; -1 where an earlier text does not say."""
    last: int = -1
    """Included."""
    anchor: AnchorType | None = None
    """Of a line about an anchor."""


class Effect(Value, frozen=True):
    """What a turn's calls came to."""

    changed: tuple[str, ...] = ()
    """Paths of files that were edited or written."""
    success: bool | None = None
    """True where all calls succeeded, False where one failed, None where there is no telling."""


def safe(text: str) -> str:
    """Text that stays inside its line, and that cannot pass for anything of ours."""
    return foreign(one_line(text))


def verbatim(text: str) -> str:
    """The user's words on one line."""
    return neutral(one_line(text))


def effect_of(turn: Turn) -> Effect:
    """What calls and results alone tell; a command may have changed files as well."""
    done = {result.call_id for result in turn.tool_results if result.success}
    paths = (
        path
        for call in turn.tool_calls
        if call.id in done and call.verb in ("edit", "write")
        for path in call.paths()
    )
    failed = any(result.failed for result in turn.tool_results)
    all_done = bool(turn.tool_calls) and all(call.id in done for call in turn.tool_calls)
    return Effect(
        changed=tuple(dict.fromkeys(paths)), success=False if failed else all_done or None
    )


def outcome_lines(
    turns: Iterable[Turn],
    anchors: Iterable[Anchor],
    *,
    effect: Callable[[Turn], Effect] = effect_of,
) -> tuple[Line, ...]:
    """Lines in the order of the turns. Turns that follow each other and have nothing to say share
    one. An anchor that was only set because there is no other makes no turn weightier."""
    natural = sorted((a for a in anchors if not a.synthetic), key=lambda anchor: anchor.weight)
    anchored = {anchor.turn_index: anchor for anchor in natural}
    lines: list[Line] = []
    silent: list[Turn] = []
    for turn in turns:
        words = _user_lines(turn)
        line = _line(turn, anchored.get(turn.index), effect)
        if silent and (words or line or turn.index != silent[-1].index + 1):
            lines.extend(_steps(silent))
            silent = []
        lines.extend(words)
        if line is None:
            silent.append(turn)
        else:
            lines.append(line)
    return (*lines, *_steps(silent))


def _user_lines(turn: Turn) -> list[Line]:
    kind: LineKind = "task" if turn.agent else "user"
    words = (verbatim(said.lstrip()[:LOOKED_AT]) for said in turn.user_words())
    return [
        Line(kind=kind, text=cut(said, USER_SHOWN), first=turn.index, last=turn.index)
        for said in words
        if said
    ]


def _line(turn: Turn, anchor: Anchor | None, effect: Callable[[Turn], Effect]) -> Line | None:
    """The turn's own line; None where it has nothing to say."""
    if anchor is not None and (text := _anchor_text(turn, anchor)):
        return Line(kind="anchor", text=text, first=turn.index, last=turn.index, anchor=anchor.type)
    came_to = effect(turn)
    said = cut(safe(first_sentence(turn.assistant_response)), SENTENCE_SHOWN)
    files = _named([path for name in came_to.changed if (path := safe(name))])
    changed = f"Modified {files}" if files else ""
    text = ": ".join(part for part in (changed, said) if part)
    kind: LineKind = "succeeded" if came_to.success else "failed"
    if came_to.success is None:
        kind = "neutral"
    return Line(kind=kind, text=text, first=turn.index, last=turn.index) if text else None


def _anchor_text(turn: Turn, anchor: Anchor) -> str:
    """The response, and behind it what makes the turn an anchor where it does not say so itself."""
    response = cut(safe(turn.assistant_response.lstrip()[:LOOKED_AT]), ANCHOR_SHOWN)
    description = cut(safe(anchor.description), DESCRIPTION_SHOWN)
    if _said(description, response):
        return response
    stop = "" if not response or response[-1] in ".!?…。！？:" else "."
    return f"{response}{stop} {description}".strip()


def _said(description: str, response: str) -> bool:
    words, known = (set(_WORD.findall(text.casefold())) for text in (description, response))
    return len(words & known) >= SAID_ALREADY * len(words)


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - PATHS_SHOWN
    return ", ".join(paths[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _steps(turns: Sequence[Turn]) -> list[Line]:
    """One line for silent turns; none where not even a call was made."""
    calls = Counter(cut(safe(c.tool), TOOL_SHOWN) for turn in turns for c in turn.tool_calls)
    if not calls:
        return []
    named = [f"{tool} ×{times}" for tool, times in calls.most_common(TOOLS_SHOWN)]
    others = sum(calls.values()) - sum(times for _, times in calls.most_common(TOOLS_SHOWN))
    failed = sum(result.failed for turn in turns for result in turn.tool_results)
    text = (
        f"{len(turns)} step{'s' if len(turns) > 1 else ''}: "
        + ", ".join((*named, *([f"others ×{others}"] if others else ())))
        + (f" ({failed} failed)" if failed else "")
    )
    return [Line(kind="neutral", text=text, first=turns[0].index, last=turns[-1].index)]


# The summary as text, and back: an earlier summary found in a conversation is taken up again.

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


# The summary made to fit: what weighs least goes first, and what went is counted.

Count = Callable[[str], int]
"""Tokens of a text."""

RANKS: dict[LineKind, int] = {"user": 0, "anchor": 1, "task": 2}
"""The user's words before anchors, these before all else."""
SLACK = 2
"""Lines counted one by one come to more tokens than together, but never to so many times more."""


def fitted(lines: Sequence[Line], room: int, count: Count) -> tuple[Line, ...]:
    """The lines that a room has place for, in their order. What a smaller room holds, a larger one
    holds too."""
    return fit(Outcomes(lines=tuple(lines)), room, count).lines


def fit(outcomes: Outcomes, room: int, count: Count) -> Outcomes:
    """The outcomes in so many tokens. The context goes last, its oldest parts before the newest.

    What cannot be made to fit comes back with nothing but the count of what was left out.
    """
    order = _order(outcomes.lines)
    most = _within(outcomes.lines, order, SLACK * room, count)
    if most == len(order) and count(render(outcomes)) <= room:
        return outcomes
    sizes = range(min(most, len(order) - 1) + 1)
    fitting = bisect_right(sizes, room, key=lambda k: count(render(_first(outcomes, order, k))))
    bare = _first(outcomes, order, max(0, fitting - 1))
    if fitting:
        return bare
    shorter = (replace(bare, context=context) for context in _shorter(outcomes.context))
    least = Outcomes(left_out=bare.left_out)
    return next((one for one in shorter if count(render(one)) <= room), least)


def _order(lines: Sequence[Line]) -> list[int]:
    """Positions of the lines, the weightiest first; among equals the newer (R12)."""

    def weight(position: int) -> tuple[int, float, int]:
        line = lines[position]
        anchor = WEIGHTS[line.anchor] if line.anchor else 0.0
        return RANKS.get(line.kind, len(RANKS)), -anchor, -position

    return sorted(range(len(lines)), key=weight)


def _within(lines: Sequence[Line], order: Iterable[int], room: int, count: Count) -> int:
    """How many lines at the most can have a place: an upper bound, so that texts are counted whole
    only near their right size."""
    taken = spent = 0
    for position in order:
        spent += count(lines[position].text)
        if spent > room:
            break
        taken += 1
    return taken


def _first(outcomes: Outcomes, order: Sequence[int], number: int) -> Outcomes:
    """So many of the weightiest lines, the others counted."""
    kept = set(order[:number])
    lines = outcomes.lines
    gone = [line for position, line in enumerate(lines) if position not in kept]
    return replace(
        outcomes,
        lines=tuple(lines[position] for position in sorted(kept)),
        left_out=outcomes.left_out + _turns_of(gone),
    )


def _turns_of(lines: Iterable[Line]) -> int:
    """Turns that lines speak of, each counted once; a line that names none counts as one."""
    total, reached = 0, -1
    for line in sorted(lines, key=lambda line: line.first):
        total += 1 if line.first < 0 else max(0, line.last - max(line.first, reached + 1) + 1)
        reached = max(reached, line.last)
    return total


def _shorter(context: PreservationContext) -> Iterator[PreservationContext]:
    """The context with less and less in it: files go first, the intent last."""
    for field in ("active_files", "error_states", "current_goals"):
        while items := getattr(context, field):
            context = replace(context, **{field: items[1:]})
            yield context
    yield replace(context, build_status="unknown")
