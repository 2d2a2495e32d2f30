"""A compaction of Claude Code that the worker made ready: the answer is the one that is given
without it, and only what came since is added."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import places, prepared, replacement
from kedgeline.hosts.replacement import HostRequest, host_compacted, make_ready
from kedgeline.hosts.worker import work
from kedgeline.pipeline.view import problems
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.integrations.hooks.test_replaced_recorded import Row, conversation

RECORDS, ROWS = conversation(60)
SAID = [one for one in ROWS if one["text"] or one["toolUses"] or one.get("toolResults")]
EARLY = "Paint the third lamp red."


class Hosted:
    """A session of Claude Code, its file, and what it asks for."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
        self.path = home / "claude" / "projects" / "quay" / "s1.jsonl"
        self.path.parent.mkdir(parents=True)
        self.folder, self.store = places.folder_of("s1"), str(home / "store")

    def writes(self, records: Sequence[dict[str, Any]]) -> None:
        lines = (json.dumps(one, separators=(",", ":")) for one in records)
        self.path.write_text("".join(f"{line}\n" for line in lines))

    def looks(self, records: Sequence[dict[str, Any]]) -> None:
        """The worker sees the file as it is by then."""
        self.writes(records)
        make_ready("claude-code", "s1", str(self.path), self.folder)

    def asks(self, rows: list[Row], **more: Any) -> list[Row]:
        found: list[Row] = host_compacted(
            "claude-code", HostRequest(messages=rows, session="s1", **more)
        ).reply["messages"]
        return found

    def session(self) -> Any:
        return closing(open_store(self.store))


