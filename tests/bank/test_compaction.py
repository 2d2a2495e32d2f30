"""What a compaction of a bank moves, and what stays (R35, R36): nothing is lost, whichever file."""

from __future__ import annotations

import json
from datetime import timedelta
from hashlib import sha256

import pytest

from kedgeline.bank.entries import Limits, Other
from tests.bank.banks import (
    NOW,
    Bank,
    active,
    active_entry,
    active_lines,
    blocks,
    decisions,
    milestone,
    progress,
    stamp,
)

NAME, LINES, ARCHIVE = "activeContext.md", "activeContext.jsonl", "activeContext.archive.md"
PROGRESS = "progress.md"


def full_bank() -> Bank:
    return Bank(
        activeContext_md=active(70),
        decisionLog_md=decisions(range(101)),
        progress_md=progress([milestone(n, days=40 + n) for n in range(15)]),
        systemPatterns_md="# Patterns\n\nWe write small files.\n",
    )


def test_a_plan_says_what_moves_and_why_and_what_it_saves() -> None:
    bank = full_bank()
    files = dict(bank.files)
    plan = bank.plan()
    assert bank.files == files
    assert [(f.name, f.archive, f.entries, f.stay) for f in plan.files] == [
        (NAME, ARCHIVE, 20, 50),
        (PROGRESS, "progress.archive.md", 5, 10),
    ]
    assert all(file.why for file in plan.files)
    saved = sum(file.tokens_before - file.tokens_after for file in plan.files)
    assert plan.tokens_after == plan.tokens_before - saved < plan.tokens_before
    assert plan.nothing == ""
    assert [change.name for change in plan.changes] == [
        *(ARCHIVE, "progress.archive.md", NAME, PROGRESS, "decisionLog.index.md"),
    ]


def test_after_a_crash_between_archive_and_file_the_block_is_there_once() -> None:
    """T-D1: nothing is lost, and nothing is archived twice."""
    bank = full_bank()
    archive, *_ = bank.plan().changes
    bank.write([archive])
    bank.compact()
    assert bank.files[archive.name] == archive.after
    assert bank.verify().sound


@pytest.mark.parametrize("newest_first", [True, False])
def test_the_oldest_go_whichever_end_of_the_file_they_are_at(newest_first: bool) -> None:
    bank = Bank(activeContext_md=active(60, newest_first=newest_first))
    bank.compact()
    (block,) = blocks(bank.files[ARCHIVE])
    for n in range(60):
        assert active_entry(n) in (bank.text(NAME) if n >= 10 else block.content.decode())


def test_time_decides_and_not_the_place() -> None:
    """R37: ordered by time, by the order of the file on ties."""
    rows = [active_entry(n) for n in range(52)]
    moved = [rows[0], *rows[26:], rows[1], *rows[2:26]][::-1]
    bank = Bank(activeContext_md="# Active Context\n\n" + "".join(moved))
    bank.compact()
    stay = [entry.text for entry in bank.document(NAME).entries()]
    assert stay == [row for row in moved if row not in rows[:2]]
    assert sorted(b.content.decode() for b in blocks(bank.files[ARCHIVE])) == sorted(rows[:2])
    assert len(list(bank.document(NAME).references())) == 2, "each run of neighbours has its own"


def test_one_line_stands_for_all_that_ever_went_and_the_counts_add_up() -> None:
    """R35: a year of compactions would leave more lines than entries."""
    bank = Bank(Limits(entries=5), activeContext_md=active(5))
    for n in range(5, 45):
        head, _, rest = bank.text(NAME).partition("\n\n")
        bank.files[NAME] = f"{head}\n\n{active_entry(n)}{rest}".encode()
        bank.compact()
        (reference,) = bank.document(NAME).references()
        assert reference.entries == n - 4
    assert reference.summary.startswith("Wired the parser of part 39")
    assert bank.verify().found == ()
    assert all(active_entry(n) in bank.text(ARCHIVE) for n in range(40))


@pytest.mark.parametrize("again", [1, 5])
def test_the_same_old_entry_in_several_places_moves_from_each(again: int) -> None:
    """One block is enough for all; each place has its own reference to it."""
    same = active_entry(1, words="The same words.")
    newer = [active_entry(100 + n) for n in range(again + 1)]
    text = "# Active Context\n\n" + same.join(reversed(newer))
    bank = Bank(Limits(entries=again + 1), activeContext_md=text)
    (file,) = bank.compact().files
    assert file.entries == again
    assert [one.entries for one in bank.document(NAME).references()] == [1] * again
    assert bank.files[ARCHIVE].count(same.encode()) == 1
    assert bank.verify().sound


