"""What a model is asked about a packet, and how many tokens of its window that takes."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kedge.asking import PROBLEM, Request, ask_of, asked_again
from kedge.errors import BadSettings
from kedge.model import Ask
from kedge.sentences import cut, visible
from kedge.shortening import Count
from kedge.wording.shape import KNOWN, Packet, Prose

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
