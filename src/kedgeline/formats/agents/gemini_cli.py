"""Gemini CLI: recorded chats, a JSON document or, in newer versions, JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import escape
from typing import Any, Literal

from kedgeline.formats.content import (
    Ids,
    Kind,
    as_json,
    cuts,
    parsed_arguments,
    said_around,
    time_of,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    document,
    documented,
    json_records,
    mapping,
    mappings,
    mislisted,
    misshapen,
    string,
    tokens_in,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Media, Note, Text, Thinking, ToolCall, ToolResult, Turn, Usage

NAME = "gemini-cli"
NOTES = ("info", "warning", "error")
"""What the client itself says."""
MESSAGE_TYPES = ("user", "gemini", *NOTES)
SNAPSHOT = "<state_snapshot>"
"""How the summary of the client's own compaction begins."""
HEARD = "Got it. Thanks for the additional context!"
"""What the client has the model say to a summary: that is how one is known that begins with what
its writer thought, or has no tag."""
_EXIT_CODE = re.compile(r"^Exit Code: (?:(-?\d{1,10})\b|\(none\))", re.MULTILINE)
_STOPPED = "User cancelled tool execution"
"""How the client words a call that was stopped while it ran, and not refused before."""
_ENDED = ("success", "error", "cancelled")
_HOOK = re.compile(r"\s*(<hook_context>[^<>]*</hook_context>)")
"""What a hook said, which the client puts behind the output of a call. There is no other tag in it:
the client writes angle brackets in it as entities."""
_KINDS: tuple[Kind, ...] = ("image", "audio", "video")


class GeminiCli:
    name = NAME

    def beside(self, stem: str, log: Log) -> list[str]:
        """Sub-agents' chats lie in a folder that has the session's id as its name."""
        session = log.latest("id")
        return [f"{escape(session)}/*.jsonl"] if session else []

    def sniff(self, head: Head) -> int:
        value = head.document
        if isinstance(value, dict):
            return 3 if _is_metadata(value) else 0
        if any(_is_metadata(record) for record in head.lines):
            return 3
        # Where the first line is damaged, the messages still name their speaker.
        return 2 if any(r.get("type") == "gemini" and _is_message(r) for r in head.lines) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        session = Chat(log)
        whole, every = documented(lines)
        if not whole:
            for line, record in json_records(every, log, known=_is_record):
                session.record(line, record)
                yield from session.main.ready()
        else:
            value = mapping(document(every, log))
            session.metadata(value)
            messages = value.get("messages")
            for number, message in enumerate(messages if isinstance(messages, list) else ()):
                session.take(Line(number), message)
                yield from session.main.ready()
        session.flush()
        yield from session.main.finish()


FORMAT = GeminiCli()


def _is_metadata(record: Record) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _is_message(record: Record) -> bool:
    return record.get("type") in MESSAGE_TYPES and "content" in record


def _is_record(record: Record) -> bool:
    return _is_message(record) or _is_metadata(record) or "$set" in record or "$rewindTo" in record


