"""A repair brings nothing back that was left out, and takes nothing from others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from kedgeline.redact import REDACTOR, Redactor
from kedgeline.session.checking import check, repair
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.checking.planting import kept, plant
from tests.turns import bash, turn

SECRET = "Tr0ub4dor-x9Q2-horse"
KNOWING = Redactor([("DEPLOY_PASSWORD", SECRET)])
"""As it was when the session was written; REDACTOR knows no environment."""


def deployed(store: Store, name: str = "demo") -> Session:
    session = Session(name, store, redactor=KNOWING)
    long = f"{SECRET}\n" * 400
    session.append(turn(0, bash(f"deploy {SECRET}", long), user=SECRET, says="Deployed it."))
    session.append(turn(1, user=f"{SECRET} was right", says="Good."))
    session.append(turn(2, user="And the lighthouse?", says="It shines."))
    return session


def finds(store: Store, words: str) -> list[str]:
    return [one.mark for one in recall(store, query_of(words)) if not one.relaxed]


def test_what_was_left_out_as_a_secret_is_no_damage(tmp_path: Path) -> None:
    """The variable that named it is not set any more."""
    with kept(tmp_path) as store:
        deployed(store)
        assert list(check(store)) == []
        assert list(repair(store, clean=REDACTOR.clean)) == []
        assert finds(store, SECRET) == []


def test_what_is_in_the_index_stays_as_it_is_when_a_turn_is_made_good(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        deployed(store)
        of_t2 = "SELECT id FROM passage WHERE number = 3"
        plant(tmp_path, f"DELETE FROM words WHERE rowid IN ({of_t2})")
        assert finds(store, "lighthouse") == []
        told = [one.what for one in repair(store, clean=REDACTOR.clean)]
        assert told[-1].startswith("1 turns are in the index of words anew; a value that was left")
        assert finds(store, "lighthouse") == ["t2"]
        assert finds(store, SECRET) == []
        assert list(check(store)) == []


def zebra(folder: Path, owner: str) -> int:
    with closing(open_store(folder / "store", owner=owner)) as store:
        return len(finds(store, "zebra"))


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    for owner in ("alice", "bob"):
        with closing(open_store(tmp_path / "store", owner=owner)) as store:
            Session("demo", store).append(turn(0, user=f"{owner} saw a zebra", says="Where?"))
    return tmp_path


def test_one_owner_takes_stray_words_out_and_leaves_those_of_others(shared: Path) -> None:
    plant(shared, "INSERT INTO words (rowid, text) VALUES (9999, 'junk')")
    with closing(open_store(shared / "store", owner="alice")) as store:
        (problem,) = repair(store)
        assert problem.where == "words"
        assert list(check(store)) == []
    assert (zebra(shared, "alice"), zebra(shared, "bob")) == (1, 1)


def test_an_index_that_is_emptied_for_all_is_said_to_be(shared: Path) -> None:
    plant(shared, "DELETE FROM words_data WHERE id > 10")
    with closing(open_store(shared / "store", owner="alice")) as store:
        told = [one for one in repair(store) if "all owners" in one.what]
        assert [one.where for one in told] == ["words"]
        assert "each of them must run `kedgeline fsck --repair` too" in told[0].what
        assert list(check(store)) == []
    assert (zebra(shared, "alice"), zebra(shared, "bob")) == (1, 0)
    with closing(open_store(shared / "store", owner="bob")) as store:
        assert list(check(store))
        list(repair(store))
        assert list(check(store)) == []
    assert (zebra(shared, "alice"), zebra(shared, "bob")) == (1, 1)


def test_an_index_that_seems_whole_and_finds_nothing_is_made_anew(tmp_path: Path) -> None:
    with kept(tmp_path, "demo") as store:
        plant(tmp_path, "INSERT INTO words (words) VALUES ('delete-all')")
        assert list(check(store))
        list(repair(store))
        assert list(check(store)) == []
        assert finds(store, "harbour pilot waits")
