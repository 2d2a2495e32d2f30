"""A session that was exported and imported is the same in every way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedgeline.model import ModelCall, Turn, Usage
from kedgeline.session.checking import check
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.journal import Journal, add_value
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.checking.planting import LONG, session_in
from tests.turns import bash, turn


def exported(store: Store, name: str = "demo", **given: object) -> bytes:
    target = BytesIO()
    report = export_session(store, name, target, **given)  # type: ignore[arg-type]
    assert report.bytes == len(target.getvalue())
    return target.getvalue()


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


@pytest.fixture(params=["sqlite", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = "memory:" if request.param == "memory" else tmp_path / "target"
    with closing(open_store(place)) as store:
        yield store


def test_a_session_comes_back_the_same(store: Store, target: Store) -> None:
    session = session_in(store)
    report = import_session(target, BytesIO(exported(store)))
    assert (report.session, report.texts, report.redacted) == ("demo", 2, False)
    other = Session("demo", target, window=session.window)
    same(session, other)
    assert list(check(target)) == []
    found = [[one.number for one in each.recall("harbour pilot")] for each in (session, other)]
    assert found[0] == found[1] != []


def test_it_goes_on_the_same(store: Store, target: Store) -> None:
    session = session_in(store)
    message = {"role": "user", "content": "One more thing.", "id": "m1"}
    session.append(message)
    import_session(target, BytesIO(exported(store)))
    other = Session("demo", target, window=session.window)
    new = turn(0, bash("make ship", LONG))
    for each in (session, other):
        assert each.append([message]).known == 1
        assert each.append(new).new == 1
    assert session.view("anthropic") == other.view("anthropic")


def test_a_turn_that_grew_is_found_once(store: Store, target: Store) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "Bash", "arguments": '{"command":"make quay"}'},
    }
    session = Session("demo", store)
    session.append({"role": "user", "content": "Build the lighthouse, please."})
    session.append({"role": "assistant", "content": "On it.", "tool_calls": [call]})
    session.append({"role": "tool", "tool_call_id": "c1", "content": "built"})
    import_session(target, BytesIO(exported(store)))
    both = (session, Session("demo", target))
    found = [[one.number for one in each.recall("make quay")] for each in both]
    assert found[0] == found[1]
    assert len(found[0]) == 1
    assert target.indexed("demo") == store.indexed("demo")


def test_the_lines_can_be_read_by_anyone(store: Store) -> None:
    session_in(store)
    lines = [msgspec.json.decode(line) for line in exported(store).splitlines()]
    assert lines[0] == {
        "line": "header",
        "format": "kedgeline-session",
        "version": 1,
        "session": "demo",
        "entries": 7,
    }
    assert lines[1]["text"] == LONG
    assert lines[2]["data"]["user_message"] == "Please run the tests."
    assert lines[-1]["line"] == "end"
    texts = [line["hash"] for line in lines if line["line"] == "text"]
    assert len(texts) == len(set(texts)) == lines[-1]["texts"]


def test_what_is_no_unicode_comes_back(store: Store, target: Store) -> None:
    session = Session("demo", store)
    half = "\ud83d" + LONG
    odd = turn(0, bash("echo", half), user="half a pair: \udc00", says=half)
    session.append(odd)
    session.append(turn(1, says="ü 漢"))
    with store.writing("demo") as writing:
        entry = writing.entry("demo", 1)
        assert entry is not None
        moved = msgspec.structs.replace(entry, thread="agent \ud800", key="key \ud801")
        writing.add(moved)
    import_session(target, BytesIO(exported(store)))
    assert list(store.entries("demo")) == list(target.entries("demo"))
    assert Session("demo", target).transcript() == session.transcript()


AT = datetime(2026, 3, 1, 12, 30, 1, 500, tzinfo=UTC)
TEXTS = st.one_of(
    st.sampled_from(["", "ü", "a\x00b", "\x00@" + "0" * 64, "\x00=x", "line\u2028end", LONG]),
    st.text(max_size=40),
)


@st.composite
def a_turn(draw: st.DrawFn) -> Turn:
    steps = [
        bash(draw(TEXTS), draw(TEXTS), exit_code=draw(st.integers(0, 1)))
        for _ in range(draw(st.integers(0, 2)))
    ]
    return turn(0, *steps, user=draw(TEXTS), says=draw(TEXTS), agent="")


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), a_turn()),
        st.tuples(st.just("say"), TEXTS),
        st.tuples(st.just("pin"), st.text(min_size=1, max_size=20).filter(str.strip)),
        st.tuples(st.just("unpin"), st.none()),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("call"), TEXTS),
        st.tuples(st.just("undo"), st.none()),
        st.tuples(st.just("fork"), st.none()),
        st.tuples(st.just("rewind"), st.integers(1, 3)),
    ),
    min_size=1,
    max_size=12,
)


def asked(session: Session, model: object) -> None:
    """Of a model with any name at all."""
    call = ModelCall(role="summarise", model=str(model), sent=9, usage=Usage(input=9), at=AT)
    with session.store.writing(session.name) as writing:
        add_value(writing, "call", call, session.keeping)


ALWAYS: dict[str, Callable[[Session, Any], object]] = {
    "turn": lambda session, how: session.append(how),
    "say": lambda session, how: session.append({"role": "user", "content": how}),
    "pin": lambda session, how: session.pin(how),
    "call": asked,
}


def done(session: Session, operations: list[tuple[str, object]]) -> Session:
    for number, (what, how) in enumerate(operations):
        turns = session.transcript().turns
        if what in ALWAYS:
            ALWAYS[what](session, how)
        elif what == "unpin" and session.pins():
            session.unpin(f"#{session.pins()[0].number}")
        elif what == "compact" and turns:
            session.compact(window=600)
        elif what == "undo" and session._journal().recorded():
            session.undo()
        elif what == "fork" and session.store.head(session.name).number:
            session = session.fork(f"fork-{number}")
        elif what == "rewind" and len(turns) > int(how or 0):  # type: ignore[call-overload]
            kept = turns[: -int(how)]  # type: ignore[call-overload]
            session.append(msgspec.structs.replace(session.transcript(), turns=kept, pending=None))
    return session


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
def test_any_history_comes_back_the_same(operations: list[tuple[str, object]]) -> None:
    store, target = open_store("memory:"), open_store("memory:")
    session = done(Session("demo", store, window=2_000), operations)
    if not store.head(session.name).number:
        return
    import_session(target, BytesIO(exported(store, session.name)))
    same(session, Session(session.name, target, window=2_000))
    assert list(check(target)) == []
    assert exported(target, session.name) == exported(store, session.name)
