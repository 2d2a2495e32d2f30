"""ATIF, the Agent Trajectory Interchange Format: one JSON document a session, read and written.

What it has no field for stands in `extra`, under our name, as the format provides for: the kind of
a note, how a call ended, the session's facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    mapping,
    mappings,
    maybe_whole,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead, Written
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Change,
    EarlierCompaction,
    Media,
    Message,
    Note,
    NoteKind,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Usage,
)

VERSION = "ATIF-v1.7"
"""What is written; every version is read."""
OURS = "kedgeline"
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""All the media that the version written has a place for."""
STATES = ("success", "exit_code", "refused", "reason", "interrupted", "change", "around", "error")
"""Of a result, beside its output."""


class Atif:
    name = "atif"

    def sniff(self, head: FileHead) -> int:
        value = mapping(head.document)
        version = string(value.get("schema_version"))
        return 3 if version.startswith("ATIF") and isinstance(value.get("steps"), list) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        root = mapping(document(lines, log))
        yield from _Trajectory(log, root).read()

    def export(self, transcript: Transcript) -> Written:
        left_out: Counter[str] = Counter()
        trajectory = _trajectory(transcript, left_out)
        if transcript.rewound:
            left_out["turns that the user took back"] = transcript.rewound
        said = tuple(f"{count} × {what}" for what, count in sorted(left_out.items()))
        return Written([trajectory], None, said)


FORMAT = Atif()


# Reading


class _Trajectory(SessionReader):
    """Takes the steps of one trajectory, then those of the sub-agents that stand in it."""

    def __init__(self, log: Log, root: Record, agent: str = "") -> None:
        super().__init__(log)
        self.main.agent = agent
        self._root, self._copied = root, False
        """The last step was taken over from a trajectory before this one."""
        about, told = mapping(root.get("agent")), _told(root)
        self._by = string(about.get("name"))
        if agent:
            return
        if "changes" in told:
            for change in _values(told["changes"], Change):
                log.fact(change.name, change.value, turn=change.turn)
        else:
            client = f"{self._by} {string(about.get('version'))}".strip()
            self.facts(id=root.get("session_id"), client=client, model=about.get("model_name"))
        log.compactions.extend(_values(told.get("compactions"), EarlierCompaction))
        if isinstance(onward := root.get("continued_trajectory_ref"), str):
            log.wire = {"provider": FORMAT.name, "continued_trajectory_ref": onward}

    def read(self) -> Iterator[Turn]:
        yield from self.turns(numbered_items(self._root.get("steps"), self.log))
        for below in mappings(self._root.get("subagent_trajectories")):
            agent = string(below.get("trajectory_id"))
            if call := string(_told(below).get("delegated_by")):
                self.log.links.told(agent, call)
            yield from _Trajectory(self.log, below, agent or "sub-agent").read()

    def take(self, line: Line, step: Record) -> None:
        copied = step.get("is_copied_context") is True
        if self._copied and not copied and not self.main.agent:
            self.main.compacted(line, by=self._by)
        self._copied = copied
        source, told, time = step.get("source"), _told(step), step.get("timestamp")
        said = _said(step.get("message"))
        if source == "agent":
            self._answer(line, step, said)
        elif kind := told.get("note"):
            kinds = _values([kind], NoteKind) or ["injected"]
            text = pieces.plain_words(step.get("message"))
            self.user(line, [Note(kind=kinds[0], text=text)], time=time)
        elif source == "user":
            queued = told.get("queued") is True
            self.user(line, [one for piece in said for one in _heard(piece, queued)], time=time)
        elif source == "system":
            self.main.system(line, said)
        else:
            self.unknown("source", source)

    def _answer(self, line: Line, step: Record, said: list[Text | Media]) -> None:
        calls = [
            pieces.call(call.get("tool_call_id"), call.get("function_name"), call.get("arguments"))
            for call in mappings(step.get("tool_calls"))
        ]
        metrics = mapping(step.get("metrics"))
        counted = {**metrics, **mapping(metrics.get("extra"))}
        names = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
        self.answer(
            line,
            [*pieces.thoughts(step.get("reasoning_content")), *said, *calls],
            message_id=_told(step).get("message_id"),
            model=step.get("model_name"),
            time=step.get("timestamp"),
            usage=pieces.usage_in(counted, *names, within=True),
        )
        for result in mappings(mapping(step.get("observation")).get("results")):
            self._result(line, result, calls)

    def _result(self, line: Line, result: Record, calls: Sequence[ToolCall]) -> None:
        call = string(result.get("source_call_id"))
        if not call and len(calls) == 1:
            call = calls[0].id
        for below in mappings(result.get("subagent_trajectory_ref")):
            if agent := string(below.get("trajectory_id")):
                self.log.links.told(agent, call)
            else:
                self.unknown("subagent_trajectory_ref", "trajectory_path")
        if call:
            self.main.results(line, [_result_of(call, result)])
        else:
            self.note(line, "environment", pieces.plain_words(result.get("content")))


