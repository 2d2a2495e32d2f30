"""A write-ahead log only where it is safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.store.sqlite import open_sqlite
from kedgeline.store.sqlite_connection import Connections, is_networked, log_is_safe, wanted_journal
from kedgeline.store.values import Durability

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann rw - nfs4 server:/home rw
31 30 0:27 / /home/ann/local rw - ext4 /dev/vdb rw
32 22 0:28 / /mnt/with\040blank rw - virtiofs share rw
33 22 0:29 / /mnt/cloud rw - fuse.sshfs me@host rw
34 22 0:30 / /mnt/stick rw - fuseblk /dev/sdb rw
35 22 0:31 / /mnt/twice rw - ext4 /dev/vdc rw
36 22 0:32 / /mnt/twice rw master:1 propagate_from:2 - cifs //host/share rw
37 22 0:33 / /mnt/nine rw - 9p share rw
a line that says nothing
""".splitlines()


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 7, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 9), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 1), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((3, 54, 1), True),
        ((4, 0, 0), True),
    ],
)
def test_only_fixed_versions_may_write_ahead(version: tuple[int, int, int], safe: bool) -> None:
    """ruflo#2736, hermes#69784, codex#27718: the reset of the log lost what was written."""
    assert log_is_safe(version) is safe
    if not safe:
        assert wanted_journal(Path("/"), version) == "truncate"


@pytest.mark.parametrize(
    ("path", "networked"),
    [
        ("/var/lib/kedgeline", False),
        ("/home/ann/.kedgeline", True),
        ("/home/ann", True),
        ("/home/anna/.kedgeline", False),
        ("/home/ann/local/kedgeline", False),
        ("/mnt/with blank/kedgeline", True),
        ("/mnt/cloud/kedgeline", True),
        ("/mnt/stick/kedgeline", False),
        ("/mnt/twice/kedgeline", True),
        ("/mnt/nine/kedgeline", True),
        ("/mnt", False),
    ],
)
def test_the_mount_that_is_seen_decides(path: str, networked: bool) -> None:
    """opencode#14970, hermes#110848, claude-mem#3179: databases broken within a minute."""
    assert is_networked(Path(path), MOUNTS) is networked


def synchronous(place: Path, durability: Durability) -> tuple[str, int]:
    store = open_sqlite(str(place), durability=durability)
    level = store._connections.current().pragma("synchronous")
    real = store._connections.current().pragma("journal_mode")
    assert real == store.journal
    store.close()
    return real, level


def test_durable_waits_for_the_disk_and_fast_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    normal, full, extra = 1, 2, 3
    assert synchronous(tmp_path / "a", "durable") == ("wal", full)
    assert synchronous(tmp_path / "a", "fast") == ("wal", normal)
    monkeypatch.setattr("kedgeline.store.sqlite_connection.wanted_journal", lambda *_: "truncate")
    assert synchronous(tmp_path / "b", "durable") == ("truncate", extra)
    assert synchronous(tmp_path / "b", "fast") == ("truncate", full)  # or a power cut may damage it
    assert synchronous(tmp_path / "a", "durable") == ("truncate", extra)  # no longer safe there


def test_a_refused_log_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def pragma(self, name: str, *value: object) -> object:
            if (name, *value) == ("journal_mode", "wal"):
                return "delete"
            return self.inner.pragma(name, *value)  # type: ignore[attr-defined]

    prepare = Connections._prepare
    monkeypatch.setattr(
        Connections,
        "_prepare",
        lambda self, database, path: prepare(self, Refusing(database), path),  # type: ignore[arg-type]
    )
    store = open_sqlite(str(tmp_path / "store"))
    assert store.journal == "truncate"
    assert store._connections.current().pragma("journal_mode") == "truncate"
    store.close()
