"""Lists in which user and assistant take turns and results stand in the user's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kedge.formats.intake.lines import Record
from kedge.formats.providers.layout import Layout
from kedge.formats.providers.said import Said, reminder
from kedge.formats.turns.draft import Piece
from kedge.model import Role, Text, ToolCall, Wire

OPENING = Text(text=reminder("What came before is not part of this conversation."))
"""Said where a list would begin with the assistant, which these providers refuse."""

Build = Callable[[Role, Sequence[Piece], Wire], Record]
"""One message out of its pieces, as it was read where the wire says how."""


class _Group(NamedTuple):
    role: Role
    pieces: list[Piece]
    wire: Wire


def alternating(layout: Layout, key: str, build: Build) -> list[Record]:
    """The messages of a layout; `key` is where a message keeps its blocks."""
    groups = list(_groups(layout.said))
    if layout.as_read:
        return [build(group.role, group.pieces, group.wire) for group in groups]
    messages: list[Record] = []
    last: _Group | None = None
    for group in groups:
        message = build(group.role, _calls_last(group), group.wire)
        if not message.get(key):
            continue
        if last is None and group.role == "assistant":
            messages.append(build("user", [OPENING], {}))
        if last is not None and last.role == group.role:
            blocks = _listed(messages[-1], key, build) + _listed(message, key, build)
            messages[-1] = {**messages[-1], key: blocks}
        else:
            messages.append(message)
        last = group
    return messages


def _groups(said: Sequence[Said]) -> Iterator[_Group]:
    """Messages, the parts of those that were divided between turns joined again."""
    held: list[Said] = []
    for one in said:
        if held and (one.item < 0 or one.item != held[-1].item):
            yield _joined(held)
            held = []
        held.append(one)
    if held:
        yield _joined(held)


def _joined(said: list[Said]) -> _Group:
    pieces = [piece for one in said for piece in one.pieces]
    places = [place for one in said for place in one.wire.get("places", ())]
    if len(places) == len(pieces):
        pieces = [pieces[number] for number in sorted(range(len(places)), key=places.__getitem__)]
    role: Role = "user" if said[0].role == "tool" else said[0].role
    return _Group(role, pieces, said[0].wire)


def _calls_last(group: _Group) -> list[Piece]:
    if group.wire:
        return group.pieces
    return sorted(group.pieces, key=lambda piece: isinstance(piece, ToolCall))


def _listed(message: Record, key: str, build: Build) -> list[Any]:
    content = message[key]
    if isinstance(content, str):
        content = build("user", [Text(text=content)], {})[key]
    return list(content)
