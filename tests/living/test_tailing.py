"""A session file followed as it grows is the same as one that is read at once, wherever it was cut
and however often what is known was put away."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kedgeline.errors import SourceUnreadable
from kedgeline.model import Transcript
from kedgeline.session.following import NotGrowing, Tail
from kedgeline.session.session import Session
from tests.claude import Records
from tests.conftest import ROOT
from tests.living.sessions import memory

EXAMPLES = ("claude-code-long.jsonl", "claude-code-compacted.jsonl", "codex.jsonl")


def session() -> Session:
    return Session("grown", memory()(""), window=200_000, redactor=None)


def whole(path: Path) -> Transcript:
    found = session()
    found.follow(path)
    return found.transcript()


def grown(data: bytes, target: Path, cuts: list[int]) -> Transcript:
    """Followed at every cut."""
    found = session()
    seen = None
    for cut in (*cuts, len(data)):
        target.write_bytes(data[:cut])
        done = found.catch_up(Tail(target, seen))
        seen = done.seen
        assert done.appended.turns == len(found.transcript().turns)
    return found.transcript()


@pytest.mark.parametrize("name", EXAMPLES)
def test_however_a_file_grows_the_session_is_what_the_file_is(name: str, tmp_path: Path) -> None:
    source = ROOT / "examples" / name
    chance = random.Random(name)
    size = source.stat().st_size
    cuts = sorted(chance.randrange(3_000, size) for _ in range(12))
    companions = source.parent / source.stem
    if companions.is_dir():
        shutil.copytree(companions, tmp_path / source.stem)
    assert grown(source.read_bytes(), tmp_path / name, cuts) == whole(tmp_path / name)


def rewound() -> list[bytes]:
    """A session in which the user goes back twice, once to a branch that was left."""
    made = Records()
    made.user("Light the lamp")
    for n in range(6):
        made.assistant(f"m{n}", {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {}})
        made.result(f"c{n}")
        if n == 2:
            back = made.assistant("said", {"type": "text", "text": "Lit."})
            made.user("And the second")
    made.user("No: the third", parent=back)
    made.assistant("m7", {"type": "text", "text": "The third is lit."})
    made.user("Thanks")
    return made.lines


def test_what_the_user_went_back_on_is_taken_back(tmp_path: Path) -> None:
    lines = rewound()
    data = b"".join(lines)
    path = tmp_path / "back.jsonl"
    for step in (1, 2, 3, 5):
        cuts = [sum(map(len, lines[:n])) for n in range(1, len(lines), step)]
        assert grown(data, path, cuts) == whole(path)


def test_a_line_that_is_not_whole_waits(tmp_path: Path) -> None:
    lines = rewound()
    path = tmp_path / "torn.jsonl"
    data = b"".join(lines)
    cuts = [sum(map(len, lines[:n])) + 7 for n in range(1, len(lines))]
    assert grown(data, path, cuts) == whole(path)


def test_a_file_that_is_not_what_it_was_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "back.jsonl"
    lines = rewound()
    path.write_bytes(b"".join(lines))
    seen = session().catch_up(Tail(path)).seen
    path.write_bytes(b"".join(lines[:4]))
    with pytest.raises(NotGrowing):
        Tail(path, seen)
    path.write_bytes(b"".join(lines).replace(b"Thanks", b"Thinks"))
    with pytest.raises(NotGrowing):
        Tail(path, seen)
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(lines))
    with pytest.raises(NotGrowing):
        Tail(other, seen)
    path.unlink()
    with pytest.raises(SourceUnreadable):
        Tail(path, seen)


def test_a_session_that_has_less_than_was_read_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "back.jsonl"
    lines = rewound()
    path.write_bytes(b"".join(lines[:-2]))
    seen = session().catch_up(Tail(path)).seen
    path.write_bytes(b"".join(lines))
    with pytest.raises(NotGrowing):
        session().catch_up(Tail(path, seen))


def test_a_format_that_is_written_anew_does_not_grow(tmp_path: Path) -> None:
    with pytest.raises(NotGrowing):
        Tail(ROOT / "examples" / "gemini-cli.json")
