"""What a session consists of, counted in one pass; of each turn only its numbers are kept."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.formats import Log
from kedgeline.model import (
    VERBS,
    Damage,
    EarlierCompaction,
    SessionFacts,
    Text,
    ToolCall,
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


# Counts of one conversation, turn by turn.

LARGE = 2_000
"""Characters from which an output is worth naming; smaller ones are not even counted."""


class _Counts(NamedTuple):
    """The numbers of one turn."""

    exchange: int
    prompts: int
    queued: int
    refused: int
    failed: int
    verbs: tuple[str, ...]
    tokens: Tokens
    sized: Sized
    outputs: tuple[Output, ...]


class _Thread:
    """One conversation: the main one, or a sub-agent's."""

    def __init__(self) -> None:
        self.rows: list[_Counts] = []
        self.waiting = 0
        """Prompts that nobody has answered."""
        self.beside = Tokens()
        """Of what is no turn."""

    @property
    def tokens(self) -> Tokens:
        kinds = Tokens.__struct_fields__
        sums = {kind: sum(getattr(row.tokens, kind) for row in self.rows) for kind in kinds}
        return self.beside + Tokens(**sums)

    @property
    def verbs(self) -> Tally[str]:
        return Tally(verb for row in self.rows for verb in row.verbs)

    def since(self, start: int) -> int:
        """Tokens of the turns from an index on."""
        return sum(row.sized.tokens for row in self.rows[start:])

    def newest(self, start: int) -> Iterator[Sized]:
        return (row.sized for row in reversed(self.rows[start:]))


def _counted(turn: Turn, counter: Counter) -> _Counts:
    said = [p for m in turn.messages if m.role == "user" for p in m.parts if isinstance(p, Text)]
    calls = {call.id: call for call in turn.tool_calls}
    tokens = tokens_of(turn, counter)
    return _Counts(
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
                about=_about(call) if call else "",
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


def _about(call: ToolCall) -> str:
    given = call.parameters
    command = given.get("command", given.get("cmd", given.get("pattern")))
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return str(command) if command else ", ".join(call.paths())


# A session counted in one pass.


class _Whole:
    """A transcript, to be counted as a file is."""

    name, skipped = "", ()

    def __init__(self, transcript: Transcript) -> None:
        self.format, self.log = transcript.format, Log()
        self._threads = (transcript, *transcript.agents)
        for change in transcript.session.changes:
            self.log.fact(change.name, change.value, turn=change.turn)
        self.log.heads[0] = [*transcript.head]
        self.log.wire, self.log.compactions = transcript.wire, [*transcript.compactions]
        for thread in self._threads:
            self.log.lengths[0, thread.agent] = len(thread.turns)
            if thread.pending:
                self.log.pending[0, thread.agent] = thread.pending

    def __iter__(self) -> Iterator[Turn]:
        for thread in self._threads:
            yield from (replace(turn, session=0, agent=thread.agent) for turn in thread.turns)


def stats_of(
    reading: Reading | Transcript,
    counter: Counter,
    *,
    largest: int = 5,
    turns: Iterable[Turn] | None = None,
) -> Stats:
    """Count what a transcript holds, or a reading, which is exhausted.

    `turns` are the reading's own turns, where someone watches them pass.
    """
    found = _Whole(reading) if isinstance(reading, Transcript) else reading
    session = _Session(found, counter)
    for turn in found if turns is None else turns:
        session.take(turn)
    session.finish()
    return session.stats(max(0, largest))


class _Session:
    """Everything that is counted while the turns of a file pass."""

    def __init__(self, reading: Reading | _Whole, counter: Counter) -> None:
        self.reading, self.counter = reading, counter
        self.threads: dict[tuple[int, str], _Thread] = {}

    def take(self, turn: Turn) -> None:
        """A turn that comes again takes back those from its index on: the user had rewound."""
        once = _Once(fitting(self.counter, turn.model or self.reading.log.latest("model")))
        rows = self.threads.setdefault((turn.session, turn.agent), _Thread()).rows
        del rows[turn.index :]
        rows.append(_counted(turn, once))

    def finish(self) -> None:
        """What stands beside the turns: system prompts, and words without an answer."""
        log = self.reading.log
        for key, length in log.lengths.items():
            if key in self.threads:
                del self.threads[key].rows[length:]
        for session, agent in {*log.pending, *((number, "") for number in log.heads)}:
            thread = self.threads.setdefault((session, agent), _Thread())
            beside, counter, _ = self.fitted(session, agent)
            if beside.pending:
                thread.beside = thread.beside + tokens_of(beside.pending, counter)
                thread.waiting += prompts_of(beside.pending)
            if not agent:
                thread.beside = thread.beside + head_tokens(beside.head, counter)

    def fitted(self, session: int, agent: str) -> tuple[Transcript, Counter, str]:
        """What is known of a conversation beside its turns, its model and what counts for that."""
        beside = about(self.reading, session, lone=agent)
        model = model_of(beside, self.threads[session, agent].newest(0))
        return beside, fitting(self.counter, model), model

    def stats(self, largest: int) -> Stats:
        reading, log, threads = self.reading, self.reading.log, self.threads
        main = [key for key in threads if not key[1]]
        if not any(threads[key].rows or threads[key].waiting for key in main):
            main = [*threads]  # a sub-agent's own file
        agents = [thread for key, thread in threads.items() if key not in main]
        spoken = [threads[key] for key in main]
        rows = [row for thread in spoken for row in thread.rows]
        verbs = sum((thread.verbs for thread in spoken), Tally())
        outputs = sorted((one for row in rows for one in row.outputs), key=lambda one: -one.tokens)
        pending = (p.user_message for (_, agent), p in log.pending.items() if not agent)
        context, model, counter = None, "", self.counter
        if main:
            beside, counter, model = self.fitted(*main[0])
            alone = len(main) == 1
            context = context_of(beside, threads[main[0]], counter) if alone else None
        return Stats(
            name=reading.name,
            format=reading.format,
            sessions=max(1, len({number for number, _ in threads})),
            turns=len(rows),
            exchanges=sum(one.rows[-1].exchange + 1 for one in spoken if one.rows),
            user_messages=sum(row.prompts for row in rows) + sum(one.waiting for one in spoken),
            queued_messages=sum(row.queued for row in rows),
            refusals=sum(row.refused for row in rows),
            failures=sum(row.failed for row in rows),
            tool_calls={
                "total": verbs.total(),
                **{verb: verbs[verb] for verb in VERBS if verbs[verb]},
            },
            agents=len(agents),
            agent_turns=sum(len(thread.rows) for thread in agents),
            agent_tool_calls=sum(thread.verbs.total() for thread in agents),
            tokens=sum((thread.tokens for thread in spoken), Tokens()),
            agent_tokens=sum(thread.tokens.total for thread in agents),
            vocabulary=counter.name,
            model=model,
            context=context,
            largest_outputs=tuple(outputs[:largest]),
            compactions=tuple(log.compactions),
            rewound=log.rewound,
            pending="\n\n".join(words for words in pending if words),
            session=log.facts(),
            damage=tuple(log.damage),
            damage_count=log.damage_counts.total(),
            ignored=dict(log.ignored),
            skipped_formats=reading.skipped,
        )


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
