"""A session counted in one pass."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable

from kedge.model import VERBS, Turn
from kedge.reading import Reading
from kedge.stats.threads import Thread, counted, prompts_of
from kedge.stats.values import Output, Stats
from kedge.tokens import (
    Calibration,
    Counter,
    Tokens,
    base_for,
    head_tokens,
    model_tokens,
    tokens_of,
)


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
        self.calibration = Calibration()
        self.model = ""
        self.base = counter

    def take(self, turn: Turn) -> None:
        if not turn.agent:
            self._know_model(turn.model or self.model or self.reading.log.latest("model"))
        once = _Once(self.counter)
        tokens, base_tokens = self._tokens(turn, once)
        thread = self.threads.setdefault((turn.session, turn.agent), Thread())
        thread.take(counted(turn, tokens, base_tokens, once), self.largest)
        if not turn.agent:
            self.calibration.observe(turn, base_tokens.total, user_tokens=base_tokens.user)

    def finish(self) -> None:
        """What stands beside the turns: system prompts, and words without an answer."""
        log = self.reading.log
        for key, thread in self.threads.items():
            thread.finish(log.lengths.get(key), self.largest)
        self._know_model(self.model or log.latest("model"))
        for (session, agent), words in log.pending.items():
            thread = self.threads.setdefault((session, agent), Thread())
            thread.add(*self._tokens(words, self.counter))
            thread.prompts += prompts_of(words)
        for session, head in log.heads.items():
            thread = self.threads.setdefault((session, ""), Thread())
            thread.add(head_tokens(head, self.counter), head_tokens(head, self.base))

    def _know_model(self, model: str) -> None:
        if model != self.model:
            self.model, self.base = model, base_for(model, self.counter)

    def _tokens(self, turn: Turn, counter: Counter) -> tuple[Tokens, Tokens]:
        tokens = tokens_of(turn, counter)
        same = self.base.name == self.counter.name
        return tokens, tokens if same else tokens_of(turn, self.base)


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
        sessions=max(1, len({number for number, _ in threads})),
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
        vocabulary=session.counter.name,
        model=session.model,
        model_tokens=model_tokens(session.model, base_tokens, session.base, session.calibration),
        calibration=session.calibration.factor,
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
