"""What a host is told of a session: before its compaction what must not be lost, after it what its
summary lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.model import Matter, Probe, SectionName, Summary
from kedgeline.pipeline.handoff import asked, wanted
from kedgeline.probes import Shown, answer
from kedgeline.probes.answering import Prose, bare
from kedgeline.summary import Wanted, entries_of, fit, items_of
from kedgeline.summary.levels import NOTHING_WANTED, Fitted
from kedgeline.summary.markdown import body
from kedgeline.summary.sections import SECTIONS
from kedgeline.summary.state import ALWAYS, OPEN, Item
from kedgeline.summary.story import Story, findings_of
from kedgeline.text.prose import cut, holds_plain, neutral, one_line, plain

# What a host's summary is asked, and what of it stands in what the agent reads.

PUT_BACK_TOKENS = 1_500
"""Of all that is put back after a compaction: half of what a host's summary has."""
WANTED: tuple[SectionName, ...] = (
    "Session Intent",
    "Standing Instructions",
    "Files Modified",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Error Context",
    "Next Steps",
    "Commands",
)
"""Sections whose entries may be put back."""
TOLD: tuple[Matter, ...] = ("answer", "earlier request")
"""What is asked for of what a Story tells: the rest of it can be recalled."""

PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""What commands are run for that will be needed again. Others are asked for where they were run
again: looking around once is over."""


def exam(summary: Summary, room: int = PUT_BACK_TOKENS) -> tuple[Probe, ...]:
    """What a hand-over of so many tokens is asked."""
    again, found, lines = _run_again(summary), [], set()
    for probe in asked(summary, room):
        if probe.section not in WANTED and probe.matter not in TOLD:
            continue
        if (probe.matter, probe.key) == ("session", "mode"):
            continue  # in which mode it is, the host knows itself
        if probe.matter == "command":
            line = bare(probe.key)
            if probe.key not in again or line in lines:
                continue
            lines.add(line)
        found.append(probe)
    return tuple(found)


def _run_again(summary: Summary) -> set[str]:
    """Commands that will be needed again."""
    times: Counter[str] = Counter()
    every = [run for runs in summary.commands.values() for run in runs]
    for run in every:
        times[run.command] += 1
    return {run.command for run in every if run.purpose in PURPOSES or times[run.command] > 1}


class AgentReading:
    """All that an agent reads instead of the turns: the host's own text, our lines in their
    sections, and unchanged turns. What any of them says need not be said again."""

    def __init__(self, texts: Iterable[str]) -> None:
        given = [text for text in texts if text]
        self._ours = [Shown(found) for found in map(entries_of, given) if found]
        self._words = [Prose(text) for text in given]

    def tells(self, probe: Probe) -> bool:
        return any(one.tells(probe) for one in self._words) or any(
            answer(probe, shown).passed for shown in self._ours
        )

    def lacks(self, probes: Iterable[Probe]) -> tuple[Probe, ...]:
        return tuple(probe for probe in probes if not self.tells(probe))


Count = Callable[[str], int]

MOST = 8_800
"""Characters of one hand-over: hosts cut what a hook says at about 10,000, and drop what is behind,
and the frame around it takes some."""
MOST_RULES = 6_000
"""Characters of rules and request, so that where a host takes one answer for all, what its summary
lacks has room beside them."""
LONGEST = 1_500
"""Characters of one rule, one pin or the request, where all of them do not fit: a pasted log must
not take the place of what else was said."""
END = 0.3
"""Share of what is left of a text that is cut for its end: people put what they want first or last,
and what they paste between."""
STEERING_TOKENS = 900
"""Of what a summariser is told: it has a page of instructions of its own, and follows the end best.
"""
LEAST_LACKING = 700
"""Tokens for what a host's summary lacks, however long the rules are."""
SINCE_TOKENS = 250
"""For what the user said and decided since the request: some sentences."""
SAID_SINCE = "Said since: "
LEAST_TOKENS = 40
"""Less is no entry with its heading."""
EARLIER_SHOWN = 240
"""Characters of an earlier request: its beginning says what it was about."""
REFERRED = "It answers what the agent said: "
REFERRED_SHOWN = 600
"""Characters of an answer that short words refer to."""
LATER = 3
"""How urgent it is: behind all that is asked for."""
PINNED = "Pinned by the user"
FIRST: tuple[SectionName, ...] = ("Standing Instructions", "Session Intent")
"""What stands before all else, in this order: a host that cuts, cuts at the end."""
STEERING = (
    "kedgeline follows this session and knows what must not be lost. All that stands below "
    "belongs in "
    "your summary: the user's words, paths, commands and errors word for word, each where your "
    "sections have a place for it. Marks such as [t12] name turns; they may be left out."
)
PUT_BACK = (
    "From kedgeline, which follows this session: what was said and done before the compaction, "
    "as the "
    "record has it. The user's words are verbatim. Marks such as [t12] name turns: `kedgeline show "
    "{session} t12` shows one as it was, `kedgeline recall 'QUESTION' --session {session}` finds "
    "more."
)
FURTHER = "From kedgeline: what the summary of this conversation lacks, as the record has it."
_CLOSED = re.compile(r"^Asked last, answered in t\d+: ")
_WORDS = "The agent closed with: "


