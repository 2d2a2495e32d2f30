"""Lines of bytes, and the records that can be got out of broken ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedgeline.formats import Log, records
from kedgeline.formats.log import Line
from kedgeline.formats.records import FEWEST, SCANS, Record, json_records

MEGABYTE = 1_000_000
ONE = b'{"type":"a","text":"one"}'
TWO = b'{"type":"a","text":"two"}'


def known(record: Record) -> bool:
    return record.get("type") == "a"


def read(*data: bytes) -> tuple[list[Any], list[tuple[str, int, int]]]:
    """The texts of the records, and kind, line and offset of the damage."""
    log = Log()
    found = [record.get("text") for _, record in json_records(data, log, known=known)]
    return found, [(damage.kind, damage.line, damage.offset) for damage in log.damage]


def test_lines_are_numbered_and_blank_ones_count_as_lines() -> None:
    data = ['{"a":"灯"}\n'.encode(), b"\n", b" \r\n", b'{"b":1}\n', b'{"c":1}']
    log = Log()
    found = [place for place, _ in json_records(data, log, known=lambda record: True)]
    assert found == [Line(0, 0, 12), Line(3, 16, 24), Line(4, 24, 31)]
    assert log.damage == []


@pytest.mark.parametrize(
    "line", [b"x" + ONE, ONE + b"x", b'"}]}' + ONE, ONE + b"}", ONE + b"x" + TWO, b"{" + ONE]
)
def test_text_beside_a_record_is_reported(line: bytes) -> None:
    """It was left out in silence once: the end of a record whose beginning was lost."""
    found, damage = read(line + b"\n")
    assert found[0] == "one"
    assert ("torn", 0, 0) in damage


def test_an_object_inside_a_torn_record_is_no_record() -> None:
    """A sub-agent's message inside a torn record was read as what the user had typed."""
    for torn in (
        b'{"type":"b","inner":{"type":"a","text":"in"},"more',
        b'{"type":"b","inner":[1,{"type":"a","text":"in"},{"type":"a","text":"in"},',
        b'{"type":"b","inner":[ {"type":"a","text":"in"} , 1',
    ):
        assert read(torn + b"\n", ONE) == (["one"], [("torn", 0, 0)])
        assert read(torn + TWO + b"\n", ONE) == (["two", "one"], [("torn", 0, 0)])


@pytest.mark.parametrize("torn", [b'{"a":', b'{"a":[', b'{"a":[1,', b'{"a":"x, ', b'{"a":"[', b"{"])
def test_a_record_behind_a_text_torn_before_a_value_is_one(torn: bytes) -> None:
    assert read(torn + ONE + TWO + b"\n") == (["one", "two"], [("fused", 0, 0), ("torn", 0, 0)])
    assert read(torn + ONE + b"\n") == (["one"], [("torn", 0, 0)])


def test_control_characters_in_strings_are_read() -> None:
    assert read(b'{"type":"a","text":"a\tb\x1b"}\n') == (["a\tb\x1b"], [])


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999", b"1" * 5_000])
def test_a_field_that_holds_no_number_is_left_out(number: bytes) -> None:
    """Python refuses to read integers of more than 4,300 digits with an error of its own kind."""
    log = Log()
    line = b'{"type":"a","n":' + number + b',"l":[1,' + number + b"]}"
    [(_, record)] = json_records([line], log, known=known)
    assert record == {"type": "a", "l": [1]}
    assert dict(log.damage_counts) == {"shape": 2}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"lamp", "json"),
        (b"17", "shape"),
        (b'"lamp"', "shape"),
        (b'[{"type":"b"}]', "shape"),
        (b"null", "shape"),
        (b"{", "torn"),
        (b"}", "json"),
        (b"{]", "torn"),
        (b"[" * 100_000, "json"),
    ],
)
def test_lines_without_a_record(line: bytes, kind: str) -> None:
    assert read(line + b"\n", ONE) == (["one"], [(kind, 0, 0)])


def test_an_unknown_object_is_handed_over_when_it_stands_alone() -> None:
    """Whether a record is known is for the format to say, and to count."""
    assert read(b'\0{"type":"b","text":"other"}\n') == (["other"], [("nul", 0, 0)])


class Counting:
    """Decodes, and counts the characters that are looked at."""

    def __init__(self, decode: Callable[[str, int], Any]) -> None:
        self.looked_at = 0
        self._decode = decode

    def raw_decode(self, text: str, start: int) -> Any:
        try:
            value, end = self._decode(text, start)
        except (ValueError, RecursionError) as error:
            self.looked_at += getattr(error, "pos", len(text)) - start
            raise
        self.looked_at += end - start
        return value, end


INNER = b'{"a":{"b":[1,{"c":"d"}]}},'
HARD = {
    "many objects": b'{"type":"a","n":[' + INNER * (MEGABYTE // len(INNER)),
    "deep objects": (b'{"k":"' + b"x" * 1_000 + b'","a":') * 900,
    "only beginnings": b'{"' * (MEGABYTE // 2),
    "beginnings and names": b'{"a ' * (MEGABYTE // 4),
    "beginnings and strings": b'{"a":"\\' * (MEGABYTE // 7),
    "too deep": b'{"a":' * (MEGABYTE // 5),
    "one string": b'{"type":"a","text":"' + b"x" * MEGABYTE,
}


@pytest.mark.parametrize("name", HARD)
def test_a_broken_line_costs_a_bounded_amount_of_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for the next record from every bracket of a torn line is quadratic."""
    counting = Counting(records.TOLERANT.raw_decode)
    monkeypatch.setattr(records, "TOLERANT", counting)
    log = Log()
    list(json_records([HARD[name] + b"\n"], log, known=known))
    assert counting.looked_at <= max(SCANS * len(HARD[name]), FEWEST) + 2 * len(HARD[name])
    assert log.damage_counts["torn"] == 1


@pytest.mark.parametrize("name", ["many objects", "deep objects", "one string"])
def test_the_record_behind_a_long_torn_one_is_read(name: str) -> None:
    found, damage = read(HARD[name] + b'{"a":"x' + ONE + b"\n")
    assert (found, damage) == (["one"], [("torn", 0, 0)])


@pytest.mark.torture
@pytest.mark.parametrize("name", HARD)
def test_a_broken_line_of_tens_of_megabytes_is_read_to_its_end(name: str) -> None:
    """The runner would wait for hours if work grew with the square of the length."""
    data = HARD[name] * 20
    found, _ = read(ONE + b"\n", data + b"\n", TWO)
    assert found == ["one", "two"]
