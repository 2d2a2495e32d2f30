"""OpenCode: a plugin of TypeScript that calls kedgeline, opencode.json for servers, skill and
commands as files."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from kedgeline.hosts.shared import (
    BY_NAME,
    HOOK_SECONDS,
    MCP,
    NAME,
    NEEDS,
    SERVER,
    Launch,
    Member,
    OwnFile,
    Piece,
    Place,
    SettingsFile,
    by_launch,
    command_text,
    hook_words,
    markdown_file,
    skill_text,
    text_named,
)

CONFIGURATIONS = ("opencode.jsonc", "opencode.json")
"""Names of its settings file; the last is made where there is none."""


class OpenCode:
    name = "opencode"
    title = "OpenCode"

    def root(self, place: Place) -> Path:
        if place.project:
            return place.project / ".opencode"
        return place.folder("XDG_CONFIG_HOME", ".config") / "opencode"

    def pieces(self, place: Place) -> tuple[Piece, ...]:
        return (*self._servers(place), *_own_files(self.root(place), place.launch))

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        del place, reduce
        return (f"start {self.title} again: it reads plugins when it starts",)

    def plugin(self) -> dict[str, str]:
        return {file.path.as_posix(): file.text for file in _own_files(Path(), BY_NAME)}

    def _servers(self, place: Place) -> tuple[SettingsFile, ...]:
        if not place.server:
            return ()
        value = {"type": "local", "command": place.launch.argv(MCP), "enabled": True}
        member = Member(("mcp", SERVER), value, MCP, "MCP server")
        first, *also = self._configurations(place)
        return (SettingsFile(first, members=(member,), also=tuple(also)),)

    def _configurations(self, place: Place) -> list[Path]:
        """Its settings files, all of which it reads: the one to write into is the first."""
        root = self.root(place)
        folders = (root, place.project) if place.project else (root,)
        candidates = [folder / name for folder in folders for name in CONFIGURATIONS]
        first = next((path for path in candidates if path.exists()), candidates[-1])
        return [first, *(path for path in candidates if path != first)]


def plugin_text(launch: Launch, *, reduce: bool) -> str:
    """The plugin, with how kedgeline is started here and whether outputs are reduced."""
    fixed = {
        "KEDGELINE: string[] = []": f"KEDGELINE: string[] = "
        f"{dumps(launch.argv(*hook_words(HOST.name)))}",
        "MILLISECONDS = 0": f"MILLISECONDS = {HOOK_SECONDS * 1_000:_}",
        "REDUCE_OUTPUTS: boolean = false": f"REDUCE_OUTPUTS: boolean = {str(reduce).lower()}",
    }
    text = text_named("opencode.ts")
    for blank, filled in fixed.items():
        if blank not in text:
            raise ValueError(f"opencode.ts has no place for {filled!r}")
        text = text.replace(blank, filled)
    return text


def _own_files(root: Path, launch: Launch) -> tuple[OwnFile, ...]:
    plugin = OwnFile(
        root / "plugins" / f"{NAME}.ts",
        plugin_text(launch, reduce=False),
        comment="//",
        reducing=plugin_text(launch, reduce=True),
    )
    skill = root / "skills" / NEEDS.skill.name / "SKILL.md"
    commands = [
        markdown_file(
            root / "commands" / NAME / f"{one.name}.md", command_text(one, launch, allowed=False)
        )
        for one in NEEDS.commands
    ]
    return (plugin, markdown_file(skill, by_launch(skill_text(), launch)), *commands)


HOST = OpenCode()
