"""JSON documents that are cut off or broken, and files that only look like documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats import Log
from kedgeline.formats.records import closed, document, documented, is_document

VALUE = {
    "info": {"id": "s1", "n": -12.5e3, "yes": True, "none": None},
    "messages": [
        {"role": "user", "text": 'the "lamp" {at} [the] pier: C:\\pier\n灯 😀'},
        {"role": "tool", "list": [1, [2, []], {}], "text": "x,:]}"},
        {},
    ],
}


def read(data: bytes) -> tuple[Any, list[str]]:
    log = Log()
    return document([data], log), [damage.kind for damage in log.damage]


def begins(part: Any, whole: Any) -> bool:
    """Whether a value is the beginning of another one: nothing invented, nothing left out before
    what is there."""
    if isinstance(part, dict) and isinstance(whole, dict):
        names = list(part)
        inner = all(begins(part[name], whole[name]) for name in names if name in whole)
        whole_before = all(part[name] == whole[name] for name in names[:-1] if name in whole)
        return inner and whole_before and names == list(whole)[: len(names)]
    if isinstance(part, list) and isinstance(whole, list):
        last = len(part) - 1
        return not part or (part[:last] == whole[:last] and begins(part[last], whole[last]))
    return type(part) is type(whole) and part == whole


def test_a_whole_document() -> None:
    assert read(json.dumps(VALUE).encode()) == (VALUE, [])


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_document_cut_at_every_byte(indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(VALUE, indent=indent, ensure_ascii=ascii_only).encode()
    for cut in range(1, len(data)):
        found, kinds = read(data[:cut])
        assert begins(found, VALUE), data[:cut]
        assert "torn" in kinds
    assert begins({"a": 1}, {"a": 1, "b": 2})
    assert not begins({"b": 2}, {"a": 1, "b": 2})
    assert not begins([1, 3], [1, 2, 3])


def test_what_is_complete_before_the_cut_is_there() -> None:
    assert closed('{"a": [1, {"b": "c"}, "d', Log()) == {"a": [1, {"b": "c"}]}
    assert closed('{"a": "b", "c": tr', Log()) == {"a": "b"}
    assert closed('{"a": "b", "c": true', Log()) == {"a": "b", "c": True}
    assert closed('{"a": "b", "c', Log()) == {"a": "b"}
    assert closed('{"a": "b", "c":', Log()) == {"a": "b"}
    assert closed('{"a": {"b": [', Log()) == {"a": {"b": []}}
    assert closed("", Log()) is None


@pytest.mark.parametrize("text", ["[1, 12", "[1, -", "[1, 12.", "[1, 12e", "[1, 12e+"])
def test_a_number_at_the_cut_may_go_on(text: str) -> None:
    assert closed(text, Log()) == [1]


def test_what_stands_behind_a_document_or_in_its_middle() -> None:
    assert read(b'[{"a": 1}]\nlamp')[0] == [{"a": 1}]
    assert read(b'[{"a": 1}, {"b": 2 lamp}, {"c": 3}]')[0] == [{"a": 1}, {"b": 2}]
    assert read(b'{"a": 1, lamp')[0] == {"a": 1}
    assert read(b'{"a" 1}')[0] == {}


def test_bytes_that_do_not_belong() -> None:
    assert read(b'\xef\xbb\xbf{"a": 1}') == ({"a": 1}, [])
    assert read(b'\0\xef\xbb\xbf{"a": "b\0c"}') == ({"a": "bc"}, ["nul"])
    assert read(b'{"a": "b\xff"}') == ({"a": "b\ufffd"}, ["utf8"])
    assert read(rb'{"a": "\ud83d"}') == ({"a": "\ufffd"}, ["surrogate"])
    assert read(b'{"a": NaN, "b": ' + b"1" * 5_000 + b"}") == ({}, ["shape", "shape"])


@pytest.mark.parametrize("depth", [100, 600, 900, 950, 990, 2_000, 100_000])
@pytest.mark.parametrize(("opening", "end"), [("[", "]"), ('{"a":', "}")])
def test_nesting_of_any_depth_does_not_raise(depth: int, opening: str, end: str) -> None:
    whole = opening * depth + "1" + end * depth
    for text in (whole, "\0" + whole, opening * depth, whole[: len(whole) - depth // 2]):
        found, kinds = read(text.encode())
        assert found is not None or "too_deep" in kinds or "torn" in kinds


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": []}',
        "[]",
        "\ufeff[]",
        '{\n  "messages": [\n    {"role": "user"}\n  ]\n}',
        '[\n{"a": 1},\n{"b": 2}\n]',
        '[\n  {"a": 1}\n]',
        '[{"a": 1},\n {"b": 2},\n {"c": 3}]',
        '{"a": 1,\n"b": [\n{"c": 1}\n]}',
        '[{"a": 1}]\nlamp',
        '{"messages": [{"role": "us',
    ],
)
def test_documents(text: str) -> None:
    assert is_document(text.encode().splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lamp",
        '{"a": 1}\n{"b": 2}',
        '\ufeff{"a": 1}\n\ufeff{"b": 2}',
        '\0{"a": 1}\n\0{"b": 2}',
        '{"a": 1}\n{"b": 2',
        '{"a": 1\n{"b": 2}',
        '{\n{"a": 1}\n{"b": 2}',
        '[1, 2]\n{"a": 1}\n{"b": 2}',
        '[[[[\n{"a": 1}\n{"b": 2}',
        '{"a": 1\nlamp\n{"b": 2}\n{"c": 3}',
        '17\n{"a": 1}\n{"b": 2}',
    ],
)
def test_records(text: str) -> None:
    """One odd line at the beginning made a document of a file, and all its records were lost."""
    assert not is_document(text.encode().splitlines(keepends=True))


def test_only_the_first_written_lines_are_taken_and_all_are_given() -> None:
    lines = [b"\n", b"\0\n", *(b'{"a": %d}\n' % number for number in range(20))]
    left = iter(lines)
    opening, every = documented(left)
    assert (opening, len(list(left))) == (b"", 12)
    assert list(every) == lines[:10]
    opening, every = documented([b'\xef\xbb\xbf{"loglines": [\n', b"]}"])
    assert (opening, len(list(every))) == (b'{"loglines": [', 2)
