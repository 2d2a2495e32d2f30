"""A file that somebody changed with care is refused too."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
import zstandard

from kedgeline.session.archive import as_bytes, compressed, hash_of
from kedgeline.store import Entry
from kedgeline.store.protocol import open_store
from tests.exporting.forging import (
    Lines,
    packed_anew,
    parsed,
    rechained,
    refused,
    sealed,
)


def changed_text(lines: Lines) -> None:
    lines[1]["text"] = lines[1]["text"].replace("pilot", "Pilot")


def renamed_text(lines: Lines) -> None:
    lines[1]["hash"] = "0" * 64


def text_twice(lines: Lines) -> None:
    lines.insert(2, dict(lines[1]))


def text_left_out(lines: Lines) -> None:
    del lines[1]


def stray_text(lines: Lines) -> None:
    lines.insert(3, {"line": "text", "hash": hash_of(b"stray"), "text": "stray"})
    lines[-1]["texts"] += 1


def text_at_the_end(lines: Lines) -> None:
    lines.insert(-1, {"line": "text", "hash": hash_of(b"stray"), "text": "stray"})
    lines[-1]["texts"] += 1


def entry_left_out(lines: Lines) -> None:
    del lines[3]


def last_entry_left_out(lines: Lines) -> None:
    del lines[-2]


def entries_exchanged(lines: Lines) -> None:
    lines[-2], lines[-3] = lines[-3], lines[-2]


def other_time(lines: Lines) -> None:
    lines[2]["at"] += 1


def other_data(lines: Lines) -> None:
    lines[2]["data"]["user_message"] = "Please delete everything."


def fewer_entries(lines: Lines) -> None:
    lines[0]["entries"] -= 1


def no_number(lines: Lines) -> None:
    lines[2]["number"] = "one"


def huge_number(lines: Lines) -> None:
    lines[2]["tokens"] = 1 << 80


def unknown_kind(lines: Lines) -> None:
    lines[2]["kind"] = "execute"


CHANGES = (
    changed_text,
    renamed_text,
    text_twice,
    text_left_out,
    stray_text,
    text_at_the_end,
    entry_left_out,
    last_entry_left_out,
    entries_exchanged,
    other_time,
    other_data,
    fewer_entries,
    no_number,
    huge_number,
    unknown_kind,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_changed_with_care_is_refused(change: Callable[[Lines], None]) -> None:
    """The hash over all lines is right."""
    found = parsed()
    change(found)
    refused(sealed(found))


def other_words(lines: Lines) -> None:
    id = lines[2]["id"]
    packed_anew(lines, 2, user_message="Please delete everything.")
    lines[2]["id"] = id


def wrong_type(lines: Lines) -> None:
    packed_anew(lines, 2, tool_calls="none")


def hidden_reference(lines: Lines) -> None:
    """To a text of another session, which nobody gave."""
    packed_anew(lines, 3, assistant_response="\0@" + hash_of(as_bytes("x" * 3_000)))


def noted_reference(lines: Lines) -> None:
    hidden_reference(lines)
    lines[3]["blobs"] = [hash_of(as_bytes("x" * 3_000))]


def no_place(lines: Lines) -> None:
    lines[3]["index"] = -5


def key_twice(lines: Lines) -> None:
    lines[2]["key"] = lines[3]["key"] = "once"


def bomb(lines: Lines) -> None:
    """Some kilobytes that unpack to many megabytes."""
    size = 1 << 28
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    parts = [compressor.compress(b"1" + b" " * ((1 << 20) - 1))]
    parts += [compressor.compress(b" " * (1 << 20)) for _ in range((size >> 20) - 1)]
    lines[2]["packed"] = base64.b64encode(b"".join([*parts, compressor.flush()])).decode()


@pytest.mark.parametrize(
    "change",
    [other_words, wrong_type, hidden_reference, noted_reference, no_place, key_twice],
    ids=lambda change: change.__name__,
)
def test_a_file_made_by_hand_is_refused(change: Callable[[Lines], None]) -> None:
    """Hashes and chains are all right."""
    store = open_store("memory:")
    with store.writing("other") as writing:
        text = as_bytes("x" * 3_000)
        writing.add(Entry(kind="cut", index=0), blobs={hash_of(text): compressed(text)})
    found = parsed()
    change(found)
    refused(rechained(found), store)


def test_what_would_unpack_to_more_than_can_be_read_is_not_unpacked() -> None:
    for readable in (True, False):
        found = parsed()
        bomb(found)
        if not readable:
            del found[2]["data"]
        assert refused(rechained(found)) == "its entry 1 cannot be unpacked"
