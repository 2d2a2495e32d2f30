"""What is known of a session when it has been counted."""

from __future__ import annotations

from kedge.model import Damage, EarlierCompaction, SessionFacts, Value
from kedge.tokens import ModelTokens, Tokens


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
