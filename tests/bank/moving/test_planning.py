"""A plan says what will happen, and its changes are handed out only when nothing gets lost."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from kedge.bank.moving import BankPlan, changes_of, planning
from kedge.bank.moving.active import moved_from_active
from kedge.bank.moving.archives import Block, appended
from kedge.bank.moving.proof import prove
from kedge.bank.moving.replacing import Moved
from kedge.bank.values import Change, Limits
from kedge.errors import BankChanged
from tests.bank.banks import NOW, Bank, active, active_entry, decisions, milestone, progress


def full_bank() -> Bank:
    return Bank(
        activeContext_md=active(70),
        decisionLog_md=decisions(range(101)),
        progress_md=progress([milestone(n, days=40 + n) for n in range(15)]),
        systemPatterns_md="# Patterns\n\nWe write small files.\n",
    )


def altered(plan: BankPlan, name: str, after: bytes | None) -> BankPlan:
    changes = [
        msgspec.structs.replace(change, after=after) if change.name == name else change
        for change in plan.changes
    ]
    return msgspec.structs.replace(plan, changes=tuple(changes))


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
    assert [change.name for change in changes_of(full_bank().plan())] == [
        "activeContext.archive.md",
        "progress.archive.md",
        "activeContext.md",
        "progress.md",
        "decisionLog.index.md",
    ]


def test_every_change_says_what_the_file_was() -> None:
    bank = full_bank()
    for change in changes_of(bank.plan()):
        assert change.before == bank.files.get(change.name)


def test_after_a_crash_between_archive_and_file_the_block_is_there_once() -> None:
    """T-D1: nothing is lost, and nothing is archived twice."""
    bank = full_bank()
    archive, *_ = changes_of(bank.plan())
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


def test_a_file_that_cannot_hold_entries_is_left_alone() -> None:
    bank = Bank(activeContext_md="Only prose.\n", progress_md="")
    assert bank.compact().changes == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"part 3 ", b"part 4 "),
        (b"sha256=", b"sha256=0"),
        (b"its tests pass.", b"its tests fail."),
    ],
)
def test_changes_with_a_damaged_archive_are_not_handed_out(old: bytes, new: bytes) -> None:
    plan = full_bank().plan()
    name = "activeContext.archive.md"
    (after,) = [change.after for change in plan.changes if change.name == name]
    assert after is not None
    assert old in after
    with pytest.raises(BankChanged, match=r"activeContext.md was left as it is"):
        changes_of(altered(plan, name, after.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("# Active Context", "# Other Context", "no entry would not stay"),
        ("parser of part 69", "parser of part 96", "line 3 would not be found again"),
        (
            "# Active Context\n\n",
            "# Active Context\n\n### [2026-01-01T00:00:00Z] x\n\ny\n\n",
            "none",
        ),
    ],
)
def test_changes_that_alter_the_file_are_not_handed_out(old: str, new: str, why: str) -> None:
    plan = full_bank().plan()
    name = "activeContext.md"
    (after,) = [change.after for change in plan.changes if change.name == name]
    assert after is not None
    assert old.encode() in after
    with pytest.raises(BankChanged, match=why):
        changes_of(altered(plan, name, after.replace(old.encode(), new.encode(), 1)))


def test_a_change_of_the_log_or_a_shorter_archive_is_not_handed_out() -> None:
    bank = full_bank()
    log = bank.files["decisionLog.md"]
    for change in (
        Change(name="decisionLog.md", before=log, after=log + b"\n"),
        Change(name="progress.archive.md", before=b"all of it", after=b"half"),
    ):
        plan = msgspec.structs.replace(bank.plan(), changes=(change,))
        with pytest.raises(BankChanged):
            changes_of(plan)


def forgetful(archive: bytes | None, block: Block, at: datetime, *, of: str = "") -> bytes:
    """A planted bug: the last byte of a block is left out before it is hashed."""
    return appended(archive, Block(content=block.content[:-1], entries=block.entries), at, of=of)


def greedy(document: object, limits: Limits, **more: object) -> Moved:
    """A planted bug: one entry goes without being in a block."""
    moved = MOVED(document, limits, **more)  # type: ignore[arg-type]
    last = list(moved.document.entries())[-1]
    pieces = tuple(piece for piece in moved.document.pieces if piece != last)
    fewer = msgspec.structs.replace(moved.document, pieces=pieces)
    return msgspec.structs.replace(moved, document=fewer)


MOVED = moved_from_active


@pytest.mark.parametrize(("where", "bug"), [("appended", forgetful), ("moved_from_active", greedy)])
def test_planted_bugs_are_caught_by_the_proof(
    where: str, bug: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, where, bug)
    bank = full_bank()
    before = dict(bank.files)
    plan = bank.compact(now=NOW)
    assert bank.files["activeContext.md"] == before["activeContext.md"]
    assert "activeContext.archive.md" not in bank.files
    assert plan.notes[0].startswith("activeContext.md was left as it is: ")
    assert plan.notes[0].endswith("compact again")


def test_a_file_that_is_refused_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "moved_from_active", greedy)
    bank = full_bank()
    plan = bank.compact(now=NOW)
    assert [file.name for file in plan.files] == ["progress.md"]
    assert "progress.archive.md" in bank.files
    assert plan.tokens_after == sum(
        len(bank.files[name].decode()) // 4
        for name in ("activeContext.md", "progress.md", "systemPatterns.md")
    )


def test_a_bank_of_which_all_is_refused_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "moved_from_active", greedy)
    bank = Bank(activeContext_md=active(70))
    plan = bank.compact(now=NOW)
    assert plan.changes == ()
    assert plan.nothing == (
        "somebody asked for it; activeContext.md has 70 entries, more than 50; "
        "but activeContext.md cannot be changed: see the notes"
    )


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


def test_an_entry_that_is_lost_is_missed_though_the_same_one_was_archived_before() -> None:
    """The proof counts what new references lead to, and nothing that was in the archive before."""
    same = active_entry(1, words="The same words.")
    bank = Bank(Limits(entries=2), activeContext_md="# A\n\n" + active_entry(5) * 2 + same)
    bank.compact()
    text = bank.text("activeContext.md") + same
    change = Change(
        name="activeContext.md",
        before=text.encode(),
        after=text.removesuffix(same).encode(),
    )
    with pytest.raises(BankChanged, match="would not be found again"):
        prove([change])
