"""What messages were charged for, by session, agent, model and tool."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import UTC, datetime, time
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.errors import MissingExtra
from kedgeline.model import Rates, Text, Turn, Usage, Value
from kedgeline.model.ask import MILLION
from kedgeline.tokens import counter_for, media_tokens, text_tokens

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider


# How large the pieces of a turn are, in tokens of its model.


class CallSize(NamedTuple):
    id: str
    tool: str
    written: int
    """To write the call: its name and parameters."""
    brought: int
    """Into the context, by its result."""


class TurnSizes(NamedTuple):
    words: int
    """What came before the answer: the user's words, notes, system messages, media."""
    written: int
    """By the assistant: words, thinking and calls."""
    calls: tuple[CallSize, ...]
    """Results without a call are among the last one's, if there is any."""
    brought: int
    """By all results."""

    @property
    def total(self) -> int:
        return self.words + self.written + self.brought


def sizes_of(turn: Turn) -> TurnSizes:
    counter = counter_for(turn.model)
    results: dict[str, int] = {}
    for result in turn.tool_results:
        size = text_tokens(result.output, counter) + sum(map(media_tokens, result.media))
        results[result.call_id] = results.get(result.call_id, 0) + size
    brought, calls = sum(results.values()), []
    for call in turn.tool_calls:
        parameters = msgspec.json.encode(call.parameters).decode()
        written = counter.count(call.tool) + text_tokens(parameters, counter)
        calls.append(CallSize(call.id, call.tool, written, results.pop(call.id, 0)))
    said = text_tokens(turn.assistant_response, counter) + text_tokens(turn.thinking, counter)
    system = (message for message in turn.messages if message.role == "system")
    texts = [part.text for m in system for part in m.parts if isinstance(part, Text)]
    texts += [turn.user_message, *(note.text for note in turn.notes)]
    words = sum(map(media_tokens, turn.media)) + sum(text_tokens(text, counter) for text in texts)
    return TurnSizes(words, said + sum(call.written for call in calls), tuple(calls), brought)


# How large the context of a conversation was at each of its turns.

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

    def take(self, turn: Turn, sizes: TurnSizes) -> None:
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


MAIN = "main"
"""How the main conversation is called where agents are listed; sub-agents have an id."""
Part = Literal["session", "agent", "model"]


class Spent(Value, frozen=True):
    """Tokens of some messages."""

    messages: int = 0
    tokens: Usage = Usage()
    estimated_messages: int = 0
    estimated: Usage = Usage()
    """Of these tokens, those that nobody reported."""
    sent_again: int = 0
    """Of the estimated input, what earlier messages had been sent already."""

    @property
    def new(self) -> Usage:
        """Without what was estimated to be sent again, which a cache may have had."""
        return replace(self.tokens, input=self.tokens.input - self.sent_again)

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            messages=self.messages + other.messages,
            tokens=self.tokens + other.tokens,
            estimated_messages=self.estimated_messages + other.estimated_messages,
            estimated=self.estimated + other.estimated,
            sent_again=self.sent_again + other.sent_again,
        )


class Cell(Value, frozen=True):
    """Messages that are priced alike: of one session, agent and model, in one tier of prices."""

    session: str
    agent: str
    model: str
    """As it was reported; empty where nobody named it."""
    above: int
    """Tokens that the context of each of them was larger than: the tier they are in."""
    spent: Spent


class ToolSpent(Value, frozen=True):
    """Calls of one tool. All of it is estimated: providers report messages, not calls."""

    calls: int = 0
    input: int = 0
    """What the results brought into the context, once; each later message carries it again."""
    output: int = 0
    """What it took to write the calls: their share of their messages."""

    def __add__(self, other: ToolSpent) -> ToolSpent:
        return ToolSpent(
            calls=self.calls + other.calls,
            input=self.input + other.input,
            output=self.output + other.output,
        )


class CallSpent(Value, frozen=True):
    """What one call of a tool cost (seed 003)."""

    session: str
    agent: str
    turn: int
    tool: str
    token_input: int
    """What its result brought into the context."""
    token_output: int
    """Its share of the answer that called it."""


class ToolCell(Value, frozen=True):
    session: str
    agent: str
    tool: str
    spent: ToolSpent


class Ledger(Value, frozen=True):
    cells: tuple[Cell, ...] = ()
    tool_cells: tuple[ToolCell, ...] = ()
    copies: int = 0
    """Messages that came again, in the same file or another, and were counted once."""
    unseen_agents: tuple[str, ...] = ()
    """Sub-agents that were started and whose messages are nowhere: what they cost is not known."""

    @property
    def total(self) -> Spent:
        return sum((cell.spent for cell in self.cells), Spent())

    def per(self, part: Part) -> dict[str, Spent]:
        """By session, agent or model, the dearest in output first."""
        found: dict[str, Spent] = {}
        for cell in self.cells:
            key: str = getattr(cell, part)
            found[key] = found.get(key, Spent()) + cell.spent
        return dict(sorted(found.items(), key=lambda item: (-item[1].tokens.output, item[0])))

    @property
    def tools(self) -> dict[str, ToolSpent]:
        """By tool, the one that brought most into the context first."""
        found: dict[str, ToolSpent] = {}
        for cell in self.tool_cells:
            found[cell.tool] = found.get(cell.tool, ToolSpent()) + cell.spent
        return dict(sorted(found.items(), key=lambda item: (-item[1].input, item[0])))


