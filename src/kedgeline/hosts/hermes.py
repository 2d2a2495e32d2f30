"""Hermes agent: a plugin in a folder of its own that is a context engine."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from kedgeline.hosts.shared import (
    NAME,
    NEEDS,
    REPLACE_SECONDS,
    Host,
    Launch,
    OwnFile,
    Piece,
    Place,
    filled,
)


class Hermes(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        return self.own_files(self.root(place), place.launch, room=place.room)

    def seam(self, place: Place) -> Path | None:
        return self.root(place) / "plugins" / NAME / "__init__.py"

    def own_files(self, root: Path, launch: Launch, *, room: int = 0) -> tuple[OwnFile, ...]:
        folder = root / "plugins" / NAME
        about = f"name: {NAME}\nversion: '1'\ndescription: {dumps(NEEDS.summary)}\n"
        blanks = {
            "KEDGELINE = []": f"KEDGELINE = {dumps(launch.argv())}",
            "SECONDS = 0": f"SECONDS = {REPLACE_SECONDS}",
            "ROOM = 0": f"ROOM = {room}",
        }
        return (
            OwnFile(folder / "plugin.yaml", about),
            OwnFile(folder / "__init__.py", filled("hermes.txt", blanks)),
        )


HOST = Hermes(
    name="hermes",
    title="Hermes",
    in_project=".hermes",
    variable="HERMES_HOME",
    usual=(".hermes",),
    next=(
        f"run `hermes plugins enable {NAME}` and `hermes config set context.engine {NAME}`; "
        "`hermes config set context.engine compressor` switches it off"
    ),
)
