"""Planning takes one pass: twice the turns take about twice the time, whatever is in them.

One exchange with words of the user on each of 20,000 turns took 73 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kedgeline.model import Budget, Masked, Media, Note, ToolCall, Turn
from kedgeline.planning import make_plan
from tests.turns import bash, turn

FEW = 2_000
MOST_GROWTH = 3
"""Twice as many turns take twice the time, or four times where each turn looks at all others."""
TOKENS = 40


def words(n: int) -> Turn:
    return turn(n, bash("ls"), user=f"word {n}", tokens=TOKENS)


def rules(n: int) -> Turn:
    notes = (Note(kind="instructions", text=f"# rule {n}\nabc"),)
    return turn(n, bash("ls"), user="go" if n == 0 else "", tokens=TOKENS, notes=notes)


def surroundings(n: int) -> Turn:
    notes = (Note(kind="environment", text=f"in /srv/{n}"),)
    return turn(n, bash("ls"), exchange=n, user="Look", tokens=TOKENS, notes=notes)


def unanswered(n: int) -> Turn:
    return Turn(index=n, exchange=n, user_message="hello there", tokens=TOKENS)


def agreement(n: int) -> Turn:
    return turn(n, bash("ls"), exchange=n, user="continue", tokens=TOKENS)


def screenshots(n: int) -> Turn:
    return turn(n, bash("ls"), exchange=n, media=(Media(data="AAAA"),), tokens=TOKENS)


def never_answered(n: int) -> Turn:
    return Turn(index=n, tokens=TOKENS, tool_calls=(ToolCall(id=f"c{n}", tool="Bash"),))


def seconds(make: Callable[[int], Turn], count: int, budget: Callable[[int], Budget]) -> float:
    turns = [make(n) for n in range(count)]
    tokens = TOKENS * count
    masked = [
        Masked(turn=n, call_id=one.tool_calls[0].id, how="masked", text="x", reason="",
               tokens_before=10, tokens_after=9)
        for n, one in enumerate(turns)
        if one.tool_calls
    ]  # fmt: skip
    begun = time.process_time()
    make_plan(turns, [], budget(tokens), masked=masked)
    return time.process_time() - begun


def roomy(tokens: int) -> Budget:
    """Half of the session is the recent window."""
    return Budget(usable=2 * tokens, target=tokens, summary=500)


def crowded(tokens: int) -> Budget:
    """The recent window must shrink, and every cut in it is tried."""
    return Budget(usable=tokens // 2, target=10, summary=500)


@pytest.mark.torture
@pytest.mark.parametrize("budget", [roomy, crowded])
@pytest.mark.parametrize(
    "make",
    [words, rules, surroundings, unanswered, agreement, screenshots, never_answered],
)
def test_twice_the_turns_take_about_twice_the_time(
    make: Callable[[int], Turn], budget: Callable[[int], Budget]
) -> None:
    growth = [seconds(make, 2 * FEW, budget) / seconds(make, FEW, budget) for _ in range(2)]
    assert min(growth) < MOST_GROWTH
