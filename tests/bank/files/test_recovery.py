"""What a killed process left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kedge.bank.files import Files, copies, held, journal, peek, transaction
from kedge.errors import FileRefused
from tests.bank.files.stepping import (
    AFTER,
    AT,
    BEFORE,
    CHANGES,
    Contents,
    Killed,
    Stepping,
    beside,
    contents_of,
    laid_out,
)


def compact(files: Files) -> None:
    files.commit(CHANGES, "compaction", AT, undoable=True)


def undo(files: Files) -> None:
    files.undo(AT)


def die(
    bank: Path, stepping: Stepping, step: int, deed: Callable[[Files], None], behind: bool
) -> bool:
    """Whether the process died."""
    with suppress(Killed), held(bank) as files:
        stepping.killed_at(step, behind=behind)
        deed(files)
        return False
    return True


def every_death(
    bank: Path, stepping: Stepping, deed: Callable[[Files], None], old: Contents, new: Contents
) -> int:
    """Die at each step of it and come back; how often all of it was there."""
    finished = 0
    for behind in (False, True):
        for step in range(100):
            with held(bank) as files:
                stepping.well()
                assert contents_of(bank) == old
            died = die(bank, stepping, step, deed, behind)
            ended = not died and len(stepping.steps) <= step
            stepping.well()
            with held(bank) as files:
                now = contents_of(bank)
                assert now in (old, new), f"half of it, after step {step}"
                assert beside(bank) == []
                finished += now == new
                if now == new:
                    assert len(files.history()) > 0
                    (undo if deed is compact else compact)(files)
            if ended:
                break
        else:
            raise AssertionError("it never ended")
    return finished


def test_dying_at_any_step_of_a_compaction_leaves_all_of_it_or_nothing(
    bank: Path, stepping: Stepping
) -> None:
    assert every_death(bank, stepping, compact, BEFORE, AFTER) > 10


def test_dying_at_any_step_of_an_undo_leaves_all_of_it_or_nothing(
    bank: Path, stepping: Stepping
) -> None:
    with held(bank) as files:
        compact(files)
    assert every_death(bank, stepping, undo, AFTER, BEFORE) > 10


def test_dying_again_while_it_is_finished_changes_nothing(bank: Path, stepping: Stepping) -> None:
    with held(bank) as files:
        stepping.well()
        compact(files)
        undo(files)
    committed = 0
    for first in range(6, 30):
        die(bank, stepping, first, compact, behind=False)
        for again in range(12):
            stepping.killed_at(again)
            with suppress(Killed), held(bank) as files:
                break
        stepping.well()
        with held(bank) as files:
            assert contents_of(bank) in (BEFORE, AFTER)
            if contents_of(bank) == AFTER:
                committed += 1
                undo(files)
    assert committed > 5


def test_the_check_finds_a_journal_that_comes_too_late(
    bank: Path, stepping: Stepping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the first file is replaced before the journal is in its place."""
    whole = transaction._commit

    def late(place: transaction.Place, record: transaction.Record) -> None:
        transaction._put(place, 0, record.files[0].name, gone=False)
        whole(place, record)

    monkeypatch.setattr(transaction, "_commit", late)
    with pytest.raises(AssertionError, match="half of it"):
        test_dying_at_any_step_of_a_compaction_leaves_all_of_it_or_nothing(bank, stepping)


