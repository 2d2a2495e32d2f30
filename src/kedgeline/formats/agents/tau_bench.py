"""tau-bench: dialogues between a simulated customer and an agent with tools, many in one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedgeline.formats.content import calls_in, said_by_user, text_and_media, text_of
from kedgeline.formats.intake import Head, Lines, Record, document, mappings, numbered_items, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece
from kedgeline.model import Note, Text, ToolResult, Turn

STOP = "###STOP###"
"""What the simulated user appends when the dialogue is over; a signal, not words."""
FAILED = ("Error:", "Unknown action")
"""How the environment begins the output of a call that did not work."""


class TauBench:
    name = "tau-bench"

    def sniff(self, head: Head) -> int:
        value = head.document
        dialogues = mappings(value if isinstance(value, list) else [value])
        return 3 if any(_is_dialogue(dialogue) for dialogue in dialogues) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        dialogues = value if isinstance(value, list) else [value]
        for line, dialogue in numbered_items(dialogues, log):
            if isinstance(dialogue.get("traj"), list):
                yield from _turns(dialogue["traj"], log, session=line.number)
            else:
                log.broken("shape", line, "a dialogue without a trajectory")


FORMAT = TauBench()


def _is_dialogue(value: Record) -> bool:
    return "task_id" in value and isinstance(value.get("traj"), list)


def _turns(messages: list[Any], log: Log, *, session: int) -> Iterator[Turn]:
    assembler = Assembler(log, session=session)
    for line, message in numbered_items(messages, log):
        _take(assembler, line, message, log)
        yield from assembler.ready()
    yield from assembler.finish()


def _take(assembler: Assembler, line: Line, message: Record, log: Log) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        assembler.system(line, (Text(text=text_of(content)),))
    elif role == "user":
        if pieces := _heard(text_of(content)):
            assembler.user(line, pieces)
    elif role == "assistant":
        words = text_of(content)
        spoken = [Text(text=words)] if words else []
        assembler.assistant(line, [*spoken, *calls_in(message)])
    elif role == "tool":
        assembler.results(line, (_result(message),))
    else:
        log.ignored[f"role/{role}"] += 1


def _heard(text: str) -> list[Piece]:
    """The customer's words; the signal that ends the dialogue is none of them."""
    words, stop, after = text.partition(STOP)
    pieces: list[Piece] = []
    for said in (words.strip(), after.strip()):
        pieces.extend(said_by_user(said) if said else ())
    if stop:
        pieces.append(Note(kind="injected", text=STOP))
    return pieces


def _result(message: Record) -> ToolResult:
    output, media = text_and_media(message.get("content"))
    success = not output.startswith(FAILED)
    return ToolResult(
        call_id=string(message.get("tool_call_id")),
        success=success,
        output=output,
        error=None if success else output,
        media=media,
    )
