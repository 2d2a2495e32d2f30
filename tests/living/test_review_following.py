"""A file that is not the session's is refused, and what is taken back is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kedgeline.errors import OtherSession, UserError
from kedgeline.model import Transcript, Turn
from kedgeline.session.appending import Appended
from kedgeline.session.session import Session
from tests.claude import Records, text, use
from tests.line import Line
from tests.living.sessions import cheaply, session, steps
from tests.living.test_following import _file, _line
from tests.turns import turn


def kept(turns: list[Turn]) -> Transcript:
    return Transcript(format="kedgeline", turns=tuple(turns))


def spoken(path: Path, turns: int, *, name: str = "s", word: str = "word") -> Path:
    """A file of one client with so many turns."""
    lines = []
    for number in range(2 * turns):
        role = "assistant" if number % 2 else "user"
        parent = f"u{number - 1}" if number else None
        lines.append({**_line(number, role, f"{word} {number}", parent), "sessionId": name})
    return _file(path, lines)


def unchanged(found: Session, source: Path | bytes, why: str, *, format: str | None = None) -> None:
    head = found.store.head("s")
    with pytest.raises(OtherSession, match=why):
        found.follow(source, format=format)
    assert found.store.head("s") == head
    assert issubclass(OtherSession, UserError)


def test_a_last_turn_that_is_another_one_is_taken_back() -> None:
    found, turns = session(), steps(3)
    found.append(kept(turns))
    done = found.append(kept([*turns[:2], turn(2, user="no", says="otherwise")]))
    assert (done.new, done.taken_back) == (1, 1)


def test_a_sub_agent_that_is_gone_is_taken_back() -> None:
    found, turns = session(), steps(3)
    told = tuple(replace(one, agent="a1") for one in steps(2))
    agent = Transcript(format="kedgeline", agent="a1", turns=told)
    found.append(replace(kept(turns), agents=(agent,)))
    assert found.append(kept(turns)).taken_back == 2


def test_the_file_of_another_session_is_refused(tmp_path: Path) -> None:
    found = session()
    found.follow(spoken(tmp_path / "s.jsonl", 3))
    other = spoken(tmp_path / "o.jsonl", 9, name="other", word="lamp")
    unchanged(found, other, "it is the session 's', and the file belongs to 'other'.*--force")
    done = found.follow(other, force=True)
    assert (done.turns, done.taken_back) == (9, 3)


def test_a_file_of_another_format_with_nothing_in_common_is_refused(tmp_path: Path) -> None:
    found = session()
    found.follow(spoken(tmp_path / "s.jsonl", 3))
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    given = json.dumps(messages * 4).encode()
    unchanged(found, given, "nothing of the file", format="anthropic")


def test_an_old_copy_is_refused(tmp_path: Path) -> None:
    found = session()
    found.follow(spoken(tmp_path / "s.jsonl", 6))
    cheaply(found)
    old = spoken(tmp_path / "s.jsonl", 2)
    unchanged(found, old, "the file ends after 2 of its 6 turns, as an old copy does")
    waiting = _file(old, [json.loads(line) for line in old.read_text().splitlines()][:-1])
    unchanged(found, waiting, "after 1 of its 6 turns")
    done = found.follow(old, force=True)
    assert (done.turns, done.taken_back, done.undone) == (1, 5, 1)


def test_a_rewind_of_any_kind_is_followed(tmp_path: Path) -> None:
    """In a file that notes it, and in one that is written anew."""
    found = session()
    path = spoken(tmp_path / "s.jsonl", 6)
    found.follow(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines.append(_line(20, "user", "no, otherwise", "u5"))
    assert found.follow(_file(path, lines)).taken_back == 3
    lines.append(_line(21, "assistant", "so then", "u20"))
    assert found.follow(_file(path, lines)) == Appended(new=1, known=3, turns=4)
    anew = [*lines[:4], _line(22, "user", "or rather", "u3")]
    assert found.follow(_file(path, anew)).taken_back == 2


def _written(path: Path, turns: int) -> str:
    records = Records()
    for number in range(turns):
        records.user(f"ask {number}")
        records.assistant(f"m{number}", text(f"answer {number}"))
    path.write_bytes(b"".join(records.lines))
    return str(path)


def test_add_says_what_it_took_back(kedgeline: Line, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    said = kedgeline("add", "s", _written(file, 4)).stderr.decode()
    assert said == "s: 4 new, 0 known; 4 turns in all\n"
    refused = kedgeline("add", "s", _written(file, 1), code=2).stderr.decode()
    assert refused.startswith("kedgeline: the session 's' was left as it is: the file ends after 1")
    said = kedgeline("add", "s", str(file), "--force").stderr.decode()
    assert said == "s: 0 new, 1 known; 1 turn in all; 3 turns taken back\n"
    kedgeline("add", "s", _written(file, 3))
    row = kedgeline.one("add", "s", _written(file, 2), "--force")
    assert (row["taken_back"], row["undone"]) == (1, 0)


def test_add_tells_the_turns_of_sub_agents_apart(kedgeline: Line, tmp_path: Path) -> None:
    file = Path(_written(tmp_path / "s.jsonl", 2))
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    records = Records()
    records.user("look")
    records.assistant("x1", use("c1", "Bash", command="ls"))
    lines = [{**json.loads(line), "isSidechain": True, "agentId": "a1"} for line in records.lines]
    _file(folder / "agent-a1.jsonl", lines)
    said = kedgeline("add", "s", str(file)).stderr.decode()
    assert "2 turns and 1 of sub-agents in all" in said


def test_a_bare_number_pins_a_turn_and_pins_are_listed_by_their_numbers(
    kedgeline: Line, tmp_path: Path
) -> None:
    kedgeline("add", "s", _written(tmp_path / "s.jsonl", 4))
    assert kedgeline.one("pin", "s", "2")["turn"] == 2
    number = kedgeline.one("pin", "s", "hold this")["pin"]
    assert f"#{number}: hold this" in kedgeline("pin", "s").stdout.decode()
    assert kedgeline.one("unpin", "s", "2")["turn"] == 2
    assert kedgeline.one("unpin", "s", f"#{number}")["text"] == "hold this"
    assert "no words to pin" in kedgeline("pin", "s", " ", code=2).stderr.decode()
