"""One process at a time."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from kedge.bank.files import held, locking, peek
from kedge.bank.files.queueing import Turn
from kedge.bank.values import Change
from kedge.errors import FileRefused, StoreBusy
from tests.bank.files.stepping import AT, BEFORE
from tests.torture.workers import forked, lines_of

THREADS, EACH = 4, 10


def test_who_waits_too_long_is_told_so(bank: Path) -> None:
    began = time.monotonic()
    told = r"0\.1 seconds; nothing was written"
    with held(bank), pytest.raises(StoreBusy, match=told), held(bank, wait=0.1):
        pass
    assert 0.1 <= time.monotonic() - began < 5


def test_a_bank_is_free_again_when_it_was_let_go(bank: Path) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), held(bank, wait=0):
            raise ZeroDivisionError


def test_a_killed_process_holds_nothing(bank: Path) -> None:
    def worker(pipe: int) -> None:
        with held(bank):
            os.write(pipe, b"held\n")
            time.sleep(60)

    process, pipe = forked(worker)
    assert lines_of(pipe, 1) == ["held"]
    with pytest.raises(StoreBusy), held(bank, wait=0):
        pass
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with held(bank, wait=0) as files:
        assert files.names()
    lines_of(pipe)


def test_a_child_that_lives_on_does_not_keep_the_lock(bank: Path) -> None:
    """A worker that is forked while the bank is held has its lock file open too."""
    with held(bank):
        process, pipe = forked(lambda pipe: time.sleep(60))
    try:
        with held(bank, wait=0) as files:
            assert files.names()
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        lines_of(pipe)


def test_who_removes_our_folder_does_not_let_two_in(bank: Path) -> None:
    order: list[str] = []
    with held(bank):
        waiting = threading.Thread(target=lambda: wait_for(bank, order))
        waiting.start()
        time.sleep(0.05)
        shutil.rmtree(bank / ".kedge")
    waiting.join()
    assert order == ["held"]
    assert (bank / ".kedge" / "lock").exists()


def wait_for(bank: Path, order: list[str]) -> None:
    with held(bank) as files:
        found = os.stat(bank / ".kedge")
        assert os.path.samestat(found, os.fstat(files.place.own.descriptor))
        order.append("held")


def test_a_lock_that_is_a_link_is_refused(bank: Path, tmp_path: Path) -> None:
    (bank / ".kedge").mkdir(mode=0o700)
    (bank / ".kedge" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused, match="symbolic link"), held(bank):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_system_without_locks_is_told_clearly(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def without(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    with pytest.raises(FileRefused, match="no locks available"), held(bank):
        pass


def wait_in_line(bank: Path, waiters: int) -> list[int]:
    """The order in which threads hold the bank that came one after the other."""
    order: list[int] = []

    def wait(number: int) -> None:
        with held(bank):
            order.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(waiters)]
    with held(bank):
        for thread in threads:
            thread.start()
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    return order


def test_who_came_first_goes_first(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "IMPATIENT", 0)
    assert wait_in_line(bank, 10) == list(range(10))


def test_the_check_finds_a_queue_in_which_everybody_is_first(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Turn, "is_first", lambda self: True)
    orders = [wait_in_line(bank, 10) for _ in range(3)]
    assert any(order != list(range(10)) for order in orders)


def test_one_who_was_stopped_in_the_queue_does_not_stop_the_others(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(bank):
        pass
    stopped = os.open(bank / ".kedge" / "queue", os.O_RDWR)
    try:
        turn = Turn(stopped)
        assert turn.is_first()
        monkeypatch.setattr(locking, "IMPATIENT", 0)
        with pytest.raises(StoreBusy), held(bank, wait=0.1):
            pass
        monkeypatch.setattr(locking, "IMPATIENT", 0.5)
        with held(bank, wait=10):
            pass
        turn.leave()
        with held(bank, wait=0):
            pass
    finally:
        os.close(stopped)


def appended(bank: Path, writer: int) -> None:
    for number in range(EACH):
        with held(bank) as files:
            data = files.read("log.md")
            time.sleep(0.001)
            line = b"%d/%d\n" % (writer, number)
            files.commit([Change(name="log.md", before=data, after=(data or b"") + line)], "", AT)


def all_there(bank: Path) -> None:
    threads = [threading.Thread(target=appended, args=(bank, writer)) for writer in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = bank / "log.md"
    lines = log.read_bytes().splitlines() if log.exists() else []
    assert len(lines) == THREADS * EACH
    for writer in range(THREADS):
        mine = [line for line in lines if line.startswith(b"%d/" % writer)]
        assert mine == [b"%d/%d" % (writer, number) for number in range(EACH)]


def test_threads_wait_for_each_other(bank: Path) -> None:
    all_there(bank)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_check_finds_a_lock_that_is_not_taken(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "_taken", lambda *given: True)
    with pytest.raises(AssertionError):
        all_there(bank)


def test_looking_waits_for_nobody_and_writes_nothing(bank: Path) -> None:
    with peek(bank) as looked:
        assert looked.names() == sorted(name for name, data in BEFORE.items() if data)
        assert looked.read("progress.md") == BEFORE["progress.md"]
        assert looked.history() == []
        assert looked.pending is None
    assert not (bank / ".kedge").exists()
    with held(bank), peek(bank) as looked:
        assert looked.path == bank
        assert looked.read("no.md") is None


def test_hidden_files_folders_and_links_are_no_bank_files(bank: Path) -> None:
    (bank / ".hidden.md").write_bytes(b"")
    (bank / "folder.md").mkdir()
    (bank / "link.md").symlink_to(bank / "progress.md")
    (bank / "täglich, mit Leerzeichen.md").write_bytes(b"")
    with peek(bank) as looked:
        assert "täglich, mit Leerzeichen.md" in looked.names()
        assert not {".hidden.md", "folder.md", "link.md"} & set(looked.names())
