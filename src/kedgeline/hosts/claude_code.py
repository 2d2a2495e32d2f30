"""Claude Code: settings.json, .claude.json for servers, skills and commands as files, and a module
that answers `session.compact`. Its conversation comes as rows with a text, calls and results."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import escape
from json import loads
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs
from msgspec.json import Decoder

from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    REPLACE_SECONDS,
    SERVER,
    STATUS_LINE,
    SUMMARY,
    FromTranscript,
    Host,
    InstallPlace,
    Member,
    Message,
    OwnFile,
    Piece,
    SettingsFile,
    Shape,
    blocks_of,
    described_file,
    filled,
    json_text,
    manifest,
    server_member,
    server_text,
    text_of,
    texts_of,
)

if TYPE_CHECKING:
    from kedgeline.model import Transcript, Turn

MODULE = "register.js"
MODULES = {"modules": ["./register.js"]}
"""Beside the hooks of a plugin; a Claude Code that does not know of modules passes over them."""
OWNER = {"name": SERVER}


class _ClaudeCode(Host):
    def pieces(self, place: InstallPlace) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        line = {"type": "command", "command": launch.line(STATUS_LINE)}
        status_line = Member(("statusLine",), line, STATUS_LINE, "status line")
        settings = SettingsFile(
            root / "settings.json",
            hooks=self.hooks(launch),
            members=() if place.project else (status_line,),
            strict=True,
            switch="disableAllHooks",
            plugins="enabledPlugins",
        )
        server = server_member({"type": "stdio", **launch.program(MCP)})
        path = place.folder("CLAUDE_CONFIG_DIR") / ".claude.json"
        path = place.project / ".mcp.json" if place.project else path
        servers = SettingsFile(path, members=(server,), strict=True)
        return (settings, servers, *self.own_files(root, place), *self._module(place))

    def seam(self, place: InstallPlace) -> Path:
        return self.root(place) / "skills" / NAME / "hooks" / "register.js"

    def _module(self, place: InstallPlace) -> tuple[OwnFile, ...]:
        """A plugin of its own in the folder of skills, which Claude Code loads without being asked
        to: settings can name hooks that are programs, and no module."""
        folder, is_wanted = self.root(place) / "skills" / NAME, place.replacing is not False
        module, about = filled(MODULE, self.constants(place)), {"name": NAME, "author": OWNER}
        return (
            described_file(folder / ".claude-plugin/plugin.json", about, is_wanted),
            OwnFile(folder / "hooks/register.js", module, comment="//", wanted=is_wanted),
            described_file(folder / "hooks/hooks.json", MODULES, is_wanted),
        )

    def plugin(self) -> dict[str, str]:
        about = {**manifest(), "author": OWNER, "license": "MIT"}
        described = {"description": SUMMARY, "hooks": self.plugin_hooks(), **MODULES}
        # A folder below `commands` becomes the part before the colon; a plugin has that already.
        own = Host.plugin(replace(self, commands="commands"))
        wait = REPLACE_SECONDS * 1_000
        return {
            ".claude-plugin/plugin.json": json_text(about),
            "hooks/hooks.json": json_text(described),
            "hooks/register.js": filled(
                MODULE, {"KEDGELINE": BY_NAME.argv(), "MILLISECONDS": wait}
            ),
            ".mcp.json": server_text(BY_NAME),
            **own,
        }


def marketplace(folder: str = "./claude-code") -> str:
    """The file by which the plugin is found: beside its folder, and at the root of the repository,
    where whoever adds that by its address has it."""
    value = {
        "name": SERVER,
        "owner": OWNER,
        "metadata": {"description": SUMMARY},
        "plugins": [{**manifest(), "source": folder}],
    }
    return json_text(value)


_APART = re.compile(r"<persisted-output>\nOutput too large [^\n]* saved to: (/[^\n]+)\n")
APART = "tool-results"
"""The folder beside a transcript in which outputs of more than 30,000 characters are."""
MOST_OUTPUT = 50_000_000
"""Bytes of such an output that are kept."""


def messages_apart(path: str, start: int) -> tuple[list[Message], int]:
    """Of a transcript from a byte on, the messages that name such a file, and where it ended."""
    found: list[Message] = []
    with open(path, "rb") as file:
        file.seek(start if start <= os.fstat(file.fileno()).st_size else 0)  # it began anew
        for line in file:
            if not line.endswith(b"\n"):
                return found, file.tell() - len(line)
            if b"<persisted-output>" in line:
                record = loads(line)
                message = record.get("message") if isinstance(record, dict) else None
                found += [message] if isinstance(message, dict) else []
        return found, file.tell()


def outputs_apart(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Outputs of which only the beginning stands in the messages, whole, by the ids of their calls.
    A text names the file, and anybody may have written it: only files of Claude Code are read."""
    blocks = (block for message in messages for block in blocks_of(message))
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            told = _APART.match(text_of(block.get("content")))
            if told and (text := _output_in(Path(told[1]))):
                yield str(block.get("tool_use_id")), text