@pytest.fixture
def hosted(home: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    monkeypatch.setattr(replacement, "LEAST", 1_000)
    return Hosted(home, monkeypatch)


def outputs_of(rows: Sequence[Row]) -> list[str]:
    return [one["text"] for row in rows for one in row.get("toolResults", ())]


def kept(hosted: Hosted) -> list[str]:
    with hosted.session() as store:
        turns = Session("claude-code-s1", store).turns()
        return [one.output for turn in turns for one in turn.tool_results]


def forbidden(*_: Any, **__: Any) -> None:
    raise AssertionError("a compaction was made while the host waited")


@pytest.mark.parametrize("is_asked", [True, False])
def test_the_worker_prepares_where_claude_code_asks(hosted: Hosted, is_asked: bool) -> None:
    seam = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "skills/kedgeline/hooks/register.js"
    if is_asked:
        seam.parent.mkdir(parents=True)
        seam.touch()
    hosted.writes(RECORDS)
    work("s1", "claude-code", str(hosted.path), hosted.folder)
    found = prepared.load(hosted.folder, "claude-code-s1")
    assert (found is not None and found.ready is not None) == is_asked


@pytest.mark.parametrize("words", ["", "lamp_3.py"])
def test_only_what_came_since_is_added(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    for end in (40, 120, 175, 229):
        hosted.looks(RECORDS[:end])
    with monkeypatch.context() as waiting:
        waiting.setattr(Session, "compact", forbidden)
        found = hosted.asks(ROWS, instructions=words)
    assert kept(hosted) == outputs_of(ROWS)
    assert found[-1]["text"] == "Mended."
    assert outputs_of(found)[-3:] == outputs_of(ROWS)[-3:]
    assert len(json.dumps(found)) < 0.6 * len(json.dumps(ROWS))
    assert problems("anthropic", replacement.shape_of("claude-code").taken(found)) == []
    assert json.dumps(found).count("So the fuse of lamp 59") == 1
    assert (f"word for word:\n{words}\n" in found[0]["text"]) == bool(words)
    with hosted.session() as store:
        session = Session("claude-code-s1", store)
        view = session.view("anthropic").messages
        given = replacement.shape_of("claude-code").given(view, ROWS)["messages"]
        assert found[1:] == given[1:]
        session.undo()
        assert outputs_of(ROWS) == [
            one["text"]
            for row in replacement.shape_of("claude-code").given(
                session.view("anthropic").messages, ROWS
            )["messages"]
            for one in row.get("toolResults", ())
        ]


def test_words_that_the_user_went_back_from_are_not_in_it(hosted: Hosted) -> None:
    """The file has them still, and the worker had kept them."""
    hosted.looks(RECORDS[:101])
    gone = {**RECORDS[0], "uuid": "gone", "parentUuid": RECORDS[100]["uuid"]}
    gone["message"] = {"role": "user", "content": EARLY}
    answer = {**RECORDS[-1], "uuid": "gone-2", "parentUuid": "gone"}
    answer["message"] = {**RECORDS[-1]["message"], "id": "m-gone"}
    more = {**answer, "uuid": "gone-3", "parentUuid": "gone-2"}
    more["message"] = {**RECORDS[-1]["message"], "id": "m-gone-2"}
    hosted.looks([*RECORDS[:101], gone, answer, more])
    with hosted.session() as store:
        words = [turn.user_message for turn in Session("claude-code-s1", store).turns()]
    assert EARLY in words
    again = {**gone, "uuid": "again", "message": {"role": "user", "content": "Go on."}}
    rest = [{**RECORDS[101], "parentUuid": "again"}, *RECORDS[102:]]
    hosted.writes([*RECORDS[:101], gone, answer, more, again, *rest])
    place = next(n for n, row in enumerate(ROWS) if row["handle"] == RECORDS[101]["uuid"])
    said = {"role": "user", "text": "Go on.", "toolUses": [], "handle": "again"}
    found = hosted.asks([*ROWS[:place], said, *ROWS[place:]])
    assert EARLY not in json.dumps(found)
    assert kept(hosted) == outputs_of(ROWS)


@pytest.mark.parametrize("what", ["other rows", "no store", "garbage", "another version"])
def test_what_is_ready_of_something_else_is_not_taken(hosted: Hosted, what: str) -> None:
    hosted.looks(RECORDS[:200])
    rows = ROWS
    if what == "other rows":
        rows = [{**row, "handle": f"other-{row['handle']}"} for row in ROWS]
    elif what == "no store":
        (Path(hosted.store) / "kedgeline.db").unlink()
    elif what == "garbage":
        places.keep(hosted.folder, places.AHEAD, b"\x92\x01lamp")
    else:
        data = places.kept_bytes(hosted.folder, places.AHEAD)
        places.keep(hosted.folder, places.AHEAD, data.replace(b"version\x01", b"version\x00", 1))
    found = hosted.asks(rows)
    assert "Mend the lamps." in json.dumps(found)
    assert set(outputs_of(ROWS)) <= set(kept(hosted))
    assert len(json.dumps(found)) < 0.6 * len(json.dumps(ROWS))


def test_much_that_is_new_is_compacted_with_the_rest(hosted: Hosted) -> None:
    hosted.looks(RECORDS[:60])
    found = hosted.asks(ROWS)
    assert kept(hosted) == outputs_of(ROWS)
    assert len(json.dumps(found)) < 0.6 * len(json.dumps(ROWS))


def test_a_room_that_is_asked_for_is_kept(hosted: Hosted) -> None:
    hosted.looks(RECORDS)
    assert len(json.dumps(hosted.asks(ROWS, room=4_000))) < 25_000


def test_behind_an_answer_the_worker_goes_on_with_what_the_host_goes_on_with(
    hosted: Hosted,
) -> None:
    """Until the file has the new context, it still has the old one."""
    hosted.looks(RECORDS[:229])
    given = hosted.asks(ROWS)
    hosted.looks(RECORDS)
    assert kept(hosted) == outputs_of(ROWS)
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "boundary"}
    about = {"timestamp": RECORDS[0]["timestamp"], "sessionId": "s1", "cwd": "/srv/harbour"}
    written, rows = [{**boundary, **about, "parentUuid": None}], []
    for number, row in enumerate(given):
        id = f"new-{number}"
        blocks: Any = [{"type": "text", "text": row["text"]}] if row["text"] else []
        blocks += [
            {"type": "tool_result", "tool_use_id": one["tool_use_id"], "content": one["text"]}
            for one in row.get("toolResults", ())
        ]
        blocks += [
            {"type": "tool_use", "id": one["tool_use_id"], "name": "Read", "input": one["input"]}
            for one in row["toolUses"]
        ]
        message = {"id": id, "role": row["role"], "content": blocks}
        parent = written[-1]["uuid"]
        written.append(
            {**about, "type": row["role"], "uuid": id, "parentUuid": parent, "message": message}
        )
        rows.append({**row, "handle": id})
    later, told = conversation(20)
    for one in later:
        one["uuid"] = f"later-{one['uuid']}"
        one["parentUuid"] = f"later-{one['parentUuid']}" if one["parentUuid"] else "new-0"
    text = json.dumps(later).replace("call-", "call-later-").replace("m-", "m-later-")
    later = json.loads(text)
    told = json.loads(json.dumps(told).replace("call-", "call-later-"))
    told = [{**row, "handle": f"later-{row['handle']}"} for row in told]
    hosted.looks([*RECORDS, *written, *later])
    again = hosted.asks([*rows, *told])
    assert set(kept(hosted)) == set(outputs_of(ROWS)) | set(outputs_of(told))
    assert len(kept(hosted)) == len(outputs_of(ROWS)) + len(outputs_of(told))
    assert json.dumps(again).count("The conversation up to here was compacted") == 1
