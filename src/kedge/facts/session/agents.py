"""What sub-agents were asked and what they reported: their word, no fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from kedge.facts.extractor import Setting
from kedge.facts.session.handed_back import LOOKED_AT, TASK_TAG, handed_back
from kedge.facts.session.reports import report_of
from kedge.facts.session.tool_names import plain_name
from kedge.model import AgentReported, ToolResult, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line

TASK = 200
"""Characters of what was asked."""
KNOWN = 50
"""Agents in the background that are remembered, as they may report again; the oldest goes."""

TITLES = ("description", "title", "name", "agent_name", "subagent_type", "agent_type")
PROMPTS = ("prompt", "message", "task", "objective", "instructions", "query", "input", "context")
OUTPUT_TOOLS = frozenset({"taskoutput", "agentoutput", "agentoutputtool", "wait", "waitagent"})
"""Tools that fetch what an agent in the background has to say."""
STOPPED = ("kill", "stop", "cancel", "abort", "interrupt", "shutdown")
FAILED = (*STOPPED, "fail", "error", "timeout", "timed", "max_turns")

_TAG = r"<{0}>\s{{0,9}}(.{{0,%d}}?)\s{{0,9}}</{0}>"
_TASK_ID = re.compile((_TAG % 200).format("task-id"), re.DOTALL)
_STATUS = re.compile((_TAG % 200).format("status"), re.DOTALL)
_SUMMARY = re.compile((_TAG % 2_000).format("summary"), re.DOTALL)
_NAMED = re.compile(r"^Agent [\"“](.{1,400}?)[\"”]")
_RESULT = re.compile(r"<(result|output)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_AS_JSON = re.compile(r"<subagent_notification>(.*?)(?:</subagent_notification>|\Z)", re.DOTALL)


class _Reply(NamedTuple):
    id: str
    status: str
    text: str


class _Known(NamedTuple):
    """An agent in the background."""

    task: str
    last: str = ""
    """What it reported last: clients tell it by a notification and to who waits for it."""


class AgentExtractor:
    """A delegated task with its report. An agent in the background reports later, and may do so
    again when it is sent on."""

    def __init__(self, setting: Setting) -> None:
        self._agents = setting.agents
        self._known: dict[str, _Known] = {}
        """By the agent's id."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[AgentReported]:
        for note in turn.notes:
            if note.kind == "notification":
                yield from self._notified(turn.index, note.text[:LOOKED_AT])
            elif note.kind == "injected" and note.text.startswith(TASK_TAG):
                found = handed_back(note.text)
                reply = _Reply(found.agent, found.status, found.text)
                yield from self._replied(turn.index, reply)
        for outcome in outcomes:
            if outcome.call.verb == "delegate":
                yield self._delegated(turn.index, outcome)
            elif self._known and plain_name(outcome.call) in OUTPUT_TOOLS and outcome.success:
                yield from self._fetched(turn.index, outcome)

    def _delegated(self, turn: int, outcome: Outcome) -> AgentReported:
        task, result = _task(outcome.call.parameters), outcome.result
        linked = self._agents.get(outcome.call.id)
        agent, began = (linked.agent, bool(linked.turns)) if linked else ("", False)
        if result is None:
            return _told(turn, task, agent=agent, state="running")
        if result.refused or result.interrupted:
            stopped = began or result.interrupted
            return _told(turn, task, agent=agent, state="stopped" if stopped else "refused")
        if not result.success:
            return _told(turn, task, result.error or result.output, agent, success=False)
        return self._handed_back(turn, outcome, result, agent)

    def _handed_back(
        self, turn: int, outcome: Outcome, result: ToolResult, agent: str
    ) -> AgentReported:
        task, given = _task(outcome.call.parameters), outcome.call.parameters
        found = handed_back(result.output, background=given.get("run_in_background") is True)
        agent = agent or found.agent
        if found.launched:
            self._remember(found.agent, _Known(task))
            return _told(turn, task, agent=agent, state="running")
        success = _success(found.status) is not False
        return _told(turn, task, found.text, agent, success=success)

    def _notified(self, turn: int, text: str) -> Iterator[AgentReported]:
        if as_json := _AS_JSON.search(text):
            for reply in _spoken_of(as_json[1]):
                yield from self._replied(turn, reply)
            return
        number, summary = _inside(_TASK_ID, text), _inside(_SUMMARY, text)
        named = _NAMED.match(summary)
        if number not in self._known and named:
            self._remember(number, _Known(cut(one_line(named[1]), TASK)))
        found = _RESULT.search(text)
        yield from self._replied(
            turn, _Reply(number, _inside(_STATUS, text), found[2] if found else "")
        )

    def _fetched(self, turn: int, outcome: Outcome) -> Iterator[AgentReported]:
        output = "" if outcome.result is None else outcome.result.output[:LOOKED_AT]
        for reply in _replies(outcome.call.parameters, output):
            yield from self._replied(turn, reply)

    def _replied(self, turn: int, reply: _Reply) -> Iterator[AgentReported]:
        known, done = self._known.get(reply.id), _success(reply.status)
        if known is None or done is None:
            return
        fact = _told(turn, known.task, reply.text, reply.id, success=done)
        if known.last != f"{reply.status} {fact.report}":
            self._remember(reply.id, _Known(known.task, f"{reply.status} {fact.report}"))
            stopped = reply.status.casefold().startswith(STOPPED)
            yield msgspec.structs.replace(fact, state="stopped") if stopped else fact

    def _remember(self, number: str, known: _Known) -> None:
        self._known.pop(number, None)
        self._known[number] = known
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]


