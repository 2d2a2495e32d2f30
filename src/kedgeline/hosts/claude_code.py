"""Claude Code: settings.json, .claude.json for servers, skills and commands as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NEEDS,
    SERVER,
    STATUS_LINE,
    Launch,
    Member,
    Moment,
    OwnFile,
    Piece,
    Place,
    SettingsFile,
    by_launch,
    command_text,
    hook_words,
    hooks_for,
    json_text,
    manifest,
    markdown_file,
    opt_in_events,
    server_program,
    skill_text,
)

EVENTS: dict[Moment, str] = {
    "session start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "tool output": "PostToolUse",
    "tools done": "PostToolBatch",
    "turn end": "Stop",
    "sub-agent end": "SubagentStop",
    "before compaction": "PreCompact",
    "after compaction": "PostCompact",
    "session end": "SessionEnd",
}
MATCHERS = {"SessionStart": "startup|resume|clear|compact|fork", "PostToolUse": "Bash"}
"""Sources of a session; tools whose outputs can be replaced by something of their own shape."""
LICENSE = "MIT"


class ClaudeCode:
    name = "claude-code"
    title = "Claude Code"

    def root(self, place: Place) -> Path:
        if place.project:
            return place.project / ".claude"
        return place.folder("CLAUDE_CONFIG_DIR", ".claude")

    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root = self.root(place)
        settings = SettingsFile(
            root / "settings.json",
            hooks=hooks(place.launch),
            opt_in=opt_in_events(EVENTS),
            members=() if place.project else (_status_line(place.launch),),
            strict=True,
            switch="disableAllHooks",
            plugins="enabledPlugins",
        )
        return (settings, *self._servers(place), *_own_files(root, place.launch))

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        del place, reduce
        return (f"start a new session of {self.title}: it reads hooks when a session starts",)

    def plugin(self) -> dict[str, str]:
        about = {**manifest(), "author": {"name": SERVER}, "license": LICENSE}
        described = {"description": NEEDS.summary, "hooks": _without_opt_in()}
        server = {"mcpServers": {SERVER: server_program(BY_NAME)}}
        own = _own_files(Path(), BY_NAME, below="commands")
        return {
            ".claude-plugin/plugin.json": json_text(about),
            "hooks/hooks.json": json_text(described),
            ".mcp.json": json_text(server),
            **{file.path.as_posix(): file.text for file in own},
        }

    def _servers(self, place: Place) -> tuple[SettingsFile, ...]:
        if not place.server:
            return ()
        value = {"type": "stdio", **server_program(place.launch)}
        member = Member(("mcpServers", SERVER), value, MCP, "MCP server")
        return (SettingsFile(_servers_file(place), members=(member,), strict=True),)


def hooks(launch: Launch) -> dict[str, dict[str, Any]]:
    """Groups by event, each a program with arguments: no shell reads the path."""
    groups = {}
    for event, hook in hooks_for(EVENTS):
        handler = {
            "type": "command",
            **launch.program(*hook_words(HOST.name)),
            "timeout": hook.seconds,
        }
        matcher = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
        groups[event] = {**matcher, "hooks": [handler]}
    return groups


def marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    about = {**manifest(), "source": "./claude-code"}
    described = {"description": NEEDS.summary}
    value = {"name": SERVER, "owner": {"name": SERVER}, "metadata": described, "plugins": [about]}
    return {".claude-plugin/marketplace.json": json_text(value)}


def _without_opt_in() -> dict[str, list[dict[str, Any]]]:
    opt_in = opt_in_events(EVENTS)
    return {event: [group] for event, group in hooks(BY_NAME).items() if event not in opt_in}


def _servers_file(place: Place) -> Path:
    if place.project:
        return place.project / ".mcp.json"
    named = place.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(named).expanduser() if named else place.home) / ".claude.json"


def _status_line(launch: Launch) -> Member:
    value = {"type": "command", "command": launch.line(STATUS_LINE)}
    return Member(("statusLine",), value, STATUS_LINE, "status line")


def _own_files(
    root: Path, launch: Launch, *, below: str = "commands/kedgeline"
) -> tuple[OwnFile, ...]:
    """Skill and commands. A folder below `commands` becomes the part before the colon; a plugin
    has that already."""
    skill = root / "skills" / NEEDS.skill.name / "SKILL.md"
    commands = [
        markdown_file(root / below / f"{one.name}.md", command_text(one, launch, allowed=True))
        for one in NEEDS.commands
    ]
    return (markdown_file(skill, by_launch(skill_text(), launch)), *commands)


HOST = ClaudeCode()
