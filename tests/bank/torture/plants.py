"""Bugs that the checks must find, each by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from kedge.bank.files import disk, locking, opening, recovery, transaction
from kedge.bank.files.layout import Place


def no_lock() -> None:
    locking._taken = lambda *given: True


def late_journal() -> None:
    """The first file is replaced before the journal is in its place."""
    whole = transaction._commit

    def late(place: Place, record: transaction.Record) -> None:
        transaction._put(place, 0, record.files[0].name, gone=record.files[0].after is None)
        whole(place, record)

    transaction._commit = late


def no_recovery() -> None:
    """What a killed process left is thrown away."""

    def thrown_away(place: Place) -> recovery.Recovery:
        for name in [*place.staged(), "journal.json"]:
            (place.own.path / name).unlink(missing_ok=True)
        return recovery.NOTHING

    opening.recover = thrown_away


def in_place() -> None:
    """A file is written where it lies, instead of being replaced."""

    def written(source: Any, name: str, target: Any, new_name: str) -> None:
        data = (source.path / name).read_bytes()
        half = len(data) // 2
        with (target.path / new_name).open("wb", buffering=0) as file:
            file.write(data[:half])
            file.write(data[half:])
        os.unlink(name, dir_fd=source.descriptor)

    disk.rename = written


def unsynced_data() -> None:
    """What is written is not synced before its name counts."""
    whole = disk.write_new

    def unsynced(*given: Any, **named: Any) -> None:
        system = disk.os
        disk.os = _Without(system, "fsync")  # type: ignore[assignment, attr-defined]
        try:
            whole(*given, **named)
        finally:
            disk.os = system  # type: ignore[attr-defined]

    disk.write_new = unsynced


def unsynced_names() -> None:
    """Folders are not synced."""
    disk.sync = lambda folder: None


def swallowed() -> None:
    """An error of the disk is not told."""
    whole = disk.write_new

    def quiet(*given: Any, **named: Any) -> None:
        try:
            whole(*given, **named)
        except OSError:
            return

    disk.write_new = quiet


class _Without:
    """A module without one of its functions."""

    def __init__(self, module: Any, name: str) -> None:
        self._module, self._name = module, name

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            return lambda *_: None
        return getattr(self._module, name)


PLANTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "no lock": no_lock,
    "late journal": late_journal,
    "no recovery": no_recovery,
    "in place": in_place,
    "unsynced data": unsynced_data,
    "unsynced names": unsynced_names,
    "swallowed": swallowed,
}
