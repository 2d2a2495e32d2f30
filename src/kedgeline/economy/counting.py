"""Sessions into a ledger: files as they are read, or turns that are kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.economy.ledger import (
    Base,
    CallSpent,
    Cell,
    Ledger,
    Spent,
    Thread,
    ToolCell,
    ToolSpent,
    TurnSizes,
    prices_installed,
    sizes_of,
    tiers_of,
)
from kedgeline.model import EarlierCompaction, ModelCall, Turn, Usage, Value
from kedgeline.model import Message as PartsMessage
from kedgeline.model.ask import bare_name
from kedgeline.model.turn import MOST_TOKENS
from kedgeline.pipeline.read import Readable, Reading, stream
from kedgeline.tokens import counter_for, head_tokens

# A ledger while turns pass: every message is counted once, wherever and however often it comes.

OWN_ID = 16
"""Characters from which on an id is taken to be the provider's, and the message the same wherever
it comes. A shorter one may have been given by hand, and holds within its file."""
KEY_BYTES = 8
"""Of the hash a message is known by: among a million messages two are mixed up once in 40 million
ledgers, and a whole id would take ten times the memory."""
OURS = "kedgeline"
"""The agent that kedgeline's own requests to models are listed under."""

Tiers = Callable[[str], tuple[int, ...]]
"""Sizes of the context above which a model has other prices, ascending."""


def no_tiers(model: str) -> tuple[int, ...]:
    return ()


class _Home(NamedTuple):
    session: str
    agent: str


class _Message(NamedTuple):
    home: _Home
    """Where it was first."""
    model: str
    usage: Usage
    estimated: bool
    source: str
    again: int = 0
    """Of the estimated input, what earlier messages had been sent already."""

    def replaces(self, known: _Message) -> bool:
        """What was reported replaces what was estimated; in one source the last replaces all
        before; from another source, what has more of the message."""
        if self.estimated != known.estimated:
            return not self.estimated
        return self.source == known.source or self.usage.output > known.usage.output


