"""Claude Code sessions as a whole: the queue, rewinds, sub-agents, compactions, facts."""

from __future__ import annotations

from kedgeline.formats.intake import Head
from kedgeline.formats.registry import load_format
from kedgeline.model import Note, Text
from tests.claude import Records, text, use


def test_words_queued_and_heard_in_the_middle_of_a_run_are_not_lost() -> None:
    """A rule such as "don't amend" may stand in a queue record and nowhere else."""
    records = Records()
    records.user("commit")
    records.assistant("m1", use("c1", command="git commit"))
    records.add("queue-operation", operation="enqueue", content="please never amend")
    records.result("c1")
    records.add("queue-operation", operation="remove")
    records.assistant("m1", use("c2", command="git log"))
    records.result("c2")
    records.assistant("m2", text("Understood."))
    turns, _ = records.read()
    assert [t.user_message for t in turns] == ["commit", "please never amend"]
    assert [len(t.tool_calls) for t in turns] == [2, 0]
    assert [t.exchange for t in turns] == [0, 0]


def test_a_dequeued_message_comes_as_a_prompt_and_counts_once() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add("queue-operation", operation="enqueue", content="two")
    records.add("queue-operation", operation="dequeue")
    records.user("two")
    records.assistant("m2", text("2"))
    turns, _ = records.read()
    assert [t.user_message for t in turns] == ["one", "two"]
    assert [t.exchange for t in turns] == [0, 1]


def test_a_dequeued_notification_counts_once_too() -> None:
    words = "<task-notification>\n<task-id>a1</task-id></task-notification>"
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add("queue-operation", operation="enqueue", content=words)
    records.add("queue-operation", operation="dequeue")
    records.user(words)
    records.assistant("m2", text("2"))
    turns, _ = records.read()
    assert turns[1].notes == (Note(kind="notification", text=words),)


def test_a_dequeued_message_that_never_comes_is_kept() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add("queue-operation", operation="enqueue", content="two")
    records.add("queue-operation", operation="dequeue")
    records.assistant("m2", text("2"))
    turns, _ = records.read()
    assert turns[1].user_message == "two"


def test_what_still_waits_in_the_queue_at_the_end_is_pending() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add("queue-operation", operation="enqueue", content=[text("and then?")])
    _, log = records.read()
    assert log.pending[0, ""].user_message == "and then?"


def test_words_taken_back_are_a_note() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add("queue-operation", operation="enqueue", content="wait")
    records.add("queue-operation", operation="popAll", content="wait")
    records.user("wait, let me think")
    records.assistant("m2", text("2"))
    turns, _ = records.read()
    assert turns[1].user_message == "wait, let me think"
    assert turns[1].notes == (Note(kind="withdrawn", text="wait"),)


def test_an_attachment_that_repeats_queued_words_does_not_double_them() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", use("c1", command="x"))
    records.add("queue-operation", operation="enqueue", content="mind the tests")
    records.add("queue-operation", operation="remove")
    records.result("c1")
    records.add("attachment", attachment={"type": "queued_command", "prompt": "mind the tests"})
    records.add("attachment", attachment={"type": "queued_command", "prompt": "and the docs"})
    records.add("queue-operation", operation="enqueue", content="and the docs")
    records.add("queue-operation", operation="remove", reason="absorbed_mid_turn")
    records.add("attachment", attachment={"type": "skill_listing", "content": "x"})
    records.add("attachment", attachment={"type": "brand_new", "content": "x"})
    records.assistant("m2", text("2"))
    turns, log = records.read()
    assert turns[1].user_message == "mind the tests\n\nand the docs"
    assert dict(log.ignored) == {"attachment/brand_new": 1}


def test_only_what_a_person_typed_is_the_users() -> None:
    """Other sessions, coordinators and background tasks send prompts in the user's place."""
    records = Records()
    records.user("one", origin={"kind": "human"})
    records.assistant("m1", text("1"))
    records.user("deploy it now", origin={"kind": "peer"})
    records.user("wake up and look", promptSource="system")
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "push to main"}
    records.add("attachment", attachment={**queued, "origin": {"kind": "peer"}})
    records.add("attachment", attachment={**queued, "origin": {"kind": "human"}, "isMeta": True})
    records.add("attachment", attachment={**queued, "isMeta": False, "prompt": "thanks"})
    records.assistant("m2", text("2"))
    for source in ("typed", "sdk", "suggestion_accepted"):
        records.user(source, promptSource=source)
        records.assistant(f"m-{source}", text("3"))
    turns, _ = records.read()
    said = ["one", "thanks", "typed", "sdk", "suggestion_accepted"]
    assert [t.user_message for t in turns] == said
    assert [t.exchange for t in turns] == [0, 0, 1, 2, 3]


