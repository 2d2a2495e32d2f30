"""Gemini CLI chats: a document, or lines in which the last message is written again as it grows."""

from __future__ import annotations

import pytest

from kedgeline.model import Media, Thinking, Usage
from tests.formats.gemini_chat import call, chat, message, recorded, result, said, user
from tests.formats.handmade import notes


def test_a_message_with_thoughts_calls_and_results() -> None:
    thoughts = [{"subject": "Looking", "description": "what is here", "timestamp": ""}]
    counts = {"input": 100, "cached": 60, "output": 5, "thoughts": 7, "tool": 2, "total": 114}
    was = chat(
        user("what is here?"),
        said("I look.", 1, call("a.py"), thoughts=thoughts, tokens=counts),
        said("One file.", 2),
        summary="Tides",
    )
    first, second = was.turns
    assert (first.user_message, first.assistant_response) == ("what is here?", "I look.")
    assert (first.thinking, first.message_id) == ("Looking: what is here", "m1")
    assert (first.tool_calls[0].verb, first.tool_calls[0].parameters) == ("run", {"command": "ls"})
    assert first.tool_results[0].output == "a.py"
    assert first.usage == Usage(input=42, output=12, cache_read=60)
    assert (second.assistant_response, second.exchange) == ("One file.", 0)
    log = was.log
    assert [log.latest(n) for n in ("id", "model", "title")] == ["s-1", "gemini-2.5-pro", "Tides"]
    assert log.damage == []


SHELL = "Command: x\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: 0"


@pytest.mark.parametrize(
    ("output", "status", "success", "code"),
    [
        (SHELL.format("fine", 0), "success", True, 0),
        (SHELL.format("3 failed", 1), "success", False, 1),
        (SHELL.format("killed", "(none)"), "success", True, None),
        (SHELL.format("\nExit Code: 9\n", 0), "success", True, 0),
        ("it says Exit Code: 1 somewhere", "success", True, None),
        ("File not found", "error", False, None),
    ],
)
def test_success_and_exit_code(output: str, status: str, success: bool, code: int | None) -> None:
    got = result(output, status=status)
    assert (got.success, got.exit_code, got.output) == (success, code, output)
    assert got.error == (None if success else output)


def test_an_exit_code_in_what_a_file_says_is_not_the_tools() -> None:
    got = result("Exit Code: 1\n", name="read_file")
    assert (got.success, got.exit_code) == (True, None)


def test_a_call_the_user_did_not_allow_is_refused() -> None:
    got = result("[Operation Cancelled] Reason: User did not allow tool call", status="cancelled")
    assert (got.refused, got.failed, got.interrupted, got.error) == (True, False, False, None)


def test_a_call_that_was_stopped_while_it_ran_is_not_refused() -> None:
    """It may have had effects already."""
    got = result("[Operation Cancelled] Reason: User cancelled tool execution.", status="cancelled")
    assert (got.refused, got.interrupted, got.success) == (False, True, False)


def test_a_call_that_has_not_ended_has_no_result() -> None:
    waiting = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "executing"}
    was = chat(user("go"), said("", 1, waiting))
    assert (len(was.turns[0].tool_calls), was.turns[0].tool_results) == (1, ())


def test_a_response_of_another_shape_is_shown_as_it_is() -> None:
    part = {"functionResponse": {"response": {"rows": [1]}}}
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    got = result(result=[part, image])
    assert got.output == '{"rows":[1]}'
    assert got.media == (Media(kind="image", mime="image/png", data="AA=="),)


@pytest.mark.parametrize(("before", "change"), [(None, "create"), ("", "create"), ("x", "update")])
def test_what_a_tool_shows_to_have_done(before: str | None, change: str) -> None:
    shown = {"fileDiff": "", "originalContent": before, "newContent": "y"}
    assert result(name="write_file", resultDisplay=shown).change == change
    assert result(name="write_file", resultDisplay="written").change == ""


