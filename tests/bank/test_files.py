"""What is on disk: killed processes, crowds, editors, undo and the owner's lease."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from kedgeline.bank import Bank, Limits, NewEntry
from kedgeline.bank.bank import Files
from kedgeline.bank.entries import FileChange
from kedgeline.errors import BankChanged, FileRefused, NothingToUndo
from tests.bank.banks import NOW, Kept, active, active_entry, milestone, progress

SMALL = Limits(entries=3, least_entries=1)
NAME, ARCHIVE = "activeContext.md", "activeContext.archive.md"


class Killed(BaseException):
    """As a signal does: nothing behind it runs but what gives back the lock."""


def entry(number: int) -> NewEntry:
    return NewEntry(agent="a", at=NOW + timedelta(minutes=number), text=f"Added {number}.")


def everything(bank: Kept) -> str:
    bank.look()
    return "".join(data.decode() for data in bank.files.values())


@pytest.mark.parametrize("step", range(1, 7))
def test_a_process_killed_at_any_write_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The archive is there before the file is replaced; a duplicate is known by its hash."""
    rows = [milestone(n, days=90) for n in range(14)]
    bank = Kept(tmp_path / "b", SMALL, activeContext_md=active(8), progress_md=progress(rows))
    texts = [active_entry(n).strip() for n in range(8)] + [row.strip() for row in rows]
    writes, real = [], Files.write

    def dying(self: Files, change: FileChange) -> bool:
        writes.append(change.name)
        if len(writes) == step:
            raise Killed
        return real(self, change)

    monkeypatch.setattr(Files, "write", dying)
    died = False
    try:
        bank.compact()
    except Killed:
        died = True
    monkeypatch.undo()
    assert all(text in everything(bank) for text in texts)
    bank.compact()
    assert all(everything(bank).count(text) == 1 for text in texts)
    assert bank.verify().sound
    assert died == (len(writes) >= step)
    bank.undo()
    assert bank.text(NAME) == active(8)
    assert bank.text("progress.md") == progress(rows)


def test_an_undo_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = Kept(tmp_path / "b", SMALL, activeContext_md=active(8))
    bank.compact()
    real = Files.write

    def dying(self: Files, change: FileChange) -> bool:
        if change.name == ARCHIVE:
            raise Killed
        return real(self, change)

    monkeypatch.setattr(Files, "write", dying)
    with pytest.raises(Killed):
        bank.undo()
    monkeypatch.undo()
    bank.undo()
    assert bank.text(NAME) == active(8)
    assert bank.verify().sound
    with pytest.raises(NothingToUndo):
        bank.undo()


def test_rows_come_back_where_their_line_stood(tmp_path: Path) -> None:
    """A table leaves one line for all rows that went."""
    states = ["completed", "in_progress"] * 12
    rows = [milestone(n, days=90, status=state) for n, state in enumerate(states)]
    bank = Kept(tmp_path / "b", Limits(milestones=2), progress_md=progress(rows))
    bank.compact()
    assert bank.text("progress.md").count("Archived: ") == 1
    kept = bank.text("progress.md")
    bank.put(**{"progress.md": kept.replace("| TASK-003 |", "| TASK-003b |")})
    bank.undo()
    lines = set(bank.text("progress.md").splitlines())
    assert {row.strip() for row in rows if "TASK-003" not in row} <= lines


def test_undo_says_which_line_is_gone_and_changes_nothing(tmp_path: Path) -> None:
    bank = Kept(tmp_path / "b", SMALL, activeContext_md=active(8))
    bank.compact()
    kept = [one for one in bank.text(NAME).splitlines(True) if not one.startswith("> Archived")]
    bank.put(**{NAME: "".join(kept)})
    before = dict(bank.files)
    with pytest.raises(BankChanged, match="nothing was undone"):
        bank.undo()
    bank.look()
    assert bank.files == before


def test_a_file_that_an_editor_changed_meanwhile_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Kept(tmp_path / "b", SMALL, activeContext_md=active(8))
    real, saved = Files.write, []

    def slow(self: Files, change: FileChange) -> bool:
        if change.name == NAME and not saved:
            saved.append(1)
            path = bank.folder / NAME
            path.write_text(path.read_text() + "A person's words.\n")
        return real(self, change)

    monkeypatch.setattr(Files, "write", slow)
    bank.compact()
    assert "A person's words." in everything(bank)
    assert bank.verify().sound


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    bank = Kept(tmp_path / "b", activeContext_md=active(2))
    left = bank.folder / f".{NAME}.0123456789abcdef"
    left.write_text("half")
    bank.add(NAME, entry(1))
    assert not left.exists()


def test_a_linked_folder_of_ours_is_refused(tmp_path: Path) -> None:
    bank = Kept(tmp_path / "b", activeContext_md=active(2))
    (tmp_path / "elsewhere").mkdir()
    (bank.folder / ".kedgeline").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused, match="link"):
        bank.add(NAME, entry(1))


WORK = """
import sys
from datetime import UTC, datetime
from kedgeline.bank import Bank, Limits, NewEntry
bank = Bank(sys.argv[1], limits=Limits(entries=5, least_entries=2))
for n in range(int(sys.argv[3])):
    word = f"{sys.argv[2]}-{n}."
    bank.add("activeContext", NewEntry(agent="a", at=datetime.now(UTC), text=word))
    bank.add("decisionLog", NewEntry(agent="a", at=datetime.now(UTC), title=word))
    print(word, flush=True)
    if n % 3 == 2:
        bank.compact("a")
    if n % 7 == 6:
        bank.undo("a")
"""


def started(folder: Path, name: str, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, str(folder), name, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(folder: Path, acknowledged: list[str]) -> None:
    """All that was acknowledged is in a file or an archive, and nothing is damaged."""
    bank = Bank(folder)
    texts = {path.name: path.read_text() for path in folder.iterdir() if path.suffix == ".md"}
    moved = texts[NAME] + texts.get(ARCHIVE, "")
    assert [word for word in acknowledged if f"{word}\n" not in moved] == []
    assert [word for word in acknowledged if word not in texts["decisionLog.md"]] == []
    assert [str(one) for one in bank.verify().found if one.gravity == "violation"] == []


@pytest.mark.parametrize(
    ("agents", "rounds"), [(3, 4), pytest.param(12, 25, marks=pytest.mark.torture)]
)
def test_a_crowd_loses_nothing(tmp_path: Path, agents: int, rounds: int) -> None:
    Bank(tmp_path / "b").begin()
    crowd = [started(tmp_path / "b", f"agent{n}", rounds) for n in range(agents)]
    told = [process.communicate(timeout=600)[0].split() for process in crowd]
    assert [len(words) for words in told] == [rounds] * agents
    check(tmp_path / "b", [word for words in told for word in words])


@pytest.mark.parametrize("kills", [2, pytest.param(60, marks=pytest.mark.torture)])
def test_a_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path, kills: int) -> None:
    Bank(tmp_path / "b").begin()
    chance, words = random.Random(7), []
    for n in range(kills):
        process = started(tmp_path / "b", f"kill{n}", 400)
        assert process.stdout is not None
        words.append(process.stdout.readline().strip())
        time.sleep(chance.uniform(0, 0.4))
        os.kill(process.pid, signal.SIGKILL)
        words += process.communicate()[0].split()
        check(tmp_path / "b", [word for word in words if word.endswith(".")])
