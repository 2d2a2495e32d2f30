"""`kedgeline probe`, and what `kedgeline compact` and `kedgeline summarize` say of the probes."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from kedgeline.model import Matter
from kedgeline.probes.criteria import TARGETS
from tests.claude import Records, text
from tests.conftest import EXAMPLES, ROOT
from tests.test_cli_handoff import Done
from tests.test_cli_handoff import ran as ran_anew

LONG = str(EXAMPLES / "claude-code-long.jsonl")
CODEX = str(EXAMPLES / "codex.jsonl")
KEYS = {"score", "accepted", "dimensions", "probes", "strays", "failed_first", "repaired", "by"}
PROBE = {"type", "matter", "question", "expected", "found", "passed", "critical", "turn"}
MODEL = """
import json, re, sys
told = sys.stdin.read()
count = int(re.search(r"each of the (\\d+) ", told)[1])
if '{"answers"' in told:
    quotes = [line for line in told.splitlines() if line.startswith(("- ", "| "))]
    reply = {"answers": [{"number": n, "quotes": quotes} for n in range(1, count + 1)]}
elif '{"marks"' in told:
    reply = {"marks": [{"number": n, "right": n > 1} for n in range(1, count + 1)]}
else:
    names = re.findall(r"(?m)^- (\\w+): ", told.partition("The data stands")[0])
    reply = {"scores": [{"criterion": name, "reason": "so", "score": 2} for name in names]}
