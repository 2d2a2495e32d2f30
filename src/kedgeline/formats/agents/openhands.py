"""OpenHands: the events of a conversation, as a list, or one on each line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kedgeline.formats.content import (
    as_json,
    media_from_url,
    parsed_arguments,
    said_by_user,
    text_and_media,
    time_of,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    document,
    documented,
    json_records,
    mapping,
    mappings,
    maybe_whole,
    numbered_items,
    string,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Note, Text, Thinking, ToolCall, ToolResult, Turn

OUTCOMES = ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "Condensation", *OUTCOMES)
SILENT = (
    *("ConversationStateUpdateEvent", "LLMCompletionLogEvent", "TokenEvent", "StreamingDeltaEvent"),
    *("CondensationRequest", "CondensationSummaryEvent", "HookExecutionEvent"),
)
"""Events that are no piece of the conversation."""
OLD = ("action", "observation")
"""What every event of versions before 1.0 has one of."""


class OpenHands:
    name = "openhands"

    def sniff(self, head: Head) -> int:
        value = head.document
        events = mappings(value) if isinstance(value, list) else head.records
        if any(event.get("kind") in KINDS and "source" in event for event in events):
            return 3
        return 3 if any(_is_old(event) for event in events) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        opening, lines = documented(lines)
        session = Session(log)
        if opening.startswith(b"["):
            events = numbered_items(document(lines, log), log)
        else:
            events = json_records(lines, log, known=_is_event)
        for line, event in events:
            session.take(line, event)
            yield from session.main.ready()
        yield from session.main.finish()


FORMAT = OpenHands()


def _is_old(event: Record) -> bool:
    told = event.get("source") in ("user", "agent", "environment") and "message" in event
    return told and any(isinstance(event.get(key), str) for key in OLD)


def _is_event(event: Record) -> bool:
    return "source" in event and ("kind" in event or _is_old(event))


class Session(SessionReader):
    """Takes the events of one conversation in their order."""

    def take(self, line: Line, event: Record) -> None:
        time = time_of(event.get("timestamp"))
        kind = event.get("kind")
        if kind is None:
            self._old(line, event, time)
        elif kind == "MessageEvent":
            self._message(line, event, time)
        elif kind == "ActionEvent":
            self._action(line, event, time)
        elif kind in OUTCOMES:
            self.main.results(line, [_outcome(event)])
        elif kind == "SystemPromptEvent":
            self._system(line, mapping(event.get("system_prompt")).get("text"))
        elif kind == "Condensation":
            self.main.compacted(line, by=FORMAT.name, summary=string(event.get("summary")))
        elif kind == "PauseEvent":
            self.note(line, "interruption", "paused", time=time)
        elif kind == "ConversationErrorEvent":
            self.note(line, "failure", string(event.get("detail")), time=time)
        elif kind not in SILENT:
            self.unknown(kind)

    def _system(self, line: Line, text: Any) -> None:
        if isinstance(text, str) and text:
            self.main.system(line, [Text(text=text)])

    def _message(self, line: Line, event: Record, time: datetime | None) -> None:
        message = mapping(event.get("llm_message"))
        told = message.get("content") or message.get("reasoning_content")
        texts = [block.get("text", "") for block in mappings(message.get("content"))]
        whole = isinstance(event.get("llm_message"), dict) and isinstance(told, list | str | None)
        if not whole or not all(isinstance(text, str) for text in texts):
            self.log.broken("shape", line, "a message of which not all can be read")
        if message.get("role") == "assistant":
            pieces = [*_thoughts(message), *_said(message.get("content"))]
            self._answer(line, event, pieces, time)
            return
        # What another agent sent stands under the user's role too, as what the client added does.
        person = event.get("source") == "user" and not event.get("sender")
        for block in mappings(message.get("content")):
            self.user(line, _heard(block, person=person), time=time)
        for block in mappings(event.get("extended_content")):
            self.note(line, "injected", string(block.get("text")), time=time)

    def _action(self, line: Line, event: Record, time: datetime | None) -> None:
        call = mapping(event.get("tool_call"))
        function = mapping(call.get("function")) or call
        arguments = parsed_arguments(function.get("arguments"))
        made = ToolCall(
            id=string(event.get("tool_call_id")),
            tool=string(event.get("tool_name")),
            parameters=arguments or _given(mapping(event.get("action"))),
        )
        self._answer(line, event, [*_thoughts(event), *_said(event.get("thought")), made], time)

    def _answer(
        self, line: Line, event: Record, pieces: list[Piece], time: datetime | None
    ) -> None:
        """Calls of one answer are events of their own, with the answer's id."""
        if pieces:
            answer = string(event.get("llm_response_id"))
            self.answer(line, pieces, message_id=answer, time=time)

    def _old(self, line: Line, event: Record, time: datetime | None) -> None:
        """An event of a version before 1.0."""
        action, args = event.get("action"), mapping(event.get("args"))
        call = mapping(event.get("tool_call_metadata"))
        if action == "system":
            self._system(line, args.get("content"))
        elif action == "message" and event.get("source") == "user":
            block = {"type": "text", "text": string(args.get("content"))}
            self.user(line, _heard(block, person=True), time=time)
        elif action is not None and event.get("source") == "agent":
            self._old_action(line, event, string(action), time)
        elif "observation" in event and call:
            self.main.results(line, [_old_outcome(event, string(call.get("tool_call_id")))])
        elif event.get("observation") not in ("agent_state_changed", "null", None):
            self.note(line, "injected", string(event.get("content")), time=time)

    def _old_action(self, line: Line, event: Record, action: str, time: datetime | None) -> None:
        args, call = mapping(event.get("args")), mapping(event.get("tool_call_metadata"))
        if action in ("condensation", "condensation_request"):
            if action == "condensation":
                self.main.compacted(line, by=FORMAT.name, summary=string(args.get("summary")))
            return
        response = mapping(call.get("model_response"))
        choice = next(iter(mappings(response.get("choices"))), {})
        message = mapping(choice.get("message"))
        words = string(args.get("thought")) or string(message.get("content"))
        if action in ("message", "finish") and not call:
            words = string(args.get("content")) or string(args.get("final_thought")) or words
        pieces: list[Piece] = [Text(text=words)] if words else []
        if tool := string(call.get("function_name")):
            made = next(
                (
                    mapping(one.get("function"))
                    for one in mappings(message.get("tool_calls"))
                    if one.get("id") == call.get("tool_call_id")
                ),
                {},
            )
            given = parsed_arguments(made.get("arguments")) or _given(args)
            pieces.append(
                ToolCall(id=string(call.get("tool_call_id")), tool=tool, parameters=given)
            )
        if pieces:
            answer, model = string(response.get("id")), string(response.get("model"))
            self.answer(line, pieces, message_id=answer, model=model, time=time)


