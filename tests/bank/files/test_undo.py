"""A transaction taken back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.bank.files import Files, copies, held
from kedge.bank.files.merging import merged
from kedge.bank.values import Change
from kedge.errors import BankChanged, FileRefused, MissingExtra, NothingToUndo
from tests.bank.files.stepping import AFTER, AT, BEFORE, CHANGES, contents_of

ACTIVE = "activeContext.md"


def written(bank: Path, name: str, before: bytes, after: bytes) -> None:
    path = bank / name
    data = path.read_bytes()
    assert before in data
    path.write_bytes(data.replace(before, after))


def test_an_undo_brings_back_every_byte(bank: Path) -> None:
    (bank / "progress.md").chmod(0o604)
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        undone = files.undo(AT)
        assert contents_of(bank) == BEFORE
        assert (undone.transaction.number, undone.merged) == (1, ())
        first, second = files.history()
    assert (first.undone, second.undoes, second.undone) == (True, 1, False)
    assert second.what == "undo: compaction"
    assert (bank / "progress.md").stat().st_mode & 0o777 == 0o604


def test_undo_goes_back_one_by_one_and_then_says_that_there_is_no_more(bank: Path) -> None:
    states = [contents_of(bank)]
    with held(bank) as files:
        for number in range(3):
            data = files.read(ACTIVE) or b""
            change = Change(name=ACTIVE, before=data, after=data + b"%d\n" % number)
            files.commit([change], f"compaction {number}", AT, undoable=True)
            states.append(contents_of(bank))
        for state in states[-2::-1]:
            files.undo(AT)
            assert contents_of(bank) == state
        with pytest.raises(NothingToUndo, match="kedge bank history"):
            files.undo(AT)
    assert contents_of(bank) == BEFORE


def test_later_entries_and_edits_stay(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, ACTIVE, b"# Active\n\n", b"# Active\n\n### newest\nadded\n\n")
        undone = files.undo(AT)
    expected = (BEFORE[ACTIVE] or b"").replace(
        b"# Active\n\n", b"# Active\n\n### newest\nadded\n\n"
    )
    assert contents_of(bank) == {**BEFORE, ACTIVE: expected}
    assert undone.merged == (ACTIVE,)


def test_an_archive_that_was_made_and_then_annotated_keeps_the_note(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, "progress.archive.md", b"# Archive\n", b"# Archive\n\na note\n")
        with pytest.raises(BankChanged):
            files.undo(AT)
        assert contents_of(bank)[ACTIVE] == AFTER[ACTIVE]
        (bank / "progress.archive.md").write_bytes(AFTER["progress.archive.md"] or b"")
        files.undo(AT)
    assert contents_of(bank) == BEFORE


def test_a_conflict_refuses_and_changes_nothing(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, ACTIVE, b"reference\n", b"reference, and a person's remark\n")
        now = contents_of(bank)
        with pytest.raises(BankChanged, match="nothing was undone"):
            files.undo(AT)
        assert contents_of(bank) == now
        assert not files.history()[-1].undone


@pytest.mark.parametrize("name", [ACTIVE, "activeContext.archive.md"])
def test_a_file_that_was_removed_since_refuses(bank: Path, name: str) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        (bank / name).unlink()
        with pytest.raises(BankChanged, match="removed since"):
            files.undo(AT)


def test_a_file_that_somebody_put_back_already_is_no_conflict(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        for name, data in BEFORE.items():
            (bank / name).write_bytes(data) if data is not None else (bank / name).unlink()
        files.undo(AT)
        assert contents_of(bank) == BEFORE
        with pytest.raises(NothingToUndo):
            files.undo(AT)


def test_a_copy_that_is_damaged_or_gone_refuses(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        for damage in (b"not what it was", None):
            for path in (bank / ".kedge").glob("copy-*"):
                path.write_bytes(damage) if damage is not None else path.unlink()
            with pytest.raises(FileRefused, match="cannot be undone"):
                files.undo(AT)
    assert contents_of(bank) == AFTER


def test_merging_needs_its_package_and_says_which(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "merge3", None)
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, ACTIVE, b"# Active\n", b"# Active, and more\n")
        with pytest.raises(MissingExtra, match=r"kedge\[bank\]"):
            files.undo(AT)
        (bank / ACTIVE).write_bytes(AFTER[ACTIVE] or b"")
        files.undo(AT)
    assert contents_of(bank) == BEFORE


def grown(files: Files, times: int, data: bytes = b"%d\n") -> None:
    for number in range(times):
        before = files.read("grown.md")
        after = (before or b"") + (data % number if b"%d" in data else data)
        files.commit([Change(name="grown.md", before=before, after=after)], "c", AT, undoable=True)


def test_old_copies_go_and_newer_ones_still_undo(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "KEPT", 5)
    with held(bank) as files:
        grown(files, 12)
        assert [each.number for each in files.history()] == [8, 9, 10, 11, 12]
        assert len(list((bank / ".kedge").glob("copy-*"))) == 6
        files.undo(AT)
        files.undo(AT)
        assert files.read("grown.md") == b"".join(b"%d\n" % n for n in range(10))
        numbers = {each.number: each.undone for each in files.history()}
    assert numbers == {10: False, 11: True, 12: True, 13: False, 14: False}


def test_copies_do_not_fill_the_project_but_the_newest_stays(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from random import Random

    monkeypatch.setattr(copies, "KEPT_BYTES", 1_000)
    with held(bank) as files:
        grown(files, 3, Random(1).randbytes(2_000).replace(b"%", b"x"))
        assert [each.number for each in files.history()] == [3]
        files.undo(AT)
        assert len(files.read("grown.md") or b"") == 4_000


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d"]), max_size=12).map(b"".join)


@given(LINES, LINES, LINES)
@settings(max_examples=200, deadline=None)
def test_a_merge_is_what_one_side_did_where_the_other_did_nothing(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    assert merged(base, base, theirs) == theirs
    assert merged(base, ours, base) == ours
    assert merged(base, ours, ours) == ours


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
@settings(max_examples=100, deadline=None)
def test_changes_in_two_places_both_stay(place: int, gone: int, removes: bool) -> None:
    """Lines that are added or removed far from what comes back."""
    lines = [b"line %d\n" % n for n in range(41)]
    before = b"".join(lines)
    without = b"".join([*lines[:gone], *lines[gone + 1 :]])
    now = [line for n, line in enumerate(lines) if n != gone]
    if removes and place != gone and abs(place - gone) > 1:
        now.remove(lines[place])
        wanted = before.replace(lines[place], b"")
    elif abs(place - gone) > 1:
        now.insert(now.index(lines[place]), b"added\n")
        wanted = before.replace(lines[place], b"added\n" + lines[place])
    else:
        return
    assert merged(without, b"".join(now), before) == wanted
