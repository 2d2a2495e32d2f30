"""`trim_messages` of LangChain, which the extra `langchain` brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from kedge.bench.replay.compacted import Latest
from kedge.bench.replay.rendering import EXACT, messages_of
from kedge.model import Transcript, Turn

PACKAGE = "langchain_core"


class LangChainTrimming:
    """With the settings its own documentation gives for a chat history: the last messages that fit,
    whole ones only, beginning with one of the user's; nothing where none of these fits."""

    def __init__(self) -> None:
        self._messages = Latest(_as_messages)

    def __call__(self, session: Transcript, tokens: int) -> str:
        trim = import_module(f"{PACKAGE}.messages").trim_messages

        def count(messages: Iterable[Any]) -> int:
            """Up to the limit: what is beyond it is only compared with it."""
            total = 0
            for message in messages:
                total += EXACT.count(message.content)
                if total > tokens:
                    break
            return total

        kept = trim(
            self._messages.of(session),
            max_tokens=tokens,
            token_counter=count,
            strategy="last",
            start_on="human",
            include_system=True,
        )
        return "".join(message.content for message in kept)


def _as_messages(session: Transcript) -> list[Any]:
    return [message for turn in session.turns for message in _of(turn)]


def _of(turn: Turn) -> Iterator[Any]:
    """The system prompt is not among them: no method carries it here."""
    kinds = import_module(f"{PACKAGE}.messages")
    for role, text in messages_of(turn):
        if role == "human":
            yield kinds.HumanMessage(content=text)
        elif role == "ai":
            yield kinds.AIMessage(content=text)
        else:
            yield kinds.ToolMessage(content=text, tool_call_id=str(turn.index))
