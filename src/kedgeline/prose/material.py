"""What a model is given of folded turns, what it may reply, and what is made of that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, get_args

from msgspec import Meta, Struct

from kedgeline.model import (
    ActionTaken,
    AgentReported,
    AnyFact,
    Called,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    Dropped,
    ErrorResolved,
    ErrorSeen,
    Fallback,
    FileChanged,
    Note,
    SessionNoted,
    Stated,
    ToolCall,
    ToolResult,
    Turn,
    Worded,
)
from kedgeline.model.fact import standing
from kedgeline.text.prose import cut, foreign, one_line, unmarked, visible, without_tags
from kedgeline.text.shortening import Count, shortened

LINE = 200
"""Characters of one change, reason, step or question: a sentence."""
PARAGRAPH = 500
"""Characters of the intent and of the state: a few sentences."""
KNOWN = 1_200
"""Characters of what is known already that stand beside a packet: intent and state."""
MOST_CHANGES = 12
MOST_REASONS = 8
MOST_STEPS = 5
MOST_QUESTIONS = 5

Line = Annotated[str, Meta(max_length=LINE)]
Paragraph = Annotated[str, Meta(max_length=PARAGRAPH)]


class Change(Struct):
    file: Annotated[int, Meta(ge=1, le=99)]
    """Its number in the list of files: a model names no paths."""
    what: Line


class Reason(Struct):
    decision: Annotated[int, Meta(ge=1, le=99)]
    """Its number in the list of decisions."""
    why: Line


class Prose(Struct):
    """The reply as it is asked for. Every list and every text is bounded: small models write on to
    the limit where there is none."""

    intent: Paragraph
    changes: Annotated[list[Change], Meta(max_length=MOST_CHANGES)]
    reasons: Annotated[list[Reason], Meta(max_length=MOST_REASONS)]
    state: Paragraph
    next_steps: Annotated[list[Line], Meta(max_length=MOST_STEPS)]
    questions: Annotated[list[Line], Meta(max_length=MOST_QUESTIONS)]


class Decision(NamedTuple):
    key: str
    """Its matter."""
    text: str
    turn: int


class Packet(NamedTuple):
    """Turns that are sent in one request."""

    first: int
    last: int
    """Indices of the turns."""
    text: str
    """The turns as the model reads them, giant outputs reduced."""
    files: tuple[str, ...] = ()
    """Changed in these turns; the first has the number 1."""
    decisions: tuple[Decision, ...] = ()
    facts: str = ""
    """What is known by code, line by line."""
    spare: int = KNOWN
    """Tokens left beside it in the window, for what is known already."""


class Sources(NamedTuple):
    """What may hold a claim, whole and verbatim."""

    said: str = ""
    """Words of the user and of the agent in these turns, and the arguments of calls."""
    shown: str = ""
    """What tools gave back, and what clients put in."""
    known: str = ""
    """What user and agent said and did, by the summary of earlier turns and the facts."""
    reported: str = ""
    """What tools gave back, by the same: no voice, whatever it demands."""
    turns: tuple[tuple[int, str], ...] = ()
    """What was said and shown, turn by turn, each with its index."""


class Checked(NamedTuple):
    worded: tuple[Worded, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Written(NamedTuple):
    """What came of all packets."""

    worded: tuple[Worded, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    fallback: Fallback = ""
    """Why nothing, or not all, was written."""
    why: str = ""
    model: str = ""
    requests: int = 0
    prompts: tuple[str, ...] = ()


# Facts as short lines: what a model refers to by number, and what its words are held against.

LISTING_LINE = 160
"""Characters of one line."""
MOST_FILES = 40
MOST_DECISIONS = 20
"""Lines of the two lists: a few times what a reply has room for."""
VOICED = frozenset({"intent", "next step", "question"})
"""Prose that was taken only where user or agent said as much."""
_BY_TOOLS: dict[type, tuple[str, ...]] = {
    ErrorSeen: ("key", "line"),
    ErrorResolved: ("key", "how"),
    CommandRun: ("about", "passed", "failed", "skipped"),
    ActionTaken: ("result",),
    AgentReported: ("report",),
    SessionNoted: ("name", "value"),
}
"""Fields of facts that hold what came out of a tool; the others are words or names."""
_PLACES = ("turn", "place")
"""Numbers of a fact that nobody said."""


class Listing(NamedTuple):
    files: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    text: str = ""


def listing(facts: Iterable[AnyFact], *, share: float = 1.0) -> Listing:
    """Files and decisions as they stand at the end of some turns, the newest of each: what was
    taken back is in none. A smaller share leaves fewer lines."""
    changes: dict[str, list[FileChanged]] = {}
    decided: dict[str, Decided] = {}
    for fact in facts:
        if isinstance(fact, FileChanged) and not fact.scratch:
            changes[fact.path] = [*changes.pop(fact.path, []), fact]
        elif isinstance(fact, Decided):
            decided.pop(fact.key, None)
            decided[fact.key] = fact
    left = [(path, events) for path, every in changes.items() if (events := standing(every))]
    files = left[max(0, len(left) - int(MOST_FILES * share)) :]
    decisions = [*decided.values()][max(0, len(decided) - int(MOST_DECISIONS * share)) :]
    parts = (
        ("Files changed", [_changed(path, events) for path, events in files]),
        ("Decisions", [foreign(one.decision) for one in decisions]),
    )
    lines = []
    for name, items in parts:
        numbered = [f"{n}. {cut(item, 2 * LISTING_LINE)}" for n, item in enumerate(items, 1)]
        lines += [f"{name}:", *numbered] if items else []
    return Listing(
        files=tuple(path for path, _ in files),
        decisions=tuple(Decision(one.key, one.decision, one.turn) for one in decisions),
        text="\n".join(lines),
    )


def _changed(path: str, changes: Sequence[FileChanged]) -> str:
    created = any(change.action == "created" for change in changes)
    action = "created" if created else changes[-1].action
    what = "; ".join(dict.fromkeys(change.what for change in changes if change.what))
    return f"{foreign(path)} ({action})" + (f": {cut(foreign(what), LISTING_LINE)}" if what else "")


class ToldBy(NamedTuple):
    """The texts of a fact, by whose they are."""

    voiced: tuple[str, ...]
    """What user and agent said and did, and the names of files and commands."""
    reported: tuple[str, ...]
    """What came out of tools."""


def told(fact: AnyFact) -> ToldBy:
    """All texts and numbers of a fact."""
    tools = _reported(fact)
    voiced: list[str] = []
    reported: list[str] = []
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        texts = value if isinstance(value, tuple) else (value,)
        side = reported if name in tools else voiced
        side += [text for text in texts if isinstance(text, str)]
        if type(value) is int and value > 0 and name not in _PLACES:
            side.append(str(value))
    return ToldBy(tuple(voiced), tuple(reported))


def _reported(fact: AnyFact) -> Collection[str]:
    """Fields that a tool filled."""
    if isinstance(fact, Worded):
        return () if fact.about in VOICED else ("text",)
    if isinstance(fact, Committed):
        return ("about",) if fact.what == "head" else ()
    if isinstance(fact, DeadEnd):
        return ("why",) if fact.by == "tool" else ()
    return _BY_TOOLS.get(type(fact), ())


# Turns as a model reads them, and as what it then says is held against.


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
    # the words of the turns themselves, and the calls, are among what was said and shown
    lines = [told(fact) for fact in facts if not isinstance(fact, Stated | Called)]
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


# A reply taken apart, and what is taken of it as entries of a summary.

About = Literal["intent", "change", "rationale", "state", "next step", "question"]
ABOUTS: tuple[About, ...] = get_args(About)
LOOKED_AT = 4 * PARAGRAPH
"""Characters of a text that are split into sentences; what lies behind them is too long."""

_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]*_`]{0,3}\s+(?=[^a-z])|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*#>|<`])"
)
_TURN_MARK = re.compile(r"\s?[\[(]\s?(?:turns?\s?|t)\d[\d\st,–-]{0,80}[\])]", re.IGNORECASE)
_ITEM = re.compile(r"^(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")


class Unit(NamedTuple):
    """A sentence of one of the two texts, or an entry of a list: taken or dropped as one."""

    about: About
    text: str
    most: int
    """Characters it may have: none where it lies behind what was asked for."""
    number: int = 0
    """Of the file or decision, as the model gives it."""
    listed: bool = True
    """Whether the packet lists that number."""


def units_of(prose: Prose, packet: Packet) -> Iterator[Unit]:
    """All of a reply, in its order."""
    yield from _sentences("intent", prose.intent)
    for place, change in enumerate(prose.changes):
        listed = 1 <= change.file <= len(packet.files)
        most = LINE if place < MOST_CHANGES else 0
        yield Unit("change", _bare(change.what), most, change.file, listed)
    for place, reason in enumerate(prose.reasons):
        listed = 1 <= reason.decision <= len(packet.decisions)
        most = LINE if place < MOST_REASONS else 0
        yield Unit("rationale", _bare(reason.why), most, reason.decision, listed)
    yield from _sentences("state", prose.state)
    for place, step in enumerate(prose.next_steps):
        yield Unit("next step", _bare(step), LINE if place < MOST_STEPS else 0)
    for place, question in enumerate(prose.questions):
        yield Unit("question", _bare(question), LINE if place < MOST_QUESTIONS else 0)


def _sentences(about: About, text: str) -> Iterator[Unit]:
    left = PARAGRAPH + 1
    for bare in map(_bare, _END.split(text[:LOOKED_AT])):
        left -= len(bare) + 1 if bare else 0
        yield Unit(about, bare, PARAGRAPH if left >= 0 else 0)
    yield Unit(about, text[LOOKED_AT : 2 * LOOKED_AT], 0)


def _bare(text: str) -> str:
    """Without the mark of a list and marks of turns: only we say where a line comes from."""
    if len(text) > LOOKED_AT:
        return text
    return _ITEM.sub("", _TURN_MARK.sub("", " ".join(text.split()))).strip()


def entries_of(taken: Sequence[Unit], packet: Packet, facts: Sequence[AnyFact]) -> Iterator[Worded]:
    """Sentences of one text become one entry: a newer one takes its place as a whole."""
    for about in ABOUTS:
        units = [unit for unit in taken if unit.about == about]
        texts = [one_line(unit.text) for unit in units]
        if about in ("intent", "state"):
            texts = [" ".join(texts)] if texts else []
        for unit, text in zip(units, texts, strict=False):
            key, first, last = _place(unit, packet, facts)
            yield Worded(turn=last, about=about, text=text, key=key, first=first)


def _place(unit: Unit, packet: Packet, facts: Sequence[AnyFact]) -> tuple[str, int, int]:
    """The file or decision it is about, and the first and last turn with a fact about it; of all
    else the turns of the packet."""
    key, turns = "", list[int]()
    if unit.about == "change":
        key = packet.files[unit.number - 1]
        turns = [fact.turn for fact in facts if isinstance(fact, FileChanged) and fact.path == key]
    elif unit.about == "rationale":
        key, _, turn = packet.decisions[unit.number - 1]
        turns = [turn, *(one.turn for one in facts if isinstance(one, Decided) and one.key == key)]
    within = [turn for turn in turns if packet.first <= turn <= packet.last]
    return key, min(within, default=packet.first), max(within, default=packet.last)
