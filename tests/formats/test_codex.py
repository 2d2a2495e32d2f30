"""Codex rollouts: two streams that tell one story, and outputs that carry their own exit code."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.formats.agents.codex import FORMAT
from kedgeline.model import Text, Thinking, Usage
from tests.formats.codex_rollout import (
    META,
    WRAPPED,
    call,
    event,
    item,
    output,
    reasoning,
    record,
    result,
    said,
    session,
    tokens,
    user,
)
from tests.formats.handmade import lines, notes, read


def test_the_items_of_one_answer_are_one_turn() -> None:
    was = session(
        user("what is here?"),
        reasoning("look first"),
        said("Looking."),
        call("c1", "ls"),
        call("c2", "pwd"),
        output("c1", "a.py"),
        output("c2", "/home"),
        said("One file."),
    )
    first, second = was.turns
    assert (first.user_message, first.thinking) == ("what is here?", "look first")
    assert first.assistant_response == "Looking."
    assert [c.parameters["command"][-1] for c in first.tool_calls] == ["ls", "pwd"]
    assert [r.output for r in first.tool_results] == ["a.py", "/home"]
    assert (second.assistant_response, second.user_message) == ("One file.", "")
    assert was.log.damage == []


def test_context_that_nobody_typed_is_not_the_users() -> None:
    was = session(
        user("<environment_context>\n<cwd>/x</cwd></environment_context>"),
        user("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe kind"),
        user("<user_instructions>be brief</user_instructions>"),
        item("message", role="developer", content=[{"type": "input_text", "text": "sandboxed"}]),
        user(
            "# Context from my IDE setup:\n\n## Active file: a.py\n\n"
            "## My request for Codex:\nfix a.py\n"
        ),
        said("Fixed."),
    )
    (turn,) = was.turns
    assert turn.user_message == "fix a.py"
    assert [n.kind for n in turn.notes] == [
        "environment",
        "instructions",
        "instructions",
        "environment",
    ]
    assert "## Active file: a.py" in turn.notes[3].text
    assert [m.parts for m in turn.messages if m.role == "system"] == [(Text(text="sandboxed"),)]
    assert turn.exchange == 0


def test_instructions_and_the_system_prompt_of_the_session() -> None:
    meta = {**META, "instructions": "never push", "base_instructions": {"text": "You are Codex."}}
    was = read(FORMAT, lines([record("session_meta", **meta), user("hi"), said("Hello.")]))
    assert was.log.heads[0][0].parts == (Text(text="You are Codex."),)
    assert notes(was.turns[0], "instructions") == ["never push"]


def test_session_facts_and_their_changes() -> None:
    context = {"cwd": "/home/sam/harbor", "approval_policy": "on-request", "model": "gpt-5-codex"}
    was = session(
        user("a"),
        record("turn_context", **context),
        said("A."),
        event("thread_name_updated", thread_name="Tides"),
        user("b"),
        record("turn_context", **{**context, "cwd": "/home/sam/quay", "model": "gpt-5"}),
        said("B."),
        record("session_meta", **{**META, "id": "s-0"}),
    )
    log = was.log
    assert [(c.name, c.value, c.turn) for c in log.changes if c.name in ("root", "model")] == [
        ("root", "/home/sam/harbor", 0),
        ("model", "gpt-5-codex", 0),
        ("root", "/home/sam/quay", 1),
        ("model", "gpt-5", 1),
    ]
    assert [log.latest(n) for n in ("id", "branch", "client", "mode", "title")] == [
        "s-1",
        "tide",
        "codex 0.50.0",
        "on-request",
        "Tides",
    ]
    assert [t.model for t in was.turns] == ["gpt-5-codex", "gpt-5"]


def test_a_sandbox_is_the_mode_where_no_policy_is_named() -> None:
    was = session(
        record("turn_context", approval_policy=None, sandbox_policy={"mode": "read-only"})
    )
    assert was.log.latest("mode") == "read-only"


def test_an_earlier_compaction() -> None:
    was = session(
        user("a"), said("A."), record("compacted", message="so far: A"), user("b"), said("B.")
    )
    (compaction,) = was.log.compactions
    assert (compaction.by, compaction.turn, compaction.summary) == ("codex", 1, "so far: A")
    assert (compaction.source.first, len(was.turns)) == (3, 2)


def test_unknown_types_are_counted_and_wrong_shapes_reported() -> None:
    was = session(
        record("weather"),
        item("poem"),
        event("rainbow"),
        {"timestamp": "", "type": "response_item", "payload": 5},
        user("hi"),
        said("Hello."),
    )
    assert dict(was.log.ignored) == {"weather": 1, "response_item/poem": 1, "event_msg/rainbow": 1}
    assert [d.kind for d in was.log.damage] == ["shape"]
    assert len(was.turns) == 1


def test_what_the_summariser_wrote_is_no_answer_of_the_agent() -> None:
    was = session(
        user("a"),
        said("A."),
        user("b"),
        said("The lamp is lit."),
        record("compacted", message="Another model began.\nThe lamp is lit."),
        user("c"),
        said("C."),
    )
    assert [turn.assistant_response for turn in was.turns] == ["A.", "C."]
    assert [one.summary for one in was.log.compactions] == [
        "Another model began.\nThe lamp is lit."
    ]


def test_an_answer_that_is_no_part_of_the_summary_stands() -> None:
    was = session(user("a"), said("Lit."), record("compacted", message="The lamp was mended."))
    assert [turn.assistant_response for turn in was.turns] == ["Lit."]


# What stands only in the events of a rollout: reasoning, token counts, rollbacks.


def test_events_that_repeat_items_are_not_read_twice() -> None:
    was = session(
        user("hello"),
        event("user_message", message="hello"),
        event("agent_reasoning", text="a greeting"),
        event("agent_message", message="Hi."),
        reasoning("a greeting"),
        said("Hi."),
    )
    (turn,) = was.turns
    assert (turn.user_message, turn.assistant_response) == ("hello", "Hi.")
    assert turn.thinking == "a greeting"


@pytest.mark.parametrize("behind", [False, True], ids=["before the item", "behind it"])
def test_a_sealed_reasoning_item_gets_the_text_the_event_told(behind: bool) -> None:
    told, sealed = event("agent_reasoning", text="in the open"), reasoning()
    was = session(user("go"), *((sealed, told) if behind else (told, sealed)), said("Gone."))
    thought = [p for m in was.turns[0].messages for p in m.parts if isinstance(p, Thinking)]
    assert thought == [Thinking(text="in the open", signature="seal")]


def test_reasoning_of_an_answer_that_was_interrupted_is_kept() -> None:
    """The client writes the items only once the answer is complete."""
    was = session(
        user("go"),
        event("agent_reasoning", text="half a thought"),
        event("turn_aborted", reason="interrupted"),
        user("stop that"),
        said("Stopped."),
    )
    assert [t.thinking for t in was.turns] == ["half a thought", ""]
    assert notes(was.turns[1], "interruption") == ["interrupted"]


@pytest.mark.parametrize("behind", [False, True], ids=["before the items", "behind them"])
def test_a_token_count_goes_to_its_own_answer(behind: bool) -> None:
    first, second = tokens(100, 60, 5, total=105), tokens(200, 150, 7, total=312)
    one, two = [call("c1")], [said("Done.")]
    answers = (*one, first, output("c1"), *two, second)
    if not behind:
        answers = (first, record("turn_context"), *one, output("c1"), second, *two)
    was = session(user("go"), *answers)
    assert [t.usage for t in was.turns] == [
        Usage(input=40, output=5, cache_read=60),
        Usage(input=50, output=7, cache_read=150),
    ]


def test_a_count_that_repeats_the_last_one_is_nobodys() -> None:
    """Clients write the last count again whenever a rate limit changes."""
    count = tokens(100, 60, 5, total=105)
    was = session(user("a"), count, said("A."), user("b"), count, said("B."))
    assert [t.usage is None for t in was.turns] == [False, True]


def test_an_interruption_that_stands_as_message_and_event_is_noted_once() -> None:
    marker = user("<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>")
    was = session(
        user("a"),
        said("A."),
        marker,
        event("turn_aborted", reason="interrupted"),
        user("b"),
        said("B."),
    )
    assert len(notes(was.turns[1], "interruption")) == 1
    assert was.turns[1].user_message == "b"


def test_requests_that_were_rolled_back_no_longer_stand() -> None:
    was = session(
        user("a"), said("A."),
        user("b"), call("c1"), output("c1"), said("B."),
        event("thread_rolled_back", num_turns=1),
        user("c"), said("C."),
    )  # fmt: skip
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("a", 0), ("c", 1)]
    assert was.log.rewound == 2


def test_rolling_back_one_of_two_unanswered_requests_keeps_the_other() -> None:
    """Both were interrupted before an answer came; only the last was taken back."""
    was = session(
        user("a"), said("A."),
        user("keep this"), event("turn_aborted", reason="interrupted"),
        user("not this"), event("thread_rolled_back", num_turns=1),
        user("and this"), said("B."),
    )  # fmt: skip
    assert [t.user_message for t in was.standing()] == ["a", "keep this\n\nand this"]


# What Codex says of its calls: exit codes, refusals, flags, and events that tell how one ended.


HEADED = "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno such file"


PROCESS = "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine\n"


RUNNING = "Wall time: 10.0 seconds\nProcess running with session ID 4\nOutput:\nwaiting"


@pytest.mark.parametrize(
    ("text", "success", "code", "shown"),
    [
        (WRAPPED, False, 1, "3 failed\n"),
        ('{"output":"ok","metadata":{"exit_code":0}}', True, 0, "ok"),
        (HEADED, False, 2, "no such file"),
        (PROCESS, True, 0, "fine\n"),
        (RUNNING, True, None, RUNNING),
        ("Plan updated", True, None, "Plan updated"),
        (
            "apply_patch verification failed: no lines",
            False,
            None,
            "apply_patch verification failed: no lines",
        ),
        ({"content": "no", "success": False}, False, None, "no"),
        ({"content": "yes", "success": True}, True, None, "yes"),
        ([{"type": "input_text", "text": "seen"}], True, None, "seen"),
        ('{"output": 1}', True, None, '{"output": 1}'),
        ("{torn", True, None, "{torn"),
        (None, True, None, ""),
    ],
)
def test_success_and_exit_code_of_an_output(
    text: Any, success: bool, code: int | None, shown: str
) -> None:
    got = result(text)
    assert (got.success, got.exit_code, got.output) == (success, code, shown)
    assert got.error == (None if success else shown)


@pytest.mark.parametrize(
    "text",
    [
        '{"output":"exec command rejected by user","metadata":{"exit_code":0}}',
        "Exit code: 0\nWall time: 1 s\nOutput:\npatch rejected by user\nProcess exited with code 3",
        "the log says: Exit code: 1",
    ],
)
def test_words_of_the_client_inside_an_output_are_the_tools(text: str) -> None:
    """A command printed them; only what the client itself writes says how a call ended."""
    got = result(text)
    assert (got.success, got.refused) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "exec command rejected by user",
        "patch rejected by user",
        'exec_command failed for `rm x`: CreateProcess { message: "Rejected("rejected by user")" }',
    ],
)
def test_a_call_the_user_declines_is_refused_and_not_failed(text: str) -> None:
    got = result(text)
    assert (got.refused, got.failed, got.error, got.exit_code) == (True, False, None, None)


@pytest.mark.parametrize(
    ("text", "refused", "success"),
    [
        ("exec command rejected by user", False, True),
        ("execution error: none, all is well", False, True),
        ("aborted", False, True),
        (WRAPPED, False, True),
        ("user rejected MCP tool call", True, False),
    ],
)
def test_a_servers_tool_cannot_speak_as_the_client(text: str, refused: bool, success: bool) -> None:
    was = session(user("go"), call("c1", name="mcp__quay__moor"), output("c1", text))
    got = was.turns[0].tool_results[0]
    assert (got.refused, got.success, got.interrupted) == (refused, success, False)


def test_a_call_that_was_interrupted() -> None:
    got = result("aborted by user after 3.2s")
    assert (got.interrupted, got.success, got.refused) == (True, False, False)


def test_a_flag_beside_the_output_counts() -> None:
    assert [result("no", success=flag).success for flag in (True, False, "no")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("fields", "success", "change", "refused"),
    [
        ({"type": "patch_apply_end", "success": False}, False, "", False),
        (
            {"type": "patch_apply_end", "success": True, "changes": {"/a": {"type": "add"}}},
            True,
            "create",
            False,
        ),
        ({"type": "exec_command_end", "exit_code": 4}, False, "", False),
        ({"type": "exec_command_end", "status": "declined"}, False, "", True),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"isError": True}}}, False, "", False),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": []}}}, True, "", False),
    ],
)
def test_what_an_event_says_of_a_call_is_believed(
    fields: dict[str, Any], success: bool, change: str, refused: bool
) -> None:
    was = session(
        user("go"), call("c1"), event(call_id="c1", kind=fields.pop("type"), **fields), output("c1")
    )
    got = was.turns[0].tool_results[0]
    assert (got.success, got.change, got.refused) == (success, change, refused)


def test_a_patch_given_as_free_text() -> None:
    patch = "*** Begin Patch\n*** Update File: src/tide.py\n@@\n*** End Patch"
    was = session(
        user("go"),
        item("custom_tool_call", name="apply_patch", input=patch, call_id="c1", status="completed"),
        item(
            "custom_tool_call_output",
            call_id="c1",
            output='{"output":"Success","metadata":{"exit_code":0}}',
        ),
    )
    (made,) = was.turns[0].tool_calls
    assert (made.parameters, made.verb, made.paths()) == (
        {"input": patch},
        "edit",
        ("src/tide.py",),
    )
    assert was.turns[0].tool_results[0].output == "Success"


def test_a_local_shell_call_and_its_output() -> None:
    action = {"type": "exec", "command": ["ls"], "working_directory": "/home/sam"}
    was = session(
        user("go"),
        item("local_shell_call", call_id="c1", status="completed", action=action),
        output("c1", "a.py"),
    )
    (made,) = was.turns[0].tool_calls
    assert (made.tool, made.verb, made.parameters["command"]) == ("local_shell", "run", ["ls"])
    assert was.turns[0].result_of(made) is not None


def test_a_web_search_is_answered_inside_and_does_not_split_the_answer() -> None:
    was = session(
        user("tides?"),
        item("web_search_call", status="completed", action={"type": "search", "query": "tides"}),
        said("Twice a day."),
        user("thanks"),
    )
    (turn,) = was.turns
    assert (turn.tool_calls[0].tool, turn.tool_calls[0].verb) == ("web_search", "web_search")
    assert turn.tool_calls[0].parameters == {"query": "tides"}
    assert [r.success for r in turn.tool_results] == [True]
    assert turn.assistant_response == "Twice a day."
    assert was.log.damage == []
