"""Opening, recognising and collecting sessions of any format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import kedgeline
from kedgeline.errors import NotATranscript, SeveralSessions, SourceUnreadable
from kedgeline.tokens import Exact, tokens_of
from tests.claude import Records, text, use


def session() -> Records:
    records = Records()
    records.user("one")
    fork = records.assistant("m1", text("1"))
    records.user("two")
    records.assistant("m2", use("c1", "Task", prompt="Find it"))
    inner = {"type": "assistant", "message": {"id": "a1", "content": [text("found")]}, "uuid": "i1"}
    data = {"type": "agent_progress", "agentId": "ag1", "message": inner}
    records.add("progress", data=data, parentToolUseID="c1")
    records.result("c1", "found")
    records.user("two again", parent=fork)
    records.assistant("m3", text("2"))
    records.user("three?")
    return records


def test_a_transcript_is_the_live_chain_with_agents_and_pending_words() -> None:
    transcript = kedgeline.read(b"".join(session().lines))
    assert transcript.format == "claude-code"
    assert [t.user_message for t in transcript.turns] == ["one", "two again"]
    assert [t.index for t in transcript.turns] == [0, 1]
    assert transcript.rewound == 1
    assert transcript.pending is not None
    assert (transcript.pending.user_message, transcript.pending.index) == ("three?", 2)
    (agent,) = transcript.agents
    assert (agent.agent, agent.delegated_by, agent.turns[0].assistant_response) == (
        "ag1",
        "c1",
        "found",
    )


def test_a_rewind_with_nothing_behind_it_still_takes_back() -> None:
    records = Records()
    fork = records.user("one")
    fork = records.assistant("m1", text("1"))
    records.user("two")
    records.assistant("m2", text("2"))
    records.user("two, again", parent=fork)
    transcript = kedgeline.read(b"".join(records.lines))
    assert [t.user_message for t in transcript.turns] == ["one"]
    assert transcript.pending is not None
    assert transcript.pending.user_message == "two, again"


def test_a_file_of_sidechain_records_only_is_the_sub_agents_transcript() -> None:
    records = Records()
    records.user("Find it", isSidechain=True, agentId="ag1", parent=None)
    records.assistant("a1", text("found"), isSidechain=True, agentId="ag1")
    transcript = kedgeline.read(b"".join(records.lines))
    assert (transcript.agent, len(transcript.turns), transcript.agents) == ("ag1", 1, ())


def test_sub_agents_in_files_beside_the_session_are_read_and_linked(tmp_path: Path) -> None:
    """Newer versions keep each sub-agent in a file of its own and only name it in the result."""
    records = Records()
    records.user("explore")
    records.assistant("m1", use("c1", "Agent", prompt="Find it"))
    records.result("c1", "found", toolUseResult={"agentId": "ag1", "status": "completed"})
    records.assistant("m2", text("done"))
    session = tmp_path / "s1.jsonl"
    session.write_bytes(b"".join(records.lines))
    inner = Records()
    inner.user("Find it", isSidechain=True, agentId="ag1", parent=None)
    inner.add("attachment", attachment={"type": "instructions", "content": "x"}, isSidechain=True)
    inner.assistant("a1", text("found"), isSidechain=True, agentId="ag1")
    inner.raw("torn")
    beside = tmp_path / "s1" / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-ag1.jsonl").write_bytes(b"".join(inner.lines))
    transcript = kedgeline.read(session)
    assert [t.assistant_response for t in transcript.turns] == ["", "done"]
    (agent,) = transcript.agents
    assert (agent.agent, agent.delegated_by) == ("ag1", "c1")
    assert agent.turns[0].source.file == "agent-ag1.jsonl"
    assert [(d.file, d.line) for d in transcript.damage] == [("agent-ag1.jsonl", 3)]


def test_a_sub_agents_file_that_cannot_be_opened_is_damage(tmp_path: Path) -> None:
    session = tmp_path / "s1.jsonl"
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    session.write_bytes(b"".join(records.lines))
    (tmp_path / "s1" / "subagents" / "agent-x.jsonl").mkdir(parents=True)
    transcript = kedgeline.read(session)
    assert len(transcript.turns) == 1
    assert [(d.kind, d.file) for d in transcript.damage] == [("unreadable", "agent-x.jsonl")]


def test_every_way_to_name_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(session().lines)
    path = tmp_path / "anything.weird"
    path.write_bytes(data)
    stdin = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr("sys.stdin", stdin)
    expected = kedgeline.read(data).turns
    assert kedgeline.read(path).turns == expected
    assert kedgeline.read(str(path)).turns == expected
    assert kedgeline.read(io.BytesIO(data)).turns == expected
    assert kedgeline.read("-").turns == expected


def test_tokens_are_counted_unless_told_otherwise() -> None:
    data = b"".join(session().lines)
    counted = kedgeline.read(data)
    assert [t.tokens for t in counted.turns] == [
        tokens_of(t, Exact("o200k")).total for t in counted.turns
    ]
    assert counted.pending is not None
    assert counted.pending.tokens > 0
    assert [t.tokens for t in kedgeline.read(data, counter=None).turns] == [0, 0]
    other = kedgeline.read(data, counter=Exact("cl100k"))
    assert [t.tokens for t in other.turns] == [
        tokens_of(t, Exact("cl100k")).total for t in other.turns
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"\0\0\0\0", "an empty file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "binary data"),
        (b'{"a": 1, "b": 2}', "a JSON object with the keys 'a', 'b'"),
        (b'[{"x": 1}]', "a JSON list of objects with the keys 'x'"),
        (b'{"a": 1}\n{"a": 2}\n', "JSON Lines with the keys 'a'"),
        (b"Dear diary,\n", "text that begins 'Dear diary"),
    ],
)
def test_what_is_no_transcript_gets_one_clear_error(data: bytes, found: str) -> None:
    with pytest.raises(NotATranscript) as raised:
        kedgeline.read(data)
    assert found in str(raised.value)
    assert "claude-code" in str(raised.value)
    assert "\n" not in str(raised.value)


class Failing(io.BytesIO):
    """A disk that gives up in the middle of a file."""

    name = "failing"

    def readline(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().readline(size)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x" * 5_000, "file name too long"),
        ("a\0b", "null"),
        (Failing(b"".join(session().lines)), "input/output error"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(source: str | io.BytesIO, why: str) -> None:
    with pytest.raises(SourceUnreadable, match=why):
        kedgeline.read(source)


DIALOGUES = b"""[
 {"task_id": 0, "traj": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "A"}]},
 {"task_id": 1, "traj": [{"role": "user", "content": "b"}, {"role": "assistant", "content": "B"}]}
]"""


def test_one_of_several_sessions_must_be_chosen() -> None:
    with pytest.raises(SeveralSessions, match="0 to 1"):
        kedgeline.read(DIALOGUES)
    with pytest.raises(SeveralSessions, match="no session 2"):
        kedgeline.read(DIALOGUES, session=2)
    assert kedgeline.read(DIALOGUES, session=1).turns[0].assistant_response == "B"
    assert [t.turns[0].user_message for t in kedgeline.read_all(DIALOGUES)] == ["a", "b"]


SUMMARY = "This session is being continued from a previous conversation that ran out of context."


def test_facts_and_compactions_belong_to_their_session() -> None:
    """Each conversation of a file had the models and compactions of all others."""
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "A"}]
    bodies = [
        {"model": "gpt-4o", "messages": said},
        {"model": "gpt-5", "messages": [{"role": "user", "content": SUMMARY}, *said]},
        {"model": "gpt-4o", "messages": said},
    ]
    data = b"".join(json.dumps(body).encode() + b"\n" for body in bodies)
    found = kedgeline.read_all(data, format="openai-chat")
    assert [[c.value for c in t.session.changes] for t in found] == [
        ["gpt-4o"],
        ["gpt-5"],
        ["gpt-4o"],
    ]
    assert [len(t.compactions) for t in found] == [0, 1, 0]


def test_streaming_holds_no_more_than_the_turns_it_must() -> None:
    """Memory does not grow: turns are given out while the file is still being read."""
    records = Records()
    for number in range(200):
        records.user(f"do {number}")
        records.assistant(f"m{number}", text("done"))
    consumed = 0

    def lines() -> object:
        nonlocal consumed
        for line in records.lines:
            consumed += 1
            yield line

    from kedgeline.formats.agents.claude_code import FORMAT
    from kedgeline.formats.log import Log

    turns = FORMAT.read(lines(), Log())  # type: ignore[arg-type]
    next(turns)
    assert consumed <= 40


COUNTS = {
    # From the corpus's own table of contents: tool calls.
    "claude-code": 3_869,
    "opencode": 216,
    "codex": 56,
    "gemini-cli": 12,
    "pi": 391,
    "tau-bench": 123,
}


@pytest.mark.parametrize("folder", sorted(COUNTS))
def test_tool_calls_of_the_corpus(corpus: Path, folder: str) -> None:
    files = sorted(path for path in (corpus / folder).iterdir() if path.is_file())
    calls = sum(
        len(turn.tool_calls)
        for path in files
        for transcript in kedgeline.read_all(path)
        for turn in transcript.turns
    )
    assert calls == COUNTS[folder]


def test_every_file_of_the_corpus_is_recognised(corpus: Path) -> None:
    expected = {"claude-code-samples": "claude-code"}
    wrong = []
    for folder in sorted(
        path for path in corpus.iterdir() if path.is_dir() and path.name != "licences"
    ):
        for path in sorted(folder.iterdir()):
            found = kedgeline.stream(path).format
            if found != expected.get(folder.name, folder.name):
                wrong.append((path.name, found))
    assert wrong == []
