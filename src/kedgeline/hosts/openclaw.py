"""OpenClaw: a plugin in its folder of extensions that is a context engine."""

from __future__ import annotations

from pathlib import Path

from kedgeline.hosts.pi import from_pi, to_pi
from kedgeline.hosts.shared import (
    NAME,
    PACKAGE,
    Host,
    OwnFile,
    Place,
    Shape,
    described_file,
    text_named,
    view_file,
)


class _OpenClaw(Host):
    def seam(self, place: Place) -> Path:
        return self.root(place) / "extensions" / NAME / "view.js"

    def own_files(self, root: Path, place: Place) -> tuple[OwnFile, ...]:
        folder = root / "extensions" / NAME
        schema = {"type": "object", "additionalProperties": False, "properties": {}}
        about = {"id": NAME, "name": NAME, "kind": "context-engine", "configSchema": schema}
        package = {**PACKAGE, "openclaw": {"extensions": ["./index.js"]}}
        return (
            OwnFile(folder / "index.js", text_named("openclaw.js"), comment="//"),
            view_file(self.name, folder, place),
            described_file(folder / "openclaw.plugin.json", about),
            described_file(folder / "package.json", package),
        )


HOST = _OpenClaw(
    name="openclaw",
    title="OpenClaw",
    in_project=".openclaw",
    variable="OPENCLAW_STATE_DIR",
    usual=(".openclaw",),
    shape=Shape("openai-chat", from_pi, to_pi),
    next=(
        f"run `openclaw config set plugins.slots.contextEngine {NAME}` and `openclaw config set "
        f"plugins.entries.{NAME}.enabled true`, then start its gateway again; `openclaw config "
        "set plugins.slots.contextEngine legacy` switches it off"
    ),
)
