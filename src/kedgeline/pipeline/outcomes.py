"""The style `outcomes` (seed 001): what must be preserved of a conversation, and a line for what
each folded turn came to. Everything is derived from facts, and only when somebody asks for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.model import (
    MOST_ERRORS,
    MOST_FILES,
    MOST_GOALS,
    WEIGHTS,
    Anchor,
    AnyFact,
    BuildStatus,
    CommandRun,
    ErrorSeen,
    FileChanged,
    PreservationContext,
    Turn,
)
from kedgeline.summary import build
from kedgeline.text.prose import cut, first_sentence, foreign, neutral, one_line

# What has to be preserved: files, goals, errors, the build, the intent.

GOAL_SHOWN, ERROR_SHOWN, INTENT_SHOWN = 100, 100, 200
"""Characters of a goal, an error line and the last intent: the seed's numbers."""
CHECKS = ("test", "build")
"""Purposes of commands that say whether the work is in order."""


def context_of(facts: Iterable[AnyFact], *, kept_from: int = 0) -> PreservationContext:
    """The context at the end of a conversation. Goals are those of the turns from `kept_from`
    on, or else the last one before: older ones have been reached, or given up."""
    state = build(facts)
    changed = [
        path
        for path, events in state.files_now().items()
        if events[-1].action != "deleted" and not all(event.scratch for event in events)
    ]
    read = sorted(
        (sights[-1].turn, path) for path, sights in state.reads.items() if path not in changed
    )
    changed = changed[-MOST_FILES:]
    room = MOST_FILES - len(changed)
    latest = (events[-1] for events in state.errors.values())
    errors = sorted((e for e in latest if isinstance(e, ErrorSeen)), key=lambda one: one.turn)
    said = [one for one in state.requests if one.by == "user"]
    goals = [(one.turn, _goal(one.text)) for one in said if one.scope != "step"]
    recent = [goal for turn, goal in goals if turn >= kept_from] or [g for _, g in goals[-1:]]
    return PreservationContext(
        active_files=(*changed, *(path for _, path in read[len(read) - min(room, len(read)) :])),
        current_goals=tuple(dict.fromkeys(recent))[-MOST_GOALS:],
        error_states=_newest((cut(one.line, ERROR_SHOWN) for one in errors), MOST_ERRORS),
        build_status=_status(run for runs in state.commands.values() for run in runs),
        last_user_intent=cut(one_line(said[-1].text), INTENT_SHOWN) if said else "",
    )


def _goal(words: str) -> str:
    return cut(first_sentence(words), GOAL_SHOWN)


def _status(runs: Iterable[CommandRun]) -> BuildStatus:
    """Of the newest test or build run that tells. Counts outrank an exit code, which may be that of
    a pipe."""
    status: BuildStatus = "unknown"
    for run in sorted(runs, key=lambda one: one.turn):
        if run.purpose in CHECKS and run.by == "tool":
            if run.failed or run.success is False:
                status = "failing"
            elif run.passed or run.success:
                status = "passing"
    return status


def _newest(items: Iterable[str], most: int) -> tuple[str, ...]:
    """Each once, at its latest place."""
    return tuple(reversed(list(dict.fromkeys(reversed([*items])))[:most]))


# Folded turns as lines: anchors in detail, the user's words, what else was done in a sentence.

HEADING = "Key outcomes:"
ANCHOR_SHOWN, SENTENCE_SHOWN = 500, 150
"""Characters of the response in an anchor's turn, and of any other: the seed's numbers."""
DESCRIPTION_SHOWN = 200
"""Characters of what a detector says of an anchor."""
USER_SHOWN = 600
"""Characters of the user's words: requests whole, of a pasted log its head."""
LOOKED_AT = 4_000
"""Characters of a text looked at, so that blanks folded away leave enough."""
PATHS_SHOWN, TOOLS_SHOWN, TOOL_SHOWN = 8, 5, 40
"""Files and tools named in one line, and characters of a tool's name: an agent may make it up."""
SAID_ALREADY = 0.75
"""Share of a description's words from which on a response says as much by itself."""
USER, ANCHORED, OTHER = 0, 1, 2
"""Ranks: the user's words stay longest, then anchors (R12)."""

_WORD = re.compile(r"\w+")
_LEFT_OUT = re.compile(r"\((\d{1,9}) older turns? left out\)")
_MARK = re.compile(r"\[t(\d{1,9})(?:-(\d{1,9}))?\]$")


class Line(NamedTuple):
    text: str
    """As it stands in the summary, its mark included."""
    rank: int = OTHER
    weight: float = 0.0
    """Of its anchor."""

    @property
    def turns(self) -> range:
        """The turns it speaks of; one by hand that names none counts as one."""
        found = _MARK.search(self.text)
        return range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(-1, 0)


