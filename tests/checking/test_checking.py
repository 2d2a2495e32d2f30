"""What is damaged is found, named rightly, and made good where it can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from kedgeline.redact import REDACTOR, Redactor
from kedgeline.session.archive import as_bytes, compressed, hash_of
from kedgeline.session.checking import SAYS, check, repair
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.store import Entry, Kind, Problem, Store, open_store
from tests.checking.planting import LONG, OTHER, asked, kept, plant, turns
from tests.turns import bash, turn

HASH = hash_of(as_bytes(LONG))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with kept(tmp_path, "demo", "other") as store:
        yield store


def only(problems: list[Problem]) -> Problem:
    assert len(problems) == 1, problems
    return problems[0]


def of(store: Store, **given: object) -> list[Problem]:
    return list(check(store, **given))  # type: ignore[arg-type]


def test_a_sound_store_has_no_problem(store: Store) -> None:
    assert of(store) == []
    assert list(repair(store)) == []


def test_every_kind_of_entry_is_known_by_what_it_says() -> None:
    assert set(SAYS) == set(get_args(Kind)) - {"cut", "undo", "unpin"}


def test_every_entry_is_looked_at_and_told(store: Store) -> None:
    seen: list[tuple[str, int, int]] = []
    list(check(store, watch=lambda name, done, total: seen.append((name, done, total))))
    ends = {name: store.head(name).number for name in ("demo", "other")}
    assert seen == [
        (name, number, ends[name])
        for name in ("other", "demo")
        for number in range(1, ends[name] + 1)
    ]


def test_a_text_that_is_gone_is_named_by_turn_and_output(store: Store, tmp_path: Path) -> None:
    assert plant(tmp_path, "DELETE FROM blob WHERE hash = ?", HASH) == 1
    found = of(store)
    assert [problem.where for problem in found] == ["other t0 (entry 1)", "demo t0 (entry 1)"]
    for problem in found:
        assert problem.what.startswith("tool_results.0.output: an original is damaged:")
        assert "is gone" in problem.what
        assert "all else here can be read" in problem.what
        assert not problem.repairable


def test_a_text_with_a_flipped_byte_is_found(store: Store, tmp_path: Path) -> None:
    data = bytearray(asked(tmp_path, "SELECT data FROM blob WHERE hash = ?", HASH))
    data[len(data) // 2] ^= 0x10
    plant(tmp_path, "UPDATE blob SET data = ? WHERE hash = ?", bytes(data), HASH)
    found = of(store, sessions=("demo",))
    assert only(found).where == "demo t0 (entry 1)"
    assert "tool_results.0.output" in found[0].what


def test_another_text_under_the_hash_is_found(store: Store, tmp_path: Path) -> None:
    """It unpacks well; only its hash tells."""
    other = compressed(as_bytes(LONG.replace("pilot", "Pilot")))
    plant(tmp_path, "UPDATE blob SET data = ? WHERE hash = ?", other, HASH)
    assert "is not what was written" in only(of(store, sessions=("demo",))).what


def test_only_what_is_asked_for_is_reported(store: Store, tmp_path: Path) -> None:
    plant(tmp_path, "DELETE FROM place WHERE session='other'")
    assert of(store, sessions=("demo",)) == []
    assert only(of(store, sessions=("other",))).where == "other"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM words_data WHERE id > 10",
        "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10",
    ],
)
def test_a_damaged_index_of_words_is_made_anew_for_all(
    store: Store, tmp_path: Path, statement: str
) -> None:
    """It belongs to no session."""
    plant(tmp_path, statement)
    found = of(store)
    assert found
    assert all(problem.repairable for problem in found)
    list(repair(store))
    assert of(store) == []
    for name in ("demo", "other"):
        assert recall(store, query_of("harbour pilot waits", sessions=(name,)))


def test_an_index_that_seems_whole_and_finds_nothing_is_noticed(
    store: Store, tmp_path: Path
) -> None:
    """SQLite itself reports nothing: an index without its structure is an empty one."""
    plant(tmp_path, "UPDATE words_data SET block = x'00' WHERE id > 1")
    assert list(store.problems()) == []
    assert {problem.where.partition(" ")[0] for problem in of(store)} == {"demo", "other"}


def test_a_changed_entry_is_found(store: Store, tmp_path: Path) -> None:
    data = bytearray(asked(tmp_path, "SELECT data FROM entry WHERE session='demo' AND number=2"))
    data[-3] ^= 0xFF
    plant(tmp_path, "UPDATE entry SET data=? WHERE session='demo' AND number=2", bytes(data))
    found = of(store)
    assert {problem.where for problem in found} == {"demo t1 (entry 2)"}
    assert any("chain is broken" in problem.what for problem in found)
    assert any("no other entry is lost" in problem.what for problem in found)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE entry SET data=(SELECT data FROM entry {}4) {}2", "its content id is another"),
        ("UPDATE entry SET blobs='' {}1", "noted beside it"),
        ("DELETE FROM entry {}2", "it is missing"),
        ("UPDATE entry SET chain='0' {}3", "chain"),
    ],
)
def test_what_does_not_fit_an_entry_is_found(
    store: Store, tmp_path: Path, statement: str, what: str
) -> None:
    plant(tmp_path, statement.replace("{}", "WHERE session='demo' AND number="))
    found = [problem for problem in of(store) if what in problem.what]
    assert found
    assert all(one.where.startswith("demo") and not one.repairable for one in found)


def test_turns_gone_from_the_end_are_found_although_no_chain_breaks(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        session = Session("demo", store)
        session.append(turns())
        plant(tmp_path, "DELETE FROM entry WHERE session='demo' AND number > 2")
        lost = [problem for problem in of(store) if not problem.repairable]
        assert only(lost).what.startswith("t2 to t3 stood here, and nothing of it is left")


def test_a_column_that_cannot_be_read_hides_no_other_entry(store: Store, tmp_path: Path) -> None:
    plant(tmp_path, "UPDATE entry SET said='{' WHERE session='demo' AND number=2")
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", hash_of(as_bytes(OTHER)))
    found = of(store, sessions=("demo",))
    assert any("entry 2" in problem.where for problem in found)
    assert any("tool_results.0.output" in problem.what for problem in found)


def test_an_undo_of_what_is_no_compaction_is_found(tmp_path: Path) -> None:
    with kept(tmp_path, "demo") as store:
        with store.writing("demo") as writing:
            writing.add(Entry(kind="undo", index=1))
        assert only(of(store)).what == "it is about entry 1, which is no compaction"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM place WHERE session='demo'",
        "UPDATE place SET before = 7 WHERE session='demo' AND turn = 2",
        "DELETE FROM passage WHERE session='demo'",
        "DELETE FROM words",
        "DELETE FROM link WHERE session='demo'",
        "DELETE FROM said WHERE session='demo'",
    ],
)
def test_an_index_is_made_good_from_the_entries(
    store: Store, tmp_path: Path, statement: str
) -> None:
    for name in ("demo", "other"):
        Session(name, store).append({"role": "user", "content": "one more message for later"})
    before = [Session(name, store).view("openai-chat") for name in ("demo", "other")]
    assert plant(tmp_path, statement) > 0
    found = of(store)
    assert found
    assert all(problem.repairable for problem in found)
    assert list(repair(store))
    assert of(store) == []
    assert [Session(name, store).view("openai-chat") for name in ("demo", "other")] == before
    recalled = recall(store, query_of("harbour pilot waits", sessions=("demo",)))
    assert recalled[0].mark == "t0"


def test_one_turn_that_is_not_found_any_more_is_named(store: Store, tmp_path: Path) -> None:
    plant(
        tmp_path,
        "DELETE FROM words WHERE rowid IN"
        " (SELECT id FROM passage WHERE session='demo' AND number=3)",
    )
    plant(tmp_path, "DELETE FROM passage WHERE session='demo' AND number=3")
    found = only(of(store))
    assert (found.where, found.repairable) == ("demo t2 (entry 3)", True)
    assert "nothing is lost" in found.what
    named, told = repair(store)
    assert named == found
    assert told.what.startswith("1 turns are in the index of words anew")
    assert of(store) == []


def test_what_is_lost_stays_reported_after_a_repair(store: Store, tmp_path: Path) -> None:
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", HASH)
    plant(tmp_path, "DELETE FROM place WHERE session='demo'")
    list(repair(store))
    assert len([problem for problem in of(store) if not problem.repairable]) == 2


def test_a_repair_changes_no_original(store: Store, tmp_path: Path) -> None:
    before = [list(store.entries(name)) for name in ("demo", "other")]
    plant(tmp_path, "DELETE FROM place")
    plant(tmp_path, "DELETE FROM words")
    list(repair(store))
    assert [list(store.entries(name)) for name in ("demo", "other")] == before


def test_a_turn_that_grew_is_found_once_after_a_repair(tmp_path: Path) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "Bash", "arguments": '{"command":"make quay"}'},
    }
    with kept(tmp_path) as store:
        session = Session("demo", store)
        session.append({"role": "user", "content": "Build the lighthouse, please."})
        session.append({"role": "assistant", "content": "On it.", "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "c1", "content": "built"})
        before = [one.number for one in recall(store, query_of("make quay"))]
        plant(tmp_path, "DELETE FROM words")
        list(repair(store))
        assert [one.number for one in recall(store, query_of("make quay"))] == before
        assert len(before) == 1


def test_a_missing_last_entry_is_found_by_the_place_it_left(tmp_path: Path) -> None:
    with kept(tmp_path, "demo") as store:
        plant(tmp_path, "UPDATE entry SET said='{' WHERE number=7")
        assert any(problem.where == "demo entry 7" for problem in of(store))


# What was left out of the index as a secret stays out; other owners lose nothing.

SECRET = "Tr0ub4dor-x9Q2-horse"
KNOWING = Redactor([("DEPLOY_PASSWORD", SECRET)])
"""As it was when the session was written; REDACTOR knows no environment."""


def deployed(store: Store) -> None:
    session = Session("demo", store, redactor=KNOWING)
    long = f"{SECRET}\n" * 400
    session.append(turn(0, bash(f"deploy {SECRET}", long), user=SECRET, says="Deployed it."))
    session.append(turn(1, user=f"{SECRET} was right", says="Good."))
    session.append(turn(2, user="And the lighthouse?", says="It shines."))


def finds(store: Store, words: str) -> list[str]:
    return [one.mark for one in recall(store, query_of(words)) if not one.relaxed]


def test_what_was_left_out_as_a_secret_is_no_damage_and_stays_out(tmp_path: Path) -> None:
    """The variable that named it is not set any more."""
    with kept(tmp_path) as store:
        deployed(store)
        assert of(store) == []
        assert list(repair(store, clean=REDACTOR.clean)) == []
        of_t2 = "SELECT id FROM passage WHERE number = 3"
        plant(tmp_path, f"DELETE FROM words WHERE rowid IN ({of_t2})")
        assert finds(store, "lighthouse") == []
        told = [one.what for one in repair(store, clean=REDACTOR.clean)]
        assert told[-1].startswith("1 turns are in the index of words anew; a value that was left")
        assert finds(store, "lighthouse") == ["t2"]
        assert finds(store, SECRET) == []
        assert of(store) == []


def test_a_secret_does_not_get_into_an_index_that_is_made_anew(tmp_path: Path) -> None:
    secret = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"
    with kept(tmp_path) as store:
        text = f"pushed with {secret} to the remote"
        Session("demo", store).append(turn(0, bash("git push", text), says="Done."))
        plant(tmp_path, "DELETE FROM words")
        list(repair(store, clean=REDACTOR.clean))
        assert of(store) == []
        assert finds(store, "to the remote") == ["t0"]
        assert finds(store, secret) == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO words (rowid, text) VALUES (9999, 'junk')",
        "DELETE FROM words_data WHERE id > 10",
    ],
)
def test_an_index_that_is_made_anew_for_all_owners_is_said_to_be(
    tmp_path: Path, statement: str
) -> None:
    place = tmp_path / "store"
    for owner in ("alice", "bob"):
        with closing(open_store(place, owner=owner)) as store:
            Session("demo", store).append(turn(0, user=f"{owner} saw a zebra", says="Where?"))
    plant(tmp_path, statement)
    with closing(open_store(place, owner="alice")) as store:
        (told,) = [one.what for one in repair(store) if one.where == "database"]
        assert "others who share this store must run `kedgeline fsck --repair` too" in told
        assert of(store) == []
        assert finds(store, "zebra") == ["t0"]
    assert list(place.glob("kedgeline.db.damaged-*"))
    with closing(open_store(place, owner="bob")) as store:
        assert of(store)
        list(repair(store))
        assert of(store) == []
        assert finds(store, "zebra") == ["t0"]


def test_an_index_that_seems_whole_and_finds_nothing_is_made_anew(tmp_path: Path) -> None:
    with kept(tmp_path, "demo") as store:
        plant(tmp_path, "INSERT INTO words (words) VALUES ('delete-all')")
        assert of(store)
        list(repair(store))
        assert of(store) == []
        assert finds(store, "harbour pilot waits")


# A damaged original does not make the rest unreadable.


def test_a_view_has_all_but_the_text_that_is_gone(store: Store, tmp_path: Path) -> None:
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", HASH)
    session, whole = Session("demo", store), turns()
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


def compacted(store: Store) -> Session:
    """A session with one compaction undone, and one that stands."""
    session = Session("long", store, window=3_000)
    for number in range(40):
        word = ("pier", "quay", "rope", "mast", "keel", "hull", "deck", "bow")[number % 8]
        step = bash(f"check {word}", f"{word} {number} checked\n" * 60)
        session.append(turn(number, step, user=f"Check {word} {number}.", tokens=300))
    session.compact()
    session.undo()
    session.compact()
    return session


def test_a_compaction_that_cannot_be_read_counts_as_undone(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        session = compacted(store)
        number = asked(tmp_path, "SELECT max(number) FROM entry WHERE kind='compaction'")
        assert of(store) == []
        session.undo()
        without = session.view("openai-chat")
        plant(tmp_path, "DELETE FROM entry WHERE kind='undo' AND number > ?", number)
        assert session.view("openai-chat") != without
        plant(tmp_path, "UPDATE entry SET data=x'00' WHERE number=?", number)
        session = Session(session.name, store)  # one that has not read it before
        assert session.view("openai-chat") == without
        assert "an original is damaged" in str(session.history()[-1].what)
        found = [one for one in of(store) if "no other entry is lost" in one.what]
        assert [one.where for one in found] == [f"long compaction (entry {number})"]


def test_a_compaction_made_from_other_turns_is_found(tmp_path: Path) -> None:
    """Its record names the chain up to the last turn it stands for."""
    with kept(tmp_path) as store:
        session = compacted(store)
        (*_, event) = session.history()
        folded = event.what.folded  # type: ignore[union-attr]
        plant(tmp_path, "UPDATE entry SET chain='0' WHERE number=?", folded)
        found = [one for one in of(store) if "not what it was made from" in one.what]
        assert [one.where for one in found][-1] == f"long compaction (entry {event.number})"
