"""The ledger of real sessions equals a count that knows nothing of our readers."""

from __future__ import annotations

from pathlib import Path

from bench.ledger import compared

FOLDERS = ("claude-code", "claude-code-samples")


def sessions(corpus: Path) -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (corpus / folder).rglob("*.jsonl"))


def test_totals_equal_an_independent_count_of_usage_per_message_id(corpus: Path) -> None:
    paths = sessions(corpus)
    found = compared("together", paths)
    assert found.ledger == found.independent
    assert found.ledger.messages > 4_000
    assert found.per_record.tokens.cache_read > 2 * found.ledger.tokens.cache_read