def test_the_check_finds_that_nothing_is_finished(
    bank: Path, stepping: Stepping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a journal that was left is thrown away."""
    from kedge.bank.files import opening, recovery

    def thrown_away(place: transaction.Place) -> recovery.Recovery:
        for name in [*place.staged(), "journal.json"]:
            (place.own.path / name).unlink(missing_ok=True)
        return recovery.NOTHING

    monkeypatch.setattr(opening, "recover", thrown_away)
    with pytest.raises(AssertionError, match="half of it"):
        test_dying_at_any_step_of_a_compaction_leaves_all_of_it_or_nothing(bank, stepping)


def died_behind_the_commit(bank: Path, stepping: Stepping) -> None:
    with held(bank) as files:
        stepping.killed_behind_the_commit()
        with pytest.raises(Killed):
            compact(files)
        stepping.well()
    assert contents_of(bank) == BEFORE


def test_what_was_committed_is_finished_and_reported(bank: Path, stepping: Stepping) -> None:
    died_behind_the_commit(bank, stepping)
    with peek(bank) as looked:
        pending = looked.pending
        assert pending is not None
        assert pending.what == "compaction"
        assert looked.read("activeContext.md") == BEFORE["activeContext.md"]
    with held(bank) as files:
        finished = files.recovered.finished
        assert finished is not None
        assert (finished.what, finished.files, finished.left) == ("compaction", tuple(AFTER), ())
        assert contents_of(bank) == AFTER
        assert files.history()[-1] == finished
    with held(bank) as files, peek(bank) as looked:
        assert files.recovered.finished is None
        assert looked.pending is None


@pytest.mark.parametrize(
    ("edited", "replaced"),
    [
        ("activeContext.archive.md", ()),
        ("activeContext.md", ("activeContext.archive.md", "progress.archive.md")),
        ("progress.md", ("activeContext.archive.md", "progress.archive.md", "activeContext.md")),
    ],
)
def test_what_a_person_edits_before_it_is_finished_stays(
    bank: Path, stepping: Stepping, edited: str, replaced: tuple[str, ...]
) -> None:
    """What stands behind it in the order is left too: entries may stand in both, and none is
    lost."""
    died_behind_the_commit(bank, stepping)
    (bank / edited).write_bytes(b"a person was here\n")
    with held(bank) as files:
        finished = files.recovered.finished
        assert finished is not None
        assert (finished.files, finished.left[0]) == (replaced, edited)
        expected = {name: AFTER[name] if name in replaced else BEFORE[name] for name in BEFORE}
        assert contents_of(bank) == {**expected, edited: b"a person was here\n"}
        assert beside(bank) == []
        stands = [each for each in files.history() if not each.undone and not each.undoes]
        assert [each.files for each in stands] == ([replaced] if replaced else [])
        if replaced:
            files.undo(AT)
    assert contents_of(bank) == {**BEFORE, edited: b"a person was here\n"}


def test_a_link_in_the_place_of_a_file_stays(
    bank: Path, stepping: Stepping, tmp_path: Path
) -> None:
    died_behind_the_commit(bank, stepping)
    (tmp_path / "elsewhere").write_bytes(BEFORE["activeContext.md"] or b"")
    (bank / "activeContext.md").unlink()
    (bank / "activeContext.md").symlink_to(tmp_path / "elsewhere")
    with held(bank) as files:
        assert files.recovered.finished is not None
        assert files.recovered.finished.left == ("activeContext.md", "progress.md")
    assert (bank / "activeContext.md").is_symlink()


def test_what_was_not_committed_is_cleared_away(bank: Path, stepping: Stepping) -> None:
    assert die(bank, stepping, 5, compact, behind=True)
    stepping.well()
    assert beside(bank)
    with held(bank) as files:
        assert files.recovered.removed > 0
        assert beside(bank) == []
    assert [path.name for path in (bank / ".kedge").glob("copy-*")] == []
    assert contents_of(bank) == BEFORE


def test_a_journal_that_nobody_understands_is_not_carried_out(bank: Path) -> None:
    with held(bank):
        pass
    for text, why in (
        (b"{", "cannot be understood"),
        (b'{"number": 1}', "cannot be understood"),
        (
            b'{"number":1,"what":"w","at":"2026-05-04T09:30:00Z","files":[],"version":9}',
            "newer kedge",
        ),
        (
            b'{"number":1,"what":"w","at":"2026-05-04T09:30:00Z",'
            b'"files":[{"name":"../out","before":null,"after":null}]}',
            "plain name",
        ),
    ):
        (bank / ".kedge" / "journal.json").write_bytes(text)
        with pytest.raises(FileRefused, match=why), held(bank):
            pass
    assert contents_of(bank) == BEFORE


@pytest.mark.parametrize("deed", [compact, undo])
def test_who_removes_our_folder_loses_nothing(
    bank: Path, stepping: Stepping, deed: Callable[[Files], None]
) -> None:
    """`git clean -x` between a kill and the next opening: archives went first, and what comes back
    is in its file before it leaves the archive."""
    import shutil

    kept = {b"### old\ngoes\n", b"- done long ago\n"}
    for step in range(40):
        laid_out(bank, BEFORE)
        (bank / "progress.archive.md").unlink(missing_ok=True)
        if deed is undo:
            with held(bank) as files:
                compact(files)
        die(bank, stepping, step, deed, behind=False)
        stepping.well()
        shutil.rmtree(bank / ".kedge")
        now = b"".join(data for data in contents_of(bank).values() if data is not None)
        assert all(text in now for text in kept)


def test_dying_while_old_ones_go_brings_back_nothing_that_was_undone(
    tmp_path: Path, stepping: Stepping, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(100):
        bank = tmp_path / str(step)
        laid_out(bank, BEFORE)
        monkeypatch.setattr(copies, "KEPT", 10)
        with held(bank) as files:
            for _ in range(2):
                compact(files)
                undo(files)
        monkeypatch.setattr(copies, "KEPT", 1)
        died = die(bank, stepping, step, compact, behind=False)
        stepping.well()
        with peek(bank) as looked:
            stands = [each for each in looked.history() if not each.undoes and not each.undone]
        assert len(stands) <= 1
        if not died:
            return
    raise AssertionError("it never ended")


def test_the_journal_says_what_it_is(bank: Path) -> None:
    with held(bank) as files:
        compact(files)
        record = journal.read_record(files.place.own, "transaction-000001.json")
        assert record is not None
        assert journal.read_record(files.place.own, "transaction-000002.json") is None
    assert [file.name for file in record.files] == list(BEFORE)
