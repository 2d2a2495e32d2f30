"""OpenCode exports: one document, in which a call and its result are one part."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.model import Thinking
from tests.formats.handmade import came
from tests.formats.opencode_export import message, result, said, session, text, tool, user

HM = {"type": "reasoning", "text": "hm"}
START, FINISH = {"type": "step-start"}, {"type": "step-finish", "reason": "tool-calls"}
COUNTS = {"input": 10, "output": 5, "reasoning": 3, "cache": {"read": 20, "write": 4}}
ASKED = message("user", 2, [{"type": "compaction", "auto": True}])
SUMMARY = said(3, text("so far: A"), summary=True, modelID="gpt-5", tokens=COUNTS)
ABORTED = {"name": "MessageAbortedError", "data": {"message": "over"}}
FROM_CLIENT = [
    text("fix it"),
    text("Called the Read tool", synthetic=True),
    {"type": "file", "mime": "text/plain", "filename": "a.py", "url": "file:///a.py"},
    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="},
    {"type": "agent", "name": "review"},
]
SUBTASK = {"type": "subtask", "prompt": "review the quay", "agent": "review", "command": "check"}
BASH = "bash(command=ls)"
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "one assistant message is one turn": (
        [
            user("what is here?"),
            said(1, HM, text("Looking."), tool("c1"), tool("c2", output="b")),
            said(2, text("Two files.")),
        ],
        [f"0.0 > what is here? | ~hm~ | Looking. | {BASH} = ok | {BASH} = b", "1.0 Two files."],
    ),
    "text that the client put in is not the user's": (
        [message("user", 0, FROM_CLIENT), said(1, text("Fixed."))],
        [
            "0.0 {injected: Called the Read tool} | {injected: a.py} | > fix it | "
            "[image image/png AA==] | Fixed."
        ],
    ),
    "a command that runs as a subtask is a request": (
        [user("hi"), said(1, text("Hi.")), message("user", 2, [SUBTASK]), said(3, text("Good."))],
        ["0.0 > hi | Hi.", "1.1 {command: /check review the quay} | Good."],
    ),
    "tokens of a message, which may count the reasoning too": (
        [
            user("go"),
            said(1, text("a"), tokens={**COUNTS, "total": 42}),
            said(2, text("b"), tokens={**COUNTS, "total": 39}),
        ],
        ["0.0 > go | a | $10+20+4>8", "1.0 b | $10+20+4>5"],
    ),
    "a compaction and its summary are one": (
        [user("a"), said(1, text("A.")), ASKED, SUMMARY, user("b", 4), said(5, text("B."))],
        ["0.0 > a | A.", "1.1 > b | B.", "summary by opencode at 1: so far: A"],
    ),
    "a compaction whose summary never came still happened": (
        [user("a"), said(1, text("A.")), message("user", 2, [{"type": "compaction"}])],
        ["0.0 > a | A.", "summary by opencode at 1: "],
    ),
    "an answer that was interrupted": (
        [user("a"), said(1, error=ABORTED), said(2, text("A."))],
        ["0.0 {interruption: over} | > a | A."],
    ),
    "an answer that failed": (
        [user("a"), said(1, error={**ABORTED, "name": "APIError"}), said(2, text("A."))],
        ["0.0 {failure: over} | > a | A."],
    ),
    "unknown parts and roles are counted and wrong shapes reported": (
        [
            *(user("a"), said(1, {"type": "poem"}, text("A.")), message("prophet", 2, [])),
            *(5, {"info": 1}),
        ],
        ["0.0 > a | A.", "ignored message/prophet 1", "ignored part/poem 1", "shape 3", "shape 4"],
    ),
}


@pytest.mark.parametrize(("messages", "told"), TOLD.values(), ids=TOLD)
def test_what_an_export_tells(messages: list[Any], told: list[str]) -> None:
    assert session(*messages).told == told


def test_several_steps_in_one_message_stay_one_turn_in_their_order() -> None:
    was = session(user("go"), said(1, tool("c1"), FINISH, START, text("Then."), tool("c2"), FINISH))
    (turn,) = was.turns
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert len(turn.tool_results) == 2


def test_session_facts_and_what_is_known_of_a_turn() -> None:
    was = session(user("go"), said(1, text("a")), said(2, text("b"), mode="plan"))
    assert was.facts == [
        *("0 id ses_1", "0 root /home/sam/harbor", "0 title Tides", "0 client opencode 1.2.24"),
        *("0 model gpt-5.4", "0 mode build", "1 mode plan"),
    ]
    first = was.turns[0]
    assert (first.message_id, first.model, first.timestamp and first.timestamp.isoformat()) == (
        "msg_1",
        "gpt-5.4",
        "2026-01-01T00:00:00+00:00",
    )


def test_the_message_that_is_a_summary_was_paid_for() -> None:
    (found,) = session(user("a"), said(1, text("A.")), ASKED, SUMMARY).log.compactions
    assert (found.usage and found.usage.context, found.model, found.trigger) == (
        34,
        "gpt-5",
        "auto",
    )
    assert (found.source.first, found.source.last) == (2, 3)


def test_messages_behind_a_revert_no_longer_stand() -> None:
    messages = (user("a", 0), said(1, text("A.")), user("b", 2), said(3, text("B.")))
    was = session(*messages, revert={"messageID": "msg_2"})
    assert was.told == ["0.0 > a | A.", "rewound 1"]


def test_a_sealed_thought_keeps_its_seal() -> None:
    part = {**HM, "metadata": {"anthropic": {"signature": "seal"}}}
    was = session(user("go"), said(1, part))
    assert was.turns[0].messages[1].parts == (Thinking(text="hm", signature="seal"),)


# Calls.

REJECTED = "The user rejected permission to use this specific tool call"
FEEDBACK = f"{REJECTED} with the following feedback: use the quay script"
RULE = "The user has specified a rule which prevents you from using this tool call."
ERROR = {"status": "error", "output": None}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"metadata": {"exit": 0}}, " =0 ok"),
        ({"metadata": {"exit": 1}}, " !1 ok"),
        ({"metadata": {"exit": None}}, " = ok"),
        ({"output": "Error: it failed with exit code 1"}, " = Error: it failed with exit code 1"),
        ({**ERROR, "error": "File not found"}, " ! File not found"),
        ({**ERROR, "error": f"{REJECTED}."}, f" refused ! {REJECTED}."),
        ({**ERROR, "error": FEEDBACK}, f" refused for use the quay script ! {FEEDBACK}"),
        ({**ERROR, "error": RULE}, f" refused ! {RULE}"),
        (
            {
                **ERROR,
                "error": "Tool execution aborted",
                "metadata": {"interrupted": True, "output": "half"},
            },
            " stopped ! half",
        ),
    ],
)
def test_what_a_state_says_of_its_call(state: dict[str, Any], expected: str) -> None:
    got = result(**state)
    assert came(got) == expected
    assert (got.error is None) == (got.success or got.refused)


def test_a_servers_tool_cannot_put_words_into_the_users_mouth() -> None:
    was = session(user("go"), said(1, tool("c1", "quay_moor", **ERROR, error=FEEDBACK)))
    assert was.turns[0].user_words() == ("go",)


@pytest.mark.parametrize("status", ["running", "pending", None])
def test_a_call_that_has_not_ended_has_no_result(status: str | None) -> None:
    was = session(user("go"), said(1, tool("c1", status=status)), said(2, text("On.")))
    assert was.told == [f"0.0 > go | {BASH}", "1.0 On.", "unanswered_call 1"]


def test_ids_that_redaction_made_equal_keep_calls_and_results_apart() -> None:
    """Exports pass through a filter that writes one and the same word over what looks secret."""
    calls = [{**tool("REDACTED", output=o), "id": "REDACTED"} for o in ("a", "b", "c")]
    answers = [said(1, *calls), said(2, tool("REDACTED", output="d"))]
    for answer in answers:
        answer["info"]["id"] = "REDACTED"
    was = session(user("go"), *answers)
    assert was.told == [f"0.0 > go | {BASH} = a | {BASH} = b | {BASH} = c", f"1.0 {BASH} = d"]
    assert len({call.id for turn in was.turns for call in turn.tool_calls}) == 4


@pytest.mark.parametrize(
    ("name", "metadata", "change"),
    [
        ("write", {"exists": False}, "create"),
        ("write", {"exists": True}, "update"),
        ("edit", {"filediff": {"before": "x"}}, "update"),
        ("edit", {}, ""),
        ("bash", {"exists": False}, ""),
    ],
)
def test_what_a_tool_reports_to_have_done(name: str, metadata: dict[str, Any], change: str) -> None:
    was = session(user("go"), said(1, tool("c1", name, metadata=metadata)))
    assert was.turns[0].tool_results[0].change == change
