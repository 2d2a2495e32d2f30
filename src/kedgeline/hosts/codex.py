"""Codex: hooks.json, config.toml for servers, skills as files; users have no slash commands.

Between two runs its session is compacted where it is kept, in its rollout file: what goes on with
the session reads the newest record of a compaction and what comes behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kedgeline.errors import FileRefused, NoSuchSession
from kedgeline.hosts.shared import (
    BY_NAME,
    MCP,
    NAME,
    SERVER,
    Host,
    InstallPlace,
    Message,
    Piece,
    ServerTable,
    SettingsFile,
    Shape,
    json_text,
    manifest,
    server_text,
    texts_of,
)

if TYPE_CHECKING:
    from kedgeline.hosts.replacement import HostAnswer

END_SECONDS = 3
"""The most that Codex waits at the end of a session; more than that and it warns."""
IN_USE = "end Codex first: it keeps a copy of its own and would not see the change"
FRESH = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How begins what Codex puts before each run by itself; twice is once too often."""


class _Codex(Host):
    def pieces(self, place: InstallPlace) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        hooks = SettingsFile(root / "hooks.json", hooks=self.hooks(launch), strict=True)
        server = ServerTable(
            root / "config.toml",
            ("mcp_servers", SERVER),
            launch.program(MCP),
            MCP,
            plugins="plugins",
        )
        return (hooks, server, *self.own_files(root, place))

    def plugin(self) -> dict[str, str]:
        return {
            ".codex-plugin/plugin.json": json_text(manifest()),
            "hooks/hooks.json": json_text({"hooks": self.plugin_hooks()}),
            ".mcp.json": server_text(BY_NAME),
            **super().plugin(),
        }


def codex_marketplace() -> dict[str, str]:
    """The file by which the plugin is found, beside its folder."""
    plugin = {"name": NAME, "source": {"source": "local", "path": "./codex"}}
    value = {"name": NAME, "plugins": [plugin]}
    return {".agents/plugins/marketplace.json": json_text(value)}


class _Rollout(NamedTuple):
    path: Path
    session: str
    records: list[dict[str, Any]]


def newest(home: Path, folder: Path) -> _Rollout:
    """The newest rollout of the sessions that ran in a folder."""
    paths = sorted(
        (home / "sessions").rglob("rollout-*.jsonl"),
        key=lambda path: path.stat().st_mtime_ns,
        reverse=True,
    )
    for path in paths:
        records = list(_records(path))
        heads = (one["payload"] for one in records if one["type"] == "session_meta")
        about: dict[str, Any] = next(heads, {})
        if about.get("cwd") and Path(about["cwd"]).resolve() == folder.resolve():
            return _Rollout(path, str(about.get("id") or path.stem), records)
    raise NoSuchSession(f"of Codex in {folder}", known=())


def compact_rollout(rollout: _Rollout, *, room: int = 0, instructions: str = "") -> HostAnswer:
    """The session compacted, and a record of that behind its rollout. Raises before anything is
    written."""
    from kedgeline.hosts.replacement import HostRequest, host_compacted

    if _is_open(rollout.path):
        raise FileRefused(str(rollout.path), IN_USE)
    size = rollout.path.stat().st_size
    items = model_items(rollout.records)
    asked = HostRequest(
        messages=items, session=rollout.session, room=room, instructions=instructions
    )
    answer = host_compacted(HOST.name, asked)
    history = answer.reply["messages"]
    record: dict[str, Any] = {
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "type": "compacted",
        "payload": {
            "message": next(iter(texts_of(history[0])), ""),
            "replacement_history": history,
        },
    }
    if "ordinal" in rollout.records[-1]:
        record["ordinal"] = rollout.records[-1]["ordinal"] + 1
    line = msgspec.json.encode(record) + b"\n"
    with rollout.path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) != size:
            raise FileRefused(str(rollout.path), IN_USE)
        file.seek(max(0, size - 1))
        file.write(line if file.read(1) in (b"\n", b"") else b"\n" + line)
    return answer


def model_items(records: list[dict[str, Any]]) -> list[Message]:
    """What the model would read: what stands since the newest compaction, without what Codex adds
    to each run."""
    found: list[Message] = []
    for record in records:
        payload = record["payload"]
        if record["type"] == "compacted" and payload.get("replacement_history") is not None:
            found = list(payload["replacement_history"])
        elif record["type"] == "response_item":
            found.append(payload)
    return [one for one in found if not is_fresh(one)]


def is_fresh(item: Mapping[str, Any]) -> bool:
    if item.get("type") != "message":
        return False
    words = [text for text in texts_of(dict(item)) if text.strip()]
    return item.get("role") in ("developer", "system") or (
        item.get("role") == "user" and all(text.startswith(FRESH) for text in words)
    )


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("payload"), dict):
            yield {"type": "", **record}


def _is_open(path: Path) -> bool:
    """Whether a process can write to it, where the system tells. Workers of our hooks read it."""
    real = path.resolve()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(real):
                about = link.parent.with_name("fdinfo").joinpath(link.name).read_text()
                flags = next(line.split()[1] for line in about.splitlines() if "flags:" in line)
                if int(flags, 8) & os.O_ACCMODE != os.O_RDONLY:
                    return True
        except OSError:
            continue
    return False


def _given(found: Sequence[Message], _: Sequence[Message]) -> dict[str, Any]:
    """With what Codex needs of a message."""

    def item(message: Message) -> Message:
        if "type" in message and not isinstance(message.get("content"), str):
            return message
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts_of(message)]
        return {**message, "type": "message", "content": content}

    return {"messages": [item(one) for one in found]}


HOST = _Codex(
    name="codex",
    title="Codex",
    in_project=".codex",
    variable="CODEX_HOME",
    usual=(".codex",),
    shape=Shape("openai-responses", list, _given),
    # No tool output: what a hook says of it is added to it, and would make it longer.
    events=(
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "SessionEnd",
    ),
    matchers={"SessionStart": "startup|resume|clear|compact"},
    limits={"SessionEnd": END_SECONDS},
    # Codex writes context of more than 2,500 tokens to a file and shows its beginning; what is put
    # back has a budget of its own.
    options={"SessionStart": {"additionalContextLimit": 0}},
    commands="",
    next=(
        "start Codex and trust the new hooks: type /hooks and look at each, they are "
        "skipped until you do, and again after an update that changes them"
    ),
    trust="reads the files",
)
