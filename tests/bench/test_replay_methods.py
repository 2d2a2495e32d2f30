"""The methods that are compared."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bench.replay.methods import Given, Method, chosen, methods
from bench.replay.names import EXACT
from kedgeline.errors import UnknownName
from kedgeline.model import Source, Transcript
from tests.turns import bash, edit, turn

MAY_BE_EMPTY = ("kedgeline, rebuilt",)


def made(name: str, session: Transcript, tokens: int = 0) -> str:
    """By a method that remembers nothing yet."""
    return text_of({one.name: one for one in methods()}[name], session, tokens)


def text_of(method: Method, session: Transcript, tokens: int) -> str:
    found = method.text(Given(session, tokens))
    assert found is not None
    return found


def usable(*rooms: str) -> list[str]:
    return [one.name for one in methods() if one.room in rooms]


LONG = "The tide table of the north pier was read again. " * 30


def before(count: int = 40, *, asked: str = "Make all piers fair.") -> Transcript:
    """A session; its last turn thinks about what comes next."""
    turns = [
        turn(
            n,
            bash(f"make pier{n}", LONG),
            says=f"Step {n}.",
            tokens=400,
            source=Source(first=n, last=n),
        )
        for n in range(1, count - 1)
    ]
    first = turn(0, edit("/home/sam/harbor/src/first.py"), user=asked, tokens=400)
    last = turn(
        count - 1, says="Next.", thinking="What now?", source=Source(first=count, last=count)
    )
    return Transcript(format="plain", turns=(first, *turns, last))


@pytest.mark.parametrize("name", [n for n in usable("budget") if n not in MAY_BE_EMPTY])
@pytest.mark.parametrize("tokens", [300, 2_048])
def test_every_method_keeps_the_budget(name: str, tokens: int) -> None:
    assert 0 < EXACT.count(made(name, before(), tokens)) <= tokens


def test_the_last_turns_are_the_newest_that_fit() -> None:
    text = made("last turns", before(), 1_000)
    assert "make pier38" in text
    assert "make pier30" not in text


def test_kedgeline_folds_everything_and_the_rebuilt_context_says_the_request_again() -> None:
    text = made("kedgeline, rebuilt", before(), 600)
    assert "Make all piers fair." in text
    assert made("kedgeline", before(), 600).strip() in text
    assert "## t" not in text
    ends_with_a_call = replace(before(), turns=before().turns[:-1])
    assert "## t" not in made("kedgeline, rebuilt", ends_with_a_call, 600)


def test_what_is_said_again_takes_no_room_from_the_summary() -> None:
    short, long = before(), before(asked="Make all piers fair. " * 60)
    sizes = [EXACT.count(made("kedgeline", one, 400)) for one in (short, long)]
    assert sizes[1] > 0.9 * sizes[0]


def test_methods_are_chosen_by_name_in_the_order_of_the_tables() -> None:
    assert [one.name for one in chosen(["kedgeline", "masking"])] == ["masking", "kedgeline"]
    with pytest.raises(UnknownName, match="unknown method 'mask'; choose one of no compaction, "):
        chosen(["kedgeline", "mask"])
