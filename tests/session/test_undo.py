"""Undo: each compaction taken back gives what stood before it, to the byte (T-D10)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kedgeline.errors import NothingToUndo
from kedgeline.model import Compaction
from kedgeline.session.session import Session
from tests.living.sessions import Opening, cheaply, digest, memory, opened, originals, steps

Compacting = Callable[[Session], Compaction]
PROVIDER = "openai-chat"
"""In whose lists no turn reaches into the message of another."""


def nested(seed: int, opening: Opening, compacting: Compacting, *, most: int = 20) -> None:
    """Compact so many times with turns between, then take each back in turn."""
    chance = random.Random(seed)
    levels: list[tuple[str, int]] = []
    plain: list[dict[str, object]] = []
    turns = steps(8)
    for _ in range(chance.randint(1, most)):
        with opened(opening) as found:
            found.append(turns)
            before = found.view(PROVIDER).messages
            levels.append((digest(before), len(before)))
            made = compacting(found)
            if made.plan.folded:
                assert found.view(PROVIDER).messages != before
            else:
                levels.pop()
        turns = [*turns, *steps(chance.randint(1, 6), first=len(turns))]
    with opened(opening) as found:
        found.append(turns)
        written = originals(found)
        with opened(memory(), "plain") as other:
            other.append(turns)
            plain = other.view(PROVIDER).messages
        while levels:
            was, count = levels.pop()
            found.undo()
            messages = found.view(PROVIDER).messages
            assert digest(messages[:count]) == was
            assert messages[count:] == plain[len(plain) - len(messages) + count :]
        assert messages == plain
        assert originals(found)[: len(written)] == written
        with pytest.raises(NothingToUndo):
            found.undo()


def all_nested(seeds: range, *, most: int = 20) -> None:
    for seed in seeds:
        nested(seed, memory(), cheaply, most=20 if seed % 25 == 0 else most)


@pytest.mark.parametrize("block", range(2))
def test_nested_compactions_are_undone_to_the_byte(block: int) -> None:
    all_nested(range(block * 25, block * 25 + 25), most=4)


@pytest.mark.torture
@pytest.mark.parametrize("block", range(200))
def test_many_nested_compactions_are_undone_to_the_byte(block: int) -> None:
    all_nested(range(1_000 + block * 100, 1_100 + block * 100))


@pytest.mark.parametrize("seed", range(2))
def test_real_compactions_on_every_store_are_undone_to_the_byte(
    seed: int, opening: Opening
) -> None:
    """fast-jev-compaction#89: what was undone stays undone when the session is opened again."""
    nested(seed, opening, lambda found: found.compact(window=1_500), most=4)
