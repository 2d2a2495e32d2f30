"""Lists of messages as programs have them: objects of SDKs as JSON, and single messages made and
changed."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import date, datetime
from enum import Enum
from importlib import import_module
from math import isfinite
from typing import Any, NamedTuple
from uuid import UUID

from kedgeline.errors import NotAMessage
from kedgeline.formats.providers.messages import Outputs, Speaks
from kedgeline.formats.records import LARGEST, Record, string
from kedgeline.formats.registry import is_provider, load_format, load_provider
from kedgeline.model import Message, Part, Transcript, Turn

# Messages as callers have them, objects of SDKs among them, as the JSON that they stand for.
#
# Nothing of an SDK is imported: an object is known by what it has. What the SDK itself would send
# is what comes out; what is neither JSON nor such an object is refused with its place.

LOCAL = frozenset({"parsed", "parsed_arguments", "parsed_output", "artifact"})
"""Fields of objects in which clients keep something for their own side: no model is sent them."""
PYDANTIC_AI = "pydantic_ai.messages"
WAY_OUT = (
    "give JSON values, or messages of the SDKs of anthropic, openai, google-genai, langchain or "
    "pydantic-ai"
)


def plain_messages(given: Sequence[object]) -> list[Record]:
    """Messages as plain objects. The one that is a whole request may hold its messages inside."""
    whole = len(given) == 1 and isinstance(given[0], Mapping) and "role" not in given[0]
    found = []
    for number, message in enumerate(given):
        place = "" if whole else f"messages[{number}]"
        try:
            plain = _plain(message, place)
        except RecursionError:
            raise NotAMessage(
                place, "a value that is nested too deeply or contains itself", WAY_OUT
            ) from None
        if not isinstance(plain, dict):
            raise NotAMessage(place, _named(message), WAY_OUT)
        found.append(plain)
    return found


def is_object(value: object) -> bool:
    """Whether it is one object of an SDK, and no list of them: some of these can be iterated."""
    return any(hasattr(value, name) for name in ("model_dump", "to_dict", "__dataclass_fields__"))


def _plain(value: Any, place: str) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, place)
    if value is None or isinstance(value, str) or _is_number(value):
        return value
    if isinstance(value, Mapping):
        return {_key(key, place): _plain(one, f"{place}.{key}") for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, f"{place}[{number}]") for number, one in enumerate(value)]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return _object(value, place)


def _object(value: Any, place: str) -> Any:
    if isinstance(value, type):
        raise NotAMessage(place, f"the class {value.__name__}", WAY_OUT)
    if (dumped := _of_pydantic_ai(value, place)) is not None:
        return dumped
    if hasattr(type(value), "model_fields"):
        fields = _fields(_of_model(value), place)
        if fields.keys() >= {"type", "content", "additional_kwargs"}:  # as LangChain dumps it
            return {"type": fields["type"], "data": fields}
        return fields
    if dataclasses.is_dataclass(value) and not hasattr(value, "to_dict"):
        names = (field.name for field in dataclasses.fields(value))
        return _fields(((name, getattr(value, name)) for name in names if name[0] != "_"), place)
    for name in ("to_dict", "model_dump"):
        if callable(dump := getattr(value, name, None)):
            return _plain(dump(), place)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise NotAMessage(place, _named(value), "give its base64 as a text")
    raise NotAMessage(place, _named(value), WAY_OUT)


def _fields(fields: Iterable[tuple[str, Any]], place: str) -> Record:
    """The fields of an object; bytes in them are what its SDK sends as base64."""
    return {
        name: base64.b64encode(value).decode()
        if isinstance(value, bytes)
        else _plain(value, f"{place}.{name}")
        for name, value in fields
    }


def _of_model(value: Any) -> Iterable[tuple[str, Any]]:
    """The fields that a pydantic model has in a request: of the clients of anthropic and openai,
    which have a `to_dict`, those that were set, null too; of others all that are not null."""
    known = type(value).model_fields
    client = callable(getattr(value, "to_dict", None))
    hidden = LOCAL | frozenset(getattr(value, "__api_exclude__", None) or ())
    for name, held in value:
        field = known.get(name)
        if field is None:
            yield name, held
        elif name not in hidden and (
            name in value.model_fields_set if client else held is not None
        ):
            yield field.serialization_alias or field.alias or name, held


def _of_pydantic_ai(value: Any, place: str) -> Any:
    """A message of pydantic-ai by its own adapter, which reads it back the same; else None."""
    homes = {(each.__module__, each.__name__) for each in type(value).__mro__}
    if not homes & {(PYDANTIC_AI, "ModelRequest"), (PYDANTIC_AI, "ModelResponse")}:
        return None
    module = import_module(PYDANTIC_AI)  # it is loaded: the object comes from it
    try:
        [dumped] = module.ModelMessagesTypeAdapter.dump_python([value], mode="json")
    except ValueError as error:  # of pydantic: a tool returned what is no JSON
        raise NotAMessage(place, f"{_named(value)} ({error})", WAY_OUT) from error
    return dumped


def _is_number(value: object) -> bool:
    """Whether it is a number that every reader of JSON takes."""
    if isinstance(value, int):
        return -LARGEST <= value <= LARGEST
    return isinstance(value, float) and isfinite(value)


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise NotAMessage(place, f"the key {key!r}, which is not text", WAY_OUT)
    return key


def _named(value: object) -> str:
    if isinstance(value, (int, float)):
        return "a number that JSON has not, or of more than 64 bits"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


# Single messages in the shape that a list has: the one that leads it, and one whose tool outputs
# are shorter. All others stay what they are.

PLAINEST = "anthropic"
"""Writes the blocks of a format that is only read."""
NO_MEDIA = "[an image or file of the user's stood here; it is not repeated]"


def leading_message(format: str, parts: Sequence[Part]) -> Record:
    """One message in the user's voice, of the shape that a format has."""
    writer = format if is_provider(format) else PLAINEST
    turn = Turn(messages=(Message(role="user", parts=tuple(parts)),))
    message = load_provider(writer).write(Transcript(format=writer, turns=(turn,))).messages[0]
    known = load_format(format)
    if writer == format or not isinstance(known, Speaks):
        return message
    return known.spoken(
        "\n\n".join(string(one.get("text")) or NO_MEDIA for one in message["content"])
    )


def is_editable(format: str) -> bool:
    """Whether a list of this format can be given back in its own shape."""
    return is_provider(format) or isinstance(load_format(format), Speaks)


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
    shape: Outputs | None = getattr(load_format(format), "outputs", None)
    results = list(shape.of(copy)) if shape else []
    for output in outputs:
        named = [holder for call, holder in results if call and call == output.call_id]
        here = [holder for _, holder in results[output.place : output.place + 1]]
        for holder in named if len(named) == 1 else here:
            if shape:
                holder.pop(shape.repeated, None)
                holder[shape.field] = shape.value(output.text)
    return copy