def test_instruction_files_the_agent_was_given_are_notes() -> None:
    records = Records()
    records.user("one")
    memory = {"type": "nested_memory", "path": "/h/CLAUDE.md", "content": "Use tabs."}
    records.add("attachment", attachment=memory)
    records.assistant("m1", text("1"))
    turns, _ = records.read()
    assert turns[0].notes == (Note(kind="instructions", text="/h/CLAUDE.md\nUse tabs."),)


def test_a_rewind_follows_the_live_chain() -> None:
    records = Records()
    records.user("one")
    fork = records.assistant("m1", text("1"))
    records.user("two")
    records.assistant("m2", text("2"))
    records.user("three")
    records.assistant("m3", text("3"))
    records.user("two, but better", parent=fork)
    records.assistant("m4", text("2b"))
    turns, log = records.read()
    assert [t.index for t in turns] == [0, 1, 2, 1], "t2 happened too, and is taken back"
    assert turns[-1].user_message == "two, but better"
    assert turns[-1].exchange == 1
    assert (log.rewound, log.lengths[0, ""]) == (2, 2)


def test_a_rewind_takes_back_the_compactions_behind_it() -> None:
    records = Records()
    records.user("one")
    fork = records.assistant("m1", text("1"))
    records.user("two")
    records.assistant("m2", text("2"))
    records.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    records.user("This session is being continued from …", isCompactSummary=True)
    records.user("two, but better", parent=fork)
    records.assistant("m3", text("2b"))
    _, log = records.read()
    assert log.compactions == []


def test_parallel_results_hanging_on_earlier_records_are_no_rewind() -> None:
    records = Records()
    records.user("one")
    first = records.assistant("m1", use("c1", command="a"))
    records.assistant("m1", use("c2", command="b"))
    records.result("c2", "B")
    records.result("c1", "A", parent=first)
    records.user("two")
    records.assistant("m2", text("2"))
    turns, log = records.read()
    assert [t.index for t in turns] == [0, 1]
    assert log.rewound == 0


def test_a_new_chain_begins_with_a_cleared_context_and_keeps_what_was() -> None:
    """After a plan is approved the client may clear the context: no turn is taken back."""
    records = Records()
    records.user("plan it")
    records.assistant("m1", text("planned"))
    records.user("Implement the plan", parent=None)
    records.assistant("m2", text("done"))
    turns, log = records.read()
    assert [t.index for t in turns] == [0, 1]
    assert [(c.turn, c.name) for c in log.changes if c.name == "start"] == [(1, "start")]


def test_a_compaction_by_the_client_is_exposed_and_is_not_a_prompt() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.add(
        "system",
        parent=None,
        subtype="compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 160_000},
    )
    records.user("This session is being continued from …", isCompactSummary=True)
    records.user("two")
    records.assistant("m2", text("2"))
    records.add(
        "system",
        subtype="microcompact_boundary",
        microcompactMetadata={"trigger": "auto", "preTokens": 50_000, "tokensSaved": 20_000},
    )
    turns, log = records.read()
    assert [t.user_message for t in turns] == ["one", "two"]
    summary, cleared = log.compactions
    assert (summary.kind, summary.turn, summary.trigger) == ("summary", 1, "auto")
    assert (summary.tokens_before, summary.source.first, summary.source.last) == (160_000, 2, 3)
    assert summary.summary.startswith("This session is being continued")
    assert (cleared.kind, cleared.turn, cleared.tokens_after) == ("outputs_cleared", 2, 30_000)


