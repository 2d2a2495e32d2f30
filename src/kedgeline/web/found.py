"""The sessions that the viewer shows: those of the store, and those that agents keep on this
machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from kedgeline.errors import KedgelineError, NoSuchSession
from kedgeline.files import checked
from kedgeline.formats import format_names
from kedgeline.pipeline.read import read, stream
from kedgeline.redact import Redactor, secrets_in
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.settings import Settings, load_settings, store_place, surroundings
from kedgeline.store import Store
from kedgeline.tokens import counter_named
from kedgeline.web.session import Page, ShownSession, call_line, turn_shown, without_markup

AGENTS: tuple[tuple[str, str, str, str], ...] = (
    ("claude-code", "CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl"),
    ("codex", "CODEX_HOME", ".codex", "sessions/*/*/*/*.jsonl"),
    ("gemini-cli", "GEMINI_CLI_HOME", ".gemini", "tmp/*/chats/*.json*"),
    ("pi", "PI_CODING_AGENT_DIR", ".pi/agent", "sessions/*/*.jsonl"),
)
"""Agents, the variable that names their folder, where it is else, and their sessions in it."""
PLUGIN = "opencode"
"""OpenCode's own files are no sessions we read: its plugin keeps copies below the folder of the
store's state."""
MOST = 2_000
"""Files that are listed, the newest."""
TITLED = 150
"""Files whose titles are looked for, the newest; the others have names."""
HEAD_BYTES = 64 << 10
"""Of a file, in which its title is looked for."""
HELD = 4
"""Sessions that stay open: large ones take memory."""


class File(NamedTuple):
    id: str
    path: Path
    agent: str
    size: int
    changed: float
    """Seconds since 1970."""


def agents_files(home: Path) -> Iterator[tuple[str, Path]]:
    """The sessions that agents keep on this machine, each with its agent."""
    variables = surroundings()
    for agent, variable, usual, pattern in AGENTS:
        folder = Path(variables.get(variable) or home / usual)
        for path in folder.glob(pattern):
            yield agent, path
    if not (place := store_place(Settings())).startswith("postgres"):
        for path in (Path(place) / PLUGIN).glob("*.json"):
            yield "opencode", path


