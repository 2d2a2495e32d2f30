"""Codex rollouts: two streams that tell one story, and outputs that carry their own exit code."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.formats.agents.codex import FORMAT
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
from tests.formats.handmade import came, lines, read

ABORTED = event("turn_aborted", reason="interrupted")
MARKER = user("<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>")
IDE = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix a.py\n"
SUMMARY = "Another model began.\nThe lamp is lit."
CONTEXT = {"cwd": "/home/sam/harbor", "approval_policy": "on-request", "model": "gpt-5-codex"}
PATCH = "*** Begin Patch\n*** Update File: src/tide.py\n@@\n*** End Patch"
LS = 'shell(command=["bash", "-lc", "ls"])'
COUNT = tokens(100, 60, 5, total=105)
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "the items of one answer are one turn": (
        [
            *(user("what is here?"), reasoning("look first"), said("Looking."), call("c1")),
            *(call("c2", "pwd"), output("c1", "a.py"), output("c2", "/home"), said("One file.")),
        ],
        [
            f"0.0 > what is here? | ~look first~ | Looking. | {LS} = a.py | "
            'shell(command=["bash", "-lc", "pwd"]) = /home',
            "1.0 One file.",
        ],
    ),
    "context that nobody typed is not the user's": (
        [
            user("<environment_context>\n<cwd>/x</cwd></environment_context>"),
            user("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe kind"),
            user("<user_instructions>be brief</user_instructions>"),
            user(IDE),
            said("Fixed."),
        ],
        [
            "0.0 {environment: <environment_context>⏎<cwd>/x</cwd></environment_context>} | "
            "{instructions: # AGENTS.md instructions for /x⏎⏎<INSTRUCTIONS>⏎be kind} | "
            "{instructions: <user_instructions>be brief</user_instructions>} | "
            "{environment: # Context from my IDE setup:⏎⏎## Active file: a.py} | "
            "> fix a.py | Fixed."
        ],
    ),
    "the client's own compaction": (
        [user("a"), said("A."), record("compacted", message="so far: A"), user("b"), said("B.")],
        ["0.0 > a | A.", "1.1 > b | B.", "summary by codex at 1: so far: A"],
    ),
    "what the summariser wrote is no answer of the agent": (
        [
            *(user("a"), said("A."), user("b"), said("The lamp is lit.")),
            *(record("compacted", message=SUMMARY), user("c"), said("C.")),
        ],
        [
            "0.0 > a | A.",
            "1.1 > b⏎⏎c | C.",
            "summary by codex at 1: Another model began.⏎The lamp is lit.",
        ],
    ),
    "an answer that is no part of the summary stands": (
        [user("a"), said("Lit."), record("compacted", message="The lamp was mended.")],
        ["0.0 > a | Lit.", "summary by codex at 1: The lamp was mended."],
    ),
    "unknown types are counted and wrong shapes reported": (
        [
            *(record("weather"), item("poem"), event("rainbow")),
            *({"timestamp": "", "type": "response_item", "payload": 5}, user("hi"), said("Hello.")),
        ],
        [
            "0.0 > hi | Hello.",
            *("ignored event_msg/rainbow 1", "ignored response_item/poem 1", "ignored weather 1"),
            "shape 4",
        ],
    ),
    "events that repeat items are not read twice": (
        [
            *(user("hello"), event("user_message", message="hello")),
            *(event("agent_reasoning", text="a greeting"), event("agent_message", message="Hi.")),
            *(reasoning("a greeting"), said("Hi.")),
        ],
        ["0.0 > hello | ~a greeting~ | Hi."],
    ),
    # The client writes the items only once the answer is complete.
    "reasoning of an answer that was interrupted is kept": (
        [
            *(user("go"), event("agent_reasoning", text="half a thought"), ABORTED),
            *(user("stop that"), said("Stopped.")),
        ],
        [
            "0.0 > go | ~half a thought~",
            "1.1 {interruption: interrupted} | > stop that | Stopped.",
        ],
    ),
    # Clients write the last count again whenever a rate limit changes.
    "a count that repeats the last one is nobody's": (
        [user("a"), COUNT, said("A."), user("b"), COUNT, said("B.")],
        ["0.0 > a | A. | $40+60+0>5", "1.1 > b | B."],
    ),
    "an interruption that stands as message and event is noted once": (
        [user("a"), said("A."), MARKER, ABORTED, user("b"), said("B.")],
        [
            "0.0 > a | A.",
            "1.1 {interruption: <turn_aborted>⏎The user interrupted the previous turn.⏎"
            "</turn_aborted>} | > b | B.",
        ],
    ),
    "requests that were rolled back no longer stand": (
        [
            *(user("a"), said("A."), user("b"), call("c1"), output("c1"), said("B.")),
            *(event("thread_rolled_back", num_turns=1), user("c"), said("C.")),
        ],
        ["0.0 > a | A.", "1.1 > c | C.", "rewound 2"],
    ),
    # Both were interrupted before an answer came; only the last was taken back.
    "rolling back one of two unanswered requests keeps the other": (
        [
            *(user("a"), said("A."), user("keep this"), ABORTED, user("not this")),
            *(event("thread_rolled_back", num_turns=1), user("and this"), said("B.")),
        ],
        ["0.0 > a | A.", "1.1 {interruption: interrupted} | > keep this⏎⏎and this | B."],
    ),
    "a patch given as free text": (
        [
            user("go"),
            item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"),
            item("custom_tool_call_output", call_id="c1", output=WRAPPED),
        ],
        ["0.0 > go | apply_patch(input=" + PATCH.replace("\n", "⏎") + ") !1 3 failed⏎"],
    ),
    "a local shell call and its output": (
        [
            user("go"),
            item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls"]}),
            output("c1", "a.py"),
        ],
        ['0.0 > go | local_shell(command=["ls"]) = a.py'],
    ),
    "a web search is answered inside and does not split the answer": (
        [
            user("tides?"),
            item("web_search_call", status="completed", action={"type": "search", "query": "x"}),
            *(said("Twice a day."), user("thanks")),
        ],
        ["0.0 > tides? | Twice a day. | web_search(query=x) =", ".. > thanks"],
    ),
}


@pytest.mark.parametrize(("records", "told"), TOLD.values(), ids=TOLD)
def test_what_a_rollout_tells(records: list[Any], told: list[str]) -> None:
    assert session(*records).told == told


@pytest.mark.parametrize(
    ("case", "verb", "paths"),
    [
        ("a patch given as free text", "edit", ("src/tide.py",)),
        ("a local shell call and its output", "run", ()),
        ("a web search is answered inside and does not split the answer", "web_search", ()),
    ],
)
def test_what_codexs_own_tools_do(case: str, verb: str, paths: tuple[str, ...]) -> None:
    [call] = session(*TOLD[case][0]).turns[0].tool_calls
    assert (call.verb, call.paths()) == (verb, paths)


def test_instructions_and_the_system_prompts_of_the_session() -> None:
    meta = {**META, "instructions": "never push", "base_instructions": {"text": "You are Codex."}}
    later = item("message", role="developer", content=[{"type": "input_text", "text": "sandboxed"}])
    records = [record("session_meta", **meta), user("hi"), later, said("Hello.")]
    was = read(FORMAT, lines(records))
    assert was.told == [
        "0.0 {instructions: never push} | > hi | Hello.",
        "system: You are Codex.",
    ]
    assert [m.role for m in was.turns[0].messages] == ["user", "user", "system", "assistant"]


def test_session_facts_and_their_changes() -> None:
    was = session(
        user("a"),
        record("turn_context", **CONTEXT),
        said("A."),
        event("thread_name_updated", thread_name="Tides"),
        user("b"),
        record("turn_context", **{**CONTEXT, "cwd": "/home/sam/quay", "model": "gpt-5"}),
        said("B."),
        record("session_meta", **{**META, "id": "s-0"}),
    )
    assert was.facts == [
        *("0 id s-1", "0 root /home/sam/harbor", "0 branch tide", "0 client codex 0.50.0"),
        *("0 model gpt-5-codex", "0 mode on-request", "0 title Tides"),
        *("1 root /home/sam/quay", "1 model gpt-5"),
    ]
    assert [t.model for t in was.turns] == ["gpt-5-codex", "gpt-5"]
    sandbox = record("turn_context", approval_policy=None, sandbox_policy={"mode": "read-only"})
    assert "0 mode read-only" in session(sandbox).facts, "where no policy is named"


@pytest.mark.parametrize("behind", [False, True], ids=["before the items", "behind them"])
def test_a_token_count_goes_to_its_own_answer(behind: bool) -> None:
    second, one, two = tokens(200, 150, 7, total=312), call("c1"), said("Done.")
    answers = [one, COUNT, output("c1"), two, second]
    if not behind:
        answers = [COUNT, record("turn_context"), one, output("c1"), second, two]
    told = [f"0.0 > go | {LS} = ok | $40+60+0>5", "1.0 Done. | $50+150+0>7"]
    assert session(user("go"), *answers).told == told


# What Codex says of its calls: exit codes, refusals, flags, and events that tell how one ended.

HEADED = "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno such file"
PROCESS = "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine\n"
RUNNING = "Wall time: 10.0 seconds\nProcess running with session ID 4\nOutput:\nwaiting"
NOT_THE_CLIENTS = "Exit code: 0\nWall time: 1 s\nOutput:\npatch rejected by user\n"
FAILED = 'exec_command failed for `rm x`: CreateProcess { message: "Rejected("rejected by user")" }'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WRAPPED, " !1 3 failed\n"),
        ('{"output":"ok","metadata":{"exit_code":0}}', " =0 ok"),
        (HEADED, " !2 no such file"),
        (PROCESS, " =0 fine\n"),
        (RUNNING, f" = {RUNNING}"),
        ("Plan updated", " = Plan updated"),
        ("apply_patch verification failed: x", " ! apply_patch verification failed: x"),
        ({"content": "no", "success": False}, " ! no"),
        ({"content": "yes", "success": True}, " = yes"),
        ([{"type": "input_text", "text": "seen"}], " = seen"),
        ('{"output": 1}', ' = {"output": 1}'),
        ("{torn", " = {torn"),
        (None, " ="),
        # A command printed them; only what the client itself writes says how a call ended.
        (
            '{"output":"exec command rejected by user","metadata":{"exit_code":0}}',
            " =0 exec command rejected by user",
        ),
        (NOT_THE_CLIENTS, " =0 patch rejected by user\n"),
        ("the log says: Exit code: 1", " = the log says: Exit code: 1"),
        ("exec command rejected by user", " refused ! exec command rejected by user"),
        ("patch rejected by user", " refused ! patch rejected by user"),
        (FAILED, f" refused ! {FAILED}"),
        ("aborted by user after 3.2s", " stopped ! aborted by user after 3.2s"),
    ],
)
def test_what_an_output_says_of_its_call(text: Any, expected: str) -> None:
    got = result(text)
    assert came(got) == expected
    assert got.error == (None if got.success or got.refused else got.output)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exec command rejected by user", " = exec command rejected by user"),
        ("execution error: none, all is well", " = execution error: none, all is well"),
        ("aborted", " = aborted"),
        (WRAPPED, f" = {WRAPPED}"),
        ("user rejected MCP tool call", " refused ! user rejected MCP tool call"),
    ],
)
def test_a_servers_tool_cannot_speak_as_the_client(text: str, expected: str) -> None:
    was = session(user("go"), call("c1", name="mcp__quay__moor"), output("c1", text))
    assert came(was.turns[0].tool_results[0]) == expected


def test_a_flag_beside_the_output_counts() -> None:
    assert [result("no", success=flag).success for flag in (True, False, "no")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("patch_apply_end", {"success": False}, " ! ok"),
        ("patch_apply_end", {"success": True, "changes": {"/a": {"type": "add"}}}, " create = ok"),
        ("exec_command_end", {"exit_code": 4}, " !4 ok"),
        ("exec_command_end", {"status": "declined"}, " refused ! ok"),
        ("mcp_tool_call_end", {"result": {"Ok": {"isError": True}}}, " ! ok"),
        ("mcp_tool_call_end", {"result": {"Ok": {"content": []}}}, " = ok"),
    ],
)
def test_what_an_event_says_of_a_call_is_believed(
    kind: str, fields: dict[str, Any], expected: str
) -> None:
    ended = event(kind, call_id="c1", **fields)
    was = session(user("go"), call("c1"), ended, output("c1"))
    assert came(was.turns[0].tool_results[0]) == expected
