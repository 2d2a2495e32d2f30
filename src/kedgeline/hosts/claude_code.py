"""Claude Code: settings.json, .claude.json for servers, skills and commands as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NEEDS,
    SERVER,
    STATUS_LINE,
    Host,
    Member,
    Piece,
    Place,
    SettingsFile,
    json_text,
    manifest,
    server_member,
    server_text,
)


class ClaudeCode(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        line = {"type": "command", "command": launch.line(STATUS_LINE)}
        status_line = Member(("statusLine",), line, STATUS_LINE, "status line")
        settings = SettingsFile(
            root / "settings.json",
            hooks=self.hooks(launch),
            opt_in=self.opt_in,
            members=() if place.project else (status_line,),
            strict=True,
            switch="disableAllHooks",
            plugins="enabledPlugins",
        )
        server = server_member("mcpServers", {"type": "stdio", **launch.program(MCP)})
        path = place.folder("CLAUDE_CONFIG_DIR") / ".claude.json"
        path = place.project / ".mcp.json" if place.project else path
        servers = (SettingsFile(path, members=(server,), strict=True),) if place.server else ()
        return (settings, *servers, *self.own_files(root, launch))

    def plugin(self) -> dict[str, str]:
        about = {**manifest(), "author": {"name": SERVER}, "license": "MIT"}
        described = {"description": NEEDS.summary, "hooks": self.plugin_hooks()}
        # A folder below `commands` becomes the part before the colon; a plugin has that already.
        own = replace(self, commands="commands").own_files(Path(), BY_NAME)
        return {
            ".claude-plugin/plugin.json": json_text(about),
            "hooks/hooks.json": json_text(described),
            ".mcp.json": server_text(BY_NAME),
            **{file.path.as_posix(): file.text for file in own},
        }


def marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    about = {**manifest(), "source": "./claude-code"}
    described = {"description": NEEDS.summary}
    value = {"name": SERVER, "owner": {"name": SERVER}, "metadata": described, "plugins": [about]}
    return {".claude-plugin/marketplace.json": json_text(value)}


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
