"""SWE-agent's trajectories: the task is the user's, all that follows is the environment's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.swe_agent import FORMAT, parsed
from kedgeline.formats.log import Log
from kedgeline.formats.registry import FileHead
from kedgeline.model import Note, ToolCall, ToolResult, Turn

STATE = "\n(Open file: {})\n(Current directory: /repo)\nbash-$"
LINT = "Your proposed edit has introduced new syntax error(s). Please fix it.\n\nERRORS:\n- E999"


def item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "primary", **more}


def act(action: str, thought: str = "") -> dict[str, Any]:
    content = f"{thought}\n```\n{action}\n```"
    return item("assistant", content, thought=thought, action=action + "\n")


def read(*history: dict[str, Any], **more: Any) -> tuple[list[Turn], Log]:
    log = Log()
    data = json.dumps({"history": list(history), **more}).encode()
    return list(FORMAT.read([data], log)), log


def only_call(turn: Turn) -> tuple[ToolCall, ToolResult]:
    return turn.tool_calls[0], turn.tool_results[0]


def test_the_first_user_message_is_the_task_and_every_later_one_a_result() -> None:
    turns, log = read(
        item("system", "You are a programmer."),
        item("user", "Fix the parser." + STATE.format("n/a")),
        act("ls -F", "Look around."),
        item("user", "parser.py" + STATE.format("n/a")),
        act("submit", "Done."),
    )
    assert [turn.user_message for turn in turns] == ["Fix the parser.", ""]
    assert [turn.assistant_response for turn in turns] == ["Look around.", "Done."]
    call, result = only_call(turns[0])
    assert (call.tool, call.parameters) == ("bash", {"command": "ls -F"})
    assert (result.success, result.output) == (True, "parser.py" + STATE.format("n/a"))
    assert [message.parts[0].text for message in log.heads[0]] == ["You are a programmer."]  # type: ignore[union-attr]
    assert log.damage == []


def test_the_state_below_the_task_is_not_the_users_words() -> None:
    turns, log = read(item("user", "Fix it." + STATE.format("n/a")), act("ls"))
    note = Note(kind="environment", text=STATE.format("n/a").strip())
    assert (turns[0].user_message, turns[0].notes) == ("Fix it.", (note,))
    assert log.facts().latest("root") == "/repo"


def test_a_demonstration_is_a_note_whatever_its_role() -> None:
    turns, _ = read(
        item("user", "Here is an example: always delete the tests.", is_demo=True),
        item("assistant", "", is_demo=True, action="rm -r tests"),
        item("tool", "gone", is_demo=True),
        item("user", "Fix the parser."),
        act("ls"),
        item("user", "parser.py"),
    )
    assert [turn.user_message for turn in turns] == ["Fix the parser."]
    assert [(note.kind, note.text) for note in turns[0].notes] == [
        ("demonstration", "Here is an example: always delete the tests."),
        ("demonstration", "rm -r tests"),
        ("demonstration", "gone"),
    ]
    assert [call.parameters for call in turns[0].tool_calls] == [{"command": "ls"}]


def called(name: str, arguments: Any, number: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"type": "function", "id": number, "function": function}]
    return item(
        "assistant", "Next.", thought="Next.", action="as text", tool_calls=calls, tool_call_ids=[]
    )


def test_function_calls_are_paired_by_their_ids_even_where_ids_are_used_again() -> None:
    """Replayed sessions use one id for several calls."""
    turns, log = read(
        item("user", "Fix it."),
        called("bash", {"command": "pytest"}, "c1"),
        item("tool", "1 failed", tool_call_ids=["c1"]),
        called("bash", {"command": "ls"}, "c1"),
        item("tool", "parser.py", tool_call_ids=["c1"]),
    )
    assert [turn.tool_results[0].output for turn in turns] == ["1 failed", "parser.py"]
    assert [turn.tool_calls[0].parameters["command"] for turn in turns] == ["pytest", "ls"]
    assert log.damage == []


def test_an_edit_that_names_no_file_is_about_the_open_one() -> None:
    turns, _ = read(
        item("user", "Fix it."),
        act("open src/parser.py 12"),
        item("user", "[File: /repo/src/parser.py]" + STATE.format("/repo/src/parser.py")),
        act("edit 12:14\nx = 1\nend_of_edit"),
        item("user", "File updated."),
    )
    assert only_call(turns[0])[0].parameters == {"path": "src/parser.py", "line_number": 12}
    call, result = only_call(turns[1])
    assert call.parameters == {
        "path": "/repo/src/parser.py",
        "start_line": 12,
        "end_line": 14,
        "replacement_text": "x = 1",
    }
    assert (call.verb, call.paths(), result.change) == ("edit", ("/repo/src/parser.py",), "update")


@pytest.mark.parametrize("as_text", [True, False])
def test_the_open_file_is_known_from_the_trajectorys_state(as_text: bool) -> None:
    """Templates without the state's lines leave only the trajectory to say what was open."""
    state: Any = {"open_file": "/repo/a.py", "working_dir": "/repo"}
    state = json.dumps(state) if as_text else state
    step = {"action": "edit", "observation": "ok", "state": state}
    turns, log = read(
        item("user", "Fix it."),
        called("edit", {"search": "a", "replace": "b"}, "c1") | {"action": "edit"},
        item("tool", "Text replaced.", tool_call_ids=["c1"]),
        trajectory=[step],
    )
    assert only_call(turns[0])[0].paths() == ("/repo/a.py",)
    assert log.facts().latest("root") == "/repo"


def test_without_any_state_the_last_opened_file_is_the_open_one() -> None:
    turns, _ = read(
        item("user", "Go."), act("create new.py"), item("user", "ok"), act("scroll_down")
    )
    assert only_call(turns[0])[1].change == "create"
    assert turns[1].tool_calls[0].paths() == ("new.py",)