class Chat(SessionReader):
    """Takes the messages of one chat in their order."""

    _held: tuple[Line, Record] | None = None
    """The last message of a JSON Lines file: the client writes it again when it grows."""

    def record(self, line: Line, record: Record) -> None:
        """One record of a JSON Lines file: a message, a change of the metadata, or a rewind."""
        if isinstance(target := record.get("$rewindTo"), str):
            # To just before a message; one that is nowhere means the beginning.
            self.flush()
            if not self.places.go_back(target):
                self.places.go_back(None)
        elif _is_message(record):
            self._hold(line, record)
        elif isinstance(record.get("$set"), dict):
            self._changed(line, record["$set"])
        elif _is_metadata(record):
            self.metadata(record)
        else:
            self.unknown(record.get("type"))

    def metadata(self, value: Record) -> None:
        if value.get("kind") == "subagent":
            self.main.agent = string(value.get("sessionId"))
        self.facts(id=value.get("sessionId"), title=value.get("summary"))

    def take(self, line: Line, message: Any) -> None:
        """One message."""
        if not isinstance(message, dict):
            self.log.broken("shape", line, f"a {type(message).__name__}, not a message")
            return
        if identity := string(message.get("id")):
            self.places.remember(identity)
        kind, content = message.get("type"), message.get("content")
        parts = [content] if isinstance(content, dict) else content
        lists = (mislisted(message.get("thoughts")), mislisted(message.get("toolCalls")))
        self.misshapen(line, kind, misshapen(parts, texts=True), *lists)
        if kind == "gemini":
            self._gemini(line, message)
        elif kind == "user":
            self._user(line, message)
        elif kind in NOTES:
            note: Literal["failure", "injected"] = "failure" if kind == "error" else "injected"
            self.note(line, note, _text_in(content), time=time_of(message.get("timestamp")))
        else:
            self.unknown(kind)

    def flush(self) -> None:
        """The message held is complete."""
        if self._held is not None:
            held, self._held = self._held, None
            self.take(*held)

    def _hold(self, line: Line, message: Record) -> None:
        identity = string(message.get("id"))
        if self._held is not None and identity and self._held[1].get("id") == identity:
            first = self._held[0]
            line = Line(first.number, first.start, line.end, last=line.number)
        elif identity and self.places.seen(identity):
            self.log.broken("duplicate", line, f"message {identity!r} occurs twice")
            return
        else:
            self.flush()
        self._held = (line, message)

    def _changed(self, line: Line, values: Record) -> None:
        """New metadata. A new list of messages is the client's own compaction: what it leaves out
        still happened, and only the summary in it is new."""
        self.metadata(values)
        messages = mappings(values.get("messages"))
        for message, answer in zip(messages, [*messages[1:], {}], strict=False):
            text, identity = _text_in(message.get("content")), string(message.get("id"))
            heard_of = message.get("type") == "user" and _text_in(answer.get("content")) == HEARD
            is_summary = heard_of or text.lstrip().startswith(SNAPSHOT)
            if text and is_summary and not self.places.seen(identity):
                self.flush()
                self.places.remember(identity)
                self.main.compacted(line, by=NAME, summary=text)

    def _user(self, line: Line, message: Record) -> None:
        pieces: list[Piece] = []
        for piece in _heard(message.get("content")):
            if isinstance(piece, Note) and piece.text.lstrip().startswith(SNAPSHOT):
                self.main.compacted(line, by=NAME, summary=piece.text)
            else:
                pieces.append(piece)
        self.user(line, pieces, time=time_of(message.get("timestamp")))

    def _gemini(self, line: Line, message: Record) -> None:
        ids, items = Ids(), mappings(message.get("toolCalls"))
        calls = [_call(item, ids) for item in items]
        for item, call in zip(items, calls, strict=True):
            if agent := string(item.get("agentId")):
                self.log.links.told(agent, call.id)
        pieces = [*_thoughts(message), *_said(message.get("content")), *calls]
        if not pieces:
            return
        time = time_of(message.get("timestamp"))
        ended = [
            _result(call, item)
            for item, call in zip(items, calls, strict=True)
            if item.get("status") in _ENDED or item.get("result")
        ]
        about = {"message_id": string(message.get("id")), "usage": usage_of(message.get("tokens"))}
        model = string(message.get("model"))
        self.answer(line, pieces, ended, model=model, time=time, **about)
        hooks = [said for item in items for said in _hooks(item)]
        self.user(line, [Note(kind="hook", text=said) for said in hooks], time=time)


# What the messages hold: words, thoughts, calls with their results.


def _parts(content: Any) -> list[Record]:
    """Content as parts: a text, a part, or a list of both."""
    items = content if isinstance(content, list) else [content]
    texts = [{"text": item} if isinstance(item, str) else item for item in items]
    return [item for item in texts if isinstance(item, dict)]


def _text_in(content: Any) -> str:
    return "\n".join(text for part in _parts(content) if (text := string(part.get("text"))))


