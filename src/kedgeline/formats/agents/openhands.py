"""OpenHands: the events of a conversation, as a list, or one on each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
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
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import ToolResult, Turn

NAME = "openhands"
OUTCOMES = ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "Condensation", *OUTCOMES)
SILENT = (
    *("ConversationStateUpdateEvent", "LLMCompletionLogEvent", "TokenEvent", "StreamingDeltaEvent"),
    *("CondensationRequest", "CondensationSummaryEvent", "HookExecutionEvent"),
)
"""Events that are no piece of the conversation."""
OLD = ("action", "observation")
"""What every event of versions before 1.0 has one of."""


class _Session(SessionReader):
    def take(self, line: Line, event: Record) -> None:
        time, kind = event.get("timestamp"), event.get("kind")
        if kind is None:
            self._old(line, event, time)
        elif kind == "MessageEvent":
            self._message(line, event, time)
        elif kind == "ActionEvent":
            call = mapping(event.get("tool_call"))
            arguments = mapping(call.get("function") or call).get("arguments")
            given = pieces.parsed_arguments(arguments) or _given(mapping(event.get("action")))
            made = pieces.call(event.get("tool_call_id"), event.get("tool_name"), given)
            self._check_thoughts(line, event)
            self._answer(line, event, [*_thoughts(event), *_said(event.get("thought")), made])
        elif kind in OUTCOMES:
            self.main.results(line, [_outcome(event)])
        elif kind == "SystemPromptEvent":
            self.system(line, mapping(event.get("system_prompt")).get("text"))
        elif kind == "Condensation":
            self.main.compacted(line, by=NAME, summary=string(event.get("summary")))
        elif kind == "PauseEvent":
            self.note(line, "interruption", "paused", time=time)
        elif kind == "ConversationErrorEvent":
            self.note(line, "failure", event.get("detail"), time=time)
        elif kind not in SILENT:
            self.unknown(kind)

    def _message(self, line: Line, event: Record, time: Any) -> None:
        message = mapping(event.get("llm_message"))
        content = message.get("content")
        if not isinstance(message.get("role"), str):
            self.log.broken("shape", line, "an event without a message that has a role")
        self.check(line, "message", content, event.get("extended_content"))
        self._check_thoughts(line, message)
        if message.get("role") == "assistant":
            self._answer(line, event, [*_thoughts(message), *_said(content)])
            return
        # What another agent sent stands under the user's role too, as what the client added does.
        person = event.get("source") == "user" and not event.get("sender")
        for block in [{"text": content}] if isinstance(content, str) else mappings(content):
            self.user(line, _heard(block, person=person), time=time)
        for block in mappings(event.get("extended_content")):
            self.note(line, "injected", block.get("text"), time=time)

    def _check_thoughts(self, line: Line, message: Record) -> None:
        self.check_texts(line, "reasoning", message.get("reasoning_content"))
        self.check(line, "reasoning", None, message.get("thinking_blocks"))

    def _answer(self, line: Line, event: Record, said: list[Piece]) -> None:
        """Calls of one answer are events of their own, with the answer's id."""
        if said:
            answer = event.get("llm_response_id")
            self.answer(line, said, message_id=answer, time=event.get("timestamp"))

    # Events of versions before 1.0.

    def _old(self, line: Line, event: Record, time: Any) -> None:
        action, args = event.get("action"), mapping(event.get("args"))
        call = mapping(event.get("tool_call_metadata"))
        if action == "system":
            self.system(line, args.get("content"))
        elif action == "message" and event.get("source") == "user":
            self.check(line, "message", args.get("content"))
            self.user(line, pieces.heard(args.get("content")), time=time)
        elif action == "condensation":
            self.main.compacted(line, by=NAME, summary=string(args.get("summary")))
        elif action == "condensation_request":
            return
        elif action is not None and event.get("source") == "agent":
            self._old_action(line, event, args, call)
        elif "observation" in event and call:
            self.main.results(line, [_old_outcome(event, call)])
        elif event.get("observation") not in ("agent_state_changed", "null", None):
            self.note(line, "injected", event.get("content"), time=time)

    def _old_action(self, line: Line, event: Record, args: Record, call: Record) -> None:
        response = mapping(call.get("model_response"))
        message = mapping(next(iter(mappings(response.get("choices"))), {}).get("message"))
        words = string(args.get("thought")) or string(message.get("content"))
        if event.get("action") in ("message", "finish") and not call:
            words = string(args.get("content")) or string(args.get("final_thought")) or words
        said = pieces.texts(words)
        if tool := call.get("function_name"):
            made = (one for one in pieces.calls_in(message) if one.id == call.get("tool_call_id"))
            given = next((one.parameters for one in made), {}) or _given(args)
            said.append(pieces.call(call.get("tool_call_id"), tool, given))
        if said:
            self.facts(model=response.get("model"))
            about: Record = {"message_id": response.get("id"), "model": response.get("model")}
            self.answer(line, said, time=event.get("timestamp"), **about)


