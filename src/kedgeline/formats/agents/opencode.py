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
from kedgeline.formats.turns import Piece, SessionReader
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
        session = Session(log, mapping(value.get("info")))
        messages = value.get("messages")
        for number, message in enumerate(messages if isinstance(messages, list) else ()):
            session.take(Line(number), message)
            yield from session.main.ready()
        session.end()
        yield from session.main.finish()


FORMAT = OpenCode()


class Session(SessionReader):
    """Takes the messages of one session in their order."""

    def __init__(self, log: Log, info: Record) -> None:
        super().__init__(log)
        self._messages, self._calls = Ids(), Ids()
        """Ids given so far. Redacted exports repeat one and the same word."""
        self._boundary: EarlierCompaction | None = None
        """A compaction that was asked for and whose summary has not come."""
        revert, version = mapping(info.get("revert")), string(info.get("version"))
        self._reverted = "" if revert.get("partID") else string(revert.get("messageID"))
        """The message that the user went back to; it and what follows no longer stand."""
        self.facts(id=info.get("id"), root=info.get("directory"), title=info.get("title"))
        self.facts(client=version and f"opencode {version}")

    def take(self, line: Line, message: Any) -> None:
        info = mapping(message).get("info")
        if not isinstance(info, dict):
            self.log.broken("shape", line, "a message without info")
            return
        if self._reverted and info.get("id") == self._reverted:
            self.places.remember(self._reverted)
        parts = mappings(mapping(message).get("parts"))
        time = time_of(mapping(info.get("time")).get("created"))
        if info.get("role") == "user":
            self._user(line, parts, time)
        elif info.get("role") != "assistant":
            self.unknown("message", info.get("role"))
        elif info.get("summary") is True:
            self._summary(line, info, parts)
        else:
            self._assistant(line, info, parts, time)

    def end(self) -> None:
        self._settle()
        self.places.go_back(self._reverted)

    def _user(self, line: Line, parts: list[Record], time: datetime | None) -> None:
        if any(part.get("type") == "compaction" for part in parts):
            self._settle()
            self._boundary = EarlierCompaction(
                turn=self.main.next_turn,
                by=FORMAT.name,
                trigger="auto" if any(part.get("auto") is True for part in parts) else "manual",
                source=Source(first=line.number, last=line.number),
            )
        self.user(line, [piece for part in parts for piece in self._heard(part)], time=time)

    def _summary(self, line: Line, info: Record, parts: list[Record]) -> None:
        """The answer to a compaction: the summary that stands for all before it."""
        asked, self._boundary = self._boundary, None
        texts = [string(part.get("text")) for part in parts if part.get("type") == "text"]
        first = asked.source.first if asked else line.number
        self.main.compacted(
            line,
            by=FORMAT.name,
            trigger=asked.trigger if asked else "",
            summary="\n\n".join(filter(None, texts)),
            source=Source(first=first, last=line.number),
            model=string(info.get("modelID")),
            usage=usage_of(info.get("tokens")),
        )

    def _settle(self) -> None:
        """A compaction whose summary never came still was asked for."""
        if self._boundary is not None:
            self.log.compactions.append(self._boundary)
            self._boundary = None

    def _assistant(
        self, line: Line, info: Record, parts: list[Record], time: datetime | None
    ) -> None:
        model = string(info.get("modelID"))
        self.facts(model=model, mode=info.get("mode") or info.get("agent"))
        message_id = self._messages.distinct(info.get("id"), f"message-{line.number}")
        about = {"message_id": message_id, "time": time, "usage": usage_of(info.get("tokens"))}
        for pieces, results in self._steps(parts):
            self.answer(line, pieces, results, model=model, **about)
        if isinstance(error := info.get("error"), dict):
            name = string(error.get("name"))
            text = string(mapping(error.get("data")).get("message")) or name
            aborted = name == "MessageAbortedError"
            note = Note(kind="interruption" if aborted else "failure", text=text)
            self.user(line, [note], time=time)

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
                call, result = _call_and_result(part, self._calls)
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
            return [Thinking(text=text, signature=_signature(part))]
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
        self.unknown(f"part/{kind}")
        return [Opaque(kind=str(kind), wire=part)]


# What the parts hold: calls with their results, files, token counts.


def _call_and_result(part: Record, ids: Ids) -> tuple[ToolCall, ToolResult | None]:
    """A tool part is a call and, once it has ended, its result."""
    state = mapping(part.get("state"))
    call = ToolCall(
        id=ids.distinct(part.get("callID"), part.get("id")),
        tool=string(part.get("tool")),
        parameters=parsed_arguments(state.get("input")),
    )
    if state.get("status") == "completed":
        return call, _completed(call, state)
    return call, _failed(call, state) if state.get("status") == "error" else None


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
    existed: Any = metadata.get("exists")
    if not isinstance(existed, bool):
        existed = mapping(metadata.get("filediff")).get("before")
    if call.tool not in ("write", "edit") or not isinstance(existed, (bool, str)):
        return ""
    return "update" if existed else "create"


def _attachment(file: Record) -> Media:
    mime = string(file.get("mime"))
    kind: Literal["image", "document", "file"] = "image" if mime.startswith("image/") else "file"
    found = media_from_url(string(file.get("url")), "document" if "pdf" in mime else kind)
    return Media(kind=found.kind, mime=found.mime or mime, data=found.data, url=found.url)


def _signature(part: Record) -> str:
    """The seal of a provider that seals its thinking."""
    for provider in mapping(part.get("metadata")).values():
        for name in ("signature", "reasoningEncryptedContent", "redactedData"):
            if sealed := string(mapping(provider).get(name)):
                return sealed
    return ""


def usage_of(counts: Any) -> Usage | None:
    """Tokens of a message; only in some versions does the output count the reasoning too."""
    found = tokens_in(counts, "input", "output", "total")
    cache = tokens_in(mapping(counts).get("cache"), "read", "write")
    if not found and not cache:
        return None
    given, read, written = found["input"], cache["read"], cache["write"]
    known = "total" in found and "input" in found
    rest = found["total"] - given - read - written if known else 0
    output = max(rest, found["output"])
    return Usage(input=given, output=output, cache_read=read, cache_write=written)
