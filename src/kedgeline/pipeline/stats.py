"""What a session consists of, counted in one pass and in bounded memory."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kedgeline.model import (
    VERBS,
    Damage,
    EarlierCompaction,
    SessionFacts,
    Text,
    Transcript,
    Turn,
    Value,
)
from kedgeline.pipeline.read import Reading, about
from kedgeline.tokens import (
    ContextTokens,
    Counter,
    Sized,
    Tokens,
    context_of,
    fitting,
    head_tokens,
    model_of,
    sized,
    text_tokens,
    tokens_of,
)

__all__ = ["Output", "Stats", "stats_of"]


# What is known of a session when it has been counted.


class Output(Value, frozen=True):
    """One large tool output."""

    turn: int
    agent: str
    tool: str
    about: str
    """The path or command of the call."""
    tokens: int


class Stats(Value, frozen=True):
    name: str
    format: str
    sessions: int
    turns: int
    exchanges: int
    user_messages: int
    """Prompts, unanswered ones too; queued words and reasons for refusals are counted apart."""
    queued_messages: int
    refusals: int
    failures: int
    tool_calls: dict[str, int]
    """By verb, with their total."""
    agents: int
    agent_turns: int
    agent_tool_calls: int
    tokens: Tokens
    """Of all turns of the main conversation, with its system prompt and unanswered words."""
    agent_tokens: int
    vocabulary: str
    """What tokens are counted with."""
    model: str
    context: ContextTokens | None
    """What the next request would send: not what was rewound or folded by the client, nor what
    sub-agents said. None where the file holds several sessions."""
    largest_outputs: tuple[Output, ...]
    compactions: tuple[EarlierCompaction, ...]
    rewound: int
    pending: str
    """Words the assistant has not answered yet, of all sessions in the file."""
    session: SessionFacts
    damage: tuple[Damage, ...]
    damage_count: int
    ignored: dict[str, int]
    skipped_formats: tuple[str, ...]
    """Registered formats that are broken and could not be asked whether they know the file."""


# Counts of one conversation, turn by turn, in bounded memory.

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
    sized: Sized
    outputs: tuple[Output, ...]


class Thread:
    """Running counts of one conversation: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self._recent: deque[Counts] = deque()
        self.turns = self.exchanges = self.prompts = self.queued = self.refused = self.failed = 0
        self.verbs: Tally[str] = Tally()
        self.tokens = Tokens()
        self._sums = array("q", [0])
        """Tokens of all turns before each one."""
        self._newest: deque[Sized] = deque(maxlen=TAKE_BACK)
        self.largest: list[tuple[int, int, Output]] = []
        """Tokens, then a number of its own for each output: outputs cannot be compared."""
        self._outputs = 0

    def take(self, counts: Counts, largest: int) -> None:
        self.cut(counts.turn)
        self._recent.append(counts)
        if len(self._recent) > TAKE_BACK:
            self._fold(self._recent.popleft(), largest)

    def add(self, tokens: Tokens) -> None:
        """Tokens of what is no turn."""
        self.tokens = self.tokens + tokens

    def since(self, start: int) -> int:
        """Tokens of the turns from an index on."""
        return self._sums[-1] - self._sums[min(start, self.turns)]

    def newest(self, start: int) -> Iterator[Sized]:
        """The same turns, newest first, as far as they are remembered."""
        return islice(reversed(self._newest), max(0, self.turns - start))

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
        self._sums.append(self._sums[-1] + counts.tokens.total)
        self._newest.append(counts.sized)
        for output in counts.outputs:
            self._outputs += 1
            heapq.heappush(self.largest, (output.tokens, -self._outputs, output))
        while len(self.largest) > largest:
            heapq.heappop(self.largest)


def counted(turn: Turn, tokens: Tokens, counter: Counter) -> Counts:
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
        sized=sized(turn, counter, tokens),
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


# A session counted in one pass.


def stats_of(
    reading: Reading,
    counter: Counter,
    *,
    largest: int = 5,
    turns: Iterable[Turn] | None = None,
) -> Stats:
    """Exhaust a reading and count what it holds.

    `turns` are the reading's own turns, where someone watches them pass.
    """
    session = _Session(reading, counter, max(0, largest))
    for turn in reading if turns is None else turns:
        session.take(turn)
    session.finish()
    return _stats(session)


