"""Sub-agents: conversations of their own, linked to the call that started them."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.formats.agents.claude_code.conversation import Conversation
from kedge.formats.agents.claude_code.records import TURN_TYPES, Entry
from kedge.formats.content.blocks import time_of
from kedge.formats.intake.lines import Line
from kedge.formats.intake.log import Log
from kedge.formats.turns.memory import remember
from kedge.model import Turn

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
        self._chains: dict[str, str] = {}
        """Record id to the agent whose sidechain it is on."""
        self._nameless = 0

    def take_progress(self, line: Line, agent: str, entry: Entry, call_id: str | None) -> None:
        """A sub-agent's message inside a progress record; clients repeat some of them."""
        if entry.uuid is None or entry.uuid not in self._seen:
            remember(self._seen, entry.uuid or "", None)
            if call_id:
                self._log.links.told(agent, call_id)
            self._take(line, agent, entry)

    def take_sidechain(self, line: Line, entry: Entry) -> None:
        """A record of a sidechain in the session's own file."""
        agent = entry.agentId or self._chains.get(entry.parentUuid or "")
        if not agent:
            self._nameless += 1
            agent = f"sidechain-{self._nameless}"
        if entry.uuid:
            remember(self._chains, entry.uuid, agent)
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
        self._last = conversation = self._conversation(agent, entry)
        if entry.type == "assistant":
            conversation.answered(line, entry, message)
        elif pieces := conversation.told(line, entry, message):
            conversation.turns.user(line, pieces, time=time_of(entry.timestamp))

    def _conversation(self, agent: str, entry: Entry) -> Conversation:
        """The sub-agent's conversation, as the one that spoke last; the most silent goes aside. It
        begins with the words that it was started with."""
        conversation = self._conversations.pop(agent, None)
        if conversation is None:
            if agent not in self._left_at:
                self._log.links.begun(agent, _plain(entry), entry.timestamp or "")
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
