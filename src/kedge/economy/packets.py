"""The delegation packet of an orchestrator: what an agent shall do, and what it may spend."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from kedge.errors import NotAPacket
from kedge.model import Value

OBJECTIVE_LENGTH = 500
LEAST_TOKENS, MOST_TOKENS = 1_000, 500_000
"""Characters of the objective, and tokens of the budget, that the field's schema allows."""

PacketId = Annotated[str, msgspec.Meta(pattern=r"^PKT-[0-9]{8}-[0-9]{6}-[0-9A-Za-z]{6}\Z")]
Paths = tuple[str, ...]


class ContextBudget(Value, frozen=True):
    total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    priority_files: Paths = ()


class Packet(Value, frozen=True):
    """What we look at; a packet may say more, and all of it is shown to the agent."""

    packet_id: PacketId
    objective: Annotated[str, msgspec.Meta(min_length=1, max_length=OBJECTIVE_LENGTH)]
    max_token_budget: Annotated[int, msgspec.Meta(ge=LEAST_TOKENS, le=MOST_TOKENS)]
    success_criteria: tuple[str, ...] = ()
    allowed_write_paths: Paths = ()
    forbidden_paths: Paths = ()
    context_budget: ContextBudget = ContextBudget()
    said: dict[str, Any] = msgspec.field(default_factory=dict)
    """All of it, as it was given."""


def read_packet(data: bytes, name: str = "packet") -> Packet:
    """Raises NotAPacket with what is wrong."""
    try:
        packet = msgspec.json.decode(data, type=Packet)
        said = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAPacket(name, str(error)) from error
    return msgspec.structs.replace(packet, said=said)


def packet_text(packet: Packet) -> str:
    """Everything it says, what matters most first."""
    first = ("objective", "success_criteria", "allowed_write_paths", "forbidden_paths")
    names = dict.fromkeys((*first, *packet.said))
    told = (
        _told(name, packet.said[name])
        for name in names
        if name != "packet_id" and packet.said.get(name) not in (None, "", [], {})
    )
    return "\n\n".join(told)


def _told(name: str, value: Any) -> str:
    label = " ".join(name.replace("_", " ").split()).capitalize()
    if isinstance(value, list):
        return "\n".join((f"{label}:", *(f"- {_line(one)}" for one in value)))
    return f"{label}: {_line(value)}"


def _line(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return " ".join(text.split())
