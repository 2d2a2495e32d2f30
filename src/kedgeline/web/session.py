"""The sessions that the viewer shows, and one opened for its pages: without secrets, with what its
turns came to, counted once."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.economy.ledger import (
    Base,
    Thread,
    cost_of,
    prices_installed,
    rates_of,
    sizes_of,
    tiers_of,
)
from kedgeline.errors import KedgelineError, NoSuchSession
from kedgeline.facts import facts_of
from kedgeline.facts.edits import replacements_of
from kedgeline.files import checked
from kedgeline.formats import format_names
from kedgeline.model import (
    AnyFact,
    CommandRun,
    Compaction,
    EarlierCompaction,
    FileChanged,
    Media,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from kedgeline.pipeline.read import read, stream
from kedgeline.pipeline.view import numbered
from kedgeline.planning import POLICY
from kedgeline.redact import Redactor, secrets_in
from kedgeline.session.journal import Event, Pin, Recorded
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.settings import Settings, load_settings, store_place, surroundings
from kedgeline.shell import CHECKS
from kedgeline.store import Store
from kedgeline.tokens import counter_named, fitting, model_of, overhead_tokens, window_named


class Numbers(NamedTuple):
    """Of the main conversation, turn by turn."""

    context: tuple[int, ...]
    """Tokens that the model was sent."""
    reported: tuple[bool, ...]
    """Whether the provider said so; else it is estimated."""
    tokens: tuple[int, ...]
    """Of the turn itself, estimated."""
    cost: tuple[float, ...] | None
    """Of all turns up to this one; None where prices are not known."""


class _Window(NamedTuple):
    tokens: int
    known_from: str
    trigger: int
    """Tokens of context from which on it is compacted."""
    target: int
    """What a compaction leaves at the most."""


class ShownSession:
    """One session. Its turns carry numbers as its summaries cite them."""

    def __init__(
        self,
        name: str,
        transcript: Transcript,
        redactor: Redactor,
        *,
        settings: Settings | None = None,
        window: int = 0,
        kept: Session | None = None,
        seen: str = "",
    ) -> None:
        """`window` is the one that was asked for; `kept` the session in its store, where it is
        kept; `seen` tells states of its source apart."""
        self.name, self.kept, self.seen = name, kept, seen
        self.settings, self._asked = settings or Settings(), window
        self.clean = redactor.clean
        self.transcript = redactor.transcript(numbered(transcript))
        self.model = model_of(self.transcript, reversed(self.transcript.turns))
        self.counter = fitting(counter_named(self.settings.vocabulary), self.model)
        self.first = self.turns[0].index if self.turns else 0
        self.agents = {one.delegated_by: one.agent for one in self.transcript.agents}
        self.made: dict[str, object] = {}
        """Pages that take long, by what they show."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.transcript.turns

    def thread(self, agent: str = "") -> tuple[Turn, ...]:
        """The turns of a sub-agent, or of the main conversation."""
        found = (one.turns for one in self.transcript.agents if one.agent == agent)
        return next(found, ()) if agent else self.turns

    @cached_property
    def window(self) -> _Window:
        """The one asked for, that of settings, or the model's own."""
        named = self.settings.window
        found = (
            (self._asked, "asked for"),
            (named if named != Settings().window else 0, "settings"),
            (window_named(self.model) or 0, self.model),
            (named, "usual"),
        )
        tokens, known_from = next(one for one in found if one[0])
        beside = overhead_tokens(self.transcript, self.counter)
        usable = POLICY.usable(tokens, overhead=beside)
        trigger, target = (beside + round(part * usable) for part in (POLICY.begin, POLICY.target))
        return _Window(tokens, known_from, trigger, target)

    @cached_property
    def events(self) -> list[tuple[Event, Compaction]]:
        """Compactions of ours, oldest first."""
        every = self.kept.history() if self.kept else []
        return [(one, one.what.compaction) for one in every if isinstance(one.what, Recorded)]

    @property
    def pins(self) -> list[Pin]:
        """Turns and words that stand in every view."""
        pins = self.kept.pins() if self.kept else []
        return [replace(one, text=self.clean(one.text)) for one in pins]

    @cached_property
    def hosts(self) -> tuple[EarlierCompaction, ...]:
        return tuple(one for one in self.transcript.compactions if one.by != "kedgeline")

    @cached_property
    def numbers(self) -> Numbers:
        bases = self._bases()
        starts = [base.turn for base in bases]
        thread, context, reported, tokens = Thread(), [], [], []
        for place, turn in enumerate(self.turns):
            sizes = sizes_of(turn)
            thread.take(replace(turn, index=place), sizes)
            known = thread.context(place)
            base = bases[max(0, bisect_right(starts, place) - 1)]
            context.append(thread.carried(base) if known is None else known)
            reported.append(known is not None)
            tokens.append(sizes.total)
        return Numbers(tuple(context), tuple(reported), tuple(tokens), _costs(self.turns))

    def _bases(self) -> list[Base]:
        """Where the context began anew."""
        beside = overhead_tokens(self.transcript, self.counter)
        found = [Base(0, beside)]
        for one in self.hosts:
            if one.kind != "outputs_cleared":
                left = one.tokens_after or self.counter.count(one.summary) + beside
                found.append(Base(one.turn - self.first, left))
        for event, made in self.events:
            if not event.undone:
                found.append(Base(made.turns, made.tokens_after))
        return sorted(found, key=lambda base: base.turn)

    @cached_property
    def facts(self) -> tuple[AnyFact, ...]:
        return tuple(facts_of(self.transcript))

    @property
    def checks(self) -> list[CommandRun]:
        """Tests, builds and the like that came to something."""
        runs = (one for one in self.facts if isinstance(one, CommandRun))
        return [one for one in runs if one.purpose in CHECKS and one.success is not None]

    @property
    def changes(self) -> list[FileChanged]:
        return [one for one in self.facts if isinstance(one, FileChanged)]


