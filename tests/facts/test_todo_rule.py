"""Seed 000's todo rule in its safe form (R29)."""

from __future__ import annotations

import pytest

from kedgeline.facts.todos import completed_by
from kedgeline.model import TodoSet

TODO = TodoSet(turn=3, key="token refresh", text="token refresh", status="in_progress")


def completes(text: str, todo: TodoSet = TODO, *, literal: bool = False) -> bool:
    (found,) = completed_by((todo,), text, literal=literal)
    return found.status == "completed"


@pytest.mark.parametrize(
    "text",
    [
        "token refresh done",
        "Token refresh is now complete.",
        "Login works, token refresh: done",
        "Finished token refresh.",
        "finished with the token refresh",
        "Done: token refresh",
        "- [x] token refresh",
        "**Token refresh**: ✅ Done",
        "token refresh has been completed today; login is next",
    ],
)
def test_explicit_evidence_completes(text: str):
    assert completes(text)


@pytest.mark.parametrize(
    "text",
    [
        "testing token refresh",
        "token refresh not done",
        "not done",
        "done",
        "token refresh isn't done",
        "token refresh hasn’t been completed",
        "is token refresh done?",
        "Token refresh done?",
        "never finished token refresh",
        "not yet: token refresh done",
        "token refresh is 90% done",
        "token refresh incomplete",
        "token refresh unfinished",
        "once token refresh is done we ship",
        "token refresh will be done",
        "token refresh in progress and login done",
        "login done, token refresh in progress",
        "the tests of token refresh are done",
        "token refreshes done",
        "token refresh complete rewrite planned",
        "- [ ] token refresh",
        "",
    ],
)
def test_anything_less_does_not(text: str):
    assert not completes(text)


def test_only_what_is_in_progress_is_completed():
    pending = TodoSet(turn=0, key="k", text="token refresh", status="pending")

    assert not completes("token refresh done", pending)
    assert not completes("token refresh done", pending, literal=True)


@pytest.mark.parametrize("text", ["Now TOKEN REFRESH fails", "token refresh not done"])
def test_the_literal_rule_is_the_seeds(text: str):
    assert completes(text, literal=True)
    assert not completes("refresh of the token", literal=True)


def test_an_item_without_words_is_completed_by_the_seed_only():
    empty = TodoSet(turn=0, key="", text="", status="in_progress")

    assert not completes("all done", empty)
    assert completes("anything", empty, literal=True)
