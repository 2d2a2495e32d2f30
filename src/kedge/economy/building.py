"""A ledger while turns pass: every message is counted once, wherever and however often it comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from kedge.economy.columns import Call, Calls, Message, Messages, Numbers
from kedge.economy.ledger import Cell, Ledger, Spent, ToolCell, ToolSpent
from kedge.economy.sizes import Sizes
from kedge.model import EarlierCompaction, ModelCall, Turn, Usage
from kedge.model.rates import bare_name

OWN_ID = 16
"""Characters from which on an id is taken to be the provider's, and the message the same wherever
it comes. A shorter one may have been given by hand, and holds within its file."""
KEY_BYTES = 8
"""Of the hash a message is known by: among a million messages two are mixed up once in 40 million
ledgers, and a whole id would take ten times the memory."""
OURS = "kedge"
"""The agent that kedge's own requests to models are listed under."""

Tiers = Callable[[str], tuple[int, ...]]
"""Sizes of the context above which a model has other prices, ascending."""


def no_tiers(model: str) -> tuple[int, ...]:
    return ()


class _Home(NamedTuple):
    session: str
    agent: str


class LedgerBuilder:
    """Takes turns one at a time. Some hundred bytes stay for each message, whatever it says."""

    def __init__(self) -> None:
        self._messages = Messages()
        self._calls = Calls()
        self._homes = Numbers[_Home]()
        self._models = Numbers[str]()
        self._tools = Numbers[str]()
        self._sources = Numbers[str]()
        self._copies = 0
        self._started: set[str] = set()
        self._seen: set[str] = set()

    def take(
        self,
        turn: Turn,
        sizes: Sizes,
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
        home = self._homes.of(_Home(session, turn.agent))
        message = Message(
            home, self._models.of(turn.model), usage, estimated, again if estimated else 0
        )
        keys = [message_key(turn, source)]
        if 0 < len(turn.message_id) < OWN_ID:
            keys.append(_said(turn, turn.message_id))
        row = self._put(keys, message, source)
        for number, call in enumerate(sizes.calls):
            share = call.written / sizes.written if sizes.written else 0.0
            name = _key("call", str(row), call.id or str(number))
            tool = self._tools.of(call.tool)
            self._calls.put(name, Call(home, tool, call.brought, round(usage.output * share)))
        return self._homes.values[self._messages.home(row)].session

    def take_compaction(self, made: EarlierCompaction, *, source: str, session: str) -> None:
        """Count the message in which another system made a summary, where its usage is known."""
        if made.usage is not None:
            home = self._homes.of(_Home(session, ""))
            message = Message(home, self._models.of(made.model), made.usage, False)
            key = _key("summary", made.by, str(made.usage), made.summary)
            self._put([key], message, source)

    def take_call(self, call: ModelCall, *, source: str, session: str, equal: int = 0) -> None:
        """Count a request of ours to a model. Copies are told by all of it but the model's name,
        which may have been cleaned; `equal` ones came before it in the same session."""
        home = self._homes.of(_Home(session, OURS))
        model = self._models.of(bare_name(call.model))
        key = _key("asked", str(equal), repr(replace(call, model="")))
        self._put([key], Message(home, model, call.usage, call.estimated), source)

    def _put(self, keys: Sequence[int], message: Message, source: str) -> int:
        messages = len(self._messages)
        row = self._messages.put(keys, message, self._sources.of(source))
        self._copies += len(self._messages) == messages
        return row

    def started(self, agent: str) -> None:
        """A sub-agent was delegated to."""
        self._started.add(agent)

    def ledger(self, tiers_of: Tiers = no_tiers) -> Ledger:
        """What was counted so far, in the tiers that models' prices have."""
        tiers = [tiers_of(model) for model in self._models.values]
        cells: defaultdict[tuple[int, int, int], Spent] = defaultdict(Spent)
        for one in self._messages:
            context = one.usage.context
            above = max((tier for tier in tiers[one.model] if context > tier), default=0)
            cells[one.home, one.model, above] += _spent(one)
        tools: defaultdict[tuple[int, int], ToolSpent] = defaultdict(ToolSpent)
        for home, tool, brought, written in self._calls:
            tools[home, tool] += ToolSpent(calls=1, input=brought, output=written)
        homes, models = self._homes.values, self._models.values
        return Ledger(
            cells=tuple(
                Cell(**homes[home]._asdict(), model=models[model], above=above, spent=spent)
                for (home, model, above), spent in sorted(cells.items())
            ),
            tool_cells=tuple(
                ToolCell(**homes[home]._asdict(), tool=self._tools.values[tool], spent=spent)
                for (home, tool), spent in sorted(tools.items())
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


def _spent(one: Message) -> Spent:
    if not one.estimated:
        return Spent(messages=1, tokens=one.usage)
    return Spent(
        messages=1,
        tokens=one.usage,
        estimated_messages=1,
        estimated=one.usage,
        sent_again=one.again,
    )