def _costs(turns: tuple[Turn, ...]) -> tuple[float, ...] | None:
    """What was reported, at today's prices; None where nothing of it has one."""
    if not prices_installed():
        return None
    total, known, found = 0.0, False, []
    for turn in turns:
        if turn.usage is not None and turn.model:
            above = [tier for tier in tiers_of(turn.model) if turn.usage.context > tier]
            rates = rates_of(turn.model, context=above[-1] + 1 if above else 0)
            amount = cost_of(turn.usage, rates, model=turn.model).amount
            known = known or amount is not None
            total += amount or 0.0
        found.append(round(total, 6))
    return tuple(found) if known else None


# A turn as JSON for its page: what was said, what was called, and what came of it.

Page = dict[str, Any]
"""Plain JSON."""
TITLE = 110
"""Characters of a turn's line in a list."""
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What is shown as a picture: SVG may hold scripts, and is named only."""
DIFF_LINES = 2_000
"""Lines of one edit that are compared; a longer text is shown as it was written."""
CHANGING = frozenset({"edit", "write"})

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, 0x061C), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""Control characters as pictures; those that turn the direction of writing could show other words
than are there."""
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ODD = re.compile(r"[^\n\t -~\xa0-\u061b\u061d-\u200d\u2010-\u2029\u202f-\u2065\u206a-\U0010ffff]")


def without_markup(text: str) -> str:
    """Text of a session as it may be shown: no terminal colours, no control characters at work."""
    if not _ODD.search(text):
        return text
    return _COLOURS.sub("", text.replace("\r\n", "\n")).translate(_CONTROLS)