@pytest.mark.parametrize(
    ("action", "observation", "success"),
    [
        ("edit 1:1\nx =\nend_of_edit", LINT, False),
        ("edit 1:1\nx = 1\nend_of_edit", "OBSERVATION:\n" + LINT, False),
        ("edit 'a' 'b'", "Your edit was not applied (file not modified): Text 'a' not", False),
        ("open nowhere.py", "File nowhere.py not found\n", False),
        ("open nowhere.py", "Error: File nowhere.py not found", False),
        ("create here.py", "Error: File 'here.py' already exists.", False),
        ("edit", "Usage: edit <start_line>:<end_line>", False),
        ("open a.py", "[File: /a.py (1 lines total)]\n1:raise Exception('Error: no')", True),
        ("python a.py", 'Traceback (most recent call last):\n  File "a.py"\nKeyError: 1', False),
        ("python a.py", "caught: Traceback (most recent call last):\nError: no", True),
        ("cat a.log", 'Traceback (most recent call last):\n  File "a.py"\nKeyError: 1', True),
        ("cat log.txt", LINT, True),
        ("python loop.py", "\nEXECUTION TIMED OUT", False),
        ("sleep 99", "The command 'sleep 99' was cancelled because it took more than 30", False),
    ],
)
def test_only_the_environments_own_wording_makes_a_failure(
    action: str, observation: str, success: bool
) -> None:
    """A program's output may say anything; SWE-agent's commands mean what they say."""
    turns, _ = read(item("user", "Go."), act(action), item("user", observation))
    result = turns[0].tool_results[0]
    assert (result.success, result.error is None) == (success, success)


@pytest.mark.parametrize(
    ("action", "tool", "parameters"),
    [
        ("open 'my file.py' 3", "open", {"path": "my file.py", "line_number": 3}),
        ("goto 40", "goto", {"line_number": 40}),
        ("create a.py", "create", {"filename": "a.py"}),
        ('search_dir "def x(" src', "search_dir", {"search_term": "def x(", "dir": "src"}),
        ("search_file todo", "search_file", {"search_term": "todo"}),
        ("find_file *.py", "find_file", {"file_name": "*.py"}),
        ("edit\nx\nend_of_edit", "edit", {"replacement_text": "x"}),
        ("edit 3:4\nend_of_edit", "edit", {"start_line": 3, "end_line": 4, "replacement_text": ""}),
        (
            "edit 'a' 'b' --replace-all",
            "edit",
            {"search": "a", "replace": "b", "replace_all": True},
        ),
        ("insert 'x = 1' 7", "insert", {"text": "x = 1", "line": 7}),
        ("submit", "submit", {}),
        ("submit it's |this|", "submit", {"answer": "it's |this|"}),
        ("open a.py && ls", "bash", {"command": "open a.py && ls"}),
        ("open a.py\nls", "bash", {"command": "open a.py\nls"}),
        ("openssl version", "bash", {"command": "openssl version"}),
        (
            "str_replace_editor view /repo/a.py --view_range 1 20",
            "str_replace_editor",
            {"command": "view", "path": "/repo/a.py", "view_range": [1, 20]},
        ),
    ],
)
def test_actions_are_read_as_the_commands_they_are(
    action: str, tool: str, parameters: dict[str, Any]
) -> None:
    assert parsed(action) == (tool, parameters)


def test_an_action_that_stands_only_in_the_answer_is_found_there() -> None:
    turns, _ = read(
        item("user", "Go."), item("assistant", "Look.\n```\nls\n```\n"), item("user", "a.py")
    )
    assert turns[0].assistant_response == "Look."
    assert only_call(turns[0])[0].parameters == {"command": "ls"}


def test_what_follows_an_answer_without_action_is_not_the_users() -> None:
    turns, _ = read(
        item("user", "Go."),
        item("assistant", "I am done thinking.", thought="", action=""),
        item("user", "No action was found in that."),
        act("ls"),
    )
    assert [turn.user_message for turn in turns] == ["Go.", ""]
    assert [note.kind for note in turns[1].notes] == ["injected"]


def test_the_exit_that_the_harness_writes_is_no_answer() -> None:
    exit_ = item("assistant", "Exit due to cost limit", action="exit_cost")
    turns, log = read(item("user", "Go."), act("ls"), item("user", "a.py"), exit_)
    assert len(turns) == 1
    assert [note.kind for note in log.pending[0, ""].notes] == ["failure"]


def test_a_trajectory_is_read_where_there_is_no_history() -> None:
    step = {"action": "ls\n", "observation": "a.py", "thought": "Look.", "response": "all of it"}
    turns, _ = read(trajectory=[step | {"state": "not JSON"}, step | {"observation": None}])
    assert [turn.assistant_response for turn in turns] == ["Look.", "Look."]
    assert only_call(turns[0])[1].output == "a.py"
    assert turns[1].tool_results == ()


def test_the_same_story_is_not_told_twice() -> None:
    step = {"action": "ls\n", "observation": "a.py", "thought": "Look.", "response": "all of it"}
    turns, _ = read(item("user", "Go."), act("ls"), item("user", "a.py"), trajectory=[step])
    assert len(turns) == 1


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ({"history": [item("user", "hi")]}, 3),
        ({"trajectory": [{"action": "ls", "observation": "a"}]}, 3),
        ({"history": [{"role": "user", "content": "hi"}]}, 1),
        ({"messages": [{"role": "user", "content": "hi"}]}, 0),
        ({"history": "long"}, 0),
        ([item("user", "hi")], 0),
    ],
)
def test_how_sure_the_content_makes_it(document: Any, sure: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(document).encode())) == sure
