"""The samples show what they promise, and give nothing away."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.model import Transcript
from kedgeline.pipeline.read import read
from tests.conftest import EXAMPLES, ROOT

SAMPLES = {
    "aider.chat.history.md": ("aider", 8),
    "anthropic.json": ("anthropic", 9),
    "claude-code-compacted.jsonl": ("claude-code", 51),
    "claude-code-long.jsonl": ("claude-code", 194),
    "codex.jsonl": ("codex", 30),
    "gemini-cli.json": ("gemini-cli", 6),
    "openai-chat.json": ("openai-chat", 14),
    "opencode.json": ("opencode", 12),
    "swe-agent.traj": ("swe-agent", 12),
}
SECRETS = re.compile(
    r"AKIA[0-9A-Z]{16}|\bgh[pousr]_\w{30}|\bglpat-\w{20}|\bsk-[A-Za-z0-9-]{20}|\bxox[abpr]-\w"
    r"|AIza[\w-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\."
    r"|[Bb]earer [\w.-]{20}"
)
ADDRESS = re.compile(r"\w[\w.+-]*@((?:[\w-]+\.)+[A-Za-z]{2,})\b")


@pytest.fixture(scope="module")
def long() -> Transcript:
    return read(EXAMPLES / "claude-code-long.jsonl", format="claude-code")


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *strings(item))


def text_in(name: str) -> str:
    """What a sample says, its JSON decoded: `\\n@app` is no address."""
    raw = (EXAMPLES / name).read_text("utf-8")
    if name.endswith(".md"):
        return raw
    values = map(json.loads, raw.splitlines()) if name.endswith(".jsonl") else [json.loads(raw)]
    return "\n".join(text for value in values for text in strings(value)).replace("\\n", "\n")


@pytest.mark.parametrize(("name", "format", "turns"), [(n, *f) for n, f in SAMPLES.items()])
def test_each_is_recognised_and_read(name: str, format: str, turns: int) -> None:
    transcript = read(EXAMPLES / name)
    assert (transcript.format, len(transcript.turns)) == (format, turns)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_only_the_long_one_is_damaged_where_its_story_says(name: str) -> None:
    kinds = [damage.kind for damage in read(EXAMPLES / name).damage]
    assert kinds == (["unanswered_call"] if name == "claude-code-long.jsonl" else [])


def test_the_readme_has_a_row_for_each_with_its_turns() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \|[^|]+\| (\d+) \|", text, re.MULTILINE))
    assert rows == {name: str(turns) for name, (_, turns) in SAMPLES.items()}


def test_the_long_one_shows_what_sessions_are_like(long: Transcript) -> None:
    results = [result for turn in long.turns for result in turn.tool_results]
    notes = {note.kind for turn in long.turns for note in turn.notes}
    assert [result.reason[:12] for result in results if result.refused] == [
        "Two changes:",
        "No. An empty",
    ]
    assert len([result for result in results if result.interrupted]) == 1
    assert {result.change for result in results} == {"", "create", "update"}
    assert [len(agent.turns) for agent in long.agents] == [5]
    assert [turn.index for turn in long.turns if turn.media] == [126]
    assert (long.rewound, long.ignored) == (4, {"session-metrics": 1})
    expected = {"command", "shell", "interruption", "notification", "edited", "failure"}
    assert expected <= notes


def test_the_compacted_one_was_compacted_and_cleared_once() -> None:
    transcript = read(EXAMPLES / "claude-code-compacted.jsonl", format="claude-code")
    kinds = [(made.kind, made.trigger) for made in transcript.compactions]
    assert kinds == [("outputs_cleared", "auto"), ("summary", "manual")]
    assert transcript.pending is not None
    assert transcript.pending.user_message.startswith("One more for tomorrow")


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_nothing_of_this_machine_and_nobody_real(name: str) -> None:
    text = text_in(name)
    here = (str(ROOT), f"{Path.home()}{os.sep}", sys.prefix)
    domains = {found.removeprefix("harbor.") for found in ADDRESS.findall(text)}
    assert [path for path in here if path in text] == []
    assert SECRETS.findall(text) == []
    assert domains <= {"example.com"}
