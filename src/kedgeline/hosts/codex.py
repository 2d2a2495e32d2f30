"""Codex: hooks.json, config.toml for servers, skills as files; users have no slash commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    NEEDS,
    SERVER,
    Launch,
    Moment,
    Piece,
    Place,
    ServerTable,
    SettingsFile,
    by_launch,
    hook_words,
    hooks_for,
    json_text,
    manifest,
    markdown_file,
    server_program,
    skill_text,
)

EVENTS: dict[Moment, str] = {
    "session start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "turn end": "Stop",
    "sub-agent end": "SubagentStop",
    "before compaction": "PreCompact",
    "after compaction": "PostCompact",
    "session end": "SessionEnd",
}
"""No tool output: what a hook says of it is added to it, and would make it longer."""
SOURCES = "startup|resume|clear|compact"
NO_LIMIT = 0
"""Codex writes context of more than 2,500 tokens to a file and shows its beginning; what is put
back has a budget of its own."""

END_SECONDS = 3
"""The most that Codex waits at the end of a session; more than that and it warns."""


class Codex:
    name = "codex"
    title = "Codex"

    def root(self, place: Place) -> Path:
        return place.project / ".codex" if place.project else place.folder("CODEX_HOME", ".codex")

    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        pieces: list[Piece] = [
            SettingsFile(root / "hooks.json", hooks=hooks(launch), strict=True, marked=False),
        ]
        if place.server:
            table = ("mcp_servers", SERVER)
            program = server_program(launch)
            pieces.append(ServerTable(root / "config.toml", table, program, MCP, plugins="plugins"))
        skill = root / "skills" / NEEDS.skill.name / "SKILL.md"
        return (*pieces, markdown_file(skill, by_launch(skill_text(), launch)))

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        said = [
            "start Codex and trust the new hooks: type /hooks and look at each, they are "
            "skipped until you do, and again after an update that changes them"
        ]
        if place.project:
            said.append("Codex reads the files of a project only where you trust its folder")
        if reduce:
            said.append("Codex does not let a hook replace the output of a tool: left out")
        return tuple(said)

    def plugin(self) -> dict[str, str]:
        groups = {event: [group] for event, group in hooks(BY_NAME).items()}
        return {
            ".codex-plugin/plugin.json": json_text(manifest()),
            "hooks/hooks.json": json_text({"hooks": groups}),
            ".mcp.json": json_text({"mcpServers": {SERVER: server_program(BY_NAME)}}),
            f"skills/{NEEDS.skill.name}/SKILL.md": skill_text(),
        }


def hooks(launch: Launch) -> dict[str, dict[str, Any]]:
    """Groups by event; each is a line for a shell, because Codex knows nothing else."""
    groups = {}
    for event, hook in hooks_for(EVENTS):
        seconds = min(hook.seconds, END_SECONDS) if event == "SessionEnd" else hook.seconds
        handler = {
            "type": "command",
            "command": launch.line(*hook_words(HOST.name)),
            "timeout": seconds,
        }
        matcher = {}
        if event == "SessionStart":
            handler["additionalContextLimit"] = NO_LIMIT
            matcher = {"matcher": SOURCES}
        groups[event] = {**matcher, "hooks": [handler]}
    return groups


def marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    plugin = {"name": NAME, "source": {"source": "local", "path": "./codex"}}
    value = {"name": NAME, "plugins": [plugin]}
    return {".agents/plugins/marketplace.json": json_text(value)}


HOST = Codex()
