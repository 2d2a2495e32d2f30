"""Turns as text, and text cut to a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from kedge.model import ToolCall, ToolResult, Turn
from kedge.tokens import Exact

EXACT = Exact()
FENCE = "````"
"""Around outputs: one more than what stands in most of them."""
MOST_CHARACTERS = 16
"""Of a token, when guessing how much of a text can fit."""
_PIECE = re.compile(r"[^\n]{1,200}\n?|\n")
"""A line, or a part of a long one: where a text may be cut."""

Shown = Callable[[ToolResult], str]
Role = Literal["human", "ai", "tool"]


def whole(result: ToolResult) -> str:
    return result.output or result.error or ""


def masked(result: ToolResult) -> str:
    """One line in the place of an output."""
    return f"[output of {len(whole(result)):,} characters left out]"


def turn_text(turn: Turn, shown: Shown = whole) -> str:
    """A turn as the agent had it: words, calls with their parameters, results. Without thinking,
    which providers do not send back."""
    return _joined(_parts(turn, shown))


def messages_of(turn: Turn) -> Iterator[tuple[Role, str]]:
    """The same as the messages of a chat: what came in the user's place, the answer with its
    calls, each result."""
    if any(heard := tuple(_heard(turn))):
        yield "human", _joined(heard)
    calls = (line for call in turn.tool_calls for line in _called(call))
    if any(said := (turn.assistant_response, *calls)):
        yield "ai", _joined(said)
    yield from (("tool", _joined((_fenced(whole(result)),))) for result in turn.tool_results)


def newest(turns: Sequence[Turn], tokens: int, shown: Shown = whole) -> str:
    """The text of the newest turns that fit; of the first that does not, as much of its end."""
    return _filled((turn_text(turn, shown) for turn in reversed(turns)), tokens, tail)


def oldest(turns: Sequence[Turn], tokens: int, shown: Shown = whole) -> str:
    """The text of the oldest turns that fit; of the first that does not, as much as fits."""
    return _filled((turn_text(turn, shown) for turn in turns), tokens, head)


def head(text: str, tokens: int) -> str:
    """The first lines that have no more than so many tokens."""
    pieces = _PIECE.findall(text[: tokens * MOST_CHARACTERS])
    return "".join(pieces[: _most(pieces, tokens)])


def tail(text: str, tokens: int) -> str:
    """The last lines that have no more than so many tokens."""
    pieces = _PIECE.findall(text[max(0, len(text) - tokens * MOST_CHARACTERS) :])
    taken = _most(pieces[::-1], tokens)
    return "".join(pieces[len(pieces) - taken :])


def _filled(texts: Iterable[str], tokens: int, cut: Callable[[str, int], str]) -> str:
    """Texts one after the other until the tokens are spent; `cut` takes what fits of the last."""
    taken: list[str] = []
    left = tokens
    for text in texts:
        size = EXACT.count(text) if len(text) <= left * MOST_CHARACTERS else left + 1
        if size > left:
            taken.append(cut(text, left))
            break
        taken.append(text)
        left -= size
    whole_text = "".join(reversed(taken) if cut is tail else taken)
    return whole_text if EXACT.count(whole_text) <= tokens else cut(whole_text, tokens)


def _most(pieces: Sequence[str], tokens: int) -> int:
    """How many of these pieces fit; alone they hardly ever have fewer tokens than together."""
    for number, piece in enumerate(pieces):
        tokens -= EXACT.count(piece)
        if tokens < 0:
            return number
    return len(pieces)


def _parts(turn: Turn, shown: Shown) -> Iterator[str]:
    yield f"## t{turn.index}"
    yield from _heard(turn)
    yield turn.assistant_response
    for call in turn.tool_calls:
        yield from _called(call)
        if result := turn.result_of(call):
            yield _fenced(shown(result))


def _heard(turn: Turn) -> Iterator[str]:
    if turn.user_message:
        yield f"User: {turn.user_message}"
    yield from (note.text for note in turn.notes)


def _called(call: ToolCall) -> Iterator[str]:
    yield f"### {' '.join((call.tool, *call.paths()))}"
    parameters: Mapping[str, Any] = call.parameters
    for name, value in parameters.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield f"{name}: {text}"


def _fenced(output: str) -> str:
    return f"{FENCE}\n{output}\n{FENCE}"


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part) + "\n"
