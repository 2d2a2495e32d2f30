"""Several files replaced as one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from kedge.bank.files import held, peek, transaction
from kedge.bank.values import Change
from kedge.errors import BankChanged, FileRefused, NoSuchBank, OutputUnwritable
from tests.bank.files.stepping import (
    AFTER,
    AT,
    BEFORE,
    CHANGES,
    Stepping,
    beside,
    contents_of,
)

APPEND = Change(
    name="activeContext.md",
    before=BEFORE["activeContext.md"],
    after=(BEFORE["activeContext.md"] or b"") + b"\n### newer\n",
)


def test_all_files_of_a_transaction_are_replaced(bank: Path) -> None:
    with held(bank) as files:
        assert files.commit(CHANGES, "compaction", AT, undoable=True) == 1
        assert files.read("progress.archive.md") == AFTER["progress.archive.md"]
        [one] = files.history()
    assert contents_of(bank) == AFTER
    assert (one.what, one.at, one.files) == ("compaction", AT, tuple(AFTER))
    assert (one.undone, one.left) == (False, ())
    assert beside(bank) == []


def test_archives_are_on_disk_before_what_they_were_made_from_is_replaced(
    bank: Path, stepping: Stepping
) -> None:
    """R35: archive verbatim first, fsync, atomic. Each replacement is followed by a sync."""
    with held(bank) as files:
        stepping.well()
        files.commit(CHANGES, "compaction", AT, undoable=True)
    journal = stepping.steps.index("sync", stepping.steps.index("sync") + 1)
    assert stepping.steps[journal + 1 : journal + 9] == ["rename", "sync"] * 4


def test_a_single_change_takes_few_steps_and_leaves_no_record(
    bank: Path, stepping: Stepping
) -> None:
    with held(bank) as files:
        stepping.well()
        assert files.commit([APPEND], "add", AT) == 0
        assert files.history() == []
    assert (bank / APPEND.name).read_bytes() == APPEND.after
    assert stepping.steps == ["write_new", "keep_owner", "rename", "sync"]


def test_a_single_change_can_be_one_that_is_taken_back(bank: Path) -> None:
    with held(bank) as files:
        assert files.commit([APPEND], "compaction", AT, undoable=True) == 1
        files.undo(AT)
    assert contents_of(bank) == BEFORE


def test_a_file_can_go(bank: Path) -> None:
    gone = Change(name="progress.md", before=BEFORE["progress.md"], after=None)
    with held(bank) as files:
        files.commit([gone], "remove", AT)
        assert files.read("progress.md") is None
        assert files.names() == ["activeContext.archive.md", "activeContext.md"]


@pytest.mark.parametrize("undoable", [False, True])
def test_modes_are_kept_and_new_files_follow_the_umask(bank: Path, undoable: bool) -> None:
    (bank / "activeContext.md").chmod(0o640)
    fresh = Change(name="fresh.md", before=None, after=b"new\n")
    old = os.umask(0o027)
    try:
        with held(bank) as files:
            files.commit([APPEND], "add", AT, undoable=undoable)
            files.commit([fresh], "add", AT, undoable=undoable)
    finally:
        os.umask(old)
    assert stat.S_IMODE((bank / "activeContext.md").stat().st_mode) == 0o640
    assert stat.S_IMODE((bank / "fresh.md").stat().st_mode) == 0o640
    assert stat.S_IMODE((bank / ".kedge").stat().st_mode) == 0o700
    private = [path for path in (bank / ".kedge").iterdir() if path.name != ".gitignore"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    assert (bank / ".kedge" / ".gitignore").read_bytes() == b"*\n"


@pytest.mark.parametrize("changes", [CHANGES, (APPEND,)], ids=["several", "one"])
def test_a_file_that_somebody_changed_is_left_and_the_plan_is_made_again(
    bank: Path, changes: tuple[Change, ...]
) -> None:
    (bank / "activeContext.md").write_bytes(b"a person was here\n")
    now = contents_of(bank)
    with held(bank) as files:
        with pytest.raises(BankChanged, match=r"activeContext\.md was left .* try again") as found:
            files.commit(changes, "compaction", AT, undoable=True)
        assert found.value.done == ()
        assert contents_of(bank) == now
        assert beside(bank) == []

        def plan() -> list[Change]:
            data = files.read("activeContext.md") or b""
            return [Change(name="activeContext.md", before=data, after=data + b"and we\n")]

        files.carry_out(plan, "add", AT)
    assert (bank / "activeContext.md").read_bytes() == b"a person was here\nand we\n"


def test_a_save_while_a_file_is_written_is_seen(bank: Path, stepping: Stepping) -> None:
    """A person's editor takes no lock. Between the last look and the replacement there is nothing
    that takes time; a save behind it is seen when the file is read back."""
    person = b"a person saved this\n"

    def save() -> None:
        (bank / "activeContext.md").write_bytes(person)

    for step in ("write_new", "keep_owner", "sync"):
        (bank / "activeContext.md").write_bytes(BEFORE["activeContext.md"] or b"")
        with held(bank) as files:
            stepping.doing_before(step, save)
            with pytest.raises(BankChanged) as found:
                files.commit([APPEND], "add", AT)
            stepping.well()
        assert (bank / "activeContext.md").read_bytes() == person
        assert bool(found.value.done) == (step == "sync")


def test_the_check_finds_that_nobody_looks_before_replacing(
    bank: Path, stepping: Stepping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the file is compared when the plan comes in, and not again."""
    monkeypatch.setattr(
        transaction, "unchanged", lambda place, change: place.bank.read(change.name)
    )
    with pytest.raises(pytest.fail.Exception):
        test_a_save_while_a_file_is_written_is_seen(bank, stepping)