def steering_of(summary: Summary, session: str, count: Count, pins: Sequence[str] = ()) -> str:
    every = _every(summary)
    needed = _chosen(every.items, exam(summary, STEERING_TOKENS))
    block = every._replace(always=(*every.always, *every.inside), needed=needed)
    return _block(STEERING, block, session, count, STEERING_TOKENS, MOST, pins)


def rules_of(summary: Summary, session: str, count: Count, pins: Sequence[str] = ()) -> str:
    """What must be there with the first word after a compaction: pins, rules, and the request with
    what the user said and decided since."""
    every = _every(summary)
    needed = _since(every)
    items = [_asked_last(item) for item in every.items] if needed else every.items
    block = every._replace(items=items, needed=needed, beyond=SINCE_TOKENS)
    return _block(PUT_BACK.format(session=session), block, session, count, 0, MOST_RULES, pins)


def lacking_of(
    summary: Summary,
    there: Iterable[str],
    session: str,
    count: Count,
    *,
    rules: str = "",
    pins: Sequence[str] = (),
    most: int = MOST,
) -> str:
    """What stands in none of these texts, the most needed first; `rules` were given before, or go
    along."""
    texts = [text for text in (*there, rules) if text]
    reading, every = AgentReading(texts), _every(summary)
    spelt = [plain(text) for text in texts]
    needed = {
        key: urgency
        for key, urgency in _chosen(every.items, reading.lacks(exam(summary))).items()
        if urgency != LATER or not any(plain(every.items[key[0]].text) in one for one in spelt)
    }
    asked = {place for place, _ in needed}
    always = tuple(place for place in every.always if place in asked)
    unsaid = [pin for pin in pins if not any(holds_plain(text, plain(pin)) for text in spelt)]
    room = max(LEAST_LACKING, PUT_BACK_TOKENS - count(rules))
    listed = (every.items[place].text for place in asked)
    story = findings_of(summary, (*texts, *unsaid, *listed))
    block = every._replace(always=always, needed=needed, story=story)
    return _block(FURTHER, block, session, count, room, most, unsaid)


class _Block(NamedTuple):
    """What a block is made of, by places in `items`."""

    items: Sequence[Item]
    always: Sequence[int]
    """Rules and the request: no budget cuts them."""
    inside: Sequence[int] = ()
    """Rules that stand in the request: they are told by themselves where it is cut."""
    needed: Wanted = NOTHING_WANTED
    beyond: int = 0
    """Tokens for what is needed, however many those of `always` are."""
    story: Story | None = None
    """Told behind what is needed, where there is room left."""