# What tokens cost, from the prices that come with genai-prices.

PACKAGE, EXTRA = "genai_prices", "prices"
PRICED_AT = time(12, tzinfo=UTC)
"""Time of the day whose prices count: some models are cheaper at night or dearer at busy hours, and
the same session must cost the same at any hour. At noon no model has either."""
PRICES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
"""Our kinds of tokens, and their prices there. Writes into the cache are taken to be short-lived:
usage does not tell them from those that last an hour."""


class Cost(Value, frozen=True):
    amount: float | None = 0.0
    """Of what has a known price; None where nothing has."""
    unknown: tuple[str, ...] = ()
    """Models with tokens whose price is not known. With any, the amount is the least it cost."""
    currency: str = "USD"


def prices_installed() -> bool:
    return find_spec(PACKAGE) is not None


@cache
def rates_of(model: str, provider: str = "", *, context: int = 0) -> Rates | None:
    """The prices of a model for a message with so large a context, as they are today; None for a
    model that nobody knows."""
    found = _found(model, provider)
    if found is None:
        return None
    seller, info = found
    prices = _prices(info)
    rates = {kind: _price(getattr(prices, name, None), context) for kind, name in PRICES.items()}
    found_rates = Rates(
        input=rates["input"],
        output=rates["output"],
        cache_read=rates["cache_read"],
        cache_write=rates["cache_write"],
        source=f"genai-prices {_version()}: {seller.id}/{info.id}",
    )
    return found_rates.filled()


def priced_as(model: str) -> str:
    """The model whose prices are taken, where it has another name; else nothing."""
    found = _found(model, "")
    if found is None or found[1].id in (model, model.partition("/")[2]):
        return ""
    return f"{found[0].id}/{found[1].id}"


@cache
def tiers_of(model: str, provider: str = "") -> tuple[int, ...]:
    """Sizes of the context above which a model has other prices, ascending."""
    found = _found(model, provider)
    if found is None:
        return ()
    prices = _prices(found[1])
    tiered = (getattr(prices, name, None) for name in PRICES.values())
    starts = {tier.start for price in tiered for tier in getattr(price, "tiers", ())}
    return tuple(sorted(starts))


def cost_of(usage: Usage, rates: Rates | None, *, model: str) -> Cost:
    """What tokens cost; a price that is not known is unknown, never nothing."""
    prices = rates.filled() if rates is not None else Rates()
    used = {kind: number for kind in Usage.__struct_fields__ if (number := getattr(usage, kind))}
    known = {kind: price for kind in used if (price := getattr(prices, kind)) is not None}
    amount = sum(used[kind] * price / MILLION for kind, price in known.items())
    return _cost(amount, () if len(known) == len(used) else (model,))


def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of what is known, and of whom nothing is."""
    listed = list(costs)
    unknown = dict.fromkeys(model for cost in listed for model in cost.unknown)
    return _cost(sum(cost.amount or 0.0 for cost in listed), tuple(unknown))


def _cost(known: float, unknown: tuple[str, ...]) -> Cost:
    """At least nothing is no amount."""
    return Cost(amount=None if unknown and not known else known, unknown=unknown)


def cost_of_cells(cells: Iterable[Cell]) -> Cost:
    return total_cost(map(cost_of_cell, cells))


def cost_of_cell(cell: Cell) -> Cost:
    # A price begins above its tier, not at it.
    context = cell.above + 1 if cell.above else 0
    rates = rates_of(cell.model, context=context) if prices_installed() else None
    return cost_of(cell.spent.tokens, rates, model=cell.model)


def _found(model: str, provider: str) -> tuple[Provider, ModelInfo] | None:
    """The model under its own name, or behind the name of who sells it: `openai/gpt-5`."""
    seller, _, name = model.partition("/")
    asked = [(model, provider or None), *([(name, seller)] if name and not provider else [])]
    for reference, sold_by in asked:
        try:
            return _snapshot().find_provider_model(reference, None, sold_by, None)
        except LookupError:
            continue
    return None


@cache
def _snapshot() -> DataSnapshot:
    """The prices that came with the package, and not those that a program around may have fetched:
    loaded with the first question, as that takes half a second."""
    if not prices_installed():
        raise MissingExtra("knowing prices", EXTRA)
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _prices(info: ModelInfo) -> ModelPrice:
    return info.get_prices(datetime.combine(datetime.now(tz=UTC), PRICED_AT))


def _price(price: Any, context: int) -> float | None:
    """One number out of a price that may depend on the size of the context."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price)
    reached = [tier.price for tier in tiers if context > tier.start]
    return float(reached[-1] if reached else price.base)


def _version() -> str:
    from importlib.metadata import version

    return version("genai-prices")
