"""What sub-agents were asked and reported, and what a session is in: its mode, plan file, folder
and model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from kedgeline.facts.extractor import (
    ENTER_PLAN,
    EXIT_PLAN,
    Recent,
    Setting,
    first_given,
    object_in,
    plain_name,
)
from kedgeline.model import (
    AgentReported,
    Change,
    SessionFacts,
    SessionNoted,
    ToolResult,
    Turn,
)
from kedgeline.shell import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line

# A long report made short.

REPORT = 400
"""Characters of a report."""
USAGE = "<usage>"
"""Behind a report: what it cost."""
_NO_PROSE = re.compile(r"^\s{0,12}(?:```|~~~|\||-{3,}|={3,}|\*{3,}|<|agentId:|$)")
_MARKS = re.compile(r"\*{1,3}|^\s{0,12}(?:#{1,6}|>|[-*•+]|\d{1,2}[.)])\s+")
_FILLER = re.compile(
    r"(?:perfect|great|excellent|good|done|ok|okay|now)\b[!.,]|now (?:i|let|that)|let me|i'll"
    r"|i will|(?:i|i've|i have) (?:now )?(?:have |gathered |got )?(?:all|enough|sufficient"
    r"|a (?:complete|comprehensive|clear|full|good))\b"
    r"|(?:i|i've|i have) (?:thoroughly |successfully |now )?(?:completed|analy[sz]ed|explored)\b"
    r"|based on (?:my|the|this)|here(?:'s| is| are)|this is (?:a|the) (?:complete|comprehensive)"
    r"|below is|the following (?:is|are)",
    re.IGNORECASE,
)
"""How sentences begin that say nothing of the matter."""


def _report_of(text: str) -> str:
    """What a report says first, on one line, without a lead-in and tables."""
    lines = text[: 20 * REPORT].partition(USAGE)[0].splitlines()
    told = [one_line(_MARKS.sub("", line)) for line in lines if not _NO_PROSE.match(line)]
    while len(told) > 1 and _FILLER.match(told[0]):
        del told[0]
    return cut(" ".join(told), REPORT)


# What a call for a sub-agent gave back: clients put words of their own around the report.

LOOKED_AT = 40_000
"""Characters of a result that are read."""
LAUNCH = 1_000
"""Characters of a result in which a client says that it only started the agent."""
_NAMED = r"agent[_ ]?id\"?[:=]\s{0,3}\"?([\w-]{4,80})"
_AGENT_ID = re.compile(rf"\b{_NAMED}", re.IGNORECASE)
_OWN_LINE = re.compile(rf"^{_NAMED}", re.IGNORECASE | re.MULTILINE)
_LAUNCHED = re.compile(
    r"(?:launched|started|running|spawned)[^\n]{0,80}|working in the background", re.IGNORECASE
)
_FRAME = re.compile(r"^\[Subagent hand-back\][^\n]*\n((?:[ \t][^\n]*\n?|\n)*)", re.MULTILINE)
"""Claude Code: a line of the client's, then the report, indented, up to the client's next line."""
_INDENT = re.compile(r"^ {1,2}", re.MULTILINE)
TASK_TAG = "<task id="
_TASK = re.compile(
    r"<task id=\"([\w-]{4,80})\" state=\"(\w{1,20})\">.*?<task_(?:result|error)>\n?(.*)", re.DOTALL
)
"""OpenCode; what the agent said may have the closing tag in it, so the last one ends it."""
_OLDER_TASK = re.compile(r"task_id: ([\w-]{4,80})[^\n]*\n+<task_result>\n?(.*)", re.DOTALL)
_TASK_END = re.compile(r"\n?</task_(?:result|error)>(?:\s*</task>)?\s*\Z")
_FINISHED = re.compile(
    r"(?:Subagent '[^'\n]{1,200}'|Browser agent) finished\.\nTermination Reason: (\w{1,40})\n"
    r"Result:\n(.*)",
    re.DOTALL,
)
"""Gemini CLI."""
GOAL = "GOAL"
"""Its word for an agent that did what it was asked."""


class HandedBack(NamedTuple):
    """A report without what the client says around it."""

    text: str
    agent: str = ""
    """Its id, where the client names it."""
    status: str = ""
    """The client's word for how it ended; empty where it says none."""
    launched: bool = False
    """It was only started."""


def handed_back(output: str, *, background: bool = False) -> HandedBack:
    """`background`: the call asked for an agent that is not waited for."""
    output = output[:LOOKED_AT]
    if frame := _FRAME.search(output):
        return HandedBack(_INDENT.sub("", frame[1]), _named_behind(output))
    if task := _TASK.match(output):
        text = _TASK_END.sub("", task[3])
        return HandedBack(text, task[1], task[2], launched=task[2] == "running")
    if older := _OLDER_TASK.match(output):
        return HandedBack(_TASK_END.sub("", older[2]), older[1])
    if finished := _FINISHED.match(output):
        return HandedBack(finished[2], status="completed" if finished[1] == GOAL else finished[1])
    return _handed_back_plain(output, background=background)


