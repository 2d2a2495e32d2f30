"""Damaged files of every line format: everything readable is read, all damage is reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats import FileHead, Log, load_format, recognise
from kedgeline.formats.records import Lines
from kedgeline.model import Turn
from kedgeline.pipeline.read import Reading, collect, open_source
from tests.formats.damage import EDITS, Row, complaints, drop, edited, read, session, variants
from tests.formats.sessions import JSON_FORMATS, TEXTS

ALL_FORMATS = sorted([*JSON_FORMATS, *TEXTS])
MEGABYTE = 1_000_000
HIDING = {"wrong_type", "other_byte", "nul_over", "cut", "two", "drop"}
"""What may leave a record of another format, or hardly any."""


def run(name: str, seed: int = 20260101, often: int = 1) -> tuple[Counter[str], list[str]]:
    """How many variants of each kind were read, and what was wrong with some."""
    read: Counter[str] = Counter()
    wrong: list[str] = []
    for kind, rows in variants(name, seed, often):
        read[kind] += 1
        damaged = [row.data[:300] for row in rows if row.must or row.may]
        wrong += (f"{kind}: {said} in {damaged}" for said in complaints(session(name), rows))
    return read, wrong


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_everything_readable_is_read_and_all_damage_reported(name: str) -> None:
    read, wrong = run(name)
    assert wrong[:3] == []
    assert read.total() >= 600


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ALL_FORMATS)
def test_everything_readable_is_read_whatever_the_seed(name: str, seed: int) -> None:
    read, wrong = run(name, seed, often=5)
    assert wrong[:3] == []
    assert read.total() >= (2_000 if name in TEXTS else 5_000)


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_files_of_nothing(name: str) -> None:
    """A crash of the machine can leave a file of NUL bytes as long as the real one was."""
    nothing = {
        b"": set(),
        b"\n\n \r\n": set(),
        b"\xef\xbb\xbf": set(),
        b"\0" * 70_000: {"nul"},
        b"\0" * 5_000 + b"\n" + b"\0" * 5_000 + b"\n": {"nul"},
    }
    for data, kinds in nothing.items():
        [transcript] = collect(Reading(open_source(data), load_format(name)))
        assert (transcript.turns, transcript.pending) == ((), None)
        assert {damage.kind for damage in transcript.damage} == kinds


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_nesting_of_every_depth(name: str) -> None:
    """What one reader of JSON just manages is too deep for the next step: a reader once walked
    through a value of depth 600 with a recursion of two calls per level, and raised."""
    here = session(name)
    at = len(here.rows) // 2
    row = here.rows[at]
    for depth in (*range(100, 900, 100), *range(900, 1_010, 10), 1_500, 3_000):
        for before in (b"", b"\0"):
            for opening, end in ((b"[", b"]"), (b'{"a":', b"}")):
                inner = opening * depth + b"0" + end * depth
                data = before + row.data[:-2] + b',"extra":' + inner + b"}\n"
                hurt = Row(data, parts=row.whole, may=True, unknowable=True)
                assert list(complaints(here, [*here.rows[:at], hurt, *here.rows[at + 1 :]])) == []


@pytest.mark.parametrize("size", [5, pytest.param(100, marks=pytest.mark.torture)])
@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_line_of_megabytes(name: str, size: int) -> None:
    """One record holds as much text, whole, behind a NUL byte, or torn."""
    here, more = session(name), "x" * (size * MEGABYTE)
    at = max(here.keys)
    row, marker = here.rows[at], f"mark{at:03d}x".encode()
    data = row.data.replace(marker, marker + more.encode(), 1)
    shapes = (
        Row(data, row.whole, behind=more),
        Row(b"\0" + data, row.whole, behind=more, must=frozenset({"nul"})),
        Row(data[: len(data) // 2] + b"\n", parts=row.whole, must=frozenset({"torn"})),
    )
    for shape in shapes:
        rows = [*here.rows[:at], shape, *here.rows[at + 1 :]]
        assert [said[:300] for said in complaints(here, rows)] == []


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_damage_at_the_beginning_does_not_hide_the_format(name: str) -> None:
    """Formats are recognised by content, and the first lines are as often damaged as others."""
    first = session(name).rows[0]
    for kind, rows in variants(name):
        if kind not in HIDING and rows[0] != first:
            found = recognise(FileHead(b"".join(row.data for row in rows))).format
            assert found is not None, kind
            assert found.name == name, kind


BESIDE = {"messageId": "m", "content": "Lit."}
SPOKEN = {"kind": "MessageEvent", "source": "agent", "id": "e"}
MISTYPED: list[tuple[str, Any]] = [
    ("claude-code", {"type": "assistant", "message": {"content": [{"type": 7, "text": "Lit."}]}}),
    ("copilot-cli", {"type": "assistant.message", "data": {**BESIDE, "reasoningText": 7}}),
    ("copilot-cli", {"type": "assistant.message", "data": {**BESIDE, "toolRequests": [7]}}),
    ("copilot-cli", {"type": "user.message", "data": {"content": ["Light it."]}}),
    ("openai-responses", {"type": "input_text", "text": "Light it."}),
    ("openhands", {**SPOKEN, "llm_message": {"role": 7, "reasoning_content": "Lit."}}),
    ("openhands", {**SPOKEN, "llm_message": {"role": "assistant", "reasoning_content": ["Lit."]}}),
]


@pytest.mark.parametrize(("name", "record"), MISTYPED)
def test_a_value_of_a_wrong_type_is_reported_and_nobodys_words(name: str, record: Any) -> None:
    here = session(name)
    found = read(here.format, [*here.rows, Row(json.dumps(record).encode() + b"\n")])
    assert {(damage.kind, damage.line) for damage in found.damage} == {("shape", len(here.rows))}
    more = found.keys.keys() - here.found.keys.keys() - {("assistant", BESIDE["content"])}
    assert {where for where, _ in more} <= {"opaque"}


def test_words_that_are_no_list_are_read() -> None:
    here = session("openhands")
    said = {"role": "user", "content": "Light it."}
    record = {**SPOKEN, "source": "user", "llm_message": said}
    found = read(here.format, [*here.rows, Row(json.dumps(record).encode() + b"\n")])
    assert ("user", "Light it.") in found.keys
    assert found.damage == []


@pytest.mark.parametrize("name", ["anthropic", "claude-code", "openai-chat", "pi"])
def test_a_call_or_a_result_that_is_gone_is_missed(name: str) -> None:
    here = session(name)
    kinds = {"call": "orphan_result", "result": "unanswered_call"}
    for at, (where, _) in here.keys.items():
        if where in kinds:
            rows = edited(here.rows, drop, at, Random(0))
            damage = Reading(open_source(b"".join(row.data for row in rows)), here.format)
            collect(damage)
            assert kinds[where] in {one.kind for one in damage.log.damage}


# The oracle would notice: readers with one fault each, and the complaint each one gets.

Reader = Callable[[Lines, Log], Iterator[Turn]]


class Faulty:
    """A reader that does as the real one does, but for one fault."""

    name = "claude-code"

    def __init__(self, real: Reader, fault: Callable[[Reader, Lines, Log], Any]) -> None:
        self._real, self._fault = real, fault

    def sniff(self, head: FileHead) -> int:
        return 3

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        yield from self._fault(self._real, lines, log)


def forgets(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage.clear()


def moves(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [replace(damage, offset=damage.offset - 1) for damage in log.damage]


def cries(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage += [replace(damage, line=0, offset=0) for damage in log.damage]


def stops(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    return read((line for line in lines if b"\0" not in line), log)


def mistakes(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    for turn in read(lines, log):
        wide = "\ufffd" in turn.assistant_response
        yield replace(turn, user_message=turn.assistant_response) if wide else turn


def raises(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    return read((line.decode().encode() for line in lines), log)


FAULTS = {
    forgets: "reported, but None",
    moves: "begins at",
    cries: "line 0 is sound, but",
    stops: "is whole and was not read",
    mistakes: "and is now 'user'",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_reader_is_noticed(fault: Any) -> None:
    sound = session("claude-code")
    faulty = sound._replace(format=Faulty(sound.format.read, fault))
    every = islice(variants("claude-code"), 0, None, 5)
    found = (said for _, rows in every for said in complaints(faulty, rows))
    assert next((said for said in found if FAULTS[fault] in said), None) is not None


def test_a_reader_that_raises_is_noticed() -> None:
    sound = session("claude-code")
    faulty = sound._replace(format=Faulty(sound.format.read, raises))
    rows = next(rows for kind, rows in variants("claude-code") if kind == "bad_utf8")
    with pytest.raises(UnicodeDecodeError, match="codec") as raised:
        list(complaints(faulty, rows))
    assert "while reading" in raised.value.__notes__[0]


def test_all_kinds_of_damage_are_tried() -> None:
    kinds = {kind for kind, _ in variants("codex")}
    assert kinds == {*(edit.__name__ for edit in EDITS), "two", "cut"}
