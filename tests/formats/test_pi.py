"""pi sessions: a list in the first version, a tree whose last entry is the tip in the third."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.formats.agents.pi import FORMAT
from kedgeline.model import Thinking
from tests.formats.handmade import Was, came, lines, read

HEADER = {
    "type": "session",
    "id": "s-1",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "cwd": "/home/sam/harbor",
    "provider": "anthropic",
    "modelId": "claude-sonnet-4-5",
}


def entry(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "2026-01-01T00:00:01.000Z", **fields}


def message(role: str, **fields: Any) -> dict[str, Any]:
    return entry("message", message={"role": role, "timestamp": 1767225600000, **fields})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(words: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return message("user", content=[text(words), *blocks])


def said(words: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    content = [*([text(words)] if words else []), *blocks]
    return message("assistant", content=content, model="claude-opus-4-5", **fields)


def call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, words: str = "ok", *, error: bool = False) -> dict[str, Any]:
    told = {"toolCallId": call_id, "toolName": "bash", "isError": error}
    return message("toolResult", content=[text(words)], **told)


def session(*records: dict[str, Any]) -> Was:
    return read(FORMAT, lines([HEADER, *records]))


def tree(*branches: tuple[str, str | None, dict[str, Any]]) -> Was:
    """A session of entries given with their id and their parent's."""
    records = [{**record, "id": own, "parentId": parent} for own, parent, record in branches]
    return read(FORMAT, lines([{**HEADER, "version": 3}, *records]))


THOUGHT = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.1}}
IMAGE = {"type": "image", "data": "AA==", "mimeType": "image/png"}
FOLDED = entry("compaction", summary="so far", firstKeptEntryIndex=2, tokensBefore=175_004)
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "a call, its result and the answer": (
        [
            user("what is here?"),
            said("Looking.", THOUGHT, call("c1", command="ls"), usage=USAGE),
            *(result("c1", "a.py"), said("One file.")),
        ],
        [
            "0.0 > what is here? | ~hm~ | Looking. | bash(command=ls) = a.py | $1+3+4>2",
            "1.0 One file.",
        ],
    ),
    "an answer that never came is a note and no turn": (
        [
            user("go"),
            said("", stopReason="error", errorMessage="overloaded"),
            said("", stopReason="aborted", errorMessage="Request was aborted."),
            said("Going."),
        ],
        ["0.0 {failure: overloaded} | {interruption: Request was aborted.} | > go | Going."],
    ),
    "an answer that broke off keeps what was said": (
        [user("go"), said("Go", stopReason="aborted", errorMessage="aborted"), user("on")],
        ["0.0 > go | Go", ".. {interruption: aborted} | > on"],
    ),
    "a shell command of the user's is not their words": (
        [
            message("bashExecution", command="git status", output="clean", exitCode=0),
            message("custom", content="from an extension"),
            entry("custom_message", content=[text("also")], display=False),
            *(user("go"), said("Going.")),
        ],
        [
            "0.0 {shell: git status} | {shell_output: clean} | {injected: from an extension} | "
            "{injected: also} | > go | Going."
        ],
    ),
    "an image the user attached": (
        [user("see", IMAGE), said("Seen.")],
        ["0.0 > see | [image image/png AA==] | Seen."],
    ),
    "an earlier compaction": (
        [user("a"), said("A."), FOLDED, user("b"), said("B.")],
        ["0.0 > a | A.", "1.1 > b | B.", "summary by pi at 1: so far"],
    ),
    "other entries are ignored and counted": (
        [
            *(user("a"), entry("branch_summary", summary="the other branch", fromId="x")),
            *(entry("custom", customType="todo", data={}), entry("weather")),
            *(message("prophet", content="x"), said("A.")),
        ],
        [
            "0.0 > a | A.",
            *("ignored branch_summary 1", "ignored custom 1", "ignored message/prophet 1"),
            "ignored weather 1",
        ],
    ),
}


@pytest.mark.parametrize(("records", "told"), TOLD.values(), ids=TOLD)
def test_what_a_session_tells(records: list[Any], told: list[str]) -> None:
    assert session(*records).told == told


def test_thinking_keeps_its_seal() -> None:
    (turn,) = session(user("go"), said("Looking.", THOUGHT)).turns
    assert Thinking(text="hm", signature="seal") in turn.messages[1].parts
    assert turn.model == "claude-opus-4-5"


@pytest.mark.parametrize(
    ("words", "error", "expected"),
    [
        ("fine", False, " = fine"),
        ("none\n\nCommand exited with code 4", True, " !4 none\n\nCommand exited with code 4"),
        ("grep: Command exited with code 4", False, " = grep: Command exited with code 4"),
        ("half\n\nCommand aborted", True, " stopped ! half\n\nCommand aborted"),
        ("Could not find the text", True, " ! Could not find the text"),
        ("Tool execution was blocked by x", True, " refused ! Tool execution was blocked by x"),
    ],
)
def test_only_the_error_flag_makes_a_failure(words: str, error: bool, expected: str) -> None:
    was = session(user("go"), said("", call("c1", command="x")), result("c1", words, error=error))
    got = was.turns[0].tool_results[0]
    assert came(got) == expected
    assert got.error == (None if got.success or got.refused else words)


def test_session_facts() -> None:
    was = session(
        *(user("a"), said("A."), entry("model_change", provider="openai", modelId="gpt-5")),
        *(
            entry("thinking_level_change", thinkingLevel="high"),
            entry("session_info", name="Tides"),
        ),
    )
    assert was.facts == [
        *("0 id s-1", "0 root /home/sam/harbor", "0 model claude-sonnet-4-5"),
        *("0 model claude-opus-4-5", "1 model gpt-5", "1 title Tides"),
    ]


TREES: dict[str, tuple[list[tuple[str, str | None, Any]], list[str]]] = {
    "a branch takes back what came behind its parent": (
        [
            *(("1", None, user("a")), ("2", "1", said("A.")), ("3", "2", user("wrong turn"))),
            *(("4", "3", said("", call("c1", command="rm x"))), ("5", "4", result("c1"))),
            *(("6", "5", FOLDED), ("7", "2", user("right turn")), ("8", "7", said("B."))),
        ],
        ["0.0 > a | A.", "1.1 > right turn | B.", "rewound 1"],
    ),
    "a branch may begin at the very beginning": (
        [
            *(("1", None, user("a")), ("2", "1", said("A."))),
            *(("3", None, user("b")), ("4", "3", said("B."))),
        ],
        ["0.0 > b | B.", "rewound 1"],
    ),
    # A branch behind the user's own words: a second answer to the same request.
    "words that are answered anew are not lost": (
        [
            *(("1", None, user("a")), ("2", "1", said("First try."))),
            *(("3", "2", user("no")), ("4", "1", said("Second try."))),
        ],
        ["0.0 > a | Second try.", "rewound 1"],
    ),
    "an entry whose parent was lost goes on from the tip": (
        [
            *(("1", None, user("a")), ("2", "1", said("A."))),
            *(("4", "3", user("b")), ("5", "4", said("B."))),
        ],
        ["0.0 > a | A.", "1.1 > b | B."],
    ),
    "an entry that occurs twice counts once": (
        [("1", None, user("a")), ("2", "1", said("A.")), ("2", "1", said("A."))],
        ["0.0 > a | A.", "duplicate 3"],
    ),
}


@pytest.mark.parametrize(("branches", "told"), TREES.values(), ids=TREES)
def test_what_stands_of_a_tree(branches: list[Any], told: list[str]) -> None:
    assert tree(*branches).told == told
