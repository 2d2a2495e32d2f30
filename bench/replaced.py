"""Real compactions of Claude Code, and what the agent would have gone on with in their place: the
host's own summary, that with what hooks put back, and a context of ours at several rooms.

Two things are asked of each: the questions of `bench.questions`, by their keys, and which of the
files that the agent did read again stood in it, as the file was by then, line by line. What came
after the cut is for scoring only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import msgspec

from bench.corpus import Mean, Watch, mean_of
from bench.put_back import kept_after
from bench.questions import Question, answers
from bench.tables import Table, with_interval
from kedgeline.errors import UserError
from kedgeline.hosts.replacement import HostRequest, replacement
from kedgeline.model import Value
from kedgeline.store.protocol import open_store
from kedgeline.tokens import EXACT

HOST, ADVICE = "the host's own", "with what hooks put back"
AT_LENGTH, USUAL = "ours, at its length", "ours, usual room"
ROOMS = (5_000, 10_000, 20_000)
READS, EDITS = ("Read",), ("Edit", "MultiEdit", "Write", "NotebookEdit")
Row = dict[str, Any]


class Cut(msgspec.Struct, frozen=True):
    """A line of `compactions.jsonl`: lines of a file, from 0."""

    session: str
    file: str
    n: int
    boundary_line: int
    summary_line: int
    prev_boundary_line: int
    next_line_end: int
    tokens: int = msgspec.field(name="preTokens")


class Text(Value, frozen=True):
    """What an agent would have gone on with."""

    whose: str
    tokens: int
    answered: int | None
    """Of the questions; None where none are asked of this cut."""
    spared: int
    """Reads that it would have spared."""
    spared_first: int
    """Those of them before the first edit."""


class Compared(Value, frozen=True):
    cut: str
    questions: int
    again: int
    """Reads of files that had been read before the cut."""
    until_edit: int | None
    """Calls before the first edit behind the cut; None where nothing was edited."""
    texts: tuple[Text, ...]


class Compactions(Value, frozen=True):
    cuts: tuple[Compared, ...]


class _Reread(NamedTuple):
    path: str
    lines: frozenset[str]
    is_first: bool
    """Before the first edit."""


def measure(corpus: Path, questions: Path, *, watch: Watch) -> Compactions:
    lines = (corpus / "compactions.jsonl").read_bytes().splitlines()
    found = []
    for cut in (msgspec.json.decode(line, type=Cut) for line in lines):
        name = f"{cut.session[:8]}-{cut.n}"
        watch(name)
        found.append(_compared(cut, name, corpus / cut.file, questions / "cases" / f"{name}.json"))
    return Compactions(cuts=tuple(found))


def _compared(cut: Cut, name: str, path: Path, case: Path) -> Compared:
    data = path.read_bytes()
    records = [*map(_record, data.splitlines())]
    rows = rows_of(records[cut.prev_boundary_line : cut.boundary_line])
    behind = rows_of(records[cut.summary_line + 1 : cut.next_line_end + 1])
    summary = "\n".join(one["text"] for one in rows_of(records[cut.summary_line :][:1]))
    asked = _questions(case)
    calls = [one["tool"] for row in behind for one in row["toolUses"]]
    first = next((n for n, tool in enumerate(calls) if tool in EDITS), None)
    again = [*_read_again(rows, behind)]
    put_back = kept_after(path, data, cut.boundary_line, cut.summary_line)
    texts = {HOST: [_said(summary)], ADVICE: [_said(text) for text in (summary, *put_back)]}
    rooms = {AT_LENGTH: len(summary) // 4, USUAL: 0} | {f"ours, {room:,}": room for room in ROOMS}
    for whose, room in rooms.items():
        texts[whose] = _ours(rows, cut.tokens, room, path)
    return Compared(
        cut=name,
        questions=len(asked),
        again=len(again),
        until_edit=first,
        texts=tuple(_text(whose, given, asked, again) for whose, given in texts.items()),
    )


def _record(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _questions(case: Path) -> list[Question]:
    if not case.is_file():
        return []
    return msgspec.convert(msgspec.json.decode(case.read_bytes())["probes"], type=list[Question])


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The main conversation as Claude Code hands it over."""
    rows = []
    for record in records:
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(one["text"] for one in blocks if one["type"] == "text")
        uses = [
            {"tool_use_id": one["id"], "tool": one["name"], "input": one["input"]}
            for one in blocks
            if one["type"] == "tool_use"
        ]
        results = [
            {"tool_use_id": one["tool_use_id"], "text": _plain(one.get("content"))}
            for one in blocks
            if one["type"] == "tool_result"
        ]
        row = {"role": record["message"]["role"], "text": text, "toolUses": uses}
        row |= {"handle": record["uuid"]}
        rows.append({**row, "toolResults": results} if results else row)
    return rows


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(one.get("text", "") for one in content or ())