def test_who_keeps_saving_is_left_in_peace(bank: Path) -> None:
    saves = 0
    with held(bank) as files:

        def plan() -> list[Change]:
            nonlocal saves
            saves += 1
            data = files.read("progress.md")
            (bank / "progress.md").write_bytes(b"saved %d times\n" % saves)
            return [Change(name="progress.md", before=data, after=b"ours\n")]

        with pytest.raises(BankChanged):
            files.carry_out(plan, "add", AT)
    assert (bank / "progress.md").read_bytes() == b"saved 5 times\n"


def test_a_change_that_changes_nothing_is_a_condition(bank: Path) -> None:
    """An index is made from a log, which must still be what it was."""
    log = Change(name="progress.md", before=b"what it was\n", after=b"what it was\n")
    with held(bank) as files:
        with pytest.raises(BankChanged, match=r"progress\.md"):
            files.commit([log, APPEND], "index", AT)
        (bank / "progress.md").write_bytes(b"what it was\n")
        inode = (bank / "progress.md").stat().st_ino
        files.commit([log, APPEND], "index", AT)
    assert (bank / "progress.md").stat().st_ino == inode


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("lasts", [False, True])
def test_a_disk_that_fails_leaves_all_or_nothing_and_is_forgotten(
    bank: Path, stepping: Stepping, code: int, lasts: bool
) -> None:
    """Before the commit nothing is replaced. Behind it the rest is done by whoever comes next."""
    failed = 0
    with held(bank) as files:
        stepping.well()
        files.commit(CHANGES, "compaction", AT, undoable=True)
        files.undo(AT)
    steps = len(stepping.steps)
    for step in range(steps // 2):
        with held(bank) as files:
            assert contents_of(bank) == BEFORE
            stepping.failing_at(step, code, lasts=lasts)
            try:
                files.commit(CHANGES, "compaction", AT, undoable=True)
            except OutputUnwritable as error:
                failed += 1
                told = str(error)
            else:
                told = "the next time"  # only what is too old could not be removed
            assert contents_of(bank) == BEFORE or "the next time" in told
            stepping.well()
            try:
                files.commit(
                    CHANGES, "compaction", AT, undoable=True
                )  # the same process, and the disk is well
            except BankChanged:
                assert contents_of(bank) == AFTER
            assert contents_of(bank) == AFTER
            assert beside(bank) == []
            files.undo(AT)
    assert failed > 10


def test_a_failing_disk_leaves_a_single_file_whole(bank: Path, stepping: Stepping) -> None:
    for step in range(4):
        (bank / APPEND.name).write_bytes(APPEND.before or b"")
        with held(bank) as files:
            stepping.failing_at(step, errno.ENOSPC)
            with pytest.raises(OutputUnwritable, match="the disk says no"):
                files.commit([APPEND], "add", AT)
            replaced = (bank / APPEND.name).read_bytes() == APPEND.after
            assert replaced == (step == 3)  # only the sync of the folder comes behind it
            assert beside(bank) == []
            stepping.well()


def test_a_file_that_cannot_be_read_back_is_said_so(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*given: object) -> str:
        raise OSError(errno.EIO, "the disk says no")

    with held(bank) as files:
        monkeypatch.setattr(transaction, "_now", unreadable)
        with pytest.raises(OutputUnwritable, match="the file is replaced"):
            files.commit([APPEND], "add", AT)


@pytest.mark.parametrize("name", ["../out.md", ".kedge", "a/b.md", "", "a\0b", ".hidden"])
def test_no_name_leads_out_of_the_bank(bank: Path, name: str) -> None:
    with held(bank) as files:
        with pytest.raises(FileRefused, match="plain name"):
            files.commit([Change(name=name, before=None, after=b"x")], "add", AT)
        with pytest.raises(FileRefused, match="plain name"):
            files.read(name)


def test_links_are_not_followed(bank: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_bytes(b"not ours\n")
    (bank / "link.md").symlink_to(tmp_path / "elsewhere.md")
    with held(bank) as files:
        assert "link.md" not in files.names()
        with pytest.raises(FileRefused, match="symbolic link"):
            files.read("link.md")
        change = Change(name="link.md", before=b"not ours\n", after=b"ours\n")
        with pytest.raises(FileRefused, match="symbolic link"):
            files.commit([change], "add", AT)
    assert (tmp_path / "elsewhere.md").read_bytes() == b"not ours\n"


def test_our_folder_must_not_be_a_link(bank: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (bank / ".kedge").symlink_to(tmp_path / "other")
    with pytest.raises(FileRefused, match="symbolic link"), held(bank):
        pass
    assert list((tmp_path / "other").iterdir()) == []


def test_one_file_twice_in_a_transaction_is_a_mistake(bank: Path) -> None:
    with held(bank) as files, pytest.raises(ValueError, match="twice"):
        files.commit([APPEND, APPEND], "add", AT)


@pytest.mark.parametrize("opened", [held, peek])
def test_a_folder_that_is_not_there_is_no_bank(bank: Path, opened: object) -> None:
    assert callable(opened)
    for path, why in ((bank / "no", "does not exist"), (bank / "progress.md", "not a directory")):
        with pytest.raises(NoSuchBank, match=why), opened(path):
            pass


def test_a_file_larger_than_is_read_is_refused(bank: Path) -> None:
    (bank / "progress.md").write_bytes(bytes((1 << 20) + 1))
    with held(bank, largest=1 << 20) as files, pytest.raises(FileRefused, match="too large"):
        files.read("progress.md")
    os.truncate(bank / "progress.md", 17 << 20)
    with held(bank) as files:
        assert len(files.read("progress.md") or b"") == 17 << 20


def test_a_bank_that_was_let_go_cannot_be_written(bank: Path) -> None:
    with held(bank) as files:
        pass
    with pytest.raises((FileRefused, OutputUnwritable, OSError)):
        files.commit([APPEND], "add", AT)
    assert contents_of(bank) == BEFORE
