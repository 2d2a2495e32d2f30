"""A transaction taken back."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.bank.files import Files, copies, held
from kedge.bank.files.merging import Missing, taken_back
from kedge.bank.values import Change
from kedge.errors import BankChanged, FileRefused, NothingToUndo
from tests.bank.files.stepping import AFTER, AT, BEFORE, CHANGES, contents_of

ACTIVE = "activeContext.md"
LONGEST = 10.0
"""Seconds of one processor; seen: 0.5."""


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
        written(bank, "progress.archive.md", b"# Archive\n", b"# Archive\na note\n")
        undone = files.undo(AT)
    assert contents_of(bank) == {**BEFORE, "progress.archive.md": b"a note\n"}
    assert undone.merged == ("progress.archive.md",)


def test_a_conflict_refuses_and_changes_nothing(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, ACTIVE, b"reference\n", b"reference, and a person's remark\n")
        now = contents_of(bank)
        with pytest.raises(BankChanged, match=r"undone; put this line back .*: reference"):
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


def test_a_changed_reference_refuses_with_the_line_that_is_missing(bank: Path) -> None:
    with held(bank) as files:
        files.commit(CHANGES, "compaction", AT, undoable=True)
        written(bank, ACTIVE, b"reference\n", b"another reference\n")
        with pytest.raises(BankChanged, match=r"put this line back .*reference"):
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


ROWS = b"".join(b"| T-%02d | done |\n" % n for n in range(20, 0, -1))
HEAD = b"| id | status |\n|---|---|\n"
REFERENCE = b"| Archived: 10 entries |  |\n"
KEPT = ROWS[: len(ROWS) // 2]


@pytest.mark.parametrize("new", [b"| T-21 | open |\n", b"\n\nA person's words\n", b"no newline"])
@pytest.mark.parametrize("where", [HEAD, KEPT, KEPT[-17:], REFERENCE])
def test_what_was_written_beside_a_reference_stays_and_all_comes_back(
    where: bytes, new: bytes
) -> None:
    """A row that is added to a table stands directly behind the reference."""
    if new == b"no newline" and where != REFERENCE:
        return
    before, after = HEAD + ROWS, HEAD + KEPT + REFERENCE
    now = after.replace(where, where + new)
    shown = ROWS[len(KEPT) :] if where == REFERENCE else where
    assert taken_back(before, after, now) == before.replace(shown, shown + new)


def test_rows_come_back_into_their_gaps_between_rows_that_were_added_and_edited() -> None:
    rows = [b"| T-%d | %s |\n" % (n, b"open" if n % 2 else b"done") for n in range(12)]
    before = HEAD + b"".join(rows)
    after = HEAD + REFERENCE + b"".join(rows[1::2])
    now = after.replace(rows[5], rows[5] + b"| T-99 | new |\n").replace(b"T-9 | open", b"T-9 | x")
    found = taken_back(before, after, now)
    assert isinstance(found, bytes)
    assert sorted(found.splitlines()) == sorted(
        [*before.replace(b"T-9 | open", b"T-9 | x").splitlines(), b"| T-99 | new |"]
    )
    assert found.replace(b"| T-99 | new |\n", b"") == before.replace(b"T-9 | open", b"T-9 | x")


def test_a_last_line_without_an_end_gets_one_where_it_is_no_longer_the_last() -> None:
    before, after = HEAD + ROWS[:-1], HEAD + KEPT + REFERENCE
    assert taken_back(before, after, after) == before
    now = after + b"| T-21 | open |\n"
    assert taken_back(before, after, now) == HEAD + ROWS + b"| T-21 | open |\n"


def test_two_equal_references_each_bring_back_what_they_stand_for() -> None:
    row = b"same words\n"
    before = b"n3\n" + row + b"n2\n" + row + b"n1\n"
    after = before.replace(row, REFERENCE)
    assert taken_back(before, after, b"n4\n" + after + b"n0\n") == b"n4\n" + before + b"n0\n"


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_all_lines_come_back_and_all_that_were_written_since_stay(data: st.DataObject) -> None:
    """Lines that are alike, rows that go from anywhere, words put in anywhere."""
    alike = st.sampled_from([b"a\n", b"b\n", b"\n", b"  sub\n"])
    old = data.draw(st.lists(alike, min_size=1, max_size=12))
    old = [line if n % 3 else b"row %d\n" % n for n, line in enumerate(old)]
    goes = data.draw(st.sets(st.integers(0, len(old) - 1), min_size=1))
    new = [REFERENCE if n == min(goes) else b"" if n in goes else row for n, row in enumerate(old)]
    now = [line for line in new if line]
    for n in range(data.draw(st.integers(0, 4))):
        now.insert(data.draw(st.integers(0, len(now))), b"since %d\n" % n)
    found = taken_back(b"".join(old), b"".join(new), b"".join(now))
    assert isinstance(found, bytes)
    kept = [line for line in found.splitlines(keepends=True) if not line.startswith(b"since")]
    assert kept == old
    since = [line for line in now if line.startswith(b"since")]
    assert [line for line in found.splitlines(keepends=True) if line.startswith(b"since")] == since


@pytest.mark.torture
def test_many_gaps_are_filled_in_one_pass() -> None:
    """Where every line is held against every other this takes minutes."""
    rows = [b"| T-%d | %s |\n" % (n, b"open" if n % 2 else b"done") for n in range(60_000)]
    before = HEAD + b"".join(rows)
    after = HEAD + REFERENCE + b"".join(rows[1::2])
    began = process_time()
    assert taken_back(before, after, after + b"new\n") == before + b"new\n"
    assert process_time() - began < LONGEST


def test_a_reference_that_was_changed_is_named() -> None:
    before, after = HEAD + ROWS, HEAD + KEPT + REFERENCE
    assert taken_back(before, after, after.replace(b"10", b"11")) == Missing(REFERENCE)


@given(LINES, LINES)
@settings(max_examples=200, deadline=None)
def test_where_nothing_was_written_since_every_byte_comes_back(before: bytes, after: bytes) -> None:
    assert taken_back(before, after, after) == before
    assert taken_back(before, before, after) == after


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
    assert taken_back(before, without, b"".join(now)) == wanted