def _said(text: str) -> Row:
    return {"role": "user", "text": text, "toolUses": []}


def _ours(rows: Sequence[Row], tokens: int, room: int, path: Path) -> list[Row]:
    asked = HostRequest(
        messages=[*rows], session="s1", transcript=str(path), tokens=tokens, room=room
    )
    with closing(open_store(":memory:")) as store:
        try:
            answer = replacement("claude-code", asked, store, counter=EXACT)
        except UserError:  # so little room that it is left to the host
            return []
    given: list[Row] = answer.reply["messages"]
    return given


def _reads(rows: Sequence[Row]) -> Iterator[tuple[int, str, frozenset[str]]]:
    """How many edits stood before, the path, and the lines that were shown."""
    outputs = {
        one["tool_use_id"]: one["text"] for row in rows for one in row.get("toolResults", ())
    }
    edits = 0
    for row in rows:
        for one in row["toolUses"]:
            edits += one["tool"] in EDITS
            if one["tool"] in READS:
                text = outputs.get(one["tool_use_id"], "")
                yield edits, str(one["input"].get("file_path")), frozenset(text.splitlines())


def _read_again(before: Sequence[Row], behind: Sequence[Row]) -> Iterator[_Reread]:
    known = {path for _, path, _ in _reads(before)}
    for edits, path, lines in _reads(behind):
        if path in known and lines:
            yield _Reread(path, lines, is_first=not edits)


def _text(
    whose: str, rows: Sequence[Row], asked: Sequence[Question], again: Sequence[_Reread]
) -> Text:
    parts = [one["text"] for row in rows for one in (row, *row.get("toolResults", ()))]
    parts += [str(one["input"]) for row in rows for one in row["toolUses"]]
    text = "\n".join(parts)
    there = frozenset(text.splitlines())
    spared = [one for one in again if one.lines <= there]
    return Text(
        whose=whose,
        tokens=EXACT.count(text),
        answered=sum(answers(text, one.keys) for one in asked) if asked and rows else None,
        spared=len(spared),
        spared_first=sum(one.is_first for one in spared),
    )


HEADER = (
    *("the agent goes on with", "tokens, mean", "questions answered, by keys", "cuts"),
    *("reads again that it spares", "of them before the first edit"),
)


def tables(found: Compactions) -> list[Table]:
    return [Table("replaced", HEADER, _rows(found.cuts))]


def _rows(found: Sequence[Compared]) -> Iterator[tuple[str, ...]]:
    again = sum(one.again for one in found)
    for number, first in enumerate(found[0].texts):
        texts = [(one, one.texts[number]) for one in found]
        given = [(one, text) for one, text in texts if text.tokens]
        yield (
            first.whose,
            f"{fmean(text.tokens for _, text in given):,.0f}" if given else "",
            with_interval(_mean(given)),
            f"{len(given)}",
            f"{sum(text.spared for _, text in given)} of {again}",
            f"{sum(text.spared_first for _, text in given)}",
        )


def _mean(given: Sequence[tuple[Compared, Text]]) -> Mean | None:
    return mean_of(
        [
            (one.cut, float(text.answered), one.questions)
            for one, text in given
            if text.answered is not None
        ]
    )


def origin(found: Compactions) -> str:
    asked = sum(bool(one.questions) for one in found.cuts)
    edits = [one.until_edit for one in found.cuts if one.until_edit is not None]
    return (
        f"{len(found.cuts)} compactions; questions are asked of {asked} of them. Behind the "
        f"host's own the agent made {median(edits):g} calls before its first "
        f"edit (median of {len(edits)} in which it edited)."
    )
