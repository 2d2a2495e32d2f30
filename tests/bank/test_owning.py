"""Who may compact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kedge.bank.files import Files, held
from kedge.bank.owning import Lock, _hash, holder, owning, take
from kedge.errors import BadName, BadSettings, BankLocked, FileRefused, NotTheOwner
from kedge.model import Value

FIELDS = {"path_locked", "lock_owner", "lock_ts", "ttl_seconds", "lock_hash", "heartbeat_ts"}


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    with held(tmp_path) as found:
        yield found


def lock_file(files: Files) -> Path:
    return files.path / ".kedge" / "owner.json"


def test_the_lock_file_has_the_fields_of_the_seed_and_goes_in_the_end(
    files: Files, clock: Clock
) -> None:
    with owning(files, "compactor", clock=clock) as own:
        told = json.loads(lock_file(files).read_text("utf-8"))
        assert set(told) == FIELDS
        assert (told["lock_owner"], told["ttl_seconds"]) == ("compactor", 600)
        assert told["path_locked"] == str(files.path.resolve())
        assert len(told["lock_hash"]) == 64
        assert holder(files) == own.lock
        assert lock_file(files).stat().st_mode & 0o777 == 0o600
    assert not lock_file(files).exists()
    assert holder(files) is None


def test_the_lock_goes_also_when_the_work_fails(files: Files) -> None:
    with pytest.raises(ZeroDivisionError), owning(files, "compactor"):
        raise ZeroDivisionError
    assert not lock_file(files).exists()


def test_only_the_owner_of_the_settings_may(files: Files) -> None:
    """R35: a wrong writer role is refused."""
    for agent in ("writer", "", "Compactor"):
        with pytest.raises(NotTheOwner, match="only 'compactor' may"):
            take(files, agent, owner="compactor")
    assert not lock_file(files).exists()
    with owning(files, "compactor", owner="compactor"):
        pass


def test_a_live_lock_of_another_agent_keeps_out(files: Files, clock: Clock) -> None:
    take(files, "first", clock=clock)
    clock.pass_(599)
    with pytest.raises(BankLocked, match=r"'first' holds .* until 2026-05-04T09:40:00"):
        take(files, "second", clock=clock)
    assert holder(files) is not None
    assert holder(files).lock_owner == "first"  # type: ignore[union-attr]


def test_a_stale_lock_is_taken_over_after_its_time_and_not_before(
    files: Files, clock: Clock
) -> None:
    first = take(files, "first", ttl=30, clock=clock)
    clock.pass_(29)
    first.heartbeat()
    clock.pass_(29)
    with pytest.raises(BankLocked):
        take(files, "second", clock=clock)
    clock.pass_(1)
    take(files, "second", clock=clock)
    with pytest.raises(BankLocked, match="'second' holds"):
        first.heartbeat()
    first.release()
    assert lock_file(files).exists()


def test_the_same_agent_may_take_its_own_again(files: Files, clock: Clock) -> None:
    take(files, "first", clock=clock)
    clock.pass_(5)
    with owning(files, "first", clock=clock):
        pass
    assert not lock_file(files).exists()


def test_a_lock_that_somebody_removed_comes_back_with_the_heartbeat(
    files: Files, clock: Clock
) -> None:
    own = take(files, "first", clock=clock)
    lock_file(files).unlink()
    own.heartbeat()
    assert holder(files) == own.lock
    lock_file(files).unlink()
    own.release()


def test_a_clock_that_goes_back_frees_no_lock(files: Files, clock: Clock) -> None:
    own = take(files, "first", ttl=600, clock=clock)
    right = clock.now
    clock.pass_(-86_400)
    own.heartbeat()
    with pytest.raises(BankLocked):
        take(files, "second", clock=clock)
    take(files, "first", ttl=600, clock=clock)
    clock.now = right + timedelta(seconds=599)
    with pytest.raises(BankLocked):
        take(files, "second", clock=clock)
    clock.pass_(1)
    take(files, "second", clock=clock)


def test_the_check_finds_a_heartbeat_that_follows_the_clock_back(
    files: Files, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kedge.bank import owning as module

    monkeypatch.setattr(module, "max", lambda now, last: now, raising=False)
    with pytest.raises(pytest.fail.Exception):
        test_a_clock_that_goes_back_frees_no_lock(files, clock)


def signed(**fields: object) -> bytes:
    import msgspec

    told = {
        "path_locked": "bank",
        "lock_owner": "first",
        "lock_ts": "2026-05-04T09:30:00Z",
        "ttl_seconds": 600,
        "heartbeat_ts": "2026-05-04T09:30:00Z",
        **fields,
    }
    lock = msgspec.convert(told, Lock, strict=False)
    return msgspec.json.encode(msgspec.structs.replace(lock, lock_hash=_hash(lock)))


def test_a_lock_that_was_signed_by_hand_holds_like_any(files: Files, clock: Clock) -> None:
    lock_file(files).write_bytes(signed())
    with pytest.raises(BankLocked, match="'first'"):
        take(files, "second", clock=clock)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"lock_owner": "first"}',
        signed().replace(b"first", b"other"),
        signed().replace(b'"ttl_seconds":600', b'"ttl_seconds":3000'),
        signed(ttl_seconds=10**9),
        signed(ttl_seconds=-1),
        signed(heartbeat_ts="9999-12-31T23:59:59Z"),
        signed(heartbeat_ts="2026-05-04T09:30:00"),
        signed(lock_ts="2026-05-04T09:30:00"),
    ],
)
def test_a_lock_file_that_is_none_is_refused_and_left(
    files: Files, clock: Clock, data: bytes
) -> None:
    """Nobody knows whose it is: a person has to look."""
    lock_file(files).write_bytes(data)
    with pytest.raises(FileRefused, match="remove it where no agent compacts"):
        take(files, "second", clock=clock)
    assert lock_file(files).read_bytes() == data


def test_a_lock_file_that_is_a_link_is_refused(files: Files, tmp_path: Path) -> None:
    lock_file(files).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused, match="symbolic link"):
        take(files, "second")


def test_a_lock_needs_a_name_and_a_time_that_can_be(files: Files) -> None:
    with pytest.raises(BadName, match="needs a name"):
        take(files, "")
    for seconds in (29, 3_601):
        with pytest.raises(BadSettings, match="choose 30 to 3,600"):
            take(files, "first", ttl=seconds)
    assert not lock_file(files).exists()


def test_a_lock_is_a_value() -> None:
    assert issubclass(Lock, Value)


def test_a_process_that_died_while_it_wrote_its_lock_leaves_nothing(tmp_path: Path) -> None:
    with held(tmp_path):
        pass
    (tmp_path / ".kedge" / ".owner.json.0123456789abcdef").write_bytes(b"half")
    with held(tmp_path) as files:
        assert files.recovered.removed == 1
    assert not list((tmp_path / ".kedge").glob(".owner*"))
