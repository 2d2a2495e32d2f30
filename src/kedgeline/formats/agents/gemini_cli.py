"""Gemini CLI: recorded chats, a JSON document or, in newer versions, JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import escape
from typing import Any

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import cuts, said_around
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    documented,
    json_records,
    mapping,
    mappings,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Note, NoteKind, Text, Thinking, ToolCall, ToolResult, Turn

NAME = "gemini-cli"
NOTES: dict[str, NoteKind] = {"info": "injected", "warning": "injected", "error": "failure"}
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


class _Chat(SessionReader):
    _held: tuple[Line, Record] | None = None
    """The last message of a JSON Lines file: the client writes it again when it grows."""

    def take(self, line: Line, record: Record) -> None:
        """One record of a JSON Lines file: a message, a change of the metadata, or a rewind."""
        if isinstance(target := record.get("$rewindTo"), str):
            # To just before a message; one that is nowhere means the beginning.
            self.close()
            if not self.go_back(target):
                self.go_back(None)
        elif _is_message(record):
            self._hold(line, record)
        elif isinstance(record.get("$set"), dict):
            self._changed(line, record["$set"])
        elif _is_metadata(record):
            self.metadata(record)
        else:
            self.unknown(record.get("type"))

    def close(self) -> None:
        """The message held is complete."""
        if self._held is not None:
            held, self._held = self._held, None
            self.message(*held)

    def metadata(self, value: Record) -> None:
        if value.get("kind") == "subagent":
            self.main.agent = string(value.get("sessionId"))
        self.facts(id=value.get("sessionId"), title=value.get("summary"))

    def message(self, line: Line, message: Record) -> None:
        if identity := string(message.get("id")):
            self.remember(identity)
        kind, content, time = message.get("type"), message.get("content"), message.get("timestamp")
        said, lists = [content] if isinstance(content, dict) else content, ("thoughts", "toolCalls")
        self.check(line, kind, said, *map(message.get, lists), texts=True)
        if kind == "gemini":
            self._gemini(line, message, time)
        elif kind == "user":
            self._user(line, content, time)
        elif note := NOTES.get(string(kind)):
            self.note(line, note, _text_in(content), time=time)
        else:
            self.unknown(kind)

    def _hold(self, line: Line, message: Record) -> None:
        identity = string(message.get("id"))
        if self._held is not None and identity and self._held[1].get("id") == identity:
            line = self._held[0].to(line)
        elif identity and self.seen(identity):
            self.log.broken("duplicate", line, f"message {identity!r} occurs twice")
            return
        else:
            self.close()
        self._held = (line, message)

    def _changed(self, line: Line, values: Record) -> None:
        """New metadata. A new list of messages is the client's own compaction: what it leaves out
        still happened, and only the summary in it is new."""
        self.metadata(values)
        messages = mappings(values.get("messages"))
        for message, answer in zip(messages, [*messages[1:], {}], strict=False):
            text, identity = _text_in(message.get("content")), string(message.get("id"))
            answered = message.get("type") == "user" and _text_in(answer.get("content")) == HEARD
            is_summary = answered or text.lstrip().startswith(SNAPSHOT)
            if text and is_summary and not self.seen(identity):
                self.close()
                self.remember(identity)
                self.main.compacted(line, by=NAME, summary=text)

    def _user(self, line: Line, content: Any, time: Any) -> None:
        heard: list[Piece] = []
        for piece in _heard(content):
            if isinstance(piece, Note) and piece.text.lstrip().startswith(SNAPSHOT):
                self.main.compacted(line, by=NAME, summary=piece.text)
            else:
                heard.append(piece)
        self.user(line, heard, time=time)

    def _gemini(self, line: Line, message: Record, time: Any) -> None:
        ids, items = pieces.DistinctIds(), mappings(message.get("toolCalls"))
        calls: list[Piece] = []
        results: list[ToolResult] = []
        for item in items:
            call = pieces.call(
                ids.one_of(item.get("id"), item.get("name")), item.get("name"), item.get("args")
            )
            calls.append(call)
            if agent := string(item.get("agentId")):
                self.log.links.told(agent, call.id)
            if item.get("status") in _ENDED or item.get("result"):
                results.append(_result(call, item))
        said = [*_thoughts(message), *_said(message.get("content")), *calls]
        if not said:
            return
        self.facts(model=message.get("model"))
        about: Record = {"model": message.get("model"), "message_id": message.get("id")}
        names = (("input", "tool"), ("output", "thoughts"), "cached")
        usage = pieces.usage_in(message.get("tokens"), *names, within=True)
        self.answer(line, said, results, time=time, usage=usage, **about)
        hooks = [words for item in items for words in _hooks(item)]
        self.user(line, [Note(kind="hook", text=words) for words in hooks], time=time)


# What the messages hold: words, thoughts, calls with their results.


def _parts(content: Any) -> list[Record]:
    """Content as parts: a text, a part, or a list of both."""
    items = content if isinstance(content, list) else [content]
    return mappings([{"text": item} if isinstance(item, str) else item for item in items])


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
    """What the model said; calls in it are skipped: `toolCalls` has them with their results."""
    for part in _parts(content):
        text = string(part.get("text"))
        if part.get("thought") is True:
            yield Thinking(text=text, signature=string(part.get("thoughtSignature")))
        elif text:
            yield Text(text=text)
        yield from _media(part)


def _thoughts(message: Record) -> Iterator[Piece]:
    for thought in mappings(message.get("thoughts")):
        words = (string(thought.get("subject")), string(thought.get("description")))
        yield from pieces.thoughts(": ".join(filter(None, words)))


def _media(part: Record) -> list[Media]:
    return list(filter(None, [pieces.media_of_part(part)]))


def _hooks(item: Record) -> list[str]:
    """What hooks said of a call."""
    output, error, _ = _returned(item.get("result"))
    return _HOOK.findall(f"{output}\n{error}")


def _result(call: ToolCall, item: Record) -> ToolResult:
    output, failure, media = _returned(item.get("result"))
    output, error = _HOOK.sub("", output), _HOOK.sub("", failure)
    status = item.get("status")
    cancelled = status == "cancelled"
    stopped = cancelled and _STOPPED in error
    # The exit code stands behind the command's output: the last such line is the tool's own.
    codes = _EXIT_CODE.findall(output) if call.verb == "run" else ()
    return pieces.result(
        call.id,
        output or error,
        failed=status == "error" or (bool(error) and status != "success"),
        exit_code=int(codes[-1]) if codes and codes[-1] else None,
        refused=cancelled and not stopped,
        interrupted=stopped,
        error=error,
        change=_change(call, item),
        media=media,
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
            output = pieces.as_json(response)
        outputs.extend((string(part.get("text")), string(output)))
        errors.append(error)
        media.extend(_media(part))
    return "\n".join(filter(None, outputs)), "\n".join(filter(None, errors)), media


def _change(call: ToolCall, item: Record) -> pieces.Change:
    """What the tool shows to have done to the file: a new one had no content before."""
    shown = mapping(item.get("resultDisplay"))
    if call.verb not in ("write", "edit") or "originalContent" not in shown:
        return ""
    return "update" if shown["originalContent"] else "create"


class _GeminiCli:
    name = NAME

    def beside(self, stem: str, log: Log) -> list[str]:
        """Sub-agents' chats lie in a folder that has the session's id as its name."""
        session = log.latest("id")
        return [f"{escape(session)}/*.jsonl"] if session else []

    def sniff(self, head: FileHead) -> int:
        value = head.document
        if isinstance(value, dict):
            return 3 if _is_metadata(value) else 0
        if any(map(_is_metadata, head.lines)):
            return 3
        # Where the first line is damaged, the messages still name their speaker.
        return 2 if any(r.get("type") == "gemini" and _is_message(r) for r in head.lines) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        chat = _Chat(log)
        whole, every = documented(lines)
        if not whole:
            yield from chat.turns(json_records(every, log, known=_is_record))
            return
        value = mapping(document(every, log))
        chat.metadata(value)
        for line, message in numbered_items(value.get("messages"), log, what="a message"):
            chat.message(line, message)
        yield from chat.finish()


FORMAT = _GeminiCli()


def _is_metadata(record: Record) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _is_message(record: Record) -> bool:
    return record.get("type") in MESSAGE_TYPES and "content" in record


def _is_record(record: Record) -> bool:
    return _is_message(record) or _is_metadata(record) or "$set" in record or "$rewindTo" in record
