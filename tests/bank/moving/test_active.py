"""The active context: 50 entries stay, the rest goes to the archive verbatim (R35, R36)."""

from __future__ import annotations

import json
from datetime import timedelta
from hashlib import sha256

import pytest

from kedgeline.bank.values import Limits, Other
from tests.bank.banks import NOW, Bank, active, active_entry, active_lines, blocks, stamp

NAME = "activeContext.md"
LINES = "activeContext.jsonl"
ARCHIVE = "activeContext.archive.md"


def test_50_entries_move_nothing() -> None:
    """R36: the newest 50 stay, the trigger is more than 50."""
    bank = Bank(activeContext_md=active(50))
    plan = bank.compact()
    assert plan.files == ()
    assert plan.changes == ()
    assert "nothing more can move" in plan.nothing


def test_51_entries_move_one_and_leave_one_reference() -> None:
    """R35, R36: 50 kept, one reference line, the entry byte for byte in the archive."""
    bank = Bank(activeContext_md=active(51))
    before = bank.document(NAME)
    bank.compact()
    after = bank.document(NAME)
    assert [entry.text for entry in after.entries()] == [e.text for e in before.entries()][:50]
    (reference,) = after.references()
    (block,) = blocks(bank.files[ARCHIVE])
    assert block.content.decode() == active_entry(0)
    assert reference.sha256 == block.sha256 == sha256(active_entry(0).encode()).hexdigest()
    assert (reference.archive, reference.entries) == (ARCHIVE, 1)
    assert reference.first == reference.last == NOW - timedelta(hours=1000)
    assert reference.summary


@pytest.mark.parametrize("newest_first", [True, False])
def test_the_oldest_go_whichever_end_of_the_file_they_are_at(newest_first: bool) -> None:
    bank = Bank(activeContext_md=active(60, newest_first=newest_first))
    bank.compact()
    (block,) = blocks(bank.files[ARCHIVE])
    for n in range(60):
        there = bank.text(NAME) if n >= 10 else block.content.decode()
        assert active_entry(n) in there


def test_time_decides_and_not_the_place() -> None:
    """R37: ordered by time, by the order of the file on ties."""
    rows = [active_entry(n) for n in range(52)]
    moved = [rows[0], *rows[26:], rows[1], *rows[2:26]][::-1]
    bank = Bank(activeContext_md="# Active Context\n\n" + "".join(moved))
    bank.compact()
    assert [e.text for e in bank.document(NAME).entries()] == [
        row for row in moved if row not in rows[:2]
    ]
    assert sorted(b.content.decode() for b in blocks(bank.files[ARCHIVE])) == sorted(rows[:2])
    assert len(list(bank.document(NAME).references())) == 2, "each run of neighbours has its own"


def test_a_second_compaction_changes_nothing() -> None:
    bank = Bank(activeContext_md=active(90))
    bank.compact()
    files = dict(bank.files)
    assert bank.compact().changes == ()
    assert bank.files == files


def test_more_references_than_the_limit_become_one_and_the_counts_add_up() -> None:
    """R35: without a limit a year of compactions would leave more references than entries."""
    limits = Limits(entries=5, references=4)
    bank = Bank(limits, activeContext_md=active(5))
    for n in range(5, 45):
        head, _, rest = bank.text(NAME).partition("\n\n")
        bank.files[NAME] = f"{head}\n\n{active_entry(n)}{rest}".encode()
        bank.compact()
        assert len(list(bank.document(NAME).references())) <= 4
        assert sum(one.entries for one in bank.document(NAME).references()) == n - 4
    assert bank.verify().found == ()
    archive = bank.text(ARCHIVE)
    assert all(active_entry(n) in archive for n in range(40))


def test_the_chain_of_json_lines_goes_on_across_the_reference() -> None:
    """R35: the chain continues from the reference."""
    bank = Bank(activeContext_jsonl=active_lines(60))
    bank.compact()
    document = bank.document(LINES)
    (reference,) = document.references()
    tenth = active_lines(60).splitlines()[9]
    assert reference.end == sha256(tenth.encode()).hexdigest()
    assert bank.verify().found == ()


def test_too_many_tokens_leave_fewer_entries_and_say_so() -> None:
    long = "Words about it. " * 200
    rows = [active_entry(n, words=long) for n in reversed(range(40))]
    bank = Bank(activeContext_md="# Active Context\n\n" + "".join(rows))
    plan = bank.compact()
    assert plan.tokens_before > 20_000 >= plan.tokens_after
    (file,) = plan.files
    assert 10 <= file.stay < 40
    assert "20,000 estimated tokens" in file.why
    assert [e.text for e in bank.document(NAME).entries()] == rows[: file.stay]


def test_the_least_number_of_entries_stays_however_large_they_are() -> None:
    rows = [active_entry(n, words="Words about it. " * 900) for n in reversed(range(12))]
    bank = Bank(activeContext_md="# Active Context\n\n" + "".join(rows))
    plan = bank.compact()
    assert [e.text for e in bank.document(NAME).entries()] == rows[:10]
    assert plan.tokens_after > 20_000
    assert any("still have" in note for note in plan.notes)
    again = bank.compact()
    assert again.changes == ()
    assert "nothing more can move" in again.nothing


def test_entries_that_are_smaller_than_their_reference_stay() -> None:
    """Another file is too large: moving small entries would make the bank larger at every
    compaction."""
    bank = Bank(activeContext_md=active(11), systemPatterns_md="# Patterns\n\n" + "word " * 20_000)
    plan = bank.compact()
    assert plan.files == ()
    assert "systemPatterns.md, shorten it by hand" in "".join(plan.notes)


def test_a_chain_with_an_entry_between_references_is_not_broken_by_making_them_one() -> None:
    """Entries out of order: one that stays stands between many that go."""
    limits = Limits(entries=4, references=2)
    times = [NOW - timedelta(days=40 - n) for n in range(30)]
    times[5], times[11] = NOW, NOW + timedelta(days=1)
    lines, before = [], ""
    bank = Bank(limits, activeContext_jsonl="")
    for n, at in enumerate(times):
        row = {"ts": stamp(at), "source_agent": "a", "summary_128": f"Part {n}."}
        lines.append(json.dumps({**row, "predecessor_hash": before}) + "\n")
        before = sha256(lines[-1].strip().encode()).hexdigest()
        bank.files[LINES] += lines[-1].encode()
        bank.compact()
        assert bank.verify().found == ()
    assert lines[5] in bank.text(LINES)
    assert lines[11] in bank.text(LINES)


def test_what_a_person_wrote_behind_a_reference_does_not_become_part_of_the_entry_above() -> None:
    """The reference between them ended the entry: it must not go elsewhere."""
    limits = Limits(entries=3, references=1)
    kept, later = active_entry(900), active_entry(901)
    note = "<!-- mine -->\n\n"
    text = "# Active Context\n\n" + later + kept + active_entry(1) + "## Mine\n\n" + note
    bank = Bank(limits, activeContext_md=text + active_entry(2) + "## Last\n\nWords.\n\n")
    for n in range(3, 9):
        bank.files[NAME] += active_entry(n).encode()
        bank.compact()
    entries = [entry.text for entry in bank.document(NAME).entries()]
    assert entries[:2] == [later, kept]
    assert note in "".join(p.text for p in bank.document(NAME).pieces if isinstance(p, Other))