class LedgerBuilder:
    """Takes turns one at a time. Some hundred bytes stay for each message, whatever it says."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        """Numbers of messages by any of their keys."""
        self._messages: list[_Message] = []
        self._calls: dict[int, CallSpent] = {}
        self._homes: dict[_Home, int] = {}
        self._copies = 0
        self._started: set[str] = set()
        self._seen: set[str] = set()

    def take(
        self,
        turn: Turn,
        sizes: TurnSizes,
        *,
        source: str,
        session: str,
        carried: int,
        again: int = 0,
    ) -> str:
        """Count a turn; the session in which it was first. Without reported usage, `carried` is
        what the model was sent, and `again` what of it an earlier message had been sent. Copies of
        a turn are told by their ids or by what they say, also where they come from another
        `source`."""
        self._seen.add(turn.agent)
        usage = turn.usage
        estimated = usage is None
        if usage is None:
            usage = Usage(input=carried, output=sizes.written)
        home = _Home(session, turn.agent)
        message = _Message(
            home, turn.model, usage, estimated, source, again=again if estimated else 0
        )
        keys = [message_key(turn, source)]
        if 0 < len(turn.message_id) < OWN_ID:
            keys.append(_said(turn, turn.message_id))
        row = self._put(keys, message)
        for number, call in enumerate(sizes.calls):
            share = call.written / sizes.written if sizes.written else 0.0
            spent = CallSpent(
                **home._asdict(),
                turn=turn.index,
                tool=call.tool,
                token_input=call.brought,
                token_output=round(usage.output * share),
            )
            self._put_call(_key("call", str(row), call.id or str(number)), spent)
        return self._messages[row].home.session

    def take_compaction(self, made: EarlierCompaction, *, source: str, session: str) -> None:
        """Count the message in which another system made a summary, where its usage is known."""
        if made.usage is not None:
            message = _Message(_Home(session, ""), made.model, made.usage, False, source)
            key = _key("summary", made.by, str(made.usage), made.summary)
            self._put([key], message)

    def take_call(self, call: ModelCall, *, source: str, session: str, equal: int = 0) -> None:
        """Count a request of ours to a model. Copies are told by all of it but the model's name,
        which may have been cleaned; `equal` ones came before it in the same session."""
        home, model = _Home(session, OURS), bare_name(call.model)
        key = _key("asked", str(equal), repr(replace(call, model="")))
        self._put([key], _Message(home, model, call.usage, call.estimated, source))

    def _put(self, keys: Sequence[int], message: _Message) -> int:
        """The number of a message. Of one that came before under any of its keys, the better of
        both stays, where it was first."""
        self._homes.setdefault(message.home, len(self._homes))
        known = (self._rows[key] for key in keys if key in self._rows)
        row = next(known, len(self._messages))
        for key in keys:
            self._rows.setdefault(key, row)
        if row == len(self._messages):
            self._messages.append(message)
            return row
        self._copies += 1
        before = self._messages[row]
        if message.replaces(before):
            self._messages[row] = message._replace(home=before.home)
        return row

    def _put_call(self, key: int, call: CallSpent) -> None:
        """The same call again stays where it was first, with what is known last."""
        if before := self._calls.get(key):
            call = replace(
                before,
                token_input=max(call.token_input, before.token_input),
                token_output=max(call.token_output, before.token_output),
            )
        self._calls[key] = call

    def started(self, agent: str) -> None:
        """A sub-agent was delegated to."""
        self._started.add(agent)

    def calls(self) -> Iterator[CallSpent]:
        """Every call of a tool, once, in the order in which they were counted."""
        return iter(self._calls.values())

    def ledger(self, tiers_of: Tiers = no_tiers) -> Ledger:
        """What was counted so far, in the tiers that models' prices have."""
        cells: defaultdict[tuple[_Home, str, int], Spent] = defaultdict(Spent)
        for one in self._messages:
            context = one.usage.context
            above = max((tier for tier in tiers_of(one.model) if context > tier), default=0)
            cells[one.home, one.model, above] += _spent(one)
        tools: defaultdict[tuple[_Home, str], ToolSpent] = defaultdict(ToolSpent)
        for call in self._calls.values():
            spent = ToolSpent(calls=1, input=call.token_input, output=call.token_output)
            tools[_Home(call.session, call.agent), call.tool] += spent
        by_home = sorted(cells.items(), key=lambda cell: (self._homes[cell[0][0]], cell[0][1:]))
        tools_by_home = sorted(tools.items(), key=lambda cell: self._homes[cell[0][0]])
        return Ledger(
            cells=tuple(
                Cell(**home._asdict(), model=model, above=above, spent=spent)
                for (home, model, above), spent in by_home
            ),
            tool_cells=tuple(
                ToolCell(**home._asdict(), tool=tool, spent=spent)
                for (home, tool), spent in tools_by_home
            ),
            copies=self._copies,
            unseen_agents=tuple(sorted(self._started - self._seen)),
        )


def message_key(turn: Turn, source: str) -> int:
    """What tells a message from all others: the provider's id, a short id within its file, or else
    all that is said in it, with its place and its time."""
    if len(turn.message_id) >= OWN_ID:
        return _key("id", turn.message_id)
    if turn.message_id:
        return _key("id", source, turn.message_id)
    return _said(turn)


def _said(turn: Turn, name: str = "") -> int:
    """The same for a message and its copies, whatever file they stand in."""
    time = turn.timestamp.isoformat() if turn.timestamp else ""
    usage = turn.usage
    reported = (usage.input, usage.output, usage.cache_read, usage.cache_write) if usage else ()
    calls = ",".join(call.id for call in turn.tool_calls)
    place = f"{turn.agent}\0{turn.index}\0{reported}\0{calls}"
    words = (turn.user_message, turn.thinking, turn.assistant_response)
    more = () if time and not name else _around(turn)
    return _key("said", name, time, place, *words, *more)


def _around(turn: Turn) -> Iterator[str]:
    """What tells short messages of different sessions apart, where no time does."""
    yield f"{turn.session}\0{turn.model}"
    yield from (f"{call.tool}\0{call.parameters}" for call in turn.tool_calls)
    yield from (f"{result.call_id}\0{result.output}" for result in turn.tool_results)


def _key(*parts: str) -> int:
    digest = blake2b(digest_size=KEY_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(KEY_BYTES) + data)
    return int.from_bytes(digest.digest())


def _spent(one: _Message) -> Spent:
    if not one.estimated:
        return Spent(messages=1, tokens=one.usage)
    return Spent(
        messages=1,
        tokens=one.usage,
        estimated_messages=1,
        estimated=one.usage,
        sent_again=one.again,
    )


