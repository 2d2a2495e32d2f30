"""Compacting step by step in a session equals the chain that the library makes."""

from __future__ import annotations

import json
import random

import pytest
from msgspec.structs import replace

from kedgeline.model import Compaction, Transcript, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.read import read
from kedgeline.pipeline.view import view
from kedgeline.planning import POLICY
from kedgeline.session import deciding as region
from kedgeline.session.session import Session
from tests.histories import LONG_OUTPUTS, history
from tests.living.sessions import Opening, memory, opened, session, steps
from tests.turns import turn

WINDOW = 2_000


def plain(made: Compaction | None) -> Compaction | None:
    """A record without when it was made, and without the anchors of turns that are blanks."""
    return replace(made, anchors=(), at=None) if made else None


def chained(states: list[Transcript], window: int) -> list[Compaction]:
    """What the library makes of the same states, one after the other."""
    made: list[Compaction] = []
    for state in states:
        previous = next((one for one in reversed(made) if one.plan.folded), None)
        made.append(
            compact(state, POLICY.budget(window), previous=previous, redactor=None, name="s")
        )
    return made


def stepwise(opening: Opening, states: list[Transcript], window: int) -> list[Compaction]:
    made = []
    for state in states:
        with opened(opening, window=window) as found:
            found.append(state)
            made.append(found.compact())
            standing = found._journal().recorded()
            if standing is not None:
                shown = view(found.transcript(), standing.record.compaction)
                context = found.context()
                assert context.turns[1:] == shown.turns[1:]
                assert context.turns[0].messages == shown.turns[0].messages
    return made


def grown(*lengths: int) -> list[Transcript]:
    turns: list[Turn] = steps(max(lengths))
    return [Transcript(format="kedgeline", turns=tuple(_as_session(turns[:n]))) for n in lengths]


def _as_session(turns: list[Turn]) -> list[Turn]:
    return [replace(one, exchange=n // 4) for n, one in enumerate(turns)]


@pytest.mark.parametrize("lengths", [(30,), (20, 40), (15, 30, 60, 90)])
def test_compacting_in_steps_equals_the_chain_of_the_library(
    lengths: tuple[int, ...], opening: Opening
) -> None:
    states = grown(*lengths)
    found, wanted = stepwise(opening, states, WINDOW), chained(states, WINDOW)
    assert [plain(one) for one in found] == [plain(one) for one in wanted]
    assert found[-1].count == len(lengths)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_random_histories_are_compacted_as_the_library_does(provider: str, seed: int) -> None:
    chance = random.Random(seed)
    messages = history(chance, provider, least=60, most=80, outputs=LONG_OUTPUTS)
    ends = (len(messages) // 2, len(messages))
    states = [read(json.dumps(messages[:end]).encode(), format=provider) for end in ends]
    states = [replace(one, pending=None) for one in states]
    found = stepwise(memory(), states, 4_000)
    assert [plain(one) for one in found] == [plain(one) for one in chained(states, 4_000)]


RULE = "Always write lamp files in lower case."
REQUEST = "paint the last lamp green"


def folded_ahead(provider: str = "", *, number: int = 200) -> tuple[Session, Compaction]:
    """A session of many windows, compacted at once."""
    turns = [turn(0, user=RULE, says="yes", tokens=30), *steps(number, first=1, tokens=60)]
    silent = [replace(one, user_message="") for one in turns[120:]]
    asked = turn(0, user=REQUEST, says="I begin", tokens=20)
    found = session(window=1_200)
    found.append([*turns[:120], asked, *silent])
    return found, found.compact(provider=provider)


def test_what_is_folded_ahead_keeps_instructions_requests_and_files() -> None:
    """CC#79196: not all of a long session is in memory at once, and nothing is lost by that."""
    found, made = folded_ahead()
    assert made.plan.folded[0].reason == "too far back to be kept"
    text = json.dumps(found.view("anthropic").messages)
    assert RULE in text
    assert REQUEST in text
    assert made.state is not None
    assert {f"src/lamp{n}.py" for n in range(7)} <= set(made.state.files)
    total = sum(one.tokens for one in found.transcript().turns)
    folded = sum(span.tokens for span in made.plan.folded)
    kept = sum(one.tokens for one in found.transcript().turns[made.plan.cut :])
    assert folded + kept == total
    assert made.tokens_before == total
    assert len(found.transcript().turns) == 202
    before = len(found.history())
    found.undo()
    assert len(found.history()) == before
    assert found.context().turns == found.transcript().turns


def test_what_is_folded_ahead_is_what_would_be_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ahead = folded_ahead()
    monkeypatch.setattr(region, "AHEAD", 10**9)
    _, whole = folded_ahead()
    assert whole.plan.folded[0].reason != "too far back to be kept"
    assert ahead.plan.cut == whole.plan.cut
    assert ahead.plan.repeated == whole.plan.repeated
    assert ahead.tokens_before == whole.tokens_before
    assert ahead.state is not None
    assert whole.state is not None
    assert ahead.state.files == whole.state.files
    assert ahead.state.instructions == whole.state.instructions
    assert ahead.state.requests == whole.state.requests


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_long_histories_of_every_provider_are_folded_ahead(provider: str) -> None:
    for seed in range(3):
        messages = history(random.Random(seed), provider, least=400, most=420, outputs=LONG_OUTPUTS)
        found = session(window=1_500)
        found.append(read(json.dumps(messages).encode(), format=provider))
        made = found.compact(provider=provider)
        assert made.plan.folded[0].reason == "too far back to be kept"
        assert found.view(provider).messages


def test_one_giant_turn_far_back_does_not_stop_a_compaction() -> None:
    """Roo-Code#4186, slicc#2011: one message larger than the window; what follows it is small."""
    found = session(window=20_000)
    turns = [
        turn(0, user="" if n else "light all", says=f"step {n}", tokens=10**6 if n == 5 else 20)
        for n in range(90)
    ]
    found.append(turns)
    made = found.compact()
    assert made.count == 1
    assert made.plan.cut > 5
    assert not found.should_compact().compacts
