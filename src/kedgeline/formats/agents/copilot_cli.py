"""GitHub Copilot CLI: the events of a session (JSON Lines), `session-state/ID/events.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kedgeline.formats.content import (
    as_json,
    parsed_arguments,
    said_by_user,
    time_of,
    usage_in,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    json_records,
    mapping,
    mappings,
    maybe_tokens,
    maybe_whole,
    string,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece, SessionReader
from kedgeline.model import Media, Note, NoteKind, Text, Thinking, ToolCall, ToolResult, Turn

SPOKEN = ("user.", "assistant.", "tool.", "session.", "system.", "subagent.", "permission.")
NOTES: dict[str, tuple[NoteKind, str]] = {
    "system.notification": ("notification", "content"),
    "abort": ("interruption", "reason"),
    "session.error": ("failure", "message"),
}
"""Events that stand in the conversation without being anybody's words, and where their text is."""
_START = {"sessionId": "id", "cwd": "root", "branch": "branch", "selectedModel": "model"}
FACTS = {
    "session.start": _START,
    "session.resume": _START,
    "session.context_changed": {"cwd": "root", "branch": "branch"},
    "session.model_change": {"newModel": "model"},
    "session.title_changed": {"title": "title"},
}
REFUSED = ("denied-interactively-by-user", "denied-by-rules", "denied-by-permission-request-hook")
"""How a permission ends that the user, or a rule of theirs, did not give."""


class CopilotCli:
    name = "copilot-cli"

    def sniff(self, head: Head) -> int:
        records = head.records
        if any(r.get("type") == "session.start" and _is_event(r) for r in records):
            return 3
        return 2 if sum(_is_event(record) for record in records) > 1 else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        session = Session(log)
        for line, record in json_records(lines, log, known=_is_event):
            session.take(line, record)
            yield from session.ready()
        yield from session.finish()


FORMAT = CopilotCli()


def _is_event(record: Record) -> bool:
    return string(record.get("type")).startswith(SPOKEN) and isinstance(record.get("data"), dict)