def _output_in(path: Path) -> str:
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    if path.parent.name != APART or not path.is_relative_to(Path(home) / "projects"):
        return ""
    try:
        real = path.parent.resolve(strict=True)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(real / path.name, flags)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        is_own = stat.S_ISREG(about.st_mode) and about.st_uid == os.getuid()
        is_below = real.is_relative_to(Path(home).resolve())
        text = file.read(MOST_OUTPUT).decode("utf-8", "replace") if is_own and is_below else ""
    left = about.st_size - MOST_OUTPUT
    return f"{text}\n[{left:,} bytes more were not kept]" if text and left > 0 else text


def from_rows(rows: Sequence[Message]) -> list[Message]:
    """Rows as messages of Anthropic's. One answer may come as several rows."""
    return [message for message, _ in _placed(rows)]


def _placed(rows: Sequence[Message]) -> list[tuple[Message, int]]:
    """Each message with the place of its first row."""
    messages: list[tuple[Message, int]] = []
    for place, row in enumerate(rows):
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": one.get("tool_use_id"),
                "content": one.get("text") or "",
                **({"is_error": True} if one.get("isError") else {}),
            }
            for one in row.get("toolResults") or ()
        ]
        if row.get("text"):
            blocks.append({"type": "text", "text": row["text"]})
        blocks += [
            {
                "type": "tool_use",
                "id": one.get("tool_use_id"),
                "name": one.get("tool"),
                "input": one.get("input") or {},
            }
            for one in row.get("toolUses") or ()
        ]
        if not blocks:
            continue
        if messages and messages[-1][0]["role"] == row["role"] == "assistant":
            messages[-1][0]["content"] += blocks
        else:
            messages.append(({"role": row["role"], "content": blocks}, place))
    return messages


def to_rows(messages: Sequence[Message], rows: Sequence[Message]) -> list[Message]:
    """Messages as rows that outlive a resume of the session. Only a row of the user's words keeps
    its handle, and with it its images: by that of another row the client finds the old history
    again."""
    handles = {
        row["text"]: row["handle"]
        for row in rows
        if row["role"] == "user" and row.get("handle") and not row.get("toolResults")
    }
    made = (_row(message, handles) for message in messages)
    return [row for row in made if row["text"] or row["toolUses"] or "toolResults" in row]


