"""Sub-agents of Codex: each has a rollout of its own, which the call that spawned it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from glob import escape

import msgspec

from kedge.formats.intake.fields import mapping, string
from kedge.formats.intake.lines import Record
from kedge.formats.intake.log import Log
from kedge.model import ToolResult

SPAWN = "spawn_agent"
DAY = timedelta(days=1)
_TIME_DIGITS = 12
"""Digits of an id that say when it was made, in milliseconds."""


def thread_of(records: Iterable[Record]) -> str:
    """The sub-agent whose rollout begins with these records; empty where a person speaks in it."""
    for record in records:
        payload = mapping(record.get("payload"))
        if record.get("type") == "session_meta":
            source = payload.get("source")
            spawned = isinstance(source, dict) and "subagent" in source
            is_agent = spawned or payload.get("thread_source") == "subagent"
            return string(payload.get("id")) if is_agent else ""
    return ""


def link_result(log: Log, result: ToolResult) -> None:
    """The output of a call for a sub-agent names it."""
    try:
        read = msgspec.json.decode(result.output)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    _link(log, result.call_id, mapping(read).get("agent_id"))


def link_event(log: Log, event: Record) -> None:
    """Some events name a call and the sub-agent that it spawned."""
    item = mapping(event.get("item"))
    threads = item.get("receiver_thread_ids")
    if event.get("type") == "collab_agent_spawn_end":
        _link(log, string(event.get("call_id")), event.get("new_thread_id"))
    elif item.get("tool") == SPAWN and isinstance(threads, list) and threads:
        _link(log, string(item.get("id")), threads[0])


def _link(log: Log, call: str, agent: object) -> None:
    if isinstance(agent, str) and agent and call:
        log.links.told(agent, call)


def rollouts(agents: Iterable[str]) -> Iterator[str]:
    """Where the rollouts of sub-agents may lie: in the folder of their session, or in that of the
    day on which they were spawned, which is told in the time of the machine."""
    for agent in agents:
        name = f"rollout-*-{escape(agent)}.jsonl"
        yield name
        digits = agent.replace("-", "")[:_TIME_DIGITS]
        try:
            made = datetime.fromtimestamp(int(digits, 16) / 1_000, UTC)
        except (ValueError, OverflowError, OSError):
            continue
        for day in (made - DAY, made, made + DAY):
            yield f"../../../{day:%Y/%m/%d}/{name}"