def test_both_dialects_in_one_bank_share_an_archive_and_the_chain_goes_on() -> None:
    """R35: in JSON Lines the chain continues from the reference."""
    bank = Bank(activeContext_md=active(55), activeContext_jsonl=active_lines(60))
    assert [file.entries for file in bank.compact().files] == [5, 10]
    (reference,) = bank.document(LINES).references()
    tenth = active_lines(60).splitlines()[9]
    assert reference.end == sha256(tenth.encode()).hexdigest()
    assert bank.verify().found == ()


def test_too_many_tokens_leave_fewer_entries_and_say_so() -> None:
    rows = [active_entry(n, words="Words about it. " * 200) for n in reversed(range(40))]
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
    assert bank.compact().changes == ()


def test_entries_that_are_smaller_than_their_reference_stay() -> None:
    """Another file is too large: moving small entries would make the bank larger."""
    bank = Bank(activeContext_md=active(11), systemPatterns_md="# Patterns\n\n" + "word " * 20_000)
    plan = bank.compact()
    assert plan.files == ()
    assert "systemPatterns.md, shorten it by hand" in "".join(plan.notes)


def test_entries_out_of_order_break_no_chain() -> None:
    times = [NOW - timedelta(days=40 - n) for n in range(30)]
    times[5], times[11] = NOW, NOW + timedelta(days=1)
    lines, before = [], ""
    bank = Bank(Limits(entries=4), activeContext_jsonl="")
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
    kept, later = active_entry(900), active_entry(901)
    note = "<!-- mine -->\n\n"
    text = "# Active Context\n\n" + later + kept + active_entry(1) + "## Mine\n\n" + note
    bank = Bank(
        Limits(entries=3), activeContext_md=text + active_entry(2) + "## Last\n\nWords.\n\n"
    )
    for n in range(3, 9):
        bank.files[NAME] += active_entry(n).encode()
        bank.compact()
    entries = [entry.text for entry in bank.document(NAME).entries()]
    assert entries[:2] == [later, kept]
    assert note in "".join(p.text for p in bank.document(NAME).pieces if isinstance(p, Other))


# Progress: completed and old and not among the newest ten.


def reached(count: int, *, days: int = 31) -> list[str]:
    """Completed milestones, the newest first, the first of them `days` old."""
    return [milestone(count - n, days=days + n) for n in range(count)]


def test_open_and_undated_milestones_stay_and_take_no_place_of_the_newest_ten() -> None:
    undated = [f"| TASK-9{n:02} | completed | agent-1 | high |  |\n" for n in range(10)]
    still_open = [milestone(200 + n, days=90, status="in_progress") for n in range(10)]
    done = [milestone(n, days=40 + n) for n in range(12)]
    mixed = [row for both in zip(still_open, undated, strict=True) for row in both]
    bank = Bank(progress_md=progress([*done[:11], *mixed, *done[11:]]))
    plan = bank.compact()
    stay = [entry.text for entry in bank.document(PROGRESS).entries()]
    assert stay == [*done[:10], *mixed]
    assert len(list(bank.document(PROGRESS).references())) == 1, "one for all, not one per gap"
    assert "milestones without a date, which stay: 10" in "".join(plan.notes)


def test_tables_with_other_columns_keep_their_own_rows_and_references() -> None:
    small = "| task | status | updated |\n|---|---|---|\n" + "".join(
        f"| Step {n} | done | 2026-01-{n + 1:02} |\n" for n in range(15)
    )
    bank = Bank(progress_md=progress(reached(15)) + "\n## Another\n\n" + small)
    before = [entry.text for entry in bank.document(PROGRESS).entries()]
    bank.compact()
    references = list(bank.document(PROGRESS).references())
    assert sorted(reference.entries for reference in references) == [5, 15]
    archived = "".join(b.content.decode() for b in blocks(bank.files["progress.archive.md"]))
    for row in before:
        assert (row in archived) != (row in bank.text(PROGRESS))
    assert bank.verify().found == ()


def test_a_list_of_boxes_moves_too() -> None:
    items = [f"- [x] Step {n} (2026-01-{n + 1:02})\n" for n in range(15)]
    bank = Bank(progress_md="# Progress\n\n" + "".join(items) + "- [ ] Open (2026-01-01)\n")
    bank.compact()
    (reference,) = bank.document(PROGRESS).references()
    assert reference.entries == 5
    (block,) = blocks(bank.files["progress.archive.md"])
    assert block.content.decode() == "".join(items[:5])
    assert "- [ ] Open (2026-01-01)\n" in bank.text(PROGRESS)
    assert bank.verify().found == ()
    assert bank.compact().changes == ()
