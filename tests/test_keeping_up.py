"""A session that is followed as it grows is known as well as one that is read at once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kedgeline.pipeline.handoff import summarize
from kedgeline.session.keeping_up import brought_up_to_date
from kedgeline.session.session import Session
from tests.claude import Records
from tests.conftest import ROOT
from tests.living.sessions import memory
from tests.living.test_tailing import rewound, whole

EXAMPLES = ("claude-code-long.jsonl", "claude-code-compacted.jsonl", "codex.jsonl")


def session() -> Session:
    return Session("kept-up", memory()(""), window=200_000, redactor=None)


def grown(data: bytes, path: Path, cuts: list[int]) -> Session:
    """Brought up to date at every cut; each time all is known that the file has then."""
    found, put_away = session(), b""
    for cut in (*cuts, len(data)):
        path.write_bytes(data[:cut])
        done = brought_up_to_date(found, path, put_away)
        put_away = done.put_away
        assert done.summary == summarize(found.transcript(), redactor=None)
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_at_every_size_all_is_known_that_the_file_tells(name: str, tmp_path: Path) -> None:
    source = ROOT / "examples" / name
    chance = random.Random(name)
    cuts = sorted(chance.randrange(3_000, source.stat().st_size) for _ in range(5))
    if (beside := source.parent / source.stem).is_dir():
        shutil.copytree(beside, tmp_path / source.stem)
    found = grown(source.read_bytes(), tmp_path / name, cuts)
    assert found.transcript() == whole(tmp_path / name)


def test_what_the_user_went_back_on_is_known_no_longer(tmp_path: Path) -> None:
    lines = rewound()
    path = tmp_path / "back.jsonl"
    cuts = [sum(map(len, lines[:n])) for n in range(1, len(lines))]
    assert grown(b"".join(lines), path, cuts).transcript() == whole(path)


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "back.jsonl"
    lines = rewound()
    found = session()
    path.write_bytes(b"".join(lines))
    put_away = brought_up_to_date(found, path).put_away
    path.write_bytes(b"".join(lines[:5]))
    done = brought_up_to_date(found, path, put_away)
    assert done.summary == summarize(whole(path), redactor=None)
    assert brought_up_to_date(found, path, b"nonsense").summary == done.summary


def test_a_file_of_a_sub_agent_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "back.jsonl"
    lines = rewound()
    agent = Records()
    agent.user("Look for lamps", isSidechain=True, agentId="a1")
    agent.assistant("q1", {"type": "text", "text": "Found."}, isSidechain=True, agentId="a1")
    beside = tmp_path / "back" / "subagents" / "agent-a1.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"".join(agent.lines))
    path.write_bytes(b"".join(lines[:-3]))
    found = session()
    put_away = brought_up_to_date(found, path).put_away
    assert [one.agent for one in found.transcript().agents] == ["a1"]
    beside.unlink()
    path.write_bytes(b"".join(lines))
    done = brought_up_to_date(found, path, put_away)
    assert done.summary == summarize(whole(path), redactor=None)


def test_a_state_of_another_shape_is_read_anew(tmp_path: Path) -> None:
    """As an older kedgeline has put it away: it lacks what this one goes on with."""
    path = tmp_path / "back.jsonl"
    path.write_bytes(b"".join(rewound()[:-3]))
    found = session()
    put_away = brought_up_to_date(found, path).put_away.replace(b"turns", b"turnt")
    path.write_bytes(b"".join(rewound()))
    done = brought_up_to_date(found, path, put_away)
    assert done.summary == summarize(whole(path), redactor=None)


def test_a_file_that_is_written_anew_each_time_is_followed_as_a_whole() -> None:
    path = ROOT / "examples" / "gemini-cli.json"
    found = session()
    done = brought_up_to_date(found, path)
    assert done.put_away == b""
    assert done.summary == summarize(found.transcript(), redactor=None)


def test_the_plan_file_of_a_plan_that_was_approved_is_known(tmp_path: Path) -> None:
    records = Records()
    records.user("Plan the pier.", slug="calm-lamps")
    plan = {"type": "tool_use", "id": "p1", "name": "ExitPlanMode", "input": {"plan": "# Pier"}}
    records.assistant("m1", plan, slug="calm-lamps")
    records.result("p1", "User has approved your plan.", slug="calm-lamps")
    for n in range(4):
        records.user(f"Do lamp {n}.", slug="calm-lamps")
        records.assistant(f"a{n}", {"type": "text", "text": "Done."}, slug="calm-lamps")
    cuts = [sum(map(len, records.lines[:n])) for n in range(2, len(records.lines))]
    found = grown(b"".join(records.lines), tmp_path / "plan.jsonl", cuts)
    known = summarize(found.transcript(), redactor=None).session["plan_file"]
    assert [one.value for one in known] == ["calm-lamps.md"]
