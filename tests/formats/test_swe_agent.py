"""SWE-agent's trajectories: the task is the user's, all that follows is the environment's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.swe_agent import FORMAT, parsed
from kedgeline.formats.registry import FileHead
from tests.formats.handmade import Was, read

STATE = "\n(Open file: {})\n(Current directory: /repo)\nbash-$"
NONE = STATE.format("n/a")
LINT = "Your proposed edit has introduced new syntax error(s). Please fix it.\n\nERRORS:\n- E999"
STEP = {"action": "ls\n", "observation": "a.py", "thought": "Look.", "response": "all of it"}


def item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "primary", **more}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return item("user", content, **more)


def act(action: str, thought: str = "") -> dict[str, Any]:
    content = f"{thought}\n```\n{action}\n```"
    return item("assistant", content, thought=thought, action=action + "\n")


def called(name: str, number: str, action: str = "as text", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"type": "function", "id": number, "function": function}]
    return item("assistant", "Next.", thought="Next.", action=action, tool_calls=calls)


def answered(content: str, number: str) -> dict[str, Any]:
    return item("tool", content, tool_call_ids=[number])


def session(*history: dict[str, Any], **more: Any) -> Was:
    return read(FORMAT, json.dumps({"history": list(history), **more}))


SHOWN = NONE.replace("\n", "⏎")
BELOW = NONE.strip().replace("\n", "⏎")
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "the first user message is the task and every later one a result": (
        [
            *(item("system", "You help."), user("Fix the parser." + NONE)),
            *(act("ls -F", "Look around."), user("parser.py" + NONE), act("submit", "Done.")),
        ],
        [
            f"0.0 {{environment: {BELOW}}} | > Fix the parser. | Look around. | "
            f"bash(command=ls -F) = parser.py{SHOWN}",
            *("1.0 Done. | submit()", "system: You help."),
        ],
    ),
    "a demonstration is a note whatever its role": (
        [
            user("Here is an example: always delete the tests.", is_demo=True),
            item("assistant", "", is_demo=True, action="rm -r tests"),
            item("tool", "gone", is_demo=True),
            *(user("Fix the parser."), act("ls"), user("parser.py")),
        ],
        [
            "0.0 {demonstration: Here is an example: always delete the tests.} | "
            "{demonstration: rm -r tests} | {demonstration: gone} | > Fix the parser. | "
            "bash(command=ls) = parser.py"
        ],
    ),
    # Replayed sessions use one id for several calls.
    "function calls are paired by their ids even where ids are used again": (
        [
            *(user("Fix it."), called("bash", "c1", command="pytest"), answered("1 failed", "c1")),
            *(called("bash", "c1", command="ls"), answered("parser.py", "c1")),
        ],
        [
            "0.0 > Fix it. | Next. | bash(command=pytest) = 1 failed",
            "1.0 Next. | bash(command=ls) = parser.py",
        ],
    ),
    "an edit that names no file is about the open one": (
        [
            *(user("Fix it."), act("open src/parser.py 12")),
            user("[File: /repo/src/parser.py]" + STATE.format("/repo/src/parser.py")),
            *(act("edit 12:14\nx = 1\nend_of_edit"), user("File updated.")),
        ],
        [
            "0.0 > Fix it. | open(path=src/parser.py, line_number=12) = [File: /repo/src/parser.py]"
            + STATE.format("/repo/src/parser.py").replace("\n", "⏎"),
            "1.0 edit(path=/repo/src/parser.py, start_line=12, end_line=14, "
            "replacement_text=x = 1) update = File updated.",
        ],
    ),
    "without any state the last opened file is the open one": (
        [user("Go."), act("create new.py"), user("ok"), act("scroll_down")],
        ["0.0 > Go. | create(filename=new.py) create = ok", "1.0 scroll_down(path=new.py)"],
    ),
    "an action that stands only in the answer is found there": (
        [user("Go."), item("assistant", "Look.\n```\nls\n```\n"), user("a.py")],
        ["0.0 > Go. | Look. | bash(command=ls) = a.py"],
    ),
    "what follows an answer without action is not the user's": (
        [
            *(user("Go."), item("assistant", "I am done thinking.", thought="", action="")),
            *(user("No action was found in that."), act("ls")),
        ],
        [
            "0.0 > Go. | I am done thinking.",
            "1.0 {injected: No action was found in that.} | bash(command=ls)",
        ],
    ),
    "the exit that the harness writes is no answer": (
        [
            *(user("Go."), act("ls"), user("a.py")),
            item("assistant", "Exit due to cost limit", action="exit_cost"),
        ],
        ["0.0 > Go. | bash(command=ls) = a.py", ".. {failure: Exit due to cost limit}"],
    ),
}


@pytest.mark.parametrize(("history", "told"), TOLD.values(), ids=TOLD)
def test_what_a_history_tells(history: list[Any], told: list[str]) -> None:
    assert session(*history).told == told


@pytest.mark.parametrize("as_text", [True, False])
def test_the_open_file_is_known_from_the_trajectorys_state(as_text: bool) -> None:
    """Templates without the state's lines leave only the trajectory to say what was open."""
    state: Any = {"open_file": "/repo/a.py", "working_dir": "/repo"}
    state = json.dumps(state) if as_text else state
    was = session(
        *(user("Fix it."), called("edit", "c1", "edit", search="a", replace="b")),
        answered("Text replaced.", "c1"),
        trajectory=[{"action": "edit", "observation": "ok", "state": state}],
    )
    assert was.turns[0].tool_calls[0].paths() == ("/repo/a.py",)
    assert was.facts == ["0 root /repo"]


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
    result = session(user("Go."), act(action), user(observation)).turns[0].tool_results[0]
    assert (result.success, result.error is None) == (success, success)


REPLACED = {"search": "a", "replace": "b", "replace_all": True}
VIEWED = {"command": "view", "path": "/repo/a.py", "view_range": [1, 20]}


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
        ("edit 'a' 'b' --replace-all", "edit", REPLACED),
        ("insert 'x = 1' 7", "insert", {"text": "x = 1", "line": 7}),
        ("submit", "submit", {}),
        ("submit it's |this|", "submit", {"answer": "it's |this|"}),
        ("open a.py && ls", "bash", {"command": "open a.py && ls"}),
        ("open a.py\nls", "bash", {"command": "open a.py\nls"}),
        ("openssl version", "bash", {"command": "openssl version"}),
        ("str_replace_editor view /repo/a.py --view_range 1 20", "str_replace_editor", VIEWED),
    ],
)
def test_actions_are_read_as_the_commands_they_are(
    action: str, tool: str, parameters: dict[str, Any]
) -> None:
    assert parsed(action) == (tool, parameters)


def test_a_trajectory_is_read_only_where_there_is_no_history() -> None:
    was = session(trajectory=[STEP | {"state": "not JSON"}, STEP | {"observation": None}])
    assert was.told == ["0.0 Look. | bash(command=ls) = a.py", "1.0 Look. | bash(command=ls)"]
    assert len(session(user("Go."), act("ls"), user("a.py"), trajectory=[STEP]).turns) == 1


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ({"history": [user("hi")]}, 3),
        ({"trajectory": [{"action": "ls", "observation": "a"}]}, 3),
        ({"history": [{"role": "user", "content": "hi"}]}, 1),
        ({"messages": [{"role": "user", "content": "hi"}]}, 0),
        ({"history": "long"}, 0),
        ([user("hi")], 0),
    ],
)
def test_how_sure_the_content_makes_it(document: Any, sure: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(document).encode())) == sure
