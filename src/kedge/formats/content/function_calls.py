"""Tool calls as OpenAI's chat messages carry them; many agents write them this way."""

from __future__ import annotations

from kedge.formats.content.blocks import parsed_arguments
from kedge.formats.intake.fields import mapping, mappings, string
from kedge.formats.intake.lines import Record
from kedge.model import ToolCall


def calls_in(message: Record) -> list[ToolCall]:
    """The calls of an assistant message, arguments parsed."""
    calls = []
    for item in mappings(message.get("tool_calls")):
        function = mapping(item.get("function"))
        calls.append(
            ToolCall(
                id=string(item.get("id")),
                tool=string(function.get("name")),
                parameters=parsed_arguments(function.get("arguments")),
            )
        )
    return calls
