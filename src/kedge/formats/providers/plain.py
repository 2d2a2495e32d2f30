"""Conversations of roles and texts, with no tools: JSON, JSON Lines, ShareGPT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kedge.formats.content.blocks import text_of
from kedge.formats.content.wrappers import said_by_user
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
        return 1 if messages and all(_is_message(message) for message in messages) else 0

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
        name, text = _role(message), text_of(_content(message))
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

    def _user(self, line: Line, pieces: Sequence[Piece]) -> None:
        note_summaries(self._log, self.assembler, line, pieces)
        self.assembler.user(line, pieces)


def _role(message: Record) -> str:
    return str(message.get("role", message.get("from", "")))


def _content(message: Record) -> Any:
    return message.get("content", message.get("value"))


def _is_message(message: Record) -> bool:
    known = _role(message).lower() in ROLES
    return known and isinstance(_content(message), (str, list, type(None)))