class Sessions:
    """May be used by several threads. A page names sessions by ids: no path comes from it."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings | None = None,
        home: Path | None = None,
        window: int = 0,
        redactor: Redactor | None = None,
    ) -> None:
        self.store, self.home, self.window = store, home or Path.home(), window
        self.settings = settings or load_settings()
        self.redactor = redactor or Redactor(secrets_in(surroundings(), self.settings.secrets))
        self._files: dict[str, File] = {}
        self._added: list[Path] = []
        self._titles: dict[tuple[str, float], str] = {}
        self._held: dict[str, ShownSession] = {}
        self._lock = Lock()

    def add(self, path: Path) -> str:
        """Show a file that the user named; its id."""
        self._added.append(path.resolve())
        self._look()
        return _id(path.resolve())

    def page(self) -> list[Page]:
        """All sessions, the one written to last first."""
        self._look()
        rows = [
            {
                "id": f"kept:{info.name}",
                "name": info.name,
                "agent": "kept",
                "title": "",
                "turns": info.turns,
                "compactions": info.compactions,
                "bytes": info.bytes,
                "changed": info.last / 1_000_000,
            }
            for info in self.store.sessions()
        ]
        rows += [
            {
                "id": file.id,
                "name": file.path.stem,
                "agent": file.agent,
                "title": self._title(file) if place < TITLED else "",
                "folder": file.path.parent.name,
                "bytes": file.size,
                "changed": file.changed,
            }
            for place, file in enumerate(self._files.values())
        ]
        rows.sort(key=lambda row: -float(str(row["changed"])))
        page: list[Page] = turn_shown(rows)
        return page

    def open(self, id: str, *, window: int = 0) -> ShownSession:
        """A session by its id, read again where it has grown."""
        key, seen = f"{id} {window}", self.seen(id)
        with self._lock:
            held = self._held.get(key)
            if held is None or held.seen != seen:
                held = self._opened(id, seen, window or self.window)
            self._held.pop(key, None)
            self._held[key] = held
            for old in [*self._held][:-HELD]:
                del self._held[old]
        return held

    def seen(self, id: str) -> str:
        """Tells the states of a session apart."""
        if id.startswith("kept:"):
            return str(self.store.head(self.kept(id).name).number)
        try:
            found = os.stat(self._file(id).path)
        except OSError as error:
            raise NoSuchSession(id) from error
        return f"{found.st_size} {found.st_mtime_ns}"

    def kept(self, id: str) -> Session:
        """A session of the store, by its id."""
        name = id.removeprefix("kept:")
        if not id.startswith("kept:") or not self.store.head(checked("session", name)).number:
            raise NoSuchSession(without_markup(name))
        return Session(
            name,
            self.store,
            window=self.window or self.settings.window,
            counter=counter_named(self.settings.vocabulary),
            redactor=self.redactor,
            keep_secrets=self.settings.keep_secrets,
        )

    def search(self, words: str, limit: int = 30) -> list[Page]:
        """What recall finds in the store, without secrets."""
        found = recall(self.store, query_of(words, limit=limit), lines=1)
        rows = [
            {
                "id": f"kept:{one.session}",
                "session": one.session,
                "mark": one.mark,
                "turn": one.turn,
                "agent": one.thread,
                "who": one.who,
                "title": self.redactor.clean(one.title),
                "lines": self.redactor.clean("\n".join(line.text for line in one.lines)),
            }
            for one in found
        ]
        page: list[Page] = turn_shown(rows)
        return page

    def _opened(self, id: str, seen: str, window: int) -> ShownSession:
        if id.startswith("kept:"):
            kept = self.kept(id)
            return ShownSession(
                *(kept.name, kept.transcript(), self.redactor),
                settings=self.settings,
                window=window,
                kept=kept,
                seen=seen,
            )
        path = self._file(id).path
        return open_file(path, self.redactor, settings=self.settings, window=window, seen=seen)

    def _file(self, id: str) -> File:
        if id not in self._files:
            self._look()
        if id not in self._files:
            raise NoSuchSession(without_markup(id))
        return self._files[id]

    def _look(self) -> None:
        found = {}
        for agent, path in self._paths():
            with suppress(OSError):
                state = path.stat()
                file = File(_id(path), path, agent, state.st_size, state.st_mtime)
                found[file.id] = file
        newest = sorted(found.values(), key=lambda file: -file.changed)[:MOST]
        self._files = {file.id: file for file in newest}

    def _paths(self) -> Iterator[tuple[str, Path]]:
        for path in self._added:
            yield "file", path
        yield from agents_files(self.home)

    def _title(self, file: File) -> str:
        """The first words of a session, found in the beginning of its file."""
        key = (file.id, file.changed)
        if key not in self._titles:
            title = ""
            with suppress(KedgelineError, OSError), file.path.open("rb") as opened:
                head = opened.read(HEAD_BYTES)
                lines = head[: head.rfind(b"\n") + 1] if file.size > HEAD_BYTES else head
                turns = stream(lines, format=_reader(file))
                title = next((t.user_message for t in islice(turns, 8) if t.user_message), "")
            self._titles[key] = call_line(self.redactor.clean(title))
        return self._titles[key]


def open_file(
    source: Path | str | bytes,
    redactor: Redactor,
    *,
    settings: Settings | None = None,
    window: int = 0,
    format: str | None = None,
    session: int | None = None,
    seen: str = "",
) -> ShownSession:
    transcript = read(source, format=format, session=session, counter=None)
    name = transcript.session.latest("id") or (
        "session" if isinstance(source, bytes) or source == "-" else Path(source).stem
    )
    return ShownSession(name, transcript, redactor, settings=settings, window=window, seen=seen)


def _reader(file: File) -> str | None:
    return file.agent if file.agent in format_names() else None


def _id(path: Path) -> str:
    return blake2b(os.fsencode(path), digest_size=8).hexdigest()