def _handed_back_plain(output: str, *, background: bool) -> HandedBack:
    head = output[:LAUNCH]
    number = _AGENT_ID.search(head)
    only = head.lstrip().startswith("{") or _LAUNCHED.search(head.partition("\n")[0])
    if number and (only or background):
        return HandedBack("", number[1], launched=True)
    return HandedBack(output, _named_behind(output))


def _named_behind(output: str) -> str:
    """The client names the agent behind what it said; so the last one counts."""
    found = _OWN_LINE.findall(output[-LAUNCH:])
    return found[-1] if found else ""


# What sub-agents were asked and what they reported: their word, no fact.

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
_AGENTS_NAMED = re.compile(r"^Agent [\"“](.{1,400}?)[\"”]")
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
        self._known = Recent[str, _Known](KNOWN)
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
            self._known.put(found.agent, _Known(task))
            return _told(turn, task, agent=agent, state="running")
        success = _success(found.status) is not False
        return _told(turn, task, found.text, agent, success=success)

    def _notified(self, turn: int, text: str) -> Iterator[AgentReported]:
        if as_json := _AS_JSON.search(text):
            for reply in _spoken_of(as_json[1]):
                yield from self._replied(turn, reply)
            return
        number, summary = _inside(_TASK_ID, text), _inside(_SUMMARY, text)
        named = _AGENTS_NAMED.match(summary)
        if number not in self._known and named:
            self._known.put(number, _Known(cut(one_line(named[1]), TASK)))
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
            self._known.put(reply.id, _Known(known.task, f"{reply.status} {fact.report}"))
            stopped = reply.status.casefold().startswith(STOPPED)
            yield msgspec.structs.replace(fact, state="stopped") if stopped else fact


