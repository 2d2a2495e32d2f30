"""OpenCode: exported sessions, one JSON document each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from kedgeline.formats.content import (
    Ids,
    media_from_url,
    parsed_arguments,
    said_by_user,
    text_and_media,
    time_of,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    document,
    mapping,
    mappings,
    maybe_whole,
    string,
    tokens_in,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece, Places
from kedgeline.model import (
    EarlierCompaction,
    Media,
    Note,
    Opaque,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

# What the parts of OpenCode's messages hold: calls with their results, files, token counts.

_REFUSED = (
    "The user rejected permission",
    "rejected permission",
    "The user has specified a rule which prevents you",
    "The user dismissed this question",
)
"""How the client words a call that the user, or a rule of theirs, did not let run."""
_FEEDBACK = "with the following feedback: "
_ABORTED = "Tool execution aborted"
_EDITS = ("write", "edit")
OWN_TOOLS = (
    "apply_patch",
    "bash",
    "batch",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "plan_enter",
    "plan_exit",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
)
"""Tools whose errors the client words itself. A server's tool words its own, and could put words
into the user's mouth by imitating a refusal."""


def call_and_result(part: Record, ids: Ids) -> tuple[ToolCall, ToolResult | None]:
    """A tool part is a call and, once it has ended, its result."""
    state = mapping(part.get("state"))
    call = ToolCall(
        id=ids.distinct(part.get("callID"), part.get("id")),
        tool=string(part.get("tool")),
        parameters=parsed_arguments(state.get("input")),
    )
    if state.get("status") == "completed":
        return call, _completed(call, state)
    if state.get("status") == "error":
        return call, _failed(call, state)
    return call, None


def _completed(call: ToolCall, state: Record) -> ToolResult:
    output, media = text_and_media(state.get("output"))
    attached = [_attachment(file) for file in mappings(state.get("attachments"))]
    metadata = mapping(state.get("metadata"))
    code = maybe_whole(metadata.get("exit"))
    success = code in (None, 0)
    return ToolResult(
        call_id=call.id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        change=_change(call, metadata) if success else "",
        media=(*media, *attached),
    )


def _failed(call: ToolCall, state: Record) -> ToolResult:
    error = text_and_media(state.get("error"))[0]
    metadata = mapping(state.get("metadata"))
    refused = call.tool in OWN_TOOLS and error.startswith(_REFUSED)
    return ToolResult(
        call_id=call.id,
        success=False,
        output=string(metadata.get("output")) or error,
        error=None if refused else error,
        exit_code=maybe_whole(metadata.get("exit")),
        refused=refused,
        reason=error.partition(_FEEDBACK)[2].strip() if refused else "",
        interrupted=metadata.get("interrupted") is True or error == _ABORTED,
    )


def _change(call: ToolCall, metadata: Record) -> Literal["", "create", "update"]:
    """What the tool reports: whether the file was there before."""
    if call.tool not in _EDITS:
        return ""
    if isinstance(existed := metadata.get("exists"), bool):
        return "update" if existed else "create"
    before = mapping(metadata.get("filediff")).get("before")
    if not isinstance(before, str):
        return ""
    return "update" if before else "create"


def file_of(part: Record) -> Piece:
    """An attached file; of plain text and folders only the name stands here, the content follows as
    a text of the client's."""
    mime, name = string(part.get("mime")), string(part.get("filename"))
    if mime in ("text/plain", "application/x-directory"):
        return Note(kind="injected", text=name or string(part.get("url")))
    return _attachment(part)


def _attachment(file: Record) -> Media:
    mime = string(file.get("mime"))
    kind: Literal["image", "document", "file"] = "image" if mime.startswith("image/") else "file"
    found = media_from_url(string(file.get("url")), "document" if "pdf" in mime else kind)
    return Media(kind=found.kind, mime=found.mime or mime, data=found.data, url=found.url)


