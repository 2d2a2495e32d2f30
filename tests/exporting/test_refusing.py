"""A file that is no whole export is refused in one sentence, and changes nothing."""

from __future__ import annotations

import re
from io import BytesIO

import pytest

from kedgeline.errors import BadName, FileRefused, SourceUnreadable, UserError
from kedgeline.session import exports as imports
from kedgeline.session import exports as lines
from kedgeline.session.archive import Damaged, as_bytes, compressed, hash_of
from kedgeline.session.exports import export_session, import_session
from kedgeline.store import Entry
from kedgeline.store.protocol import open_store
from tests.checking.planting import LONG, session_in
from tests.exporting.forging import EXPORT, parsed, refused, sealed


def test_an_export_cut_off_anywhere_is_refused() -> None:
    ends = [match.end() for match in re.finditer(b"\n", EXPORT)][:-1]
    every = {0, *ends, *(end - 1 for end in ends), *range(1, len(EXPORT), 37), len(EXPORT) - 1}
    store = open_store("memory:")
    for size in sorted(every):
        with pytest.raises(FileRefused):
            import_session(store, BytesIO(EXPORT[:size]))
    assert list(store.sessions()) == []
    assert dict(store.loose()) == {}


@pytest.mark.parametrize("step", range(5))
def test_a_changed_byte_is_refused(step: int) -> None:
    """Any byte: what a parser would overlook is seen by the hash over all lines."""
    for place in range(step * 53, len(EXPORT), 5 * 53):
        changed = bytearray(EXPORT)
        changed[place] ^= 0x01
        store = open_store("memory:")
        with pytest.raises((FileRefused, BadName)):
            import_session(store, BytesIO(bytes(changed)))
        assert list(store.sessions()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'{"type":"user"}\n',
        b"\xff\xfe\n",
        b"PK\x03\x04\n",
        b'{"line":"header","format":"other","version":1}\n',
        b"[" * 5_000 + b"\n",
    ],
)
def test_what_is_something_else_is_refused(data: bytes) -> None:
    assert refused(data) in ("it is no exported session", "it breaks off in line 1")


def test_a_newer_version_is_refused_whatever_it_looks_like() -> None:
    header = b'{"format":"kedgeline-session","version":2,"parts":[]}\n'
    assert "upgrade kedgeline" in refused(header + EXPORT)


def test_what_follows_behind_the_end_is_refused() -> None:
    assert "behind its end" in refused(EXPORT + b"\n")


def test_a_line_without_end_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "LONGEST_LINE", 4_096)

    class Endless(BytesIO):
        asked = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert size > 0
            Endless.asked = max(Endless.asked, size)
            return super().readline(size)

    source = Endless(EXPORT.splitlines(keepends=True)[0] + b"x" * (1 << 20))
    with pytest.raises(FileRefused, match="line 2 is too long"):
        import_session(open_store("memory:"), source)
    assert max(4_097, lines.LONGEST_HEADER + 1) == Endless.asked


def test_a_name_that_is_there_is_refused_and_another_taken() -> None:
    store = open_store("memory:")
    session_in(store)
    before = list(store.entries("demo"))
    with pytest.raises(UserError):
        import_session(store, BytesIO(EXPORT))
    assert list(store.entries("demo")) == before
    assert import_session(store, BytesIO(EXPORT), name="copy").session == "copy"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "nul", "x" * 65, "a\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    found = parsed()
    found[0]["session"] = name
    for data, wanted in ((sealed(found), None), (EXPORT, name)):
        with pytest.raises(BadName):
            import_session(open_store("memory:"), BytesIO(data), name=wanted)


def test_a_damaged_text_in_the_store_is_not_taken_for_the_one_in_the_file() -> None:
    """A store does not write a text again that it has: the session would be damaged from the
    beginning."""
    store = open_store("memory:")
    with store.writing("other") as writing:
        hash = hash_of(as_bytes(LONG))
        writing.add(Entry(kind="cut", index=0, blobs=(hash,)), blobs={hash: compressed(b"not it")})
    with pytest.raises(Damaged):
        import_session(store, BytesIO(EXPORT))
    assert [info.name for info in store.sessions()] == ["other"]


def test_a_source_that_fails_is_said_to() -> None:
    class Failing(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().readline(size)

    store = open_store("memory:")
    with pytest.raises(SourceUnreadable, match="input/output error"):
        import_session(store, Failing(EXPORT), label="disk")
    assert list(store.sessions()) == []


def test_a_damaged_session_is_not_exported_as_if_it_was_whole() -> None:
    store = open_store("memory:")
    session_in(store)
    database = store._connections.current()  # type: ignore[attr-defined]
    database.execute("DELETE FROM blob WHERE hash = ?", (hash_of(as_bytes(LONG)),))
    with pytest.raises(Damaged):
        export_session(store, "demo", BytesIO())


def test_a_session_with_a_broken_chain_is_not_exported() -> None:
    store = open_store("memory:")
    session_in(store)
    database = store._connections.current()  # type: ignore[attr-defined]
    database.execute("UPDATE entry SET at = at + 1 WHERE number = 3")
    with pytest.raises(Damaged, match="entry 3 of demo breaks its chain"):
        export_session(store, "demo", BytesIO())
    database.execute("DELETE FROM entry WHERE number = 3")
    with pytest.raises(Damaged, match="entry 3 of demo is gone"):
        export_session(store, "demo", BytesIO())
