"""Codex rollout files into turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from glob import escape
from typing import Any, NamedTuple

import msgspec

from kedgeline.formats.agents.codex.items import (
    Outcome,
    awaited,
    call_of,
    heard,
    outcome_of,
    result_inside,
    result_of,
    said,
    thought,
    told,
    tools_found,
)
from kedgeline.formats.content import time_of, usage_in
from kedgeline.formats.intake import (
    Head,
    Lines,
    Position,
    Record,
    json_records,
    mapping,
    maybe_whole,
    mislisted,
    misshapen,
    string,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece, SessionReader
from kedgeline.model import (
    Note,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

# The records of a rollout, `{timestamp, type, payload}`, and bare items of the first versions.

TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
BARE_ITEMS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
)
"""Item types of the first versions, which wrote items without a record around them."""
KNOWN_EVENTS = (
    *("agent_reasoning_section_break", "collab_agent_interaction_end", "collab_agent_spawn_end"),
    *("collab_close_end", "collab_resume_end", "collab_waiting_end", "context_compacted"),
    *("dynamic_tool_call_request", "dynamic_tool_call_response", "entered_review_mode"),
    *("exited_review_mode", "guardian_assessment", "image_generation_end", "item_completed"),
    *("task_complete", "task_started", "turn_complete", "turn_started", "view_image_tool_call"),
    *("web_search_end",),
)
"""Events that only repeat what items say."""


class Content(NamedTuple):
    type: str
    payload: Record


def is_record(record: Record) -> bool:
    return record.get("type") in TYPES and isinstance(record.get("payload"), dict)


def is_state(record: Record) -> bool:
    """The marker that the first versions wrote between their bare items."""
    return record.get("record_type") == "state"


def content_of(record: Record) -> Content | None:
    """What a record holds; None when it holds nothing that can be read."""
    kind, payload = record.get("type"), record.get("payload")
    if isinstance(payload, dict):
        return Content(str(kind), payload)
    if kind in BARE_ITEMS:
        return Content("response_item", record)
    if kind is None and "instructions" in record and "id" in record:
        return Content("session_meta", record)
    return None


def is_message(record: Record) -> bool:
    """Whether this is a message as the model saw it, and not an event that tells of one."""
    content = content_of(record)
    return (
        content is not None
        and content.type == "response_item"
        and content.payload.get("type") == "message"
    )


# Sub-agents of Codex: each has a rollout of its own, which the call that spawned it names.

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


# One answer of the model, held until something else comes.


class _Item(NamedTuple):
    line: Line
    pieces: list[Piece]
    time: datetime | None


class Answer:
    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._items: list[_Item] = []
        self._reasoning: list[_Item] = []
        """Readable reasoning told by events; items may repeat it."""
        self._results: list[tuple[Line, ToolResult]] = []
        self._usage: Usage | None = None
        self._total: Any = None
        """Tokens of the whole session, as counted last; the same again is no new answer."""

    def add(self, line: Line, pieces: Sequence[Piece], time: datetime | None) -> None:
        if pieces:
            self._items.append(_Item(line, list(pieces), time))

    def ran(self, line: Line, result: ToolResult) -> None:
        """A call of this answer that was carried out inside it."""
        self._results.append((line, result))

    def reasoned(self, line: Line, text: str, time: datetime | None) -> None:
        """An event tells what the model was thinking."""
        if text.strip():
            self._reasoning.append(_Item(line, [Thinking(text=text)], time))

    def counted(self, info: Any) -> None:
        """A token count; clients repeat the last one whenever a rate limit changes."""
        total = mapping(info).get("total_token_usage")
        counts = mapping(mapping(info).get("last_token_usage"))
        if not counts or (total is not None and total == self._total):
            return
        self._total = total
        names = ("input_tokens", "output_tokens", "cached_input_tokens")
        self._usage = usage_in(counts, *names, within=True) or self._usage

    def take_summary(self, message: str) -> Usage | None:
        """Codex writes what its summariser says as an answer, and then again as the compaction:
        take it out of the answer; what it took, where nothing else was said."""
        last = self._items[-1] if self._items else None
        said = "".join(p.text for p in last.pieces if isinstance(p, Text)).strip() if last else ""
        if not said or not message.strip().endswith(said):
            return None
        self._items.pop()
        if self._items or self._results:
            return None
        usage, self._usage = self._usage, None
        return usage

    def close(self, *, model: str) -> bool:
        """Hand the answer over; whether there was any. A count whose items have not come waits."""
        items = self._with_reasoning()
        for item in items:
            self._assembler.assistant(
                item.line, item.pieces, joins=True, time=item.time, model=model, usage=self._usage
            )
        if items:
            self._usage = None
        for line, result in self._results:
            self._assembler.results(line, [result])
        self._items, self._reasoning, self._results = [], [], []
        return bool(items)

    def _with_reasoning(self) -> list[_Item]:
        """The items, with reasoning that only events told: in a sealed item, or before all."""
        thoughts = [p for item in self._items for p in item.pieces if isinstance(p, Thinking)]
        known = "\n".join(thought.text for thought in thoughts)
        missing = [
            item
            for item in self._reasoning
            for piece in item.pieces
            if isinstance(piece, Thinking) and piece.text not in known
        ]
        if not missing:
            return self._items
        sealed = next((thought for thought in thoughts if not thought.text), None)
        if sealed is None:
            return [*missing, *self._items]
        text = "\n\n".join(p.text for i in missing for p in i.pieces if isinstance(p, Thinking))
        readable = msgspec.structs.replace(sealed, text=text)
        return [
            item._replace(pieces=[readable if piece is sealed else piece for piece in item.pieces])
            for item in self._items
        ]


LOOKAHEAD = 256
"""Records looked at to learn whether messages stand as items. In every file seen the first one is
among the first four records; where none is, events are all there is."""
REQUESTS_KEPT = 4_096
"""The user's requests whose place is remembered; rolling back goes a few of them at most."""


