"""pi sessions: a list in the first version, a tree whose last entry is the tip in the third."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.formats.agents.pi import FORMAT
from kedgeline.model import Media, Thinking, Usage
from tests.formats.handmade import Was, lines, notes, read

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


def user(text: str) -> dict[str, Any]:
    return message("user", content=[{"type": "text", "text": text}])


def said(text: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    first = [{"type": "text", "text": text}] if text else []
    return message("assistant", content=[*first, *blocks], model="claude-opus-4-5", **fields)


def call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(
    call_id: str, text: str = "ok", *, error: bool = False, name: str = "bash"
) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return message("toolResult", toolCallId=call_id, toolName=name, content=content, isError=error)


def session(*records: dict[str, Any]) -> Was:
    return read(FORMAT, lines([HEADER, *records]))


def tree(*branches: tuple[str, str | None, dict[str, Any]]) -> Was:
    """A session of entries given with their id and their parent's."""
    records = [{**record, "id": own, "parentId": parent} for own, parent, record in branches]
    return read(FORMAT, lines([{**HEADER, "version": 3}, *records]))


def test_a_call_its_result_and_the_answer() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.1}}
    was = session(
        user("what is here?"),
        said("Looking.", thinking, call("c1", command="ls"), usage=usage),
        result("c1", "a.py"),
        said("One file."),
    )
    first, second = was.turns
    assert (first.user_message, first.assistant_response) == ("what is here?", "Looking.")
    assert (first.tool_calls[0].verb, first.tool_calls[0].parameters) == ("run", {"command": "ls"})
    assert first.tool_results[0].output == "a.py"
    assert (first.usage, first.model) == (
        Usage(input=1, output=2, cache_read=3, cache_write=4),
        "claude-opus-4-5",
    )
    parts = [part for m in first.messages for part in m.parts]
    assert Thinking(text="hm", signature="seal") in parts
    assert (second.assistant_response, second.user_message) == ("One file.", "")
    assert was.log.damage == []


@pytest.mark.parametrize(
    ("text", "error", "success", "code", "interrupted"),
    [
        ("fine", False, True, None, False),
        ("no tests\n\nCommand exited with code 4", True, False, 4, False),
        ("grep: Command exited with code 4", False, True, None, False),
        ("half\n\nCommand aborted", True, False, None, True),
        ("Could not find the text", True, False, None, False),
    ],
)
def test_only_the_error_flag_makes_a_failure(
    text: str, error: bool, success: bool, code: int | None, interrupted: bool
) -> None:
    was = session(user("go"), said("", call("c1", command="x")), result("c1", text, error=error))
    got = was.turns[0].tool_results[0]
    assert (got.success, got.exit_code, got.interrupted) == (success, code, interrupted)
    assert (got.output, got.error) == (text, None if success else text)


def test_a_call_that_an_extension_blocks_is_refused() -> None:
    text = "Tool execution was blocked by an extension"
    was = session(user("go"), said("", call("c1")), result("c1", text, error=True))
    got = was.turns[0].tool_results[0]
    assert (got.refused, got.failed, got.error) == (True, False, None)


def test_an_answer_that_never_came_is_a_note_and_no_turn() -> None:
    was = session(
        user("go"),
        said("", stopReason="error", errorMessage="overloaded"),
        said("", stopReason="aborted", errorMessage="Request was aborted."),
        said("Going."),
    )
    (turn,) = was.turns
    assert notes(turn, "failure") == ["overloaded"]
    assert notes(turn, "interruption") == ["Request was aborted."]
    assert (turn.user_message, turn.assistant_response) == ("go", "Going.")


def test_an_answer_that_broke_off_keeps_what_was_said() -> None:
    was = session(user("go"), said("Go", stopReason="aborted", errorMessage="aborted"), user("on"))
    assert was.turns[0].assistant_response == "Go"
    assert was.notes == [("interruption", "aborted")]


