"""Words the user queues while the agent works.

A queued message leaves the queue in one of three ways. It is *dequeued* and comes again as an
ordinary prompt. It is *removed*, because the agent was told in the middle of its run; then it
stands nowhere else, or once more in an attachment, before or behind the removal. Or the user takes
it back.
"""

from __future__ import annotations

import re

from kedge.formats.agents.claude_code.records import Entry
from kedge.formats.content.blocks import text_of
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.turns.draft import Piece
from kedge.model import Note, Text

_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)")
"""A command of the client, which does not come as a prompt."""
HEARD = (None, "absorbed_mid_turn")
"""Reasons for a removal that mean the agent was told."""


class Queue:
    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._announced: list[str] = []
        """Dequeued, and expected as a prompt of their own."""
        self._removed: list[str] = []
        """Told to the agent by a removal; an attachment may repeat them."""
        self._attached: list[str] = []
        """Told to the agent by an attachment; a removal may repeat them."""

    def operate(self, entry: Entry) -> list[Piece]:
        """One queue operation; what the agent hears or the user takes back through it."""
        text = text_of(entry.content)
        if entry.operation == "enqueue" and text:
            self._waiting.append(text)
        elif entry.operation == "dequeue" and self._waiting:
            self._announced.append(self._waiting.pop(0))
        elif entry.operation == "remove" and (removed := self._take(text)):
            return self._leaves(removed, entry.reason)
        elif entry.operation == "popAll":
            taken, self._waiting = self._waiting, []
            return [Note(kind="withdrawn", text=words) for words in taken]
        return []

    def arrived(self, text: str) -> None:
        """A prompt came: what it holds is no longer expected. Several may come as one."""
        lines = f"\n{text.strip()}\n"
        self._announced = [t for t in self._announced if f"\n{t.strip()}\n" not in lines]

    def attached(self, text: str) -> list[Piece]:
        """An attachment with queued words; they count once."""
        if text in self._removed:
            self._removed.remove(text)
            return []
        self._attached.append(text)
        return queued(text)

    def missed(self) -> list[Piece]:
        """What was announced and has not come although the agent goes on."""
        words, self._announced = self._announced, []
        return [p for text in words if text not in self._attached for p in _unheard(text)]

    def left(self) -> list[Piece]:
        """What was announced and never came, and what still waits: the user's words too."""
        waiting, self._waiting = self._waiting, []
        unheard = [text for text in waiting if text not in self._attached]
        return [*self.missed(), *(piece for text in unheard for piece in queued(text))]

    def _leaves(self, text: str, reason: str | None) -> list[Piece]:
        if text in self._attached:
            self._attached.remove(text)
            return []
        if reason not in HEARD:
            return [Note(kind="withdrawn", text=text)]
        self._removed.append(text)
        return queued(text)

    def _take(self, text: str) -> str:
        if text in self._waiting:
            self._waiting.remove(text)
            return text
        return self._waiting.pop(0) if self._waiting else ""


def _unheard(text: str) -> list[Piece]:
    return [Note(kind="command", text=text)] if _COMMAND.match(text) else queued(text)


def queued(text: str) -> list[Piece]:
    return [
        Text(text=piece.text, queued=True) if isinstance(piece, Text) else piece
        for piece in said_by_user(text)
    ]