class Codex:
    name = "codex"

    def beside(self, stem: str, log: Log) -> list[str]:
        return [*rollouts(log.delegated_by)]

    def sniff(self, head: Head) -> int:
        return 3 if any(is_record(record) or is_state(record) for record in head.records) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        session = self.growing(log)
        yield from session.take(lines)
        yield from session.finish()

    def grows(self, head: Head) -> bool:
        return any(map(is_record, head.lines))

    def growing(self, log: Log) -> GrowingSession:
        return GrowingSession(log)


FORMAT = Codex()


class GrowingSession:
    """A rollout file as it is written."""

    def __init__(self, log: Log) -> None:
        self._log, self._at = log, Position()
        self._first: list[tuple[Line, Record]] = []
        """Records that were read before it showed how messages stand."""
        self._session: Rollout | None = None

    def take(self, lines: Lines) -> Iterator[Turn]:
        for line, record in json_records(lines, self._log, known=is_record, at=self._at):
            if self._session is not None:
                self._session.take(line, record)
                yield from self._session.main.ready()
                continue
            self._first.append((line, record))
            if is_message(record) or len(self._first) == LOOKAHEAD:
                yield from self._begun(events_only=not is_message(record)).main.ready()

    def finish(self) -> Iterator[Turn]:
        session = self._session or self._begun(events_only=True)
        session.close()
        yield from session.main.finish()

    def _begun(self, *, events_only: bool) -> Rollout:
        agent = thread_of(record for _, record in self._first)
        session = self._session = Rollout(self._log, events_only=events_only, agent=agent)
        for line, record in self._first:
            session.take(line, record)
        self._first = []
        return session


