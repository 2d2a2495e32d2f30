"""OpenCode: a plugin of TypeScript that calls kedgeline and names its server; skill and commands as
files."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from kedgeline.hosts.shared import (
    HOOK,
    HOOK_SECONDS,
    MCP,
    NAME,
    REPLACE,
    SUMMARY_ROOM,
    Host,
    OwnFile,
    Place,
    Shape,
    filled,
    in_words,
)
from kedgeline.hosts.shared import HOST as NAMED

REDUCING = "REDUCE_OUTPUTS: boolean = "
ADVISING = "REPLACING: string[] = []"


class _OpenCode(Host):
    def seam(self, place: Place) -> Path:
        return self.root(place) / "plugins" / f"{NAME}.ts"

    def choices(self, seam: str) -> tuple[bool, bool | None]:
        return ADVISING not in seam, f"{REDUCING}true" in seam

    def own_files(self, root: Path, place: Place) -> tuple[OwnFile, ...]:
        path = root / "plugins" / f"{NAME}.ts"
        plugin = OwnFile(path, plugin_text(place), comment="//")
        return (plugin, *super().own_files(root, place))


def plugin_text(place: Place) -> str:
    """The plugin, with how kedgeline is started here and what the user chose."""
    launch, replaces = place.launch, place.replacing is not False
    blanks = {
        "KEDGELINE: string[] = []": dumps(launch.argv(HOOK, f"{NAMED}{HOST.name}")),
        ADVISING: dumps(launch.argv(REPLACE, HOST.name) if replaces else []),
        "SERVER: string[] = []": dumps(launch.argv(MCP) if place.server else []),
        "ROOM = 0": str(place.room or 0),
        "MILLISECONDS = 0": f"{HOOK_SECONDS * 1_000:_}",
        f"{REDUCING}false": dumps(bool(place.reducing)),
    }
    return filled("opencode.ts", blanks)


HOST = _OpenCode(
    name="opencode",
    title="OpenCode",
    in_project=".opencode",
    variable="XDG_CONFIG_HOME",
    usual=(".config",),
    below="opencode",
    shape=Shape("openai-chat", list, in_words, SUMMARY_ROOM),
    next="start OpenCode again: it reads plugins when it starts",
)
