"""Perfect, careless and harmful prose: a summary is never worse than without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pytest
from msgspec.structs import replace

from kedgeline.model import Compaction, Transcript, Turn
from kedgeline.models import Terms
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.read import read
from kedgeline.session.session import Session
from kedgeline.summary import parse
from kedgeline.tokens import Estimate
from tests.conftest import EXAMPLES
from tests.living.sessions import memory
from tests.wording import prose
from tests.wording.histories import NAMES, histories
from tests.wording.trial import no_worse, passing, score
from tests.wording.truths import TRUTHS, Truth

MOST_TAKEN = 0.8
"""Share of true sentences that are to be taken: others may stand in the summary already."""
WINDOWS = (8_000, 32_000, 100_000)
TIGHT = 2_000
"""Tokens of a window in which the probes cannot all pass."""
FEW_WINDOWS = (TIGHT, WINDOWS[0])
WHOLE = Terms(window=200_000)
"""All turns in one request."""
IN_PARTS = Terms(window=4_000)
COUNTER = Estimate()
MARKS = ("n short: ", "Suggested: ", "Perhaps open: ")
"""What a model's words begin with in a summary."""
LONG = "claude-code-long.jsonl"


@cache
def transcript_of(name: str) -> Transcript:
    if name in NAMES:
        return Transcript(format="test", turns=histories()[name].turns)
    return read(EXAMPLES / name)


@cache
def alone(name: str, window: int) -> Compaction:
    transcript = transcript_of(name)
    return compact(transcript, budget_for(transcript, window, counter=COUNTER), counter=COUNTER)


def compacted(name: str, window: int, reply: prose.Reply, terms: Terms = WHOLE) -> Compaction:
    transcript = transcript_of(name)
    budget = budget_for(transcript, window, counter=COUNTER)
    model = prose.scripted(reply)
    return compact(transcript, budget, counter=COUNTER, model=model, terms=terms)


def compactions(
    name: str, style: Callable[[str], prose.Reply], windows: Iterable[int]
) -> Iterator[tuple[Compaction, str]]:
    """Of a session in the windows that it does not fit, with what was asked."""
    for window in windows:
        asked: list[str] = []

        def reply(prompt: str, asked: list[str] = asked) -> str:
            asked.append(prompt)
            return style(name)(prompt)

        done = compacted(name, window, reply)
        if asked and done.plan.folded:  # else it would have freed too little, and was not made
            assert worse(done, alone(name, window)) == []
            yield done, asked[0]


def worse(done: Compaction, before: Compaction) -> list[str]:
    assert before.wording is None
    return no_worse(done, before)


def standing(done: Compaction) -> str:
    """All words of a model in a summary."""
    assert done.state is not None
    kept = (one.text for words in done.state.wordings.values() for one in words)
    return "\n".join(kept)


def enough(taken: list[Truth], said: list[Truth], done: Compaction) -> bool:
    """Whether most is taken or told by the facts, or it is said that there is no room."""
    dropped = done.wording.dropped if done.wording else ()
    told = {one.text for one in dropped if one.why == "said already"}
    standing = [one for one in said if one in taken or one.text in told]
    return len(standing) >= MOST_TAKEN * len(said) or named(done)


def named(done: Compaction) -> bool:
    return done.wording is not None and done.wording.fallback in ("no room", "probes")


@pytest.mark.parametrize("name", TRUTHS)
def test_most_of_what_is_true_is_taken(name: str) -> None:
    windows = WINDOWS[1:2] if name == LONG else WINDOWS[:1] if name in NAMES else (TIGHT, *WINDOWS)
    found = list(compactions(name, prose.perfect, windows))
    assert found
    for done, prompt in found:
        said = prose.truths_for(name, prompt)
        taken = [one for one in said if one.text in done.summary]
        assert enough(taken, said, done), done.wording
        assert any(one.text in done.summary for one in taken) or named(done)
        assert done.wording is not None
        assert bool(done.wording.taken) == any(mark in done.summary for mark in MARKS)


BUT_LONG = tuple(name for name in TRUTHS if name != LONG)


