"""mini-swe-agent: one shell command an answer, and its observation in the user's place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.mini_swe_agent import FORMAT
from kedgeline.formats.registry import FileHead
from tests.formats.handmade import Was, read

TASK = {"role": "user", "content": "Solve this."}
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def said(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def act(command: str, *, fence: str = "mswea_bash_command", words: str = "") -> dict[str, Any]:
    return said(f"{words}\n\n```{fence}\n{command}\n```")


def observed(code: int, output: str = "") -> dict[str, Any]:
    return user(f"<returncode>{code}</returncode>\n<output>\n{output}</output>")


def session(*messages: dict[str, Any], **around: Any) -> Was:
    document = {"messages": list(messages), **around} if around else list(messages)
    return read(FORMAT, json.dumps(document))


def calling(command: str, **more: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}], **more}


def returned(content: str, **extra: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": content, "extra": extra}


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 60},
}
BESIDE = "Like so:\n```bash\nrm -r old\n```\nBut first:"
TWO = "```bash\nls\n```\n```bash\nrm x\n```"
REJECTED = "Commands not executed. The user rejected your commands with the following message: "
KILLED = "The last command <command>sleep 9</command> timed out and has been killed.\n"
OK = "<returncode>0</returncode>⏎<output>⏎</output>"
RESPONSE = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "message", "content": [{"type": "output_text", "text": "Look."}]},
    {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
]
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "output that speaks of another return code does not decide": (
        [TASK, act("cat log"), observed(0, "<returncode>1</returncode>\n")],
        [
            "0.0 > Solve this. | bash(command=cat log) =0 <returncode>0</returncode>⏎<output>⏎"
            "<returncode>1</returncode>⏎</output>"
        ],
    ),
    "a shell example beside the action is not the action": (
        [TASK, said(f"{BESIDE}\n```mswea_bash_command\nls\n```"), observed(0)],
        ["0.0 > Solve this. | " + BESIDE.replace("\n", "⏎") + f" | bash(command=ls) =0 {OK}"],
    ),
    "with several actions nothing ran and the complaint is not the user's": (
        [TASK, said(TWO), user("One action only, not 2."), act("ls")],
        [
            "0.0 > Solve this. | " + TWO.replace("\n", "⏎"),
            "1.0 {injected: One action only, not 2.} | bash(command=ls)",
        ],
    ),
    "the submission is the result of the command that submits": (
        [TASK, act(SUBMIT), user("diff --git")],
        [f"0.0 > Solve this. | bash(command={SUBMIT}) = diff --git"],
    ),
    "a timeout is a failure": (
        [TASK, act("sleep 9"), user(KILLED)],
        ["0.0 > Solve this. | bash(command=sleep 9) ! " + KILLED.replace("\n", "⏎")],
    ),
    "a rejected command is refused and its reason is the user's words": (
        [TASK, act("pip install x"), user(f"{REJECTED}use uv"), act("uv add x")],
        [
            "0.0 > Solve this. | bash(command=pip install x) refused for use uv ! "
            f"{REJECTED}use uv",
            "1.0 bash(command=uv add x)",
        ],
    ),
    "what the user types in between is the user's": (
        [
            *(TASK, act("ls"), user("Interrupted by user: look at the docs first")),
            *(act("cat docs"), observed(0), act(SUBMIT)),
            *(user("The user added a new task: now write tests"), act("ls tests"), observed(0)),
        ],
        [
            "0.0 > Solve this. | bash(command=ls) stopped ! "
            "Interrupted by user: look at the docs first",
            "1.1 {interruption: Interrupted by user: look at the docs first} | "
            f"> look at the docs first | bash(command=cat docs) =0 {OK}",
            f"2.1 bash(command={SUBMIT}) =",
            f"3.2 > now write tests | bash(command=ls tests) =0 {OK}",
        ],
    ),
    "a command the user ran is a note and so is its output": (
        [TASK, user("User command: \n```bash\ngit status\n```"), observed(0), act("ls")],
        [f"0.0 {{shell: git status}} | {{shell_output: {OK}}} | > Solve this. | bash(command=ls)"],
    ),
    "a call that was not executed is refused and the message behind it the user's": (
        [
            *(TASK, calling("rm x")),
            returned("", returncode=-1, exception_info="action was not executed"),
            *(user(f"{REJECTED}no!", extra={"interrupt_type": "UserRejection"}), act("ls")),
        ],
        ["0.0 > Solve this. | bash(command=rm x) refused !", "1.1 > no! | bash(command=ls)"],
    ),
    "the Responses API": (
        [
            *(TASK, {"object": "response", "output": RESPONSE}),
            {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {}},
        ],
        ["0.0 > Solve this. | ~hm~ | Look. | bash() = a.py"],
    ),
}


@pytest.mark.parametrize(("messages", "told"), TOLD.values(), ids=TOLD)
def test_what_a_run_tells(messages: list[Any], told: list[str]) -> None:
    assert session(*messages).told == told


@pytest.mark.parametrize("fence", ["bash", "mswea_bash_command", "sh"])
def test_the_fenced_command_is_the_call_and_the_observation_its_result(fence: str) -> None:
    was = session(
        *({"role": "system", "content": "You help."}, TASK),
        *(
            act("pytest -q", fence=fence, words="THOUGHT: run the tests."),
            observed(1, "1 failed\n"),
        ),
        *(act("ls", fence=fence), observed(0)),
    )
    assert was.told == [
        "0.0 > Solve this. | THOUGHT: run the tests. | bash(command=pytest -q) !1 "
        "<returncode>1</returncode>⏎<output>⏎1 failed⏎</output>",
        f"1.0 bash(command=ls) =0 {OK}",
        "system: You help.",
    ]


def test_newer_versions_call_tools_and_keep_exit_codes_beside_the_text() -> None:
    extra = {"response": {"model": "m-1", "usage": USAGE}, "timestamp": 1_753_000_000.5}
    was = session(
        *(TASK, calling("pytest", content="Run it.", extra=extra), returned("boom", returncode=2)),
        {"role": "exit", "content": "limits", "extra": {"exit_status": "LimitsExceeded"}},
        trajectory_format="mini-swe-agent-1.1",
        info={"mini_version": "2.0.0", "config": {"environment": {"cwd": "/repo"}}},
    )
    assert was.told == [
        "0.0 > Solve this. | Run it. | bash(command=pytest) !2 boom | $40+60+0>7",
        ".. {injected: limits}",
    ]
    assert (was.turns[0].model, was.turns[0].timestamp is None) == ("m-1", False)
    assert was.facts == ["0 client mini-swe-agent 2.0.0", "0 root /repo"]


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([TASK, act("ls"), observed(0)], 3),
        ([TASK, act("ls")], 3),
        ({"trajectory_format": "mini-swe-agent-1", "messages": []}, 3),
        ({"info": {"mini_version": "1.0"}, "messages": []}, 3),
        ([TASK, act("ls", fence="bash"), user("thanks")], 0),
        ([TASK, said("<returncode>0</returncode>")], 0),
        ([user("what does <returncode>1</returncode> mean?")], 0),
    ],
)
def test_an_ordinary_chat_is_not_claimed(document: Any, sure: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(document).encode())) == sure