class _Session:
    """Everything that is counted while the turns of a file pass."""

    def __init__(self, reading: Reading, counter: Counter, largest: int) -> None:
        self.reading, self.counter, self.largest = reading, counter, largest
        self.threads: dict[tuple[int, str], Thread] = {}

    def take(self, turn: Turn) -> None:
        once = _Once(fitting(self.counter, turn.model or self.reading.log.latest("model")))
        thread = self.threads.setdefault((turn.session, turn.agent), Thread())
        thread.take(counted(turn, tokens_of(turn, once), once), self.largest)

    def finish(self) -> None:
        """What stands beside the turns: system prompts, and words without an answer."""
        log = self.reading.log
        for key, thread in self.threads.items():
            thread.finish(log.lengths.get(key), self.largest)
        for session, agent in {*log.pending, *((number, "") for number in log.heads)}:
            thread = self.threads.setdefault((session, agent), Thread())
            beside, counter = self.fitted(session, agent)
            if beside.pending:
                thread.add(tokens_of(beside.pending, counter))
                thread.prompts += prompts_of(beside.pending)
            if not agent:
                thread.add(head_tokens(beside.head, counter))

    def fitted(self, session: int, agent: str) -> tuple[Transcript, Counter]:
        """What is known of a conversation beside its turns, and what counts for its model."""
        thread = self.threads[session, agent]
        beside = about(self.reading, session, lone=agent)
        return beside, fitting(self.counter, model_of(beside, thread.newest(0)))

    def model(self, main: list[tuple[int, str]]) -> tuple[str, Counter]:
        """The model that the first conversation goes on with, and what counts for it."""
        if not main:
            return "", self.counter
        beside, counter = self.fitted(*main[0])
        return model_of(beside, self.threads[main[0]].newest(0)), counter

    def context(self, main: list[tuple[int, str]]) -> ContextTokens | None:
        """What the next request would send, where that is one conversation's."""
        if len(main) != 1:
            return None
        beside, counter = self.fitted(*main[0])
        return context_of(beside, self.threads[main[0]], counter)


class _Once:
    """Counts a text once: outputs are asked for the sum and again for the largest."""

    def __init__(self, counter: Counter) -> None:
        self.name, self.exact = counter.name, counter.exact
        self._count = counter.count
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._count(text)
        return found


def _stats(session: _Session) -> Stats:
    reading, log, threads = session.reading, session.reading.log, session.threads
    main = [key for key in threads if not key[1]]
    if not any(threads[key].turns or threads[key].prompts for key in main):
        main = [*threads]  # a sub-agent's own file
    agents = [thread for key, thread in threads.items() if key not in main]
    spoken = [threads[key] for key in main]
    verbs = sum((thread.verbs for thread in spoken), Tally())
    biggest = sorted((i for thread in spoken for i in thread.largest), key=_rank, reverse=True)
    pending = (p.user_message for (_, agent), p in log.pending.items() if not agent)
    model, counter = session.model(main)
    return Stats(
        name=reading.name,
        format=reading.format,
        sessions=max(1, len({number for number, _ in threads})),
        turns=sum(thread.turns for thread in spoken),
        exchanges=sum(thread.exchanges for thread in spoken),
        user_messages=sum(thread.prompts for thread in spoken),
        queued_messages=sum(thread.queued for thread in spoken),
        refusals=sum(thread.refused for thread in spoken),
        failures=sum(thread.failed for thread in spoken),
        tool_calls={
            "total": verbs.total(),
            **{verb: verbs[verb] for verb in VERBS if verbs[verb]},
        },
        agents=len(agents),
        agent_turns=sum(thread.turns for thread in agents),
        agent_tool_calls=sum(thread.verbs.total() for thread in agents),
        tokens=sum((thread.tokens for thread in spoken), Tokens()),
        agent_tokens=sum(thread.tokens.total for thread in agents),
        vocabulary=counter.name,
        model=model,
        context=session.context(main),
        largest_outputs=tuple(output for _, _, output in biggest[: session.largest]),
        compactions=tuple(log.compactions),
        rewound=log.rewound,
        pending="\n\n".join(words for words in pending if words),
        session=log.facts(),
        damage=tuple(log.damage),
        damage_count=log.damage_counts.total(),
        ignored=dict(log.ignored),
        skipped_formats=reading.skipped,
    )


def _rank(entry: tuple[int, int, Output]) -> tuple[int, int]:
    return entry[:2]
