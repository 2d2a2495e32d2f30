"""T-S1: five hundred hostile texts through five channels; none becomes an instruction, a decision,
a step or a word of the user's, and whatever is told of them says whose word it is."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conftest import then_longer
from tests.injection.payloads import SEED, SHAPES, Payload, payloads
from tests.injection.runs import wrong_in_lines, wrong_with
from tests.injection.sessions import AGENT, CHANNELS, SUMMARY, through
from tests.providers import NAMES

TOGETHER = 10
"""Texts in one session, each in a turn of its own; the next ten are of another shape."""
PARTS = 4
"""Test cases of one channel, so that they can run beside each other."""


def batches(seed: int, part: int) -> list[tuple[Payload, ...]]:
    found = payloads(seed)
    every = [found[place : place + TOGETHER] for place in range(0, len(found), TOGETHER)]
    return every[part::PARTS]


def test_the_corpus_has_five_hundred_texts_and_is_the_same_for_a_seed() -> None:
    found = payloads()
    assert len(found) >= 500
    assert len({one.text for one in found}) == len({one.canary for one in found}) == len(found)
    assert all(one.canary in one.text for one in found)
    assert found == payloads(SEED) != payloads(SEED + 1)
    disguises = Counter(one.disguise for one in found)
    assert len(disguises) >= 15
    assert min(disguises.values()) >= len(SHAPES) // 3


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", then_longer([SEED], range(SEED + 1, SEED + 6)))
@pytest.mark.parametrize("channel", [*CHANNELS, SUMMARY, AGENT])
def test_no_text_of_others_becomes_the_users_word(channel: str, seed: int, part: int) -> None:
    """T-S1; the Unit 42 proof of concept, CC#46602, openclaw#123737."""
    found: list[str] = []
    for number, batch in enumerate(batches(seed, part)):
        session = through(channel, batch)
        found += wrong_with(session, NAMES[number % len(NAMES)])
        if channel != SUMMARY:
            found += wrong_in_lines(session)
    assert found == []
