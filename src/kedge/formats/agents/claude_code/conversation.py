"""One conversation of a session, the main one or a sub-agent's: its messages into turns."""

from __future__ import annotations

import msgspec

from kedge.formats.agents.claude_code.attachments import by_a_person
from kedge.formats.agents.claude_code.content import heard, said
from kedge.formats.agents.claude_code.records import ApiMessage, Block, Counts, Entry
from kedge.formats.agents.claude_code.results import agent_of, result_of
from kedge.formats.content.blocks import time_of
from kedge.formats.intake.lines import Line
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Note, Text, ToolCall, ToolResult, Usage

BY_CLIENT = ("system", "loop_wakeup", "schedule_wakeup")
"""Where a prompt comes from that the client gives by itself. Others are typed, queued, accepted as
they were suggested, or come through the SDK, which speaks in the user's place."""


class Conversation:
    def __init__(self, log: Log, *, agent: str = "", index: int = 0, exchange: int = -1) -> None:
        self.turns = Assembler(log, agent=agent, index=index, exchange=exchange)
        self._log = log
        self._calls: dict[str, ToolCall] = {}
        """Calls that wait for their result."""

    def answered(self, line: Line, entry: Entry, message: ApiMessage) -> None:
        """An assistant message, or one block of it."""
        pieces = said(message.content)
        calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
        for call in calls:
            self._calls[call.id] = call
            prompt = call.parameters.get("prompt")
            if call.verb == "delegate" and isinstance(prompt, str):
                self._log.links.asked(call.id, prompt, entry.timestamp or "")
        self.turns.assistant(
            line,
            pieces,
            message_id=message.id or "",
            time=time_of(entry.timestamp),
            model=message.model or "",
            usage=_usage(message.usage),
        )

    def told(self, line: Line, entry: Entry, message: ApiMessage) -> list[Piece]:
        """A user message: results go to their calls, and what else it holds is returned."""

        def result(block: Block) -> ToolResult:
            call = self._calls.pop(block.tool_use_id or "", None)
            raw, denial = entry.toolUseResult, entry.toolDenialKind
            found = result_of(block, call, raw=raw, denial=denial)
            delegated = call is not None and call.verb == "delegate"
            if call is not None and delegated and (agent := agent_of(raw, found)):
                self._log.links.told(agent, call.id)
            return found

        by_client = bool(entry.isMeta) or entry.promptSource in BY_CLIENT
        meta = by_client or not by_a_person(entry.origin)
        pieces, results = heard(message.content, meta=meta, result=result)
        if results:
            self.turns.results(line, results, role="user")
        if isinstance(entry.planContent, str):
            # The client asks, in the user's place, to carry out a plan that the agent wrote.
            return [Note(kind="plan", text=p.text) if isinstance(p, Text) else p for p in pieces]
        return pieces


def _usage(counts: Counts | None) -> Usage | None:
    if counts is None or all(number is None for number in msgspec.structs.astuple(counts)):
        return None
    return Usage(
        input=counts.input_tokens or 0,
        output=counts.output_tokens or 0,
        cache_read=counts.cache_read_input_tokens or 0,
        cache_write=counts.cache_creation_input_tokens or 0,
    )