def outcome_lines(
    turns: Iterable[Turn], anchors: Iterable[Anchor], facts: Iterable[AnyFact] = ()
) -> tuple[Line, ...]:
    """Lines in the order of the turns; silent turns that follow each other share one. An anchor
    that was only set because there is no other makes no turn weightier."""
    natural = sorted((a for a in anchors if not a.synthetic), key=lambda anchor: anchor.weight)
    anchored = {anchor.turn_index: anchor for anchor in natural}
    changed: dict[int, dict[str, None]] = {}
    for fact in facts:
        if isinstance(fact, FileChanged) and fact.by == "tool":
            changed.setdefault(fact.turn, {})[foreign(one_line(fact.path))] = None
    lines: list[Line] = []
    silent: list[Turn] = []
    for turn in turns:
        words = _user_lines(turn)
        line = _line(turn, anchored.get(turn.index), [*changed.get(turn.index, ())])
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
    """To a sub-agent speaks the agent that delegated to it, not the user."""
    label = "Task" if turn.agent else "User"
    words = (neutral(one_line(said.lstrip()[:LOOKED_AT])) for said in turn.user_words())
    told = (f'{label}: "{cut(said, USER_SHOWN)}" [t{turn.index}]' for said in words if said)
    return [Line(text, OTHER if turn.agent else USER) for text in told]


