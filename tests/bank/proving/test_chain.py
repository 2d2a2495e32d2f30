"""The chain of the decision log: nothing may be taken out, changed or moved unseen."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.documents import read_document
from kedgeline.bank.verify import read_chain, updated
from tests.bank.banks import Bank, decision, decisions

LOG, CHAIN = "decisionLog.md", "decisionLog.chain.jsonl"


def chained(text: str) -> Bank:
    bank = Bank(decisionLog_md=text)
    bank.chain()
    return bank


def said(bank: Bank, text: str, gravity: str = "violation") -> list[str]:
    bank.files[LOG] = text.encode()
    return [one.what for one in bank.verify().found if one.gravity == gravity]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (decisions([1, 3]), ["the entry DEC-002 was taken out of the log"]),
        (
            decisions([1, 2, 3]).replace("We use way 2.", "We use way 9."),
            ["the entry DEC-002 was changed"],
        ),
        (decisions([2, 3, 1]), ["the entry DEC-001 was moved to another place"]),
        (decisions([1, 9, 2, 3]), []),
        (decisions([1, 2, 3]).replace("\n\n### ", "\n\n---\n\n<!-- c -->\n\n### "), []),
        (decisions([1, 2, 3]).replace("\n", "\r\n"), []),
    ],
)
def test_what_happened_to_an_entry_is_said(text: str, what: list[str]) -> None:
    assert said(chained(decisions([1, 2, 3])), text) == what


def test_a_changed_status_is_a_note() -> None:
    text = decisions([1]) + decision(2, "Superseded by DEC-003")
    assert said(chained(decisions([1, 2])), text) == []
    (note,) = said(chained(decisions([1, 2])), text, "note")
    assert note == "the status of DEC-002 is 'Superseded by DEC-003', it was 'Active'"


def test_a_row_that_cannot_be_read_is_a_violation_and_is_never_overwritten() -> None:
    bank = chained(decisions([1, 2]))
    broken = b"<<<<<<< ours\n" + bank.files[CHAIN]
    bank.files[CHAIN] = broken
    assert said(bank, decisions([1, 2])) == ["this is no row of a chain, perhaps left by a merge"]
    after = updated(broken, read_document(LOG, decisions([1, 2, 3]).encode()))
    assert after.startswith(broken)
    assert len(read_chain(after)[0]) == 3


def test_rows_of_both_sides_of_a_merge_prove_both() -> None:
    """Numbers of rows are given twice then; order is not judged, contents are."""
    base = chained(decisions([1])).files[CHAIN]
    ours = chained(decisions([1, 2])).files[CHAIN]
    theirs = chained(decisions([1, 3])).files[CHAIN]
    bank = Bank(decisionLog_md=decisions([1, 3, 2]))
    bank.files[CHAIN] = ours + theirs.removeprefix(base)
    assert said(bank, decisions([1, 3, 2])) == []
    assert said(bank, decisions([1, 2]))


def test_rows_of_an_earlier_version_are_read() -> None:
    bank = chained(decisions([1, 2]))
    rows = [json.loads(line) | {"predecessor": "a" * 64} for line in bank.files[CHAIN].splitlines()]
    bank.files[CHAIN] = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    assert said(bank, decisions([1, 2])) == []
    assert said(bank, decisions([1])) == ["the entry DEC-002 was taken out of the log"]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_log_that_only_grows_is_sound_and_any_loss_is_seen(chance: random.Random) -> None:
    """Wherever people put new entries: on top, at the end, in between."""
    order: list[int] = []
    bank = Bank(decisionLog_md=decisions(order))
    for number in range(1, 9):
        order.insert(chance.randrange(len(order) + 1), number)
        bank.files[LOG] = decisions(order).encode()
        bank.chain()
        assert bank.verify().sound
    order.remove(chance.choice(order))
    assert said(bank, decisions(order))
