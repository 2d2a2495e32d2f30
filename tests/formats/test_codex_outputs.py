"""What Codex says of its calls: exit codes, refusals, flags, and events that tell how one ended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.codex_rollout import (
    WRAPPED,
    call,
    event,
    item,
    output,
    result,
    said,
    session,
    user,
)

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
