"""The chain of the decision log: what was once in the log is missed when it is not."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.bank.moving.triggers import stem
from kedge.bank.proving import chain
from kedge.bank.proving.chain import Row, chain_name, expected_order, read_chain, updated
from kedge.bank.shapes import read_document, with_entry
from kedge.bank.values import CHAIN as CHAINED
from kedge.bank.values import NewEntry
from kedge.errors import BankMalformed
from tests.bank.banks import NOW, Bank, decision, decisions

LOG, CHAIN = "decisionLog.md", "decisionLog.chain.jsonl"


def chained(log: str) -> Bank:
    bank = Bank(decisionLog_md=log)
    bank.chain()
    return bank


def violations(bank: Bank) -> list[str]:
    return [f.what for f in bank.verify().found if f.gravity == "violation"]


def test_a_row_per_entry_each_with_the_hash_of_the_row_before() -> None:
    bank = chained(decisions(range(5)))
    rows = read_chain(CHAIN, bank.files[CHAIN])
    assert [row.id for row in rows] == [f"DEC-{n:03}" for n in range(5)]
    assert [row.number for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0].predecessor == ""
    assert len({row.predecessor for row in rows}) == 5
    assert violations(bank) == []


def test_the_chain_only_grows_and_an_unchanged_log_changes_nothing() -> None:
    bank = chained(decisions(range(5)))
    before = bank.files[CHAIN]
    bank.chain()
    assert bank.files[CHAIN] == before
    bank.files[LOG] = decisions(range(7)).encode()
    bank.chain()
    assert bank.files[CHAIN].startswith(before)
    assert violations(bank) == []


@pytest.mark.parametrize(
    ("log", "what"),
    [
        (decisions([0, 1, 3, 4]), "the entry DEC-002 was taken out of the log"),
        (decisions([0, 1]), "the entry DEC-004 was taken out of the log"),
        (decisions(range(5)).replace("We use way 3", "We use way 9"), "DEC-003 was changed"),
        (decisions([0, 1, 3, 2, 4]), "was moved to another place"),
        (decisions([4, 0, 1, 2, 3]), "the entry DEC-004 was moved to another place"),
        ("# Decision Log\n", "the entry DEC-000 was taken out of the log"),
    ],
)
def test_an_entry_that_is_gone_changed_or_moved_is_a_violation(log: str, what: str) -> None:
    bank = chained(decisions(range(5)))
    bank.files[LOG] = log.encode()
    assert any(what in found for found in violations(bank))
    bank.chain()
    assert any(what in found for found in violations(bank)), "writing on does not heal it"


def test_one_entry_that_was_moved_is_one_violation() -> None:
    bank = chained(decisions(range(9)))
    bank.files[LOG] = decisions([8, *range(8)]).encode()
    assert len(violations(bank)) == 1


def test_a_changed_status_alone_is_a_note() -> None:
    bank = chained(decisions(range(3)))
    log = bank.text(LOG).replace(decision(1), decision(1, status="Superseded by DEC-002"))
    bank.files[LOG] = log.encode()
    assert [(f.gravity, f.what) for f in bank.verify().found] == [
        ("note", "the status of DEC-001 is 'Superseded by DEC-002', it was 'Active'")
    ]


def test_only_the_status_itself_may_change() -> None:
    log = decisions([0]).replace(
        "**Status:** Active\n", "**Status:** Active\nStatus of tests: red\n"
    )
    bank = chained(log)
    bank.files[LOG] = log.replace("tests: red", "tests: green").encode()
    assert len(violations(bank)) == 1


def test_entries_that_say_the_same_are_told_apart_by_their_places() -> None:
    rows = [f"### [2026-01-0{n}T00:00:00Z] agent\n\nWe go on.\n\n" for n in (1, 1, 2, 1)]
    bank = chained("# Decision Log\n\n" + "".join(rows))
    assert violations(bank) == []
    bank.files[LOG] = ("# Decision Log\n\n" + "".join(rows[1:])).encode()
    assert any("was taken out" in what for what in violations(bank))


def test_blank_lines_and_line_ends_are_no_change() -> None:
    bank = chained(decisions(range(3)))
    bank.files[LOG] = decisions(range(3)).replace("\n", "\r\n").encode() + b"\r\n"
    assert violations(bank) == []


def test_an_entry_that_is_put_in_between_is_no_reordering() -> None:
    bank = chained(decisions([0, 1, 2]))
    for numbers in ([0, 7, 1, 2], [0, 7, 1, 8, 2, 9], [5, 0, 7, 1, 8, 2, 9]):
        bank.files[LOG] = decisions(numbers).encode()
        bank.chain()
        assert violations(bank) == []
    bank.files[LOG] = decisions([5, 0, 1, 7, 8, 2, 9]).encode()
    assert len(violations(bank)) == 1


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_any_insertions_give_the_order_of_the_log(seed: int, rounds: int) -> None:
    """Rows are linked by what stood above; however they came, their order is that of the file."""
    chance = random.Random(seed)
    numbers: list[int] = []
    bank = Bank(decisionLog_md=decisions([]))
    for _ in range(rounds):
        for _ in range(chance.randrange(1, 5)):
            numbers.insert(chance.randrange(len(numbers) + 1), len(numbers))
        bank.files[LOG] = decisions(numbers).encode()
        bank.chain()
    rows = read_chain(CHAIN, bank.files[CHAIN])
    ids = [rows[number - 1].id for number in expected_order(rows)]
    assert ids == [f"DEC-{number:03}" for number in numbers]
    assert violations(bank) == []


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_row_that_was_changed_is_named_with_its_line(line: int) -> None:
    bank = chained(decisions(range(3)))
    rows = bank.files[CHAIN].splitlines(keepends=True)
    rows[line - 1] = rows[line - 1].replace(b"DEC-", b"DEX-")
    bank.files[CHAIN] = b"".join(rows)
    if line < 3:
        with pytest.raises(BankMalformed) as broken:
            bank.chain()
        assert broken.value.line == line + 1
    assert violations(bank), "the last row has nobody behind it, and the log still knows better"


def test_a_row_that_was_taken_out_is_noticed() -> None:
    bank = chained(decisions(range(3)))
    bank.files[CHAIN] = b"".join(bank.files[CHAIN].splitlines(keepends=True)[1:])
    assert "the row does not follow the one before it" in violations(bank)[0]


def test_a_log_without_a_chain_is_a_note() -> None:
    found = Bank(decisionLog_md=decisions([1])).verify().found
    assert [finding.gravity for finding in found] == ["note"]


def test_an_empty_log_promises_no_chain() -> None:
    bank = Bank(decisionLog_md="# Decision Log\n\n")
    bank.chain()
    assert Bank(decisionLog_md="# Decision Log\n\n").verify().found == ()
    assert bank.verify().found == ()


def test_two_logs_have_a_chain_each() -> None:
    bank = Bank(decisionLog_md=decisions([0, 1]), decisionLog_jsonl=lines(3))
    bank.chain()
    assert CHAIN in bank.files
    assert "decisionLog.jsonl.chain.jsonl" in bank.files
    assert bank.verify().found == ()
    bank.files[LOG] = decisions([0]).encode()
    assert violations(bank) == ["the entry DEC-001 was taken out of the log"]


@pytest.mark.parametrize("name", [LOG, "decisionLog.jsonl", "decision-log.markdown"])
def test_the_name_of_a_chain_is_seen_to_be_one(name: str) -> None:
    assert stem(chain_name(name)).endswith(CHAINED)


def lines(count: int, status: str = "Active") -> str:
    """A log of JSON Lines as it is written by us."""
    text = ""
    for n in range(count):
        document = read_document("decisionLog.jsonl", text.encode())
        new = NewEntry(agent="a", at=NOW, title=f"Way {n}", text=f"Ü {n}", status=status)
        text = with_entry(document, new)
    return text


def logged_lines(count: int, status: str = "Active") -> Bank:
    bank = Bank(decisionLog_jsonl=lines(count, status))
    bank.chain()
    return bank


def changed_line(bank: Bank, number: int, **values: object) -> None:
    rows = bank.text("decisionLog.jsonl").splitlines(keepends=True)
    row = json.loads(rows[number]) | values
    rows[number] = json.dumps(row, ensure_ascii=False) + "\n"
    bank.files["decisionLog.jsonl"] = "".join(rows).encode()


@pytest.mark.parametrize(("first", "then"), [("Active", "Old"), ("", "Old"), ("„a“ \\ b", "Old")])
@pytest.mark.parametrize("number", [0, 1])
def test_a_status_in_a_line_of_json_may_change(first: str, then: str, number: int) -> None:
    bank = logged_lines(3, first)
    changed_line(bank, number, status=then)
    assert [f.gravity for f in bank.verify().found] == ["note"]


def test_a_status_that_changes_with_something_else_hides_nothing() -> None:
    bank = logged_lines(3)
    changed_line(bank, 0, status="Old", rationale="another")
    assert sum("predecessor_hash" in what for what in violations(bank)) == 1
    assert "the entry DEC-001 was changed" in violations(bank)


def test_a_line_put_in_between_is_still_seen_when_a_status_changed() -> None:
    bank = logged_lines(3)
    rows = bank.text("decisionLog.jsonl").splitlines(keepends=True)
    rows.insert(1, '{"id": "DEC-009", "ts": "2026-01-01T00:00:00Z", "status": "Active"}\n')
    bank.files["decisionLog.jsonl"] = "".join(rows).encode()
    bank.chain()
    changed_line(bank, 1, status="Old")
    assert any("predecessor_hash" in what for what in violations(bank))


@pytest.mark.parametrize("damage", [b"<<<<<<< ours\n", b"\xff\n", b'{"id":"\xff"}\n', b"[\n"])
def test_a_damaged_chain_is_named_with_its_line_and_with_the_way_out(damage: bytes) -> None:
    bank = chained(decisions(range(3)))
    rows = bank.files[CHAIN].splitlines(keepends=True)
    bank.files[CHAIN] = b"".join((*rows[:2], damage, rows[2]))
    (finding,) = [f for f in bank.verify().found if f.gravity == "violation"]
    assert (finding.file, finding.line) == (CHAIN, 3)
    away = f"`mv {CHAIN} {CHAIN}.damaged`"
    assert away in finding.advice
    with pytest.raises(BankMalformed) as broken:
        bank.chain()
    assert away in str(broken.value)
    del bank.files[CHAIN]
    bank.chain()
    assert bank.verify().found == ()


def test_after_a_merge_the_rows_of_one_side_are_enough() -> None:
    bank = chained(decisions([0, 1, 2]))
    bank.files[LOG] = decisions([0, 1, 2, 3]).encode()
    assert bank.verify().sound
    bank.chain()
    assert bank.verify().found == ()


def test_a_chain_says_since_when_it_counts() -> None:
    bank = Bank(decisionLog_md=decisions([0, 1]))
    at = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
    bank.files[CHAIN] = updated(None, bank.document(LOG), at=at)
    bank.files[LOG] = decisions([0, 1, 2]).encode()
    bank.files[CHAIN] = updated(bank.files[CHAIN], bank.document(LOG), at=NOW)
    said = "the chain of decisionLog.md has 3 rows and counts since 2026-03-01T12:00:00Z"
    assert said in bank.verify().checked


def test_rows_without_a_time_are_still_read() -> None:
    row = b'{"number":1,"id":"D","sha256":"0","below":0,"status":"","predecessor":""}\n'
    assert read_chain(CHAIN, row)[0].at == ""


def test_a_planted_bug_that_forgets_the_order_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(rows: list[Row]) -> list[int]:
        return sorted(row.number for row in rows)

    monkeypatch.setattr("kedge.bank.proving.logged.expected_order", forgetful)
    bank = chained(decisions([0, 1]))
    bank.files[LOG] = decisions([0, 7, 1]).encode()
    bank.chain()
    assert violations(bank) != []


def test_a_planted_bug_that_writes_the_chain_anew_would_hide_a_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why rows are never changed: a chain made from the log as it is has nothing to say."""
    bank = chained(decisions(range(3)))
    bank.files[LOG] = decisions([0, 2]).encode()
    bank.files[CHAIN] = updated(None, bank.document(LOG))
    assert violations(bank) == []
    assert chain.chain_name(LOG) == CHAIN