def _told(record: Record) -> Record:
    return mapping(mapping(record.get("extra")).get(OURS))


def _values(value: Any, kind: Any) -> list[Any]:
    try:
        return list(msgspec.convert(value or [], list[kind]))
    except msgspec.ValidationError:
        return []


def _said(content: Any) -> list[Text | Media]:
    said: list[Text | Media] = []
    for part in [{"text": content}] if isinstance(content, str) else mappings(content):
        source = mapping(part.get("source"))
        if text := string(part.get("text")):
            said.append(Text(text=text))
        elif path := string(source.get("path")):
            kind: pieces.Kind = "audio" if part.get("type") == "audio" else "image"
            said.append(pieces.media_from_url(path, kind, source.get("media_type")))
    return said


def _heard(piece: Text | Media, queued: bool) -> Sequence[Piece]:
    if isinstance(piece, Media) or queued:
        return [piece if isinstance(piece, Media) else Text(text=piece.text, queued=True)]
    return pieces.heard(piece.text)


def _result_of(call: str, result: Record) -> ToolResult:
    said = _said(result.get("content"))
    output = "\n".join(piece.text for piece in said if isinstance(piece, Text))
    media = tuple(piece for piece in said if isinstance(piece, Media))
    extra = mapping(result.get("extra"))
    if told := mapping(extra.get(OURS)):
        states = {name: told[name] for name in STATES if name in told}
        for known in _values([{"call_id": call, "output": output, **states}], ToolResult):
            stated: ToolResult = replace(known, media=media)
            return stated
    failed = extra.get("is_error") is True or extra.get("success") is False
    code = maybe_whole(extra.get("exit_code"))
    return pieces.result(call, output, failed=failed, exit_code=code, media=media)


# Writing


def _trajectory(transcript: Transcript, left_out: Counter[str], session: str = "") -> Record:
    facts = transcript.session
    name, _, version = facts.latest("client").rpartition(" ")
    model = facts.latest("model") or next((t.model for t in transcript.turns if t.model), "")
    agent: Record = {"name": name or transcript.format, "version": version or "unknown"}
    session = session or facts.latest("id")
    told: Record = {"changes": msgspec.to_builtins(facts.changes)}
    if transcript.compactions:
        told["compactions"] = msgspec.to_builtins(transcript.compactions)
    if transcript.delegated_by:
        told["delegated_by"] = transcript.delegated_by
    trajectory: Record = {
        "schema_version": VERSION,
        **({"session_id": session} if session else {}),
        **({"trajectory_id": transcript.agent} if transcript.agent else {}),
        "agent": agent | ({"model_name": model} if model else {}),
        "steps": _numbered(_steps(transcript, left_out)),
        "final_metrics": _sums(transcript),
        "extra": {OURS: told},
    }
    onward = (transcript.wire or {}).get("continued_trajectory_ref")
    if onward and (transcript.wire or {}).get("provider") == FORMAT.name:
        trajectory["continued_trajectory_ref"] = onward
    if below := [_trajectory(one, left_out, session) for one in transcript.agents]:
        trajectory["subagent_trajectories"] = below
    return trajectory


def _numbered(steps: Iterable[Record]) -> list[Record]:
    return [{"step_id": number, **step} for number, step in enumerate(steps, 1)]


def _sums(transcript: Transcript) -> Record:
    total = sum((turn.usage for turn in transcript.turns if turn.usage), Usage())
    return {
        "total_prompt_tokens": total.context,
        "total_completion_tokens": total.output,
        "total_cached_tokens": total.cache_read,
    }


def _steps(transcript: Transcript, left_out: Counter[str]) -> Iterator[Record]:
    agents = {one.delegated_by: one.agent for one in transcript.agents if one.delegated_by}
    for message in transcript.head:
        yield from _given(message, {}, left_out)
    for turn in transcript.turns:
        yield from _before(turn, left_out)
        yield _answered(turn, agents, left_out)
    if transcript.pending is not None:
        yield from _before(transcript.pending, left_out)


