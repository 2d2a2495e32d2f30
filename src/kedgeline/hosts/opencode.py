"""OpenCode: a plugin of TypeScript that calls kedgeline, opencode.json for servers, skill and
commands as files."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from kedgeline.hosts import shared
from kedgeline.hosts.shared import (
    HOOK,
    HOOK_SECONDS,
    MCP,
    NAME,
    REPLACE,
    Host,
    Launch,
    OwnFile,
    Piece,
    Place,
    SettingsFile,
    filled,
    server_member,
)

CONFIGURATIONS = ("opencode.jsonc", "opencode.json")
"""Names of its settings file; the last is made where there is none."""


class OpenCode(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        own = self.own_files(
            self.root(place), place.launch, room=place.room, replacing=place.replacing
        )
        if not place.server:
            return own
        value = {"type": "local", "command": place.launch.argv(MCP), "enabled": True}
        first, *also = self._configurations(place)
        member = server_member("mcp", value)
        return (SettingsFile(first, members=(member,), also=tuple(also)), *own)

    def seam(self, place: Place) -> Path | None:
        return self.root(place) / "plugins" / f"{NAME}.ts"

    def own_files(
        self, root: Path, launch: Launch, *, room: int = 0, replacing: bool = True
    ) -> tuple[OwnFile, ...]:
        texts = {
            reduce: plugin_text(launch, reduce=reduce, room=room, replacing=replacing)
            for reduce in (False, True)
        }
        path = root / "plugins" / f"{NAME}.ts"
        plugin = OwnFile(path, texts[False], comment="//", reducing=texts[True])
        return (plugin, *super().own_files(root, launch))

    def _configurations(self, place: Place) -> list[Path]:
        """Its settings files, all of which it reads: the one to write into is the first."""
        root = self.root(place)
        folders = (root, place.project) if place.project else (root,)
        candidates = [folder / name for folder in folders for name in CONFIGURATIONS]
        first = next((path for path in candidates if path.exists()), candidates[-1])
        return [first, *(path for path in candidates if path != first)]


def plugin_text(launch: Launch, *, reduce: bool, room: int = 0, replacing: bool = True) -> str:
    """The plugin, with how kedgeline is started here, whether outputs are reduced and whether the
    host's summary is replaced."""
    program = dumps(launch.argv(REPLACE, HOST.name) if replacing else [])
    words = dumps(launch.argv(HOOK, f"{shared.HOST}{HOST.name}"))
    return filled(
        "opencode.ts",
        {
            "KEDGELINE: string[] = []": f"KEDGELINE: string[] = {words}",
            "REPLACING: string[] = []": f"REPLACING: string[] = {program}",
            "ROOM = 0": f"ROOM = {room}",
            "MILLISECONDS = 0": f"MILLISECONDS = {HOOK_SECONDS * 1_000:_}",
            "REDUCE_OUTPUTS: boolean = false": f"REDUCE_OUTPUTS: boolean = {str(reduce).lower()}",
        },
    )


HOST = OpenCode(
    name="opencode",
    title="OpenCode",
    in_project=".opencode",
    variable="XDG_CONFIG_HOME",
    usual=(".config",),
    below="opencode",
    next="start OpenCode again: it reads plugins when it starts",
)
