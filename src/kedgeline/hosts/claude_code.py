"""Claude Code: settings.json, .claude.json for servers, skills and commands as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kedgeline.hosts.shared import (
    BY_NAME,
    NEEDS,
    SERVER,
    STATUS_LINE,
    Host,
    Launch,
    Member,
    Piece,
    Place,
    SettingsFile,
    json_text,
    manifest,
    server_member,
    server_program,
)


class ClaudeCode(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root = self.root(place)
        settings = SettingsFile(
            root / "settings.json",
            hooks=self.hooks(place.launch),
            opt_in=self.opt_in,
            members=() if place.project else (_status_line(place.launch),),
            strict=True,
            switch="disableAllHooks",
            plugins="enabledPlugins",
        )
        return (settings, *_servers(place), *self.own_files(root, place.launch))

    def plugin(self) -> dict[str, str]:
        about = {**manifest(), "author": {"name": SERVER}, "license": "MIT"}
        described = {"description": NEEDS.summary, "hooks": self.plugin_hooks()}
        # A folder below `commands` becomes the part before the colon; a plugin has that already.
        own = replace(self, commands="commands").own_files(Path(), BY_NAME)
        return {
            ".claude-plugin/plugin.json": json_text(about),
            "hooks/hooks.json": json_text(described),
            ".mcp.json": json_text({"mcpServers": {SERVER: server_program(BY_NAME)}}),
            **{file.path.as_posix(): file.text for file in own},
        }


def marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    about = {**manifest(), "source": "./claude-code"}
    described = {"description": NEEDS.summary}
    value = {"name": SERVER, "owner": {"name": SERVER}, "metadata": described, "plugins": [about]}
    return {".claude-plugin/marketplace.json": json_text(value)}


def _servers(place: Place) -> tuple[SettingsFile, ...]:
    if not place.server:
        return ()
    path = place.folder("CLAUDE_CONFIG_DIR") / ".claude.json"
    if place.project:
        path = place.project / ".mcp.json"
    value = {"type": "stdio", **server_program(place.launch)}
    return (SettingsFile(path, members=(server_member("mcpServers", value=value),), strict=True),)


def _status_line(launch: Launch) -> Member:
    value = {"type": "command", "command": launch.line(STATUS_LINE)}
    return Member(("statusLine",), value, STATUS_LINE, "status line")


HOST = ClaudeCode(
    name="claude-code",
    title="Claude Code",
    in_project=".claude",
    variable="CLAUDE_CONFIG_DIR",
    usual=(".claude",),
    events={
        "session start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "tool output": "PostToolUse",
        "tools done": "PostToolBatch",
        "turn end": "Stop",
        "sub-agent end": "SubagentStop",
        "before compaction": "PreCompact",
        "after compaction": "PostCompact",
        "session end": "SessionEnd",
    },
    # Sources of a session; tools whose outputs can be replaced by something of their own shape.
    matchers={"SessionStart": "startup|resume|clear|compact|fork", "PostToolUse": "Bash"},
    shell=False,
    allows=True,
    next="start a new session of Claude Code: it reads hooks when a session starts",
)
