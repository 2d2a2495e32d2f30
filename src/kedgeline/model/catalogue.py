"""The tool catalogue: which agent calls which verb what, and where the path sits.

One row per tool: the agents that have it, its name, its verb, the parameters that hold paths.
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
    agents: str
    name: str
    verb: Verb
    paths: tuple[str, ...] = ()


PATCH = "*patch*"
"""In the place of a path parameter: the paths stand in the headers of a patch text."""

# fmt: off
CATALOGUE: tuple[Tool, ...] = (
    # reading
    Tool("claude-code opencode pi", "Read", "read", ("file_path", "filePath", "path")),
    Tool("gemini-cli cursor cline copilot langchain mcp", "read_file", "read",
         ("file_path", "absolute_path", "target_file", "filePath", "path")),
    Tool("gemini-cli mcp", "read_many_files", "read", ("paths", "include")),
    Tool("mcp", "read_multiple_files", "read", ("paths",)),
    Tool("mcp", "read_text_file", "read", ("path",)),
    Tool("claude-code", "NotebookRead", "read", ("notebook_path",)),
    Tool("codex swe-agent", "view_image", "read", ("path", "image_file")),
    Tool("swe-agent", "open", "read", ("path",)),
    Tool("swe-agent", "goto", "read", ("path",)),
    Tool("swe-agent", "scroll_up", "read", ("path",)),
    Tool("swe-agent", "scroll_down", "read", ("path",)),
    Tool("swe-agent", "set_cursors", "read", ("path",)),
    Tool("swe-agent", "filemap", "read", ("file_path",)),
    Tool("openai", "view_file", "read", ("path", "file_path")),
    # writing
    Tool("claude-code opencode pi", "Write", "write", ("file_path", "filePath", "path")),
    Tool("gemini-cli langchain mcp", "write_file", "write", ("file_path", "path", "filename")),
    Tool("cline", "write_to_file", "write", ("path",)),
    Tool("swe-agent", "create", "write", ("path", "filename")),
    Tool("copilot", "create_file", "write", ("filePath", "path")),
    Tool("claude-code", "Artifact", "write", ("file_path",)),
    # editing
    Tool("claude-code opencode pi swe-agent", "Edit", "edit", ("file_path", "filePath", "path")),
    Tool("claude-code opencode", "MultiEdit", "edit", ("file_path", "filePath")),
    Tool("claude-code", "NotebookEdit", "edit", ("notebook_path",)),
    Tool("gemini-cli", "replace", "edit", ("file_path",)),
    Tool("codex opencode openai", "apply_patch", "edit", (PATCH, "path")),
    Tool("opencode", "patch", "edit", (PATCH,)),
    Tool("cursor mcp", "edit_file", "edit", ("target_file", "path", "file_path")),
    Tool("cursor", "search_replace", "edit", ("file_path",)),
    Tool("cline", "replace_in_file", "edit", ("path",)),
    Tool("cline", "apply_diff", "edit", ("path",)),
    Tool("copilot", "insert_edit_into_file", "edit", ("filePath",)),
    Tool("copilot", "replace_string_in_file", "edit", ("filePath",)),
    Tool("swe-agent", "insert", "edit", ("path",)),
    Tool("aider", "edit_block", "edit", ("path",)),
    # one editor, several commands: see COMMAND_VERBS
    Tool("anthropic swe-agent openhands", "str_replace_editor", "edit", ("path",)),
    Tool("anthropic", "str_replace_based_edit_tool", "edit", ("path",)),
    Tool("anthropic goose", "text_editor", "edit", ("path",)),
    # deleting and moving
    Tool("cursor copilot mcp", "delete_file", "delete", ("target_file", "path", "filePath")),
    Tool("mcp", "remove_file", "delete", ("path",)),
    Tool("mcp langchain", "move_file", "move",
         ("source", "destination", "source_path", "destination_path")),
    Tool("mcp", "rename_file", "move", ("old_path", "new_path", "source", "destination")),
    # running
    Tool("claude-code opencode pi anthropic", "Bash", "run"),
    Tool("codex openai goose", "shell", "run"),
    Tool("codex", "local_shell", "run"),
    Tool("codex", "shell_command", "run"),
    Tool("codex", "exec_command", "run"),
    Tool("codex", "write_stdin", "run"),
    Tool("codex", "container.exec", "run"),
    Tool("gemini-cli", "run_shell_command", "run"),
    Tool("cursor", "run_terminal_cmd", "run"),
    Tool("copilot", "run_in_terminal", "run"),
    Tool("cline", "execute_command", "run"),
    Tool("openhands", "execute_bash", "run"),
    Tool("langchain", "terminal", "run"),
    Tool("claude-code", "PowerShell", "run"),
    Tool("openai langchain", "python", "run"),
    Tool("anthropic", "code_execution", "run"),
    Tool("openai", "code_interpreter", "run"),
    # searching
    Tool("claude-code opencode pi", "Grep", "search", ("path",)),
    Tool("claude-code opencode gemini-cli", "Glob", "search", ("path",)),
    Tool("claude-code pi", "LS", "search", ("path",)),
    Tool("opencode", "list", "search", ("path",)),
    Tool("pi", "find", "search", ("path",)),
    Tool("gemini-cli", "list_directory", "search", ("path", "dir_path")),
    Tool("codex cursor", "list_dir", "search",
         ("path", "dir_path", "relative_workspace_path", "target_directory")),
    Tool("gemini-cli", "search_file_content", "search", ("path", "dir_path")),
    Tool("gemini-cli cursor", "grep_search", "search", ("path", "dir_path")),
    Tool("codex", "grep_files", "search", ("path",)),
    Tool("cursor copilot", "file_search", "search"),
    Tool("cursor", "codebase_search", "search"),
    Tool("copilot", "semantic_search", "search"),
    Tool("opencode", "codesearch", "search"),
    Tool("cline mcp", "search_files", "search", ("path",)),
    Tool("cline", "list_files", "search", ("path",)),
    Tool("swe-agent", "search_dir", "search", ("dir", "path")),
    Tool("swe-agent", "search_file", "search", ("file", "path")),
    Tool("swe-agent", "find_file", "search", ("dir", "path")),
    Tool("claude-code", "LSP", "search", ("filePath",)),
    # the web
    Tool("claude-code opencode codex anthropic cursor", "WebSearch", "web_search"),
    Tool("gemini-cli", "google_web_search", "web_search"),
    Tool("openai", "web_search_call", "web_search"),
    Tool("openai", "web_search_preview", "web_search"),
    Tool("langchain", "tavily_search", "web_search"),
    Tool("langchain", "tavily_search_results_json", "web_search"),
    Tool("langchain", "duckduckgo_search", "web_search"),
    Tool("claude-code opencode gemini-cli anthropic", "WebFetch", "web_fetch"),
    Tool("mcp", "fetch", "web_fetch"),
    # todo lists and plans
    Tool("claude-code opencode cursor", "TodoWrite", "todo"),
    Tool("claude-code opencode", "TodoRead", "todo"),
    Tool("claude-code", "TaskCreate", "todo"),
    Tool("claude-code", "TaskUpdate", "todo"),
    Tool("claude-code", "TaskList", "todo"),
    Tool("claude-code", "TaskGet", "todo"),
    Tool("codex", "update_plan", "todo"),
    Tool("gemini-cli langchain", "write_todos", "todo"),
    Tool("copilot", "manage_todo_list", "todo"),
    # other agents
    Tool("claude-code opencode", "Task", "delegate"),
    Tool("claude-code", "Agent", "delegate"),
    Tool("codex", "spawn_agent", "delegate"),
    Tool("gemini-cli", "delegate_to_agent", "delegate"),
    Tool("gemini-cli", "invoke_agent", "delegate"),
    Tool("cline", "new_task", "delegate"),
    # the user
    Tool("claude-code", "AskUserQuestion", "ask"),
    Tool("claude-code", "ExitPlanMode", "ask"),
    Tool("opencode", "question", "ask"),
    Tool("codex", "request_user_input", "ask"),
    Tool("gemini-cli", "ask_user", "ask"),
    Tool("cline", "ask_followup_question", "ask"),
)
# fmt: on

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


_ROWS = {_fold(row.name): row for row in CATALOGUE}
_EDITORS = {"str_replace_editor", "str_replace_based_edit_tool", "text_editor"}