@pytest.mark.parametrize("name", BUT_LONG)
def test_of_careless_prose_what_is_wrong_is_dropped_and_the_rest_stays(name: str) -> None:
    for done, prompt in compactions(name, prose.careless, FEW_WINDOWS):
        assert done.wording is not None
        said = prose.truths_for(name, prompt)
        taken = [one for one in said if one.text in done.summary]
        assert enough(taken, said, done), done.wording
        assert [
            one.bad for one in prose.WRONG if one.bad in f"{standing(done)}{done.summary}"
        ] == []
        dropped = {one.why for one in done.wording.dropped}
        assert {one.why for one in prose.WRONG} <= dropped


@pytest.mark.parametrize("name", BUT_LONG)
def test_of_harmful_prose_nothing_is_taken(name: str) -> None:
    for done, _ in compactions(name, prose.harmful, FEW_WINDOWS):
        assert done.wording is not None
        assert (done.wording.taken, standing(done)) == (0, "")
        assert done.wording.fallback in ("unsupported", "off topic", "too large")
        assert done.warnings


STYLES = (prose.perfect, prose.careless, prose.harmful)


@pytest.mark.torture
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
@pytest.mark.parametrize("name", TRUTHS)
def test_the_same_in_more_windows_and_in_parts(
    name: str, style: Callable[[str], prose.Reply]
) -> None:
    for window in (1_000, 1_500, 3_000, 5_000, *WINDOWS):
        for terms in (WHOLE, IN_PARTS, Terms(window=10_000)):
            done = compacted(name, window, style(name), terms)
            if done.wording is not None:
                assert worse(done, alone(name, window)) == []
                assert not [one.bad for one in prose.WRONG if one.bad in done.summary]


# --- several compactions in a row

NOW = ("Current State", "Next Steps", "Blockers / Open Questions")
ROOMY = 16_000
"""Tokens of a window whose summary has room for what was said in earlier rounds."""
ROUNDS = ("kiln", "observatory", "ferry", "vault", "bulletin")


def rounds() -> Iterator[tuple[str, list[Turn]]]:
    """Five histories as one session."""
    first = 0
    for name in ROUNDS:
        turns = histories()[name].turns
        yield (
            name,
            [replace(one, index=first + one.index, exchange=first + one.exchange) for one in turns],
        )
        first += len(turns)


def chained(turn: int) -> tuple[Compaction, Compaction, int]:
    """The last compaction without and with a model, and how often words were taken. `turn` says
    with which kind of prose it begins."""
    sessions = [Session("s", memory()(""), window=ROOMY, counter=COUNTER) for _ in range(2)]
    plain, wordy = sessions
    taken: dict[str, str] = {}
    often = 0
    for number, (name, turns) in enumerate(rounds()):
        style = STYLES[(number + turn) % len(STYLES)]
        for one in sessions:
            one.append(turns)
        before = plain.compact()
        done = wordy.compact(model=prose.scripted(style(name)))
        assert done.wording is not None
        assert (done.count, before.count) == (number + 1, number + 1)
        assert lost(done, before) == set()
        assert not (done.wording.taken and style is prose.harmful)
        assert not [text for text, when in taken.items() if when != name and text in present(done)]
        taken |= {one.text: name for one in TRUTHS[name] if one.text in done.summary}
        often += done.wording.taken > 0
    return before, done, often


def present(done: Compaction) -> str:
    """What a summary says of now and of what comes."""
    items, _ = parse(done.summary)
    return "\n".join(item.text + item.detail for item in items if item.section in NOW)


def lost(done: Compaction, before: Compaction) -> set[object]:
    """Probes of both that pass without a model and fail with one."""
    assert done.verdict is not None
    asked = {answer.probe for answer in done.verdict.answers}
    return (passing(before) & asked) - passing(done)


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.torture) for turn in (1, 2))]
)
def test_many_compactions_with_all_kinds_of_prose_are_never_worse(turn: int) -> None:
    before, done, often = chained(turn)
    assert score(done) >= score(before)
    assert often
    for name in ROUNDS:
        for rule in histories()[name].rules:
            assert rule in done.summary


# --- real sessions

FEW, SMALL = 3, 300_000
"""Sessions of the normal run, and the most bytes of one."""
