"""Owners and sessions side by side: nobody reads what is another's (T-S10)."""

from __future__ import annotations

import random
from contextlib import closing

import pytest

from kedgeline.errors import KedgelineError, NoSuchSession
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.sqlite import open_memory
from tests.conftest import then_longer
from tests.living.sessions import Opening, cheaply
from tests.turns import bash, turn

OWNERS = ("ada", "bo", "")
NAMES = ("work", "home", "work.2")


def mark(owner: str, name: str) -> str:
    """A word that only this owner's session says."""
    return f"only{OWNERS.index(owner)}x{NAMES.index(name)}"


MARKS = {mark(owner, name) for owner in OWNERS for name in NAMES}


@pytest.mark.parametrize(("operations", "seed"), then_longer([(340, 0)], [(3_400, 1)]))
def test_nothing_crosses_between_owners_or_sessions(
    operations: int, seed: int, opening: Opening
) -> None:
    """librefang#6497, hermes-agent#38788: a summary of one user shown to another."""
    chance = random.Random(seed)
    stores: dict[str, Store] = {owner: opening(owner) for owner in OWNERS}
    begun: dict[str, set[str]] = {owner: set() for owner in OWNERS}
    for number in range(operations):
        owner, name = chance.choice(OWNERS), chance.choice(NAMES)
        found = Session(name, stores[owner], window=3_000, redactor=None)
        own, kind = mark(owner, name), chance.random()
        try:
            if kind < 0.5 or name not in begun[owner]:
                said = bash(f"echo {own}", f"{own} said {number}")
                found.append([turn(0, said, user=f"{own} asks {number}", says=f"{own} {number}")])
                begun[owner].add(name)
            elif kind < 0.6:
                cheaply(found)
            elif kind < 0.65:
                found.pin(f"{own} stays {number}")
            elif kind < 0.7:
                found.undo()
            else:
                seen = looked(found, chance, kind)
                assert seen & MARKS <= {own}, (owner, name, kind, seen)
        except KedgelineError:
            continue
        listed = {info.name for info in stores[owner].sessions()}
        assert listed == begun[owner]
    for store in stores.values():
        store.close()


def looked(found: Session, chance: random.Random, kind: float) -> set[str]:
    """The words that a session shows in some way."""
    other = chance.choice(sorted(MARKS))
    if kind < 0.8:
        text = str(found.view("openai-chat").messages)
    elif kind < 0.9:
        text = str([found.original(hit.mark) for hit in found.recall(other)])
    else:
        text = str(found.history()) + str(found.transcript()) + str(found.pins())
    return {word for word in MARKS if word in text}


def test_a_store_of_one_owner_says_nothing_of_another(opening: Opening) -> None:
    with closing(opening("ada")) as one:
        Session("s", one, redactor=None).append([turn(0, says="secret lamp", user="go")])
        with closing(opening("bo")) as other:
            theirs = Session("s", other, redactor=None)
            assert theirs.transcript().turns == ()
            assert theirs.history() == []
            with pytest.raises(NoSuchSession):
                theirs.recall("secret")
            assert list(other.sessions()) == []
            assert other.head("s").number == 0
            blobs = {hash for entry in one.entries("s") for hash in entry.blobs}
            assert all(other.blob(hash) is None for hash in blobs)
    assert open_memory("memory:").owner == ""