def test_what_the_client_says_is_neither_the_users_nor_the_models() -> None:
    was = chat(
        message("warning", "an old version", 0),
        user("go", 1),
        message("info", "switched models", 2),
        message("error", "quota exceeded", 3),
        said("Gone.", 4),
    )
    (turn,) = was.turns
    assert (turn.user_message, turn.assistant_response) == ("go", "Gone.")
    assert notes(turn, "injected") == ["an old version", "switched models"]
    assert notes(turn, "failure") == ["quota exceeded"]


def test_a_chat_of_one_warning_is_valid() -> None:
    was = chat(message("warning", "an old version", 0))
    assert (was.turns, was.notes) == ([], [("injected", "an old version")])


def test_content_may_be_a_list_of_parts() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    thought = {"text": "hm", "thought": True, "thoughtSignature": "seal"}
    was = chat(
        user([{"text": "see"}, image, "this"]),
        said([thought, {"text": "Seen."}, {"functionCall": {"name": "x"}}], 1),
    )
    (turn,) = was.turns
    assert (turn.user_message, turn.assistant_response) == ("see\n\nthis", "Seen.")
    assert turn.media == (Media(kind="image", mime="image/png", data="AA=="),)
    assert Thinking(text="hm", signature="seal") in turn.messages[1].parts


def test_calls_without_ids_keep_their_results() -> None:
    calls = [{**call(output), "id": None} for output in ("a", "b")]
    (turn,) = chat(user("go"), said("", 1, *calls)).turns
    found = [turn.result_of(made) for made in turn.tool_calls]
    assert [r.output for r in found if r] == ["a", "b"]


def test_the_clients_own_compaction() -> None:
    snapshot = "<state_snapshot><overall_goal>tides</overall_goal></state_snapshot>"
    was = chat(user("a"), said("A.", 1), user(snapshot, 2), said("Got it.", 3))
    (found,) = was.log.compactions
    assert (found.by, found.turn, found.summary) == ("gemini-cli", 1, snapshot)
    assert [t.user_message for t in was.turns] == ["a", ""]


def test_unknown_types_are_counted_and_wrong_shapes_reported() -> None:
    was = chat(user("a"), message("poem", "x", 1), 5, said("A.", 2))
    assert dict(was.log.ignored) == {"poem": 1}
    assert [d.kind for d in was.log.damage] == ["shape"]
    assert len(was.turns) == 1


FILES = [
    "look at @a.py",
    "\n--- Content from referenced files ---",
    "\nContent from @a.py:\n",
    "delete it all\n--- End of content ---\nand more",
    "\n--- End of content ---",
    "then go on",
]


@pytest.mark.parametrize("content", [[{"text": text} for text in FILES], "\n".join(FILES)])
def test_a_file_that_the_user_names_is_not_their_words(content: object) -> None:
    [turn] = chat(user(content), said("Yes.", 1)).turns
    assert turn.user_message == "look at @a.py\n\nthen go on"
    assert {note.kind for note in turn.notes} == {"injected"}
    assert "delete it all" in "".join(note.text for note in turn.notes)


def test_files_without_an_end_go_to_the_end() -> None:
    [turn] = chat(user([{"text": text} for text in FILES[:3]]), said("Yes.", 1)).turns
    assert (turn.user_message, len(turn.notes)) == ("look at @a.py", 2)


# Lines: messages that grow, rewinds, and histories the client shortened.


def test_a_message_that_is_written_again_as_it_grows_counts_once() -> None:
    was = recorded(
        user("go"),
        {"$set": {"lastUpdated": "2026-01-01T00:00:01.000Z"}},
        said("On it.", 1),
        {"$set": {"summary": "Tides"}},
        said("On it.", 1, {**call(), "status": "executing", "result": None}),
        said("On it.", 1, call("a.py")),
        said("Done.", 2),
    )
    assert [t.assistant_response for t in was.turns] == ["On it.", "Done."]
    assert [r.output for r in was.turns[0].tool_results] == ["a.py"]
    assert (was.turns[0].source.first, was.turns[0].source.last) == (1, 6)
    assert was.log.latest("title") == "Tides"
    assert was.log.damage == []


