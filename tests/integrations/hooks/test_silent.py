"""A compaction that no event tells of, found in the transcript."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import hook as entry
from kedgeline.hosts import hook as silent
from kedgeline.hosts import places
from kedgeline.hosts.hook import HookEvent, event_of, has_compacted, is_of_sub_agent

COMPACTED = {"$set": {"messages": [{"content": [{"text": "<state_snapshot>x</state_snapshot>"}]}]}}
SPOKE_OF_IT = {"type": "user", "content": [{"text": "what is a <state_snapshot>?"}]}
SETTINGS = {"$set": {"lastUpdated": "2026-01-01T00:00:00.000Z"}}


class Place:
    """A transcript, and a folder to remember how far it was looked through."""

    def __init__(self, root: Path) -> None:
        self.transcript, self._folder = root / "chat.jsonl", root / "kept"
        self._folder.mkdir(mode=0o700)
        self.transcript.touch()

    @property
    def event(self) -> HookEvent:
        told = {"hook_event_name": "AfterTool", "session_id": "s1"}
        found = event_of({**told, "transcript_path": str(self.transcript)}, "gemini-cli")
        assert found
        return found

    def look(self) -> bool:
        return has_compacted(self.event, str(self._folder))

    def add(self, *records: dict[str, Any], end: str = "\n") -> None:
        with self.transcript.open("a") as file:
            file.write("\n".join(map(json.dumps, records)) + end)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_compaction_is_found_once_and_only_where_one_is(place: Place) -> None:
    place.add(COMPACTED)
    assert not place.look()  # of before kedgeline was there: a worker is begun anyway
    place.add(SPOKE_OF_IT, SETTINGS)
    assert not place.look()
    place.add(SPOKE_OF_IT, COMPACTED, SETTINGS)
    assert place.look()
    assert not place.look()


def test_a_line_that_is_being_written_is_looked_at_when_it_is_whole(place: Place) -> None:
    assert not place.look()
    place.add(COMPACTED, end="")
    assert not place.look()
    place.add(SETTINGS)
    assert place.look()


def test_a_transcript_that_began_anew_is_looked_through_again(place: Place) -> None:
    place.add(*[SPOKE_OF_IT] * 9)
    assert not place.look()
    place.transcript.write_text("")
    place.add(COMPACTED)
    assert place.look()


def test_more_than_can_be_looked_through_is_as_good_as_a_compaction(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not place.look()
    place.add(SPOKE_OF_IT)
    monkeypatch.setattr(silent, "LARGEST", 10)
    assert place.look()
    assert not place.look()


def test_a_transcript_that_is_not_there_has_none(place: Place) -> None:
    place.transcript.unlink()
    assert not place.look()
    assert not is_of_sub_agent(place.event)


def test_a_sub_agent_is_at_work_while_its_own_record_is_the_newest(place: Place) -> None:
    assert not is_of_sub_agent(place.event)
    record = place.transcript.parent / "s1" / "sent.jsonl"
    record.parent.mkdir()
    record.touch()
    for own, main, at_work in ((20, 10, True), (20, 30, False)):
        os.utime(record, (own, own))
        os.utime(place.transcript, (main, main))
        assert is_of_sub_agent(place.event) is at_work


def test_what_is_lacking_waits_for_a_word_or_a_call_of_the_main_conversation(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a session starts it would be put before the user's words, and both be forgotten later;
    and Gemini CLI calls before every request, whether it compresses or not."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(entry, "start_worker", lambda *_: None)
    places.keep(places.folder_of("s1"), places.LACKING, b"what is lacking")

    def told(event: str) -> str:
        fields = {**place.event.fields, "hook_event_name": event}
        return entry.event_answered(json.dumps(fields).encode(), "gemini-cli")

    assert [told("SessionStart"), told("PreCompress")] == ["", ""]
    record = tmp_path / "s1" / "sent.jsonl"
    record.parent.mkdir()
    record.touch()
    os.utime(place.transcript, (10, 10))
    assert told("AfterTool") == ""
    place.add(SETTINGS)
    os.utime(record, (10, 10))
    assert json.loads(told("AfterTool")) == {
        "hookSpecificOutput": {
            "hookEventName": "AfterTool",
            "additionalContext": "what is lacking",
        }
    }
    assert told("BeforeAgent") == ""
