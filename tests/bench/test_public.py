"""Compactors side by side: the same room for each, and a command's text beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import public
from bench.outcomes import visit
from bench.public import Fitted, Method, measure
from kedgeline.errors import UserError
from kedgeline.tokens import EXACT
from tests.bench.test_replay import write_session
from tests.turns import bash, called, edit, turn

SAID = """import json, sys
told = json.load(open(sys.argv[1]))["messages"]
print(" ".join(str(one["content"]) for one in told if one["role"] == "user")[:99_999])
"""
EVERY = "one word after another " * 900


def cases(folder: Path) -> Path:
    for name in ("cases", "windows"):
        (folder / name).mkdir(parents=True)
    told = [
        {"role": role, "content": text}
        for number in range(12)
        for role, text in (("user", f"Was {number} dropped?"), ("assistant", f"Redis {number}."))
    ]
    (folder / "windows" / "one.json").write_text(json.dumps(told))
    probe = {
        "id": "p",
        "type": "recall",
        "question": "Which third?",
        "answer": "",
        "keys": [["redis 3"]],
    }
    case = {"session": "s", "format": "openai", "file": "", "window": "windows/one.json"}
    (folder / "cases" / "one.json").write_text(json.dumps({**case, "probes": [probe]}))
    return folder


def test_a_command_is_a_row_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "ENVIRONMENTS", tmp_path)  # no package is there: all are left out
    (tmp_path / "said.py").write_text(SAID)
    (tmp_path / "corpus").mkdir()
    write_session(tmp_path / "corpus" / "compacted.jsonl", compacted=25, turns=40)
    words = f"{sys.executable} -S {tmp_path}/said.py {{file}} {{tokens}}"
    found = measure(
        tmp_path / "corpus",
        cases(tmp_path / "questions"),
        commands=[words],
        seeds=[1],
        sheets=tmp_path / "sheets",
        watch=lambda what: None,
    )
    names = [one.method for one in found.told]
    assert names == ["kedgeline", words, "last turns", "head and tail", "masking", names[-1]]
    ours, theirs = found.told[:2]
    assert [one.means["hosted"] for one in found.told] == [None] * 6
    unhosted = [one.means["unhosted"] for one in (ours, theirs)]
    assert [mean and mean.mean for mean in unhosted] == [1, 0]
    assert all(one.means["rules"] for one in found.told[:5])
    tables = {
        "questions": list(public.question_rows(found)),
        "surviving": list(public.surviving_rows(found)),
        "replay": list(public.replay_rows(found)),
    }
    for name, rows in tables.items():
        assert words in [row[0] for row in rows], name
    assert {one.name for one in found.outcomes.stood} >= {"kedgeline", words}
    assert (tmp_path / "sheets" / "one" / "questions.json").is_file()
    with pytest.raises(UserError, match="must have"):
        measure(tmp_path, tmp_path, commands=["mine"], watch=lambda what: None)


def test_every_text_keeps_to_its_room() -> None:
    asked: list[int] = []

    def long(messages: Any, tokens: int) -> str:
        asked.append(tokens)
        return EVERY[: 8 * tokens]

    patient, never = Fitted(Method("long", long)), Fitted(Method("all", lambda *_: EVERY))
    assert EXACT.count(patient.text([], 1_000)) <= 1_000
    assert asked == sorted(asked, reverse=True)
    assert len(asked) > 1
    assert EXACT.count(never.text([], 1_000)) <= 1_000
    assert (patient.cut, never.cut) == (0, 1)


def test_rules_are_planted_once_and_results_stay_with_their_calls() -> None:
    import random

    call = {"id": "c", "function": {"name": "run", "arguments": "{}"}}
    told = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c"}] * 9
    planted = public._planted(told, random.Random(1))
    assert sorted(one["content"] for one in planted if one["role"] == "user") == sorted(
        public.RULES
    )
    parts = list(public._parts(planted))
    assert [one for part in parts for one in part] == planted
    assert "tool" not in [part[0]["role"] for part in parts]


def test_what_an_agent_does_again_is_seen() -> None:
    one, two, three = (called("Read", file_path=path) for path in ("a.py", "a.py", "b.py"))
    before = [turn(0, one, bash("make test"))]
    after = [turn(1, two, three, bash("make test"), edit("a.py"))]
    found = visit(before, after)
    assert (found.until_edit, found.edited, found.files) == (3, "a.py", ("a.py",))
    assert (found.reads, found.commands) == (1, ("make test",))
