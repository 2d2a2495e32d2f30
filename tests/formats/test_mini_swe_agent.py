"""mini-swe-agent: one shell command an answer, and its observation in the user's place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.mini_swe_agent import FORMAT
from kedgeline.formats.log import Log
from kedgeline.formats.registry import FileHead
from kedgeline.model import Turn, Usage

TASK = {"role": "user", "content": "Solve this: the parser hangs."}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def act(command: str, *, fence: str = "mswea_bash_command", words: str = "") -> dict[str, Any]:
    return {"role": "assistant", "content": f"{words}\n\n```{fence}\n{command}\n```"}


def observed(code: int, output: str = "") -> dict[str, Any]:
    return user(f"<returncode>{code}</returncode>\n<output>\n{output}</output>")


def read(*messages: dict[str, Any], **around: Any) -> tuple[list[Turn], Log]:
    log = Log()
    document = {"messages": list(messages), **around} if around else list(messages)
    return list(FORMAT.read([json.dumps(document).encode()], log)), log


@pytest.mark.parametrize("fence", ["bash", "mswea_bash_command", "sh"])
def test_the_fenced_command_is_the_call_and_the_observation_its_result(fence: str) -> None:
    turns, log = read(
        {"role": "system", "content": "You are an assistant."},
        TASK,
        act("pytest -q", fence=fence, words="THOUGHT: run the tests."),
        observed(1, "1 failed\n"),
        act("ls", fence=fence),
        observed(0),
    )
    assert [turn.user_message for turn in turns] == [TASK["content"], ""]
    assert [turn.assistant_response for turn in turns] == ["THOUGHT: run the tests.", ""]
    assert [turn.tool_calls[0].tool for turn in turns] == ["bash", "bash"]
    assert [turn.tool_calls[0].parameters["command"] for turn in turns] == ["pytest -q", "ls"]
    results = [turn.tool_results[0] for turn in turns]
    assert [(result.success, result.exit_code) for result in results] == [(False, 1), (True, 0)]
    assert "1 failed" in (results[0].error or "")
    assert (len(log.heads[0]), log.damage) == (1, [])


def test_output_that_speaks_of_another_return_code_does_not_decide() -> None:
    turns, _ = read(TASK, act("cat log"), observed(0, "<returncode>1</returncode>\n"))
    assert turns[0].tool_results[0].exit_code == 0


def test_a_shell_example_beside_the_action_is_not_the_action() -> None:
    answer = "Like so:\n```bash\nrm -r old\n```\nBut first:\n```mswea_bash_command\nls\n```"
    turns, _ = read(TASK, {"role": "assistant", "content": answer}, observed(0))
    assert [call.parameters for call in turns[0].tool_calls] == [{"command": "ls"}]
    assert turns[0].assistant_response == "Like so:\n```bash\nrm -r old\n```\nBut first:"


def test_with_several_actions_nothing_ran_and_the_complaint_is_not_the_users() -> None:
    answer = "```bash\nls\n```\n```bash\nrm x\n```"
    turns, _ = read(
        TASK,
        {"role": "assistant", "content": answer},
        user("One action only, not 2."),
        act("ls"),
    )
    assert (turns[0].tool_calls, turns[0].assistant_response) == ((), answer)
    assert (turns[1].user_message, [note.kind for note in turns[1].notes]) == ("", ["injected"])


def test_the_submission_is_the_result_of_the_command_that_submits() -> None:
    turns, log = read(TASK, act("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), user("diff --git"))
    assert (turns[0].tool_results[0].output, turns[0].tool_results[0].success) == (
        "diff --git",
        True,
    )
    assert log.pending == {}


def test_a_timeout_is_a_failure() -> None:
    killed = "The last command <command>sleep 9</command> timed out and has been killed.\n"
    turns, _ = read(TASK, act("sleep 9"), user(killed))
    assert turns[0].tool_results[0].success is False


def test_a_rejected_command_is_refused_and_its_reason_is_the_users_words() -> None:
    rejected = (
        "Commands not executed. The user rejected your commands with the following message: use uv"
    )
    turns, _ = read(TASK, act("pip install x"), user(rejected), act("uv add x"))
    result = turns[0].tool_results[0]
    assert (result.refused, result.failed, result.reason) == (True, False, "use uv")
    assert [turn.user_words() for turn in turns[1:]] == [()]


def test_what_the_user_types_in_between_is_the_users() -> None:
    turns, log = read(
        TASK,
        act("ls"),
        user("Interrupted by user: look at the docs first"),
        act("cat docs"),
        observed(0),
        act("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
        user("The user added a new task: now write tests"),
        act("ls tests"),
        observed(0),
    )
    said = [turn.user_message for turn in turns]
    assert said == [TASK["content"], "look at the docs first", "", "now write tests"]
    assert turns[0].tool_results[0].interrupted
    assert [note.kind for note in turns[1].notes] == ["interruption"]
    assert [turn.exchange for turn in turns] == [0, 1, 1, 2]
    assert log.damage == []


def test_a_command_the_user_ran_is_a_note_and_so_is_its_output() -> None:
    turns, _ = read(
        TASK, user("User command: \n```bash\ngit status\n```"), observed(0, "clean"), act("ls")
    )
    assert turns[0].user_message == TASK["content"]
    assert [(note.kind, note.text[:10]) for note in turns[0].notes] == [
        ("shell", "git status"),
        ("shell_output", "<returncod"),
    ]


def test_newer_versions_call_tools_and_keep_exit_codes_beside_the_text() -> None:
    function = {"name": "bash", "arguments": '{"command": "pytest"}'}
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    usage["prompt_tokens_details"] = {"cached_tokens": 60}  # type: ignore[assignment]
    turns, log = read(
        TASK,
        {
            "role": "assistant",
            "content": "Run it.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            "extra": {"response": {"model": "m-1", "usage": usage}, "timestamp": 1_753_000_000.5},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "boom", "extra": {"returncode": 2}},
        {"role": "exit", "content": "limits", "extra": {"exit_status": "LimitsExceeded"}},
        trajectory_format="mini-swe-agent-1.1",
        info={"mini_version": "2.0.0", "config": {"environment": {"cwd": "/repo"}}},
    )
    assert turns[0].tool_calls[0].parameters == {"command": "pytest"}
    assert (turns[0].tool_results[0].exit_code, turns[0].tool_results[0].success) == (2, False)
    assert (turns[0].model, turns[0].usage) == ("m-1", Usage(input=40, output=7, cache_read=60))
    assert turns[0].timestamp is not None
    facts = log.facts()
    assert (facts.latest("client"), facts.latest("root")) == ("mini-swe-agent 2.0.0", "/repo")
    assert [note.kind for note in log.pending[0, ""].notes] == ["injected"]


def test_a_call_that_was_not_executed_is_refused_and_the_message_behind_it_the_users() -> None:
    function = {"name": "bash", "arguments": '{"command": "rm x"}'}
    extra = {"returncode": -1, "exception_info": "action was not executed"}
    rejected = (
        "Commands not executed. The user rejected your commands with the following message: no!"
    )
    turns, _ = read(
        TASK,
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "", "extra": extra},
        user(rejected, extra={"interrupt_type": "UserRejection"}),
        act("ls"),
    )
    assert (turns[0].tool_results[0].refused, turns[1].user_message) == (True, "no!")


def test_the_responses_api_is_read_too() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    words = {"type": "message", "content": [{"type": "output_text", "text": "Look."}]}
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    turns, _ = read(
        TASK,
        {"object": "response", "output": [reasoning, words, call]},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {}},
    )
    assert (turns[0].thinking, turns[0].assistant_response) == ("hm", "Look.")
    assert turns[0].tool_results[0].output == "a.py"


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([TASK, act("ls"), observed(0)], 3),
        ([TASK, act("ls")], 3),
        ({"trajectory_format": "mini-swe-agent-1", "messages": []}, 3),
        ({"info": {"mini_version": "1.0"}, "messages": []}, 3),
        ([TASK, act("ls", fence="bash"), user("thanks")], 0),
        ([TASK, {"role": "assistant", "content": "<returncode>0</returncode>"}], 0),
        ([user("what does <returncode>1</returncode> mean?")], 0),
    ],
)
def test_an_ordinary_chat_is_not_claimed(document: Any, sure: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(document).encode())) == sure
