"""What of a turn is searched: each of its texts in passages, and each text by its name.

The names: `user`, `answer`, `thinking`; `note:0` …, `call:0` …, and by the place among the results
`result:0` (the output), `error:0`, `reason:0` (the user's words when refusing)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kedge.archive.cutting import cleaned_pieces
from kedge.model import ToolCall, ToolResult, Turn
from kedge.store import Passage
from kedge.store.values import Who

OUTPUT = "output:"
"""How the mark, and the key, of an output begins that was kept apart from its turn."""
REPEATED = 1_000
"""Characters of a call's files, and of its command, on all passages of a text but the first, which
has them whole: a patch may name a thousand files, and its output have a thousand passages."""

Clean = Callable[[str], str]


def as_it_is(text: str) -> str:
    return text


def passages_of(turn: Turn, clean: Clean = as_it_is) -> Iterator[Passage]:
    """Every text of a turn that a person could look for, in passages of about one size.

    `clean` takes out what must not stand in an index. It is shown each text whole, as what it looks
    for may be longer than a passage; `start` still counts in the text as it was said."""
    for text in _texts(turn):
        files, command = clean(text.files), clean(text.command)
        for place, piece in cleaned_pieces(text.text, clean(text.text)):
            yield Passage(
                text=piece,
                who=text.who,
                field=text.field,
                start=place,
                files=files,
                command=command,
                error=text.error,
            )
            files, command = _first_lines(files), command[:REPEATED]


def field_text(turn: Turn, field: str) -> str:
    """The text of a turn by its name; empty where there is none."""
    plain = {"user": turn.user_message, "answer": turn.assistant_response}
    if field in plain or field == "thinking":
        return plain.get(field, turn.thinking)
    name, _, place = field.partition(":")
    if name not in _LISTS or not place.isdecimal():
        return ""
    items: Sequence[Any] = getattr(turn, _LISTS[name][0])
    return _LISTS[name][1](items[int(place)]) if int(place) < len(items) else ""


def call_text(call: ToolCall) -> str:
    """A call as a person would write it down: the tool, and each parameter on a line of its own."""
    lines = [call.tool]
    left: list[tuple[str, Any]] = [("", call.parameters)]
    while left:  # not by recursion: what a model writes may be nested deeply
        name, value = left.pop()
        inner = _inner(name, value)
        if inner is None:
            lines.append(f"{name}: {_leaf(value)}")
        else:
            left.extend(reversed(inner))
    return "\n".join(lines)


def command_of(call: ToolCall) -> str:
    """The shell command of a call; empty where it runs none."""
    if call.verb != "run":
        return ""
    given = call.parameters.get("command", call.parameters.get("cmd"))
    if isinstance(given, (list, tuple)):
        return " ".join(word for word in given if isinstance(word, str))
    return given if isinstance(given, str) else ""


class _Text(NamedTuple):
    field: str
    text: str
    who: Who
    files: str = ""
    command: str = ""
    error: bool = False


def _texts(turn: Turn) -> Iterator[_Text]:
    yield _Text("user", turn.user_message, "user")
    for place, note in enumerate(turn.notes):
        command = note.text if note.kind == "shell" else ""
        yield _Text(f"note:{place}", note.text, "client", command=command)
    yield _Text("thinking", turn.thinking, "agent")
    yield _Text("answer", turn.assistant_response, "agent")
    failed = {result.call_id for result in turn.tool_results if result.failed}
    for place, call in enumerate(turn.tool_calls):
        text = _Text(f"call:{place}", call_text(call), "agent", error=call.id in failed)
        yield _about(text, call)
    calls = {call.id: call for call in reversed(turn.tool_calls)}
    for place, result in enumerate(turn.tool_results):
        for text in _told(place, result):
            yield _about(text, calls.get(result.call_id))


def _told(place: int, result: ToolResult) -> Iterator[_Text]:
    yield _Text(f"result:{place}", result.output, "tool", error=result.failed)
    if result.error and result.error not in result.output:
        yield _Text(f"error:{place}", result.error, "tool", error=result.failed)
    yield _Text(f"reason:{place}", result.reason, "user", error=result.failed)


def _about(text: _Text, call: ToolCall | None) -> _Text:
    if call is None:
        return text
    return text._replace(files="\n".join(call.paths()), command=command_of(call))


def _first_lines(text: str) -> str:
    """As many whole lines as are repeated."""
    return text if len(text) <= REPEATED else text[: text.rfind("\n", 0, REPEATED) + 1]


def _inner(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """What a value is made of, each with its full name; None for one that is not."""
    under = f"{name}." if name else ""
    if isinstance(value, dict):
        return [(f"{under}{key}", inner) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        if name in ("command", "cmd") and all(isinstance(word, str) for word in value):
            return [(name, " ".join(value))]
        return [(f"{under}{place}", inner) for place, inner in enumerate(value)]
    return None


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    return json.dumps(value, default=str)


_LISTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "note": ("notes", lambda note: note.text),
    "call": ("tool_calls", call_text),
    "result": ("tool_results", lambda result: result.output),
    "error": ("tool_results", lambda result: result.error or ""),
    "reason": ("tool_results", lambda result: result.reason),
}
