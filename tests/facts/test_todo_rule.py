"""Seed 000's todo rule in its safe form (R29)."""

from __future__ import annotations

import pytest

from kedgeline.facts.todos import says_done


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
    assert says_done("token refresh", text)


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
    assert not says_done("token refresh", text)
