"""An export without secrets."""

from __future__ import annotations

from io import BytesIO

import pytest

from kedgeline.redact import REDACTOR
from kedgeline.session.checking import check
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.checking.planting import LONG
from tests.turns import bash, turn

SECRET = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"


@pytest.fixture
def store() -> Store:
    store = open_store("memory:")
    session = Session("demo", store, window=2_000)
    session.append({"role": "system", "content": f"The deploy token is {SECRET}."})
    for number in range(12):
        output = f"{LONG}\npushed with {SECRET}\n" if number == 1 else f"checked {number}\n" * 90
        user = f"Use {SECRET} here." if number == 2 else f"Go on with {number}."
        step = bash(f"make step-{number}", output)
        session.append(turn(number, step, user=user, tokens=400))
    session.append({"role": "user", "content": f"and {SECRET} again", "id": "m1"})
    session.pin(f"keep {SECRET} safe")
    session.compact()
    return store


def exported(store: Store, *, redacted: bool) -> bytes:
    target = BytesIO()
    export_session(store, "demo", target, cleaning=REDACTOR if redacted else None)
    return target.getvalue()


def texts_of(store: Store, name: str) -> str:
    return str(Session(name, store).transcript()) + str(Session(name, store).view("anthropic"))


def test_no_secret_is_in_it_not_even_packed(store: Store) -> None:
    assert SECRET.encode() in exported(store, redacted=False)
    data = exported(store, redacted=True)
    assert SECRET.encode() not in data
    target = open_store("memory:")
    report = import_session(target, BytesIO(data))
    assert report.redacted
    assert SECRET not in texts_of(target, "demo")
    assert SECRET not in str([entry.data for entry in target.entries("demo")])


def test_it_is_a_session_like_any_other(store: Store) -> None:
    target = open_store("memory:")
    import_session(target, BytesIO(exported(store, redacted=True)))
    assert list(check(target)) == []
    was, now = Session("demo", store), Session("demo", target)
    assert [one.index for one in was.transcript().turns] == [
        one.index for one in now.transcript().turns
    ]
    assert len(was.history()) == len(now.history())
    assert now.undo().plan == was.undo().plan


def test_what_has_no_secret_in_it_is_as_it_was(store: Store) -> None:
    target = open_store("memory:")
    import_session(target, BytesIO(exported(store, redacted=True)))
    kept = {entry.id for entry in store.entries("demo", kinds=("turn",))}
    same = [entry.id in kept for entry in target.entries("demo", kinds=("turn",))]
    assert same.count(False) == 2


def test_messages_with_a_secret_leave_no_hash(store: Store) -> None:
    """A hash lets whoever guesses a short secret make sure of it."""
    target = open_store("memory:")
    import_session(target, BytesIO(exported(store, redacted=True)))
    (words,) = [entry.said for entry in store.entries("demo", kinds=("words",))]
    assert words
    assert [entry.said for entry in target.entries("demo", kinds=("words",))] == [()]
