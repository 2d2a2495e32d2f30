"""Whatever a session looks like, it may be cut wherever the rules allow it."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedgeline.formats.providers import anthropic
from kedgeline.planning import rules
from tests.histories import history
from tests.planning.cutting import Messages, all_faults, faults, turns_of
from tests.providers import NAMES, transcript_of
from tests.strategies import PROVIDERS
from tests.strategies.damaged import damaged
from tests.validity import problems

thorough = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
each_provider = pytest.mark.parametrize("name", NAMES)
SEEDS = range(40)


@each_provider
def test_every_allowed_cut_is_taken_everywhere(name: str) -> None:
    """Of lists that the provider takes, and of lists that it would refuse."""

    @thorough
    @given(st.one_of(PROVIDERS[name], damaged(name)))
    def check(messages: Messages) -> None:
        assert all_faults(name, messages) == []

    check()


@each_provider
def test_every_allowed_cut_of_a_history_is_taken_everywhere(name: str) -> None:
    for seed in SEEDS:
        assert (seed, all_faults(name, history(random.Random(seed), name))) == (seed, [])


# The histories hold what they promise.


@each_provider
def test_histories_are_what_providers_refuse_and_what_they_take(name: str) -> None:
    refused = [bool(problems(name, history(random.Random(seed), name))) for seed in SEEDS]
    assert {True, False} == set(refused)


def test_histories_make_every_rule_bite_where_it_holds() -> None:
    bites = {
        (name, rule.__name__)
        for name in NAMES
        for seed in range(150)
        for turns in [turns_of(transcript_of(name, history(random.Random(seed), name)))]
        for rule in rules.rules_for(name)
        if rules.forbidden(turns, [rule])
    }
    assert bites == {(name, rule.__name__) for name in NAMES for rule in rules.rules_for(name)}


# Each property is broken once, to see that it can fail.

PAUSED: Messages = [
    {"role": "user", "content": "sum them up"},
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}},
            {"type": "tool_use", "id": "c1", "name": "lookup", "input": {}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "4"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": {}},
            {"type": "text", "text": "Four."},
        ],
    },
]


def test_without_rules_half_of_a_tool_is_lost() -> None:
    transcript = transcript_of("anthropic", PAUSED)
    assert faults(transcript, "anthropic") == []
    lost = ["anthropic, cut 1: lost halves of tools that the provider runs"]
    assert faults(transcript, "anthropic", rules=[]) == lost


def test_without_rules_and_without_the_last_check_the_list_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anthropic, "_without_halves", lambda layout: layout)
    transcript = transcript_of("anthropic", PAUSED)
    assert faults(transcript, "anthropic") == []
    refused = ["anthropic, cut 1: 1: a result for 'srv1', never used"]
    assert faults(transcript, "anthropic", rules=[]) == refused