def _row(message: Message, handles: dict[str, str]) -> Message:
    text, blocks = "\n\n".join(texts_of(message)), blocks_of(message)
    uses = [
        {"tool_use_id": block["id"], "tool": block["name"], "input": block["input"]}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    results = [
        {
            "tool_use_id": block["tool_use_id"],
            "text": text_of(block.get("content")),
            **({"isError": True} if block.get("is_error") else {}),
        }
        for block in blocks
        if block["type"] == "tool_result"
    ]
    row: Message = {"role": message["role"], "text": text, "toolUses": uses}
    if results:
        row["toolResults"] = results
    elif message["role"] == "user" and text in handles:
        row["handle"] = handles[text]
    return row


# Rows have neither what the user typed while the agent worked, nor what it thought, nor where it
# works. The transcript has all of it, and the handle of a row is the id of its record.

SAID = ("user", "assistant")
BOUNDARY = b'"subtype":"compact_boundary"'
"""In the record that a compaction begins with. In what is said the quotes would be escaped."""


class _Message(Struct):
    id: str = ""
    role: str = ""
    content: str | list[dict[str, Any]] = ""


class _Said(Struct):
    """A record of what was said."""

    type: str = ""
    uuid: str = ""
    isSidechain: bool = False
    isMeta: bool = False
    message: _Message | None = None


def rows_in(path: str) -> list[Message]:
    """The conversation as Claude Code would hand it over, up to the last turn before the last
    answer: more of that may come. What the user has gone back from is in it."""
    decode, said = Decoder(_Said).decode, list[_Said]()
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        data.seek(data.rfind(b"\n", 0, max(0, data.rfind(BOUNDARY))) + 1)
        for line in iter(data.readline, b""):
            with suppress(ValueError):  # torn, or of another shape
                record = decode(line)
                is_beside = record.isSidechain or record.isMeta or record.message is None
                said += [record] if record.type in SAID and not is_beside else []
    rows = rows_of(said[: _complete(said)])
    return rows[: _last_whole(rows, len(rows) - 1) + 1]


def _complete(said: Sequence[_Said]) -> int:
    """How many records stand before the last answer."""
    ids = [one.message.id if one.message and one.type == "assistant" else "" for one in said]
    last = next((id for id in reversed(ids) if id), "")
    return ids.index(last) if last else 0


def rows_of(said: Sequence[_Said]) -> list[Message]:
    rows = []
    for record in said:
        assert record.message is not None
        blocks = blocks_of({"content": record.message.content})
        uses = [
            {"tool_use_id": one["id"], "tool": one["name"], "input": one["input"]}
            for one in blocks
            if one["type"] == "tool_use"
        ]
        results = [
            {"tool_use_id": one["tool_use_id"], "text": text_of(one.get("content"))}
            for one in blocks
            if one["type"] == "tool_result"
        ]
        text = "\n".join(one["text"] for one in blocks if one["type"] == "text")
        row = {"role": record.type, "text": text, "toolUses": uses, "handle": record.uuid}
        rows.append({**row, "toolResults": results} if results else row)
    return rows


TRIED = 8
"""Rows at the beginning that may have no record: of what the client says by itself."""
BESIDE = ("instructions", "edited", "hook")
"""Notes of a transcript that the client adds anew by itself."""


class _Mark(Struct):
    """What tells a record of a transcript from another."""

    type: str = ""
    uuid: str = ""
    isSidechain: bool = False


def transcript_of(session: str) -> str:
    """The file of a session, in whatever folder it began; empty where there is none."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    found = Path(home, "projects").glob(f"*/{escape(session)}.jsonl") if session else ()
    return str(next(iter(found), ""))


def recorded(path: str, rows: Sequence[Message], new: int) -> FromTranscript | None:
    """The rows of the last `new` messages as the transcript has them, with what was said between.
    Rows that it does not have, at the beginning or not yet at the end, stay as they are."""
    rows = rows[_placed(rows)[-new][1] :]
    begins = next((n for n in range(len(rows), 0, -1) if _is_summary(rows[n - 1])), 0)
    places = {row["handle"]: n for n, row in enumerate(rows) if n >= begins and row.get("handle")}
    lines = [*_lines_of(Path(path), [*places])] if places else []
    there = {places[id] for id, _, _ in lines if id in places}
    first, last = min(there, default=0), _last_whole(rows, max(there, default=-1))
    if last < first or not there.issuperset(range(first, last + 1)):
        return None
    until = next(n for n, (id, _, _) in enumerate(lines) if places.get(id) == last)
    behind = (n for n in range(until + 1, len(lines)) if lines[n][1])
    ends = next(behind, len(lines))  # what was said up to the next message
    said = _read(b"".join(line for _, _, line in lines[:ends]))
    made = {call.id for turn in said.turns for call in turn.tool_calls}
    if made != {one["tool_use_id"] for row in rows[first : last + 1] for one in row["toolUses"]}:
        return None  # the user had gone back, or the file is another's
    return FromTranscript(from_rows(rows[:first]), said, from_rows(rows[last + 1 :]))


def _is_summary(row: Message) -> bool:
    """Whether the client has summarised what was before: its reader takes that for no turn."""
    from kedgeline.formats.agents.claude_code import SUMMARY_OPENING

    return bool(row["text"].startswith(SUMMARY_OPENING))


def _lines_of(path: Path, ids: Sequence[str]) -> Iterator[tuple[str, bool, bytes]]:
    """The lines from the record of the first id that is there on: the id of each, and whether it is
    a message of the main conversation."""
    decode = Decoder(_Mark).decode
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        places = (data.rfind(f'"uuid":"{id}"'.encode()) for id in ids[:TRIED])
        found = next((place for place in places if place >= 0), -1)
        data.seek(data.rfind(b"\n", 0, found) + 1 if found >= 0 else len(data))
        for line in iter(data.readline, b""):
            with suppress(ValueError):  # torn, or without a mark
                mark = decode(line)
                is_message = mark.type in SAID and not mark.isSidechain
                yield mark.uuid, is_message, line


def _last_whole(rows: Sequence[Message], last: int) -> int:
    """The last row up to this one behind which no answer goes on and no result is waited for."""
    for place in range(last, -1, -1):
        row, following = rows[place], rows[place + 1] if place + 1 < len(rows) else {}
        closes = row["role"] == "assistant" and not row["toolUses"]
        goes_on = closes and following.get("role") == "assistant"
        if (closes or row.get("toolResults")) and not goes_on and not following.get("toolResults"):
            return place
    return -1


def _read(data: bytes) -> Transcript:
    from kedgeline.pipeline.read import read

    said = read(data, format="claude-code", counter=None)
    turns = tuple(map(_as_handed_over, said.turns))
    return structs.replace(said, turns=turns, pending=None, agents=(), compactions=())


def _as_handed_over(turn: Turn) -> Turn:
    """Without the notes, and without what was reported: the host says what its context has."""
    turn = structs.replace(turn, usage=None)
    if not any(note.kind in BESIDE for note in turn.notes):
        return turn
    messages = tuple(
        structs.replace(one, parts=parts)
        for one in turn.messages
        if (parts := tuple(part for part in one.parts if getattr(part, "kind", "") not in BESIDE))
    )
    notes = tuple(note for note in turn.notes if note.kind not in BESIDE)
    return structs.replace(turn, messages=messages, notes=notes)


HOST = _ClaudeCode(
    name="claude-code",
    title="Claude Code",
    in_project=".claude",
    variable="CLAUDE_CONFIG_DIR",
    usual=(".claude",),
    shape=Shape(
        "anthropic",
        from_rows,
        lambda found, rows: {"messages": to_rows(found, rows)},
        apart=outputs_apart,
        drops_thinking=True,
        file=transcript_of,
        recorded=recorded,
        rows=rows_in,
    ),
    events=(
        "SessionStart",
        "UserPromptSubmit",
        "PostToolBatch",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "SessionEnd",
    ),
    matchers={"SessionStart": "startup|resume|clear|compact|fork"},
    shell=False,
    allows=True,
    next="start a new session of Claude Code: it reads hooks when a session starts",
)
