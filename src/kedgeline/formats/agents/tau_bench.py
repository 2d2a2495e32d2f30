"""tau-bench: dialogues between a simulated customer and an agent with tools, many in one file."""

from __future__ import annotations

from collections.abc import Iterator

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import Lines, Record, document, mappings, numbered_items
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, Turn

STOP = "###STOP###"
"""What the simulated user appends when the dialogue is over; a signal, not words."""
FAILED = ("Error:", "Unknown action")
"""How the environment begins the output of a call that did not work."""


class Dialogue(SessionReader):
    def take(self, line: Line, message: Record) -> None:
        role, content = message.get("role"), message.get("content")
        text = pieces.plain_words(content)
        if role == "system":
            self.system(line, text)
        elif role == "user":
            self.user(line, _heard(text))
        elif role == "assistant":
            self.answer(line, [*pieces.texts(text), *pieces.calls_in(message)])
        elif role == "tool":
            failed = text.startswith(FAILED)
            result = pieces.result(message.get("tool_call_id"), content, failed=failed)
            self.main.results(line, [result])
        else:
            self.unknown("role", role)


def _heard(text: str) -> list[Piece]:
    """The customer's words; the signal that ends the dialogue is none of them."""
    words, stop, after = text.partition(STOP)
    said = [*pieces.heard(words.strip()), *pieces.heard(after.strip())]
    return [*said, Note(kind="injected", text=STOP)] if stop else said


class TauBench:
    name = "tau-bench"

    def sniff(self, head: FileHead) -> int:
        value = head.document
        dialogues = mappings(value if isinstance(value, list) else [value])
        known = (isinstance(one.get("traj"), list) for one in dialogues if "task_id" in one)
        return 3 if any(known) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        dialogues = value if isinstance(value, list) else [value]
        for line, dialogue in numbered_items(dialogues, log):
            if isinstance(dialogue.get("traj"), list):
                reader = Dialogue(log)
                reader.main.session = line.number
                yield from reader.turns(numbered_items(dialogue["traj"], log))
            else:
                log.broken("shape", line, "a dialogue without a trajectory")


FORMAT = TauBench()