def _every(summary: Summary) -> _Block:
    items = [_as_known(item) for item in items_of(summary) if item.section in WANTED]
    items += _earlier(summary, items)
    always = [place for place, item in enumerate(items) if item.tier == ALWAYS]
    # one that ends with its own words was not taken back
    rules = [
        place
        for place, item in enumerate(items)
        if item.section == "Standing Instructions" and item.text.endswith('"')
    ]
    return _Block(items, always, [place for place in rules if place not in always])


def _earlier(summary: Summary, items: Sequence[Item]) -> list[Item]:
    """Requests that only a Story tells: a block has none."""
    told = {turn for item in items if item.section == "Session Intent" for turn in item.turns}
    return [
        Item(
            "Session Intent",
            f'Earlier: "{cut(one_line(request.text), EARLIER_SHOWN)}"',
            (request.turn,),
        )
        for request in summary.requests
        if request.scope != "step" and request.turn not in told
    ]


def _since(block: _Block) -> Wanted:
    """What the user said behind the request, and what they decided and is not said in it."""
    intent = [block.items[n] for n in block.always if block.items[n].section == "Session Intent"]
    asked = max((turn for item in intent for turn in item.turns), default=-1)
    words = plain(" ".join(item.text for item in intent))
    found = {}
    for place, item in enumerate(block.items):
        turn = max(item.turns, default=-1)
        decided = item.section == "Decisions Made" and item.tier == OPEN and turn >= asked
        if item.text.startswith(SAID_SINCE) or (decided and not holds_plain(words, item.text)):
            found[place, False] = -turn
    return found if asked >= 0 else {}


def _asked_last(item: Item) -> Item:
    """The request where the user said more behind it: it need not be what is worked on now."""
    is_request = item.section == "Session Intent" and item.tier == ALWAYS
    return item._replace(text=re.sub("^Now: ", "Asked last: ", item.text)) if is_request else item


def _as_known(item: Item) -> Item:
    """A host may compact in the middle of an answer: that nothing was called behind the last words
    does not mean that the request was answered by them. A request is told whole, and cut here where
    it is too long."""
    if item.tier == ALWAYS and item.more:
        item = item._replace(text=item.more[-1], more=())
    if item.text.startswith(REFERRED):
        return item._replace(text=cut(item.text, REFERRED_SHOWN))
    if item.text.startswith(_WORDS):
        return item._replace(text=f"The agent said last: {item.text.removeprefix(_WORDS)}")
    return item._replace(text=_CLOSED.sub("Asked last: ", item.text, count=1))


def _chosen(items: Sequence[Item], probes: Sequence[Probe]) -> Wanted:
    """The items that answer these, and what the last words refer to. A command that a line on how
    it ended has is not told twice."""
    rest = [probe for probe in probes if probe.matter != "command"]
    found = dict(wanted(items, rest))
    told = Prose("\n".join(items[n].text for n, _ in found if items[n].section == "Current State"))
    commands = [one for one in probes if one.matter == "command" and not told.tells(one)]
    found |= wanted(items, commands)
    for place, item in enumerate(items):
        if item.text.startswith(REFERRED):
            found[place, False] = LATER
    return found


def _block(
    head: str,
    block: _Block,
    session: str,
    count: Count,
    room: int,
    most: int,
    pins: Sequence[str],
) -> str:
    """Pins, rules and the request, then as much of the rest as there is room for."""
    parts = _always(block, pins, session, most - len(head))
    left = most - len(head) - sum(len(part) + len("\n\n") for part in parts)
    room = max(room - count("\n\n".join(parts)), block.beyond)
    rest = _rest(block, session, room, left, count)
    if parts and rest and rest[0].partition("\n")[0] == parts[-1].partition("\n")[0]:
        parts[-1] += "\n" + rest.pop(0).partition("\n")[2]  # one heading for both
    return "\n\n".join((head, *parts, *rest)) if parts or rest else ""


