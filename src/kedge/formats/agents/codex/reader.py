"""Codex rollout files into turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime

from kedge.formats.agents.codex.answer import Answer
from kedge.formats.agents.codex.items import call_of, heard, result_inside, said, thought, told
from kedge.formats.agents.codex.records import (
    KNOWN_EVENTS,
    TYPES,
    content_of,
    is_message,
    is_record,
    is_state,
)
from kedge.formats.agents.codex.results import Outcome, awaited, outcome_of, result_of, tools_found
from kedge.formats.agents.codex.subagents import link_event, link_result, rollouts, thread_of
from kedge.formats.content.blocks import time_of
from kedge.formats.intake.fields import mapping, mislisted, misshapen, string, whole
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Position, Record, json_records
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.formats.turns.places import Places
from kedge.model import EarlierCompaction, Note, Source, Text, ToolCall, Turn

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
        self._session: SessionReader | None = None

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

    def _begun(self, *, events_only: bool) -> SessionReader:
        agent = thread_of(record for _, record in self._first)
        session = self._session = SessionReader(self._log, events_only=events_only, agent=agent)
        for line, record in self._first:
            session.take(line, record)
        self._first = []
        return session


class SessionReader:
    """Takes the records of one rollout in their order."""

    def __init__(self, log: Log, *, events_only: bool, agent: str = "") -> None:
        """`agent` is the sub-agent that speaks in it, where one does."""
        self.main = Assembler(log, agent=agent)
        self._log = log
        self._events_only = events_only
        self._answer = Answer(self.main)
        self._spawning: set[str] = set()
        """Calls for sub-agents whose output has not come."""
        self._open: dict[str, Outcome] = {}
        """Calls whose output has not come, with what an event said of them."""
        self._places = Places(log, self.main)
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
                self._log.broken("shape", line, f"a {record.get('type')} record without a payload")
            else:
                self._log.ignored[str(record.get("type") or "(no type)")] += 1
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
            self._log.ignored[kind] += 1

    def close(self) -> None:
        """The answer is complete: what comes now is not part of it."""
        if self._answer.close(model=self._log.latest("model")):
            self._places.answered()

    def _item(self, line: Line, payload: Record, time: datetime | None) -> None:
        kind = payload.get("type")
        if wrong := misshapen(payload.get("content")) or mislisted(payload.get("summary")):
            self._log.broken("shape", line, f"{kind}: {wrong}")
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
            self._log.ignored[f"response_item/{kind}"] += 1

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
            link_result(self._log, result)
        self.main.results(line, [result])

    def _message(self, line: Line, payload: Record, time: datetime | None) -> None:
        self._events_only = False
        role, content = payload.get("role"), payload.get("content")
        if role == "assistant":
            self._answer.add(line, said(content), time)
            self._interrupted = False
        elif role == "user":
            self._user(line, heard(content), time)
        elif role in ("developer", "system"):
            self.close()
            if pieces := said(content):
                self.main.system(line, pieces)
        else:
            self._log.ignored[f"message/{role}"] += 1

    def _user(self, line: Line, pieces: list[Piece], time: datetime | None) -> None:
        interruption = any(isinstance(p, Note) and p.kind == "interruption" for p in pieces)
        if not pieces or (interruption and self._interrupted):
            return
        self.close()
        if any(isinstance(piece, Text) for piece in pieces):
            self._requests.append(f"line {line.number}")
            self._places.remember(self._requests[-1])
        self._places.user(line, pieces, time=time)
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
            self._user(line, told(payload), time)
        else:
            self._answer.add(line, said(payload.get("message")), time)
            self._interrupted = False

    def _client_event(self, line: Line, payload: Record, time: datetime | None) -> None:
        kind = payload.get("type")
        if kind == "turn_aborted":
            text = string(payload.get("reason")) or "aborted"
            self._user(line, [Note(kind="interruption", text=text)], time)
        elif kind == "thread_rolled_back":
            self._roll_back(whole(payload.get("num_turns")))
        elif kind == "thread_name_updated":
            self._log.fact("title", payload.get("thread_name"), turn=self.main.next_turn)
        elif kind in ("collab_agent_spawn_end", "item_completed"):
            link_event(self._log, payload)
        elif kind in ("error", "stream_error"):
            text = string(payload.get("message"))
            self._user(line, [Note(kind="failure", text=text)] if text else [], time)
        elif kind not in KNOWN_EVENTS:
            self._log.ignored[f"event_msg/{kind}"] += 1

    def _roll_back(self, requests: int) -> None:
        """The user took back their last requests and all that came of them."""
        if requests < 1 or not self._requests:
            return
        self.close()
        for _ in range(min(requests, len(self._requests))):
            place = self._requests.pop()
        self._places.go_back(place)

    def _session(self, line: Line, payload: Record) -> None:
        """Who and where; a forked session repeats the record of the one it comes from."""
        if self._started:
            return
        self._started = True
        log, turn = self._log, self.main.next_turn
        version = string(payload.get("cli_version"))
        log.fact("id", payload.get("id"), turn=turn)
        log.fact("root", payload.get("cwd"), turn=turn)
        log.fact("branch", mapping(payload.get("git")).get("branch"), turn=turn)
        log.fact("client", version and f"codex {version}", turn=turn)
        if prompt := string(mapping(payload.get("base_instructions")).get("text")):
            self.main.system(line, [Text(text=prompt)])
        if rules := string(payload.get("instructions")):
            self._places.user(line, [Note(kind="instructions", text=rules)])

    def _context(self, payload: Record) -> None:
        self.close()
        log, turn = self._log, self.main.next_turn
        policy, sandbox = payload.get("approval_policy"), mapping(payload.get("sandbox_policy"))
        mode = string(policy) or sandbox.get("mode") or sandbox.get("type")
        log.fact("root", payload.get("cwd"), turn=turn)
        log.fact("model", payload.get("model"), turn=turn)
        log.fact("mode", mode, turn=turn)

    def _compacted(self, line: Line, payload: Record) -> None:
        usage = self._answer.take_summary(string(payload.get("message")))
        self.close()
        self._log.compactions.append(
            EarlierCompaction(
                turn=self.main.next_turn,
                by="codex",
                summary=string(payload.get("message")),
                usage=usage,
                source=Source(first=line.number, last=line.number, start=line.start, end=line.end),
            )
        )
