"""Whatever a session looks like, it may be cut wherever the rules allow it."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedgeline.planning import rules
from tests.histories import history
from tests.planning.cutting import Messages, all_faults, turns_of
from tests.providers import NAMES, transcript_of
from tests.strategies import PROVIDERS
from tests.strategies.damaged import damaged

thorough = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
each_provider = pytest.mark.parametrize("name", NAMES)


@each_provider
def test_every_allowed_cut_is_taken_everywhere(name: str) -> None:
    """Of lists that the provider takes, and of lists that it would refuse."""

    @thorough
    @given(st.one_of(PROVIDERS[name], damaged(name)))
    def check(messages: Messages) -> None:
        assert all_faults(name, messages) == []

    check()


# The histories hold what they promise.


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