def _before(turn: Turn, left_out: Counter[str]) -> Iterator[Record]:
    """What stood before the answer: the user's words, and what the client put beside them."""
    messages = turn.messages or (
        Message(role="user", parts=(Text(text=turn.user_message), *turn.notes, *turn.media)),
    )
    when = {"timestamp": turn.timestamp.isoformat()} if turn.timestamp else {}
    for message in messages:
        if message.role != "assistant":
            yield from _given(message, when, left_out)


def _given(message: Message, when: Record, left_out: Counter[str]) -> Iterator[Record]:
    source = "system" if message.role == "system" else "user"
    parts: list[Record] = []
    queued = False

    def said() -> Iterator[Record]:
        if parts:
            plain = [part["text"] for part in parts if part["type"] == "text"]
            whole = plain[0] if len(plain) == len(parts) == 1 else [*parts]
            marked = {"extra": {OURS: {"queued": True}}} if queued else {}
            yield {**when, "source": source, "message": whole, **marked}
            parts.clear()

    for part in message.parts:
        if isinstance(part, Note):
            yield from said()
            told = {"extra": {OURS: {"note": part.kind}}}
            yield {**when, "source": "system", "message": part.text, **told}
        elif isinstance(part, (Text, Media)):
            if isinstance(part, Text) and part.queued != queued:
                yield from said()
                queued = part.queued
            parts.extend(_content([part], left_out))
        elif isinstance(part, Opaque):
            left_out[f"block {part.kind}"] += 1
    yield from said()


def _answered(turn: Turn, agents: dict[str, str], left_out: Counter[str]) -> Record:
    for message in turn.messages:
        for part in message.parts:
            if isinstance(part, Thinking) and part.signature:
                left_out["signature of thinking"] += 1
            elif isinstance(part, (Media, Opaque)) and message.role == "assistant":
                kind = part.kind if isinstance(part, Opaque) else f"{part.kind} of the model"
                left_out[f"block {kind}"] += 1
    calls = [
        {"tool_call_id": call.id, "function_name": call.tool, "arguments": call.parameters}
        for call in turn.tool_calls
    ]
    known = {call.id for call in turn.tool_calls}
    step: Record = {
        "timestamp": turn.timestamp.isoformat() if turn.timestamp else None,
        "source": "agent",
        "model_name": turn.model,
        "message": turn.assistant_response,
        "reasoning_content": turn.thinking,
        "tool_calls": calls,
        "metrics": _metrics(turn.usage) if turn.usage else None,
        "extra": {OURS: {"message_id": turn.message_id}} if turn.message_id else None,
    }
    results = [_observed(one, known, agents, left_out) for one in turn.tool_results]
    if results:
        step["observation"] = {"results": results}
    return {key: value for key, value in step.items() if value or key == "message"}


def _metrics(usage: Usage) -> Record:
    written = {"extra": {"cache_write_tokens": usage.cache_write}} if usage.cache_write else {}
    return {
        "prompt_tokens": usage.context,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        **written,
    }


def _observed(
    result: ToolResult, known: set[str], agents: dict[str, str], left_out: Counter[str]
) -> Record:
    """A result. Without its call it names none, as the format asks for."""
    text = [Text(text=result.output)] if result.output else []
    parts = _content([*text, *result.media], left_out)
    plain = len(parts) == 1 and parts[0]["type"] == "text"
    usual = ToolResult(call_id=result.call_id)
    states = {
        name: getattr(result, name)
        for name in STATES
        if getattr(result, name) != getattr(usual, name)
    }
    if result.call_id not in known:
        left_out["result without its call"] += 1
    below = agents.get(result.call_id)
    found: Record = {
        "source_call_id": result.call_id if result.call_id in known else None,
        "content": parts[0]["text"] if plain else parts,
        "subagent_trajectory_ref": [{"trajectory_id": below}] if below else None,
        "extra": {OURS: states} if states else None,
    }
    return {key: value for key, value in found.items() if value}


def _content(said: Iterable[Piece], left_out: Counter[str]) -> list[Record]:
    parts: list[Record] = []
    for piece in said:
        if isinstance(piece, Text):
            parts.append({"type": "text", "text": piece.text})
        elif isinstance(piece, Media):
            path = piece.address
            if piece.kind != "image" or piece.mime not in IMAGES or not path:
                left_out[f"{piece.kind} ({piece.mime or 'no type'})"] += 1
                continue
            parts.append({"type": "image", "source": {"media_type": piece.mime, "path": path}})
    return parts
