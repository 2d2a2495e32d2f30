"""Which turn a late result belongs to."""

from __future__ import annotations

import json
from typing import Any

from kedge.formats.turns.assembly import LOOKBACK
from kedge.living.adding import add_mark
from kedge.living.late import reopened
from kedge.model import Transcript
from kedge.reading import read
from kedge.session import Session
from tests.living.sessions import session
from tests.session.test_review_views import answered, called, result, said


def alone(*messages: dict[str, Any]) -> Transcript:
    return read(json.dumps(messages).encode(), format="anthropic", counter=None)


def found(kept: Session, *messages: dict[str, Any]) -> list[int]:
    journal = kept._journal()
    last = list(journal.turns())[-1]
    return [turn.index for turn in reopened(journal, last, alone(*messages))]


def test_the_turns_from_the_one_that_waits_on_are_open_again() -> None:
    kept = session()
    kept.append([said("a"), answered("b"), said("go"), called("c1", "c2"), result("c2")])
    kept.append([said("on"), answered("yes"), said("further"), called("c3")])
    assert found(kept, result("c1")) == [1, 2]
    assert found(kept, result("c3"), result("c1")) == [1, 2]
    assert found(kept, result("c3")) == []
    assert found(kept, result("c2")) == []  # it has its result
    assert found(kept, result("unknown")) == []
    assert found(kept, called("c1"), result("c1")) == []


def test_a_turn_far_back_stays_closed() -> None:
    kept = session()
    kept.append([said("go"), called("c1")])
    for number in range(LOOKBACK):
        kept.append([said(f"question {number}"), answered(f"answer {number}")])
    assert found(kept, result("c1")) == list(range(LOOKBACK))
    kept.append([said("one more"), answered("yes")])
    assert found(kept, result("c1")) == []


def test_a_turn_that_was_folded_stays_closed() -> None:
    kept = session()
    kept.append([said("go"), called("c1"), said("on"), answered("yes"), said("so"), answered("no")])
    journal = kept._journal()
    last = list(journal.turns())[-1]
    assert [turn.index for turn in reopened(journal, last, alone(result("c1")))] == [0, 1]
    with kept._held() as held:
        add_mark(held.writing, "compaction", kept._keeping, index=1)
    assert list(reopened(journal, last, alone(result("c1")))) == []
