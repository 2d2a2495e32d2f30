"""Gemini CLI: an extension for the user; settings.json and files in a project, which can have no
extension of its own."""

from __future__ import annotations

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    SERVER,
    Host,
    InstallPlace,
    Launch,
    OwnFile,
    Piece,
    SettingsFile,
    by_launch,
    json_text,
    manifest,
    server_member,
    text_named,
)

CONTEXT = "KEDGELINE.md"
INSTALLED = ".gemini-extension-install.json"
"""What Gemini CLI puts into extensions that it installed itself."""


class _GeminiCli(Host):
    def pieces(self, place: InstallPlace) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        hooks = self.hooks(launch)
        if place.project:
            members = (server_member(launch.program(MCP)),) if place.server else ()
            settings = SettingsFile(root / "settings.json", hooks=hooks, members=members)
            return (settings, *self.own_files(root, place))
        below = root / "extensions" / NAME
        words = by_launch(text_named("context.md"), launch)
        extension = OwnFile(
            below / "gemini-extension.json",
            _extension(launch, server=place.server),
            comment='  "written": "by',  # Gemini CLI reads over keys that it does not know
            ending='",',
            opening="{\n",
            rival=(below / INSTALLED, f"gemini extensions uninstall {NAME}"),
        )
        return (
            extension,
            OwnFile(below / CONTEXT, words, comment="<!--", ending=" -->"),
            SettingsFile(below / "hooks" / "hooks.json", hooks=hooks),
            *self.own_files(below, place),
        )

    def plugin(self) -> dict[str, str]:
        return {
            "gemini-extension.json": _extension(BY_NAME, server=True),
            CONTEXT: text_named("context.md"),
            "hooks/hooks.json": json_text({"hooks": self.plugin_hooks()}),
            **super().plugin(),
        }


def _extension(launch: Launch, *, server: bool) -> str:
    servers = {"mcpServers": {SERVER: launch.program(MCP)}} if server else {}
    return json_text({**manifest(), "contextFileName": CONTEXT, **servers})


HOST = _GeminiCli(
    name="gemini-cli",
    title="Gemini CLI",
    in_project=".gemini",
    variable="GEMINI_CLI_HOME",
    below=".gemini",
    # After a compression nothing is called: what is lost is put back with the next prompt, or with
    # the next tool while the agent works on. PreCompress is left alone: it is called, and waited
    # for, before every request, and what it answers reaches no summariser. So is SessionStart: what
    # it answers is forgotten when the session is taken up again, and the transcript that it names
    # is not the one of a session that is taken up again.
    events={
        "prompt": "BeforeAgent",
        "tools done": "AfterTool",
        "turn end": "AfterAgent",
        "session end": "SessionEnd",
    },
    second=1_000,
    labels={"name": NAME},  # `/hooks` shows it
    toml_commands=True,
    next="start Gemini CLI again: it reads hooks and extensions when it starts",
    trust="runs the hooks",
    replaces_outputs=False,
)
