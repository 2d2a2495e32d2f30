"""Rows of Claude Code beside its transcript: what only that has is in what is handed back."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts.replacement import HostRequest, replacement
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store

Row = dict[str, Any]
QUEUED = "Never touch the pier."
THOUGHT = "So the fuse of lamp {} is what is broken."
LINES = 300
AT = "2026-11-19T17:00:00Z"


def conversation(count: int = 12, queued_at: int = 2) -> tuple[list[dict[str, Any]], list[Row]]:
    """Records of a transcript, and the rows that Claude Code makes of them."""
    records: list[dict[str, Any]] = []
    rows: list[Row] = []

    def add(role: str, content: Any, row: Row | None, **more: Any) -> None:
        id, parent = f"id-{len(records)}", records[-1]["uuid"] if records else None
        about = {"uuid": id, "parentUuid": parent, "sessionId": "s1", "cwd": "/srv/harbour"}
        answer = f"m-{sum(one['type'] == 'user' for one in records)}"
        message = {"message": {"id": answer, "role": role, "content": content}} if content else {}
        records.append({"type": role, "timestamp": AT, **about, **message, **more})
        if row is not None:
            rows.append({"role": role, "text": "", "toolUses": [], "handle": id, **row})

    add("user", "Mend the lamps.", {"text": "Mend the lamps."})
    for number in range(count):
        call, path = f"call-{number}", f"/srv/harbour/lamp_{number}.py"
        add("assistant", [{"type": "thinking", "thinking": THOUGHT.format(number)}], {})
        use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}}
        told = {"tool_use_id": call, "tool": "Read", "input": {"file_path": path}}
        add("assistant", [use], {"toolUses": [told]})
        output = "\n".join(f"{number} line {line} of a lamp" for line in range(LINES))
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        given = {"tool_use_id": call, "text": output}
        add("user", [result], {"toolResults": [given]})
        if number == queued_at:
            queued = {"type": "queued_command", "prompt": QUEUED, "commandMode": "prompt"}
            add("attachment", None, None, attachment=queued)
    add("assistant", [{"type": "text", "text": "Mended."}], {"text": "Mended."})
    return records, rows


def answered(path: Path, records: list[dict[str, Any]], rows: list[Row]) -> list[Row]:
    path.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in records))
    asked = HostRequest(messages=rows, session="s1", transcript=str(path), room=4_000)
    with closing(open_store(str(path.parent / "store"))) as store:
        given: list[Row] = replacement("claude-code", asked, store).reply["messages"]
        kept = [*Session("claude-code-s1", store).turns()]
        outputs = {one.call_id for turn in kept for one in turn.tool_results}
        made = {one["tool_use_id"] for row in rows for one in row["toolUses"]}
        assert made <= outputs
    assert all(row["text"] or row["toolUses"] or row.get("toolResults") for row in given)
    return given


def test_words_that_were_queued_stand_in_it_and_thinking_is_told(tmp_path: Path) -> None:
    records, rows = conversation()
    found = json.dumps(answered(tmp_path / "s1.jsonl", records, rows))
    assert QUEUED in found
    assert THOUGHT.format(11) in found
    assert "/srv/harbour/lamp_3.py" not in found
    assert "lamp_3.py" in found


def test_a_row_without_a_record_stands_before_those_of_the_transcript(tmp_path: Path) -> None:
    records, rows = conversation()
    first = {"role": "user", "text": "Lamps are on the quay.", "toolUses": [], "handle": "none"}
    found = json.dumps(answered(tmp_path / "s1.jsonl", records, [first, *rows]))
    assert QUEUED in found
    assert "Lamps are on the quay." in found


def test_what_came_later_is_taken_from_the_transcript_too(tmp_path: Path) -> None:
    records, rows = conversation()
    path = tmp_path / "s1.jsonl"
    before = answered(path, records, rows)
    text = json.dumps(conversation(5)).replace("call-", "later-").replace('"id-', '"more-')
    again, behind = json.loads(text.replace("pier", "slipway"))
    found = json.dumps(answered(path, [*records, *again], [*before, *behind]))
    assert "Never touch the slipway." in found
    assert QUEUED in found


def test_queued_words_of_a_future_that_was_not_handed_over_are_not_told(tmp_path: Path) -> None:
    records, rows = conversation(queued_at=10)
    found = json.dumps(answered(tmp_path / "s1.jsonl", records, rows[:19]))
    assert QUEUED not in found


@pytest.mark.parametrize("spoiled", ["another's", "a row is missing", "torn", "empty"])
def test_without_a_transcript_that_says_the_same_the_rows_stand(
    tmp_path: Path, spoiled: str
) -> None:
    records, rows = conversation()
    if spoiled == "another's":
        records = [{**one, "uuid": f"other-{one['uuid']}"} for one in records]
    elif spoiled == "a row is missing":
        del records[9]
    elif spoiled == "torn":
        records = [*records[:4], {"type": "user"}]
    else:
        records = []
    found = json.dumps(answered(tmp_path / "s1.jsonl", records, rows))
    assert "lamp_11.py" in found
    assert "Mended." in found
