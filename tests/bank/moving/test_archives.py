"""Blocks of an archive are found again to the byte, whatever they hold."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.bank.moving import archives
from kedge.bank.moving.archives import Block, appended, archive_name, archived, blocks, has
from kedge.bank.shapes import read_document
from kedge.bank.values import Limits
from tests.bank.banks import Bank, active, active_lines

AT = datetime(2026, 2, 23, 9, 30, tzinfo=UTC)
NASTY = (
    b"```\n~~~\n# heading\n## 2026-01-01T00:00:00Z: 1 entry\n",
    b"<!-- kedge:block entries=1 lead=0 bytes=3 sha256=" + b"a" * 64 + b" -->\nabc\n",
    b"<!-- /kedge:block " + b"a" * 64 + b" -->\n",
    b"no last newline",
    b"",
    b"\r\n\r\n",
    b"\n",
    b"<!-- never closed",
    b"\xff\x00\xfe",
)


def archive_of(*contents: bytes) -> bytes:
    archive: bytes | None = None
    for content in contents:
        archive = appended(archive, Block(content=content, entries=1), AT, of="notes.md")
    return archive or b""


def test_an_archive_is_markdown_with_a_heading_and_the_time_of_each_batch() -> None:
    """R35: timestamped Markdown with the original entries verbatim (seed 003)."""
    text = archive_of(b"### A\n\nwords\n").decode()
    digest = sha256(b"### A\n\nwords\n").hexdigest()
    assert text.startswith("# Archive of notes.md\n")
    assert text.endswith(
        "\n## 2026-02-23T09:30:00Z: 1 entry\n\n"
        f"<!-- kedge:block entries=1 lead=0 bytes=13 sha256={digest} -->\n"
        f"### A\n\nwords\n\n<!-- /kedge:block {digest} -->\n"
    )


@given(st.lists(st.one_of(st.binary(max_size=80), st.sampled_from(NASTY)), max_size=6))
def test_whatever_is_put_in_is_found_again(contents: list[bytes]) -> None:
    found = list(blocks(archive_of(*contents)))
    assert list(dict.fromkeys(contents)) == [block.content for block in found]
    assert {""} >= {block.damage for block in found}


@pytest.mark.parametrize("content", NASTY)
def test_an_archive_inside_an_archive_is_one_block(content: bytes) -> None:
    inner = archive_of(content, b"another")
    found = list(blocks(archive_of(inner, b"behind it")))
    assert [block.content for block in found] == [inner, b"behind it"]


def test_the_head_of_a_table_stands_before_its_rows_and_is_no_part_of_them() -> None:
    head, rows = b"| task | status |\n|---|---|\n", b"| T-1 | done |\n"
    archive = appended(None, Block(content=rows, entries=1, lead=head), AT)
    (found,) = blocks(archive)
    assert (found.lead, found.content, found.damage) == (head, rows, "")
    assert head + rows in archive


def test_a_block_that_is_there_is_not_written_twice() -> None:
    """T-D1: after a crash between archive and replacement the same move is planned again."""
    once = archive_of(b"one", b"two")
    assert appended(once, Block(content=b"one", entries=1), AT) == once


def test_a_block_that_is_there_damaged_is_written_again() -> None:
    broken = archive_of(b"one entry").replace(b"\none entry\n", b"\nONE entry\n")
    again = appended(broken, Block(content=b"one entry", entries=1), AT)
    assert [block.content for block in blocks(again) if not block.damage] == [b"one entry"]
    assert has(again, sha256(b"one entry").hexdigest())
    assert not has(broken, sha256(b"one entry").hexdigest())
    assert again.startswith(broken)


@pytest.mark.parametrize(
    ("old", "new", "damage"),
    [
        (b"\nthe second\n", b"\nThe second\n", "its content was changed"),
        (b"\nthe second\n", b"\nthe second, longer\n", "its content was changed"),
        (b"\nthe second\n", b"\n", "its content was changed"),
        (b"bytes=10 ", b"bytes=11 ", "its marker has another number of bytes"),
        (b"<!-- /kedge:block " + sha256(b"the second").hexdigest().encode(), b"", "end is missing"),
    ],
)
def test_damage_is_named_with_its_line_and_the_others_are_safe(
    old: bytes, new: bytes, damage: str
) -> None:
    archive = archive_of(b"first", b"the second", b"third")
    assert old in archive
    broken = archive.replace(old, new, 1)
    found = list(blocks(broken))
    assert [block.content for block in found if not block.damage] == [b"first", b"third"]
    (bad,) = [block for block in found if block.damage]
    assert damage in bad.damage
    assert b"kedge:block" in broken.split(b"\n")[bad.line - 1]


def test_converted_line_ends_are_named_as_such() -> None:
    archive = archive_of(b"a\nb\n").replace(b"\n", b"\r\n")
    assert [block.damage for block in blocks(archive)] == ["its line ends were converted"]


def test_a_truncated_archive_keeps_what_is_whole_and_can_grow() -> None:
    archive = archive_of(b"first", b"second" * 20)
    cut = archive[:-60]
    found = list(blocks(appended(cut, Block(content=b"third", entries=1), AT)))
    assert [(b.content, bool(b.damage)) for b in found if not b.damage] == [
        (b"first", False),
        (b"third", False),
    ]
    assert [block.damage for block in found if block.damage] == ["its end is missing"]


def test_words_of_people_between_blocks_do_not_matter() -> None:
    archive = archive_of(b"first") + b"\nA person's note.\n"
    archive = appended(archive, Block(content=b"second", entries=2), AT)
    assert [(b.content, b.entries, b.at) for b in blocks(archive)] == [
        (b"first", 1, "2026-02-23T09:30:00Z"),
        (b"second", 2, "2026-02-23T09:30:00Z"),
    ]
    assert b"A person's note." in archive


def test_names() -> None:
    assert archive_name("activeContext.md") == "activeContext.archive.md"
    assert archive_name("activeContext.jsonl") == "activeContext.archive.md"


def test_a_planted_bug_that_believes_the_marker_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the comparison of hashes a changed block would pass for a whole one."""
    broken = archive_of(b"the second").replace(b"\nthe second\n", b"\nThe second\n")
    assert [block.damage for block in blocks(broken)] == ["its content was changed"]
    monkeypatch.setattr(archives, "_difference", lambda content, digest: "")
    assert [block.damage for block in blocks(broken)] == [""]


