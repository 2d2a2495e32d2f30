"""Undo: each compaction taken back gives what stood before it, to the byte (T-D10)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kedgeline.errors import NothingToUndo
from kedgeline.model import Turn
from kedgeline.session.session import Session
from tests.conftest import then_longer
from tests.living.sessions import Opening, cheaply, digest, memory, opened, originals, steps

PROVIDER = "openai-chat"
"""In whose lists no turn reaches into the message of another."""


class View(NamedTuple):
    """Of a session before a compaction."""

    digest: str
    length: int


def compacted(
    chance: random.Random, opening: Opening, compacting: Callable[[Session], Any], most: int
) -> tuple[list[Turn], list[View]]:
    """So many compactions with turns between; all turns, and what was shown before each."""
    before: list[View] = []
    turns = steps(8)
    for _ in range(chance.randint(1, most)):
        with opened(opening) as found:
            found.append(turns)
            shown = found.view(PROVIDER).messages
            if compacting(found).plan.folded:
                before.append(View(digest(shown), len(shown)))
                assert found.view(PROVIDER).messages != shown
        turns = [*turns, *steps(chance.randint(1, 6), first=len(turns))]
    return turns, before


def taken_back(opening: Opening, turns: list[Turn], before: list[View]) -> None:
    """Each undo shows what stood before the compaction, and behind it what came since."""
    with opened(memory(), "plain") as other:
        other.append(turns)
        plain = messages = other.view(PROVIDER).messages
    with opened(opening) as found:
        found.append(turns)
        written = originals(found)
        for view in reversed(before):
            found.undo()
            messages = found.view(PROVIDER).messages
            assert digest(messages[: view.length]) == view.digest
            assert messages[view.length :] == plain[len(plain) - len(messages) + view.length :]
        assert messages == plain
        assert originals(found)[: len(written)] == written
        with pytest.raises(NothingToUndo):
            found.undo()


@pytest.mark.parametrize(
    "seeds", then_longer([range(50)], (range(n, n + 100) for n in range(1_000, 21_000, 100)))
)
def test_nested_compactions_are_undone_to_the_byte(seeds: range) -> None:
    for seed in seeds:
        opening, most = memory(), 4 if seed < 1_000 and seed % 25 else 20
        turns, before = compacted(random.Random(seed), opening, cheaply, most)
        taken_back(opening, turns, before)


@pytest.mark.parametrize("seed", range(2))
def test_real_compactions_on_every_store_are_undone_to_the_byte(
    seed: int, opening: Opening
) -> None:
    """fast-jev-compaction#89: what was undone stays undone when the session is opened again."""
    turns, before = compacted(
        random.Random(seed), opening, lambda found: found.compact(window=1_500), most=4
    )
    taken_back(opening, turns, before)
