"""What a session consists of, counted in one pass and in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kedge.model import VERBS, Damage, EarlierCompaction, SessionFacts, Text, Turn, Value
from kedge.reading import Reading
from kedge.tokens import Calibration, Counter, Tokens, tokens_of

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
    """Prompts; queued words and reasons for refusals are counted apart."""
    queued_messages: int
    refusals: int
    failures: int
    tool_calls: dict[str, int]
    """By verb, with their total."""
    agents: int
    agent_turns: int
    agent_tool_calls: int
    tokens: Tokens
    """Of the main conversation."""
    agent_tokens: int
    vocabulary: str
    model: str
    calibration: float | None
    """Reported over counted tokens, where the provider reported usage."""
    largest_outputs: tuple[Output, ...]
    compactions: tuple[EarlierCompaction, ...]
    rewound: int
    pending: str
    """Words the assistant has not answered yet."""
    session: SessionFacts
    damage: tuple[Damage, ...]
    damage_count: int
    ignored: dict[str, int]


class _Counts(NamedTuple):
    turn: int
    exchange: int
    prompts: int
    queued: int
    refused: int
    failed: int
    verbs: tuple[str, ...]
    tokens: Tokens
    outputs: tuple[Output, ...]


class _Thread:
    """Running counts of one conversation: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self._recent: deque[_Counts] = deque()
        self.turns = self.exchanges = self.prompts = self.queued = self.refused = self.failed = 0
        self.verbs: Tally[str] = Tally()
        self.tokens = Tokens()
        self.largest: list[tuple[int, int, Output]] = []

    def take(self, counts: _Counts, largest: int) -> None:
        self.cut(counts.turn)
        self._recent.append(counts)
        if len(self._recent) > TAKE_BACK:
            self._fold(self._recent.popleft(), largest)

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
        for position, output in enumerate(counts.outputs):
            heapq.heappush(self.largest, (output.tokens, -counts.turn * 1_000 - position, output))
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
    threads: dict[tuple[int, str], _Thread] = {}
    calibration = Calibration()
    model = ""
    for turn in reading if turns is None else turns:
        key = (turn.session, turn.agent)
        once = _Once(counter)
        tokens = tokens_of(turn, once)
        threads.setdefault(key, _Thread()).take(_counted(turn, tokens, once), largest)
        if not turn.agent:
            calibration.observe(turn, tokens.total, user_tokens=tokens.user)
            model = turn.model or model
    for key, thread in threads.items():
        thread.finish(reading.log.lengths.get(key), largest)
    return _stats(reading, threads, counter, calibration, model, largest)


def _counted(turn: Turn, tokens: Tokens, counter: Counter) -> _Counts:
    said = [p for m in turn.messages if m.role == "user" for p in m.parts if isinstance(p, Text)]
    calls = {call.id: call for call in turn.tool_calls}
    return _Counts(
        turn=turn.index,
        exchange=turn.exchange,
        prompts=sum(not text.queued for text in said),
        queued=sum(text.queued for text in said),
        refused=sum(result.refused for result in turn.tool_results),
        failed=sum(result.failed for result in turn.tool_results),
        verbs=tuple(call.verb for call in turn.tool_calls),
        tokens=tokens,
        outputs=tuple(
            Output(
                turn=turn.index,
                agent=turn.agent,
                tool=call.tool if call else "",
                about=_about(call.parameters, call.paths()) if call else "",
                tokens=counter.count(result.output),
            )
            for result in turn.tool_results
            if len(result.output) > LARGE
            for call in (calls.get(result.call_id),)
        ),
    )


LARGE = 2_000
"""Characters from which an output is worth naming; smaller ones are not even compared."""


def _about(parameters: dict[str, object], paths: tuple[str, ...]) -> str:
    command = parameters.get("command", parameters.get("cmd", parameters.get("pattern")))
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return str(command) if command else ", ".join(paths)


def _stats(
    reading: Reading,
    threads: dict[tuple[int, str], _Thread],
    counter: Counter,
    calibration: Calibration,
    model: str,
    largest: int,
) -> Stats:
    log = reading.log
    agents = [thread for (_, agent), thread in threads.items() if agent]
    main = [thread for (_, agent), thread in threads.items() if not agent]
    if not main:  # the file is a sub-agent's own
        main, agents = agents, []
    verbs = sum((thread.verbs for thread in main), Tally())
    pending = next((p.user_message for (_, agent), p in log.pending.items() if not agent), "")
    biggest = sorted((item for thread in main for item in thread.largest), reverse=True)[:largest]
    return Stats(
        name=reading.name,
        format=reading.format,
        sessions=max(1, len({session for session, _ in threads})),
        turns=sum(thread.turns for thread in main),
        exchanges=sum(thread.exchanges for thread in main),
        user_messages=sum(thread.prompts for thread in main) + bool(pending),
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
        vocabulary=counter.name,
        model=model,
        calibration=calibration.factor,
        largest_outputs=tuple(output for _, _, output in biggest),
        compactions=tuple(log.compactions),
        rewound=log.rewound,
        pending=pending,
        session=log.facts(),
        damage=tuple(log.damage),
        damage_count=log.damage_counts.total(),
        ignored=dict(log.ignored),
    )