print(json.dumps(reply))
"""


ran = cache(ran_anew)
"""The examples do not change, and each run is some tenths of a second."""


def one(*arguments: str) -> dict[str, Any]:
    done: Done = ran(*arguments, "--json")
    assert done.code == 0, done.err
    (line,) = done.out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def named(program: str) -> str:
    return f"command:{shlex.join([sys.executable, '-c', program])}"


def written(tmp_path: Path, *asked: str) -> str:
    """A session of short exchanges."""
    records = Records()
    for number, words in enumerate(asked):
        records.user(words)
        records.assistant(f"m{number}", text("It is so."))
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(records.lines))
    return str(path)


def shown(*arguments: str) -> str:
    done = ran("probe", *arguments)
    assert (done.code, done.err) == (0, ""), done.err
    return done.out


def test_probes_as_json_have_their_keys() -> None:
    found = one("probe", CODEX)
    assert set(found) >= KEYS
    assert found["probed"] == "hand-off"
    assert "judged" not in found
    assert list(found["dimensions"]) == list(TARGETS)
    assert all(set(d) == {"score", "target", "criteria"} for d in found["dimensions"].values())
    assert all(set(probe) == PROBE for probe in found["probes"])
    passed = [probe["passed"] for probe in found["probes"]]
    assert found["score"] == round(sum(passed) / len(passed), 4)
    assert found["asked"] == len(passed)


def test_probes_for_people_are_a_verdict_and_two_tables() -> None:
    lines = shown(CODEX).splitlines()
    found = one("probe", CODEX)
    assert lines[0] == CODEX
    assert lines[1].startswith("hand-off of the whole session: 30 turns in ")
    assert lines[2].split("  ")[0] in ("ACCEPTED", "NOT ACCEPTED")
    assert f"score {found['score']:.2f}" in lines[2]
    rows = {line[:21].strip(): line[21:].split() for line in lines if line[:1].isalpha()}
    for dimension, target in TARGETS.items():
        cells = rows[dimension.replace("_", " ")]
        assert cells[0] == f"{target:.1f}", dimension
        assert cells[2:] == ["met" if float(cells[1]) >= target else "MISSED"]
    asked = [int(line.split()[1]) for line in lines if line.split()[:1] == ["recall"]]
    assert asked == [sum(probe["type"] == "recall" for probe in found["probes"])]
    assert max(map(len, lines)) <= 100


def test_a_summary_that_is_not_accepted_says_so_loudly_and_is_no_error() -> None:
    """A hand-off of so few tokens cannot say what became of each file."""
    short = (CODEX, "--tokens", "60")
    lines = shown(*short).splitlines()
    found = one("probe", *short)
    assert found["accepted"] is False
    assert lines[3].startswith("NOT ACCEPTED  score 0.")
    assert any(line.endswith("MISSED") for line in lines)
    failed = [line for line in lines if line[:1] == "t" and line[1:2].isdigit()]
    assert len(failed) == min(12, found["failed"])
    critical = ["critical" in line for line in failed]
    assert critical == sorted(critical, reverse=True)
    lines = shown(*short, "--all").splitlines()
    assert sum(line.startswith("      expected ") for line in lines) == found["failed"]


def test_the_style_outcomes_is_asked_what_it_has_a_place_for() -> None:
    found = one("probe", CODEX, "--style", "outcomes")
    assert found["accepted"]
    files = [probe for probe in found["probes"] if probe["type"] == "artifact"]
    assert files
    assert all(len(probe["expected"]) == 1 for probe in files)


def test_all_shows_every_probe() -> None:
    found = one("probe", CODEX)
    lines = shown(CODEX, "--all").splitlines()
    listed = [line for line in lines if line[:1] in ("✓", "✗") and line[4:5] == "t"]
    assert len(listed) == len(found["probes"])
    assert sum(line[:2].endswith("!") for line in listed) == sum(
        probe["critical"] for probe in found["probes"]
    )
    assert len(shown(CODEX).splitlines()) < len(listed)


def test_where_nothing_is_folded_there_is_no_score(tmp_path: Path) -> None:
    session = written(tmp_path, "hello")
    found = one("probe", session, "--window", "200k")
    assert (found["score"], found["accepted"], found["probes"]) == (None, None, [])
    told = shown(session, "--window", "200k")
    assert "nothing is folded in a window of 200,000 tokens" in told
    assert "NO SCORE" in told
    assert "ACCEPTED" not in told
    assert "without --window the hand-off of the whole session is probed" in told


def test_a_model_answers_and_judges_beside_the_probes(tmp_path: Path) -> None:
    session = written(tmp_path, "Write the pilot book. Never use red ink.", "Go on.")
    plain, found = one("probe", session), one("probe", session, "--model", named(MODEL))
    judged = found.pop("judged")
    assert found == plain, "what a model says has no part in the score"
    assert judged["by"] == judged["answered_by"] == f"command:{Path(sys.executable).name}"
    count = len(plain["probes"])
    assert [one["graded"] for one in judged["answers"]] == [False, *[True] * (count - 1)]
    assert judged["graded_score"] == round((count - 1) / count, 4)
    assert set(judged["answers"][0]) == PROBE | {"given", "graded"}
    scores = {name: one["score"] for name, one in judged["dimensions"].items()}
    assert scores["accuracy"] == scores["continuity"] == 2.0
    assert judged["problems"] == []
    told = shown(session, "--model", named(MODEL))
    assert "by the judge" in told
    assert "2.00  MISSED" in told
    assert "answers are right to the letter" in told
    assert max(map(len, told.splitlines())) <= 100


def test_where_a_judge_fails_there_are_answers_and_no_scores(tmp_path: Path) -> None:
    session = written(tmp_path, "Write the pilot book. Never use red ink.")
    answers, _, rest = MODEL.partition("elif")
    model = named(f"{answers}else:\n    reply = 'no'\n{rest[rest.index('print') :]}")
    judged = one("probe", session, "--model", model)["judged"]
    assert judged["answers"]
    assert {one["graded"] for one in judged["answers"]} == {None}
    assert (judged["graded_score"], judged["by"], judged["dimensions"]) == (None, None, {})
    assert all("it has no JSON object" in problem for problem in judged["problems"])
    assert judged["problems"]
    told = shown(session, "--model", model)
    assert "model right" in told
    assert "judged right" not in told


def test_a_model_that_fails_leaves_the_verdict_and_says_why(tmp_path: Path) -> None:
    session = written(tmp_path, "Write the pilot book. Never use red ink.")
    model = named("import sys; sys.exit('the tide is out')")
    found = one("probe", session, "--model", model)
    judged = found["judged"]
    assert (judged["score"], judged["by"], judged["dimensions"]) == (None, None, {})
    assert judged["unanswered"] == len(found["probes"]) > 0
    assert "the tide is out" in judged["problems"][0]
    told = " ".join(shown(session, "--model", model).split())
    assert "the model gave no usable answer warning: the model " in told
    assert "by the judge" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("probe", CODEX, "--style", "bold"), "unknown style 'bold'; choose one of anchored"),
        (("probe", CODEX, "--to", "nobody", "--window", "8k"), "unknown provider 'nobody'"),
        (("probe", CODEX, "--model", "oracle"), "unknown model 'oracle'; choose one of anthropic:"),
        (("probe", CODEX, "--model", "command:no-such-tool"), "there is no program 'no-such-tool'"),
        (("probe", CODEX, "--to", "gemini"), "are about a compaction; add --window"),
        (("probe", CODEX, "--overhead", "2k"), "are about a compaction; add --window"),
        (("probe", CODEX, "--window", "8k", "--tokens", "1k"), "is the length of a hand-off"),
        (("probe", CODEX, "--tokens", "0"), "0 tokens says nothing; give --tokens at least 1, or"),
        (("probe", CODEX, "--window", "wide"), "'wide' is no number of tokens"),
        (("compact", LONG, "--losses", "--to", "gemini"), "--losses and --to both take stdout"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = ran(*arguments)
    flat = " ".join(done.err.replace("│", " ").split())
    assert (done.code, done.out, said in flat) == (2, "", True), flat


def test_control_characters_of_a_session_do_not_reach_the_terminal(tmp_path: Path) -> None:
    session = written(tmp_path, "Draw \x1b[2J a chart. Never \x1b]0;x\x07 use red ink.")
    assert "\x1b" not in shown(session, "--all")
    assert "\x1b" not in shown(session, "--all", "--style", "outcomes")


def test_json_keys_are_in_the_reference(tmp_path: Path) -> None:
    reference = (ROOT / "docs" / "json.md").read_text("utf-8")
    found = one("probe", written(tmp_path, "Chart it."), "--model", named(MODEL))
    made = one("compact", LONG, "--window", "8k")
    keys = {
        *found,
        *found["probes"][0],
        *found["dimensions"]["accuracy"],
        *found["dimensions"]["accuracy"]["criteria"][0],
        *found["judged"],
        *found["judged"]["answers"][0],
        *made["verdict"],
        *made["losses"],
        *made["losses"]["named"][0],
    }
    there = {name for quoted in re.findall(r"`([\w.]+)`", reference) for name in quoted.split(".")}
    assert keys - there == set()


def page() -> str:
    return (ROOT / "docs" / "probes.md").read_text("utf-8")


def test_the_tables_of_the_docs_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert page() == made["probes"](page()), "run `make docs`"
    assert "| `factual` | 0.6 |" in made["probes"]("<!-- criteria --><!-- /criteria -->")


def test_every_matter_that_is_asked_about_is_in_the_docs() -> None:
    table = page().partition("## What is asked")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    told = {(matter, row[1]) for row in rows for matter in re.findall(r"`([\w ]+)`", row[0])}
    assert {matter for matter, _ in told} <= set(get_args(Matter))
    probes = [p for f in (CODEX, LONG) for p in one("probe", f, "--tokens", "8k")["probes"]]
    assert {(probe["matter"], probe["type"]) for probe in probes} <= told
