"""Writing: to the provider it was read from nothing changes, to another everything is legal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.formats.providers import repair, shape
from kedgeline.formats.providers import repair as alternating
from kedgeline.formats.registry import provider_names
from kedgeline.model import Turn
from tests.providers import NAMES, RICH, rewritten, told, transcript_of, written
from tests.strategies import PROVIDERS
from tests.validity import problems, same_json

thorough = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
brief = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
each_provider = pytest.mark.parametrize("name", NAMES)


def check_unchanged(name: str, messages: list[dict[str, Any]]) -> None:
    assert same_json(rewritten(name, messages), messages)


def check_crossed(name: str, messages: list[dict[str, Any]]) -> None:
    transcript = transcript_of(name, messages)
    for other in NAMES:
        if other == name:
            continue
        there = written(transcript, other).messages
        assert problems(other, there) == []
        again = transcript_of(other, there)
        assert told(again) == told(transcript)
        assert same_json(written(again, other).messages, there)


def check_cut(name: str, messages: list[dict[str, Any]], kept: int) -> None:
    """Compaction takes turns out; whatever it leaves must still be taken."""
    transcript = transcript_of(name, messages)
    turns = tuple(turn for turn in transcript.turns if kept >> turn.index % 8 & 1)
    summary = Turn(user_message="What happened so far.", assistant_response="I see.")
    for left in (turns, (summary, *turns), (*transcript.turns, summary)):
        there = written(replace(transcript, turns=left), name).messages
        assert problems(name, there) == []


def test_there_are_four_providers_and_two_frameworks() -> None:
    assert provider_names() == tuple(sorted((*NAMES, "langchain", "pydantic-ai")))


@each_provider
def test_nothing_changes_at_home_and_everything_is_legal_elsewhere(name: str) -> None:
    """Three properties of one example: making it costs more than looking at it."""

    @thorough
    @given(PROVIDERS[name], st.integers(0, 2**8 - 1))
    def check(messages: list[dict[str, Any]], kept: int) -> None:
        assert problems(name, messages) == []
        check_unchanged(name, messages)
        check_crossed(name, messages)
        check_cut(name, messages, kept)

    check()


@each_provider
def test_not_even_a_list_in_disorder_changes(name: str) -> None:
    @brief
    @given(PROVIDERS[name], st.randoms(use_true_random=False))
    def check(messages: list[dict[str, Any]], chance: Any) -> None:
        chance.shuffle(messages)
        check_unchanged(name, messages)

    check()


@each_provider
def test_a_changed_output_is_written_everywhere(name: str) -> None:
    @brief
    @given(PROVIDERS[name])
    def check(messages: list[dict[str, Any]]) -> None:
        transcript = transcript_of(name, messages)
        masked = replace(transcript, turns=tuple(map(mask, transcript.turns)))
        again = transcript_of(name, written(masked, name).messages)
        seen = [
            result.output
            for turn in again.turns
            for call in turn.tool_calls
            # The output of the computer can be nothing but a picture.
            if call.tool != "computer" and (result := turn.result_of(call)) is not None
        ]
        assert set(seen) <= {"[masked]"}
        assert [t.user_message for t in again.turns] == [t.user_message for t in transcript.turns]

    check()


def mask(turn: Turn) -> Turn:
    results = tuple(replace(result, output="[masked]") for result in turn.tool_results)
    return replace(turn, tool_results=results)


@each_provider
def test_lists_joined_from_two_conversations_do_not_interleave(name: str) -> None:
    """Places in a list are only true of the list they were read from."""
    one = transcript_of(name, RICH[name])
    both = replace(one, turns=(*one.turns, *one.turns))
    there = written(both, name).messages
    assert problems(name, there) == []
    said = told(transcript_of(name, there))
    once = told(one)
    assert said["user"] == f"{once['user']}\n\n{once['user']}"
    assert said["outputs"] == once["outputs"] * 2


# Each property is broken once, to see that it can fail.


@each_provider
def test_the_rich_examples_hold(name: str) -> None:
    check_unchanged(name, RICH[name])
    check_crossed(name, RICH[name])


@each_provider
def test_forgetting_what_was_sealed_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "_restored", lambda wire, plain, holds: plain)
    with pytest.raises(AssertionError):
        check_unchanged(name, [*RICH[name], {**RICH[name][0], "x": 1}])


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_not_joining_a_divided_message_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = staticmethod(lambda said: (alternating._joined([one]) for one in said))
    monkeypatch.setattr(alternating, "groups", apart)
    with pytest.raises(AssertionError):
        check_unchanged(name, RICH[name])


def test_not_putting_a_late_output_in_its_place_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shape.Said, "item", property(lambda said: -1))
    with pytest.raises(AssertionError):
        check_unchanged("openai-responses", RICH["openai-responses"])


@each_provider
def test_losing_an_output_on_the_way_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paired = repair.Repair._paired

    def without_results(self: Any, *given: Any) -> Any:
        pieces, _ = paired(self, *given)
        return pieces, ()

    monkeypatch.setattr(repair.Repair, "_paired", without_results)
    with pytest.raises(AssertionError):
        check_crossed(name, RICH[name])


def test_the_rules_are_noticed_when_broken() -> None:
    """The validator itself: each list breaks one rule."""
    chat = RICH["openai-chat"]
    broken: list[tuple[str, list[dict[str, Any]]]] = [
        ("anthropic", RICH["anthropic"][1:]),
        ("anthropic", [RICH["anthropic"][0]] * 2),
        ("anthropic", [*RICH["anthropic"][:2], RICH["anthropic"][0], RICH["anthropic"][3]]),
        ("openai-chat", [chat[0], chat[2]]),
        ("openai-chat", [chat[0], chat[1], chat[3]]),
        ("openai-responses", [RICH["openai-responses"][3]]),
        ("openai-responses", RICH["openai-responses"][:3]),
        ("openai-responses", [{"type": "reasoning", "summary": []}]),
        ("gemini", RICH["gemini"][1:]),
        ("gemini", [*RICH["gemini"][:2], RICH["gemini"][0], RICH["gemini"][3]]),
    ]
    assert [name for name, messages in broken if not problems(name, messages)] == []
