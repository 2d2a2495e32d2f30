"""The ledger of real sessions equals a count that knows nothing of our readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ledger import compared
from kedgeline.economy import counting as building
from kedgeline.model import Turn

FOLDERS = ("claude-code", "claude-code-samples")


def sessions(corpus: Path) -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (corpus / folder).rglob("*.jsonl"))


def test_totals_equal_an_independent_count_of_usage_per_message_id(corpus: Path) -> None:
    paths = sessions(corpus)
    found = compared("together", paths)
    assert found.ledger == found.independent
    assert found.ledger.messages > 4_000
    assert found.per_record.tokens.cache_read > 2 * found.ledger.tokens.cache_read


def test_counting_every_file_for_itself_is_noticed(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted: a key for every file, over two copies of the smallest session."""
    smallest = min((corpus / FOLDERS[0]).glob("*.jsonl"), key=lambda path: path.stat().st_size)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(smallest.read_bytes())
    assert compared("copies", [smallest, copy]).is_equal
    real = building.message_key

    def wrong(turn: Turn, source: str) -> int:
        return hash((source, real(turn, source)))

    monkeypatch.setattr(building, "message_key", wrong)
    assert not compared("copies", [smallest, copy]).is_equal
