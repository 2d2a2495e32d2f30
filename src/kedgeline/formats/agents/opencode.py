"""OpenCode: exported sessions, one JSON document each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    mapping,
    mappings,
    maybe_tokens,
    maybe_whole,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Note,
    Opaque,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

NAME = "opencode"
NOT_SAID = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction")
"""Parts that are no piece of the conversation."""
SESSION_KEYS = ("id", "slug", "projectID", "directory")
OWN_TOOLS = (
    *("apply_patch", "bash", "batch", "codesearch", "edit", "glob", "grep", "list", "lsp"),
    *("multiedit", "patch", "plan_enter", "plan_exit", "question", "read", "skill", "task"),
    *("todoread", "todowrite", "webfetch", "websearch", "write"),
)
"""Tools whose errors the client words itself. A server's tool words its own, and could put words
into the user's mouth by imitating a refusal."""
_REFUSED = (
    "The user rejected permission",
    "rejected permission",
    "The user has specified a rule which prevents you",
    "The user dismissed this question",
)
"""How the client words a call that the user, or a rule of theirs, did not let run."""
_FEEDBACK = "with the following feedback: "
_ABORTED = "Tool execution aborted"


class _Session(SessionReader):
    def __init__(self, log: Log, info: Record) -> None:
        super().__init__(log)
        self._messages, self._calls = pieces.DistinctIds(), pieces.DistinctIds()
        """Ids given so far. Redacted exports repeat one and the same word."""
        revert, version = mapping(info.get("revert")), string(info.get("version"))
        self._reverted = "" if revert.get("partID") else string(revert.get("messageID"))
        """The message that the user went back to; it and what follows no longer stand."""
        self.facts(id=info.get("id"), root=info.get("directory"), title=info.get("title"))
        self.facts(client=version and f"opencode {version}")

    def take(self, line: Line, message: Record) -> None:
        info = message.get("info")
        if not isinstance(info, dict):
            self.log.broken("shape", line, "a message without info")
            return
        if self._reverted and info.get("id") == self._reverted:
            self.remember(self._reverted)
        parts, time = mappings(message.get("parts")), mapping(info.get("time")).get("created")
        if info.get("role") == "user":
            self._user(line, parts, time)
        elif info.get("role") != "assistant":
            self.unknown("message", info.get("role"))
        elif info.get("summary") is True:
            self._summary(line, info, parts)
        else:
            self._assistant(line, info, parts, time)

    def close(self) -> None:
        self.settle()
        self.go_back(self._reverted)

    def _user(self, line: Line, parts: list[Record], time: Any) -> None:
        if asked := [part for part in parts if part.get("type") == "compaction"]:
            auto = any(part.get("auto") is True for part in asked)
            self.boundary(line, by=NAME, trigger="auto" if auto else "manual")
        self.user(line, [piece for part in parts for piece in self._heard(part)], time=time)

    def _summary(self, line: Line, info: Record, parts: list[Record]) -> None:
        """The answer to a compaction: the summary that stands for all before it."""
        words = [string(part.get("text")) for part in parts if part.get("type") == "text"]
        self.summarized(
            line,
            by=NAME,
            summary="\n\n".join(filter(None, words)),
            model=string(info.get("modelID")),
            usage=_usage(info.get("tokens")),
        )

    def _assistant(self, line: Line, info: Record, parts: list[Record], time: Any) -> None:
        self.facts(model=info.get("modelID"), mode=info.get("mode") or info.get("agent"))
        about: Record = {
            "model": info.get("modelID"),
            "message_id": self._messages.one_of(info.get("id"), f"message-{line.number}"),
            "usage": _usage(info.get("tokens")),
        }
        for said, results in self._steps(parts):
            self.answer(line, said, results, time=time, **about)
        if isinstance(error := info.get("error"), dict):
            aborted = error.get("name") == "MessageAbortedError"
            text = mapping(error.get("data")).get("message") or error.get("name")
            self.note(line, "interruption" if aborted else "failure", text, time=time)

    def _steps(self, parts: list[Record]) -> Iterator[tuple[list[Piece], list[ToolResult]]]:
        """What was said and called, then what came of it; older versions put several such steps
        into one message."""
        said: list[Piece] = []
        results: list[ToolResult] = []
        for part in parts:
            if part.get("type") == "step-start" and results:
                yield said, results
                said, results = [], []
            if part.get("type") == "tool":
                call = self._call(part)
                said.append(call)
                results += _results(call, mapping(part.get("state")))
            else:
                said += self._said(part)
        if said:
            yield said, results

    def _call(self, part: Record) -> ToolCall:
        call_id = self._calls.one_of(part.get("callID"), part.get("id"))
        return pieces.call(call_id, part.get("tool"), mapping(part.get("state")).get("input"))

    def _heard(self, part: Record) -> list[Piece]:
        """A part of a user's message."""
        kind, text = part.get("type"), string(part.get("text"))
        if kind == "text":
            return pieces.heard(text, person=not (part.get("synthetic") or part.get("ignored")))
        if kind == "subtask":
            command, agent = string(part.get("command")), string(part.get("agent"))
            name = f"/{command}" if command else f"@{agent}"
            words = string(part.get("prompt")) or string(part.get("description"))
            return [Note(kind="command", text=f"{name} {words}".strip())]
        return self._shared(part)

    def _said(self, part: Record) -> list[Piece]:
        """A part of an assistant's message, calls apart."""
        if part.get("type") == "text":
            return pieces.texts(part.get("text"))
        if part.get("type") == "reasoning":
            return pieces.thoughts(part.get("text"), _signature(part))
        return self._shared(part)

    def _shared(self, part: Record) -> list[Piece]:
        kind = part.get("type")
        if kind == "file":
            # Of plain text and folders only the name stands here, the content follows as a text.
            if part.get("mime") in ("text/plain", "application/x-directory"):
                name = string(part.get("filename")) or string(part.get("url"))
                return [Note(kind="injected", text=name)]
            return [_attachment(part)]
        if kind in NOT_SAID:
            return []
        self.unknown("part", kind)
        return [Opaque(kind=str(kind), wire=part)]


