"""A plan says what will happen, and its changes are handed out only when nothing gets lost."""

from __future__ import annotations

import pytest

from kedgeline.bank.values import Limits
from tests.bank.banks import Bank, active, active_entry, decisions, milestone, progress


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
        ("activeContext.md", "activeContext.archive.md", 20, 50),
        ("progress.md", "progress.archive.md", 5, 10),
    ]
    assert all(file.why for file in plan.files)
    assert plan.tokens_after == plan.tokens_before - sum(
        file.tokens_before - file.tokens_after for file in plan.files
    )
    assert plan.tokens_after < plan.tokens_before
    assert plan.nothing == ""


def test_archives_are_written_first_and_the_index_last() -> None:
    assert [change.name for change in full_bank().plan().changes] == [
        "activeContext.archive.md",
        "progress.archive.md",
        "activeContext.md",
        "progress.md",
        "decisionLog.index.md",
    ]


def test_after_a_crash_between_archive_and_file_the_block_is_there_once() -> None:
    """T-D1: nothing is lost, and nothing is archived twice."""
    bank = full_bank()
    archive, *_ = bank.plan().changes
    bank.write([archive])
    bank.compact()
    assert bank.files[archive.name] == archive.after
    assert bank.verify().sound


def test_both_dialects_in_one_bank_share_an_archive() -> None:
    from tests.bank.banks import active_lines

    bank = Bank(activeContext_md=active(55), activeContext_jsonl=active_lines(57))
    plan = bank.compact()
    assert [file.entries for file in plan.files] == [5, 7]
    assert bank.verify().found == ()


@pytest.mark.parametrize("again", [1, 5])
def test_the_same_old_entry_in_several_places_moves_from_each(again: int) -> None:
    """One block is enough for all; each place has its own reference to it."""
    same = active_entry(1, words="The same words.")
    newer = [active_entry(100 + n) for n in range(again + 1)]
    text = "# Active Context\n\n" + same.join(reversed(newer))
    bank = Bank(Limits(entries=again + 1), activeContext_md=text)
    (file,) = bank.compact().files
    assert file.entries == again
    assert [one.entries for one in bank.document("activeContext.md").references()] == [1] * again
    assert bank.files["activeContext.archive.md"].count(same.encode()) == 1
    assert bank.verify().sound
