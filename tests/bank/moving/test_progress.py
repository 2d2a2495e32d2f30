"""Progress: completed and old and not among the newest ten (R36)."""

from __future__ import annotations

import pytest

from tests.bank.banks import Bank, blocks, milestone, progress

NAME = "progress.md"
ARCHIVE = "progress.archive.md"


def rows_of(count: int, *, days: int = 31) -> list[str]:
    """Completed milestones, the newest first, the first of them `days` old."""
    return [milestone(count - n, days=days + n) for n in range(count)]


def test_the_eleventh_goes() -> None:
    rows = rows_of(11)
    bank = Bank(progress_md=progress(rows))
    bank.compact()
    (block,) = blocks(bank.files[ARCHIVE])
    assert block.content.decode() == rows[10]
    assert [entry.text for entry in bank.document(NAME).entries()] == rows[:10]
    (reference,) = bank.document(NAME).references()
    assert (reference.sha256, reference.entries) == (block.sha256, 1)


@pytest.mark.parametrize(("days", "goes"), [(29, False), (30, False), (31, True)])
def test_older_than_30_days_means_more_than_30(days: int, goes: bool) -> None:
    rows = [*rows_of(10, days=0), milestone(99, days=days)]
    bank = Bank(progress_md=progress(rows))
    assert bool(bank.compact().files) is goes


def test_an_open_milestone_never_goes() -> None:
    rows = [
        milestone(n, days=n * 10, status="in_progress" if n % 2 else "completed") for n in range(40)
    ]
    bank = Bank(progress_md=progress(rows))
    bank.compact()
    stay = [entry.text for entry in bank.document(NAME).entries()]
    assert [row for row in rows if "in_progress" in row or rows.index(row) < 20] == stay
    assert len(list(bank.document(NAME).references())) == 1, "one for all, not one per gap"


def test_open_and_undated_milestones_take_no_place_of_the_newest_ten() -> None:
    """R36: they stay anyway."""
    undated = [f"| TASK-9{n:02} | completed | agent-1 | high |  |\n" for n in range(10)]
    still_open = [milestone(200 + n, days=1, status="open") for n in range(10)]
    reached = [milestone(n, days=40 + n) for n in range(12)]
    bank = Bank(progress_md=progress([*still_open, *undated, *reached]))
    bank.compact()
    stay = [entry.text for entry in bank.document(NAME).entries()]
    assert stay == [*still_open, *undated, *reached[:10]]


def test_a_milestone_without_a_date_stays_and_is_named() -> None:
    undated = "| TASK-900 | completed | agent-1 | high |  |\n"
    bank = Bank(progress_md=progress([*rows_of(12), undated]))
    plan = bank.compact()
    assert undated in bank.text(NAME)
    assert "1 reached milestone has no date and stays" in "".join(plan.notes)


def test_the_file_is_still_a_table_afterwards() -> None:
    bank = Bank(progress_md=progress(rows_of(15)))
    bank.compact()
    assert bank.document(NAME).shape == Bank(progress_md=progress(rows_of(15))).document(NAME).shape
    assert bank.verify().found == ()
    assert bank.compact().changes == ()


def test_tables_with_other_columns_keep_their_own_rows_and_references() -> None:
    """A reference is a row, and a row must have the columns of its table."""
    small = "| task | status | updated |\n|---|---|---|\n" + "".join(
        f"| Step {n} | done | 2026-01-{n + 1:02} |\n" for n in range(15)
    )
    text = progress(rows_of(15)) + "\n## Another\n\n" + small
    bank = Bank(progress_md=text)
    before = [entry.text for entry in bank.document(NAME).entries()]
    bank.compact()
    references = list(bank.document(NAME).references())
    assert sorted(reference.entries for reference in references) == [5, 15]
    archived = "".join(block.content.decode() for block in blocks(bank.files[ARCHIVE]))
    for row in before:
        assert (row in archived) != (row in bank.text(NAME))
    assert bank.verify().found == ()


def test_a_list_of_boxes_moves_too() -> None:
    items = [f"- [x] Step {n} (2026-01-{n + 1:02})\n" for n in range(15)]
    bank = Bank(progress_md="# Progress\n\n" + "".join(items) + "- [ ] Open (2026-01-01)\n")
    bank.compact()
    (reference,) = bank.document(NAME).references()
    assert reference.entries == 5
    (block,) = blocks(bank.files[ARCHIVE])
    assert block.content.decode() == "".join(items[:5])
    assert "- [ ] Open (2026-01-01)\n" in bank.text(NAME)
    assert bank.verify().found == ()
    assert bank.compact().changes == ()


def test_a_year_of_rows_leaves_a_bounded_number_of_references() -> None:
    bank = Bank(progress_md=progress([]))
    for n in range(60):
        bank.files[NAME] += milestone(n, days=100 - n).encode()
        bank.compact()
        assert len(list(bank.document(NAME).references())) <= 10
    assert bank.verify().found == ()
