"""Codex: hooks.json, config.toml for servers, skills as files; users have no slash commands."""

from __future__ import annotations

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    SERVER,
    Host,
    Piece,
    Place,
    ServerTable,
    SettingsFile,
    json_text,
    manifest,
    server_text,
)

END_SECONDS = 3
"""The most that Codex waits at the end of a session; more than that and it warns."""


class Codex(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        hooks = SettingsFile(
            root / "hooks.json", hooks=self.hooks(launch), strict=True, marked=False
        )
        server = ServerTable(
            root / "config.toml",
            ("mcp_servers", SERVER),
            launch.program(MCP),
            MCP,
            plugins="plugins",
        )
        servers = (server,) if place.server else ()
        return (hooks, *servers, *self.own_files(root, launch))

    def plugin(self) -> dict[str, str]:
        return {
            ".codex-plugin/plugin.json": json_text(manifest()),
            "hooks/hooks.json": json_text({"hooks": self.plugin_hooks()}),
            ".mcp.json": server_text(BY_NAME),
            **super().plugin(),
        }


def marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    plugin = {"name": NAME, "source": {"source": "local", "path": "./codex"}}
    value = {"name": NAME, "plugins": [plugin]}
    return {".agents/plugins/marketplace.json": json_text(value)}


HOST = Codex(
    name="codex",
    title="Codex",
    in_project=".codex",
    variable="CODEX_HOME",
    usual=(".codex",),
    # No tool output: what a hook says of it is added to it, and would make it longer.
    events={
        "session start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "turn end": "Stop",
        "sub-agent end": "SubagentStop",
        "before compaction": "PreCompact",
        "after compaction": "PostCompact",
        "session end": "SessionEnd",
    },
    matchers={"SessionStart": "startup|resume|clear|compact"},
    limits={"SessionEnd": END_SECONDS},
    # Codex writes context of more than 2,500 tokens to a file and shows its beginning; what is put
    # back has a budget of its own.
    options={"SessionStart": {"additionalContextLimit": 0}},
    commands="",
    next=(
        "start Codex and trust the new hooks: type /hooks and look at each, they are "
        "skipped until you do, and again after an update that changes them"
    ),
    trust="reads the files",
    replaces_outputs=False,
)
