"""The style `outcomes` (seed 001): what must be preserved of a conversation, and a line for what
each folded turn came to. It is another rendering of the same facts, made when somebody asks for it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.model import (
    WEIGHTS,
    Anchor,
    Called,
    CommandRun,
    ErrorSeen,
    FileChanged,
    Probe,
    Requested,
    Stated,
    Summary,
    Transcript,
    Value,
)
from kedgeline.model.summary import Matter
from kedgeline.pipeline.job import flow_of
from kedgeline.text.prose import cut, first_sentence, foreign, neutral, one_line

# What has to be preserved: files, goals, errors, the build, the intent.

MOST_FILES = 20
"""Active files: what someone who takes the work over can look through."""
MOST_GOALS = 3
"""Goals, the latest: the seed's number. Older ones have been reached, or given up."""
MOST_ERRORS = 5
"""Open errors, the latest: more than are worked on at once."""
GOAL_SHOWN, ERROR_SHOWN, INTENT_SHOWN = 100, 100, 200
"""Characters of a goal, an error line and the last intent: the seed's numbers."""
CHECKS = ("test", "build")
"""Purposes of commands that say whether the work is in order."""

BuildStatus = Literal["passing", "failing", "unknown"]


class PreservationContext(Value, frozen=True):
    active_files: tuple[str, ...] = ()
    """Paths as the calls name them, from the session's root on. Those changed come before those
    only read; in each part those worked on last are at the end."""
    current_goals: tuple[str, ...] = ()
    error_states: tuple[str, ...] = ()
    """The telling line of each error that is still open, newest last."""
    build_status: BuildStatus = "unknown"
    """What the latest test or build run came to."""
    last_user_intent: str = ""

    def format_for_summary(self) -> str:
        """One line each; what is not known has none, as nobody could act on it."""
        lines = (
            ("Active files", ", ".join(self.active_files)),
            ("Goals", "; ".join(self.current_goals)),
            ("Build", "" if self.build_status == "unknown" else self.build_status),
            ("Open errors", "; ".join(self.error_states)),
            ("Last intent", self.last_user_intent),
        )
        told = ((name, " ".join(value.split())) for name, value in lines)
        return "\n".join(f"{name}: {value}" for name, value in told if value)


def preservation_context_of(state: Summary, *, kept_from: int = 0) -> PreservationContext:
    """The context at the end of a conversation. Goals are those of the turns from `kept_from`
    on, or else the last one before: older ones have been reached, or given up."""
    changed = [
        path
        for path, events in state.files_now().items()
        if events[-1].action != "deleted" and not all(event.scratch for event in events)
    ][-MOST_FILES:]
    seen = sorted((sights[-1].turn, path) for path, sights in state.reads.items())
    read = [path for _, path in seen if path not in changed]
    latest = (events[-1] for events in state.errors.values())
    errors = sorted((e for e in latest if isinstance(e, ErrorSeen)), key=lambda one: one.turn)
    said = [one for one in state.requests if one.by == "user"]
    goals = [
        (one.turn, cut(first_sentence(one.text), GOAL_SHOWN)) for one in said if one.scope != "step"
    ]
    recent = [goal for turn, goal in goals if turn >= kept_from] or [g for _, g in goals[-1:]]
    lines = dict.fromkeys(cut(one.line, ERROR_SHOWN) for one in reversed(errors))
    return PreservationContext(
        active_files=(*changed, *read[max(0, len(read) - MOST_FILES + len(changed)) :]),
        current_goals=tuple(dict.fromkeys(recent))[-MOST_GOALS:],
        error_states=tuple(reversed([*lines][:MOST_ERRORS])),
        build_status=_status(run for runs in state.commands.values() for run in runs),
        last_user_intent=cut(one_line(said[-1].text), INTENT_SHOWN) if said else "",
    )


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


# Folded turns as lines: anchors in detail, the user's words, what else was done in a sentence.