def _results(call: ToolCall, state: Record) -> list[ToolResult]:
    """What came of a call, once it has ended."""
    status, metadata = state.get("status"), mapping(state.get("metadata"))
    code = maybe_whole(metadata.get("exit"))
    if status == "completed":
        media = [_attachment(file) for file in mappings(state.get("attachments"))]
        change, output = _change(call, metadata), state.get("output")
        return [pieces.result(call.id, output, exit_code=code, change=change, media=media)]
    if status != "error":
        return []
    error = pieces.plain_words(state.get("error"))
    refused = call.tool in OWN_TOOLS and error.startswith(_REFUSED)
    failed = pieces.result(
        call.id,
        string(metadata.get("output")) or error,
        failed=True,
        exit_code=code,
        refused=refused,
        reason=error.partition(_FEEDBACK)[2].strip(),
        interrupted=metadata.get("interrupted") is True or error == _ABORTED,
        error=error,
    )
    return [failed]


def _change(call: ToolCall, metadata: Record) -> pieces.Change:
    """What the tool reports: whether the file was there before."""
    existed: Any = metadata.get("exists")
    if not isinstance(existed, bool):
        existed = mapping(metadata.get("filediff")).get("before")
    if call.tool not in ("write", "edit") or not isinstance(existed, (bool, str)):
        return ""
    return "update" if existed else "create"


def _attachment(file: Record) -> Media:
    mime = string(file.get("mime"))
    kind = "document" if "pdf" in mime else pieces.media_kind(mime)
    return pieces.media_from_url(file.get("url"), kind, mime)


def _signature(part: Record) -> str:
    """The seal of a provider that seals its thinking."""
    for provider in mapping(part.get("metadata")).values():
        for name in ("signature", "reasoningEncryptedContent", "redactedData"):
            if sealed := string(mapping(provider).get(name)):
                return sealed
    return ""


def _usage(counts: Any) -> Usage | None:
    """Tokens of a message; only in some versions does the output count the reasoning too."""
    known = {**mapping(counts), **mapping(mapping(counts).get("cache"))}
    usage = pieces.usage_in(known, "input", "output", "read", "write")
    total = maybe_tokens(known.get("total"))
    if usage is None or total is None or "input" not in known:
        return usage
    return replace(usage, output=max(total - usage.context, usage.output))


class _OpenCode:
    name = NAME

    def sniff(self, head: FileHead) -> int:
        value = mapping(head.document)
        if not isinstance(info := value.get("info"), dict):
            return 0
        if any("info" in m and "parts" in m for m in mappings(value.get("messages"))):
            return 3
        known = sum(key in info for key in SESSION_KEYS)
        return 2 if value.get("messages") == [] and known > 1 else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = mapping(document(lines, log))
        session = _Session(log, mapping(value.get("info")))
        return session.turns(numbered_items(value.get("messages"), log, what="a message"))


FORMAT = _OpenCode()
