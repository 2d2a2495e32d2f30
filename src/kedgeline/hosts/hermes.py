"""Hermes agent: a plugin in a folder of its own that is a context engine."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    NAME,
    REPLACE_SECONDS,
    SUMMARY,
    Host,
    Message,
    OwnFile,
    Place,
    Shape,
    filled,
    texts_of,
)


class Hermes(Host):
    def seam(self, place: Place) -> Path:
        return self.root(place) / "plugins" / NAME / "__init__.py"

    def own_files(self, root: Path, place: Place) -> tuple[OwnFile, ...]:
        folder = root / "plugins" / NAME
        about = f"name: {NAME}\nversion: '1'\ndescription: {dumps(SUMMARY)}\n"
        blanks = {
            "KEDGELINE = []": dumps(place.launch.argv()),
            "SECONDS = 0": str(REPLACE_SECONDS),
            "ROOM = 0": str(place.room or 0),
        }
        return (
            OwnFile(folder / "plugin.yaml", about),
            OwnFile(folder / "__init__.py", filled("hermes.txt", blanks)),
        )


def _given(found: Sequence[Message], _: Sequence[Message]) -> dict[str, Any]:
    """Messages of the user with one text in the place of several, which Hermes gives back."""

    def plain(message: Message) -> Message:
        if isinstance(message.get("content"), str) or message.get("role") != "user":
            return message
        return {**message, "content": "\n\n".join(texts_of(message))}

    return {"messages": [plain(one) for one in found]}


HOST = Hermes(
    name="hermes",
    title="Hermes",
    in_project=".hermes",
    variable="HERMES_HOME",
    usual=(".hermes",),
    shape=Shape("openai-chat", list, _given),
    next=(
        f"run `hermes plugins enable {NAME}` and `hermes config set context.engine {NAME}`; "
        "`hermes config set context.engine compressor` switches it off"
    ),
)