def _heard(content: Any) -> Iterator[Piece]:
    parts = _parts(content)
    texts = [string(part.get("text")) for part in parts]
    for part, text, cut in zip(parts, texts, cuts(texts), strict=True):
        if text.strip():
            yield from said_around(text, cut)
        yield from _media(part)


def _said(content: Any) -> Iterator[Piece]:
    """What the model said; calls in it are passed over: `toolCalls` has them with their results."""
    for part in _parts(content):
        text, signature = string(part.get("text")), string(part.get("thoughtSignature"))
        if part.get("thought") is True:
            yield Thinking(text=text, signature=signature)
        elif text:
            yield Text(text=text)
        yield from _media(part)


def _thoughts(message: Record) -> Iterator[Thinking]:
    for thought in mappings(message.get("thoughts")):
        words = (string(thought.get("subject")), string(thought.get("description")))
        if text := ": ".join(filter(None, words)):
            yield Thinking(text=text)


def _media(part: Record) -> list[Media]:
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    if not inline and not file:
        return []
    mime = string(inline.get("mimeType")) or string(file.get("mimeType"))
    kind: Kind = next((kind for kind in _KINDS if mime.startswith(f"{kind}/")), "file")
    data, url = string(inline.get("data")), string(file.get("fileUri"))
    return [Media(kind=kind, mime=mime, data=data, url=url)]


def _hooks(item: Record) -> list[str]:
    """What hooks said of a call."""
    output, error, _ = _returned(item.get("result"))
    return _HOOK.findall("\n".join((output, error)))


def _call(item: Record, ids: Ids) -> ToolCall:
    return ToolCall(
        id=ids.distinct(item.get("id"), item.get("name")),
        tool=string(item.get("name")),
        parameters=parsed_arguments(item.get("args")),
    )


def _result(call: ToolCall, item: Record) -> ToolResult:
    told, failure, media = _returned(item.get("result"))
    output, error = _HOOK.sub("", told), _HOOK.sub("", failure)
    cancelled = item.get("status") == "cancelled"
    stopped = cancelled and _STOPPED in error
    # The exit code stands behind the command's output: the last such line is the tool's own.
    codes = _EXIT_CODE.findall(output) if call.verb == "run" else ()
    code = int(codes[-1]) if codes and codes[-1] else None
    failed = item.get("status") == "error" or (bool(error) and item.get("status") != "success")
    success = not (cancelled or failed or code not in (None, 0))
    text = output or error
    return ToolResult(
        call_id=call.id,
        success=success,
        output=text,
        error=None if success or cancelled else error or output,
        exit_code=code,
        refused=cancelled and not stopped,
        interrupted=stopped,
        change=_change(call, item) if success else "",
        media=tuple(media),
    )


def _returned(result: Any) -> tuple[str, str, list[Media]]:
    """Output, error and media of a call's result."""
    outputs: list[str] = []
    errors: list[str] = []
    media: list[Media] = []
    for part in _parts(result):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        output, error = response.get("output"), string(response.get("error"))
        if response and not error and not isinstance(output, str):
            output = as_json(response)
        outputs.extend((string(part.get("text")), string(output)))
        errors.append(error)
        media.extend(_media(part))
    return "\n".join(filter(None, outputs)), "\n".join(filter(None, errors)), media


def _change(call: ToolCall, item: Record) -> Literal["", "create", "update"]:
    """What the tool shows to have done to the file: a new one had no content before."""
    shown = mapping(item.get("resultDisplay"))
    if call.verb not in ("write", "edit") or "originalContent" not in shown:
        return ""
    return "update" if shown["originalContent"] else "create"


def usage_of(counts: Any) -> Usage | None:
    """Tokens of one answer; what came from the cache is counted within the input."""
    found = tokens_in(counts, "input", "output", "cached", "thoughts", "tool")
    if not found:
        return None
    return Usage(
        input=max(found["input"] - found["cached"], 0) + found["tool"],
        output=found["output"] + found["thoughts"],
        cache_read=found["cached"],
    )