def _given(arguments: Record) -> Record:
    return {k: v for k, v in arguments.items() if k not in ("kind", "thought") and v is not None}


def _thoughts(told: Record) -> list[Piece]:
    blocks = [string(block.get("thinking")) for block in mappings(told.get("thinking_blocks"))]
    thoughts = [*filter(None, blocks)] or [string(told.get("reasoning_content"))]
    return [Thinking(text=text) for text in thoughts if text]


def _said(content: Any) -> list[Piece]:
    text = text_and_media(content)[0]
    return [Text(text=text)] if text.strip() else []


def _heard(block: Record, *, person: bool) -> list[Piece]:
    if block.get("type") == "image":
        urls = block.get("image_urls")
        return [media_from_url(string(url), "image") for url in urls or () if string(url)]
    text = string(block.get("text"))
    if not text.strip():
        return []
    return list(said_by_user(text)) if person else [Note(kind="injected", text=text)]


def _outcome(event: Record) -> ToolResult:
    """What came of a call. Why a person refused it is theirs to say, a hook's reason is not."""
    call, kind = string(event.get("tool_call_id")), event.get("kind")
    if kind == "UserRejectObservation":
        reason = string(event.get("rejection_reason"))
        person = event.get("rejection_source") == "user" and reason != "User rejected the action"
        return ToolResult(
            call_id=call,
            success=False,
            output=reason,
            refused=True,
            reason=reason if person else "",
        )
    if kind == "AgentErrorEvent":
        error = string(event.get("error"))
        return ToolResult(call_id=call, success=False, output=error, error=error)
    told = mapping(event.get("observation"))
    output, media = text_and_media(told.get("content"))
    output = output or string(told.get("output"))
    code = maybe_whole(told.get("exit_code", mapping(told.get("metadata")).get("exit_code")))
    failed = told.get("is_error") is True or code not in (None, 0, -1)
    return ToolResult(
        call_id=call,
        success=not failed,
        output=output,
        error=output if failed else None,
        exit_code=code,
        media=media,
    )


def _old_outcome(event: Record, call: str) -> ToolResult:
    extras = mapping(event.get("extras"))
    code = maybe_whole(mapping(extras.get("metadata")).get("exit_code", extras.get("exit_code")))
    content: Any = event.get("content")
    output = content if isinstance(content, str) else as_json(content or "")
    failed = event.get("observation") == "error" or code not in (None, 0, -1)
    return ToolResult(
        call_id=call,
        success=not failed,
        output=output,
        error=output if failed else None,
        exit_code=code,
    )
