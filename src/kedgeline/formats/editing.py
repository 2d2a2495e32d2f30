"""Single messages of a list, made and changed in the shape that the list has: the one that leads
it, and one whose tool outputs are shorter. All others stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from kedgeline.formats.records import Record, mapping, mappings, string
from kedgeline.formats.registry import is_provider, load_provider
from kedgeline.model import Message, Part, Transcript, Turn

PLAINEST = "anthropic"
"""Writes the blocks of a format that is only read."""
NO_MEDIA = "[an image or file of the user's stood here; it is not repeated]"


def leading_message(format: str, parts: Sequence[Part]) -> Record:
    """One message in the user's voice, of the shape that a format has."""
    writer = format if is_provider(format) else PLAINEST
    turn = Turn(messages=(Message(role="user", parts=tuple(parts)),))
    message = load_provider(writer).write(Transcript(format=writer, turns=(turn,))).messages[0]
    if writer == format:
        return message
    return _SPOKEN[format]([string(one.get("text")) or NO_MEDIA for one in message["content"]])


_SPOKEN: dict[str, Callable[[list[str]], Record]] = {
    "plain": lambda texts: {"role": "user", "content": "\n\n".join(texts)},
    "ai-sdk": lambda texts: {
        "role": "user",
        "content": [{"type": "text", "text": text} for text in texts],
    },
    "bedrock": lambda texts: {"role": "user", "content": [{"text": text} for text in texts]},
    "agent-framework": lambda texts: {
        "type": "message",
        "role": "user",
        "contents": [{"type": "text", "text": text} for text in texts],
    },
    "llama-index": lambda texts: {
        "role": "user",
        "additional_kwargs": {},
        "blocks": [{"block_type": "text", "text": text} for text in texts],
    },
    "haystack": lambda texts: {
        "role": "user",
        "meta": {},
        "name": None,
        "content": [{"text": "\n\n".join(texts)}],
    },
}
EDITABLE = frozenset(_SPOKEN)
"""Formats that are only read, and of which single messages can be made all the same."""


def is_editable(format: str) -> bool:
    """Whether a list of this format can be given back in its own shape."""
    return format in EDITABLE or is_provider(format)


class NewOutput(NamedTuple):
    """One tool output in a message."""

    place: int
    """Which of the message's outputs it is, counted from 0."""
    call_id: str
    text: str
    """What is to stand there."""


def with_outputs(format: str, message: Record, outputs: Sequence[NewOutput]) -> Record:
    """A copy of the message in which these outputs are other texts. Where an output is in none of
    the shapes that are known, it stays."""
    copy = deepcopy(message)
    results = list(_RESULTS[format](copy)) if format in _RESULTS else []
    for output in outputs:
        named = [one for one in results if output.call_id and one.call_id == output.call_id]
        here = named if len(named) == 1 else results[output.place : output.place + 1]
        for one in here:
            one.holder[one.field] = one.value(output.text)
    return copy


class _Result(NamedTuple):
    call_id: str
    holder: Record
    field: str
    value: Callable[[str], object] = str


def _anthropic(message: Record) -> Iterator[_Result]:
    for block in mappings(message.get("content")):
        if block.get("type") == "tool_result":
            yield _Result(string(block.get("tool_use_id")), block, "content")


def _openai_chat(message: Record) -> Iterator[_Result]:
    if message.get("role") in ("tool", "function"):
        yield _Result(string(message.get("tool_call_id")), message, "content")


def _openai_responses(item: Record) -> Iterator[_Result]:
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        yield _Result(string(item.get("call_id")), item, "output")


def _gemini(content: Record) -> Iterator[_Result]:
    for part in mappings(content.get("parts")):
        for name in ("functionResponse", "function_response"):
            if isinstance(found := part.get(name), dict):
                response = mapping(found.get("response"))
                key = next((k for k in ("result", "output") if k in response), "output")
                yield _Result(string(found.get("id")), found, "response", _under(key))


def _under(key: str) -> Callable[[str], object]:
    return lambda text: {key: text}


def _langchain(message: Record) -> Iterator[_Result]:
    data = mapping(message.get("data", message.get("kwargs"))) or message
    if "tool" in (message.get("type"), data.get("type"), message.get("role")):
        yield _Result(string(data.get("tool_call_id")), data, "content")


def _pydantic_ai(message: Record) -> Iterator[_Result]:
    for part in mappings(message.get("parts")):
        kind = part.get("part_kind")
        if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
            yield _Result(string(part.get("tool_call_id")), part, "content")


def _bedrock(message: Record) -> Iterator[_Result]:
    for block in mappings(message.get("content")):
        if isinstance(result := block.get("toolResult"), dict):
            call_id = string(result.get("toolUseId"))
            yield _Result(call_id, result, "content", lambda text: [{"text": text}])


def _agent_framework(message: Record) -> Iterator[_Result]:
    for content in mappings(message.get("contents")):
        if content.get("type") == "function_result":
            content.pop("items", None)  # the same once more, as blocks
            yield _Result(string(content.get("call_id")), content, "result")


def _llama_index(message: Record) -> Iterator[_Result]:
    if message.get("role") == "tool":
        extra = mapping(message.get("additional_kwargs"))
        yield _Result(
            string(extra.get("tool_call_id")),
            message,
            "blocks",
            lambda text: [{"block_type": "text", "text": text}],
        )


def _ai_sdk(message: Record) -> Iterator[_Result]:
    for block in mappings(message.get("content")):
        if block.get("type") == "tool-result":
            call_id = string(block.get("toolCallId"))
            yield _Result(call_id, block, "output", lambda text: {"type": "text", "value": text})


def _haystack(message: Record) -> Iterator[_Result]:
    for block in mappings(message.get("content")):
        if isinstance(result := block.get("tool_call_result"), dict):
            yield _Result(string(mapping(result.get("origin")).get("id")), result, "result")


_RESULTS: Mapping[str, Callable[[Record], Iterator[_Result]]] = {
    "agent-framework": _agent_framework,
    "ai-sdk": _ai_sdk,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "haystack": _haystack,
    "langchain": _langchain,
    "llama-index": _llama_index,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "pydantic-ai": _pydantic_ai,
}
