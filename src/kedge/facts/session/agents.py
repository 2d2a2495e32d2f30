"""What sub-agents were asked and what they reported: their word, no fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kedge.facts.extractor import Setting
from kedge.facts.session.reports import report_of
from kedge.facts.session.tool_names import plain_name
from kedge.model import AgentReported, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line

TASK = 200
"""Characters of what was asked."""
RUNNING = 50
"""Agents in the background that are remembered until they report; the oldest goes."""
LAUNCH = 1_000
"""Characters of a result in which a client says that it only started the agent."""
LOOKED_AT = 40_000
"""Characters of a result or a notification that are read."""

TITLES = ("description", "title", "name", "agent_name", "subagent_type")
PROMPTS = ("prompt", "message", "task", "objective", "instructions", "query", "input", "context")
OUTPUT_TOOLS = frozenset({"taskoutput", "agentoutput", "agentoutputtool", "wait", "waitagent"})
"""Tools that fetch what an agent in the background has to say."""
FAILED = ("fail", "error", "kill", "stop", "cancel", "abort", "timeout", "timed")

_LAUNCHED = re.compile(
    r"(?:launched|started|running|spawned)[^\n]{0,80}|working in the background", re.IGNORECASE
)
_AGENT_ID = re.compile(r"\bagent[_ ]?id\"?[:=]\s{0,3}\"?([\w-]{4,80})", re.IGNORECASE)
_TAG = r"<{0}>\s{{0,9}}(.{{0,%d}}?)\s{{0,9}}</{0}>"
_TASK_ID = re.compile((_TAG % 200).format("task-id"), re.DOTALL)
_STATUS = re.compile((_TAG % 200).format("status"), re.DOTALL)
_SUMMARY = re.compile((_TAG % 2_000).format("summary"), re.DOTALL)
_NAMED = re.compile(r"^Agent [\"“](.{1,400}?)[\"”]")
_RESULT = re.compile(r"<(result|output)>(.*?)(?:</\1>|\Z)", re.DOTALL)


class _Reply(NamedTuple):
    id: str
    status: str
    text: str


class AgentExtractor:
    """A delegated task with its report. An agent in the background reports later; until then, and
    where it was refused or interrupted, what came of it is unknown."""

    def __init__(self, setting: Setting) -> None:
        self._running: dict[str, str] = {}
        """Tasks of agents in the background, by the agent's id."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[AgentReported]:
        for note in turn.notes:
            if note.kind == "notification":
                yield from self._notified(turn.index, note.text[:LOOKED_AT])
        for outcome in outcomes:
            if outcome.call.verb == "delegate":
                yield self._delegated(turn.index, outcome)
            elif self._running and plain_name(outcome.call) in OUTPUT_TOOLS and outcome.success:
                yield from self._fetched(turn.index, outcome)

    def _delegated(self, turn: int, outcome: Outcome) -> AgentReported:
        task, result = _task(outcome.call.parameters), outcome.result
        if result is None or result.refused or result.interrupted:
            return _told(turn, task)
        if not result.success:
            return _told(turn, task, result.error or result.output[:LOOKED_AT], success=False)
        if launched := _launched(outcome):
            self._running[launched] = task
            if len(self._running) > RUNNING:
                del self._running[next(iter(self._running))]
            return _told(turn, task)
        return _told(turn, task, result.output[:LOOKED_AT], success=True)

    def _notified(self, turn: int, text: str) -> Iterator[AgentReported]:
        number, summary = _inside(_TASK_ID, text), _inside(_SUMMARY, text)
        named = _NAMED.match(summary)
        task = self._running.pop(number, "") or (cut(one_line(named[1]), TASK) if named else "")
        if task:
            found = _RESULT.search(text)
            status = _inside(_STATUS, text)
            yield _told(turn, task, found[2] if found else "", success=_success(status))

    def _fetched(self, turn: int, outcome: Outcome) -> Iterator[AgentReported]:
        output = "" if outcome.result is None else outcome.result.output[:LOOKED_AT]
        for reply in _replies(outcome.call.parameters, output):
            done = _success(reply.status)
            if done is not None and reply.id in self._running:
                yield _told(turn, self._running.pop(reply.id), reply.text, success=done)


def _told(turn: int, task: str, text: str = "", *, success: bool | None = None) -> AgentReported:
    return AgentReported(turn=turn, by="agent", task=task, report=report_of(text), success=success)


def _task(given: Mapping[str, Any]) -> str:
    """Its title and the first sentence of the prompt."""
    title, prompt = _first(given, TITLES), _first(given, PROMPTS)
    parts = (cut(one_line(title[: TASK * 4]), TASK), first_sentence(prompt))
    return cut(": ".join(dict.fromkeys(part for part in parts if part)), TASK)


def _launched(outcome: Outcome) -> str:
    """The id of an agent that the call only started."""
    output = "" if outcome.result is None else outcome.result.output[:LAUNCH]
    number = _AGENT_ID.search(output)
    only = output.lstrip().startswith("{") or _LAUNCHED.search(output.partition("\n")[0])
    background = outcome.call.parameters.get("run_in_background") is True
    return number[1] if number and (only or background) else ""


def _replies(given: Mapping[str, Any], output: str) -> Iterator[_Reply]:
    """What was fetched: of one agent in tags, or of several as JSON."""
    number = _first(given, ("task_id", "agentId", "agent_id", "id"))
    if number:
        found = _RESULT.search(output)
        status = _inside(_STATUS, output) or ("" if found else "completed")
        yield _Reply(number, status, found[2] if found else output)
        return
    try:
        read = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    states = read.get("status") if isinstance(read, dict) else None
    for name, state in states.items() if isinstance(states, dict) else ():
        if isinstance(state, dict):
            for status, text in state.items():
                yield _Reply(name, status, text if isinstance(text, str) else "")


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
