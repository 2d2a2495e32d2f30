"""Claude Code: settings.json, .claude.json for servers, skills and commands as files."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    NEEDS,
    REPLACE_SECONDS,
    SERVER,
    STATUS_LINE,
    Host,
    Launch,
    Member,
    OwnFile,
    Piece,
    Place,
    SettingsFile,
    filled,
    json_text,
    manifest,
    server_member,
    server_text,
)

MODULES = {"modules": ["./register.js"]}
"""Beside the hooks of a plugin; a Claude Code that does not know of modules passes over them."""
SAYS = '  "description": "Compacts this conversation with kedgeline in the place of Claude Code.'
"""JSON has no comments: our mark stands at the end of this description."""


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
        return (settings, *servers, *self.own_files(root, launch), *self._seam(place))

    def seam(self, place: Place) -> Path | None:
        return self.root(place) / "skills" / NAME / "hooks" / "register.js"

    def _seam(self, place: Place) -> tuple[OwnFile, ...]:
        """A plugin of its own in the folder of skills, which Claude Code loads without being asked
        to: settings can name hooks that are programs, and no module."""
        folder, is_wanted = self.root(place) / "skills" / NAME, place.replacing
        module = register_text(place.launch, place.room)

        def described(path: str, value: dict[str, Any]) -> OwnFile:
            text, at = json_text(value), folder / path
            return OwnFile(at, text, SAYS, ending='",', opening="{\n", wanted=is_wanted)

        return (
            described(".claude-plugin/plugin.json", {"name": NAME, "author": {"name": SERVER}}),
            OwnFile(folder / "hooks/register.js", module, comment="//", wanted=is_wanted),
            described("hooks/hooks.json", MODULES),
        )

    def plugin(self) -> dict[str, str]:
        about = {**manifest(), "author": {"name": SERVER}, "license": "MIT"}
        described = {"description": NEEDS.summary, "hooks": self.plugin_hooks(), **MODULES}
        # A folder below `commands` becomes the part before the colon; a plugin has that already.
        own = replace(self, commands="commands").own_files(Path(), BY_NAME)
        return {
            ".claude-plugin/plugin.json": json_text(about),
            "hooks/hooks.json": json_text(described),
            "hooks/register.js": register_text(BY_NAME),
            ".mcp.json": server_text(BY_NAME),
            **{file.path.as_posix(): file.text for file in own},
        }


def register_text(launch: Launch, room: int = 0) -> str:
    """The module of the plugin, with how kedgeline is started here."""
    return filled(
        "register.js",
        {
            "KEDGELINE = []": f"KEDGELINE = {dumps(launch.argv())}",
            "MILLISECONDS = 0": f"MILLISECONDS = {REPLACE_SECONDS * 1_000:_}",
            "ROOM = 0": f"ROOM = {room}",
        },
    )


def marketplace(folder: str = "./claude-code") -> str:
    """The file by which the plugin is found: beside its folder, and at the root of the repository,
    where whoever adds that by its address has it."""
    about = {**manifest(), "source": folder}
    described = {"description": NEEDS.summary}
    value = {"name": SERVER, "owner": {"name": SERVER}, "metadata": described, "plugins": [about]}
    return json_text(value)


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
