"""Numbers of tokens in files: what can be no count does not count, and all else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.economy.ledger.sessions import Charged, ledger_of


@pytest.mark.parametrize("wrong", [-5, 10**13, 2**63 - 1, 10**30, 1.5, "12"], ids=repr)
def test_a_session_with_wrong_numbers_is_counted_without_them(wrong: Any, tmp_path: Path) -> None:
    records = Charged()
    records.user("go")
    records.charged(1, given=wrong, output=4, read=wrong, write=6)
    records.user("on")
    records.charged(2, given=wrong, output=wrong, read=wrong, write=wrong)
    total = ledger_of(records.written(tmp_path / "a.jsonl")).total
    assert total.estimated_messages == 1
    assert total.tokens.output - total.estimated.output == 4
    assert (total.tokens.cache_read, total.tokens.cache_write) == (0, 6)