@pytest.mark.parametrize("ending", ["md", "jsonl"])
def test_what_was_archived_is_read_as_in_its_file_the_newest_block_first(ending: str) -> None:
    """R35: an archive is Markdown with blocks, whatever its file is."""
    text = active(9, newest_first=False) if ending == "md" else active_lines(9)
    name = f"activeContext.{ending}"
    entries = list(read_document(name, text.encode()).entries())
    bank = Bank(Limits(entries=6))
    bank.files[name] = "".join(entry.text for entry in entries[:8]).encode()
    bank.compact()
    bank.files[name] += entries[8].text.encode()
    bank.compact()
    archive = bank.files["activeContext.archive.md"]
    found = archived("activeContext.archive.md", archive)
    assert {document.name for document in found} == {"activeContext.archive.md"}
    texts = [entry.text for document in found for entry in document.entries()]
    assert texts == [entries[2].text, entries[0].text, entries[1].text]


def test_an_archive_of_somebody_else_is_read_as_it_is() -> None:
    (found,) = archived("activeContext.archive.md", active(2).encode())
    assert len(list(found.entries())) == 2
    (found,) = archived("activeContext.archive.md", b'{"a": 1}\nnot JSON\n')
    assert (found.text, found.shape) == ('{"a": 1}\nnot JSON\n', "prose")
