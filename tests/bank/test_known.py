"""What a bank knows already, in whatever spelling."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from kedge.bank import Bank, Limits, NewEntry
from kedge.bank.known import Known
from kedge.bank.shapes import read_document
from kedge.model import Decided, Summary
from tests.bank.banks import NOW

STATE = 'OBJECTIVE: a parser\n\nOUTCOME: 3 tests "pass"\n'


def test_a_text_is_known_in_json_and_in_markdown() -> None:
    line = json.dumps({"ts": "2026-01-01T00:00:00Z", "title": "State of one", "text": STATE})
    written = f"### [2026-01-01T00:00:00Z] a\n\n{STATE}\n"
    for name, text in (("activeContext.jsonl", f"{line}\n"), ("activeContext.md", written)):
        known = Known([read_document(name, text.encode())])
        assert known.holds(STATE)
        assert not known.holds(STATE + "and more")


def summary(turn: int) -> Summary:
    made = Decided(
        turn=turn, key="store", decision="Use SQLite.", rationale="No server.", by="user"
    )
    return Summary(through=turn, decisions={"store": (made,)})


def test_a_session_is_filed_into_json_lines_before_and_after_compactions(tmp_path: Path) -> None:
    """The archive of a file of JSON Lines is Markdown; what lies in it is known, whatever the
    session is called."""
    path = tmp_path / "bank"
    path.mkdir()
    (path / "activeContext.jsonl").write_text("")
    (path / "decisionLog.jsonl").write_text("")
    bank = Bank(path, limits=Limits(entries=1, least_entries=1), clock=lambda: NOW)
    assert {one.file for one in bank.file(summary(3), session="one", agent="a")} == {
        "activeContext.jsonl",
        "decisionLog.jsonl",
    }
    assert bank.file(summary(3), session="other", agent="a") == []
    for n in range(3):
        at = NOW + timedelta(hours=n)
        bank.add("activeContext", NewEntry(agent="a", at=at, text=f"Thing {n}."))
    assert bank.compact("a").plan.files[0].entries == 3
    assert bank.file(summary(3), session="one", agent="a") == []
    assert bank.file(summary(3), session="other", agent="a") == []
