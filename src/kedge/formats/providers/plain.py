"""Conversations of roles and texts, with no tools: JSON, JSON Lines, ShareGPT, and the words of the
Vercel AI SDK's messages, whose parts name their type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kedge.formats.content.blocks import text_of
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mappings, string
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.messages import as_notes, note_summaries, sampled, turns_of
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Role, Text, Turn

KEYS = ("messages", "conversation", "conversations")
ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}


class PlainConversation:
    name = "plain"

    def sniff(self, head: Head) -> int:
        messages = sampled(head, KEYS)
        if not all(_is_message(message) for message in messages):
            return 0
        return 1 if any(_said(message) for message in messages) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, KEYS)


FORMAT = PlainConversation()


class MessageReader:
    name = "plain"

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log

    def begin(self, body: Record) -> Record:
        self._log.fact("model", body.get("model"), turn=0)
        self._log.fact("title", body.get("title"), turn=0)
        return body

    def take(self, line: Line, message: Record) -> None:
        name, text = _role(message), self._text(message)
        role = ROLES.get(name.lower())
        if not text.strip():
            return
        if role == "assistant":
            self.assembler.assistant(line, [Text(text=text)])
        elif role == "system":
            self.assembler.system(line, [Text(text=text)])
        elif role == "user":
            self._user(line, said_by_user(text))
        else:
            if role is None:
                self._log.ignored[f"role/{name}"] += 1
            self.assembler.user(line, as_notes([Text(text=text)]), role="tool")

    def _text(self, message: Record) -> str:
        parts = _typed_parts(message)
        if not parts:
            return text_of(_content(message))
        texts = [string(part.get("text")) for part in parts if part.get("type") == "text"]
        for part in parts:
            if part.get("type") != "text":
                self._log.ignored[f"part/{part.get('type')}"] += 1
        return "\n\n".join(filter(None, texts))

    def _user(self, line: Line, pieces: Sequence[Piece]) -> None:
        note_summaries(self._log, self.assembler, line, pieces)
        self.assembler.user(line, pieces)


def _role(message: Record) -> str:
    return str(message.get("role", message.get("from", "")))


def _content(message: Record) -> Any:
    return message.get("content", message.get("value"))


def _typed_parts(message: Record) -> list[Record]:
    """The parts of a message that has them in place of content; Gemini's have no type."""
    parts = mappings(message.get("parts")) if _content(message) is None else []
    return parts if all(isinstance(part.get("type"), str) for part in parts) else []


def _said(message: Record) -> bool:
    return isinstance(_content(message), (str, list)) or bool(_typed_parts(message))


def _is_message(message: Record) -> bool:
    """A known role, and content; it may be null where others have some."""
    empty = _content(message) is None and message.keys() & {"content", "value"}
    return _role(message).lower() in ROLES and (_said(message) or bool(empty))
