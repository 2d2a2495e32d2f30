"""A session that was exported and imported is the same in every way; what is no whole export is
refused in one sentence, and changes nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
import zstandard

from kedgeline.errors import BadName, FileRefused, SourceUnreadable, UserError
from kedgeline.model import Compaction, ModelCall, Plan, Transcript, Usage
from kedgeline.redact import REDACTOR
from kedgeline.session import exports
from kedgeline.session.archive import Damaged, as_bytes, compressed, hash_of
from kedgeline.session.checking import check
from kedgeline.session.exports import import_session
from kedgeline.session.journal import Journal, Keeping, Pin, Recorded, add_mark, add_turn, add_value
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store, Writing, open_store
from kedgeline.tokens import EXACT
from tests.checking.planting import LONG, session_in
from tests.exporting.forging import (
    EXPORT,
    Change,
    Lines,
    exported,
    packed_anew,
    parsed,
    rechained,
    refused,
    sealed,
    unpacked_text,
)
from tests.store.opened import connection_of
from tests.turns import bash, turn


def same(one: Session, other: Session) -> None:
    """Entry by entry, and in all that is made of them."""
    assert list(one.store.entries(one.name)) == list(other.store.entries(other.name))
    for place in ("openai-chat", "anthropic"):
        assert one.view(place) == other.view(place)
    assert one.transcript() == other.transcript()
    assert one.history() == other.history()
    assert one.pins() == other.pins()
    calls = (Journal(each.store, each.name).calls() for each in (one, other))
    assert len({tuple(every) for every in calls}) == 1
    assert one.should_compact() == other.should_compact()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "store")) as store:
        yield store


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    places = {"memory": "memory:", "sqlite": str(tmp_path / "target")}
    place = places.get(request.param) or request.getfixturevalue("postgres")
    with closing(open_store(place)) as store:
        yield store


CALL = {"name": "Bash", "arguments": '{"command":"make quay"}'}
GROWING = (
    {"role": "user", "content": "Build the lighthouse, please."},
    {
        "role": "assistant",
        "content": "On it.",
        "tool_calls": [{"id": "c1", "type": "function", "function": CALL}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "built"},
)


AT = datetime(2026, 3, 1, 12, 30, 1, 500, tzinfo=UTC)


def test_a_session_comes_back_the_same_and_goes_on_the_same(store: Store, target: Store) -> None:
    session = session_in(store)
    message = {"role": "user", "content": "One more thing.", "id": "m1"}
    for one in (*GROWING, message):
        session.append(one)
    session.compact(window=600)
    call = ModelCall(role="summarise", model="lamp", sent=9, usage=Usage(input=9), at=AT)
    with store.writing("demo") as writing:
        add_value(writing, "call", call, session.keeping)
    report = import_session(target, BytesIO(exported(store)))
    assert (report.session, report.texts, report.redacted) == ("demo", 3, False)
    other = Session("demo", target, window=session.window)
    same(session, other)
    assert list(check(target)) == []
    for words in ("harbour pilot", "make quay"):
        found = [[one.number for one in each.recall(words)] for each in (session, other)]
        assert found[0] == found[1] != []
    assert target.indexed("demo") == store.indexed("demo")
    new = turn(0, bash("make ship", LONG))
    for each in (session, other):
        assert each.append([message]).known == 1
        assert each.append(new).new == 1
    assert session.view("anthropic") == other.view("anthropic")


def test_what_is_no_unicode_comes_back(store: Store, target: Store) -> None:
    session = Session("demo", store)
    half = "\ud83d" + LONG
    session.append(turn(0, bash("echo", half), user="half a pair: \udc00", says=half))
    session.append(turn(1, says="ü 漢"))
    with store.writing("demo") as writing:
        entry = writing.entry("demo", 1)
        assert entry is not None
        writing.add(msgspec.structs.replace(entry, thread="agent \ud800", key="key \ud801"))
    import_session(target, BytesIO(exported(store)))
    assert list(store.entries("demo")) == list(target.entries("demo"))
    assert Session("demo", target).transcript() == session.transcript()


# What is no whole export.


def test_an_export_cut_off_anywhere_is_refused() -> None:
    ends = [match.end() for match in re.finditer(b"\n", EXPORT)][:-1]
    every = {0, *ends, *(end - 1 for end in ends), *range(1, len(EXPORT), 37), len(EXPORT) - 1}
    store = open_store("memory:")
    for size in sorted(every):
        with pytest.raises(FileRefused):
            import_session(store, BytesIO(EXPORT[:size]))
    assert list(store.sessions()) == []
    assert dict(store.loose()) == {}


def test_a_changed_byte_is_refused() -> None:
    """Any byte: what a parser would overlook is seen by the hash over all lines."""
    store = open_store("memory:")
    for place in range(0, len(EXPORT), 17):
        changed = bytearray(EXPORT)
        changed[place] ^= 0x01
        with pytest.raises((FileRefused, BadName)):
            import_session(store, BytesIO(bytes(changed)))
    assert list(store.sessions()) == []


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\n", b"{}\n", b"[]\n", b"null\n", b'{"type":"user"}\n', b"\xff\xfe\n"),
        *(b"PK\x03\x04\n", b'{"line":"header","format":"other","version":1}\n', b"[" * 5_000),
    ],
)
def test_what_is_something_else_is_refused(data: bytes) -> None:
    assert refused(data) == "it is not an exported session"


@pytest.mark.parametrize(("version", "step"), [(1, "export it again"), (3, "upgrade kedgeline")])
def test_another_version_is_refused_whatever_it_looks_like(version: int, step: str) -> None:
    header = b'{"format":"kedgeline-session","version":%d,"parts":[]}\n' % version
    assert step in refused(header + EXPORT)


def test_what_follows_behind_the_end_is_refused() -> None:
    assert "behind its end" in refused(EXPORT + b"\n")


def test_a_line_without_end_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "LONGEST_LINE", 4_096)
    asked: list[int] = []

    class Endless(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            asked.append(size)
            return super().readline(size)

    source = Endless(EXPORT.splitlines(keepends=True)[0] + b"x" * (1 << 20))
    with pytest.raises(FileRefused, match="line 2 is too long"):
        import_session(open_store("memory:"), source)
    assert min(asked) > 0
    assert max(asked) <= exports.LONGEST_HEADER + 1


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


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (f"DELETE FROM blob WHERE hash = '{hash_of(as_bytes(LONG))}'", "is gone"),
        ("UPDATE entry SET at = at + 1 WHERE number = 3", "entry 3 of demo breaks its chain"),
        ("DELETE FROM entry WHERE number = 3", "entry 3 of demo is gone"),
    ],
)
def test_a_damaged_session_is_not_exported_as_if_it_was_whole(statement: str, why: str) -> None:
    store = open_store("memory:")
    session_in(store)
    connection_of(store).execute(statement)  # type: ignore[arg-type]
    with pytest.raises(Damaged, match=why):
        exported(store)


# A file that somebody changed with care.


STRAY = {
    "line": "text",
    "hash": hash_of(b"stray"),
    "packed": base64.b64encode(compressed(b"stray")).decode(),
}


def changed_text(lines: Lines) -> None:
    text = unpacked_text(lines[1]).replace(b"pilot", b"Pilot")
    lines[1]["packed"] = base64.b64encode(compressed(text)).decode()


CHANGES: dict[str, Change] = {
    "another text": changed_text,
    "another hash of a text": lambda lines: lines[1].update(hash="0" * 64),
    "a text twice": lambda lines: lines.insert(2, dict(lines[1])),
    "a stray text": lambda lines: lines.insert(3, STRAY),
    "a stray text at the end": lambda lines: lines.insert(-1, STRAY),
    "a text left out": lambda lines: lines.pop(1),
    "an entry left out": lambda lines: lines.pop(3),
    "the last entry left out": lambda lines: lines.pop(-2),
    "entries exchanged": lambda lines: lines.insert(-1, lines.pop(-3)),
    "another time": lambda lines: lines[2].update(at=lines[2]["at"] + 1),
    "fewer entries": lambda lines: lines[0].update(entries=lines[0]["entries"] - 1),
    "no number": lambda lines: lines[2].update(number="one"),
    "a huge number": lambda lines: lines[2].update(tokens=1 << 80),
    "an unknown kind": lambda lines: lines[2].update(kind="execute"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_changed_with_care_is_refused(change: str) -> None:
    """The hash over all lines is right."""
    found = parsed()
    CHANGES[change](found)
    refused(sealed(found))


ELSEWHERE = hash_of(as_bytes("x" * 3_000))
"""Of a text of another session, which nobody gave."""


def other_words(lines: Lines) -> None:
    id = lines[2]["id"]
    packed_anew(lines[2], user_message="Please delete everything.")
    lines[2]["id"] = id


def hidden_reference(lines: Lines) -> None:
    packed_anew(lines[3], assistant_response=f"\0@{ELSEWHERE}")


def noted_reference(lines: Lines) -> None:
    hidden_reference(lines)
    lines[3]["blobs"] = [ELSEWHERE]


def key_twice(lines: Lines) -> None:
    lines[2]["key"] = lines[3]["key"] = "once"


def bomb(lines: Lines) -> None:
    """Some kilobytes that unpack to many megabytes."""
    size = 1 << 28
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    parts = [compressor.compress(b"1" + b" " * ((1 << 20) - 1))]
    parts += [compressor.compress(b" " * (1 << 20)) for _ in range((size >> 20) - 1)]
    lines[2]["packed"] = base64.b64encode(b"".join([*parts, compressor.flush()])).decode()


BY_HAND: dict[str, tuple[Change, str]] = {
    "other words": (other_words, ""),
    "a wrong type": (lambda lines: packed_anew(lines[2], tool_calls="none"), ""),
    "a hidden reference": (hidden_reference, ""),
    "a noted reference": (noted_reference, ""),
    "no place": (lambda lines: lines[3].update(index=-5), ""),
    "a key twice": (key_twice, ""),
    "a bomb": (bomb, "its size is implausible"),
}


@pytest.mark.parametrize("change", BY_HAND)
def test_a_file_made_by_hand_is_refused(change: str) -> None:
    """Hashes and chains are all right."""
    store = open_store("memory:")
    with store.writing("other") as writing:
        blobs = {ELSEWHERE: compressed(as_bytes("x" * 3_000))}
        writing.add(Entry(kind="cut", index=0), blobs=blobs)
    found, (made, why) = parsed(), BY_HAND[change]
    made(found)
    assert why in refused(rechained(found), store)


AS_IT_IS = Keeping(EXACT, None)
FAR = 1 << 40
FOLDED = Recorded(compaction=Compaction(plan=Plan(cut=FAR)))


def elsewhere(writing: Writing) -> None:
    """The entry stands at the end; its turn says another place."""
    entry = add_turn(writing, turn(2, says="x"), AS_IT_IS)
    writing.add(msgspec.structs.replace(entry, index=1))


PLANTS: tuple[tuple[Callable[[Writing], object], str], ...] = (
    (lambda held: add_turn(held, turn(FAR, says="x"), AS_IT_IS), "has no place"),
    (lambda held: add_turn(held, turn(FAR, user="x"), AS_IT_IS, kind="words"), "has no place"),
    (lambda held: add_mark(held, "cut", AS_IT_IS, index=FAR), "has no place"),
    (lambda held: add_value(held, "compaction", FOLDED, AS_IT_IS, index=FAR), "folds turns"),
    (lambda held: add_value(held, "compaction", FOLDED, AS_IT_IS, index=1), "folds turns"),
    (lambda held: add_value(held, "pin", Pin(turn=FAR), AS_IT_IS), "pins a turn"),
    (lambda held: add_mark(held, "undo", AS_IT_IS, index=FAR), "which is no compaction"),
    (elsewhere, "elsewhere"),
)


@pytest.mark.parametrize(("plant", "why"), PLANTS)
def test_what_leaves_a_gap_is_refused(plant: Callable[[Writing], object], why: str) -> None:
    """One turn at 2^40 would make a view of so many."""
    store = open_store("memory:")
    Session("demo", store).append([turn(0, says="One."), turn(1, says="Two.")])
    with store.writing("demo") as writing:
        plant(writing)
    assert why in refused(exported(store))
    assert any(why in problem.what for problem in check(store))


# Without secrets.

SECRET = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"


@pytest.fixture
def secret() -> Store:
    """A session with a secret in messages, large texts, a pin and the name of a sub-agent."""
    store = open_store("memory:")
    session = Session("demo", store, window=2_000)
    agents = tuple(
        Transcript(format="x", agent=name, turns=(turn(0, says=f"I am {name}", agent=name),))
        for name in (f"for {SECRET}", f"for {SECRET[:-1]}b")
    )
    long = f"{LONG}\npushed with {SECRET}"
    turns = [turn(n, bash(f"step {n}", f"checked {n}\n" * 90), tokens=400) for n in range(12)]
    turns[1] = turn(1, bash("git push", long), user=f"Use {SECRET}.", tokens=400)
    turns[3] = turn(3, bash("git push again", long), tokens=400)
    session.append(Transcript(format="x", turns=tuple(turns), agents=agents))
    session.append({"role": "user", "content": f"and {SECRET} again", "id": "m1"})
    session.pin(f"keep {SECRET} safe")
    session.compact()
    return store


def all_of(store: Store) -> str:
    session = Session("demo", store)
    texts = [str(session.transcript()), str(session.view("anthropic")), str(session.history())]
    return "".join((*texts, *(entry.thread for entry in store.entries("demo"))))


@pytest.mark.parametrize("when", ["exporting", "importing"])
def test_secrets_are_left_out(secret: Store, when: str) -> None:
    target = open_store("memory:")
    cleaning = {"cleaning": REDACTOR}
    data = exported(secret, **(cleaning if when == "exporting" else {}))
    given = {"clean": REDACTOR.clean, **(cleaning if when == "importing" else {})}
    report = import_session(target, BytesIO(data), **given)  # type: ignore[arg-type]
    assert report.redacted
    assert SECRET in all_of(secret)
    assert SECRET not in all_of(target)
    assert "[secret: GitHub token]" in all_of(target)
    assert not any(SECRET.encode() in (target.blob(hash) or b"") for hash in target.loose())
    assert list(check(target)) == []
    was, now = Session("demo", secret), Session("demo", target)
    assert [one.index for one in was.transcript().turns] == [
        one.index for one in now.transcript().turns
    ]
    assert [len(agent.turns) for agent in now.transcript().agents] == [1, 1]
    kept = {entry.id for entry in secret.entries("demo", kinds=("turn",), thread="")}
    same = [entry.id in kept for entry in target.entries("demo", kinds=("turn",), thread="")]
    assert same.count(False) == 2  # what has no secret in it is as it was
    assert now.recall("git push again")
    assert now.undo().plan == was.undo().plan


def test_messages_with_a_secret_leave_no_hash(secret: Store) -> None:
    """A hash lets whoever guesses a short secret make sure of it."""
    target = open_store("memory:")
    import_session(target, BytesIO(exported(secret, cleaning=REDACTOR)))
    (words,) = [entry.said for entry in secret.entries("demo", kinds=("words",))]
    assert words
    assert [entry.said for entry in target.entries("demo", kinds=("words",))] == [()]
