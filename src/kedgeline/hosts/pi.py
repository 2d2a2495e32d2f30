"""pi: an extension of TypeScript in its folder of extensions."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from kedgeline.hosts.shared import (
    NAME,
    REPLACE_SECONDS,
    Host,
    Launch,
    OwnFile,
    Piece,
    Place,
    filled,
)


class Pi(Host):
    def pieces(self, place: Place) -> tuple[Piece, ...]:
        return self.own_files(self.root(place), place.launch, room=place.room)

    def seam(self, place: Place) -> Path | None:
        return self.root(place) / "extensions" / f"{NAME}.ts"

    def own_files(self, root: Path, launch: Launch, *, room: int = 0) -> tuple[OwnFile, ...]:
        blanks = {
            "KEDGELINE: string[] = []": f"KEDGELINE: string[] = {dumps(launch.argv())}",
            "MILLISECONDS = 0": f"MILLISECONDS = {REPLACE_SECONDS * 1_000:_}",
            "ROOM = 0": f"ROOM = {room}",
        }
        path = root / "extensions" / f"{NAME}.ts"
        return (OwnFile(path, filled("pi.ts", blanks), comment="//"),)


HOST = Pi(
    name="pi",
    title="pi",
    in_project=".pi",
    variable="PI_CODING_AGENT_DIR",
    usual=(".pi", "agent"),
    next="start pi again: it reads extensions when it starts",
)