def _always(block: _Block, pins: Sequence[str], session: str, most: int) -> list[str]:
    groups = _groups(block, block.always, pins)
    whole = ["\n".join((title, *(line for line, _ in lines))) for title, lines in groups]
    if sum(len(part) + len("\n\n") for part in whole) <= most:
        return whole
    return list(_cut(_groups(block, (*block.always, *block.inside), pins), session, most))


def _groups(block: _Block, places: Sequence[int], pins: Sequence[str]) -> list[_Group]:
    groups: list[_Group] = [
        (f"## {PINNED}", [(f"- {_moved_in(neutral(pin))}", -1) for pin in pins])
    ]
    items = [block.items[place] for place in sorted(places)]
    for name in FIRST:
        lines = [
            ("\n".join(body(name, [item])), max(item.turns, default=-1))
            for item in items
            if item.section == name
        ]
        groups.append((f"## {name}", lines))
    return [(title, lines) for title, lines in groups if lines]


_Group = tuple[str, list[tuple[str, int]]]
"""A heading, and its lines with their turns."""


def _cut(groups: Sequence[_Group], session: str, most: int) -> Iterator[str]:
    """Every group has its share, and what those before it leave; of too many lines the newest."""
    for number, (title, lines) in enumerate(groups):
        least = (len(groups) - number - 1) * (LONGEST + len("## Standing Instructions\n\n\n"))
        room = max(most - least, most // (len(groups) - number)) - len(title) - len("\n\n\n")
        left_out = f"\n- ({len(lines):,} more were left out: `kedgeline pin {session}`)"
        kept: list[str] = []
        for line, turn in reversed(lines):
            told = _shorter(line, turn, session, min(LONGEST, room))
            if room < len(told) + len("\n") + len(left_out) * (len(kept) + 1 < len(lines)):
                break
            kept.append(told)
            room -= len(told) + len("\n")
        if missing := len(lines) - len(kept):
            turn = lines[missing - 1][1]
            where = f"kedgeline show {session} t{turn}" if turn >= 0 else f"kedgeline pin {session}"
            kept.append(f"- ({missing:,} more were left out: `{where}`)")
        part = "\n".join((title, *reversed(kept)))
        most -= len(part) + len("\n\n")
        yield part


def _shorter(line: str, turn: int, session: str, most: int) -> str:
    """The beginning and the end of a line that is too long."""
    if len(line) <= most:
        return line
    where = f"`kedgeline show {session} t{turn}`" if turn >= 0 else f"`kedgeline pin {session}`"
    hint = f" … (cut here; {where} shows all) … "
    room = max(0, most - len(hint))
    end = int(room * END)
    return line[: room - end].rstrip() + hint + line[len(line) - end :].lstrip()


def _rest(block: _Block, session: str, room: int, most: int, count: Count) -> list[str]:
    """The sections that have something, without those that have not."""
    places = sorted({place for place, _ in block.needed} - {*block.always})
    items = [block.items[place] for place in places]
    needed = {
        (places.index(place), detail): urgency
        for (place, detail), urgency in block.needed.items()
        if place in places
    }
    while room >= LEAST_TOKENS and (items or block.story):
        parts = list(_sections(fit(items, room, count, needed, story=block.story), session))
        if sum(len(part) + len("\n\n") for part in parts) <= most:
            return parts
        room = room * 3 // 4
    return []


def _sections(fitted: Fitted, session: str) -> Iterator[str]:
    for name in (*FIRST, *(one for one in SECTIONS if one not in FIRST)):
        found = [item for item in fitted.items if item.section == name]
        if found:
            lines = [f"## {name}", *body(name, found)]
            if more := fitted.left_out.get(name, 0):
                hint = f"`kedgeline recall 'QUESTION' --session {session}` finds them"
                lines.append(f"- ({more:,} more were left out: {hint})")
            yield neutral("\n".join(lines))


def _moved_in(text: str) -> str:
    """Lines behind the first cannot begin a section or an entry."""
    return text.strip().replace("\n", "\n  ")