# What a compaction saved and what it cost, from what was reported around it.

UNDONE = "undone"


class Made(NamedTuple):
    """A compaction as its record has it."""

    turn: int
    """Index of the first turn after it."""
    by: str
    before: int | None
    """Tokens of the context before and after."""
    after: int | None
    summary: int = 0
    """Tokens of its summary."""
    usage: Usage | None = None
    """Of the message that is the summary, where it was reported."""
    by_model: bool = True
    """Whether a model wrote the summary, which was sent the context for that."""
    undone: bool = False


class Saving(Value, frozen=True):
    session: str
    """In which its first message counts; of a copy that is the session it was copied from."""
    turn: int
    """Index of the first turn after it."""
    by: str
    before: int | None
    """Tokens of the context: as recorded, or else as reported for the turn before."""
    after: int | None
    """As recorded, or else as reported for the turn after."""
    turns: int
    """That were taken since, up to the next compaction."""
    saved: int | None
    """Tokens these turns did not carry; none where a size is not known."""
    cache_write: int | None
    """Measured: what the first turn after it wrote into the cache again."""
    summary: Usage | None
    """What the summary took: reported, or the context sent and the summary counted."""
    summary_estimated: bool = False
    remark: str = ""
    """Why nothing was saved, where something should have been."""


def saving_of(made: Made, thread: Thread, *, session: str, until: int) -> Saving:
    """`until` is the index of the first turn that no longer profits."""
    reported_before, reported_after = thread.context(made.turn - 1), thread.context(made.turn)
    before = made.before if made.before is not None else reported_before
    after = made.after if made.after is not None else reported_after
    turns = max(0, until - made.turn)
    remark = _remark(made, reported_before, reported_after)
    saved = None if before is None or after is None else max(0, before - after) * turns
    usage, estimated = made.usage, False
    if usage is None and made.by_model and before is not None:
        usage, estimated = Usage(input=before, output=made.summary), True
    return Saving(
        session=session,
        turn=made.turn,
        by=made.by,
        before=before,
        after=after,
        turns=turns,
        saved=0 if remark else saved,
        cache_write=thread.cache_write(made.turn),
        summary=usage,
        summary_estimated=estimated,
        remark=remark,
    )


def distinct(savings: Iterable[Saving]) -> tuple[Saving, ...]:
    """Every compaction once, however many copies of its session were read: the one that most turns
    follow."""
    found: dict[tuple[object, ...], Saving] = {}
    for one in savings:
        key = (one.session, one.turn, one.by, one.before, one.remark == UNDONE)
        if key not in found or one.turns > found[key].turns:
            found[key] = one
    return tuple(found.values())


def _remark(made: Made, before: int | None, after: int | None) -> str:
    if made.undone:
        return UNDONE
    if before is not None and after is not None and after >= before:
        return f"the reported context did not shrink ({before:,} to {after:,})"
    return ""


def ledger_of(*sources: Readable) -> Ledger:
    """What sessions were charged for, every message once, however many of them have a copy."""
    builder = LedgerBuilder()
    for number, source in enumerate(sources):
        reading = stream(source)
        count_reading(builder, reading, source=f"{number}:{reading.name}")
    return builder.ledger(tiers_of if prices_installed() else no_tiers)


def count_reading(
    builder: LedgerBuilder, reading: Reading, *, source: str, turns: Iterable[Turn] | None = None
) -> tuple[Saving, ...]:
    """Exhaust a reading into a ledger; what the compactions of its client saved and cost. Turns
    that the user rewound were paid for, and count. `turns` are the reading's own, where someone
    watches them pass."""
    log = reading.log
    counting = _Counting(builder, source, log.compactions, log.heads)
    for turn in reading if turns is None else turns:
        counting.take(turn)
    for (session, agent), length in log.lengths.items():
        counting.thread(session, agent).cut(length)
    for agent in log.delegated_by:
        builder.started(agent)
    for made in log.compactions:
        builder.take_compaction(made, source=source, session=counting.name(made.session))
    return counting.savings()