def signature_of(part: Record) -> str:
    """The seal of a provider that seals its thinking."""
    for provider in mapping(part.get("metadata")).values():
        for name in ("signature", "reasoningEncryptedContent", "redactedData"):
            if sealed := string(mapping(provider).get(name)):
                return sealed
    return ""


def failure_of(error: Record) -> Note:
    name = string(error.get("name"))
    text = string(mapping(error.get("data")).get("message")) or name
    return Note(kind="interruption" if name == "MessageAbortedError" else "failure", text=text)


def usage_of(counts: Any) -> Usage | None:
    """Tokens of a message; only in some versions does the output count the reasoning too."""
    found = tokens_in(counts, "input", "output", "total")
    cache = tokens_in(mapping(counts).get("cache"), "read", "write")
    if not found and not cache:
        return None
    given, read, written = found["input"], cache["read"], cache["write"]
    known = "total" in found and "input" in found
    rest = found["total"] - given - read - written if known else 0
    return Usage(
        input=given,
        output=max(rest, found["output"]),
        cache_read=read,
        cache_write=written,
    )


# OpenCode sessions into turns.

NOT_SAID = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction")
"""Parts that are no piece of the conversation."""
SESSION_KEYS = ("id", "slug", "projectID", "directory")


class OpenCode:
    name = "opencode"

    def sniff(self, head: Head) -> int:
        value = head.document
        if not isinstance(value, dict) or not isinstance(value.get("info"), dict):
            return 0
        messages = value.get("messages")
        if any("info" in m and "parts" in m for m in mappings(messages)):
            return 3
        known = sum(key in value["info"] for key in SESSION_KEYS)
        return 2 if messages == [] and known > 1 else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = mapping(document(lines, log))
        session = SessionReader(log)
        session.begin(mapping(value.get("info")))
        messages = value.get("messages")
        for number, message in enumerate(messages if isinstance(messages, list) else ()):
            session.take(Line(number), message)
            yield from session.main.ready()
        session.end()
        yield from session.main.finish()


FORMAT = OpenCode()


