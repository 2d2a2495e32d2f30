"""Small transcripts written by hand, read straight through a format, and told in a line a turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from kedgeline.formats.log import Log
from kedgeline.formats.registry import Format
from kedgeline.model import Media, Text, ToolCall, ToolResult, Transcript, Turn, Usage


class Was(NamedTuple):
    turns: list[Turn]
    log: Log

    @property
    def everything(self) -> list[Turn]:
        """The turns, and what stands unanswered behind them."""
        return [*self.turns, *self.log.pending.values()]

    @property
    def notes(self) -> list[tuple[str, str]]:
        return [(note.kind, note.text) for turn in self.everything for note in turn.notes]

    @property
    def told(self) -> list[str]:
        """All that was read and stands in the end, but for the session's facts."""
        log = self.log
        pending = [f".. {said(turn)}" for turn in log.pending.values()]
        return [*map(told, self.standing()), *pending, *_beside(self)]

    @property
    def facts(self) -> list[str]:
        return [f"{one.turn} {one.name} {one.value}" for one in self.log.changes]

    @property
    def damage(self) -> list[str]:
        return [f"{one.kind} {one.line}" for one in self.log.damage]

    def standing(self) -> list[Turn]:
        """The turns that stand in the end, as a transcript would have them; those of sub-agents
        behind the others."""
        kept: dict[str, list[Turn]] = {}
        for turn in self.turns:
            thread = kept.setdefault(turn.agent, [])
            del thread[turn.index :]
            thread.append(turn)
        ends = {agent: end for (_, agent), end in self.log.lengths.items()}
        threads = [kept[agent][: ends.get(agent)] for agent in sorted(kept)]
        return [turn for thread in threads for turn in thread]


def _beside(was: Was) -> Iterator[str]:
    log = was.log
    for one in log.heads.values():
        for message in one:
            yield f"system: {' '.join(p.text for p in message.parts if isinstance(p, Text))}"
    for folded in log.compactions:
        yield _line(f"{folded.kind} by {folded.by} at {folded.turn}: {folded.summary}")
    for agent, call in log.delegated_by.items():
        yield f"{call} started {agent}"
    if log.rewound:
        yield f"rewound {log.rewound}"
    yield from (f"ignored {kind} {number}" for kind, number in sorted(log.ignored.items()))
    yield from was.damage


def told(turn: Turn) -> str:
    """`0.1 > the user's words | {kind: a note} | ~thought~ | the agent's words | tool(a=1) = ok`,
    behind the turn's number and that of its exchange. What failed has `!` for `=`."""
    agent = f"{turn.agent} " if turn.agent else ""
    return f"{agent}{turn.index}.{turn.exchange} {said(turn)}"


def said(turn: Turn) -> str:
    known = {call.id for call in turn.tool_calls}
    stray = [result for result in turn.tool_results if result.call_id not in known]
    shown = [
        *(f"{{{note.kind}: {note.text}}}" for note in turn.notes),
        *([f"> {turn.user_message}"] if turn.user_message else ()),
        *map(_media, turn.media),
        *([f"~{turn.thinking}~"] if turn.thinking else ()),
        *([turn.assistant_response] if turn.assistant_response else ()),
        *(called(call, turn.result_of(call)) for call in turn.tool_calls),
        *(f"?{result.call_id}{came(result)}" for result in stray),
        *([counted(turn.usage)] if turn.usage else ()),
    ]
    return _line(" | ".join(shown))


def counted(usage: Usage) -> str:
    return f"${usage.input}+{usage.cache_read}+{usage.cache_write}>{usage.output}"


def called(call: ToolCall, result: ToolResult | None) -> str:
    given = ", ".join(f"{key}={_value(value)}" for key, value in call.parameters.items())
    return f"{call.tool}({given}){came(result) if result else ''}"


def came(result: ToolResult) -> str:
    """What came of a call."""
    code = "" if result.exit_code is None else str(result.exit_code)
    how = " refused" if result.refused else " stopped" if result.interrupted else ""
    change = f" {result.change}" if result.change else ""
    why = f" for {result.reason}" if result.reason else ""
    sign = "=" if result.success else "!"
    output = f" {result.output}" if result.output else ""
    return f"{how}{why}{change} {sign}{code}{output}{''.join(map(_media, result.media))}"


def _line(text: str) -> str:
    return text.replace("\n", "⏎")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _media(media: Media) -> str:
    return f"[{media.kind} {media.mime} {media.data or media.url}]"


def lines(records: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def read(format: Format, data: bytes | str) -> Was:
    log = Log()
    data = data.encode() if isinstance(data, str) else data
    parts = [part + b"\n" for part in data.split(b"\n")]
    parts[-1] = parts[-1].removesuffix(b"\n")
    return Was(list(format.read(filter(None, parts), log)), log)


def told_of(transcript: Transcript) -> list[str]:
    """The turns of a transcript, what stands unanswered, and the damage."""
    pending = [f".. {said(transcript.pending)}"] if transcript.pending else []
    ignored = [f"ignored {kind} {number}" for kind, number in sorted(transcript.ignored.items())]
    folded = [
        f"{one.kind} by {one.by} at {one.turn}: {one.summary}" for one in transcript.compactions
    ]
    damage = [f"{one.kind} {one.line}" for one in transcript.damage]
    return [*map(told, transcript.turns), *pending, *folded, *ignored, *damage]
