"""SWE-agent's trajectories into turns.

A file tells its story twice: `history` is what the model saw, `trajectory` what the environment
did. The history is read; the trajectory only where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kedge.formats.agents.swe_agent.actions import parsed
from kedge.formats.agents.swe_agent.observations import result_of
from kedge.formats.agents.swe_agent.window import Window
from kedge.formats.content.blocks import text_and_media, text_of
from kedge.formats.content.function_calls import calls_in
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.documents import document
from kedge.formats.intake.fields import mapping, mappings, string
from kedge.formats.intake.head import Head
from kedge.formats.intake.items import numbered_items
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Note, Text, Thinking, ToolCall, Turn

MARKS = {"agent", "message_type", "action", "is_demo", "tool_call_ids"}
"""A history item of SWE-agent has one of these beside its role and content."""
HARNESS_EXIT = re.compile(r"exit_(?!forfeit\b)\w+\s*$")
"""The action SWE-agent itself writes when it gives up, out of money or context; forfeiting is the
model's own."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)


class SweAgent:
    name = "swe-agent"

    def sniff(self, head: Head) -> int:
        value = mapping(head.document)
        steps, items = mappings(value.get("trajectory")), mappings(value.get("history"))
        if any({"action", "observation"} <= step.keys() for step in steps):
            return 3
        if any("role" in item and MARKS & item.keys() for item in items):
            return 3
        return 1 if any({"role", "content"} <= item.keys() for item in items) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        if not isinstance(value, dict):
            log.broken("shape", Line(0), "not an object")
            return
        session = SessionReader(log, mappings(value.get("trajectory")))
        records = value.get("trajectory")
        take: Callable[[Line, Record], None] = session.take_step
        if any("role" in item for item in mappings(value.get("history"))):
            records, take = value.get("history"), session.take_item
        for line, record in numbered_items(records, log):
            take(line, record)
            yield from session.assembler.ready()
        yield from session.assembler.finish()


FORMAT = SweAgent()


class SessionReader:
    """Takes the items of a history, or the steps of a trajectory, in their order."""

    def __init__(self, log: Log, steps: list[Record]) -> None:
        self.assembler = Assembler(log)
        self._log = log
        self._window = Window(steps)
        self._pending: list[ToolCall] = []
        """Calls that wait for their observation."""
        self._calls = 0
        self._answered = False

    def take_item(self, line: Line, item: Record) -> None:
        role = item.get("role")
        if item.get("is_demo"):
            self._note(line, Note(kind="demonstration", text=_shown(item)))
        elif role == "system":
            self.assembler.system(line, (Text(text=text_of(item.get("content"))),))
        elif role == "assistant":
            self._assistant(line, item, item.get("content"))
        elif role in ("user", "tool"):
            self._heard(line, item)
        else:
            self._log.ignored[f"role/{role}"] += 1

    def take_step(self, line: Line, step: Record) -> None:
        self._assistant(line, step, step.get("response"))
        if self._pending and step.get("observation") is not None:
            self._results(line, step["observation"], self._pending)

    def _assistant(self, line: Line, item: Record, content: Any) -> None:
        said = text_of(content)
        if HARNESS_EXIT.match(string(item.get("action"))) and not item.get("tool_calls"):
            self._pending = []
            self._note(line, Note(kind="failure", text=said or string(item.get("action"))))
            return
        calls, words = self._called(item, said)
        thoughts: list[Piece] = [
            Thinking(text=string(b.get("thinking")), signature=string(b.get("signature")))
            for b in mappings(item.get("thinking_blocks"))
        ]
        spoken = [Text(text=words)] if words else []
        self._log.fact("root", self._window.folder, turn=self.assembler.next_turn)
        self.assembler.assistant(line, [*thoughts, *spoken, *calls])
        self._pending, self._answered = calls, True

    def _called(self, item: Record, said: str) -> tuple[list[ToolCall], str]:
        """The calls of an assistant item, and its words without them."""
        calls = calls_in(item)
        fenced = None
        action = item.get("action")
        if not calls and not isinstance(action, str):
            fenced = next(reversed(list(_FENCED.finditer(said))), None)
            action = fenced[1] if fenced else ""
        self._window.before(string(action))
        if not calls and string(action).strip():
            tool, parameters = parsed(string(action))
            calls = [ToolCall(id="", tool=tool, parameters=parameters)]
        calls = [self._window.completed(self._with_id(call)) for call in calls]
        for call in calls:
            self._window.after(call)
        words = string(item.get("thought")).strip() or _without(said, string(action), fenced)
        return calls, words

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Actions in text have no id; they are numbered."""
        self._calls += 1
        if call.id:
            return call
        number = f"action-{self._calls}"
        return ToolCall(id=number, tool=call.tool, parameters=call.parameters)

    def _heard(self, line: Line, item: Record) -> None:
        """Under the user's role stand the task, and in text mode every observation behind it."""
        content = item.get("content")
        if item.get("role") == "tool" or self._pending:
            self._results(line, content, self._answering(item))
            return
        text, media = text_and_media(content)
        words, state = self._window.see(text)
        if not words.strip() and not media:
            return
        pieces: list[Piece] = [*media]
        if self._answered:
            pieces.insert(0, Note(kind="injected", text=words))
        elif words.strip():
            pieces[:0] = said_by_user(words)
        if state:
            pieces.append(Note(kind="environment", text=state))
        self.assembler.user(line, pieces)

    def _answering(self, item: Record) -> list[ToolCall]:
        """The calls an observation answers: by their ids, or those that wait."""
        ids = item.get("tool_call_ids")
        named = ids if isinstance(ids, list) else [item.get("tool_call_id")]
        names = [name for name in named if isinstance(name, str) and name]
        waiting = {call.id: call for call in self._pending}
        if not names:
            return self._pending or [ToolCall(id="", tool="")]
        return [waiting.get(name) or ToolCall(id=name, tool="") for name in names]

    def _results(self, line: Line, content: Any, calls: list[ToolCall]) -> None:
        observed, _ = self._window.see(text_of(content))
        results = [result_of(call, content, observed) for call in calls]
        self.assembler.results(line, results)
        answered = {call.id for call in calls}
        self._pending = [call for call in self._pending if call.id not in answered]
        self._log.fact("root", self._window.folder, turn=self.assembler.next_turn)

    def _note(self, line: Line, note: Note) -> None:
        if note.text.strip():
            self.assembler.user(line, (note,))


def _shown(item: Record) -> str:
    """The text of a demonstration's item; one made of calls has only its action."""
    return text_of(item.get("content")) or string(item.get("action"))


def _without(said: str, action: str, fenced: re.Match[str] | None) -> str:
    """The words around the fenced block that holds the action."""
    if fenced is None and action.strip():
        blocks = (b for b in _FENCED.finditer(said) if b[1].strip() == action.strip())
        fenced = next(blocks, None)
    if fenced is None:
        return said.strip()
    around = (said[: fenced.start()].strip(), said[fenced.end() :].strip())
    return "\n\n".join(part for part in around if part)
