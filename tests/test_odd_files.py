"""What is named as a transcript and is none, or one that is large or nested as none should be."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kedgeline
from kedgeline.cli.sessions import open_export
from kedgeline.errors import SourceUnreadable, StoreBusy
from kedgeline.hosts import judgement, places
from kedgeline.hosts.worker import MOST_MEMORY
from kedgeline.pipeline import read as opening
from kedgeline.session.following import Tail
from kedgeline.store.sqlite import open_sqlite

WORKER = [sys.executable, "-m", "kedgeline.hosts.worker"]
LARGE = st.integers(min_value=200_000, max_value=900_000)


def odd(kind: str, folder: Path) -> Path:
    path = folder / kind
    if kind == "a device":
        return Path("/dev/zero")
    if kind == "a directory":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    return path


def imported(path: Path) -> None:
    with open_export(str(path)):
        pass


@pytest.mark.parametrize("open_", [kedgeline.read, Tail, imported], ids=["read", "tail", "import"])
@pytest.mark.parametrize("kind", ["a device", "a directory", "a pipe", "a socket"])
def test_only_a_plain_file_is_read(
    kind: str, open_: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host named /dev/zero, and what followed it grew to 24 GB."""
    monkeypatch.chdir(tmp_path)  # the address of a socket may not be long
    with pytest.raises(SourceUnreadable, match=f"it is {kind}"):
        open_(odd(kind, Path()) if kind == "a socket" else odd(kind, tmp_path))


@pytest.mark.parametrize("kind", ["a device", "a pipe"])
def test_a_worker_that_is_given_none_ends_and_says_why(kind: str, tmp_path: Path) -> None:
    arguments = ["s1", "claude-code", str(odd(kind, tmp_path)), places.folder_of("s1")]
    assert subprocess.run([*WORKER, *arguments], timeout=60, check=False).returncode == 0
    assert f"it is {kind}" in Path(places.home(), "log").read_text()


def test_a_file_that_nothing_can_be_read_of_yet_is_like_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What /proc/kmsg gives, which passes for a plain file, ended a worker in an AttributeError."""

    class Waiting(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return None  # type: ignore[return-value]

    monkeypatch.setattr(judgement, "plain_file", lambda _: Waiting())
    with kedgeline.Session.open("s", tmp_path / "store") as session:
        assert judgement.is_ready(session, tmp_path / "kmsg")  # what it is shows when it is read


def test_a_worker_limits_its_memory() -> None:
    code = (
        "from kedgeline.hosts.worker import _limit_memory\n_limit_memory()\n"
        f"try: bytearray({MOST_MEMORY})\nexcept MemoryError: print('refused')\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert told.stdout == b"refused\n"


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST", 1 << 20)
    path = tmp_path / "endless"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(SourceUnreadable, match="a line of it has more than 1 MB"):
        kedgeline.read(path)


def said(first: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "main.py"}
    return [
        {"role": "user", "content": first},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]


def tools(size: int) -> list[dict[str, Any]]:
    tool = {"name": "t", "description": "what it does " * 5, "input_schema": {"type": "object"}}
    return [{**tool, "name": f"t{number}"} for number in range(size // 120)]


@settings(max_examples=8, deadline=None)
@given(size=LARGE, where=st.sampled_from(["first", "system", "tools"]), pretty=st.booleans())
def test_a_session_is_recognised_behind_whatever_comes_first(
    size: int, where: str, pretty: bool
) -> None:
    """Beyond 256 KiB a good file was `not a transcript`."""
    long = "a word and another\n" * (size // 19)
    body: dict[str, Any] = {"model": "claude-opus-4", "max_tokens": 100}
    body["system"] = long if where == "system" else "Be brief."
    body["tools"] = tools(size if where == "tools" else 200)
    body["messages"] = said(long if where == "first" else "Fix it.")
    read = kedgeline.read(json.dumps(body, indent=1 if pretty else None).encode(), counter=None)
    assert read.format == "anthropic"
    assert len(read.turns) == 2
    assert read.damage_count == 0


@settings(max_examples=6, deadline=None)
@given(size=LARGE)
def test_a_record_of_any_size_may_come_first(size: int) -> None:
    record = {"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z"}
    record["message"] = {"role": "user", "content": 'say "\\\n' * (size // 8)}
    read = kedgeline.read(json.dumps(record).encode() + b"\n", counter=None)
    assert read.format == "claude-code"


@settings(max_examples=10, deadline=None)
@given(
    place=st.integers(min_value=0, max_value=5),
    depth=st.one_of(st.integers(min_value=1, max_value=150), st.integers(1_200, 5_000)),
    kind=st.sampled_from(["[]", "{}"]),
)
def test_what_is_nested_too_deeply_costs_its_record_alone(
    place: int, depth: int, kind: str
) -> None:
    """One such value made a whole document unreadable."""
    opened = "[" if kind == "[]" else '{"a":'
    deep = opened * depth + "1" + kind[1] * depth
    messages = [json.dumps({"role": "user", "content": f"word {number}"}) for number in range(6)]
    messages[place] = f'{{"role": "user", "content": "word {place}", "beside": {deep}}}'
    answer = json.dumps(said("")[-1])
    listed = ", ".join(f"{message}, {answer}" for message in messages)
    read = kedgeline.read(
        f'{{"system": "Be brief.", "messages": [{listed}]}}'.encode(), counter=None
    )
    words = [turn.user_message for turn in read.turns if turn.user_message]
    deep = [(one.kind, one.line) for one in read.damage if one.kind == "too_deep"]
    assert deep in (
        [],
        [("too_deep", 2 * place)],
    )  # how much can be read depends on the interpreter
    assert depth > 150 or not deep
    lost = {f"word {number}" for number in range(6)} - {*words}
    assert lost <= ({f"word {place}"} if deep else set())


def test_a_deep_value_is_kept_as_it_is(tmp_path: Path) -> None:
    """What could just be read could not be packed."""
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    call = kedgeline.ToolCall(id="a", tool="x", parameters={"deep": deep})
    with kedgeline.Session.open("s", tmp_path / "store") as session:
        session.append(kedgeline.Turn(user_message="Fix it.", tool_calls=(call,)))
        assert session.transcript().turns[0].tool_calls[0].parameters == {"deep": deep}


def test_a_command_does_not_wait_for_a_store_that_is_locked(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with kedgeline.Session.open("s", place) as session:
        session.append({"role": "user", "content": "Fix it."})
        with session.store.writing("s"):
            began = time.monotonic()
            with pytest.raises(StoreBusy, match=r"has held it for 0\.3 seconds"):
                _pin(place)
            assert time.monotonic() - began < 10
    from kedgeline.cli.opening import PATIENCE

    assert PATIENCE <= 1.5


def _pin(place: Path) -> None:
    store = open_sqlite(str(place), wait=0.3)
    try:
        kedgeline.Session("s", store).pin("Never touch billing.")
    finally:
        store.close()
