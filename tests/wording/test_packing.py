"""Turns in packets: none lost, in order, within the room, and ending at anchors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.errors import BadSettings
from kedgeline.model import AnyFact, FileChanged, Reply, Turn, Worded
from kedgeline.models import Scripted, drive
from kedgeline.prose.material import Checked, Packet, Prose, Sources
from kedgeline.prose.writing import packed, packets_of, requests_of, sent, tokens_of, write
from kedgeline.tokens import Exact
from tests.turns import bash, turn

exact = Exact().count
COUNTS: tuple[Callable[[str], int], ...] = (
    len,
    lambda text: len(text) // 4,
    lambda text: -(-len(text) // 3),
    lambda text: len(text.split()),
    exact,
)


def marks(text: str) -> list[int]:
    return [int(mark) for mark in re.findall(r"^\[t(\d+)\]", text, re.MULTILINE)]


def told(packets: Sequence[Packet]) -> list[int]:
    """Turns that are spoken of, in order, each once for each packet."""
    return [index for packet in packets for index in dict.fromkeys(marks(packet.text))]


def talk(words: int, index: int = 0) -> Turn:
    """A turn of so many words, mark included."""
    return turn(index, user=" ".join(["word"] * (words - 2)))


WORDS = COUNTS[3]
"""Counts words: with the tokens between turns, a turn of n words costs n + 1."""


# --- examples


@pytest.mark.parametrize(
    ("anchors", "ends"),
    [
        ((), [3, 5]),
        ((2,), [2, 5]),
        ((1, 2, 4), [2, 5]),
        ((0,), [3, 5]),  # the rest would not fit into one packet
        ((3, 5), [3, 5]),
    ],
)
def test_packets_end_at_the_latest_anchor_that_costs_no_packet_more(
    anchors: tuple[int, ...], ends: list[int]
) -> None:
    turns = [talk(10, index) for index in range(6)]
    found = packed(turns, [], set(anchors), room=44, count=WORDS)
    assert [packet.last for packet in found] == ends


def test_a_turn_larger_than_the_room_is_cut_and_alone() -> None:
    turns = [talk(10, 0), turn(1, bash("make", "x " * 9_000), user="u " * 9_000), talk(10, 2)]
    found = packed(turns, [], (), room=100, count=exact)
    assert told(found) == [0, 1, 2]
    assert all(exact(sent(packet)) <= 100 for packet in found)
    assert any("left out" in packet.text for packet in found)


@pytest.mark.parametrize("room", [-5, 0, 1, 4])
def test_a_room_for_nothing_is_an_error_that_says_what_to_do(room: int) -> None:
    with pytest.raises(BadSettings, match="use a model with a larger window, or none"):
        packed([talk(500)], [], (), room=room, count=exact)


# --- any turns

TEXTS = st.text(st.sampled_from("ab \n.:[t1]é漢😀"), max_size=120)


@st.composite
def histories(draw: st.DrawFn) -> list[Turn]:
    turns = []
    for index in range(draw(st.integers(1, 12))):
        steps = [bash(draw(TEXTS), draw(TEXTS) * draw(st.sampled_from([1, 40])))]
        turns.append(
            turn(index, *steps[: draw(st.integers(0, 1))], user=f"w{draw(TEXTS)}", says=draw(TEXTS))
        )
    return turns


def facts_in(turns: Sequence[Turn]) -> list[AnyFact]:
    return [FileChanged(turn=one.index, path=f"f{one.index}.py", action="created") for one in turns]


def holds(turns: Sequence[Turn], room: int, count: Callable[[str], int], found: Any) -> None:
    assert all(count(sent(packet)) <= room for packet in found)
    assert told(found) == [one.index for one in turns], "none is lost, in order, none is parted"
    assert [one.first for one in found[1:]] == [one.last + 1 for one in found[:-1]]
    for packet in found:
        assert packet.facts.count(" (created)") == len(packet.files)


@given(histories(), st.sets(st.integers(0, 11)), st.integers(150, 1_500), st.sampled_from(COUNTS))
@settings(max_examples=60)
def test_no_turn_is_lost_and_the_room_is_kept(
    turns: list[Turn], anchors: set[int], room: int, count: Callable[[str], int]
) -> None:
    found = packed(turns, facts_in(turns), anchors, room=room, count=count)
    holds(turns, room, count, found)


BAD = (
    "",
    "no JSON",
    '{"intent": "x", "changes": [}',
    '{"intent": "x", "changes": [{"file": "one", "what": 1}]}',
    json.dumps({"intent": "x" * 300_000}),
    Reply(text="{", model="far", ending="cut off"),
)


def everything(prose: Prose, packet: Packet, *_: Any, known: Any = ()) -> Checked:
    """A check that takes all that is said of intent and state."""
    intent = Worded(turn=packet.last, about="intent", text=prose.intent)
    return Checked((intent, Worded(turn=packet.last, about="state", text=prose.state)))


@given(
    histories(),
    st.integers(1_024, 2_600),
    st.sampled_from(BAD),
    st.sampled_from(["", "Intent: the tide. " * 90, "é漢😀 " * 300]),
)
@settings(max_examples=20)
def test_no_request_ever_exceeds_the_window_beside_the_reply(
    turns: list[Turn], window: int, bad: str | Reply, words: str
) -> None:
    """Nor does the second one about a packet, nor one with what was said of those before."""
    reply = window // 4
    found = packets_of(
        turns, facts_in(turns), (), window=window - reply, headings=words, count=exact
    )
    assert told(found) == [one.index for one in turns]
    good = prose(intent=words, state=words)
    model = Scripted([bad, good] * len(found))
    step = write(
        found,
        sources=lambda packet: Sources(),
        facts=lambda packet: (),
        headings=words,
        reply_tokens=reply,
        count=exact,
        check=everything,
    )
    drive(step, model)
    asks = (*model.asks, *requests_of(found, headings=words[:1_000], reply_tokens=reply))
    assert max(tokens_of(ask, exact) for ask in asks) <= window - reply


def prose(intent: str, state: str) -> str:
    empty: dict[str, list[str]] = {"changes": [], "reasons": [], "next_steps": [], "questions": []}
    return json.dumps({"intent": intent, "state": state, **empty})


def test_a_window_for_our_words_alone_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(BadSettings, match="600 tokens beside the reply leave no room"):
        packets_of([talk(9)], [], (), window=600, count=exact)


def test_the_work_grows_with_the_turns_and_no_faster() -> None:
    """Each text is counted a few times, however many there are: ten thousand turns take a quarter
    of a second."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text) // 4

    turns = [turn(n, bash("ls -l", "a\nb"), user="do it", says="I do it.") for n in range(3_000)]
    found = packed(turns, facts_in(turns), range(0, 3_000, 7), room=2_000, count=count)
    assert told(found) == [*range(3_000)]
    assert counted < 6 * sum(len(sent(packet)) for packet in found)


# --- these tests find what they are there for
