"""A session that is what a file is now: it grows, it is rewound, and nothing is written twice."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Transcript, Turn
from kedgeline.pipeline.read import read
from kedgeline.session.compacting import paid_turns
from kedgeline.session.session import Session
from tests.conftest import then_longer
from tests.living.sessions import bare, memory, opened, session, steps
from tests.turns import called, turn


def transcript(turns: list[Turn], **fields: Any) -> Transcript:
    return Transcript(format="kedgeline", turns=tuple(turns), **fields)


def same(found: Session, wanted: Transcript) -> None:
    got = found.transcript()
    assert [bare(one) for one in got.turns] == [bare(one) for one in wanted.turns]
    assert bare(got.pending) == bare(wanted.pending)
    told = {one.agent: [bare(each) for each in one.turns] for one in got.agents}
    assert told == {one.agent: [bare(e) for e in one.turns] for one in wanted.agents if one.turns}


def states(chance: random.Random) -> list[Transcript]:
    """A file as it is read again and again: it grows, is rewound, has words that wait."""
    turns: list[Turn] = []
    found = []
    for version in range(chance.randint(2, 6)):
        if turns and chance.random() < 0.4:
            turns = turns[: chance.randint(0, len(turns))]
        fresh = steps(chance.randint(0, 6), first=len(turns), words=f" v{version}")
        turns = [*turns, *fresh]
        waits = Turn(index=len(turns), user_message=f"wait {version}", tokens=3)
        starter = turn(len(turns), called("Task", "", prompt="look"), says="I ask", tokens=9)
        kinds = chance.random()
        pending = waits if kinds < 0.5 else None
        agents: tuple[Transcript, ...] = ()
        if kinds > 0.7:
            turns = [*turns, starter]
            told = tuple(replace(one, agent="a1") for one in steps(chance.randint(1, 3)))
            call = starter.tool_calls[0].id
            agents = (Transcript(format="kedgeline", agent="a1", delegated_by=call, turns=told),)
        found.append(transcript(turns, pending=pending, agents=agents))
    return found


@pytest.mark.parametrize("seed", then_longer(range(60), range(100, 3_000)))
def test_a_session_is_what_its_file_is_now_through_growth_and_rewinds(seed: int) -> None:
    opening = memory()
    for state in states(random.Random(seed)):
        with opened(opening) as found:
            found.append(state)
            same(found, state)
            head = found.store.head("s")
            assert found.append(state).new == 0
            assert found.store.head("s") == head, "following again writes nothing"


def test_a_rewind_below_the_cut_leaves_the_compaction_out() -> None:
    turns = steps(60)
    found = session(window=2_000)
    found.append(transcript(turns))
    found.compact()
    [event] = found.history()
    cut = found._journal().recorded().record.compaction.plan.cut  # type: ignore[union-attr]
    assert cut > 10
    rewound = transcript([*turns[: cut - 5], *steps(2, first=cut - 5, words=" again")])
    found.append(rewound)
    same(found, rewound)
    assert found._journal().recorded() is None
    assert [one.undone for one in found.history()] == [True]
    assert event.undone is False


def test_a_rewind_above_the_cut_keeps_the_compaction() -> None:
    turns = steps(60)
    found = session(window=2_000)
    found.append(transcript(turns))
    cut = found.compact().plan.cut
    assert cut < 58
    found.append(transcript([*turns[:58], *steps(1, first=58, words=" again")]))
    standing = found._journal().recorded()
    assert standing is not None
    assert standing.record.compaction.plan.cut == cut


def _line(number: int, role: str, text: str, parent: str | None) -> dict[str, Any]:
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        "message": {"role": role, "content": content, "id": f"m{number}"},
    }


def _file(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_that_grows_and_is_rewound_is_followed_line_by_line(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    found = session()
    parent = None
    for number in range(14):
        role = "user" if number % 2 == 0 else "assistant"
        lines.append(_line(number, role, f"word {number}", parent))
        parent = f"u{number}"
        found.follow(_file(tmp_path / "s.jsonl", lines))
        same(found, read(tmp_path / "s.jsonl"))
    lines.append(_line(20, "user", "no, otherwise", "u5"))
    lines.append(_line(21, "assistant", "so then", "u20"))
    found.follow(_file(tmp_path / "s.jsonl", lines))
    whole = read(tmp_path / "s.jsonl")
    same(found, whole)
    head = found.store.head("s")
    assert found.follow(tmp_path / "s.jsonl").new == 0
    assert found.store.head("s") == head
    at_once = session()
    done = at_once.follow(tmp_path / "s.jsonl")
    same(at_once, whole)
    assert (done.new, done.known, done.taken_back) == (len(whole.turns), 0, 0)


def paid(found: Session) -> set[str]:
    """What was answered in all turns, those that were taken back included."""
    return {one.assistant_response for one in paid_turns(found.store, found.name)}


def chain_of(lines: list[dict[str, Any]]) -> list[str]:
    """The answers on the way from the last record back to the first."""
    by_id, found = {line["uuid"]: line for line in lines}, []
    at: str | None = lines[-1]["uuid"]
    while at is not None:
        if by_id[at]["type"] == "assistant":
            found.append(by_id[at]["message"]["content"][0]["text"])
        at = by_id[at]["parentUuid"]
    return found[::-1]


@pytest.mark.parametrize("seed", range(20))
def test_however_often_a_file_is_looked_at_the_same_turns_were_paid_for(
    seed: int, tmp_path: Path
) -> None:
    """`kedgeline cost` said less of a session that was kept after a rewind than of its file; and
    who went back to a branch of a branch lost the turns before it."""
    chance, path = random.Random(seed), tmp_path / "s.jsonl"
    lines: list[dict[str, Any]] = []
    for number in range(0, 40, 2):
        parent = f"u{number - 1}" if number else None
        if number > 4 and chance.random() < 0.3:
            parent = f"u{chance.randrange(1, number, 2)}"
        lines.append(_line(number, "user", f"ask {number}", parent))
        lines.append(_line(number + 1, "assistant", f"answer {number}", f"u{number}"))
    counts = {"looks": chance.sample(range(2, 40), 4), "once": []}
    sessions = {}
    for name, ends in counts.items():
        sessions[name] = session()
        for end in (*sorted(ends), 40, 40):
            done = sessions[name].follow(_file(path, lines[:end]))
        assert done.new == 0
        same(sessions[name], read(path))
        standing = [turn.assistant_response for turn in read(path).turns]
        assert standing == chain_of(lines)
    answers = {f"answer {number}" for number in range(0, 40, 2)}
    assert paid(sessions["once"]) == paid(sessions["looks"]) == answers
