"""Compactions that Claude Code itself made: a boundary, then its summary as a user record."""

from __future__ import annotations

from typing import Any

import msgspec

from kedge.formats.agents.claude_code.records import Entry
from kedge.formats.intake.fields import maybe_tokens
from kedge.formats.intake.lines import Line
from kedge.formats.intake.log import Log
from kedge.model import EarlierCompaction, Source

SUMMARY_OPENING = "This session is being continued from a previous conversation"
"""How a summary begins, also in versions that do not mark it."""


class Compactions:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._boundary: EarlierCompaction | None = None
        """A boundary whose summary has not come yet."""

    def system(self, line: Line, entry: Entry, *, next_turn: int) -> None:
        if entry.subtype == "compact_boundary":
            self.finish()
            data = entry.compactMetadata or {}
            self._boundary = _compaction(line, next_turn, data, tokens_after=data.get("postTokens"))
        elif entry.subtype == "microcompact_boundary":
            data = entry.microcompactMetadata or {}
            before, saved = data.get("preTokens"), data.get("tokensSaved")
            after = before - saved if isinstance(before, int) and isinstance(saved, int) else None
            cleared = _compaction(line, next_turn, data, tokens_after=after)
            self._log.compactions.append(msgspec.structs.replace(cleared, kind="outputs_cleared"))

    def is_summary(self, entry: Entry) -> bool:
        if entry.isCompactSummary:
            return True
        content = entry.message.content if entry.message else None
        return isinstance(content, str) and content.startswith(SUMMARY_OPENING)

    def summary(self, line: Line, entry: Entry, *, next_turn: int) -> None:
        boundary = self._boundary or _compaction(line, next_turn, {}, tokens_after=None)
        self._boundary = None
        source = msgspec.structs.replace(boundary.source, last=line.number, end=line.end)
        self._log.compactions.append(
            msgspec.structs.replace(boundary, summary=_text(entry), source=source)
        )

    def finish(self) -> None:
        """A boundary whose summary never came still happened."""
        if self._boundary is not None:
            self._log.compactions.append(self._boundary)
            self._boundary = None


def _compaction(
    line: Line, turn: int, data: dict[str, Any], *, tokens_after: Any
) -> EarlierCompaction:
    before = data.get("preTokens")
    return EarlierCompaction(
        turn=turn,
        by="claude-code",
        trigger=str(data.get("trigger") or ""),
        tokens_before=maybe_tokens(before),
        tokens_after=maybe_tokens(tokens_after),
        source=Source(first=line.number, last=line.number, start=line.start, end=line.end),
    )


def _text(entry: Entry) -> str:
    content = entry.message.content if entry.message else None
    if isinstance(content, str):
        return content
    return "\n\n".join(block.text for block in content or () if block.text)