def _told(
    turn: int,
    task: str,
    text: str = "",
    agent: str = "",
    *,
    success: bool | None = None,
    state: Literal["reported", "running", "stopped", "refused"] = "reported",
) -> AgentReported:
    report = report_of(text[:LOOKED_AT])
    return AgentReported(
        turn=turn, by="agent", task=task, report=report, success=success, agent=agent, state=state
    )


def _task(given: Mapping[str, Any]) -> str:
    """Its title and the first sentence of the prompt."""
    title, prompt = _first(given, TITLES), _first(given, PROMPTS)
    parts = (cut(one_line(title[: TASK * 4]), TASK), first_sentence(prompt))
    return cut(": ".join(dict.fromkeys(part for part in parts if part)), TASK)


def _replies(given: Mapping[str, Any], output: str) -> Iterator[_Reply]:
    """What was fetched: of one agent in tags, or of several as JSON."""
    number = _first(given, ("task_id", "agentId", "agent_id", "id"))
    if number:
        found = _RESULT.search(output)
        status = _inside(_STATUS, output) or ("" if found else "completed")
        yield _Reply(number, status, found[2] if found else output)
        return
    states = _read(output).get("status")
    for name, state in states.items() if isinstance(states, dict) else ():
        yield from _ended(name, state)


def _spoken_of(text: str) -> Iterator[_Reply]:
    """A notification as JSON."""
    read = _read(text)
    name = _first(read, ("agent_path", "agent_id", "thread_id"))
    yield from _ended(name, read.get("status"))


def _ended(name: str, state: object) -> Iterator[_Reply]:
    if isinstance(state, dict):
        for status, text in state.items():
            yield _Reply(name, str(status), text if isinstance(text, str) else "")
    elif isinstance(state, str):
        yield _Reply(name, state, "")


def _read(text: str) -> dict[str, Any]:
    try:
        read = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _success(status: str) -> bool | None:
    """None where the agent is still at work."""
    word = status.casefold()
    if word.startswith(("complete", "success", "done", "finish")):
        return True
    return False if word.startswith(FAILED) else None


def _inside(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


def _first(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    values = (given.get(key) for key in keys)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")
