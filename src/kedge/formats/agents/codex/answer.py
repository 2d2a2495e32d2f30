"""One answer of the model, held until something else comes.

Token counts and readable reasoning are events of their own. Older versions write them before the
items they belong to, newer ones behind, so that only a complete answer can be given its due.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from kedge.formats.intake.fields import mapping, tokens_in
from kedge.formats.intake.lines import Line
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Text, Thinking, ToolResult, Usage


class _Item(NamedTuple):
    line: Line
    pieces: list[Piece]
    time: datetime | None


class Answer:
    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._items: list[_Item] = []
        self._reasoning: list[_Item] = []
        """Readable reasoning told by events; items may repeat it."""
        self._results: list[tuple[Line, ToolResult]] = []
        self._usage: Usage | None = None
        self._total: Any = None
        """Tokens of the whole session, as counted last; the same again is no new answer."""

    def add(self, line: Line, pieces: Sequence[Piece], time: datetime | None) -> None:
        if pieces:
            self._items.append(_Item(line, list(pieces), time))

    def ran(self, line: Line, result: ToolResult) -> None:
        """A call of this answer that was carried out inside it."""
        self._results.append((line, result))

    def reasoned(self, line: Line, text: str, time: datetime | None) -> None:
        """An event tells what the model was thinking."""
        if text.strip():
            self._reasoning.append(_Item(line, [Thinking(text=text)], time))

    def counted(self, info: Any) -> None:
        """A token count; clients repeat the last one whenever a rate limit changes."""
        total = mapping(info).get("total_token_usage")
        counts = mapping(mapping(info).get("last_token_usage"))
        if not counts or (total is not None and total == self._total):
            return
        self._total = total
        found = tokens_in(counts, "input_tokens", "output_tokens", "cached_input_tokens")
        if not found:
            return
        cached = found["cached_input_tokens"]
        self._usage = Usage(
            input=max(found["input_tokens"] - cached, 0),
            output=found["output_tokens"],
            cache_read=cached,
        )

    def take_summary(self, message: str) -> Usage | None:
        """Codex writes what its summariser says as an answer, and then again as the compaction:
        take it out of the answer; what it took, where nothing else was said."""
        last = self._items[-1] if self._items else None
        said = "".join(p.text for p in last.pieces if isinstance(p, Text)).strip() if last else ""
        if not said or not message.strip().endswith(said):
            return None
        self._items.pop()
        if self._items or self._results:
            return None
        usage, self._usage = self._usage, None
        return usage

    def close(self, *, model: str) -> bool:
        """Hand the answer over; whether there was any. A count whose items have not come waits."""
        items = self._with_reasoning()
        for item in items:
            self._assembler.assistant(
                item.line, item.pieces, joins=True, time=item.time, model=model, usage=self._usage
            )
        if items:
            self._usage = None
        for line, result in self._results:
            self._assembler.results(line, [result])
        self._items, self._reasoning, self._results = [], [], []
        return bool(items)

    def _with_reasoning(self) -> list[_Item]:
        """The items, with reasoning that only events told: in a sealed item, or before all."""
        thoughts = [p for item in self._items for p in item.pieces if isinstance(p, Thinking)]
        known = "\n".join(thought.text for thought in thoughts)
        missing = [
            item
            for item in self._reasoning
            for piece in item.pieces
            if isinstance(piece, Thinking) and piece.text not in known
        ]
        if not missing:
            return self._items
        sealed = next((thought for thought in thoughts if not thought.text), None)
        if sealed is None:
            return [*missing, *self._items]
        text = "\n\n".join(p.text for i in missing for p in i.pieces if isinstance(p, Thinking))
        readable = msgspec.structs.replace(sealed, text=text)
        return [
            item._replace(pieces=[readable if piece is sealed else piece for piece in item.pieces])
            for item in self._items
        ]