HEADING = "Key outcomes:"
ANCHOR_SHOWN, SENTENCE_SHOWN = 500, 150
"""Characters of the response in an anchor's turn, and of any other: the seed's numbers."""
DESCRIPTION_SHOWN = 200
"""Characters of what a detector says of an anchor."""
USER_SHOWN = 600
"""Characters of the user's words: requests whole, of a pasted log its head."""
PATHS_SHOWN = 8
"""Files named in one line."""
USER, ANCHORED, OTHER = 0, 1, 2
"""Ranks: the user's words stay longest, then anchors (R12)."""
_MARK = re.compile(r" \[t(\d{1,9})(?:-(\d{1,9}))?\]$")
AGENTS = ("answer", "narration")
"""Where the agent's own words stand."""


class _Line(NamedTuple):
    text: str
    turns: range
    """Those it speaks of."""
    rank: int = OTHER
    weight: float = 0.0
    """Of its anchor."""

    @property
    def shown(self) -> str:
        if not self.turns:
            return self.text
        first, last = self.turns[0], self.turns[-1]
        return f"{self.text} [t{first}]" if first == last else f"{self.text} [t{first}-{last}]"


class _Turn:
    """What is known of one turn."""

    def __init__(self) -> None:
        self.asked: list[Requested] = []
        self.said: list[Stated] = []
        self.calls: list[Called] = []
        self.files: dict[str, None] = {}

    @property
    def response(self) -> str:
        return " ".join(one.text for one in sorted(self.said, key=lambda one: one.place))

    @property
    def sign(self) -> str:
        """Whether all calls succeeded, one failed, or nobody knows (R17)."""
        states = {call.state for call in self.calls}
        return "✗" if "failed" in states else "✓" if states == {""} else "•"


def outcome_lines(state: Summary, anchors: Iterable[Anchor]) -> list[_Line]:
    """Lines in the order of the turns; silent turns that follow each other share one. An anchor
    that was only set because there is no other makes no turn weightier."""
    natural = sorted((a for a in anchors if not a.synthetic), key=lambda anchor: anchor.weight)
    anchored = {anchor.turn_index: anchor for anchor in natural}
    lines = [*_earlier([one.text for one in state.carried])]
    silent: dict[int, _Turn] = {}
    for index, turn in sorted(_turns(state).items()):
        told = [*_user_lines(index, turn.asked), *_line(index, turn, anchored.get(index))]
        if silent and (told or index - 1 not in silent):
            lines += _steps(silent)
            silent = {}
        lines += told
        if not told or told[-1].rank == USER:
            silent[index] = turn
    return [*lines, *_steps(silent)]


def _turns(state: Summary) -> dict[int, _Turn]:
    found: defaultdict[int, _Turn] = defaultdict(_Turn)
    for asked in state.requests:
        found[asked.turn].asked.append(asked)
    for said in state.statements:
        if said.where in AGENTS and not said.code:
            found[said.turn].said.append(said)
    for call in state.calls:
        found[call.turn].calls.append(call)
    for path, events in state.files.items():
        for event in events:
            if event.by == "tool" and isinstance(event, FileChanged):
                found[event.turn].files[foreign(one_line(path))] = None
    return found


def _earlier(texts: Sequence[str]) -> Iterator[_Line]:
    """The lines of a text that leads the conversation, as they were."""
    for text in texts[texts.index(HEADING) + 1 :] if HEADING in texts else texts:
        rank = USER if text.startswith('User: "') else OTHER
        rank = ANCHORED if text.startswith("[ANCHOR] ") else rank
        told, at = neutral(text), range(0)
        if found := _MARK.search(text):
            told, at = (
                neutral(text[: found.start()]),
                range(int(found[1]), int(found[2] or found[1]) + 1),
            )
        yield _Line(told, at, rank, WEIGHTS["user_checkpoint"] if rank == ANCHORED else 0.0)


def _user_lines(index: int, asked: Iterable[Requested]) -> Iterator[_Line]:
    """To a sub-agent speaks the agent that delegated to it, not the user."""
    for one in asked:
        words = cut(neutral(one_line(one.text)), USER_SHOWN)
        label, rank = ("User", USER) if one.by == "user" else ("Task", OTHER)
        yield _Line(f'{label}: "{words}"', range(index, index + 1), rank)