def _line(turn: Turn, anchor: Anchor | None, changed: Sequence[str]) -> Line | None:
    """The turn's own line; None where it has nothing to say."""
    if anchor is not None and (text := _anchor_text(turn, anchor)):
        kind = anchor.type.replace("_", " ")
        return Line(f"[ANCHOR] {text} ({kind}) [t{turn.index}]", ANCHORED, anchor.weight)
    said = cut(foreign(one_line(first_sentence(turn.assistant_response))), SENTENCE_SHOWN)
    more = len(changed) - PATHS_SHOWN
    named = ", ".join(changed[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    text = ": ".join(part for part in (f"Modified {named}" if named else "", said) if part)
    return Line(f"{_sign(turn)} {text} [t{turn.index}]") if text else None


def _sign(turn: Turn) -> str:
    """Whether all calls succeeded, one failed, or nobody knows (R17)."""
    if any(result.failed for result in turn.tool_results):
        return "✗"
    done = {result.call_id for result in turn.tool_results if result.success}
    return "✓" if turn.tool_calls and all(call.id in done for call in turn.tool_calls) else "•"


def _anchor_text(turn: Turn, anchor: Anchor) -> str:
    """The response, and behind it what makes the turn an anchor where it does not say so itself."""
    response = cut(foreign(one_line(turn.assistant_response.lstrip()[:LOOKED_AT])), ANCHOR_SHOWN)
    description = cut(foreign(one_line(anchor.description)), DESCRIPTION_SHOWN)
    words, known = (set(_WORD.findall(text.casefold())) for text in (description, response))
    if len(words & known) >= SAID_ALREADY * len(words):
        return response
    stop = "" if not response or response[-1] in ".!?…。！？:" else "."
    return f"{response}{stop} {description}".strip()


def _steps(turns: Sequence[Turn]) -> list[Line]:
    """One line for silent turns; none where not even a call was made."""
    names = (foreign(one_line(call.tool)) for turn in turns for call in turn.tool_calls)
    calls = Counter(cut(name, TOOL_SHOWN) for name in names)
    if not calls:
        return []
    named = calls.most_common(TOOLS_SHOWN)
    others = calls.total() - sum(times for _, times in named)
    told = [f"{tool} ×{times}" for tool, times in [*named, *([("others", others)] * bool(others))]]
    failed = sum(result.failed for turn in turns for result in turn.tool_results)
    steps = f"{len(turns)} step{'s' if len(turns) > 1 else ''}: {', '.join(told)}"
    first, last = turns[0].index, turns[-1].index
    span = f"[t{first}]" if first == last else f"[t{first}-{last}]"
    return [Line(f"• {steps}{f' ({failed} failed)' if failed else ''} {span}")]


# The summary: context and lines, fitted to a room; lines of an earlier one stay as they were.


class Outcomes(NamedTuple):
    context: PreservationContext = PreservationContext()
    lines: tuple[Line, ...] = ()
    """In the order of what happened."""
    left_out: int = 0
    """Turns of which a line was left out, as there was no room for it."""


def render(outcomes: Outcomes) -> str:
    lines = [line.text for line in outcomes.lines]
    if number := outcomes.left_out:
        lines.append(f"({number} older turn{'s' if number > 1 else ''} left out)")
    told = _safe(outcomes.context).format_for_summary()
    return "\n\n".join(
        part for part in (told, "\n".join((HEADING, *lines)) if lines else "") if part
    )


def _safe(context: PreservationContext) -> PreservationContext:
    return replace(
        context,
        active_files=tuple(foreign(one_line(path)) for path in context.active_files),
        current_goals=tuple(neutral(one_line(goal)) for goal in context.current_goals),
        error_states=tuple(foreign(one_line(error)) for error in context.error_states),
        last_user_intent=neutral(one_line(context.last_user_intent)),
    )


def behind(earlier: str, new: Outcomes, *, unseen: bool = False) -> Outcomes:
    """The lines of an earlier text as they were, then the new ones.

    The new context is that of the whole conversation, and stands; the earlier one fills its gaps.
    With `unseen` it knows nothing of the turns the earlier text tells of: what that names stays."""
    above, _, below = f"\n{earlier}\n".partition(f"\n{HEADING}\n")
    written = [line for line in below.split("\n") if line.strip()]
    left_out = sum(int(found[1]) for line in written if (found := _LEFT_OUT.fullmatch(line)))
    lines = tuple(_taken_up(line) for line in written if not _LEFT_OUT.fullmatch(line))
    said = {name: value for name, _, value in (line.partition(": ") for line in above.split("\n"))}
    before = [x for x in said.get("Active files", "").split(", ") if x]
    errors = [x for x in said.get("Open errors", "").split("; ") if x] if unseen else []
    goals = tuple(x for x in said.get("Goals", "").split("; ") if x)
    now = new.context
    files = before if unseen or not now.active_files else []
    build: dict[str, BuildStatus] = {"passing": "passing", "failing": "failing"}
    context = PreservationContext(
        active_files=_newest((*files, *now.active_files), MOST_FILES),
        current_goals=now.current_goals or goals,
        error_states=_newest((*errors, *now.error_states), MOST_ERRORS),
        build_status=now.build_status
        if now.build_status != "unknown"
        else build.get(said.get("Build", ""), "unknown"),
        last_user_intent=now.last_user_intent or said.get("Last intent", ""),
    )
    return Outcomes(context, (*lines, *new.lines), left_out + new.left_out)


def _taken_up(text: str) -> Line:
    """A line of an earlier text, weighed again."""
    text = neutral(text)
    if text.startswith('User: "'):
        return Line(text, USER)
    if not text.startswith("[ANCHOR] "):
        return Line(text)
    told = text.rpartition(" [t")[0] or text
    kinds = (kind for kind in WEIGHTS if told.endswith(f"({kind.replace('_', ' ')})"))
    return Line(text, ANCHORED, WEIGHTS[next(kinds, "user_checkpoint")])


SLACK = 2
"""Lines counted one by one come to more tokens than together, but never to so many times more."""


def fit(outcomes: Outcomes, room: int, count: Callable[[str], int]) -> Outcomes:
    """The outcomes in so many tokens: the weightiest lines, among equals the newer; what a smaller
    room holds, a larger one holds too. The context goes last, its oldest parts before the newest.
    What cannot be made to fit comes back with nothing but the count of what was left out."""
    lines = outcomes.lines
    order = sorted(range(len(lines)), key=lambda n: (lines[n].rank, -lines[n].weight, -n))
    most = _at_most(lines, order, SLACK * room, count)
    if most == len(order) and count(render(outcomes)) <= room:
        return outcomes
    sizes = range(min(most, len(order) - 1) + 1)
    fitting = bisect_right(sizes, room, key=lambda k: count(render(_first(outcomes, order, k))))
    chosen = _first(outcomes, order, max(0, fitting - 1))
    if fitting:
        return chosen
    shorter = (chosen._replace(context=context) for context in _shorter(outcomes.context))
    least = Outcomes(left_out=chosen.left_out)
    return next((one for one in shorter if count(render(one)) <= room), least)


def _at_most(
    lines: Sequence[Line], order: Iterable[int], room: int, count: Callable[[str], int]
) -> int:
    """An upper bound of the lines that have a place, so that whole texts are counted only near
    their right size: trying every number would take the square of the session's time."""
    taken = spent = 0
    for position in order:
        spent += count(lines[position].text)
        if spent > room:
            break
        taken += 1
    return taken


def _first(outcomes: Outcomes, order: Sequence[int], number: int) -> Outcomes:
    """So many of the weightiest lines; of the others, each turn is counted once."""
    kept, gone = sorted(order[:number]), [outcomes.lines[n] for n in order[number:]]
    named = {turn for line in gone for turn in line.turns if turn >= 0}
    unnamed = sum(line.turns.start < 0 for line in gone)
    return outcomes._replace(
        lines=tuple(outcomes.lines[n] for n in kept),
        left_out=outcomes.left_out + len(named) + unnamed,
    )


def _shorter(context: PreservationContext) -> Iterator[PreservationContext]:
    """The context with less and less in it: files go first, the intent last."""
    for field in ("active_files", "error_states", "current_goals"):
        while items := getattr(context, field):
            context = replace(context, **{field: items[1:]})
            yield context
    yield replace(context, build_status="unknown")
