"""Counts of one conversation, turn by turn, in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter as Tally
from collections import deque
from typing import NamedTuple

from kedge.model import Text, Turn
from kedge.stats.values import Output
from kedge.tokens import Counter, Tokens, text_tokens

TAKE_BACK = 4_096
"""Turns whose counts are kept apart in case a rewind takes them back; a rewind stays within one
context window, which holds far fewer."""


LARGE = 2_000
"""Characters from which an output is worth naming; smaller ones are not even compared."""


class Counts(NamedTuple):
    turn: int
    exchange: int
    prompts: int
    queued: int
    refused: int
    failed: int
    verbs: tuple[str, ...]
    tokens: Tokens
    base_tokens: Tokens
    """As the session's model is estimated from; most often the same."""
    outputs: tuple[Output, ...]


class Thread:
    """Running counts of one conversation: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self._recent: deque[Counts] = deque()
        self.turns = self.exchanges = self.prompts = self.queued = self.refused = self.failed = 0
        self.verbs: Tally[str] = Tally()
        self.tokens = self.base_tokens = Tokens()
        self.largest: list[tuple[int, int, Output]] = []
        """Tokens, then a number of its own for each output: outputs cannot be compared."""
        self._outputs = 0

    def take(self, counts: Counts, largest: int) -> None:
        self.cut(counts.turn)
        self._recent.append(counts)
        if len(self._recent) > TAKE_BACK:
            self._fold(self._recent.popleft(), largest)

    def add(self, tokens: Tokens, base_tokens: Tokens) -> None:
        """Tokens of what is no turn."""
        self.tokens = self.tokens + tokens
        self.base_tokens = self.base_tokens + base_tokens

    def cut(self, length: int) -> None:
        while self._recent and self._recent[-1].turn >= length:
            self._recent.pop()

    def finish(self, length: int | None, largest: int) -> None:
        if length is not None:
            self.cut(length)
        while self._recent:
            self._fold(self._recent.popleft(), largest)

    def _fold(self, counts: Counts, largest: int) -> None:
        self.turns += 1
        self.exchanges = counts.exchange + 1
        self.prompts += counts.prompts
        self.queued += counts.queued
        self.refused += counts.refused
        self.failed += counts.failed
        self.verbs.update(counts.verbs)
        self.tokens = self.tokens + counts.tokens
        self.base_tokens = self.base_tokens + counts.base_tokens
        for output in counts.outputs:
            self._outputs += 1
            heapq.heappush(self.largest, (output.tokens, -self._outputs, output))
        while len(self.largest) > largest:
            heapq.heappop(self.largest)


def counted(turn: Turn, tokens: Tokens, base_tokens: Tokens, counter: Counter) -> Counts:
    said = [p for m in turn.messages if m.role == "user" for p in m.parts if isinstance(p, Text)]
    calls = {call.id: call for call in turn.tool_calls}
    return Counts(
        turn=turn.index,
        exchange=turn.exchange,
        prompts=prompts_of(turn),
        queued=sum(text.queued for text in said),
        refused=sum(result.refused for result in turn.tool_results),
        failed=sum(result.failed for result in turn.tool_results),
        verbs=tuple(call.verb for call in turn.tool_calls),
        tokens=tokens,
        base_tokens=base_tokens,
        outputs=tuple(
            Output(
                turn=turn.index,
                agent=turn.agent,
                tool=call.tool if call else "",
                about=_about(call.parameters, call.paths()) if call else "",
                tokens=text_tokens(result.output, counter),
            )
            for result in turn.tool_results
            if len(result.output) > LARGE
            for call in (calls.get(result.call_id),)
        ),
    )


def prompts_of(turn: Turn) -> int:
    """Messages the user sent; one may have several texts."""
    return sum(
        message.role == "user"
        and any(isinstance(part, Text) and not part.queued for part in message.parts)
        for message in turn.messages
    )


def _about(parameters: dict[str, object], paths: tuple[str, ...]) -> str:
    command = parameters.get("command", parameters.get("cmd", parameters.get("pattern")))
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return str(command) if command else ", ".join(paths)
