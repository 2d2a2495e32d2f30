"""Cline: a plugin that builds the messages of each request. Its conversation is as Anthropic's, but
for the outputs of calls, which are what each tool makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    NAME,
    PACKAGE,
    Host,
    Message,
    OwnFile,
    Place,
    Shape,
    as_given,
    blocks_of,
    described_file,
    filled,
    view_file,
)

LIMIT = 100_000
"""Tokens from where on a conversation is compacted: half of what most models take."""


class _Cline(Host):
    def seam(self, place: Place) -> Path:
        return self.root(place) / "plugins" / NAME / "view.js"

    def own_files(self, root: Path, place: Place) -> tuple[OwnFile, ...]:
        folder = root / "plugins" / NAME
        plugin = {"paths": ["./index.js"], "capabilities": ["messageBuilders"]}
        index = filled("cline.js", {"LIMIT = 0": f"{LIMIT:_}"})
        return (
            OwnFile(folder / "index.js", index, comment="//"),
            view_file(self.name, folder, place),
            described_file(folder / "package.json", {**PACKAGE, "cline": {"plugins": [plugin]}}),
        )


def _output(content: Any) -> str:
    if isinstance(content, str):
        return content
    told = (one.get("text") or one.get("result") or one for one in content or ())
    return "\n".join(one if isinstance(one, str) else dumps(one) for one in told)


def from_cline(messages: Sequence[Message]) -> list[Message]:
    """Without what only Cline knows of a message, and without thoughts."""
    found = []
    for message in messages:
        blocks: list[Message] = []
        for block in blocks_of(message):
            kept = {key: block[key] for key in KEPT.get(block.get("type", ""), ()) if key in block}
            if block.get("type") == "tool_result":
                kept["content"] = _output(block.get("content"))
            blocks += [kept] if kept else []
        if blocks:
            found.append({"role": message.get("role"), "content": blocks})
    return found


KEPT = {
    "text": ("type", "text"),
    "tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "is_error"),
}


def _given(found: Sequence[Message], rows: Sequence[Message]) -> dict[str, Any]:
    def fresh(message: Message, alike: Message) -> Message:
        known = {one["tool_use_id"]: one for one in blocks_of(alike) if "tool_use_id" in one}
        blocks = [{**known.get(one.get("tool_use_id"), {}), **one} for one in blocks_of(message)]
        return {**alike, **message, "content": blocks}

    return {"messages": as_given(found, rows, from_cline, fresh)}


HOST = _Cline(
    name="cline",
    title="Cline",
    in_project=".cline",
    variable="CLINE_DIR",
    usual=(".cline",),
    shape=Shape("anthropic", from_cline, _given),
    next="start Cline again: it reads plugins when it starts",
)
