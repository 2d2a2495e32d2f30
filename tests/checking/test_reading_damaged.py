"""A damaged original does not make the rest unreadable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kedgeline.session.archive import as_bytes, hash_of
from kedgeline.session.checking import check
from kedgeline.session.session import Session
from kedgeline.store import Store
from tests.checking.planting import LONG, asked, kept, plant, turns
from tests.turns import bash, turn

WORDS = ["pier", "quay", "rope", "mast", "keel", "hull", "deck", "stern", "bow", "winch"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with kept(tmp_path, "demo") as store:
        yield store


def compacted(store: Store) -> Session:
    """A session with one compaction undone, and one that stands."""
    session = Session("long", store, window=3_000)
    for number in range(40):
        word = WORDS[number % len(WORDS)]
        output = f"{word} {number} checked\n" * 60
        step = bash(f"check {word}", output)
        session.append(turn(number, step, user=f"Check {word} {number}.", tokens=300))
    session.compact()
    session.undo()
    session.compact()
    return session


def test_a_view_has_all_but_the_text_that_is_gone(store: Store, tmp_path: Path) -> None:
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", hash_of(as_bytes(LONG)))
    session = Session("demo", store)
    whole = turns()
    read = session.transcript().turns
    assert [one.assistant_response for one in read] == [one.assistant_response for one in whole]
    assert read[0].tool_results[0].output.startswith("[an original is damaged:")
    assert read[2].tool_results[0].output == whole[2].tool_results[0].output
    view = str(session.view("anthropic").messages)
    assert "`kedgeline fsck` says more" in view
    assert "Nothing else to do." in view


def test_a_turn_that_cannot_be_read_leaves_a_mark_in_its_place(
    store: Store, tmp_path: Path
) -> None:
    plant(tmp_path, "UPDATE entry SET data=x'00' WHERE session='demo' AND number=2")
    session = Session("demo", store)
    read = session.transcript().turns
    assert [one.index for one in read] == [0, 1, 2, 3]
    assert "an original is damaged" in read[1].notes[0].text
    assert "an original is damaged" in str(session.view("openai-chat").messages)
    session.append(turn(4, says="Goes on."))
    assert session.transcript().turns[-1].assistant_response == "Goes on."


def test_a_compaction_that_cannot_be_read_counts_as_undone(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        session = compacted(store)
        number = asked(tmp_path, "SELECT max(number) FROM entry WHERE kind='compaction'")
        assert list(check(store)) == []
        session.undo()
        without = session.view("openai-chat")
        plant(tmp_path, "DELETE FROM entry WHERE kind='undo' AND number > ?", number)
        assert session.view("openai-chat") != without
        plant(tmp_path, "UPDATE entry SET data=x'00' WHERE number=?", number)
        session = Session(session.name, store)  # one that has not read it before
        assert session.view("openai-chat") == without
        assert "an original is damaged" in str(session.history()[-1].what)
        found = [one for one in check(store) if "its summary is lost, and no turn" in one.what]
        assert [one.where for one in found] == [f"long a compaction (entry {number})"]


def test_a_compaction_made_from_other_turns_is_found(tmp_path: Path) -> None:
    """Its record names the chain up to the last turn it stands for."""
    with kept(tmp_path) as store:
        session = compacted(store)
        standing = session._journal().recorded()
        assert standing is not None
        folded = standing.record.folded
        plant(tmp_path, "UPDATE entry SET chain='0' WHERE number=?", folded)
        found = [one for one in check(store) if "not what it was made from" in one.what]
        assert [one.where for one in found][-1] == f"long a compaction (entry {standing.number})"