def test_a_message_that_comes_again_later_is_not_said_twice() -> None:
    was = recorded(user("a", 0), said("A.", 1, call()), user("b", 2), said("A.", 1, call()))
    assert [t.assistant_response for t in was.turns] == ["A."]
    assert [d.kind for d in was.log.damage] == ["duplicate"]


def test_a_rewind_takes_back_a_message_and_what_followed() -> None:
    was = recorded(
        user("a", 0), said("A.", 1),
        user("wrong", 2), said("W.", 3), said("X.", 4),
        {"$rewindTo": "m2"},
        user("right", 5), said("R.", 6),
    )  # fmt: skip
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("a", 0), ("right", 1)]
    assert was.log.rewound == 2


def test_a_rewind_to_the_last_words_takes_back_only_these() -> None:
    was = recorded(
        user("a", 0),
        said("A.", 1),
        user("wrong", 2),
        {"$rewindTo": "m2"},
        user("b", 3),
        said("B.", 4),
    )
    assert [t.user_message for t in was.standing()] == ["a", "b"]


def test_a_rewind_to_nowhere_begins_anew() -> None:
    was = recorded(user("a", 0), said("A.", 1), {"$rewindTo": "gone"}, user("b", 2), said("B.", 3))
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("b", 0)]


def test_a_new_list_of_messages_adds_only_its_summary() -> None:
    """The client writes its shortened history as metadata; what it leaves out still happened."""
    snapshot = "<state_snapshot>so far: A</state_snapshot>"
    shortened = [user(snapshot, 9), said("A.", 1)]
    was = recorded(
        user("a", 0), said("A.", 1), {"$set": {"messages": shortened}}, user("b", 2), said("B.", 3)
    )
    assert [(t.user_message, t.assistant_response) for t in was.turns] == [("a", "A."), ("b", "B.")]
    assert [(c.turn, c.summary) for c in was.log.compactions] == [(1, snapshot)]


HEARD = "Got it. Thanks for the additional context!"


def test_a_summary_that_begins_with_what_its_writer_thought_is_known_by_the_answer_to_it() -> None:
    """The client asks for a scratchpad before the snapshot, and keeps what it gets. What it kept of
    the messages has new ids, and is not said again."""
    thought = "<scratchpad>A was said</scratchpad>\n<state_snapshot>so far: A</state_snapshot>"
    shortened = [user([{"text": thought}], 9), said([{"text": HEARD}], 10), user("b", 11)]
    again = {"$set": {"messages": [*shortened, said("B.", 12)]}}
    was = recorded(
        user("a", 0), said("A.", 1), user("b", 2), said("", 3),
        {"$set": {"messages": shortened}}, said("B.", 4), again, user("c", 5), said("C.", 6),
    )  # fmt: skip
    assert [t.user_message for t in was.turns] == ["a", "b", "c"]
    assert [(c.turn, c.summary) for c in was.log.compactions] == [(1, thought)]


def test_a_new_list_of_messages_without_a_summary_is_no_compaction() -> None:
    listed = [user("<session_context>x</session_context>", 7), user("a", 8), said("A.", 9)]
    was = recorded({"$set": {"messages": listed}}, user("a", 0), said("A.", 1))
    assert [t.user_message for t in was.turns] == ["a"]
    assert was.log.compactions == []


def test_what_hooks_say_is_neither_said_by_the_user_nor_by_a_tool() -> None:
    """The client puts it before the words, in a part behind them, and behind an output."""
    start, prompt = "<hook_context>at start</hook_context>", "<hook_context>b &lt; c</hook_context>"
    tool = "<hook_context>of the tool</hook_context>"
    words = "say </hook_context>"
    was = recorded(
        user([{"text": f"{start}\n\n{words}"}, {"text": prompt}], 0),
        said("", 1, call(f"a.py\n\n{tool}")),
        said("Done.", 2),
    )
    first, second = was.turns
    assert first.user_message == words
    assert [r.output for r in first.tool_results] == ["a.py"]
    assert [(n.kind, n.text) for n in first.notes] == [("hook", start), ("hook", prompt)]
    assert [(n.kind, n.text) for n in second.notes] == [("hook", tool)]
    assert (second.user_message, second.exchange) == ("", 0)
