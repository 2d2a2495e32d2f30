"""Recorded chats of Gemini CLI into turns."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape
from itertools import chain
from typing import Any

from kedge.formats.agents.gemini_cli.content import (
    call_and_result,
    heard,
    hooks_of,
    said,
    text_in,
    thoughts_of,
    usage_of,
)
from kedge.formats.content.blocks import time_of
from kedge.formats.intake.documents import document, first_lines, is_document
from kedge.formats.intake.fields import Ids, mapping, mappings, mislisted, misshapen, string
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record, json_records
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.formats.turns.places import Places
from kedge.model import EarlierCompaction, Note, Source, Turn

MESSAGE_TYPES = ("user", "gemini", "info", "warning", "error")
SNAPSHOT = "<state_snapshot>"
"""How the summary of the client's own compaction begins."""
HEARD = "Got it. Thanks for the additional context!"
"""What the client has the model say to a summary: that is how one is known that begins with what
its writer thought, or has no tag."""


class GeminiCli:
    name = "gemini-cli"

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
        session = SessionReader(log)
        taken, rest = first_lines(lines)
        every = chain(taken, rest)
        if not is_document(taken):
            for line, record in json_records(every, log, known=_is_record):
                session.record(line, record)
                yield from session.main.ready()
        else:
            value = mapping(document(every, log))
            session.facts(value)
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


class SessionReader:
    """Takes the messages of one chat in their order."""

    def __init__(self, log: Log) -> None:
        self.main = Assembler(log)
        self._log = log
        self._held: tuple[Line, Record] | None = None
        """The last message of a JSON Lines file: the client writes it again when it grows."""
        self._places = Places(log, self.main)

    def record(self, line: Line, record: Record) -> None:
        """One record of a JSON Lines file: a message, a change of the metadata, or a rewind."""
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif _is_message(record):
            self._hold(line, record)
        elif isinstance(record.get("$set"), dict):
            self._changed(line, record["$set"])
        elif _is_metadata(record):
            self.facts(record)
        else:
            self._log.ignored[str(record.get("type") or "(no type)")] += 1

    def facts(self, value: Record) -> None:
        turn = self.main.next_turn
        if value.get("kind") == "subagent":
            self.main.agent = string(value.get("sessionId"))
        self._log.fact("id", value.get("sessionId"), turn=turn)
        self._log.fact("title", value.get("summary"), turn=turn)

    def take(self, line: Line, message: Any) -> None:
        """One message."""
        if not isinstance(message, dict):
            self._log.broken("shape", line, f"a {type(message).__name__}, not a message")
            return
        if identity := string(message.get("id")):
            self._places.remember(identity)
        kind, content = message.get("type"), message.get("content")
        parts = [content] if isinstance(content, dict) else content
        for wrong in (
            misshapen(parts, texts=True),
            mislisted(message.get("thoughts")),
            mislisted(message.get("toolCalls")),
        ):
            if wrong:
                self._log.broken("shape", line, f"{kind}: {wrong}")
        if kind == "gemini":
            self._gemini(line, message)
        elif kind == "user":
            self._user(line, message)
        elif kind in ("info", "warning", "error"):
            if text := text_in(content):
                note = Note(kind="failure" if kind == "error" else "injected", text=text)
                self._places.user(line, [note], time=time_of(message.get("timestamp")))
        else:
            self._log.ignored[str(kind or "(no type)")] += 1

    def flush(self) -> None:
        """The message held is complete."""
        if self._held is not None:
            held, self._held = self._held, None
            self.take(*held)

    def _hold(self, line: Line, message: Record) -> None:
        identity = string(message.get("id"))
        if self._held is not None and identity and self._held[1].get("id") == identity:
            first = self._held[0]
            line = Line(first.number, first.start, line.end, line.data, last=line.number)
        elif identity and self._places.seen(identity):
            self._log.broken("duplicate", line, f"message {identity!r} occurs twice")
            return
        else:
            self.flush()
        self._held = (line, message)

    def _rewind(self, identity: str) -> None:
        """The user went back to just before a message; one that is nowhere means the beginning."""
        self.flush()
        if not self._places.go_back(identity):
            self._places.go_back(None)

    def _changed(self, line: Line, values: Record) -> None:
        """New metadata. A new list of messages is the client's own compaction: what it leaves out
        still happened, and only the summary in it is new."""
        self.facts(values)
        messages = mappings(values.get("messages"))
        for message, answer in zip(messages, [*messages[1:], {}], strict=False):
            text, identity = text_in(message.get("content")), string(message.get("id"))
            heard_of = message.get("type") == "user" and text_in(answer.get("content")) == HEARD
            is_summary = heard_of or text.lstrip().startswith(SNAPSHOT)
            if text and is_summary and not self._places.seen(identity):
                self.flush()
                self._places.remember(identity)
                self._compaction(line, text)

    def _compaction(self, line: Line, summary: str) -> None:
        source = Source(first=line.number, last=line.number, start=line.start, end=line.end)
        self._log.compactions.append(
            EarlierCompaction(
                turn=self.main.next_turn, by="gemini-cli", summary=summary, source=source
            )
        )

    def _user(self, line: Line, message: Record) -> None:
        pieces = heard(message.get("content"))
        summaries = [
            p for p in pieces if isinstance(p, Note) and p.text.lstrip().startswith(SNAPSHOT)
        ]
        for note in summaries:
            self._compaction(line, note.text)
        if left := [piece for piece in pieces if piece not in summaries]:
            self._places.user(line, left, time=time_of(message.get("timestamp")))

    def _gemini(self, line: Line, message: Record) -> None:
        model = string(message.get("model"))
        ids = Ids()
        items = mappings(message.get("toolCalls"))
        calls = [call_and_result(item, ids) for item in items]
        for item, (call, _) in zip(items, calls, strict=True):
            if agent := string(item.get("agentId")):
                self._log.links.told(agent, call.id)
        pieces: list[Piece] = [*thoughts_of(message), *said(message.get("content"))]
        pieces.extend(call for call, _ in calls)
        if not pieces:
            return
        told = [note for item in items for note in hooks_of(item)]
        self._places.answered()
        self._log.fact("model", model, turn=self.main.next_turn)
        self.main.assistant(
            line,
            pieces,
            message_id=string(message.get("id")),
            time=time_of(message.get("timestamp")),
            model=model,
            usage=usage_of(message.get("tokens")),
        )
        if results := [result for _, result in calls if result is not None]:
            self.main.results(line, results)
        if told:
            self._places.user(line, told, time=time_of(message.get("timestamp")))