def turn_shown(value: Any, clean: Callable[[str], str] = without_markup) -> Any:
    """JSON with all its texts made plain, names of fields included; or clean in another way."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): turn_shown(one, clean) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [turn_shown(one, clean) for one in value]
    return value


def call_line(text: str, most: int = TITLE) -> str:
    line = without_markup(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def session_title(turn: Turn, root: str = "") -> str:
    """What a turn is about, in a line: the user's words, the agent's, or its first call, paths
    below the root as they are there."""
    said = turn.user_message or turn.assistant_response
    if said.strip():
        return call_line(said)
    for call in turn.tool_calls:
        about = _about_of(call)[: 4 * TITLE]
        return call_line(f"{call.tool} {about.replace(f'{root}/', '') if root else about}")
    notes = (f"{note.kind.replace('_', ' ')}: {note.text}" for note in turn.notes)
    return call_line(next(notes, turn.thinking))


def _about_of(call: ToolCall) -> str:
    for name in ("command", "cmd", "pattern", "query", "url", "description", "prompt"):
        value = call.parameters.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return value
    return ", ".join(call.paths())


def turn_page(turn: Turn, agents: Mapping[str, str] | None = None) -> Page:
    """The turn whole. `agents` are sub-agents by the call that started them."""
    page: Page = {
        "turn": turn.index,
        "agent": turn.agent,
        "exchange": turn.exchange,
        "at": turn.timestamp.isoformat() if turn.timestamp else None,
        "model": turn.model,
        "user": turn.user_message,
        "said": turn.assistant_response,
        "thinking": turn.thinking,
        "notes": [{"kind": note.kind.replace("_", " "), "text": note.text} for note in turn.notes],
        "calls": [_call(turn, call, agents or {}) for call in turn.tool_calls],
    }
    pictures = [_media(one) for one in turn.media]
    return {**turn_shown(page), "media": pictures}


def _call(turn: Turn, call: ToolCall, agents: Mapping[str, str]) -> Page:
    result = turn.result_of(call) or ToolResult(call_id=call.id, output="")
    diffs = list(diffs_of(call)) if call.verb in CHANGING else []
    about = _about_of(call)
    held = {about, *call.paths()}
    rest = {} if diffs else {k: v for k, v in call.parameters.items() if str(v) not in held}
    return {
        "tool": call.tool,
        "verb": call.verb,
        "about": about,
        "diffs": diffs,
        "parameters": rest,
        "state": _state_of(turn.result_of(call)),
        "exit": result.exit_code,
        "output": result.output,
        "error": result.error or "",
        "reason": result.reason,
        "media": [_media(one) for one in result.media],
        "agent": agents.get(call.id, ""),
    }


def _state_of(result: ToolResult | None) -> str:
    if result is None:
        return "waiting"
    if result.refused:
        return "refused"
    if result.interrupted:
        return "interrupted"
    return "done" if result.success else "failed"


def diffs_of(call: ToolCall) -> Iterator[Page]:
    """What a call changed, a file at a time, as lines with `+`, `-` or a blank before them."""
    for path in dict.fromkeys(call.paths()):
        lines: list[str] = []
        for piece in replacements_of(call, path):
            old, new = piece.old.splitlines(), piece.new.splitlines()
            lines += ["@"] if lines else []
            if len(old) + len(new) > DIFF_LINES or not old:
                lines += [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
            else:
                found = list(unified_diff(old, new, lineterm="", n=3))[2:]
                lines += ["@" if line.startswith("@@") else line for line in found][1:]
        if lines:
            yield {"path": path, "lines": lines}


def _media(media: Media) -> Page:
    """A picture with its bytes; all else by name."""
    if media.kind == "image" and media.mime in PICTURES and _BASE64.fullmatch(media.data):
        return {"kind": "image", "mime": media.mime, "data": media.data}
    return {"kind": media.kind, "mime": call_line(media.mime), "about": call_line(media.url)}


# The sessions that the viewer shows: those of the store, and those that agents keep on this
# machine.

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
        for agent, path in (*(("file", one) for one in self._added), *agents_files(self.home)):
            with suppress(OSError):
                state = path.stat()
                file = File(_id(path), path, agent, state.st_size, state.st_mtime)
                found[file.id] = file
        newest = sorted(found.values(), key=lambda file: -file.changed)[:MOST]
        self._files = {file.id: file for file in newest}

    def _title(self, file: File) -> str:
        """The first words of a session, found in the beginning of its file."""
        key = (file.id, file.changed)
        if key not in self._titles:
            title = ""
            with suppress(KedgelineError, OSError), file.path.open("rb") as opened:
                head = opened.read(HEAD_BYTES)
                lines = head[: head.rfind(b"\n") + 1] if file.size > HEAD_BYTES else head
                known = file.agent if file.agent in format_names() else None
                turns = stream(lines, format=known)
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


def _id(path: Path) -> str:
    return blake2b(os.fsencode(path), digest_size=8).hexdigest()
