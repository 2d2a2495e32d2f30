"""GitHub Copilot CLI: the events of a session (JSON Lines), `session-state/ID/events.jsonl`."""

from __future__ import annotations

from typing import Any

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import Record, mapping, mappings, maybe_tokens, maybe_whole, string
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import LinesFormat, SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Note, NoteKind, ToolResult

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


class _Session(SessionReader):
    """Events of sub-agents name their agent."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._refused: dict[str, str] = {}
        """Calls that the user did not let run, with their words for it."""

    def take(self, line: Line, record: Record) -> None:
        if record.get("ephemeral") is True:
            return
        kind, data = record.get("type"), record.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            self.log.broken("shape", line, "an event without type and data")
            return
        event, agent = string(record.get("id")), string(record.get("agentId"))
        time = record.get("timestamp")
        if event and not agent:  # who goes back to an event takes it back too
            self.remember(event)
        if kind == "user.message":
            self.check_texts(line, "message", data.get("content"))
            self.check(line, "attachments", None, data.get("attachments"))
            self.user(line, _heard(data), time=time, agent=agent)
        elif kind == "assistant.message":
            self._assistant(line, agent, data, time)
        elif kind == "tool.execution_complete":
            self.thread(agent).results(line, [self._result(line, data)])
        elif kind == "subagent.started":
            self.log.links.told(agent, string(data.get("toolCallId")))
        else:
            self._beside(line, kind, data, time)

    def _assistant(self, line: Line, agent: str, data: Record, time: Any) -> None:
        self.check_texts(line, "message", data.get("reasoningText"), data.get("content"))
        self.check(line, "calls", None, data.get("toolRequests"))
        said = [
            *pieces.thoughts(data.get("reasoningText")),
            *pieces.texts(data.get("content")),
            *map(_call, mappings(data.get("toolRequests"))),
        ]
        if said:
            if not agent:
                self.facts(model=data.get("model"))
            usage = pieces.usage_in(data, "inputTokens", "outputTokens")
            about: Record = {"model": data.get("model"), "message_id": data.get("messageId")}
            self.answer(line, said, time=time, usage=usage, agent=agent, **about)

    def _result(self, line: Line, data: Record) -> ToolResult:
        call = string(data.get("toolCallId"))
        content = mapping(data.get("result")).get("content")
        failure = mapping(data.get("error")).get("message")
        self.check_texts(line, "result", content, failure)
        error = string(failure)
        refused = call in self._refused
        return pieces.result(
            call,
            string(content) or error,
            failed=data.get("success") is False,
            exit_code=maybe_whole(mapping(data.get("shellExecution")).get("exitCode")),
            refused=refused,
            reason=self._refused.pop(call, ""),
            error=error,
        )

    def _beside(self, line: Line, kind: str, data: Record, time: Any) -> None:
        """What is not part of the conversation itself, or stands in it as a note."""
        if kind in NOTES:
            note, field = NOTES[kind]
            self.note(line, note, data.get(field), time=time)
        elif kind in FACTS:
            known = {**data, **mapping(data.get("context"))}
            self.facts(**{name: known.get(field) for field, name in FACTS[kind].items()})
            client = string(data.get("copilotVersion"))
            self.facts(client=client and f"copilot-cli {client}")
        elif kind == "session.compaction_complete" and data.get("success") is True:
            self.main.compacted(
                line,
                by="copilot-cli",
                trigger=string(data.get("trigger")),
                tokens_before=maybe_tokens(data.get("preCompactionTokens")),
                tokens_after=maybe_tokens(data.get("postCompactionTokens")),
                summary=string(data.get("summaryContent")),
            )
        elif kind == "session.context_cleared":
            self.main.compacted(line, by="copilot-cli", kind="context_cleared", trigger="manual")
        elif kind == "session.snapshot_rewind":
            self.go_back(string(data.get("upToEventId")))
        elif kind == "system.message":
            self.system(line, data.get("content"))
        elif kind == "permission.completed":
            # Only a person's own answer holds words of theirs.
            answer, call = mapping(data.get("result")), string(data.get("toolCallId"))
            if call and answer.get("kind") in REFUSED:
                person = answer["kind"] == REFUSED[0]
                self._refused[call] = string(answer.get("feedback")) if person else ""


def _heard(data: Record) -> list[Piece]:
    by_client = data.get("isAutopilotContinuation") is True
    person = string(data.get("source")) in ("", "user") and not by_client
    said = pieces.heard(string(data.get("content")), person=person)
    return [*said, *map(_attached, mappings(data.get("attachments")))]


def _call(request: Record) -> Piece:
    return pieces.call(request.get("toolCallId"), request.get("name"), request.get("arguments"))


def _attached(item: Record) -> Piece:
    """A picture or file sent along; of what lies elsewhere only the place stands here."""
    kind = item.get("type")
    if kind == "blob" and isinstance(data := item.get("data"), str):
        mime = string(item.get("mimeType"))
        return Media(kind=pieces.media_kind(mime), mime=mime, data=data)
    if kind == "selection":
        return Note(kind="environment", text=string(item.get("text")))
    path: Any = item.get("path") or item.get("url") or item.get("displayName")
    return Note(kind="environment", text=path if isinstance(path, str) else pieces.as_json(item))


class CopilotCli(LinesFormat):
    name, reader = "copilot-cli", _Session

    def sniff(self, head: FileHead) -> int:
        events = [record for record in head.records if self.known(record)]
        if any(event["type"] == "session.start" for event in events):
            return 3
        return 2 if len(events) > 1 else 0

    def known(self, record: Record) -> bool:
        kind = string(record.get("type"))
        return kind.startswith(SPOKEN) and isinstance(record.get("data"), dict)


FORMAT = CopilotCli()
