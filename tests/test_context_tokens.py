"""One number for the context of a session: the same in every command, for a file and for the same
session in a store."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline import stats_of, stream
from kedgeline.cli.opening import open_session
from kedgeline.cli.options import SessionSource
from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from kedgeline.model import Transcript, Turn, Usage
from kedgeline.pipeline.read import counted, read
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from kedgeline.tokens import BY_MODEL, EXACT, ContextTokens, OfTurns, context_of
from tests.conftest import EXAMPLES
from tests.line import Line

FILES = sorted(path for path in EXAMPLES.glob("*.*") if path.name not in ("README.md", "demo.py"))
GROWING = [path for path in FILES if path.suffix == ".jsonl"]
MOST_BYTES = 400_000
"""Of a corpus file in the usual run."""


def everywhere(kedgeline: Line, file: Path, name: str = "kept") -> set[tuple[int, str]]:
    """What every command says of a session, as a file and kept."""
    kedgeline.one("add", name, str(file))
    shown, kept = (kedgeline.one("stats", one) for one in (str(file), name))
    assert _counts(kept) == _counts(shown)
    costs = [kedgeline.one("cost", one)["total"] for one in (str(file), name)]
    assert (
        costs[1] == costs[0] or shown["rewound"]
    )  # that was paid for too, and the command says so
    shown = shown["context"]
    followed = f"followed-{name}"
    work(followed, "claude-code", str(file), places.folder_of(followed))
    hooks = [one for one in kedgeline.one("status")["sessions"] if one["session"] == followed]
    listed = next(row for row in kedgeline.rows("sessions") if row["name"] == name)
    plans = [kedgeline.one("plan", one) for one in (str(file), name)]
    records = [kedgeline.one("compact", one) for one in (str(file), name)]
    triggered = [
        re.search(r"context of ([\d,]+)|\(([\d,]+) of", p["decision"]["reason"]) for p in plans
    ]
    told = {int("".join(filter(None, one.groups())).replace(",", "")) for one in triggered if one}
    assert told == {shown["total"]}
    return {
        (shown["total"], shown["kind"]),
        *((one["context_tokens"], one["context_kind"]) for one in hooks),
        (listed["context_tokens"], listed["context_kind"]),
        *((plan["context"]["total"], plan["context"]["kind"]) for plan in plans),
        *((made["tokens_before"], made["tokens_kind"]) for made in records),
    }


def _counts(stats: dict[str, Any]) -> dict[str, Any]:
    """Without what only a file has: its name, damage, and what was rewound in it."""
    of_file = ("file", "damage", "damage_count", "ignored", "rewound", "skipped_formats")
    return {name: value for name, value in stats.items() if name not in of_file}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))


@pytest.mark.parametrize("name", ["claude-code-long.jsonl", "codex.jsonl", "gemini-cli.json"])
def test_every_command_says_the_same(kedgeline: Line, name: str) -> None:
    """`stats` of a session that was kept had lost the models and what providers reported."""
    assert len(everywhere(kedgeline, EXAMPLES / name)) == 1


@pytest.mark.torture
def test_every_command_says_the_same_of_real_sessions(kedgeline: Line, corpus: Path) -> None:
    for folder in sorted(path for path in corpus.iterdir() if path.is_dir()):
        files = [path for path in sorted(folder.rglob("*")) if _is_session(path)]
        chosen = random.Random(folder.name).sample(files, min(2, len(files)))
        for number, file in enumerate(chosen):
            assert len(everywhere(kedgeline, file, f"{folder.name}-{number}")) == 1, file


def _is_session(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= MOST_BYTES and path.suffix != ".txt"


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_and_the_session_that_follows_it_have_one_number(
    data: st.DataObject, tmp_path: Path
) -> None:
    """However much of it was there when it was followed first, with usage in some of its records:
    rewinds, compactions of the client and sub-agents are in these files."""
    lines = data.draw(st.sampled_from(GROWING)).read_bytes().splitlines(keepends=True)
    longest = min(len(lines), 200)
    end = data.draw(st.just(longest) | st.integers(4, longest))
    start = data.draw(st.integers(2, end))
    bare = data.draw(st.just({*range(end)}) | st.sets(st.integers(0, end)))
    written = [_bare(line) if at in bare else line for at, line in enumerate(lines[:end])]
    file = tmp_path / "session.jsonl"
    session = Session("s", open_store("memory:"), window=200_000)
    for length in (start, end):
        file.write_bytes(b"".join(written[:length]))
        session.follow(file)
    expected = open_session(SessionSource(str(file))).context
    assert session.context_tokens() == expected
    assert stats_of(stream(file), BY_MODEL).context == expected


def _bare(line: bytes) -> bytes:
    """A record without the usage it reports."""
    record: dict[str, Any] = json.loads(line)
    if isinstance(message := record.get("message"), dict):
        message.pop("usage", None)
    return json.dumps(record).encode() + b"\n"


def context(*turns: Turn, **about: Any) -> ContextTokens:
    transcript = counted(Transcript(format="plain", turns=turns, **about), EXACT)
    return context_of(transcript, OfTurns(transcript.turns, EXACT), EXACT)


SAID = Turn(user_message="one two three", assistant_response="four five")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (5, "counted", 0)),
        (Usage(), (5, "counted", 0)),
        (Usage(input=1_003, output=9_999), (1_005, "reported", 1_000)),
        (Usage(input=1, cache_read=1_002), (1_005, "reported", 1_000)),
        (Usage(input=10**9), (5, "counted", 0)),
    ],
)
def test_a_report_is_believed_where_it_can_be_one(
    usage: Usage | None, expected: tuple[int, str, int]
) -> None:
    """The output that a provider reports is in the answer already; a number that no request could
    have is none."""
    found = context(replace(SAID, usage=usage))
    assert (found.total, found.kind, found.hidden) == expected


def test_what_came_after_the_report_is_counted_on_top() -> None:
    reported = replace(SAID, usage=Usage(input=1_003))
    found = context(reported, SAID, pending=Turn(user_message="six"))
    assert (found.total, found.kind) == (1_005 + 5 + 1, "reported")


def test_after_a_compaction_the_hidden_part_is_known_still(tmp_path: Path) -> None:
    """It is no part of what was folded, and no report of what is left is there yet."""
    session = Session("s", open_store("memory:"), window=200_000)
    session.follow(EXAMPLES / "claude-code-long.jsonl")
    before = session.context_tokens()
    made = session.compact()
    after = session.context_tokens()
    assert before.hidden
    assert (made.tokens_before, made.hidden) == (before.total, before.hidden)
    assert (after.total, after.kind) == (made.tokens_after, "estimated")


def test_reports_count_again_behind_a_compaction() -> None:
    session = Session("s", open_store("memory:"), window=200_000)
    session.follow(EXAMPLES / "claude-code-long.jsonl")
    session.compact()
    left = session.context_tokens().total
    session.append(
        [Turn(user_message="Go on.", assistant_response="Yes.", usage=Usage(input=left))]
    )
    assert session.context_tokens().kind == "reported"


def test_stats_say_what_is_left_out(kedgeline: Line) -> None:
    told = " ".join(
        kedgeline("stats", str(EXAMPLES / "claude-code-long.jsonl")).stdout.decode().split()
    )
    assert "without 4 turns that the user rewound" in told
    assert "without 1 sub-agent" in told
    told = kedgeline("stats", str(EXAMPLES / "claude-code-compacted.jsonl")).stdout.decode()
    assert "without the turns before t37, which claude-code has folded" in told


def test_all_turns_count_as_their_own_model_has_them() -> None:
    found = read(EXAMPLES / "claude-code-long.jsonl", counter=BY_MODEL)
    plain = read(EXAMPLES / "claude-code-long.jsonl", counter=EXACT)
    ratio = sum(t.tokens for t in found.turns) / sum(t.tokens for t in plain.turns)
    assert ratio == pytest.approx(1.21, abs=0.01)
