"""A session whose sub-agents' files grow beside its own is known as well as one that is read at
once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from kedgeline import read
from kedgeline.model import Transcript
from kedgeline.pipeline.handoff import summarize
from kedgeline.session.keeping_up import Folding, brought_up_to_date
from kedgeline.session.session import Session
from tests.integrations.hooks.delegating import Delegating
from tests.living.sessions import memory
from tests.living.test_tailing import whole


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Delegating:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Delegating(tmp_path)
    made.asks("Mend the harbour.", "I begin.")
    return made


def in_order(found: Transcript) -> Transcript:
    """Sub-agents by their names: they are kept in the order in which they came."""
    return replace(found, agents=tuple(sorted(found.agents, key=lambda one: one.agent)))


def grows(made: Delegating, chance: random.Random) -> Session:
    """All files grow in turns, line by line and in the middle of lines; each time all is known."""
    session, put_away = Session("s1", memory()(""), window=200_000, redactor=None), b""
    files = made.files()
    shown = {path: b"" for path in files}
    made.path.parent.mkdir(exist_ok=True)
    while shown != files:
        path = chance.choice([one for one in files if shown[one] != files[one]])
        end = len(shown[path]) + chance.randrange(1, 900)
        shown[path] = files[path][:end]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shown[path])
        if not made.path.exists() or b"\n" not in made.path.read_bytes():
            continue
        done = brought_up_to_date(session, made.path, put_away)
        put_away = done.put_away
        assert done.summary == summarize(session.transcript(), redactor=None)
    return session


def much_handed_on(made: Delegating, ballast: int = 3) -> None:
    """Waited for, in the background, nested, aborted, failed; and turns between."""
    first = made.delegates("c1", "Find the buoy", "Look for the buoy.", "a1111")
    first.writes("src/buoy.py")
    first.ends("It is red.")
    made.handed_back("c1", "a1111", "It is red.")
    made.says("It is found.")
    slow = made.delegates("c2", "Look for ropes", "Look for ropes.", "a2222")
    made.launched("c2", "a2222")
    for n in range(ballast):
        made.asks(f"Do lamp {n}.", "Done.")
        slow.writes(f"src/rope{n}.py")
    stopped = made.delegates("c3", "Count", "Count the ropes.", "a3333", run_in_background=False)
    stopped.writes("src/count.py")
    made.aborts("c3")
    failing = made.delegates("c4", "Count", "Count the ropes.", "a4444", run_in_background=False)
    failing.calls("Bash", "ValueError: no rope", command="make ropes")
    made.fails("c4", "Agent terminated early")
    slow.ends("Ten ropes.")
    made.notified("a2222", "Look for ropes", "Ten ropes.")
    made.says("Good.")


@pytest.mark.parametrize("seed", range(3))
def test_however_the_files_grow_all_is_known_that_they_tell(seed: int, made: Delegating) -> None:
    much_handed_on(made)
    session = grows(made, random.Random(seed))
    assert in_order(session.transcript()) == in_order(whole(made.path))


def test_one_that_goes_on_long_after_it_was_started_is_known(
    made: Delegating, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kedgeline.session.keeping_up.HELD", 2)
    much_handed_on(made, ballast=5)
    session = grows(made, random.Random(1))
    assert in_order(session.transcript()) == in_order(whole(made.path))


def test_what_is_known_is_not_folded_anew_while_one_works(
    made: Delegating, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of a look is that of what is new, however long the session is."""
    much_handed_on(made)
    made.write()
    session = Session("s1", memory()(""), window=200_000, redactor=None)
    put_away = brought_up_to_date(session, made.path).put_away
    anew: list[str] = []
    stands = Folding.stands
    monkeypatch.setattr(
        Folding,
        "stands",
        lambda self, known: bool(stands(self, known) or anew.append("again")),  # type: ignore[func-returns-value]
    )
    slow = made.delegates("c9", "Look for nets", "Look for nets.", "a9999")
    made.launched("c9", "a9999")
    for n in range(5):
        slow.writes(f"src/net{n}.py")
        made.asks(f"And net {n}?", "Soon.")
        made.write()
        done = brought_up_to_date(session, made.path, put_away)
        put_away = done.put_away
        assert f"src/net{n}.py" in done.summary.files
    assert not anew


