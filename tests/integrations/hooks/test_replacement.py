"""A host's own compaction, replaced: what is handed back, and what happens where that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.errors import KedgelineError
from kedgeline.hosts import hook as entry
from kedgeline.hosts import places
from kedgeline.hosts.claude_code import from_rows, to_rows
from kedgeline.hosts.codex import compact_rollout, model_items, newest
from kedgeline.hosts.places import line_for, replaced_in
from kedgeline.hosts.replacement import (
    NOTHING_GAINED,
    HostRequest,
    host_compacted,
    replacement,
)
from kedgeline.pipeline.view import OPENING, problems
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store

RULE = "Never push to main."
LONG = 400
Row = dict[str, Any]


def said(text: str, handle: str = "") -> Row:
    return {"role": "user", "text": text, "toolUses": [], **({"handle": handle} if handle else {})}


def said_by_agent(number: int) -> Row:
    return {"role": "assistant", "text": f"Lamps up to {number} are mended.", "toolUses": []}


def called(name: str, output: str, text: str = "") -> list[Row]:
    use = {"tool_use_id": name, "tool": "Bash", "input": {"command": f"cat {name}.py"}}
    result = {"tool_use_id": name, "text": output, "isError": False}
    return [
        {"role": "assistant", "text": text or f"I read {name}.", "toolUses": [], "handle": "a"},
        {"role": "assistant", "text": "", "toolUses": [use], "handle": f"u-{name}"},
        {"role": "user", "text": "", "toolUses": [], "toolResults": [result], "handle": f"r{name}"},
    ]


def history(count: int = 40, first: int = 0) -> list[Row]:
    rows = []
    for number in range(first, first + count):
        if number % 8 == 0:
            rows += [said_by_agent(number)] if rows else []
            rows.append(said(f"Mend lamp {number}. {RULE}", f"h{number}"))
        output = "\n".join(f"{number} line {line} of a lamp" for line in range(LONG))
        rows += called(f"lamp_{number}", output)
    return rows


def texts(rows: list[Row]) -> str:
    return json.dumps(rows)


# What is handed back has the host's shape.

_rows = st.lists(
    st.one_of(
        st.builds(said, st.text(min_size=1, max_size=9), st.sampled_from(["", "h1", "h2"])).map(
            lambda row: [row]
        ),
        st.builds(
            called, st.uuids().map(str), st.text(max_size=9), st.text(min_size=1, max_size=9)
        ),
    ),
    min_size=1,
    max_size=8,
).map(lambda found: [row for rows in found for row in rows])


@given(_rows)
def test_rows_keep_texts_calls_and_results_and_only_the_users_words_keep_a_handle(
    rows: list[Row],
) -> None:
    again = to_rows(from_rows(rows), rows)

    def told(rows: list[Row]) -> list[Any]:
        return [
            part
            for row in rows
            for part in (
                *([(row["role"], row["text"])] if row["text"] else []),
                *row["toolUses"],
                *((one["tool_use_id"], one["text"]) for one in row.get("toolResults", ())),
            )
        ]

    assert told(again) == told(rows)
    for row in again:
        plain = row["role"] == "user" and not row.get("toolResults")
        assert ("handle" in row) <= plain
        same = [one.get("handle") for one in rows if one["text"] == row["text"]]
        assert row.get("handle") in (None, *same)


def test_outputs_are_shortened_before_anything_said_goes(home: Path) -> None:
    rows = history(12)
    asked = HostRequest(messages=rows, session="s1", window=1_000_000)
    found = host_compacted("claude-code", asked).reply["messages"]
    assert places.status_of("s1")["window"] == 1_000_000
    assert len(texts(found)) < 0.6 * len(texts(rows))
    assert all(row["text"] in texts(found) for row in rows if row["role"] == "user")
    assert problems("anthropic", from_rows(found)) == []


def test_the_users_words_are_obeyed_and_the_first_line_is_short(home: Path) -> None:
    words = "keep what lamp_3.py says"
    asked = HostRequest(messages=history(), session="s1", instructions=words, room=8_000)
    found = host_compacted("claude-code", asked).reply["messages"]
    lead = found[0]["text"]
    assert len(lead.splitlines()[0]) < 40
    assert f"word for word:\n{words}\n" in lead
    assert "[t3]" in lead
    assert RULE in lead
    assert problems("anthropic", from_rows(found)) == []


def test_the_next_compaction_knows_what_it_was_given(home: Path) -> None:
    """Nothing is taken for said twice, and no summary is folded into another."""
    rows, count = history(), 40
    for start in (40, 60, 80):
        asked = HostRequest(messages=rows, session="s1", room=8_000, instructions="lamp_1.py")
        rows = host_compacted("claude-code", asked).reply["messages"]
        assert texts(rows).count("The conversation up to here was compacted") == 1
        assert RULE in texts(rows)
        with closing(open_store(str(home / "store"))) as store:
            turns = Session("claude-code-s1", store).turns()
            assert sum(len(turn.tool_results) for turn in turns) == count
        rows, count = [*rows, *history(20, start)], count + 20


def test_a_sub_agent_has_a_session_of_its_own(home: Path) -> None:
    for agent in ("", "a1"):
        host_compacted("claude-code", HostRequest(messages=history(), session="s1", agent=agent))
    with closing(open_store(str(home / "store"))) as store:
        assert {one.name for one in store.sessions()} == {"claude-code-s1", "claude-code-s1-a1"}
    folder = places.folder_of("s1")
    assert places.kept(folder, places.COMPACTIONS).count("replaced") == 1


# What was said is kept before anything is answered, and can be had again.


def test_originals_are_there_where_the_compaction_fails_and_undo_gives_them_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = history()
    with monkeypatch.context() as broken:
        broken.setattr(Session, "compact", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            host_compacted("claude-code", HostRequest(messages=rows, session="s1"))
    with closing(open_store(str(home / "store"))) as store:
        session = Session("claude-code-s1", store)
        assert [one.output for turn in session.turns() for one in turn.tool_results] == [
            row["toolResults"][0]["text"] for row in rows if row.get("toolResults")
        ]
        before = session.view("anthropic").messages
        replacement("claude-code", HostRequest(messages=rows, session="s1", room=8_000), store)
        assert session.view("anthropic").messages != before
        session.undo()
        assert session.view("anthropic").messages == before


# Whatever goes wrong, the host compacts by itself and the user can see it.


def run(data: bytes, host: str = "claude-code") -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "kedgeline", "host-compact", host]
    return subprocess.run(words, input=data, capture_output=True, timeout=60, check=False)


def test_what_is_no_question_gets_no_answer(home: Path) -> None:
    for data in (b"\xff{", b'{"messages": 3}', b'{"messages": []}'):
        done = run(data)
        assert (done.returncode, done.stdout) == (1, b""), data
        assert done.stderr.count(b"\n") == 1
    assert run(b'{"messages": []}', "emacs").returncode == 1


def test_a_broken_store_is_seen(home: Path) -> None:
    (home / "store").write_text("no store")
    done = run(json.dumps({"messages": history(), "session": "s1"}).encode())
    assert (done.returncode, done.stdout) == (1, b"")
    known = replaced_in(places.folder_of("s1"))
    assert known
    assert known["last_left"]
    assert known["replaced"] == 0
    assert "left to the host" in line_for({"session_id": "s1"})


def test_a_short_conversation_is_left_to_the_host(home: Path) -> None:
    with pytest.raises(KedgelineError):
        host_compacted("claude-code", HostRequest(messages=[said("Mend the lamp.")], session="s1"))
    assert f"left {NOTHING_GAINED}" in places.kept(places.folder_of("s1"), places.COMPACTIONS)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", None),
        ("own", (0, [], 1, {}, None)),
        ("asked\nreplaced 9 3 20", (1, [9, 3], 0, {}, None)),
        ("asked\nleft no room\nown", (0, [], 0, {"no room": 1}, "no room")),
        ("asked\nown\nasked\nreplaced 9 3 20", (1, [9, 3], 0, {"late": 1}, None)),
        ("asked\nreplaced 9 3 20\nasked\nown", (1, [9, 3], 0, {"late": 1}, "late")),
    ],
)
def test_who_made_each_compaction_is_counted(home: Path, lines: str, expected: Any) -> None:
    folder = places.folder_of("s1")
    for line in lines.splitlines():
        places.add_line(folder, places.COMPACTIONS, line)
    found = replaced_in(folder)
    if found is None:
        assert expected is None
        return
    left = {"late" if "in time" in why else why: n for why, n in found["left"].items()}
    last = found["last_left"]
    last = "late" if last and "in time" in last else last
    assert (found["replaced"], found["tokens"], found["own"], left, last) == expected


@pytest.mark.parametrize("ours", [True, False])
def test_nothing_is_put_back_beside_a_context_of_ours(
    home: Path, at_once: None, ours: bool
) -> None:
    folder = places.folder_of("s1")
    places.keep(folder, places.RULES, b"the rules")
    places.keep(folder, places.LACKING, b"what lacks")
    if ours:
        places.add_line(folder, places.COMPACTIONS, "asked")
        places.add_line(folder, places.COMPACTIONS, "replaced 9 3 20")
    told = {"session_id": "s1", "source": "compact", "compact_summary": "", "prompt": "go on"}
    heard = [
        entry.event_answered(json.dumps({"hook_event_name": name, **told}).encode(), "claude-code")
        for name in ("PostCompact", "SessionStart", "UserPromptSubmit")
    ]
    assert ("the rules" in "".join(heard)) == (not ours)
    assert any(heard) == (not ours)


def test_other_hosts_get_their_own_shape(home: Path) -> None:
    chat: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(30):
        function = {"name": "terminal", "arguments": json.dumps({"command": f"cat {number}"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        output = f"{number} of a lamp\n" * LONG
        chat += [
            *([{"role": "user", "content": f"Mend {number}. {RULE}"}] if number % 8 == 0 else []),
            {"role": "assistant", "content": f"I read {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
        ]
    asked = HostRequest(messages=chat, session="s1", room=6_000)
    found = host_compacted("hermes", asked).reply["messages"]
    assert problems("openai-chat", found) == []
    assert found[0] == chat[0]
    assert len(texts(found)) < 0.5 * len(texts(chat))
    assert RULE in texts(found)
    for host in ("pi", "opencode"):
        summary = host_compacted(host, asked).reply["summary"]
        assert summary.startswith(OPENING)
        assert RULE in summary
        assert len(summary) < 0.5 * len(texts(chat))


def test_messages_of_pi_are_told_with_their_calls_and_the_summary_before(home: Path) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Mend the lamp. {RULE}"}]
    for number in range(30):
        call = {
            "type": "toolCall",
            "id": f"c{number}",
            "name": "bash",
            "arguments": {"command": "ls"},
        }
        output = [{"type": "text", "text": f"lamp {number}\n" * LONG}]
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"I read {number}."}, call]},
            {"role": "toolResult", "toolCallId": f"c{number}", "content": output},
        ]
    asked = HostRequest(messages=messages, session="s1", previous="The pier is lit.", room=4_000)
    summary = host_compacted("pi", asked).reply["summary"]
    assert RULE in summary
    assert "The pier is lit." in summary
    assert len(summary) < 0.3 * len(texts(messages))


# Codex, between two runs.


def rollout(home: Path, folder: Path) -> Path:
    path = home / "sessions" / "2026" / "rollout-a.jsonl"
    path.parent.mkdir(parents=True)
    text = [{"type": "input_text", "text": f"Mend the lamp. {RULE}"}]
    fresh = [{"type": "input_text", "text": "<environment_context>quay</environment_context>"}]
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": fresh},
        {"type": "message", "role": "user", "content": text},
    ]
    for number in range(12):
        call = {"type": "function_call", "name": "exec", "arguments": "{}", "call_id": f"c{number}"}
        output = f"lamp {number}\n" * LONG
        items += [call, {"type": "function_call_output", "call_id": f"c{number}", "output": output}]
    records = [
        {"type": "session_meta", "payload": {"id": "s1", "cwd": str(folder)}},
        *({"type": "response_item", "payload": item} for item in items),
    ]
    lines = [json.dumps({"ordinal": n, **one}) for n, one in enumerate(records)]
    path.write_text("\n".join(lines))  # the last line has no end
    return path


def test_a_record_goes_behind_the_rollout_of_this_folder(home: Path) -> None:
    path = rollout(home / "codex", home)
    before = path.read_text()
    found = newest(home / "codex", home)
    done = compact_rollout(found, room=2_000)
    assert done.tokens_after < done.tokens_before
    assert path.read_text().startswith(f"{before}\n")
    record = json.loads(path.read_text().splitlines()[-1])
    assert record["ordinal"] == len(before.splitlines())
    history = record["payload"]["replacement_history"]
    assert problems("openai-responses", history) == []
    assert RULE in json.dumps(history)
    assert "environment_context" not in json.dumps(history)
    assert model_items(newest(home / "codex", home).records) == history


def test_a_rollout_that_is_in_use_is_left_alone(home: Path) -> None:
    path = rollout(home / "codex", home)
    found, before = newest(home / "codex", home), path.read_bytes()
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not tell which files are open")
    with path.open("ab"), pytest.raises(KedgelineError):
        compact_rollout(found)
    assert path.read_bytes() == before
    with pytest.raises(KedgelineError):
        newest(home / "codex", home / "elsewhere")
