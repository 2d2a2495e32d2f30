"""A growing session is compacted like a whole one: what a plan is depends on what was said, and not
on how it arrived."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.loops import (
    ARRIVALS,
    LISTS,
    OUTPUTS,
    STEP,
    Arrival,
    Case,
    Message,
    Shape,
    _looped,
    asked,
    grown,
    measure,
)
from kedgeline.model import Plan
from kedgeline.session.session import Session
from kedgeline.tokens import counter_for
from tests.living.sessions import divided, memory, session

Seen = tuple[int, int, int, int, int, str]


def seen(plan: Plan) -> Seen:
    """What there is of a plan that the ids and the texts of calls do not make."""
    saved = sum(one.tokens_before - one.tokens_after for one in plan.masked)
    masked = len(plan.masked)
    return plan.cut, masked, saved, plan.tokens_before, plan.tokens_kept, plan.reason


def merged(shape: Shape, one: list[Message], other: list[Message]) -> list[Message]:
    """Two steps as one answer with the calls of both."""
    if shape == "openai-responses":
        return [one[0], one[1], other[1], one[2], other[2]]
    if shape == "openai-chat":
        calls = [*one[0]["tool_calls"], *other[0]["tool_calls"]]
        return [{**one[0], "tool_calls": calls}, one[1], other[1]]
    field = "content" if shape == "anthropic" else "parts"
    return [{**a, field: [*a[field], *b[field]]} for a, b in zip(one, other, strict=True)]


def conversation(shape: Shape, chance: random.Random) -> list[Message]:
    """Requests, steps with one call or two, each with its results."""
    said: list[Message] = []
    for step in range(0, 2 * chance.randint(4, 14), 2):
        output = chance.choice((10, 100, 1_000))
        if not step or chance.random() < 0.2:
            case = Case(shape=shape, arrival="pair", window=0, output=output, every=1)
            said += asked(case, step)
        one, other = STEP[shape](step, output), STEP[shape](step + 1, output)
        said += merged(shape, one, other) if chance.random() < 0.3 else one
    return said


def planned(shape: Shape, chunks: list[list[Message]], *, again: bool) -> Plan:
    """The plan for messages that come in chunks, each with all before it where they come again."""
    found = session(window=2_000)
    so_far: list[Message] = []
    for chunk in chunks:
        so_far += chunk
        found.append(list(so_far) if again else chunk, format=shape)
    return found.compact(provider=shape).plan


def planned_alike(shape: Shape, seed: int) -> None:
    chance = random.Random(seed)
    messages = conversation(shape, chance)
    whole = seen(planned(shape, [messages], again=False))
    chunks = divided(chance, messages)
    assert seen(planned(shape, chunks, again=False)) == whole
    assert seen(planned(shape, chunks, again=True)) == whole


@settings(max_examples=12)
@given(st.sampled_from(LISTS), st.integers(0, 10**6))
def test_messages_in_pieces_are_planned_like_the_whole_list(shape: Shape, seed: int) -> None:
    """An answer with one call after the other was taken for one with several, over all turns."""
    planned_alike(shape, seed)


def compactions(case: Case, steps: int, folder: Path) -> list[Seen]:
    """What is planned at the end of each step where a compaction is due.

    Counted alike for all: a file names its model, a list does not.
    """
    counter = counter_for("claude-opus-4-5")
    found = Session("loop", memory()(""), window=case.window, counter=counter, redactor=None)
    made: list[Seen] = []
    for _ in grown(found, case, steps, folder):
        last = [*found.turns()][-1:]
        if last and len(last[0].tool_results) == 1 and found.should_compact().compacts:
            done = found.compact()
            assert done.tokens_after <= max(done.tokens_before, 1)
            made.append(seen(done.plan))
    found.store.close()
    return made


def all_alike(shape: Shape, arrivals: list[Arrival], steps: int, folder: Path, **of: int) -> None:
    case = Case(shape=shape, arrival="pair", **of)
    expected = compactions(case, steps, folder)
    assert expected
    for arrival in arrivals:
        other = Case(shape=shape, arrival=arrival, **of)
        assert compactions(other, steps, folder) == expected, arrival


@settings(max_examples=3)
@given(
    shape=st.sampled_from(LISTS),
    window=st.sampled_from([4_000, 6_000]),
    output=st.integers(300, 2_500),
    every=st.sampled_from([0, 4, 9]),
)
@example(shape="openai-chat", window=6_000, output=300, every=4)  # a request said again
def test_however_messages_arrive_the_same_compactions_are_made(
    shape: Shape, window: int, output: int, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("loop")
    others: list[Arrival] = ["message", "whole", "view"]
    all_alike(shape, others, 15, folder, window=window, output=output, every=every)


def test_a_followed_file_is_compacted_like_the_list(tmp_path: Path) -> None:
    of = {"window": 8_000, "output": 400, "every": 9}
    listed = compactions(Case(shape="anthropic", arrival="pair", **of), 30, tmp_path)
    followed = compactions(Case(shape="claude-code", arrival="file", **of), 30, tmp_path)
    assert listed
    assert [one[:2] for one in followed] == [one[:2] for one in listed]


def test_loops_keep_to_their_bound() -> None:
    found = measure(steps=16, windows=(8_000,), shapes=("openai-chat",), watch=str, processes=1)
    assert len(found.loops) == len(ARRIVALS) * len(OUTPUTS) * 2
    for one in found.loops:
        assert 0 < one.compactions <= one.most, one
        assert not one.refused
        assert min(one.freed) > 0.25
        # before a compaction, which the newest output may ask for
        assert one.peak <= 1 + one.case.output / one.case.window


def test_masked_turns_stay_when_there_are_many_windows_of_them() -> None:
    """What they had before they were masked was taken for what they have: they were put away as too
    far back, their masks still counted, and nothing was compacted any more."""
    case = Case(shape="openai-chat", arrival="pair", window=64_000, output=3_000, every=0)
    loop = _looped(case, steps=100)
    assert loop.refused == 0
    assert loop.peak < 1