def _line(index: int, turn: _Turn, anchor: Anchor | None) -> Iterator[_Line]:
    """The turn's own line; none where it has nothing to say."""
    at = range(index, index + 1)
    if anchor is not None:
        text = cut(foreign(turn.response), ANCHOR_SHOWN)
        description = cut(foreign(anchor.description), DESCRIPTION_SHOWN)
        if description not in text:
            stop = "" if not text or text[-1] in ".!?…" else "."
            text = f"{text}{stop} {description}".strip()
        kind = anchor.type.replace("_", " ")
        yield _Line(f"[ANCHOR] {text} ({kind})", at, ANCHORED, anchor.weight)
        return
    said = cut(foreign(first_sentence(turn.response)), SENTENCE_SHOWN)
    more = len(turn.files) - PATHS_SHOWN
    named = ", ".join([*turn.files][:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if text := ": ".join(filter(None, (f"Modified {named}" if named else "", said))):
        yield _Line(f"{turn.sign} {text}", at)


def _steps(turns: dict[int, _Turn]) -> Iterator[_Line]:
    """One line for silent turns; none where not even a call was made."""
    kinds = Counter(call.kind for turn in turns.values() for call in turn.calls)
    if kinds:
        told = ", ".join(f"{kind} ×{times}" for kind, times in kinds.most_common())
        failed = sum(call.state == "failed" for turn in turns.values() for call in turn.calls)
        steps = f"{len(turns)} step{'s' if len(turns) > 1 else ''}: {told}"
        text = f"• {steps}{f' ({failed} failed)' if failed else ''}"
        yield _Line(text, range(min(turns), max(turns) + 1))


# The summary: context and lines, as much of them as a room holds.

Count = Callable[[str], int]


def outcomes(
    state: Summary,
    anchors: Iterable[Anchor],
    room: int,
    count: Count,
    *,
    whole: Summary | None = None,
    kept_from: int = 0,
) -> str:
    """The context and the weightiest lines in so many tokens, among equals the newer; what a
    smaller room holds, a larger one holds too. The context is that of the `whole` conversation; it
    goes last, its oldest parts first."""
    context, lines = (
        preservation_context_of(whole or state, kept_from=kept_from),
        outcome_lines(state, anchors),
    )
    order = sorted(range(len(lines)), key=lambda n: (lines[n].rank, -lines[n].weight, -n))
    left, taken = room - count(_told(context, lines, [])), 0
    for n in order:
        left -= count(lines[n].shown) + 1
        if left < 0:
            break
        taken += 1
    while taken and count(_told(context, lines, order[:taken])) > room:
        taken -= 1
    texts = (_told(one, lines, order[:taken]) for one in (context, *_shorter(context)))
    return next((text for text in texts if count(text) <= room), "")


def _told(context: PreservationContext, lines: Sequence[_Line], chosen: Sequence[int]) -> str:
    safe = replace(
        context,
        active_files=tuple(map(foreign, context.active_files)),
        current_goals=tuple(map(neutral, context.current_goals)),
        error_states=tuple(map(foreign, context.error_states)),
        last_user_intent=neutral(context.last_user_intent),
    )
    kept = set(chosen)
    gone = (line for n, line in enumerate(lines) if n not in kept)
    left_out = len({turn for line in gone for turn in line.turns})
    told = [lines[n].shown for n in sorted(kept)]
    told += [f"({left_out} older turn{'s' if left_out > 1 else ''} left out)"] if left_out else []
    parts = (safe.format_for_summary(), "\n".join((HEADING, *told)) if told else "")
    return "\n\n".join(part for part in parts if part)


def _shorter(context: PreservationContext) -> Iterator[PreservationContext]:
    """The context with less and less in it: files go first, the intent last."""
    for field in ("active_files", "error_states", "current_goals"):
        while items := getattr(context, field):
            context = replace(context, **{field: items[1:]})
            yield context
    yield PreservationContext(last_user_intent=context.last_user_intent)
    yield PreservationContext()


def outcomes_of_session(transcript: Transcript, state: Summary, room: int, count: Count) -> str:
    """A whole session in this style."""
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    return outcomes(state, flow.anchor_points, room, count)


FILES: tuple[Matter, ...] = ("created", "modified")
ASKED: tuple[Matter, ...] = ("request", "earlier request")


def of_outcomes(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """Those that this style has a place for: what was asked, and which files were worked on; it
    says neither what became of them nor what was decided."""
    return tuple(
        replace(probe, expected=(probe.key,)) if probe.matter in FILES else probe
        for probe in probes
        if probe.matter in (*FILES, *ASKED)
    )
