"""What a session consists of, counted in one pass and in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kedge.model import VERBS, Damage, EarlierCompaction, SessionFacts, Text, Turn, Value
from kedge.reading import Reading
from kedge.tokens import (
    Calibration,
    Counter,
    ModelTokens,
    Tokens,
    base_for,
    head_tokens,
    model_tokens,
    text_tokens,
    tokens_of,
)

TAKE_BACK = 4_096
"""Turns whose counts are kept apart in case a rewind takes them back; a rewind stays within one
context window, which holds far fewer."""


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
    """Of the main conversation, with its system prompt and unanswered words."""
    agent_tokens: int
    vocabulary: str
    model: str
    model_tokens: ModelTokens | None
    """The same for the session's own model; None where the session does not name it."""
    calibration: float | None
    """Reported over counted tokens, where the provider reported usage."""
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


class _Counts(NamedTuple):
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


class _Thread:
    """Running counts of one conversation: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self._recent: deque[_Counts] = deque()
        self.turns = self.exchanges = self.prompts = self.queued = self.refused = self.failed = 0
        self.verbs: Tally[str] = Tally()
        self.tokens = self.base_tokens = Tokens()
        self.largest: list[tuple[int, int, Output]] = []
        """Tokens, then a number of its own for each output: outputs cannot be compared."""
        self._outputs = 0

    def take(self, counts: _Counts, largest: int) -> None:
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

    def _fold(self, counts: _Counts, largest: int) -> None:
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
    counted = _Session(reading, counter, max(0, largest))
    for turn in reading if turns is None else turns:
        counted.take(turn)
    counted.finish()
    return _stats(counted)


class _Session:
    """Everything that is counted while the turns of a file pass."""

    def __init__(self, reading: Reading, counter: Counter, largest: int) -> None:
        self.reading, self.counter, self.largest = reading, counter, largest
        self.threads: dict[tuple[int, str], _Thread] = {}
        self.calibration = Calibration()
        self.model = ""
        self.base = counter

    def take(self, turn: Turn) -> None:
        if not turn.agent:
            self._know_model(turn.model or self.model or self.reading.log.latest("model"))
        once = _Once(self.counter)
        tokens, base_tokens = self._tokens(turn, once)
        thread = self.threads.setdefault((turn.session, turn.agent), _Thread())
        thread.take(_counted(turn, tokens, base_tokens, once), self.largest)
        if not turn.agent:
            self.calibration.observe(turn, base_tokens.total, user_tokens=base_tokens.user)

    def finish(self) -> None:
        """What stands beside the turns: system prompts, and words without an answer."""
        log = self.reading.log
        for key, thread in self.threads.items():
            thread.finish(log.lengths.get(key), self.largest)
        self._know_model(self.model or log.latest("model"))
        for (session, agent), words in log.pending.items():
            thread = self.threads.setdefault((session, agent), _Thread())
            thread.add(*self._tokens(words, self.counter))
            thread.prompts += _prompts(words)
        for session, head in log.heads.items():
            thread = self.threads.setdefault((session, ""), _Thread())
            thread.add(head_tokens(head, self.counter), head_tokens(head, self.base))

    def _know_model(self, model: str) -> None:
        if model != self.model:
            self.model, self.base = model, base_for(model, self.counter)

    def _tokens(self, turn: Turn, counter: Counter) -> tuple[Tokens, Tokens]:
        tokens = tokens_of(turn, counter)
        same = self.base.name == self.counter.name
        return tokens, tokens if same else tokens_of(turn, self.base)


def _counted(turn: Turn, tokens: Tokens, base_tokens: Tokens, counter: Counter) -> _Counts:
    said = [p for m in turn.messages if m.role == "user" for p in m.parts if isinstance(p, Text)]
    calls = {call.id: call for call in turn.tool_calls}
    return _Counts(
        turn=turn.index,
        exchange=turn.exchange,
        prompts=_prompts(turn),
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


def _prompts(turn: Turn) -> int:
    """Messages the user sent; one may have several texts."""
    return sum(
        message.role == "user"
        and any(isinstance(part, Text) and not part.queued for part in message.parts)
        for message in turn.messages
    )


LARGE = 2_000
"""Characters from which an output is worth naming; smaller ones are not even compared."""


def _about(parameters: dict[str, object], paths: tuple[str, ...]) -> str:
    command = parameters.get("command", parameters.get("cmd", parameters.get("pattern")))
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return str(command) if command else ", ".join(paths)


def _stats(counted: _Session) -> Stats:
    reading, log, threads = counted.reading, counted.reading.log, counted.threads
    agents = [thread for (_, agent), thread in threads.items() if agent]
    main = [thread for (_, agent), thread in threads.items() if not agent]
    if not any(thread.turns or thread.prompts for thread in main):  # a sub-agent's own file
        main, agents = [*main, *agents], []
    verbs = sum((thread.verbs for thread in main), Tally())
    biggest = sorted((i for thread in main for i in thread.largest), key=_rank, reverse=True)
    pending = (p.user_message for (_, agent), p in log.pending.items() if not agent)
    base_tokens = sum((thread.base_tokens for thread in main), Tokens())
    return Stats(
        name=reading.name,
        format=reading.format,
        sessions=max(1, len({session for session, _ in threads})),
        turns=sum(thread.turns for thread in main),
        exchanges=sum(thread.exchanges for thread in main),
        user_messages=sum(thread.prompts for thread in main),
        queued_messages=sum(thread.queued for thread in main),
        refusals=sum(thread.refused for thread in main),
        failures=sum(thread.failed for thread in main),
        tool_calls={
            "total": verbs.total(),
            **{verb: verbs[verb] for verb in VERBS if verbs[verb]},
        },
        agents=len(agents),
        agent_turns=sum(thread.turns for thread in agents),
        agent_tool_calls=sum(thread.verbs.total() for thread in agents),
        tokens=sum((thread.tokens for thread in main), Tokens()),
        agent_tokens=sum(thread.tokens.total for thread in agents),
        vocabulary=counted.counter.name,
        model=counted.model,
        model_tokens=model_tokens(counted.model, base_tokens, counted.base, counted.calibration),
        calibration=counted.calibration.factor,
        largest_outputs=tuple(output for _, _, output in biggest[: counted.largest]),
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