def _given(arguments: Record) -> Record:
    return {k: v for k, v in arguments.items() if k not in ("kind", "thought") and v is not None}


def _thoughts(message: Record) -> list[Piece]:
    blocks = [string(block.get("thinking")) for block in mappings(message.get("thinking_blocks"))]
    words = [*filter(None, blocks)] or [string(message.get("reasoning_content"))]
    return [piece for text in words for piece in pieces.thoughts(text)]


def _said(content: Any) -> list[Piece]:
    text = pieces.plain_words(content)
    return pieces.texts(text) if text.strip() else []


def _heard(block: Record, *, person: bool) -> list[Piece]:
    if block.get("type") != "image":
        return pieces.heard(string(block.get("text")), person=person)
    urls = block.get("image_urls")
    return [pieces.media_from_url(url, "image") for url in urls or () if string(url)]


def _outcome(event: Record) -> ToolResult:
    """What came of a call. Why a person refused it is theirs to say, a hook's reason is not."""
    call, kind = event.get("tool_call_id"), event.get("kind")
    if kind == "UserRejectObservation":
        reason = string(event.get("rejection_reason"))
        person = event.get("rejection_source") == "user" and reason != "User rejected the action"
        return pieces.result(call, reason, refused=True, reason=reason if person else "")
    if kind == "AgentErrorEvent":
        return pieces.result(call, string(event.get("error")), failed=True)
    seen = mapping(event.get("observation"))
    output, media = pieces.text_and_media(seen.get("content"))
    return _ended(
        call,
        output or string(seen.get("output")),
        seen.get("exit_code", mapping(seen.get("metadata")).get("exit_code")),
        failed=seen.get("is_error") is True,
        media=media,
    )


def _old_outcome(event: Record, call: Record) -> ToolResult:
    extras = mapping(event.get("extras"))
    code = mapping(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
    failed = event.get("observation") == "error"
    return _ended(call.get("tool_call_id"), event.get("content"), code, failed=failed)


def _ended(call: Any, output: Any, code: Any, *, failed: bool, media: Any = ()) -> ToolResult:
    """The result of a call; -1 is the code of a command that still runs."""
    exit_code = maybe_whole(code)
    running = exit_code == -1
    return pieces.result(
        call, output, failed=failed, exit_code=None if running else exit_code, media=media
    )


class OpenHands:
    name = NAME

    def sniff(self, head: FileHead) -> int:
        value = head.document
        events = mappings(value) if isinstance(value, list) else head.records
        new = any(event.get("kind") in KINDS and "source" in event for event in events)
        return 3 if new or any(map(_is_old, events)) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        opening, lines = documented(lines)
        if opening.startswith(b"["):
            events = numbered_items(document(lines, log), log)
        else:
            events = json_records(lines, log, known=_is_event)
        return _Session(log).turns(events)


FORMAT = OpenHands()


def _is_old(event: Record) -> bool:
    named = event.get("source") in ("user", "agent", "environment") and "message" in event
    return named and any(isinstance(event.get(key), str) for key in OLD)


def _is_event(event: Record) -> bool:
    return "source" in event and ("kind" in event or _is_old(event))
