"""Conversations of roles and texts, with no tools."""

from __future__ import annotations

from typing import Any

from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_notes, plain_words, said_by_user
from kedgeline.formats.providers.messages import CALL_BLOCKS, unread_of
from kedgeline.formats.providers.shape import ProviderShape, Reader, Sample
from kedgeline.formats.records import Record, mappings, string
from kedgeline.formats.registry import Unread
from kedgeline.model import Role, Text

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


class PlainConversation(ProviderShape):
    name, keys = "plain", ("messages", "conversation", "conversations")
    foreign = CALL_BLOCKS

    def knows(self, message: Record) -> bool:
        """A known role, and content; it may be null where others have some."""
        empty = _content(message) is None and message.keys() & {"content", "value"}
        return _role(message).lower() in ROLES and (_says_something(message) or bool(empty))

    def sure(self, seen: Sample) -> int:
        return 1 if any(map(_says_something, seen.messages)) else 0

    def unread(self, message: Record) -> Unread | None:
        said = {**message, "role": _role(message).lower()}
        return unread_of(said, tuple(ROLES), ("content", "value"), self.foreign)

    def reader(self, log: Log, session: int) -> Reader:
        return _Reader(log, session, self)

    def spoken(self, text: str) -> Record:
        return {"role": "user", "content": text}


FORMAT = PlainConversation()


class _Reader(Reader):
    def begin(self, body: Record) -> Record:
        self.log.fact("title", body.get("title"), turn=0)
        return super().begin(body)

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
            pieces = said_by_user(text)
            self.report(line, pieces)
            self.assembler.user(line, pieces)
        else:
            if role is None:
                self.log.ignored[f"role/{name}"] += 1
            self.assembler.user(line, as_notes([Text(text=text)]), role="tool")

    def _text(self, message: Record) -> str:
        parts = _typed_parts(message)
        if not parts:
            return plain_words(_content(message))
        for part in parts:
            if part.get("type") != "text":
                self.log.ignored[f"part/{part.get('type')}"] += 1
        texts = [string(part.get("text")) for part in parts if part.get("type") == "text"]
        return "\n\n".join(filter(None, texts))


def _role(message: Record) -> str:
    return str(message.get("role", message.get("from", "")))


def _content(message: Record) -> Any:
    return message.get("content", message.get("value"))


def _typed_parts(message: Record) -> list[Record]:
    """The parts of a message that has them in place of content; Gemini's have no type."""
    parts = mappings(message.get("parts")) if _content(message) is None else []
    return parts if all(isinstance(part.get("type"), str) for part in parts) else []


def _says_something(message: Record) -> bool:
    return isinstance(_content(message), (str, list)) or bool(_typed_parts(message))
