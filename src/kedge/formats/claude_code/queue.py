"""Words the user queues while the agent works.

A queued message leaves the queue in one of three ways. It is *dequeued* and comes again as an ordinary
prompt; it is *removed*, because the agent was told in the middle of its run, and then stands nowhere
else (newer versions add an attachment with the same words); or the user takes it back.
"""

from __future__ import annotations

from typing import Any

from kedge.formats.blocks import text_of
from kedge.formats.draft import Piece
from kedge.formats.wrappers import said_by_user
from kedge.model import Note, Text


class Queue:
    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._announced: list[str] = []
        """Dequeued, and expected as a prompt of their own."""
        self._heard: list[str] = []
        """Told to the agent; an attachment may repeat them."""

    def operate(self, operation: str | None, content: Any) -> list[Piece]:
        """One queue operation; what the agent hears or the user takes back through it."""
        text = text_of(content)
        if operation == "enqueue" and text:
            self._waiting.append(text)
        elif operation == "dequeue" and self._waiting:
            self._announced.append(self._waiting.pop(0))
        elif operation == "remove" and (removed := self._take(text)):
            self._heard.append(removed)
            return queued(removed)
        elif operation == "popAll":
            taken, self._waiting = self._waiting, []
            return [Note(kind="withdrawn", text=words) for words in taken]
        return []

    def arrived(self, text: str) -> None:
        """A prompt came: it is no longer expected."""
        if text in self._announced:
            self._announced.remove(text)

    def attached(self, text: str) -> list[Piece]:
        """An attachment repeats queued words; they count once."""
        if text in self._heard:
            self._heard.remove(text)
            return []
        return queued(text)

    def left(self) -> list[Piece]:
        """What was announced and never came, and what still waits: the user's words all the same."""
        words, self._announced, self._waiting = [*self._announced, *self._waiting], [], []
        return [piece for text in words for piece in queued(text)]

    def missed(self) -> list[Piece]:
        """What was announced and has not come although the agent goes on."""
        words, self._announced = self._announced, []
        return [piece for text in words for piece in queued(text)]

    def _take(self, text: str) -> str:
        if text in self._waiting:
            self._waiting.remove(text)
            return text
        return self._waiting.pop(0) if self._waiting else ""


def queued(text: str) -> list[Piece]:
    return [
        Text(text=piece.text, queued=True) if isinstance(piece, Text) else piece
        for piece in said_by_user(text)
    ]
