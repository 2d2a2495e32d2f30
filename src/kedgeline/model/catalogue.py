"""The tool catalogue: what agents call each verb, and where the path sits.

Names are compared without case, dashes and underscores, and without an MCP server's prefix, so
one row serves `read_file`, `ReadFile` and `mcp__files__read_file`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

Verb = Literal[
    "read",
    "write",
    "edit",
    "delete",
    "move",
    "run",
    "search",
    "web_search",
    "web_fetch",
    "todo",
    "delegate",
    "ask",
    "other",
]
VERBS: tuple[Verb, ...] = get_args(Verb)


class Tool(NamedTuple):
    name: str
    verb: Verb
    paths: tuple[str, ...]


PATCH = "*patch*"
"""In the place of a path parameter: the paths stand in the headers of a patch text."""

# fmt: off
CATALOGUE: tuple[tuple[Verb, str, str], ...] = (
    ("read", "Read", "file_path filePath path"),
    ("read", "read_file", "file_path absolute_path target_file filePath path"),
    ("read", "read_many_files", "paths include"),
    ("read", "read_multiple_files", "paths"),
    ("read", "read_text_file open goto scroll_up scroll_down set_cursors", "path"),
    ("read", "NotebookRead", "notebook_path"),
    ("read", "view_image", "path image_file"),
    ("read", "filemap", "file_path"),
    ("read", "view_file", "path file_path"),
    ("write", "Write", "file_path filePath path"),
    ("write", "write_file", "file_path path filename"),
    ("write", "write_to_file", "path"),
    ("write", "create", "path filename"),
    ("write", "create_file", "filePath path"),
    ("write", "Artifact", "file_path"),
    ("edit", "Edit", "file_path filePath path"),
    ("edit", "MultiEdit", "file_path filePath"),
    ("edit", "NotebookEdit", "notebook_path"),
    ("edit", "replace search_replace", "file_path"),
    ("edit", "apply_patch", "*patch* path"),
    ("edit", "patch", "*patch*"),
    ("edit", "edit_file", "target_file path file_path"),
    ("edit",
     "replace_in_file apply_diff insert edit_block str_replace_editor "
     "str_replace_based_edit_tool text_editor",
     "path"),
    ("edit", "insert_edit_into_file replace_string_in_file", "filePath"),
    ("delete", "delete_file", "target_file path filePath"),
    ("delete", "remove_file", "path"),
    ("move", "move_file", "source destination source_path destination_path"),
    ("move", "rename_file", "old_path new_path source destination"),
    ("run",
     "Bash shell local_shell shell_command exec_command write_stdin "
     "container.exec run_shell_command run_terminal_cmd run_in_terminal "
     "execute_command execute_bash terminal PowerShell python code_execution "
     "code_interpreter",
     ""),
    ("search", "Grep Glob LS list find grep_files search_files list_files", "path"),
    ("search", "list_directory search_file_content grep_search", "path dir_path"),
    ("search", "list_dir", "path dir_path relative_workspace_path target_directory"),
    ("search", "file_search codebase_search semantic_search codesearch", ""),
    ("search", "search_dir find_file", "dir path"),
    ("search", "search_file", "file path"),
    ("search", "LSP", "filePath"),
    ("web_search",
     "WebSearch google_web_search web_search_call web_search_preview "
     "tavily_search tavily_search_results_json duckduckgo_search",
     ""),
    ("web_fetch", "WebFetch fetch", ""),
    ("todo",
     "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet update_plan "
     "write_todos manage_todo_list",
     ""),
    ("delegate", "Task Agent spawn_agent delegate_to_agent invoke_agent new_task", ""),
    ("ask",
     "AskUserQuestion ExitPlanMode question request_user_input ask_user "
     "ask_followup_question",
     ""),
)
# fmt: on
"""Verbs, the tools that have them, and the parameters that hold paths."""

COMMAND_VERBS: dict[str, Verb] = {
    "view": "read",
    "create": "write",
    "write": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
    "delete": "delete",
    "rename": "move",
}
"""Editors with a `command` parameter: the verb is the command's, not the tool's."""

USUAL_PATHS = ("file_path", "path", "filename", "notebook_path", "filePath")
"""Where a tool that is not in the catalogue usually keeps its path."""

_PATCH_HEADER = re.compile(
    r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE
)
_FOLDED = str.maketrans("", "", "_-. ")
_SERVER = re.compile(r"__|[./]")
"""In a tool's name, behind that of the server that has it."""
OWN_VERBS = ("todo", "delegate", "ask")
"""What only a client's own tools do: a server's tool of the same name keeps no list of the
client's, starts no agent of its and asks nobody."""


def verb_of(tool: str, parameters: Mapping[str, Any]) -> Verb:
    """The verb of a call; a shell call whose command is `apply_patch` edits files."""
    row = _row(tool)
    if row is None:
        return "other"
    if row.name in _EDITORS and isinstance(command := parameters.get("command"), str):
        return COMMAND_VERBS.get(command, row.verb)
    if row.verb == "run" and patch_in(parameters):
        return "edit"
    return row.verb


def paths_in(tool: str, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths a call names, in the catalogue's order, each once."""
    row = _row(tool)
    keys = USUAL_PATHS if row is None else row.paths
    patches = PATCH in keys or (row is not None and row.verb == "run")
    found = _PATCH_HEADER.findall(patch_in(parameters)) if patches else []
    found = found or [path for key in keys for path in _strings(parameters.get(key))]
    return tuple(dict.fromkeys(found))


def patch_in(parameters: Mapping[str, Any]) -> str:
    """The `apply_patch` text a call carries, or nothing.

    In a shell command it counts only where `apply_patch` is the command itself: a patch that is
    merely printed or searched for changes nothing.
    """
    for key in ("input", "patch", "patchText", "patch_text"):
        if isinstance(value := parameters.get(key), str) and "*** Begin Patch" in value:
            return value
    command = parameters.get("command", parameters.get("cmd"))
    words = list(_strings(command))
    text = words[-1] if words else ""
    if "*** Begin Patch" not in text:
        return ""
    runs = text.lstrip().startswith(("apply_patch", "applypatch")) or words[0] == "apply_patch"
    return text if runs or re.search(r"(?:&&|;|^)\s*apply_?patch\b", text) else ""


@lru_cache(maxsize=4096)
def _row(tool: str) -> Tool | None:
    """A row by name; `mcp__server__tool` is tried whole, then by its last part."""
    *server, last = _SERVER.split(tool)
    row = _ROWS.get(_fold(tool)) or _ROWS.get(_fold(last))
    return None if row and server and row.verb in OWN_VERBS else row


def _fold(name: str) -> str:
    return name.translate(_FOLDED).casefold()


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, (list, tuple)):
        return tuple(item for item in value if isinstance(item, str) and item)
    return ()


_ROWS = {
    _fold(name): Tool(name, verb, tuple(paths.split()))
    for verb, names, paths in CATALOGUE
    for name in names.split()
}
_EDITORS = {"str_replace_editor", "str_replace_based_edit_tool", "text_editor"}
