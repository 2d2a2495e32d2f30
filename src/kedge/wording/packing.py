"""Folded turns in packets that fit a model's window, ending at anchors where they can."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from kedge.errors import BadSettings
from kedge.model import AnyFact, Turn
from kedge.shortening import Count, shortened
from kedge.wording.listing import Listing, listing, lists_of
from kedge.wording.material import FULL, TIGHT, turn_text
from kedge.wording.requests import room_in
from kedge.wording.shape import Packet

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
    every = listing(lists_of(fact for turn in turns for fact in held.get(turn.index, ())))
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
    lists = lists_of(facts)
    share = 1.0
    while share > 0:
        listed = listing(lists, share=share)
        if not listed.text or count(listed.text) + LINE_BREAK <= room:
            return listed
        share = share * SHRINK if share > LEAST_SHARE else 0.0
    return Listing()
