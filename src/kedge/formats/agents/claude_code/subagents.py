"""Sub-agents: conversations of their own, linked to the call that started them."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.formats.agents.claude_code.conversation import Conversation
from kedge.formats.agents.claude_code.records import TURN_TYPES, Entry
from kedge.formats.content.blocks import time_of
from kedge.formats.intake.lines import Line
from kedge.formats.intake.log import Log
from kedge.formats.turns.memory import remember
from kedge.model import ToolCall, Turn

PROMPTS_KEPT = 256
"""Delegating calls remembered by their prompt; sidechains of older versions carry no agent id and
are linked by the words they begin with."""


SPEAKING = 64
"""Sub-agents whose conversations are kept open: more never run at once, and keeping all would let
memory grow with their number."""


class Subagents:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._conversations: dict[str, Conversation] = {}
        self._last: Conversation | None = None
        self._aside: list[Turn] = []
        """Last turns of sub-agents put aside, to be given out."""
        self._left_at: dict[str, tuple[int, int]] = {}
        """Turn and exchange at which a sub-agent put aside goes on, should it speak again."""
        self._seen: dict[str, None] = {}
        self._prompts: dict[str, str] = {}
        self._chains: dict[str, str] = {}
        """Record id to the agent whose sidechain it is on."""
        self._nameless = 0

    def delegated(self, call: ToolCall) -> None:
        """The main conversation has called for a sub-agent."""
        prompt = call.parameters.get("prompt")
        if isinstance(prompt, str):
            remember(self._prompts, prompt, call.id, most=PROMPTS_KEPT)

    def take_progress(self, line: Line, agent: str, entry: Entry, call_id: str | None) -> None:
        """A sub-agent's message inside a progress record; clients repeat some of them."""
        if entry.uuid is None or entry.uuid not in self._seen:
            remember(self._seen, entry.uuid or "", None)
            if call_id:
                self._log.delegated_by.setdefault(agent, call_id)
            self._take(line, agent, entry)

    def take_sidechain(self, line: Line, entry: Entry) -> None:
        """A record of a sidechain in the session's own file."""
        agent = entry.agentId or self._chains.get(entry.parentUuid or "")
        if not agent:
            self._nameless += 1
            agent = f"sidechain-{self._nameless}"
        if entry.uuid:
            remember(self._chains, entry.uuid, agent)
        if entry.message is not None and (call := self._prompts.get(_plain(entry))):
            self._log.delegated_by.setdefault(agent, call)
        self._take(line, agent, entry)

    @property
    def waits(self) -> bool:
        return bool(self._aside) or (self._last is not None and self._last.turns.waits)

    def ready(self) -> Iterator[Turn]:
        """Turns of sub-agents put aside, and complete ones of the sub-agent that spoke last: no
        other can have got any."""
        aside, self._aside = self._aside, []
        yield from aside
        if self._last is not None:
            yield from self._last.turns.ready()

    def finish(self) -> Iterator[Turn]:
        for conversation in self._conversations.values():
            yield from conversation.turns.finish()

    def _take(self, line: Line, agent: str, entry: Entry) -> None:
        message = entry.message
        if message is None or entry.type not in TURN_TYPES:
            self._log.ignored[f"sub-agent/{entry.type or '(no type)'}"] += 1
            return
        self._last = conversation = self._conversation(agent)
        if entry.type == "assistant":
            conversation.answered(line, entry, message)
        elif pieces := conversation.told(line, entry, message):
            conversation.turns.user(line, pieces, time=time_of(entry.timestamp))

    def _conversation(self, agent: str) -> Conversation:
        """The sub-agent's conversation, as the one that spoke last; the most silent goes aside."""
        conversation = self._conversations.pop(agent, None)
        if conversation is None:
            index, exchange = self._left_at.get(agent, (0, -1))
            conversation = Conversation(self._log, agent=agent, index=index, exchange=exchange)
        self._conversations[agent] = conversation
        if len(self._conversations) > SPEAKING:
            silent = next(iter(self._conversations))
            turns = self._conversations.pop(silent).turns
            self._aside.extend(turns.finish())
            remember(self._left_at, silent, (turns.next_turn, turns.exchange))
        return conversation


def _plain(entry: Entry) -> str:
    content = entry.message.content if entry.message else None
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.text)
