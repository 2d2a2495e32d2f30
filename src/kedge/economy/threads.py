"""How large the context of a conversation was at each of its turns."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from kedge.economy.sizes import Sizes
from kedge.model import Turn

NOT_REPORTED = -1


class Base(NamedTuple):
    """Where the context of a conversation begins: at its first turn, or behind a compaction."""

    turn: int = 0
    tokens: int = 0
    """Of what stands before that turn: the system prompt, or a summary."""


class Thread:
    """Numbers of the turns that stand, a few bytes for each. A turn takes back what was there from
    its index on."""

    def __init__(self) -> None:
        self._before = array("q", [0])
        """Tokens of all turns before each one; the last is of the turn to come."""
        self._words = array("q")
        self._contexts = array("q")
        self._writes = array("q")
        self._reported = array("q")
        """Indexes of turns whose context was reported."""

    def __len__(self) -> int:
        return len(self._words)

    def take(self, turn: Turn, sizes: Sizes) -> None:
        self.cut(turn.index)
        while len(self) < turn.index:  # turns that were not given
            self._add(0, 0, NOT_REPORTED, 0)
        usage = turn.usage
        if usage is not None and usage.context:
            self._reported.append(len(self))
            self._add(sizes.words, sizes.total, usage.context, usage.cache_write)
        else:
            self._add(sizes.words, sizes.total, NOT_REPORTED, 0)

    def cut(self, length: int) -> None:
        length = max(0, length)
        if length < len(self):
            del self._words[length:], self._contexts[length:], self._writes[length:]
            del self._before[length + 1 :]
            while self._reported and self._reported[-1] >= length:
                self._reported.pop()

    def carried(self, base: Base) -> int:
        """What the model was sent for the last turn, estimated: from the last report since the
        base, or all that was said since."""
        index = len(self) - 1
        last = next((at for at in reversed(self._reported) if at < index), -1)
        if last >= base.turn:
            since = self._before[index] - self._before[last] - self._words[last]
            return self._contexts[last] + since + self._words[index]
        first = min(base.turn, index)
        return base.tokens + self._before[index] - self._before[first] + self._words[index]

    def again(self, base: Base) -> int:
        """Of what the model was sent for the last turn, what it had been sent for the one before:
        nothing where the context begins anew."""
        index = len(self) - 1
        if index <= base.turn:
            return 0
        since = self._before[index] - self._before[index - 1] - self._words[index - 1]
        return max(0, self.carried(base) - since - self._words[index])

    def context(self, index: int) -> int | None:
        """What was reported for a turn."""
        if 0 <= index < len(self) and self._contexts[index] != NOT_REPORTED:
            return self._contexts[index]
        return None

    def cache_write(self, index: int) -> int | None:
        return None if self.context(index) is None else self._writes[index]

    def _add(self, words: int, total: int, context: int, write: int) -> None:
        self._words.append(words)
        self._contexts.append(context)
        self._writes.append(write)
        self._before.append(self._before[-1] + total)