def count_turns(
    builder: LedgerBuilder,
    turns: Iterable[Turn],
    *,
    source: str,
    made: Sequence[Made] = (),
    calls: Iterable[ModelCall] = (),
) -> tuple[Saving, ...]:
    """The same for the turns of a kept session, the compactions that were made of it, and the
    requests to models that were made for these."""
    stood = [
        EarlierCompaction(turn=one.turn, by=one.by, tokens_after=one.after)
        for one in made
        if not one.undone
    ]
    counting = _Counting(builder, source, stood)
    for turn in turns:
        counting.take(turn)
    _count_calls(builder, calls, source=source)
    return _savings(made, counting.thread(0, ""), session=counting.first(0))


def _count_calls(builder: LedgerBuilder, calls: Iterable[ModelCall], *, source: str) -> None:
    """A try to which no reply came, and of which nothing is known to be paid, is no message."""
    seen: Counter[ModelCall] = Counter()
    for call in calls:
        if (usage := _sound(call.usage)) != call.usage:
            sent = _sound(Usage(input=call.sent))
            call = replace(call, usage=usage or sent or Usage(), estimated=True)
        if call.failure and call.usage == Usage():
            continue
        same = replace(call, model="")
        builder.take_call(call, source=source, session=source, equal=seen[same])
        seen[same] += 1


class _Counting:
    def __init__(
        self,
        builder: LedgerBuilder,
        source: str,
        compactions: Sequence[EarlierCompaction] = (),
        heads: dict[int, list[PartsMessage]] | None = None,
    ) -> None:
        """Compactions and heads grow while turns are read."""
        self._builder, self._source = builder, source
        self._compactions, self._heads = compactions, heads or {}
        self._threads: dict[tuple[int, str], Thread] = {}
        self._first: dict[int, str] = {}

    def name(self, session: int) -> str:
        """Of a session, where a file holds several."""
        return f"{self._source} #{session}" if session else self._source

    def first(self, session: int) -> str:
        """The session in which the first message of one counts; another where it is a copy."""
        return self._first.get(session, self.name(session))

    def thread(self, session: int, agent: str) -> Thread:
        return self._threads.setdefault((session, agent), Thread())

    def take(self, turn: Turn) -> None:
        if turn.usage is not None:
            turn = replace(turn, usage=_sound(turn.usage))
        sizes = sizes_of(turn)
        thread = self.thread(turn.session, turn.agent)
        thread.take(turn, sizes)
        base = Base() if turn.usage else self._base(turn)
        first = self._builder.take(
            turn,
            sizes,
            source=self._source,
            session=self.name(turn.session),
            carried=0 if turn.usage else thread.carried(base),
            again=0 if turn.usage else thread.again(base),
        )
        if not turn.agent:
            self._first.setdefault(turn.session, first)

    def savings(self) -> tuple[Saving, ...]:
        numbers = sorted({one.session for one in self._compactions})
        return tuple(
            saving
            for number in numbers
            for saving in _savings(
                [_made(one) for one in self._compactions if one.session == number],
                self.thread(number, ""),
                session=self.first(number),
            )
        )

    def _base(self, turn: Turn) -> Base:
        if not turn.agent:
            for one in reversed(self._compactions):
                if one.session == turn.session and one.turn <= turn.index:
                    return Base(one.turn, one.tokens_after or _made(one).summary)
        head = self._heads.get(turn.session, ()) if not turn.agent else ()
        return Base(0, head_tokens(head, counter_for(turn.model)).total)


def _sound(usage: Usage) -> Usage | None:
    """Without what can be no count of one message; nothing where that is all of it."""
    numbers = {name: getattr(usage, name) for name in usage.__struct_fields__}
    sound = {name: one for name, one in numbers.items() if 0 <= one <= MOST_TOKENS}
    return usage if len(sound) == len(numbers) else Usage(**sound) if any(sound.values()) else None


def _savings(made: Sequence[Made], main: Thread, *, session: str) -> tuple[Saving, ...]:
    """Each one saves until the next is made that stands."""
    found: list[Saving] = []
    end = len(main)
    for one in reversed(made):
        found.append(saving_of(one, main, session=session, until=end))
        end = end if one.undone else one.turn
    return tuple(reversed(found))


def _made(one: EarlierCompaction) -> Made:
    return Made(
        turn=one.turn,
        by=one.by,
        before=one.tokens_before,
        after=one.tokens_after,
        summary=counter_for(one.model).count(one.summary),
        usage=one.usage,
        by_model=one.kind == "summary",
    )