class SessionReader:
    """Takes the messages of one session in their order."""

    def __init__(self, log: Log) -> None:
        self.main = Assembler(log)
        self._log = log
        self._messages, self._calls = Ids(), Ids()
        """Ids given so far. Redacted exports repeat one and the same word."""
        self._boundary: EarlierCompaction | None = None
        """A compaction that was asked for and whose summary has not come."""
        self._places = Places(log, self.main)
        self._reverted = ""
        """The message that the user went back to; it and what follows no longer stand."""

    def begin(self, info: Record) -> None:
        log, version = self._log, string(info.get("version"))
        log.fact("id", info.get("id"), turn=0)
        log.fact("root", info.get("directory"), turn=0)
        log.fact("title", info.get("title"), turn=0)
        log.fact("client", version and f"opencode {version}", turn=0)
        revert = mapping(info.get("revert"))
        if not revert.get("partID"):
            self._reverted = string(revert.get("messageID"))

    def take(self, line: Line, message: Any) -> None:
        info = mapping(message).get("info")
        if not isinstance(info, dict):
            self._log.broken("shape", line, "a message without info")
            return
        if self._reverted and info.get("id") == self._reverted:
            self._places.remember(self._reverted)
        parts = mappings(mapping(message).get("parts"))
        time = time_of(mapping(info.get("time")).get("created"))
        if info.get("role") == "user":
            self._user(line, parts, time)
        elif info.get("role") == "assistant" and info.get("summary") is True:
            self._summary(line, info, parts)
        elif info.get("role") == "assistant":
            self._assistant(line, info, parts, time)
        else:
            self._log.ignored[f"message/{info.get('role')}"] += 1

    def end(self) -> None:
        self._settle()
        self._places.go_back(self._reverted)

    def _user(self, line: Line, parts: list[Record], time: datetime | None) -> None:
        if any(part.get("type") == "compaction" for part in parts):
            self._settle()
            automatic = any(part.get("auto") is True for part in parts)
            self._boundary = EarlierCompaction(
                turn=self.main.next_turn,
                by="opencode",
                trigger="auto" if automatic else "manual",
                source=Source(first=line.number, last=line.number),
            )
        pieces = [piece for part in parts for piece in self._heard(part)]
        if pieces:
            self._places.user(line, pieces, time=time)

    def _summary(self, line: Line, info: Record, parts: list[Record]) -> None:
        """The answer to a compaction: the summary that stands for all before it."""
        asked = self._boundary
        self._boundary = None
        texts = [string(part.get("text")) for part in parts if part.get("type") == "text"]
        first = asked.source.first if asked else line.number
        self._log.compactions.append(
            EarlierCompaction(
                turn=self.main.next_turn,
                by="opencode",
                trigger=asked.trigger if asked else "",
                summary="\n\n".join(filter(None, texts)),
                source=Source(first=first, last=line.number),
                model=string(info.get("modelID")),
                usage=usage_of(info.get("tokens")),
            )
        )

    def _settle(self) -> None:
        """A compaction whose summary never came still was asked for."""
        if self._boundary is not None:
            self._log.compactions.append(self._boundary)
            self._boundary = None

    def _assistant(
        self, line: Line, info: Record, parts: list[Record], time: datetime | None
    ) -> None:
        turn = self.main.next_turn
        model = string(info.get("modelID"))
        self._log.fact("model", model, turn=turn)
        self._log.fact("mode", info.get("mode") or info.get("agent"), turn=turn)
        message_id = self._messages.distinct(info.get("id"), f"message-{line.number}")
        usage = usage_of(info.get("tokens"))
        for pieces, results in self._steps(parts):
            self._places.answered()
            self.main.assistant(
                line, pieces, message_id=message_id, time=time, model=model, usage=usage
            )
            if results:
                self.main.results(line, results)
        if isinstance(error := info.get("error"), dict):
            self._places.user(line, [failure_of(error)], time=time)

    def _steps(self, parts: list[Record]) -> Iterator[tuple[list[Piece], list[ToolResult]]]:
        """What was said and called, then what came of it; older versions put several such steps
        into one message."""
        pieces: list[Piece] = []
        results: list[ToolResult] = []
        for part in parts:
            if part.get("type") == "step-start" and results:
                yield pieces, results
                pieces, results = [], []
            if part.get("type") == "tool":
                call, result = call_and_result(part, self._calls)
                pieces.append(call)
                results.extend([result] if result else [])
            else:
                pieces.extend(self._said(part))
        if pieces:
            yield pieces, results

    def _heard(self, part: Record) -> list[Piece]:
        """A part of a user's message."""
        kind, text = part.get("type"), string(part.get("text"))
        if kind == "text" and (part.get("synthetic") or part.get("ignored")):
            return [Note(kind="injected", text=text)] if text else []
        if kind == "text":
            return list(said_by_user(text)) if text.strip() else []
        if kind == "subtask":
            command, agent = string(part.get("command")), string(part.get("agent"))
            name = f"/{command}" if command else f"@{agent}"
            words = string(part.get("prompt")) or string(part.get("description"))
            return [Note(kind="command", text=f"{name} {words}".strip())]
        return self._shared(part)

    def _said(self, part: Record) -> list[Piece]:
        """A part of an assistant's message, calls apart."""
        kind, text = part.get("type"), string(part.get("text"))
        if kind == "text":
            return [Text(text=text)] if text else []
        if kind == "reasoning":
            return [Thinking(text=text, signature=signature_of(part))]
        return self._shared(part)

    def _shared(self, part: Record) -> list[Piece]:
        kind = part.get("type")
        if kind == "file":
            return [file_of(part)]
        if kind in NOT_SAID:
            return []
        self._log.ignored[f"part/{kind}"] += 1
        return [Opaque(kind=str(kind), wire=part)]
