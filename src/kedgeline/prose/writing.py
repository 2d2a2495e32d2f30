"""What a model is asked about a packet, and how many tokens of its window that takes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

import msgspec

from kedgeline.errors import BadSettings
from kedgeline.model import AnyFact, Ask, Dropped, Fallback, Step, Turn, Unfit, Worded
from kedgeline.prose.asking import PROBLEM, Outcome, Request, ask_of, asked, asked_again
from kedgeline.prose.checking import checked
from kedgeline.prose.material import (
    FULL,
    KNOWN,
    PARAGRAPH,
    TIGHT,
    Checked,
    Listing,
    Packet,
    Prose,
    Sources,
    Written,
    listing,
    turn_text,
)
from kedgeline.text.prose import cut, visible
from kedgeline.text.shortening import Count, shortened

KNOWN_SHARE = 1 / 8
"""Of a window, for what is known already."""
CARRIED = 300
"""Tokens of what was said about the packets before, where it is put at length."""
WORDS_PER_TOKEN = 0.5
"""Of a reply; prose has more, but JSON around short texts has less."""
FENCES = 40
"""Tokens by which two requests may differ in the codes on their fences."""
LEAST_ROOM = 40
"""Tokens in which something can be said of a turn."""
_PROBLEM = "wrong " * (PROBLEM // len("wrong "))
"""As long as what is wrong with a reply can be."""


def room_in(window: int, *, headings: str, count: Count) -> tuple[int, int]:
    """Tokens for a packet and for what is known already, so that a request fits into a window, and
    its second form with what was wrong about the first reply does as well."""
    packet = Packet(0, 0, text="-", facts="-")
    longest = asked_again(ask_of(request_for(packet, "-", reply_tokens=window)), _PROBLEM)
    taken = tokens_of(longest, count) + FENCES
    left = max(0, window - taken)
    wanted = max(CARRIED, count(known_text(headings, KNOWN)))
    known = min(wanted, int(window * KNOWN_SHARE), left // 4)
    if left - known < LEAST_ROOM:
        raise BadSettings(
            "the window of the model",
            f"{window:,} tokens beside the reply leave no room for turns, as our own words take "
            f"{taken:,}; use a model with a larger window, or none",
        )
    return left - known, known


def tokens_of(ask: Ask, count: Count) -> int:
    """Tokens of a request; its schema counts, as most providers hand it to the model."""
    schema = msgspec.json.encode(ask.schema).decode() if ask.schema else ""
    return count(ask.system) + count(ask.prompt) + count(schema)


def requests_of(
    packets: Iterable[Packet], *, headings: str, reply_tokens: int, count: Count = len
) -> tuple[Ask, ...]:
    """The requests as they are first made, for those who want to know what they would cost. Those
    behind the first say a little else by then: what was written about the packets before."""
    known = ((packet, known_text(headings, packet.spare, count)) for packet in packets)
    return tuple(ask_of(request_for(*one, reply_tokens=reply_tokens)) for one in known)


def request_for(packet: Packet, known: str, *, reply_tokens: int) -> Request[Prose]:
    texts = {"known": known, "facts": packet.facts, "turns": packet.text}
    return Request(
        prompt="summarise",
        role="summarise",
        words={"known": "", "facts": "", "words": str(int(reply_tokens * WORDS_PER_TOKEN))},
        data={name: text for name, text in texts.items() if text},
        shape=Prose,
        problem=lambda _: "",  # whether it is true is another matter
        most_tokens=reply_tokens,
        bounded=False,
        repeated=0,
    )


def known_text(text: str, spare: int, count: Count = len) -> str:
    """What is known already, as much of it as there are tokens to spare."""
    whole = visible(text).encode(errors="replace").decode().strip()
    size = KNOWN
    while size and count(cut(whole, size)) > spare:
        size = size * 3 // 4
    return cut(whole, size) if size else ""


# Folded turns in packets that fit a model's window, ending at anchors where they can.

FACTS_SHARE = 0.25
"""Of a room, for the lists of facts: the turns say the same at greater length."""
LINE_BREAK = 1
"""Tokens between two turns."""
SHRINK = 0.75
"""What is tried next of a size that does not fit."""
LEAST_SHARE = 0.02
"""Of the lines of all lists: with fewer there is none."""


class _Piece(NamedTuple):
    turn: Turn
    text: str
    tokens: int


def packets_of(
    turns: Sequence[Turn],
    facts: Iterable[AnyFact],
    anchors: Collection[int],
    *,
    window: int,
    headings: str = "",
    count: Count,
) -> tuple[Packet, ...]:
    """The turns in packets, so that a request about one takes at most `window` tokens, with what
    is known already: the `headings`, or what was said about the packets before."""
    room, spare = room_in(window, headings=headings, count=count)
    packets = packed(turns, facts, anchors, room=room, count=count)
    return tuple(one._replace(spare=spare + room - count(sent(one))) for one in packets)


def packed(
    turns: Sequence[Turn],
    facts: Iterable[AnyFact],
    anchors: Collection[int],
    *,
    room: int,
    count: Count,
) -> tuple[Packet, ...]:
    """The turns in order and as few packets as it takes, each of at most so many tokens, facts
    included. Among the places where a packet may end, the latest anchor is taken.

    A turn that exceeds the room alone is cut to it."""
    room = max(0, room)
    held: dict[int, list[AnyFact]] = {}
    for fact in facts:
        held.setdefault(fact.turn, []).append(fact)
    every = listing(fact for turn in turns for fact in held.get(turn.index, ()))
    wanted = count(every.text) + LINE_BREAK if every.text else 0
    reserve = min(int(room * FACTS_SHARE), wanted)
    pieces = [_piece(turn, room - reserve, count) for turn in turns]
    ends = _ends([piece.tokens for piece in pieces], _places(turns, anchors), room - reserve)
    packed = (pieces[start:end] for start, end in pairwise((0, *ends)))
    packets = (
        _packet(part, [fact for one in part for fact in held.get(one.turn.index, ())], room, count)
        for part in packed
        if any(piece.text for piece in part)
    )
    return tuple(packets)


def sent(packet: Packet) -> str:
    """All that a request holds of a packet."""
    return _sent(packet.facts, packet.text)


def _sent(facts: str, text: str) -> str:
    return f"{facts}\n{text}" if facts else text


def _places(turns: Sequence[Turn], anchors: Collection[int]) -> list[int]:
    """Places behind turns that are anchors."""
    chosen = frozenset(anchors)
    return [place for place, turn in enumerate(turns, 1) if turn.index in chosen]


def _ends(costs: Sequence[int], anchored: Sequence[int], room: int) -> list[int]:
    """Where packets end. Filling each as far as it goes gives the least number of packets; filling
    them from the back gives the earliest place where each may end without there being one more."""
    total = [0, *accumulate(costs)]
    earliest: list[int] = []
    place = len(costs)
    while place > 0:
        earliest.append(place)
        place = min(place - 1, bisect_left(total, total[place] - room))
    ends: list[int] = []
    start = 0
    for least in reversed(earliest):
        most = max(start + 1, bisect_right(total, total[start] + room) - 1)
        anchor = bisect_right(anchored, most) - 1
        start = anchored[anchor] if anchor >= 0 and anchored[anchor] >= least else most
        ends.append(start)
    return ends


def _piece(turn: Turn, room: int, count: Count) -> _Piece:
    for limits in (FULL, TIGHT):
        text = turn_text(turn, count=count, limits=limits)
        tokens = count(text) + LINE_BREAK if text else 0
        if tokens <= room:
            return _Piece(turn, text, tokens)
    return _Piece(turn, _cut(text, room, count), room)


def _cut(text: str, room: int, count: Count) -> str:
    """A text that fits; what it begins with says whose it is and stays."""
    head, colon, rest = text.partition(": ")
    size = room - LINE_BREAK - count(head + colon)
    while size > 0:
        short = head + colon + shortened(rest, room=size, count=count)
        if short != head + colon and count(short) + LINE_BREAK <= room:
            return short
        size = int(size * SHRINK)
    raise BadSettings(
        "the window of the model",
        f"it leaves {max(0, room)} tokens for a turn, which holds nothing of it; use a model with "
        "a larger window, or none",
    )


def _packet(pieces: Sequence[_Piece], facts: Iterable[AnyFact], room: int, count: Count) -> Packet:
    text = "\n".join(piece.text for piece in pieces if piece.text)
    if count(text) > room:  # parts may count for less than the whole
        text = _cut(text, room, count)
    listed = _listing(facts, room - count(text), count)
    if count(_sent(listed.text, text)) > room:
        listed = Listing()
    return Packet(
        first=pieces[0].turn.index,
        last=pieces[-1].turn.index,
        text=text,
        files=listed.files,
        decisions=listed.decisions,
        facts=listed.text,
    )


def _listing(facts: Iterable[AnyFact], room: int, count: Count) -> Listing:
    """As many lines of the lists as fit."""
    known = [*facts]
    share = 1.0
    while share > 0:
        listed = listing(known, share=share)
        if not listed.text or count(listed.text) + LINE_BREAK <= room:
            return listed
        share = share * SHRINK if share > LEAST_SHARE else 0.0
    return Listing()


# Having a model write about folded turns, packet by packet.

SHOWN = 200
"""Characters of dropped words that are kept."""
NOW = "now"
PASSING = frozenset({"state", "next step", "question"})
"""What is true at one point only: where later turns were not described, it is of no use."""
COMES_TO: dict[Unfit, Fallback] = {
    "not about these turns": "off topic",
    "said already": "nothing new",
    "an error message or a refusal": "error text",
    "too long": "too large",
}
"""What it comes to where all is dropped for one reason; otherwise nothing in the turns holds it."""
WHY: dict[Fallback, str] = {
    "empty": "every text of its reply is empty",
    "unsupported": "the turns hold nothing of what it wrote",
    "off topic": "what it wrote is not about these turns",
    "nothing new": "what it wrote was said already",
    "error text": "what it wrote is an error message or a refusal",
    "too large": "what it wrote is longer than was asked for",
    "longer than its source": "what it wrote is longer than the turns themselves",
}


class ProseCheck(Protocol):
    def __call__(
        self,
        prose: Prose,
        packet: Packet,
        sources: Sources,
        facts: Sequence[AnyFact],
        /,
        *,
        known: Collection[str] = (),
    ) -> Checked: ...


class _Part(NamedTuple):
    """What came of one packet."""

    taken: tuple[Worded, ...]
    dropped: tuple[Dropped, ...]
    longer: bool = False
    """Than the turns it is about."""

    @property
    def holds(self) -> bool:
        """Whether it may speak for its turns: not where all of its words were dropped."""
        return bool(self.taken or not self.dropped)


def write(
    packets: Sequence[Packet],
    *,
    sources: Callable[[Packet], Sources],
    facts: Callable[[Packet], Sequence[AnyFact]],
    headings: str,
    reply_tokens: int,
    count: Count = len,
    check: ProseCheck = checked,
) -> Step[Written]:
    """What a model says of each packet, as far as its turns hold it.

    It goes on to the first packet on which no usable reply comes. What was written about earlier
    ones is kept, but for what is true at one point only. `headings` are what the summary so far
    says of intent and state; `count` says how much of it there is room for."""
    parts: list[_Part] = []
    prompts: dict[str, None] = {}
    outcome: Outcome[Prose] = Outcome(None)
    for packet in packets:
        taken = [one for part in parts for one in part.taken]
        known = known_text(_so_far(headings, taken), packet.spare, count)
        outcome = yield from asked(request_for(packet, known, reply_tokens=reply_tokens))
        prompts |= dict.fromkeys(outcome.prompts)
        if outcome.value is None:
            break
        texts = [one.text for one in taken]
        found = check(outcome.value, packet, sources(packet), facts(packet), known=texts)
        parts.append(_part(found, packet))
    written = _written(parts, whole=len(parts) == len(packets), reached=outcome)
    return written._replace(
        model=outcome.model,
        requests=min(len(packets), len(parts) + (outcome.value is None)),
        prompts=tuple(prompts),
    )


def _written(parts: Sequence[_Part], *, whole: bool, reached: Outcome[Prose]) -> Written:
    dropped = tuple(one for part in parts for one in part.dropped)
    worded = tuple(_kept(parts, whole=whole and bool(parts) and parts[-1].holds))
    if not whole:
        return Written(worded, dropped, fallback=reached.kind, why=reached.problem)
    if worded or not parts:
        return Written(worded, dropped)
    fallback = _fallback(parts)
    return Written((), dropped, fallback=fallback, why=f"{reached.model}: {WHY[fallback]}")


def _kept(parts: Sequence[_Part], *, whole: bool) -> Iterable[Worded]:
    """Changes and reasons of all packets; the rest as it was last put, and what is told of the
    present only where it reaches to the end."""
    last = {kind: part for part in parts for kind in _groups(part) if whole or kind != NOW}
    for part in parts:
        for one in part.taken:
            if one.about in ("change", "rationale") or last.get(_group(one)) is part:
                yield one


def _groups(part: _Part) -> set[str]:
    return {_group(one) for one in part.taken}


def _group(one: Worded) -> str:
    return NOW if one.about in PASSING else one.about


def _part(found: Checked, packet: Packet) -> _Part:
    if sum(len(one.text) for one in found.worded) < len(packet.text):
        return _Part(found.worded, found.dropped)
    longer = tuple(Dropped(text=cut(one.text, SHOWN), why="too long") for one in found.worded)
    return _Part((), (*found.dropped, *longer), longer=bool(longer))


def _fallback(parts: Sequence[_Part]) -> Fallback:
    if any(part.longer for part in parts):
        return "longer than its source"
    reasons = Counter(
        COMES_TO.get(one.why, "unsupported") for part in parts for one in part.dropped
    )
    return reasons.most_common(1)[0][0] if reasons else "empty"


def _so_far(headings: str, taken: Sequence[Worded]) -> str:
    """What is known before a packet: as the packets before put it, or else the summary."""
    last = {one.about: one.text for one in taken if one.about in ("intent", "state")}
    if not last:
        return headings
    lines = (f"{about.capitalize()}: {cut(text, PARAGRAPH)}" for about, text in last.items())
    return "\n".join((*lines, headings))
