"""The damage suite would notice: readers with one fault each, and the complaint each one gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from msgspec.structs import replace

from kedgeline.formats import Format, Head, Log
from kedgeline.formats.intake import Lines
from kedgeline.model import ToolResult, Turn
from tests.formats.damage import Session
from tests.formats.damage_oracle import complaints
from tests.formats.damage_sessions import json_session
from tests.formats.damage_variants import variants

Reader = Callable[[Lines, Log], Iterator[Turn]]
Fault = Callable[[Reader, Lines, Log], Iterator[Turn]]
SPARED = 5
"""Only every fifth variant is read until the first complaint; a fault shows in many."""


class Faulty:
    """A reader that does as the real one does, but for one fault."""

    def __init__(self, real: Format, fault: Fault) -> None:
        self.name, self._real, self._fault = real.name, real, fault

    def sniff(self, head: Head) -> int:
        return self._real.sniff(head)

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return self._fault(self._real.read, lines, log)


def drops_what_follows_a_fused_record(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    first = (re.split(rb'(?<=\})(?=\{"type")', line)[0] for line in lines)
    return read((line if line.endswith(b"\n") else line + b"\n" for line in first), log)


def stops_at_the_first_broken_line(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    def sound() -> Iterator[bytes]:
        for line in lines:
            if b"\0" in line:
                return
            yield line

    return read(sound(), log)


def keeps_damage_to_itself(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage.clear()


def reports_the_next_line(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [replace(damage, line=damage.line + 1) for damage in log.damage]


def counts_characters_for_bytes(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [replace(damage, offset=damage.offset - 1) for damage in log.damage]


def calls_all_damage_json(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [replace(damage, kind="json") for damage in log.damage]


def sees_damage_everywhere(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    if log.damage:
        log.damage.append(replace(log.damage[0], line=0, offset=0, kind="torn"))


def raises_at_bad_bytes(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    return read((line.decode().encode() for line in lines), log)


def misses_lost_results(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [damage for damage in log.damage if damage.kind != "unanswered_call"]


def misses_lost_calls(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [damage for damage in log.damage if damage.kind != "orphan_result"]


def lets_the_model_speak_as_the_user(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    for turn in read(lines, log):
        if "\ufffd" in turn.assistant_response:
            yield replace(turn, user_message=turn.assistant_response)
        else:
            yield turn


def strips_texts(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    for turn in read(lines, log):
        yield replace(turn, assistant_response=turn.assistant_response.replace("\u2028", " "))


def loses_results(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    kept: tuple[ToolResult, ...]
    for turn in read(lines, log):
        kept = turn.tool_results[:1] if log.damage else turn.tool_results
        yield replace(turn, tool_results=kept)


def passes_over_wrong_types(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    yield from read(lines, log)
    log.damage[:] = [damage for damage in log.damage if damage.kind != "shape"]


def reads_backwards(read: Reader, lines: Lines, log: Log) -> Iterator[Turn]:
    turns = list(read(lines, log))
    if log.damage:
        main = [turn for turn in turns if not turn.agent]
        places = {turn.index: len(main) - 1 - turn.index for turn in main}
        turns = [replace(t, index=places[t.index]) if not t.agent else t for t in turns]
        turns.sort(key=lambda turn: turn.index)
    yield from turns


FAULTS: dict[Fault, str] = {
    drops_what_follows_a_fused_record: "is whole and was not read",
    stops_at_the_first_broken_line: "is whole and was not read",
    keeps_damage_to_itself: "reported, but None",
    reports_the_next_line: "is sound, but",
    counts_characters_for_bytes: "begins at",
    calls_all_damage_json: "reported, but ['json']",
    sees_damage_everywhere: "line 0 is sound, but torn was reported",
    misses_lost_results: "has lost its result",
    misses_lost_calls: "has lost its call",
    lets_the_model_speak_as_the_user: "and is now 'user'",
    strips_texts: "was not read",
    loses_results: "is whole and was not read: ('result'",
    passes_over_wrong_types: "vanished without a word",
    reads_backwards: "behind turn",
}


@pytest.fixture(scope="module")
def sound() -> Session:
    return json_session("claude-code")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_reader_is_noticed(fault: Fault, sound: Session) -> None:
    faulty = sound._replace(format=Faulty(sound.format, fault))
    every = islice(variants(sound), 0, None, SPARED)
    found = (said for _, rows in every for said in complaints(faulty, rows))
    assert next((said for said in found if FAULTS[fault] in said), None) is not None


def test_a_reader_that_raises_is_noticed(sound: Session) -> None:
    faulty = sound._replace(format=Faulty(sound.format, raises_at_bad_bytes))
    [rows] = islice((rows for name, rows in variants(sound) if name == "bad UTF-8"), 1)
    with pytest.raises(UnicodeDecodeError) as raised:
        list(complaints(faulty, rows))
    assert "while reading" in raised.value.__notes__[0]


def test_the_clean_file_gets_no_complaint_and_every_lost_line_one(sound: Session) -> None:
    assert list(complaints(sound, sound.rows)) == []
    for at in sound.expected:
        rows = [*sound.rows[:at], sound.rows[at]._replace(data=b"\n"), *sound.rows[at + 1 :]]
        assert any(f"record {at} is whole" in said for said in complaints(sound, rows))


def test_no_variant_comes_twice_or_is_clean(sound: Session) -> None:
    """A generator that gives the same file again and again would only seem to be thorough."""
    clean = b"".join(row.data for row in sound.rows)
    every = [b"".join(row.data for row in rows) for _, rows in variants(sound)]
    assert len({clean, *every}) == len(every) + 1


def test_variants_are_the_same_every_time(sound: Session) -> None:
    assert list(islice(variants(sound), 0, None, 50)) == list(islice(variants(sound), 0, None, 50))