def test_when_two_were_asked_the_same_the_client_knows_better(made: Delegating) -> None:
    """Linked by the words they began with, until it is told which is which."""
    for call, name in (("c1", "a1111"), ("c2", "a2222")):
        made.delegates(call, "Count", "Count the ropes.", name).writes(f"src/{name}.py")
    session = Session("s1", memory()(""), window=200_000, redactor=None)
    made.write()
    put_away = brought_up_to_date(session, made.path).put_away
    assert {one.delegated_by for one in session.transcript().agents} == {"c1", "c2"}
    made.handed_back("c1", "a2222", "Two.")
    made.handed_back("c2", "a1111", "One.")
    made.says("Good.")
    made.write()
    done = brought_up_to_date(session, made.path, put_away)
    links = {one.agent: one.delegated_by for one in session.transcript().agents}
    assert links == {"a1111": "c2", "a2222": "c1"}
    assert done.summary == summarize(session.transcript(), redactor=None)


def test_one_that_was_taken_for_anothers_is_told_once(made: Delegating) -> None:
    """Of two that were asked the same, only the second has begun."""
    for call, name in (("c1", "a1111"), ("c2", "a2222")):
        made.delegates(call, f"Count {call}", "Count.", name).writes(f"src/{name}.py")
    del made.agents["a1111"]
    made.fails("c1", "There is no such agent")
    session, put_away = Session("s1", memory()(""), window=200_000, redactor=None), b""
    for _ in range(2):
        made.write()
        done = brought_up_to_date(session, made.path, put_away)
        put_away = done.put_away
        assert done.summary == summarize(session.transcript(), redactor=None)
        made.handed_back("c2", "a2222", "Two.")
        made.asks("Go on.", "I do.")
    assert [one.turn for one in done.summary.files["src/a2222.py"]] == [2]


def test_when_the_file_of_the_first_turns_up_last_all_is_known(
    made: Delegating, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were asked the same and stopped: nothing but the time tells which is which."""
    monkeypatch.setattr("kedgeline.session.keeping_up.HELD", 0)
    for call, name in (("c1", "a1111"), ("c2", "a2222")):
        made.delegates(call, f"Count {call}", "Count.", name).writes(f"src/{name}.py")
        made.aborts(call)
    made.asks("Go on.", "I do.")
    made.asks("And on.", "I do.")
    session, put_away = Session("s1", memory()(""), window=200_000, redactor=None), b""
    late = made.agents.pop("a1111")
    for agents in ({}, {late.name: late}):
        made.agents |= agents
        made.write()
        done = brought_up_to_date(session, made.path, put_away)
        put_away = done.put_away
        assert done.summary == summarize(session.transcript(), redactor=None)
    assert {one.agent: one.delegated_by for one in session.transcript().agents} == {
        "a1111": "c1",
        "a2222": "c2",
    }


def test_records_that_do_not_say_whose_they_are_are_no_turns_of_the_session(
    made: Delegating,
) -> None:
    made.delegates("c1", "Count", "Count.", "a1111").says_as_nobody("Push to main!")
    made.launched("c1", "a1111")
    made.says("I wait.")
    made.write()
    session = Session("s1", memory()(""), window=200_000, redactor=None)
    done = brought_up_to_date(session, made.path)
    for found in (session.transcript(), whole(made.path), read(made.path)):
        assert [turn.user_message for turn in found.turns] == ["Mend the harbour.", "", ""]
        assert found.pending is None
    assert (done.turns, len(done.summary.requests)) == (3, 1)


def test_a_compaction_of_a_sub_agent_in_the_sessions_own_file_is_none_of_it(
    made: Delegating,
) -> None:
    """Older versions wrote all into one file."""
    agent = made.delegates("c1", "Count", "Count.", "a1111")
    agent.compacts()
    made.records.lines.extend(agent.lines)
    made.agents.clear()
    made.write()
    assert not read(made.path).compactions
