"""Gemini CLI: an extension for the user; settings.json and files in a project, which can have no
extension of its own."""

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
    Member,
    Moment,
    OwnFile,
    Piece,
    Place,
    Rival,
    SettingsFile,
    by_launch,
    command_toml,
    hook_words,
    hooks_for,
    json_text,
    manifest,
    markdown_file,
    server_program,
    skill_text,
    text_named,
)

EVENTS: dict[Moment, str] = {
    "prompt": "BeforeAgent",
    "tools done": "AfterTool",
    "turn end": "AfterAgent",
    "session end": "SessionEnd",
}
"""After a compression nothing is called: what is lost is put back with the next prompt, or with the
next tool while the agent works on.

PreCompress is left alone: it is called, and waited for, before every request, also where nothing is
compressed, and what it answers reaches no summariser. So is SessionStart: what it answers is put
before the user's words, and both are forgotten when the session is taken up again; and it names a
transcript that is not the one of a session that is taken up again."""
THOUSANDTHS = 1_000
"""Time limits are in milliseconds."""
CONTEXT = "KEDGELINE.md"
INSTALLED = ".gemini-extension-install.json"
"""What Gemini CLI puts into extensions that it installed itself."""


class GeminiCli:
    name = "gemini-cli"
    title = "Gemini CLI"

    def root(self, place: Place) -> Path:
        if place.project:
            return place.project / ".gemini"
        return place.folder("GEMINI_CLI_HOME") / ".gemini"

    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        if place.project:
            settings = SettingsFile(
                root / "settings.json",
                hooks=hooks(launch),
                members=_servers(launch) if place.server else (),
            )
            return (settings, *_own_files(root, launch))
        below = root / "extensions" / NAME
        registered = SettingsFile(below / "hooks" / "hooks.json", hooks=hooks(launch))
        about = _extension(launch, server=place.server)
        words = by_launch(text_named("context.md"), launch)
        extension = OwnFile(
            below / "gemini-extension.json",
            about,
            comment='  "written": "by',  # Gemini CLI reads over keys that it does not know
            ending='",',
            opening="{\n",
            rival=Rival(below / INSTALLED, f"gemini extensions uninstall {NAME}"),
        )
        return (
            extension,
            OwnFile(below / CONTEXT, words, comment="<!--", ending=" -->"),
            registered,
            *_own_files(below, launch),
        )

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        said = [f"start {self.title} again: it reads hooks and extensions when it starts"]
        if place.project:
            said.append(f"{self.title} runs the hooks of a project only where you trust its folder")
        if reduce:
            said.append(f"{self.title} does not let a hook replace the output of a tool: left out")
        return tuple(said)

    def plugin(self) -> dict[str, str]:
        groups = {event: [group] for event, group in hooks(BY_NAME).items()}
        return {
            "gemini-extension.json": _extension(BY_NAME, server=True),
            CONTEXT: text_named("context.md"),
            "hooks/hooks.json": json_text({"hooks": groups}),
            **{file.path.as_posix(): file.text for file in _own_files(Path(), BY_NAME)},
        }


def hooks(launch: Launch) -> dict[str, dict[str, Any]]:
    """Groups by event; each is a line for a shell, with a name that `/hooks` shows."""
    groups = {}
    for event, hook in hooks_for(EVENTS):
        handler = {
            "type": "command",
            "name": NAME,
            "command": launch.line(*hook_words(HOST.name)),
            "timeout": hook.seconds * THOUSANDTHS,
        }
        groups[event] = {"hooks": [handler]}
    return groups


def _extension(launch: Launch, *, server: bool) -> str:
    servers = {"mcpServers": {SERVER: server_program(launch)}} if server else {}
    return json_text({**manifest(), "contextFileName": CONTEXT, **servers})


def _servers(launch: Launch) -> tuple[Member, ...]:
    return (Member(("mcpServers", SERVER), server_program(launch), MCP, "MCP server"),)


def _own_files(root: Path, launch: Launch) -> tuple[OwnFile, ...]:
    skill = root / "skills" / NEEDS.skill.name / "SKILL.md"
    commands = [
        OwnFile(root / "commands" / NAME / f"{one.name}.toml", command_toml(one, launch), "#")
        for one in NEEDS.commands
    ]
    return (markdown_file(skill, by_launch(skill_text(), launch)), *commands)


HOST = GeminiCli()
