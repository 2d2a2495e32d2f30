"""What messages were charged for, by session, agent, model and tool."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from kedge.model import Usage, Value

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
