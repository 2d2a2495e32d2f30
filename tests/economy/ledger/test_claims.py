"""Claim files: three numbers change, and no other value (R41)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.economy.packing import Consumed, update_claim
from kedgeline.errors import FileRefused
from tests.economy.ledger.sessions import used

CLAIM = """{
    "packet_id" : "PKT-20260223-101500-A1B2C3",
    "agent_id": "Backend", "notes": "tokens_consumed: \\u00e4 \\ud800 \\"token_input\\" }",
    "nested": {"tokens_consumed": 7, "list": [1, 2.50, 1e3]},
    "tokens_consumed":   0,
    "status": "IN_PROGRESS"
}
"""


def claim(tmp_path: Path, text: str = CLAIM) -> Path:
    path = tmp_path / "PKT.json"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("text", [CLAIM, json.dumps(json.loads(CLAIM) | {"notes": "潮"})])
def test_tokens_consumed_is_the_sum_and_all_else_stays(tmp_path: Path, text: str) -> None:
    """R41: token_input and token_output are added, tokens_consumed is their sum."""
    path = claim(tmp_path, text)
    for _ in range(2):
        assert update_claim(path, used(100, 20, 5_000, 300)) == Consumed(400, 20)
        written = json.loads(path.read_text("utf-8"))
        numbers = {"tokens_consumed": 420, "token_input": 400, "token_output": 20}
        assert written == {**json.loads(text), **numbers}
        assert list(written)[:6] == list(json.loads(text))


def test_what_came_from_the_cache_is_not_in_a_claim(tmp_path: Path) -> None:
    """With cache reads a budget of 500,000 would be used up within minutes."""
    assert update_claim(claim(tmp_path), used(0, 0, 9_000_000, 0)).tokens_consumed == 0


WRONG = {
    "": "not JSON",
    "{": "not JSON",
    "[1]": "not the claim",
    '{"packet_id":"p"}': "not the claim",
    '{"packet_id":1,"agent_id":"a"}': "not the claim",
    '{"packet_id":"p","agent_id":"a","token_input":"7"}': "not a whole number",
    '{"packet_id":"p","agent_id":"a","token_input":true}': "not a whole number",
    '{"packet_id":"p","agent_id":"a","token_output":900}': "give all sessions",
    '{"packet_id":"p","agent_id":"a","x":' + "[" * 100_000: "not JSON",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_a_wrong_file_gets_one_sentence_and_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = claim(tmp_path, text)
    with pytest.raises(FileRefused, match=WRONG[text]):
        update_claim(path, used(1, 2))
    assert path.read_bytes() == text.encode()


def test_a_claim_is_made_by_who_takes_the_task(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no such file"):
        update_claim(tmp_path / "missing.json", used(1))
    with pytest.raises(FileRefused):
        update_claim(tmp_path / "..", used(1))
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = claim(tmp_path)
    (tmp_path / "link.json").symlink_to(path)
    with pytest.raises(FileRefused, match="link"):
        update_claim(tmp_path / "link.json", used(1))