class Session(SessionReader):
    """Takes the events of one session in their order; those of sub-agents name their agent."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._agents: dict[str, Assembler] = {}
        self._refused: dict[str, str] = {}
        """Calls that the user did not let run, with their words for it."""

    def ready(self) -> Iterator[Turn]:
        for assembler in (self.main, *self._agents.values()):
            yield from assembler.ready()

    def finish(self) -> Iterator[Turn]:
        for assembler in (self.main, *self._agents.values()):
            yield from assembler.finish()

    def take(self, line: Line, record: Record) -> None:
        if record.get("ephemeral") is True:
            return
        event, kind = string(record.get("id")), record.get("type")
        if not isinstance(kind, str) or not isinstance(record.get("data"), dict):
            self.log.broken("shape", line, "an event without type and data")
            return
        data, time = record["data"], time_of(record.get("timestamp"))
        agent = string(record.get("agentId"))
        speaker = self._speaker(agent)
        if event and not agent:  # who goes back to an event takes it back too
            self.places.remember(event)
        if kind == "user.message":
            self._user(line, speaker, data, time)
        elif kind == "assistant.message":
            self._assistant(line, speaker, data, time)
        elif kind == "tool.execution_complete":
            speaker.results(line, [self._result(data)])
        elif kind == "subagent.started":
            self.log.links.told(agent, string(data.get("toolCallId")))
        else:
            self._beside(line, kind, data, time)

    def _speaker(self, agent: str) -> Assembler:
        if not agent:
            return self.main
        return self._agents.setdefault(agent, Assembler(self.log, agent=agent))

    def _user(self, line: Line, speaker: Assembler, data: Record, time: datetime | None) -> None:
        text, source = string(data.get("content")), string(data.get("source"))
        by_person = source in ("", "user") and data.get("isAutopilotContinuation") is not True
        pieces: list[Piece] = [Note(kind="injected", text=text)] if text else []
        if by_person:
            pieces = list(said_by_user(text)) if text.strip() else []
        pieces.extend(filter(None, map(_attached, mappings(data.get("attachments")))))
        self._check(line, pieces, data.get("content"))
        if speaker is self.main:
            self.user(line, pieces, time=time)
        elif pieces:
            speaker.user(line, pieces, time=time)

    def _assistant(
        self, line: Line, speaker: Assembler, data: Record, time: datetime | None
    ) -> None:
        thought, words = string(data.get("reasoningText")), string(data.get("content"))
        pieces: list[Piece] = [Thinking(text=thought)] if thought else []
        pieces.extend([Text(text=words)] if words else [])
        pieces.extend(map(_call, mappings(data.get("toolRequests"))))
        self._check(line, pieces, data.get("content") or data.get("toolRequests"))
        if not pieces:
            return
        if speaker is self.main:
            self.places.answered()
            self.facts(model=data.get("model"))
        speaker.assistant(
            line,
            pieces,
            message_id=string(data.get("messageId")),
            model=string(data.get("model")),
            time=time,
            usage=usage_in(data, "inputTokens", "outputTokens"),
        )

    def _check(self, line: Line, pieces: list[Piece], given: Any) -> None:
        if given and not pieces and not (isinstance(given, str) and given.isspace()):
            self.log.broken("shape", line, "a message of which nothing can be read")

    def _result(self, data: Record) -> ToolResult:
        call, result = string(data.get("toolCallId")), mapping(data.get("result"))
        error = string(mapping(data.get("error")).get("message"))
        output = string(result.get("content")) or error
        code = maybe_whole(mapping(data.get("shellExecution")).get("exitCode"))
        refused = call in self._refused
        failed = data.get("success") is False or code not in (None, 0)
        return ToolResult(
            call_id=call,
            success=not (failed or refused),
            output=output,
            error=(error or output) if failed and not refused else None,
            exit_code=code,
            refused=refused,
            reason=self._refused.pop(call, ""),
        )

    def _beside(self, line: Line, kind: str, data: Record, time: datetime | None) -> None:
        """What is not part of the conversation itself, or stands in it as a note."""
        if kind in NOTES:
            note, field = NOTES[kind]
            self.note(line, note, string(data.get(field)), time=time)
        elif kind in FACTS:
            told = {**data, **mapping(data.get("context"))}
            self.facts(**{name: told.get(field) for field, name in FACTS[kind].items()})
            client = string(data.get("copilotVersion"))
            self.facts(client=client and f"{FORMAT.name} {client}")
        elif kind == "session.compaction_complete" and data.get("success") is True:
            self.main.compacted(
                line,
                by=FORMAT.name,
                trigger=string(data.get("trigger")),
                tokens_before=maybe_tokens(data.get("preCompactionTokens")),
                tokens_after=maybe_tokens(data.get("postCompactionTokens")),
                summary=string(data.get("summaryContent")),
            )
        elif kind == "session.context_cleared":
            self.main.compacted(line, by=FORMAT.name, kind="context_cleared", trigger="manual")
        elif kind == "session.snapshot_rewind":
            self.places.go_back(string(data.get("upToEventId")))
        elif kind == "system.message" and (text := string(data.get("content"))):
            self.main.system(line, [Text(text=text)])
        elif kind == "permission.completed":
            self._permission(data)

    def _permission(self, data: Record) -> None:
        """Only a person's own answer holds words of theirs."""
        result, call = mapping(data.get("result")), string(data.get("toolCallId"))
        if call and result.get("kind") in REFUSED:
            person = result["kind"] == REFUSED[0]
            self._refused[call] = string(result.get("feedback")) if person else ""


def _call(request: Record) -> ToolCall:
    return ToolCall(
        id=string(request.get("toolCallId")),
        tool=string(request.get("name")),
        parameters=parsed_arguments(request.get("arguments")),
    )


def _attached(item: Record) -> Piece | None:
    """A picture or file sent along; of what lies elsewhere only the place stands here."""
    kind = item.get("type")
    if kind == "blob" and isinstance(data := item.get("data"), str):
        mime = string(item.get("mimeType"))
        return Media(kind="image" if mime.startswith("image/") else "file", mime=mime, data=data)
    if kind == "selection":
        return Note(kind="environment", text=string(item.get("text")))
    path: Any = item.get("path") or item.get("url") or item.get("displayName")
    return Note(kind="environment", text=path if isinstance(path, str) else as_json(item))