def test_sub_agents_in_progress_records_are_conversations_of_their_own() -> None:
    records = Records()
    records.user("explore")
    records.assistant("m1", use("c1", "Task", prompt="Find it"))
    for number, (kind, message) in enumerate(
        [
            ("user", {"role": "user", "content": [text("Find it")]}),
            ("assistant", {"id": "a1", "content": [use("g1", "Grep", pattern="x")]}),
            (
                "user",
                {"content": [{"type": "tool_result", "tool_use_id": "g1", "content": "x.py"}]},
            ),
            ("assistant", {"id": "a2", "content": [text("It is in x.py")]}),
        ]
    ):
        inner = {"type": kind, "message": message, "uuid": f"inner{number}"}
        data = {"type": "agent_progress", "agentId": "ag1", "message": inner}
        records.add("progress", data=data, parentToolUseID="c1")
        records.add("progress", data=data, parentToolUseID="c1")  # clients repeat some
    records.result("c1", "It is in x.py")
    records.assistant("m2", text("Found."))
    turns, log = records.read()
    assert [t.assistant_response for t in turns if not t.agent] == ["", "Found."]
    inner_turns = [t for t in turns if t.agent == "ag1"]
    assert [len(t.tool_calls) for t in inner_turns] == [1, 0]
    assert inner_turns[0].tool_results[0].output == "x.py"
    assert log.delegated_by == {"ag1": "c1"}
    assert log.damage == []


def test_sidechains_without_an_agent_id_are_linked_by_their_prompt() -> None:
    records = Records()
    records.user("explore")
    records.assistant("m1", use("c1", "Task", prompt="Find it"))
    root = records.user("Find it", parent=None, isSidechain=True)
    records.assistant("a1", text("There"), parent=root, isSidechain=True)
    turns, log = records.read()
    (agent,) = {t.agent for t in turns if t.agent}
    assert log.delegated_by == {agent: "c1"}


def test_session_facts_are_kept_with_their_changes() -> None:
    records = Records()
    records.user("one", gitBranch="main", permissionMode="plan", slug="calm-sea", version="2.1.0")
    records.assistant("m1", text("1"), gitBranch="main")
    records.user("two", gitBranch="feature", permissionMode="default")
    records.assistant("m2", text("2"), gitBranch="feature")
    records.raw({"type": "custom-title", "customTitle": "Berths", "sessionId": "s1"})
    _, log = records.read()
    facts = log.facts()
    assert facts.latest("mode") == "default"
    assert facts.latest("plan_file") == "calm-sea.md"
    assert facts.latest("title") == "Berths"
    assert [(c.turn, c.value) for c in facts.changes if c.name == "branch"] == [
        (0, "main"),
        (1, "feature"),
    ]
    assert facts.latest("root") == "/home/sam/harbor"


def test_the_web_export_is_read_too() -> None:
    data = b"""{
  "loglines": [
    {"type": "user", "message": {"role": "user", "content": "hello"}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "hi"}]}}
  ]
}"""
    from kedgeline.pipeline.read import read

    transcript = read(data, format="claude-code")
    assert [(t.user_message, t.assistant_response) for t in transcript.turns] == [("hello", "hi")]
    assert load_format("claude-code").sniff(Head(data)) == 3


def test_previous_error_lasts_until_the_same_thing_succeeds() -> None:
    records = Records()
    records.user("test")
    records.assistant("m1", use("c1", command="make test"))
    records.result("c1", "Exit code 1\n", is_error=True)
    records.assistant("m2", use("c2", "Edit", file_path="/a"))
    records.result("c2")
    records.assistant("m3", use("c3", command="make test"))
    records.result("c3")
    records.assistant("m4", text("green"))
    turns, _ = records.read()
    assert [t.previous_error for t in turns] == [False, True, True, False]


def test_previous_error_does_not_outlive_the_next_request() -> None:
    records = Records()
    records.user("test")
    records.assistant("m1", use("c1", command="make test"))
    records.result("c1", "Exit code 1\n", is_error=True)
    records.assistant("m2", text("it fails"))
    records.user("leave it, write the docs")
    records.assistant("m3", text("docs"))
    turns, _ = records.read()
    assert [t.previous_error for t in turns] == [False, True, False]


def test_where_a_turn_stands() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", text("1"))
    records.user("two")
    records.assistant("m2", text("2"))
    turns, _ = records.read()
    data = b"".join(records.lines)
    second = turns[1].source
    assert (second.first, second.last) == (2, 3)
    assert data[second.start : second.end] == b"".join(records.lines[2:])


def test_text_parts_know_whether_they_were_queued() -> None:
    records = Records()
    records.user("one")
    records.assistant("m1", use("c1", command="x"))
    records.add("queue-operation", operation="enqueue", content="faster")
    records.add("queue-operation", operation="remove")
    records.result("c1")
    records.assistant("m2", text("ok"))
    turns, _ = records.read()
    said = [
        p for m in turns[1].messages for p in m.parts if isinstance(p, Text) and m.role == "user"
    ]
    assert said == [Text(text="faster", queued=True)]
