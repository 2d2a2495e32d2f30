"""Small sessions with usage, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedgeline.economy.counting import LedgerBuilder, Saving, count_reading
from kedgeline.economy.ledger import Ledger
from kedgeline.model import Usage
from kedgeline.pipeline.read import stream
from tests.claude import Records, text

OPUS = "claude-opus-4-5-20251101"


def message_id(number: int) -> str:
    """As long as a provider's."""
    return f"msg_{number:020d}"


class Charged(Records):
    """Records of Claude Code whose messages have usage."""

    def charged(
        self,
        number: int,
        *blocks: dict[str, Any],
        given: int = 3,
        output: int = 10,
        read: int = 0,
        write: int = 0,
        model: str = OPUS,
        **fields: Any,
    ) -> str:
        usage = {
            "input_tokens": given,
            "output_tokens": output,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": write,
        }
        message = {
            "id": message_id(number),
            "role": "assistant",
            "model": model,
            "content": list(blocks) or [text("ok")],
            "usage": usage,
        }
        return self.add("assistant", message=message, **fields)

    def written(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.lines))
        return path


def ledger_of(*paths: Path, builder: LedgerBuilder | None = None) -> Ledger:
    counted = builder or LedgerBuilder()
    for path in paths:
        count_reading(counted, stream(path), source=str(path))
    return counted.ledger()


def savings_of(path: Path) -> tuple[Saving, ...]:
    return count_reading(LedgerBuilder(), stream(path), source=str(path))


def used(given: int = 0, output: int = 0, read: int = 0, write: int = 0) -> Usage:
    return Usage(input=given, output=output, cache_read=read, cache_write=write)
