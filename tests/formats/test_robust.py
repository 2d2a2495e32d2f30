"""Whatever a document holds, reading it never raises, and what is read can be stored; for lines,
`test_damage.py` shows it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kedgeline.formats import FileHead, Format, load_format
from kedgeline.pipeline.read import read as read_file
from tests.conftest import EXAMPLES
from tests.formats.handmade import lines, read

TOO_EARLY = "0001-01-01T00:00:00+14:00"
"""A time that has no place in UTC."""
WRONG = (
    None,
    0,
    -1,
    2.5,
    True,
    "",
    "x",
    TOO_EARLY,
    [],
    {},
    [None],
    {"type": []},
    {"x": [1]},
    10**20,
)
"""Values of every type, to stand where another is expected."""
FUNCTION = {"name": "bash", "arguments": '{"command": "ls"}'}
CALL = {"role": "assistant", "content": "x", "tool_calls": [{"id": "c1", "function": FUNCTION}]}
FENCED = {"role": "assistant", "content": "x\n```mswea_bash_command\nls\n```"}
DOCUMENTS: dict[str, Any] = {
    "mini-swe-agent": {
        "info": {"mini_version": "2", "config": {"model": {"model_name": "m"}}},
        "trajectory_format": "mini-swe-agent-1.1",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "go"},
            FENCED,
            {"role": "user", "content": "<returncode>0</returncode>"},
            {**CALL, "extra": {"response": {"usage": {"prompt_tokens": 1}}, "timestamp": 1.5}},
            {"role": "tool", "tool_call_id": "c1", "content": "", "extra": {"returncode": 0}},
            {"role": "user", "content": "Interrupted by user: x"},
            {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
        ],
    },
    "tau-bench": [
        {
            "task_id": 0,
            "traj": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "x ###STOP###"},
                CALL,
                {"role": "tool", "tool_call_id": "c1", "content": "y"},
            ],
        }
    ],
}
SAMPLES = {
    "gemini-cli": "gemini-cli.json",
    "opencode": "opencode.json",
    "swe-agent": "swe-agent.traj",
}
"""Documents of which the first messages are taken."""
LINES = {"claude-code": "claude-code-long.jsonl", "codex": "codex.jsonl"}
LISTS = ("messages", "history", "trajectory")


def documents(name: str) -> Any:
    if name in DOCUMENTS:
        return DOCUMENTS[name]
    value = json.loads((EXAMPLES / SAMPLES[name]).read_bytes())
    return {key: part[:6] if key in LISTS else part for key, part in value.items()}


def kinds(name: str) -> list[Any]:
    """One record of every kind in a sample."""
    found: dict[Any, Any] = {}
    for record in map(json.loads, (EXAMPLES / LINES[name]).read_bytes().splitlines()):
        inner = record.get("payload", record.get("message", record.get("attachment")))
        kind = inner.get("type", inner.get("role")) if isinstance(inner, dict) else None
        found.setdefault((record["type"], record.get("subtype"), kind), record)
    return list(found.values())


def check(format: Format, data: bytes) -> None:
    assert format.sniff(FileHead(data)) in range(4)
    was = read(format, data)
    msgspec.json.encode((was.everything, was.log.compactions, was.log.changes))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = enumerate(value) if isinstance(value, list) else getattr(value, "items", tuple)()
    for key, inner in steps:
        yield (*path, key)
        yield from places(inner, (*path, key))


def wrong_types(value: Any) -> Iterator[Any]:
    """The value once for every place and odd value."""
    data = msgspec.json.encode(value)
    for path in places(value):
        for wrong in WRONG:
            changed = inner = msgspec.json.decode(data)
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = wrong
            yield changed


@pytest.mark.parametrize("name", [*DOCUMENTS, *SAMPLES])
def test_no_cut_and_no_changed_byte_raises(name: str) -> None:
    format, data, chance = load_format(name), msgspec.json.encode(documents(name)), random.Random(7)
    for cut in range(0, len(data), max(1, len(data) // 200)):
        check(format, data[:cut])
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 4, 16))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        check(format, bytes(changed))


@pytest.mark.parametrize("name", LINES)
def test_no_field_of_a_wrong_type_raises_on_a_line(name: str) -> None:
    records = kinds(name)
    for changed in islice(wrong_types(records), 0, None, 1 + len(records)):
        check(load_format(name), lines(changed))


@pytest.mark.parametrize("name", [*DOCUMENTS, *SAMPLES])
def test_no_field_of_a_wrong_type_raises_in_a_document(name: str) -> None:
    for changed in islice(wrong_types(documents(name)), 0, None, 9):
        check(load_format(name), msgspec.json.encode(changed))


COUNTED = {
    "aider": ("*.md", 0),
    "codex": ("*.jsonl", 56),
    "gemini-cli": ("*.json", 12),
    "opencode": ("*.json", 216),
    "pi": ("*.jsonl", 373),
}


@pytest.mark.parametrize("name", COUNTED)
def test_real_sessions_are_read_whole(name: str, corpus: Path) -> None:
    """Every result answers a call, nothing is unknown, and nothing but lost results is damaged."""
    pattern, results = COUNTED[name]
    sessions = [read_file(path, format=name) for path in sorted((corpus / name).glob(pattern))]
    turns = [turn for one in sessions for turn in (*one.turns, one.pending) if turn]
    paired = [turn.result_of(call) for turn in turns for call in turn.tool_calls]
    assert not results or sum(result is not None for result in paired) == results
    assert {damage.kind for one in sessions for damage in one.damage} <= {"unanswered_call"}
    assert [one.ignored for one in sessions] == [{}] * len(sessions)