class Rollout(SessionReader):
    """Takes the records of one rollout in their order."""

    def __init__(self, log: Log, *, events_only: bool, agent: str = "") -> None:
        """`agent` is the sub-agent that speaks in it, where one does."""
        super().__init__(log, agent=agent)
        self._events_only = events_only
        self._answer = Answer(self.main)
        self._spawning: set[str] = set()
        """Calls for sub-agents whose output has not come."""
        self._open: dict[str, Outcome] = {}
        """Calls whose output has not come, with what an event said of them."""
        self._requests: deque[str] = deque(maxlen=REQUESTS_KEPT)
        """Places before the user's requests, oldest first."""
        self._interrupted = False
        """An interruption was noted last; the client tells of it by an event and by a message."""
        self._started = False

    def take(self, line: Line, record: Record) -> None:
        if is_state(record):
            return
        content = content_of(record)
        if content is None:
            if record.get("type") in TYPES:
                self.log.broken("shape", line, f"a {record.get('type')} record without a payload")
            else:
                self.unknown(record.get("type"))
            return
        kind, payload = content
        time = time_of(record.get("timestamp"))
        if kind == "response_item":
            self._item(line, payload, time)
        elif kind == "event_msg":
            self._event(line, payload, time)
        elif kind == "session_meta":
            self._session(line, payload)
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "compacted":
            self._compacted(line, payload)
        else:
            self.unknown(kind)

    def close(self) -> None:
        """The answer is complete: what comes now is not part of it."""
        if self._answer.close(model=self.log.latest("model")):
            self.places.answered()

    def _item(self, line: Line, payload: Record, time: datetime | None) -> None:
        kind = payload.get("type")
        wrong = misshapen(payload.get("content")) or mislisted(payload.get("summary"))
        self.misshapen(line, kind, wrong)
        self._interrupted = self._interrupted and kind == "message"
        if kind == "message":
            self._message(line, payload, time)
        elif kind == "reasoning":
            if (piece := thought(payload)) is not None:
                self._answer.add(line, [piece], time)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call"):
            self._called(line, call_of(payload, line), time)
        elif kind in ("web_search_call", "image_generation_call"):
            call = call_of(payload, line)
            self._answer.add(line, [call], time)
            self._answer.ran(line, result_inside(payload, call))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._returned(line, payload)
        elif kind == "tool_search_output":
            self.close()
            self.main.results(line, [tools_found(payload)])
        elif kind != "ghost_snapshot":
            self.unknown(f"response_item/{kind}")

    def _called(self, line: Line, call: ToolCall, time: datetime | None) -> None:
        self._open[call.id] = awaited(call)
        if call.verb == "delegate":
            self._spawning.add(call.id)
        self._answer.add(line, [call], time)

    def _returned(self, line: Line, payload: Record) -> None:
        self.close()
        identity = string(payload.get("call_id"))
        result = result_of(payload, self._open.pop(identity, Outcome()))
        if identity in self._spawning:
            self._spawning.remove(identity)
            link_result(self.log, result)
        self.main.results(line, [result])

    def _message(self, line: Line, payload: Record, time: datetime | None) -> None:
        self._events_only = False
        role, content = payload.get("role"), payload.get("content")
        if role == "assistant":
            self._answer.add(line, said(content), time)
            self._interrupted = False
        elif role == "user":
            self._heard(line, heard(content), time)
        elif role in ("developer", "system"):
            self.close()
            if pieces := said(content):
                self.main.system(line, pieces)
        else:
            self.unknown(f"message/{role}")

    def _heard(self, line: Line, pieces: list[Piece], time: datetime | None) -> None:
        interruption = any(isinstance(p, Note) and p.kind == "interruption" for p in pieces)
        if not pieces or (interruption and self._interrupted):
            return
        self.close()
        if any(isinstance(piece, Text) for piece in pieces):
            self._requests.append(f"line {line.number}")
            self.places.remember(self._requests[-1])
        self.places.user(line, pieces, time=time)
        self._interrupted = interruption

    def _event(self, line: Line, payload: Record, time: datetime | None) -> None:
        kind = payload.get("type")
        if kind in ("agent_reasoning", "agent_reasoning_raw_content"):
            self._answer.reasoned(line, string(payload.get("text")), time)
        elif kind == "token_count":
            self._answer.counted(payload.get("info"))
        elif kind in ("patch_apply_end", "exec_command_end", "mcp_tool_call_end"):
            if (call := string(payload.get("call_id"))) in self._open:
                self._open[call] = outcome_of(payload, self._open[call])
        elif kind in ("user_message", "agent_message"):
            if self._events_only:
                self._told(line, payload, time)
        else:
            self._client_event(line, payload, time)

    def _told(self, line: Line, payload: Record, time: datetime | None) -> None:
        """A message that stands only as an event."""
        if payload.get("type") == "user_message":
            self._heard(line, told(payload), time)
        else:
            self._answer.add(line, said(payload.get("message")), time)
            self._interrupted = False

    def _client_event(self, line: Line, payload: Record, time: datetime | None) -> None:
        kind = payload.get("type")
        if kind == "turn_aborted":
            text = string(payload.get("reason")) or "aborted"
            self._heard(line, [Note(kind="interruption", text=text)], time)
        elif kind == "thread_rolled_back":
            self._roll_back(maybe_whole(payload.get("num_turns")) or 0)
        elif kind == "thread_name_updated":
            self.facts(title=payload.get("thread_name"))
        elif kind in ("collab_agent_spawn_end", "item_completed"):
            link_event(self.log, payload)
        elif kind in ("error", "stream_error"):
            text = string(payload.get("message"))
            self._heard(line, [Note(kind="failure", text=text)] if text else [], time)
        elif kind not in KNOWN_EVENTS:
            self.unknown(f"event_msg/{kind}")

    def _roll_back(self, requests: int) -> None:
        """The user took back their last requests and all that came of them."""
        if requests < 1 or not self._requests:
            return
        self.close()
        for _ in range(min(requests, len(self._requests))):
            place = self._requests.pop()
        self.places.go_back(place)

    def _session(self, line: Line, payload: Record) -> None:
        """Who and where; a forked session repeats the record of the one it comes from."""
        if self._started:
            return
        self._started = True
        version = string(payload.get("cli_version"))
        self.facts(
            id=payload.get("id"),
            root=payload.get("cwd"),
            branch=mapping(payload.get("git")).get("branch"),
            client=version and f"codex {version}",
        )
        if prompt := string(mapping(payload.get("base_instructions")).get("text")):
            self.main.system(line, [Text(text=prompt)])
        if rules := string(payload.get("instructions")):
            self.places.user(line, [Note(kind="instructions", text=rules)])

    def _context(self, payload: Record) -> None:
        self.close()
        policy, sandbox = payload.get("approval_policy"), mapping(payload.get("sandbox_policy"))
        mode = string(policy) or sandbox.get("mode") or sandbox.get("type")
        self.facts(root=payload.get("cwd"), model=payload.get("model"), mode=mode)

    def _compacted(self, line: Line, payload: Record) -> None:
        usage = self._answer.take_summary(string(payload.get("message")))
        self.close()
        summary = string(payload.get("message"))
        self.main.compacted(line, by=FORMAT.name, summary=summary, usage=usage)
