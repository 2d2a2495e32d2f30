"""What is asked for is told, where there is room for everything: cases one by one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kedgeline.model import (
    AgentReported,
    AnyFact,
    Committed,
    Entry,
    FileChanged,
    Requested,
    Summary,
)
from kedgeline.summary import build
from tests.probes.facts import NO_LIMIT, change, failing, run, whole


def edits(*paths: str) -> list[FileChanged]:
    return [change(2, path, "modified") for path in paths]


UNANSWERED: dict[str, list[AnyFact]] = {
    "a test run that counts none and says nothing": [run(1, passed=0)],
    "more files in one turn than are named": [run(1, success=True), *edits(*"zyxwvuts")],
    "more reports than are told": [
        AgentReported(turn=n, task=f"task {n}", report="done") for n in range(9)
    ],
    "a name that is used again": [
        change(1, "a.py", "modified"),
        change(2, "b.py", "renamed", renamed_from="a.py"),
        change(3, "a.py", "created"),
    ],
    "there and back": [
        change(1, "b.py", "renamed", renamed_from="a.py"),
        change(2, "a.py", "renamed", renamed_from="b.py"),
    ],
    "a chain of names": [
        change(1, "c.py", "modified"),
        change(1, "a.py", "modified"),
        change(2, "b.py", "renamed", renamed_from="a.py"),
        change(3, "c.py", "renamed", renamed_from="b.py"),
    ],
    "words without a place to end": [
        Requested(turn=0, by="user", text="漢字" * 60, scope="new"),
        Requested(turn=1, by="user", text="go on with it"),
    ],
    "a head whose message is not known": [
        Committed(turn=1, what="commit", name="aaaaaaa", about="Add the mast"),
        Committed(turn=2, what="head", name="aaaaaaa"),
    ],
    "a pushed commit that is not the newest": [
        Committed(turn=1, what="commit", name="aaaaaaa", about="Add the mast"),
        Committed(turn=2, what="commit", name="bbbbbbb", about="Add the keel"),
        Committed(turn=3, what="push", name="main", about="aaaaaaa"),
    ],
}
"""Facts of which more is asked than a text that tells everything says."""


@pytest.mark.parametrize("what", UNANSWERED)
def test_what_is_asked_for_is_told(what: str) -> None:
    assert failing(whole(build(UNANSWERED[what]), NO_LIMIT)) == []


CARRIED = {
    "rule": Entry(section="Standing Instructions", text='"never push"', turns=(1,)),
    "row": Entry(section="Files Modified", text="a.py", action="created", turns=(2,)),
    "name": Entry(section="Index", text="find", turns=(3,)),
    "line": Entry(section="Current State", text="Branch `main`", turns=(4,)),
    "command": Entry(section="Commands", text="`make test`", turns=(1,)),
    "planned": Entry(section="Commands", text="`make it` (planned, not run)", turns=(1,)),
    "read": Entry(section="Files Read (Not Modified)", text="a.py: to see the rule", turns=(1,)),
}


@pytest.mark.parametrize("kind", CARRIED)
def test_what_an_earlier_text_told_is_found_again(kind: str) -> None:
    state = replace(Summary(), carried=(CARRIED[kind],))
    verdict = whole(state, NO_LIMIT)
    assert failing(verdict) == []
    assert verdict.strays == ()
    assert len(verdict.answers) == 1
