"""The state of a state.json: what it says, and that nothing else in the file is touched."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import (
    AnyFact,
    Asked,
    Decided,
    ErrorSeen,
    FileChanged,
    InstructionGiven,
    Requested,
    TodoSet,
)
from kedgeline.summary import build, merged
from kedgeline.summary.compression_state import compression_state, count_of, loaded, updated
from tests.summary.facts import facts

SAMPLE: dict[str, Any] = {
    "compression_state": {
        "summary": {
            "session_intent": "Implement user authentication",
            "files_modified": {
                "src/auth/login.ts": ["Added OAuth flow", "Fixed token refresh"],
                "src/api/users.ts": ["Added getCurrentUser endpoint"],
            },
            "decisions_made": [
                {"decision": "Use JWT over sessions", "rationale": "Stateless, scales better"}
            ],
            "current_state": "OAuth flow complete, testing token refresh",
            "next_steps": ["Add refresh token rotation", "Write E2E tests"],
        },
        "compression_count": 3,
        "last_compressed_at": "2026-01-05T10:30:00Z",
        "probe_score": 0.95,
    }
}
"""As seed 000 has it, without blockers."""


def summary_of(*found: AnyFact) -> dict[str, Any]:
    told: dict[str, Any] = compression_state(build(found), count=1)["summary"]
    return told


def test_the_sample_of_the_seed_loads_and_is_written_again_as_it_was() -> None:
    again = compression_state(
        loaded(SAMPLE), count=3, at=datetime(2026, 1, 5, 10, 30, tzinfo=UTC), probe_score=0.95
    )
    expected = copy.deepcopy(SAMPLE["compression_state"])
    expected["summary"]["blockers"] = []
    assert again == expected
    assert count_of(SAMPLE) == 3


def test_facts_become_the_six_parts() -> None:
    assert summary_of(
        Requested(turn=0, by="user", text="Build a crane", scope="new"),
        Requested(turn=2, by="user", text="paint it"),
        FileChanged(turn=1, path="crane.py", action="created", what="adds `Crane`"),
        FileChanged(turn=3, path="crane.py", action="modified", what="adds `Hook`"),
        FileChanged(turn=3, path="paint.py", action="modified"),
        FileChanged(turn=3, path="gone.py", action="created"),
        FileChanged(turn=4, path="gone.py", action="deleted"),
        InstructionGiven(turn=4, by="user", text="never push"),
        Decided(turn=4, by="user", key="never push", decision="never push"),
        Decided(turn=4, by="user", key="colour", decision="green", rationale="it is cheap"),
        Decided(
            turn=5,
            by="user",
            key="colour",
            decision="red",
            rationale="it is seen",
            rejected="green",
        ),
        Asked(turn=5, key="q", by="user", question="how high?"),
        ErrorSeen(turn=6, key="e", line="boom"),
        TodoSet(turn=6, key="t", text="paint the hook", status="pending"),
    ) == {
        "session_intent": 'Build a crane\nNow: "paint it"',
        "files_modified": {
            "crane.py": ["created", "adds `Crane`", "adds `Hook`"],
            "paint.py": ["modified"],
        },
        "decisions_made": [
            {"decision": "green", "rationale": "it is cheap", "superseded_by": "red"},
            {"decision": "red", "rationale": "it is seen; not taken: green"},
        ],
        "current_state": "Tasks: 0 of 1 completed",
        "blockers": ["The user asked: how high?", "OPEN: boom"],
        "next_steps": ["paint the hook"],
    }


def test_newer_facts_extend_what_was_loaded() -> None:
    told = compression_state(
        merged(
            loaded(SAMPLE),
            [
                FileChanged(turn=0, path="src/auth/login.ts", action="modified", what="adds `x`"),
                Decided(
                    turn=0,
                    by="user",
                    key="k",
                    decision="use JWT over  sessions",
                    rationale="simpler",
                ),
                Requested(turn=0, by="user", text="go on with it"),
            ],
        ),
        count=4,
    )["summary"]
    assert told["session_intent"] == 'Implement user authentication\nNow: "go on with it"'
    assert told["files_modified"]["src/auth/login.ts"] == [
        "Added OAuth flow",
        "Fixed token refresh",
        "adds `x`",
    ]
    assert "src/api/users.ts" in told["files_modified"]
    assert told["decisions_made"] == [
        {"decision": "use JWT over  sessions", "rationale": "simpler"}
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_only_the_one_key_is_set_and_the_order_stays(place: int) -> None:
    keys = ["$schema", "_meta"]
    keys.insert(place, "compression_state")
    document = {key: [1] for key in keys}
    before = copy.deepcopy(document)
    after = updated(document, {"compression_count": 1})
    assert list(after) == keys
    assert after == {**before, "compression_state": {"compression_count": 1}}
    assert document == before
    assert list(updated({"a": 1}, {})) == ["a", "compression_state"]


@pytest.mark.parametrize(
    ("state", "count"),
    [
        ({"compression_count": 2}, 2),
        ({"summary": {"compression_count": 5}}, 5),
        ({"compression_count": 2, "summary": {"compression_count": 5}}, 2),
        ({"compression_count": True}, 0),
        ({"compression_count": -1}, 0),
        ({"compression_count": "3"}, 0),
        (None, 0),
        ([], 0),
    ],
)
def test_the_count_has_one_place_and_others_are_understood(state: object, count: int) -> None:
    assert count_of({"compression_state": state}) == count


def test_other_shapes_tell_what_they_can() -> None:
    told = {
        "session_intent": ["a", "b"],
        "files_modified": ["x.py", 3, ""],
        "decisions_made": ["plain", {"decision": "d", "rationale": ["r1", "r2"]}, 7, {}],
        "blockers": "one",
        "next_steps": None,
    }
    state = {"summary": told, "last_summary": "all of it"}
    found = loaded({"compression_state": state}).carried
    assert [(entry.section, entry.text, entry.detail) for entry in found] == [
        ("Session Intent", "a", ""),
        ("Session Intent", "b", ""),
        ("Files Modified", "x.py", ""),
        ("Decisions Made", "plain", ""),
        ("Decisions Made", "d", "r1; r2"),
        ("Current State", "all of it", ""),
        ("Blockers / Open Questions", "one", ""),
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
parts = ("session_intent", "files_modified", "decisions_made", "current_state", "next_steps")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(parts, anything)), anything)
def test_no_shape_raises_and_a_second_round_changes_nothing(told: Any, count: object) -> None:
    document = {"compression_state": {"summary": told, "compression_count": count}}
    once = compression_state(loaded(document), count=count_of(document))
    again = compression_state(loaded({"compression_state": once}), count=1)
    assert again["summary"].keys() == once["summary"].keys()
    assert again["summary"]["next_steps"] == once["summary"]["next_steps"]
    assert list(again["summary"]["files_modified"]) == list(once["summary"]["files_modified"])


@given(facts)
def test_every_summary_is_plain_json_with_all_keys(found: list[AnyFact]) -> None:
    state = compression_state(build(found), count=1)
    assert json.loads(json.dumps(state)) == state
    assert list(state["summary"]) == [
        "session_intent",
        "files_modified",
        "decisions_made",
        "current_state",
        "blockers",
        "next_steps",
    ]
    again = loaded({"compression_state": state})
    assert (
        compression_state(again, count=1)["summary"]["next_steps"] == state["summary"]["next_steps"]
    )
