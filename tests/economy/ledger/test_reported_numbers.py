"""Numbers of tokens in files: what can be no count does not count, and all else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedgeline.formats.agents import gemini_cli as gemini
from kedgeline.formats.agents import mini_swe_agent as mini
from kedgeline.formats.agents import opencode, pi
from kedgeline.formats.providers import anthropic, langchain
from kedgeline.formats.providers import openai_responses as responses
from kedgeline.model import Usage
from tests.economy.ledger.sessions import Charged, ledger_of, used

READERS: dict[str, tuple[Callable[[Any], Usage | None], str, str]] = {
    "gemini": (gemini.usage_of, "input", "output"),
    "pi": (pi.usage_of, "input", "output"),
    "opencode": (opencode.usage_of, "input", "output"),
    "mini-swe-agent": (mini._usage, "prompt_tokens", "completion_tokens"),
    "responses": (responses._usage, "input_tokens", "output_tokens"),
    "langchain": (langchain._usage, "input_tokens", "output_tokens"),
    "anthropic": (anthropic._usage, "input_tokens", "output_tokens"),
}
WRONG = (-1, -(10**6), 10**12 + 1, 2**63, 10**30, 1.5, "12", True, None)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_field_that_is_no_count_does_not_count(name: str, wrong: object) -> None:
    usage_of, given, output = READERS[name]
    assert usage_of({given: wrong, output: 7}) == used(0, 7)
    assert usage_of({given: 7, output: wrong}) == used(7, 0)
    assert usage_of({given: wrong, output: wrong}) is None
    assert usage_of({}) is None
    assert usage_of({given: 10**12, output: 0}) == used(10**12, 0)


def test_the_output_is_what_is_left_of_a_total_only_where_there_is_one() -> None:
    cache = {"read": 100, "write": 10}
    assert opencode.usage_of({"input": 5, "output": 7, "cache": cache}) == used(5, 7, 100, 10)
    whole = {"input": 5, "output": 7, "cache": cache, "total": 135}
    assert opencode.usage_of(whole) == used(5, 20, 100, 10)
    assert opencode.usage_of({**whole, "input": -(10**6)}) == used(0, 7, 100, 10)
    assert opencode.usage_of({**whole, "total": -1}) == used(5, 7, 100, 10)


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
