"""The index of the decision log: more than 100 entries, a line each, rebuilt to the same bytes."""

from __future__ import annotations

from hashlib import sha256

from kedge.bank.moving.index import index_of
from kedge.tokens import EXACT
from tests.bank.banks import Bank, active, decisions, milestone, progress

LOG, INDEX = "decisionLog.md", "decisionLog.index.md"


def test_100_decisions_have_no_index() -> None:
    bank = Bank(decisionLog_md=decisions(range(100)))
    bank.compact()
    assert INDEX not in bank.files


def test_101_decisions_have_one_with_a_line_per_entry() -> None:
    bank = Bank(decisionLog_md=decisions(range(101)))
    bank.compact()
    text = bank.text(INDEX)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == 101
    for line, entry in zip(lines, bank.document(LOG).entries(), strict=True):
        id_, date, status, place, summary = line[2:].split(" · ", 4)
        assert (id_, status, place) == (entry.id, "Active", f"line {entry.line}")
        assert entry.at is not None
        assert date == entry.at.date().isoformat()
        assert 0 < EXACT.count(summary) <= 128
    assert sha256(bank.files[LOG]).hexdigest() in text


def test_an_index_that_is_deleted_comes_back_to_the_same_bytes() -> None:
    """R35: the index is derived and can be rebuilt."""
    bank = Bank(decisionLog_md=decisions(range(120)))
    bank.compact()
    index = bank.files.pop(INDEX)
    bank.compact()
    assert bank.files[INDEX] == index


def test_the_index_follows_the_log() -> None:
    bank = Bank(decisionLog_md=decisions(range(101)))
    bank.compact()
    bank.files[LOG] = decisions(range(102)).encode()
    assert [finding.file for finding in bank.verify().found if finding.gravity == "warning"] == [
        INDEX
    ]
    bank.compact()
    assert bank.files[INDEX] == index_of(bank.document(LOG))
    assert "DEC-101" in bank.text(INDEX)


def test_the_log_is_never_touched() -> None:
    """R35: its bytes are unchanged by every operation."""
    log = decisions(range(150)).replace("\n\n###", "\r\n\n  \n###", 3)
    bank = Bank(
        decisionLog_md=log,
        activeContext_md=active(80),
        progress_md=progress([milestone(n, days=40 + n) for n in range(30)]),
    )
    for _ in range(3):
        assert LOG not in [change.name for change in bank.compact().changes]
        assert bank.files[LOG] == log.encode()


def test_what_an_entry_says_cannot_break_its_line() -> None:
    log = decisions(range(101)).replace("Use way 7", "Use `</kedge-summary>` <!-- x --> | way 7", 1)
    bank = Bank(decisionLog_md=log)
    bank.compact()
    assert "</kedge" not in bank.text(INDEX)
    assert "<!--" not in bank.text(INDEX)
    assert len([x for x in bank.text(INDEX).splitlines() if x.startswith("- ")]) == 101
