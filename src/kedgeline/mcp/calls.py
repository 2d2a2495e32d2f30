"""What clients may call: the arguments of each tool, and how tools are described to a model.

Descriptions stand in the context of every session, so all of them together have 1,000 tokens at
the most; nothing here loads what the tools are made with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from mcp_types import Tool, ToolAnnotations
from msgspec import Meta

from kedgeline.errors import UserError

MOST_FOUND, MOST_ROWS, MOST_NAMED = 50, 200, 20
"""Matches, decisions or files of one call, and names in one query: more is read by nobody."""
LONGEST_PIN = 4_000
"""Characters: what is pinned stands in every view to come."""
LONGEST_NAME = 80
"""Characters of a name that somebody else chose, in a message."""

Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=1)]
Names = Annotated[list[str], Meta(max_length=MOST_NAMED)]
Rows = Annotated[int, Meta(ge=1, le=MOST_ROWS)]
Tokens = Annotated[int, Meta(ge=1, le=16_384)]


class Call(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: str = ""


class Recall(Call, frozen=True, kw_only=True):
    """Find what was said, run or printed earlier, also what was compacted away."""

    words: Annotated[str, Meta(description='Question or words; "a phrase"; wor* begins')] = ""
    files: Annotated[Names, Meta(description="Calls naming these")] = []
    commands: Annotated[Names, Meta(description="Commands with these words")] = []
    errors: Annotated[bool, Meta(description="Only failed calls")] = False
    who: Literal["", "user", "agent", "tool", "client"] = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_FOUND)] = 10
    offset: Count = 0
    everywhere: bool = False


class Show(Call, frozen=True, kw_only=True):
    """Show a turn, or what one of its calls gave back, as it was."""

    mark: Annotated[str, Meta(description="t12, t12.0 (its first call), explore-1/t3, #57")]
    first: Annotated[int, Meta(ge=1, description="Line")] = 1
    last: Count = 0
    column: Count = 0


class Summarize(Call, frozen=True, kw_only=True):
    """Summary of a session as it stands: intent, rules, files, decisions, state, next steps."""

    level: Annotated[int, Meta(description="128, 512 or 2048")] = 0
    tokens: Annotated[Tokens, Meta(description="Instead of a level")] = 0
    first: Line = 1


class Decided(Call, frozen=True, kw_only=True):
    """Decisions, newest first: by whom, why, what was not taken or replaced."""

    limit: Rows = 50
    offset: Count = 0


class Touched(Call, frozen=True, kw_only=True):
    """Files modified, with what changed, and files only read."""

    kind: Literal["all", "modified", "read"] = "all"
    path: str = ""
    limit: Rows = 50
    offset: Count = 0


class Probe(Call, frozen=True, kw_only=True):
    """Test what the summary of a session can answer."""

    tokens: Tokens = 0


class Pin(Call, frozen=True, kw_only=True):
    """Only where the user asks: keep a turn or words of theirs verbatim in all compactions."""

    what: Annotated[
        str, Meta(max_length=LONGEST_PIN, description="t12, or whole sentences the user wrote")
    ]


class Compact(Call, frozen=True, kw_only=True):
    """Fold old turns of the stored copy of a session. This does not shrink your own context."""

    window: Annotated[int, Meta(ge=1_000)] = 0
    sampling: Annotated[bool, Meta(description="Let the client's model write prose")] = True


CALLS: Mapping[str, type[Call]] = {
    "recall": Recall,
    "show": Show,
    "summary": Summarize,
    "decisions": Decided,
    "files": Touched,
    "probe": Probe,
    "pin": Pin,
    "compact": Compact,
}
WRITES = ("pin", "compact")
_NOT_NEEDED = ("title", "minimum", "maximum", "maxLength", "maxItems", "additionalProperties")
"""Keys of a schema that a model does without: limits are told where they are broken."""


def tools() -> list[Tool]:
    """As clients list them."""
    return [
        Tool(
            name=name,
            description=kind.__doc__,
            input_schema=_schema(kind),
            annotations=ToolAnnotations(
                read_only_hint=name not in WRITES,
                destructive_hint=False if name in WRITES else None,
                open_world_hint=False,
            ),
        )
        for name, kind in CALLS.items()
    ]


def _schema(kind: type[Call]) -> dict[str, Any]:
    _, found = msgspec.json.schema_components([kind])
    schema = _bare(found[kind.__name__])
    del schema["description"]
    # The session comes last: what a tool is for comes first.
    schema["properties"]["session"] = schema["properties"].pop("session")
    return schema


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key not in _NOT_NEEDED and value != []}
    if not kept.get("default", True):
        del kept["default"]
    return {key: _inner(value) for key, value in kept.items()}


def _inner(value: Any) -> Any:
    return _bare(value) if isinstance(value, dict) else value


def arguments_of(name: str, given: Mapping[str, Any]) -> Call:
    """Raises UserError with what is wrong: an argument nobody knows would have no effect."""
    kind = CALLS.get(name)
    if kind is None:
        raise UserError(
            f"there is no tool {name[:LONGEST_NAME]!r}; choose one of {', '.join(CALLS)}"
        )
    known = kind.__struct_fields__
    if unknown := [one[:LONGEST_NAME] for one in given if one not in known]:
        raise UserError(
            f"{name} takes no {', '.join(map(repr, unknown))}; it takes {', '.join(known)}"
        )
    # What is null was left out.
    said = {key: value for key, value in given.items() if value is not None}
    try:
        return msgspec.convert(said, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"{name} was called with wrong arguments: {error}") from error