def test_a_shell_command_of_the_users_is_not_their_words() -> None:
    was = session(
        message("bashExecution", command="git status", output="clean", exitCode=0, cancelled=False),
        message("custom", content="from an extension"),
        entry("custom_message", content=[{"type": "text", "text": "also"}], display=False),
        user("go"),
        said("Going."),
    )
    (turn,) = was.turns
    assert turn.user_message == "go"
    assert was.notes == [
        ("shell", "git status"),
        ("shell_output", "clean"),
        ("injected", "from an extension"),
        ("injected", "also"),
    ]


def test_an_image_the_user_attached() -> None:
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    was = session(message("user", content=[{"type": "text", "text": "see"}, image]), said("Seen."))
    assert was.turns[0].media == (Media(kind="image", mime="image/png", data="AA=="),)


def test_session_facts() -> None:
    was = session(
        user("a"),
        said("A."),
        entry("model_change", provider="openai", modelId="gpt-5"),
        entry("thinking_level_change", thinkingLevel="high"),
        entry("session_info", name="Tides"),
    )
    log = was.log
    assert [log.latest(n) for n in ("id", "root", "title")] == ["s-1", "/home/sam/harbor", "Tides"]
    assert [(c.value, c.turn) for c in log.changes if c.name == "model"] == [
        ("claude-sonnet-4-5", 0),
        ("claude-opus-4-5", 0),
        ("gpt-5", 1),
    ]


def test_an_earlier_compaction() -> None:
    compaction = entry("compaction", summary="so far", firstKeptEntryIndex=2, tokensBefore=175_004)
    was = session(user("a"), said("A."), compaction, user("b"), said("B."))
    (found,) = was.log.compactions
    assert (found.by, found.turn, found.summary) == ("pi", 1, "so far")
    assert (found.tokens_before, found.source.first, len(was.turns)) == (175_004, 3, 2)


def test_other_entries_are_ignored_and_counted() -> None:
    was = session(
        user("a"),
        entry("branch_summary", summary="the other branch", fromId="x"),
        entry("custom", customType="todo", data={}),
        entry("weather"),
        message("prophet", content="x"),
        said("A."),
    )
    assert dict(was.log.ignored) == {
        "branch_summary": 1,
        "custom": 1,
        "weather": 1,
        "message/prophet": 1,
    }
    assert was.turns[0].user_message == "a"


def test_a_branch_takes_back_what_came_behind_its_parent() -> None:
    was = tree(
        ("1", None, user("a")),
        ("2", "1", said("A.")),
        ("3", "2", user("wrong turn")),
        ("4", "3", said("", call("c1", command="rm x"))),
        ("5", "4", result("c1")),
        ("6", "5", entry("compaction", summary="gone too")),
        ("7", "2", user("right turn")),
        ("8", "7", said("B.")),
    )
    assert [(t.user_message, t.exchange, t.index) for t in was.standing()] == [
        ("a", 0, 0),
        ("right turn", 1, 1),
    ]
    assert (was.log.rewound, was.log.compactions) == (1, [])


def test_a_branch_may_begin_at_the_very_beginning() -> None:
    was = tree(
        ("1", None, user("a")),
        ("2", "1", said("A.")),
        ("3", None, user("b")),
        ("4", "3", said("B.")),
    )
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("b", 0)]


def test_words_that_are_answered_anew_are_not_lost() -> None:
    """A branch behind the user's own words: a second answer to the same request."""
    was = tree(
        ("1", None, user("a")),
        ("2", "1", said("First try.")),
        ("3", "2", user("no")),
        ("4", "1", said("Second try.")),
    )
    assert [(t.user_message, t.assistant_response, t.exchange) for t in was.standing()] == [
        ("a", "Second try.", 0)
    ]


def test_an_entry_whose_parent_was_lost_goes_on_from_the_tip() -> None:
    was = tree(
        ("1", None, user("a")),
        ("2", "1", said("A.")),
        ("4", "3", user("b")),
        ("5", "4", said("B.")),
    )
    assert [t.user_message for t in was.standing()] == ["a", "b"]
    assert was.log.rewound == 0


def test_an_entry_that_occurs_twice_counts_once() -> None:
    was = tree(("1", None, user("a")), ("2", "1", said("A.")), ("2", "1", said("A.")))
    assert [t.assistant_response for t in was.standing()] == ["A."]
    assert [d.kind for d in was.log.damage] == ["duplicate"]
