"""What Anthropic refuses when only half of it is left: a tool of the provider without its result, a
result without its use, thinking that nothing follows."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.formats.intake.fields import mapping, string
from kedge.formats.providers.layout import Layout
from kedge.formats.providers.said import Said
from kedge.model import Opaque, Thinking, ToolResult

USES = ("server_tool_use", "mcp_tool_use")
RESULT = "_tool_result"
"""How the types of their results end."""

Place = tuple[int, int]
"""The number of a message, and of a piece in it."""


def without_halves(layout: Layout) -> Layout:
    """The layout without them; what is left out is named."""
    halves = _halves(layout.said)
    said = _without(layout.said, halves)
    thoughts = _thoughts(said)
    left_out = {
        "halves of tools that the provider runs": len(halves),
        "thinking that nothing follows": len(thoughts),
    }
    named = (f"{what}: {count}" for what, count in left_out.items() if count)
    return layout._replace(said=_without(said, thoughts), left_out=(*layout.left_out, *named))


def _halves(said: Sequence[Said]) -> set[Place]:
    """Uses and results of the provider's tools that have lost the other. A use may wait for its
    result as long as the user does not speak."""
    alone: set[Place] = set()
    waiting: dict[str, Place] = {}
    for number, one in enumerate(said):
        if one.role in ("user", "system") and any(
            not isinstance(p, ToolResult) for p in one.pieces
        ):
            waiting.clear()
        for position, piece in enumerate(one.pieces):
            if not isinstance(piece, Opaque):
                continue
            block = mapping(mapping(piece.wire).get("block"))
            if piece.kind in USES:
                # Until its result comes it is alone, and so is an earlier one of the same id.
                waiting[string(block.get("id"))] = number, position
                alone.add((number, position))
            elif piece.kind.endswith(RESULT):
                use = waiting.pop(string(block.get("tool_use_id")), None)
                alone ^= {use or (number, position)}
    return alone - set(waiting.values())


def _thoughts(said: Sequence[Said]) -> set[Place]:
    """Thinking at the end of the assistant's messages; those that follow each other become one."""
    alone: set[Place] = set()
    goes_on = False
    for number in range(len(said) - 1, -1, -1):
        if said[number].role != "assistant":
            goes_on = False
            continue
        for position in range(len(said[number].pieces) - 1, -1, -1):
            goes_on = goes_on or not isinstance(said[number].pieces[position], Thinking)
            if not goes_on:
                alone.add((number, position))
    return alone


def _without(said: Sequence[Said], places: set[Place]) -> list[Said]:
    return [
        one._replace(pieces=tuple(p for n, p in enumerate(one.pieces) if (number, n) not in places))
        if places
        else one
        for number, one in enumerate(said)
    ]