def reports_in(turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What sub-agents reported in a turn, as far as it stands there in full."""
    for note in turn.notes:
        if note.kind == "notification":
            found = _RESULT.search(note.text[:LOOKED_AT])
            yield from (found[2],) if found else ()
        elif note.kind == "injected" and note.text.startswith(TASK_TAG):
            yield handed_back(note.text).text
    for outcome in outcomes:
        if outcome.result is not None and outcome.success:
            output = outcome.result.output
            if outcome.call.verb == "delegate":
                yield handed_back(output).text
            elif plain_name(outcome.call) in OUTPUT_TOOLS:
                found = _RESULT.search(output[:LOOKED_AT])
                yield from (found[2],) if found else ()


def _told(
    turn: int,
    task: str,
    text: str = "",
    agent: str = "",
    *,
    success: bool | None = None,
    state: Literal["reported", "running", "stopped", "refused"] = "reported",
) -> AgentReported:
    report = _report_of(text[:LOOKED_AT])
    return AgentReported(
        turn=turn, by="agent", task=task, report=report, success=success, agent=agent, state=state
    )


def _task(given: Mapping[str, Any]) -> str:
    """Its title and the first sentence of the prompt."""
    title, prompt = first_given(given, TITLES), first_given(given, PROMPTS)
    parts = (cut(one_line(title[: TASK * 4]), TASK), first_sentence(prompt))
    return cut(": ".join(dict.fromkeys(part for part in parts if part)), TASK)


def _replies(given: Mapping[str, Any], output: str) -> Iterator[_Reply]:
    """What was fetched: of one agent in tags, or of several as JSON."""
    number = first_given(given, ("task_id", "agentId", "agent_id", "id"))
    if number:
        found = _RESULT.search(output)
        status = _inside(_STATUS, output) or ("" if found else "completed")
        yield _Reply(number, status, found[2] if found else output)
        return
    states = object_in(output).get("status")
    for name, state in states.items() if isinstance(states, dict) else ():
        yield from _ended(name, state)


def _spoken_of(text: str) -> Iterator[_Reply]:
    """A notification as JSON."""
    read = object_in(text)
    name = first_given(read, ("agent_path", "agent_id", "thread_id"))
    yield from _ended(name, read.get("status"))


def _ended(name: str, state: object) -> Iterator[_Reply]:
    if isinstance(state, dict):
        for status, text in state.items():
            yield _Reply(name, str(status), text if isinstance(text, str) else "")
    elif isinstance(state, str):
        yield _Reply(name, state, "")


def _success(status: str) -> bool | None:
    """None where the agent is still at work."""
    word = status.casefold()
    if word.startswith(("complete", "success", "done", "finish")):
        return True
    return False if word.startswith(FAILED) else None


def _inside(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


# What a session is in: its mode, its plan file, its folder, its model.

PLAN_MODE = "plan"
PLAN_LEFT = "plan approved"
"""The mode behind plan mode: which one it is, the calls do not say."""
KEPT = ("branch", "mode", "title", "pull_request")
"""What a client records that is taken as it is. Its version and the session's id help nobody."""
NOTE = 4_000
"""Characters of a note in which the client says where things are."""
CLIENTS_PLANS = "/.claude/plans/"
VALUE = 400
"""Characters of a value: a path."""

_PLAN_SAVED = re.compile(
    r"plan (?:has been |was )?saved to:? {0,3}(\S{1,400}\.md)\b", re.IGNORECASE
)
_PLAN_AT = re.compile(
    r"plan file[^\n]{0,200}?(/\S{1,400}\.md)\b|(?:create|write|build) your plan (?:at|in|to) "
    r"(/\S{1,400}\.md)\b",
    re.IGNORECASE,
)
_FOLDER = re.compile(r"<cwd>([^<\n]{1,400})</cwd>")
_PLANS = re.compile(r"(?:^|/)plans/[^/]{1,200}\.md$")


class SessionExtractor:
    """What the turns themselves show of the session, where it changes."""

    def __init__(self, setting: Setting) -> None:
        self._known: dict[str, str] = {"folder": setting.root}

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[SessionNoted]:
        if turn.model and not turn.model.startswith("<"):
            yield from self._note(turn.index, "model", turn.model)
        for note in turn.notes:
            text = note.text[:NOTE]
            if note.kind == "environment" and (folder := _FOLDER.search(text)):
                yield from self._note(turn.index, "folder", folder[1].strip())
            elif note.kind == "injected" and (plan := _PLAN_AT.search(text)):
                yield from self._note(turn.index, "plan_file", plan[1] or plan[2])
        for outcome in outcomes:
            yield from self._called(turn.index, outcome)

    def _called(self, turn: int, outcome: Outcome) -> Iterator[SessionNoted]:
        if not outcome.success:
            return
        name = plain_name(outcome.call)
        if name in ENTER_PLAN:
            yield from self._note(turn, "mode", PLAN_MODE)
        elif name in EXIT_PLAN:
            yield from self._left(turn, outcome)
        elif outcome.call.verb == "write":
            for path in outcome.changed:
                if self._is_plan(path.replace("\\", "/")):
                    yield from self._note(turn, "plan_file", path)

    def _is_plan(self, path: str) -> bool:
        """Whether a file is the client's plan file; any plans folder is, in plan mode."""
        planning = self._known.get("mode") == PLAN_MODE
        return _PLANS.search(path) is not None and (planning or CLIENTS_PLANS in path)

    def _left(self, turn: int, outcome: Outcome) -> Iterator[SessionNoted]:
        yield from self._note(turn, "mode", PLAN_LEFT)
        output = "" if outcome.result is None else outcome.result.output[:NOTE]
        if saved := _PLAN_SAVED.search(output):
            yield from self._note(turn, "plan_file", saved[1])

    def _note(self, turn: int, name: str, value: str) -> Iterator[SessionNoted]:
        value = value[:VALUE]
        if self._known.get(name) != value:
            self._known[name] = value
            yield SessionNoted(turn=turn, name=name, value=value)


def session_facts(session: SessionFacts, turns: Iterable[Turn]) -> tuple[SessionNoted, ...]:
    """What the client recorded of the session, each with the first turn it holds for.

    A client names the plan file of every session beforehand; it is given only from the turn on at
    which there is a plan. A folder below the root is where the shell stands, no other root.
    """
    last, planned = _last_and_planned(turns)
    found: list[SessionNoted] = []
    root = ""
    for change in session.changes:
        turn = min(change.turn, last)
        if change.name in KEPT and not _is_no_branch(change, found):
            found.append(SessionNoted(turn=turn, name=change.name, value=change.value))
        elif change.name == "root":
            below = bool(root) and f"{change.value}/".startswith(f"{root.rstrip('/')}/")
            root = root if below else change.value
            name = "folder" if below else "root"
            found.append(SessionNoted(turn=turn, name=name, value=change.value))
    found.extend(_plan_files(session.changes, planned, last))
    return tuple(sorted(found, key=lambda fact: fact.turn))


def _is_no_branch(change: Change, found: Sequence[SessionNoted]) -> bool:
    """Clients record this for a folder without a repository; behind a branch it is a commit."""
    is_head = (change.name, change.value) == ("branch", "HEAD")
    return is_head and not any(one.name == "branch" for one in found)


def _plan_files(changes: Iterable[Change], planned: int, last: int) -> Iterator[SessionNoted]:
    modes = (one.turn for one in changes if one.name == "mode" and one.value == PLAN_MODE)
    since = min((turn for turn in (planned, next(modes, -1)) if turn >= 0), default=-1)
    named = [change for change in changes if change.name == "plan_file"]
    for change in named if since >= 0 else ():
        turn = min(max(change.turn, since), last)
        yield SessionNoted(turn=turn, name="plan_file", value=change.value)


def _last_and_planned(turns: Iterable[Turn]) -> tuple[int, int]:
    """The index of the last turn, and of the first with a plan; -1 where there is none."""
    last, planned = 0, -1
    for turn in turns:
        last = max(last, turn.index)
        if planned < 0 and has_plan(turn):
            planned = turn.index
    return last, planned


def has_plan(turn: Turn) -> bool:
    """Whether a turn shows that there is a plan."""
    return any(note.kind == "plan" for note in turn.notes) or any(
        plain_name(call) in ENTER_PLAN | EXIT_PLAN for call in turn.tool_calls
    )
