"""The shape of a reply: as a schema for the model, and as a type for what it then writes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

S = TypeVar("S", bound=msgspec.Struct)

_OURS = ("title", "description", "default")
"""Names and words for those who read the code: a model is told by the prompt."""


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a shape, in the form that most providers and local servers take: no
    references, no property but those named, and all of them required. No shape of ours holds
    itself, so that every reference can be written out."""
    schema = msgspec.json.schema(shape)
    written: dict[str, Any] = _written_out(schema, schema.get("$defs", {}))
    return written


def _written_out(node: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_written_out(one, named) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _written_out(named[node["$ref"].rpartition("/")[2]], named)
    if "properties" not in node:
        return {key: _written_out(one, named) for key, one in node.items() if key not in _OURS}
    fields = {name: _written_out(one, named) for name, one in node["properties"].items()}
    return {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }


@cache
def unbounded(shape: type[S]) -> type[S]:
    """The same shape without the bounds of its texts, numbers and lists."""
    hints = get_type_hints(shape)  # these leave out what an annotation adds to its type
    fields = [(name, _unbounded(hints[name])) for name in shape.__struct_fields__]
    made: Any = msgspec.defstruct(shape.__name__, fields, bases=(shape,))
    return made  # type: ignore[no-any-return]


def _unbounded(hint: Any) -> Any:
    if get_origin(hint) is list:
        return list[_unbounded(get_args(hint)[0])]  # type: ignore[misc]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return unbounded(hint)
    return hint
