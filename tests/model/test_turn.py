"""Tool calls and results: verbs, paths, and what failed means."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.model.catalogue import CATALOGUE, VERBS

PATCH = (
    "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n"
    "*** Add File: c.rs\n*** End Patch"
)


@pytest.mark.parametrize(
    ("tool", "parameters", "verb", "paths"),
    [
        ("Read", {"file_path": "/h/a.py"}, "read", ("/h/a.py",)),
        ("read", {"filePath": "/h/a.py"}, "read", ("/h/a.py",)),
        ("read_file", {"absolute_path": "/h/a.py"}, "read", ("/h/a.py",)),
        ("mcp__files__read_file", {"path": "a.py"}, "read", ("a.py",)),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, "edit", ("n.ipynb",)),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "edit", ("a.py",)),
        ("Write", {"file_path": "a.py", "content": ""}, "write", ("a.py",)),
        ("Bash", {"command": "rm a.py"}, "run", ()),
        ("shell", {"command": ["bash", "-lc", "ls"]}, "run", ()),
        ("apply_patch", {"input": PATCH}, "edit", ("src/a.rs", "src/b.rs", "c.rs")),
        ("shell", {"command": ["apply_patch", PATCH]}, "edit", ("src/a.rs", "src/b.rs", "c.rs")),
        (
            "shell",
            {"command": ["bash", "-lc", f"cd x && apply_patch <<'E'\n{PATCH}\nE"]},
            "edit",
            ("src/a.rs", "src/b.rs", "c.rs"),
        ),
        ("shell", {"command": ["bash", "-lc", f"cat <<'E'\n{PATCH}\nE"]}, "run", ()),
        ("str_replace_editor", {"command": "view", "path": "a"}, "read", ("a",)),
        ("str_replace_editor", {"command": "create", "path": "a"}, "write", ("a",)),
        ("str_replace_editor", {"command": "str_replace", "path": "a"}, "edit", ("a",)),
        ("delete_file", {"target_file": "a"}, "delete", ("a",)),
        ("move_file", {"source": "a", "destination": "b"}, "move", ("a", "b")),
        ("Grep", {"pattern": "x", "path": "src"}, "search", ("src",)),
        ("WebSearch", {"query": "x"}, "web_search", ()),
        ("web_fetch", {"url": "x"}, "web_fetch", ()),
        ("TodoWrite", {"todos": []}, "todo", ()),
        ("update_plan", {}, "todo", ()),
        ("Task", {"prompt": "x"}, "delegate", ()),
        ("AskUserQuestion", {}, "ask", ()),
        ("get_user_details", {"user_id": "x"}, "other", ()),
        ("mystery", {"file_path": "a", "path": 7}, "other", ("a",)),
    ],
)
def test_verb_and_paths(
    tool: str, parameters: dict[str, Any], verb: str, paths: tuple[str, ...]
) -> None:
    call = ToolCall(id="c", tool=tool, parameters=parameters)
    assert (call.verb, call.paths()) == (verb, paths)


def test_a_verb_that_is_given_stays() -> None:
    assert ToolCall(id="c", tool="mystery", verb="read").verb == "read"


@pytest.mark.parametrize(
    ("path", "name"),
    [("/h/src/a.py", "a.py"), ("a.py", "a.py"), ("C:\\h\\a.py", "a.py"), ("/h/src/", "src")],
)
def test_filename_is_the_base_name(path: str, name: str) -> None:
    assert ToolCall(id="c", tool="Read", parameters={"file_path": path}).filename() == name


def test_filename_without_a_path() -> None:
    assert ToolCall(id="c", tool="Bash", parameters={"command": "ls"}).filename() is None


def test_the_catalogue_has_no_tool_twice_and_only_known_verbs() -> None:
    names = re.sub(r"[_.-]", "", " ".join(names for _, names, _ in CATALOGUE)).casefold().split()
    assert sorted(names) == sorted(set(names))
    assert {verb for verb, _, _ in CATALOGUE} <= set(VERBS)


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Turn().index = 1  # type: ignore[misc]


def test_values_survive_json() -> None:
    turn = Turn(
        index=3,
        tool_calls=(ToolCall(id="c", tool="Edit", parameters={"file_path": "a"}),),
        tool_results=(ToolResult(call_id="c", success=False, error="no"),),
    )
    assert msgspec.json.decode(msgspec.json.encode(turn), type=Turn) == turn


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (ToolResult(call_id="c"), False),
        (ToolResult(call_id="c", success=False), True),
        (ToolResult(call_id="c", success=False, refused=True), False),
        (ToolResult(call_id="c", success=False, interrupted=True), False),
    ],
)
def test_failed(result: ToolResult, failed: bool) -> None:
    assert result.failed is failed
