"""`kedgeline probe`: a verdict, what fails, and what a judge says."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import get_args

import pytest

from kedgeline.cli.output import Hints
from kedgeline.cli.verdict import failed_page, verdict_told
from kedgeline.model import Answer, Matter, Probe, Verdict
from kedgeline.probes.criteria import TARGETS
from tests.cli.running import CODEX, LONG, REFERENCE, once, one, ran, talk
from tests.conftest import ROOT

PROBE = {"type", "matter", "question", "expected", "found", "passed", "critical", "turn"}
MODEL = """
import json, re, sys
told = sys.stdin.read()
count = int(re.search(r"each of the (\\d+) ", told)[1])
if '{"answers"' in told:
    quotes = [line for line in told.splitlines() if line.startswith(("- ", "| "))]
    reply = {"answers": [{"number": n, "quotes": quotes} for n in range(1, count + 1)]}
else:
    names = re.findall(r"(?m)^- (\\w+): ", told.partition("The data stands")[0])
    reply = {"scores": [{"criterion": name, "reason": "so", "score": 2} for name in names]}
print(json.dumps(reply))
"""


def named(program: str) -> str:
    return f"command:{shlex.join([sys.executable, '-c', program])}"


def shown(*arguments: str) -> str:
    done = once("probe", *arguments)
    said = [line for line in done.err.splitlines() if not line.endswith(" s")]  # no progress
    assert (done.code, said) == (0, [])
    return done.out


def test_probes_are_a_verdict_and_two_tables() -> None:
    found, lines = one("probe", CODEX, run=once), shown(CODEX).splitlines()
    assert (found["probed"], "judged" in found) == ("hand-off", False)
    assert all(set(d) == {"score", "target", "criteria"} for d in found["dimensions"].values())
    assert all(set(probe) == PROBE for probe in found["probes"])
    passed = [probe["passed"] for probe in found["probes"]]
    assert found["score"] == round(sum(passed) / len(passed), 4)
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
    found, lines = one("probe", *short, run=once), shown(*short).splitlines()
    assert found["accepted"] is False
    assert lines[3].startswith("NOT ACCEPTED  score 0.")
    assert any(line.endswith("MISSED") for line in lines)
    failed = [line for line in lines if line[:1] == "t" and line[1:2].isdigit()]
    assert len(failed) == min(12, found["failed"])
    critical = ["critical" in line for line in failed]
    assert critical == sorted(critical, reverse=True)


def test_the_style_outcomes_is_asked_what_it_has_a_place_for() -> None:
    found = one("probe", CODEX, "--style", "outcomes")
    files = [probe for probe in found["probes"] if probe["type"] == "artifact"]
    assert found["accepted"]
    assert {len(probe["expected"]) for probe in files} == {1}


def test_where_nothing_is_folded_there_is_no_score(tmp_path: Path) -> None:
    session = (talk(tmp_path, "hello"), "--window", "200k")
    found = one("probe", *session)
    assert (found["score"], found["accepted"], found["probes"]) == (None, None, [])
    told = shown(*session)
    assert "nothing is folded in a window of 200,000 tokens" in told
    assert "NO SCORE" in told
    assert "without --window the hand-off of the whole session is probed" in told


def test_a_score_is_never_rounded_up_and_critical_failures_come_first() -> None:
    def answer(turn: int, *, passed: bool = False, critical: bool = False) -> Answer:
        probe = Probe(
            type="recall",
            matter="command",
            question=f"Which command was run in t{turn}, exactly?",
            expected=("make ship", "twice"),
            section="Commands",
            turn=turn,
            critical=critical,
        )
        return Answer(probe=probe, found=("make ship",) if passed else (), passed=passed)

    verdict = Verdict(answers=(answer(-1), answer(5, critical=True), answer(7, passed=True)))
    assert verdict_told(verdict).startswith("score 0.33, 1 of 3 pass, 1 critical failure")
    nearly = Verdict(answers=tuple(answer(n, passed=n > 0) for n in range(1_000)))
    assert verdict_told(nearly).startswith("score 0.99, ")
    told = [str(line) for line in failed_page(verdict, Hints("s.jsonl"))]
    assert [line for line in told if "recall: " in line] == [
        "t5  critical  recall: Which command was run in t5, exactly?",
        "–  recall: Which command was run in t-1, exactly?",
    ]
    assert told[-1] == "see the turn of a probe: kedgeline show s.jsonl t5"
    later = [str(one) for one in failed_page(verdict, Hints("s", first=6))]
    assert later[-1] == "what is older than t6 is in the session before this list"


def test_a_model_answers_and_judges_beside_the_probes(tmp_path: Path) -> None:
    session = talk(tmp_path, "Write the pilot book. Never use red ink.", "Go on.")
    plain, found = one("probe", session), one("probe", session, "--model", named(MODEL))
    judged = found.pop("judged")
    assert found == plain, "what a model says has no part in the score"
    assert judged["by"] == judged["answered_by"] == f"command:{Path(sys.executable).name}"
    assert set(judged["answers"][0]) == PROBE | {"given"}
    scores = {name: one["score"] for name, one in judged["dimensions"].items()}
    assert scores["accuracy"] == scores["continuity"] == 2.0
    told = shown(session, "--model", named(MODEL))
    assert "by the judge" in told
    assert re.search(r"2\.00 +MISSED", told)
    assert "answers are right to the letter" in told
    page = REFERENCE.read_text("utf-8")
    keys = {*found, *found["dimensions"]["accuracy"], *judged, *judged["answers"][0]}
    there = {name for quoted in re.findall(r"`([\w.]+)`", page) for name in quoted.split(".")}
    assert keys - there == set()


def test_a_judge_that_fails_leaves_the_verdict_and_says_why(tmp_path: Path) -> None:
    session = talk(tmp_path, "Write the pilot book. Never use red ink.")
    answers, _, rest = MODEL.partition("else:")
    model = named(f"{answers}else:\n    reply = 'no'\n{rest[rest.index('print') :]}")
    judged = one("probe", session, "--model", model)["judged"]
    assert (judged["by"], judged["dimensions"]) == (None, {})
    assert all("it has no JSON object" in problem for problem in judged["problems"])
    model = named("import sys; sys.exit('the tide is out')")
    found = one("probe", session, "--model", model)
    assert found["judged"]["unanswered"] == len(found["probes"]) > 0
    assert "the tide is out" in found["judged"]["problems"][0]
    told = " ".join(shown(session, "--model", model).split())
    assert "the model gave no usable answer warning: the model " in told


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
        (("probe", CODEX, "--tokens", "0"), "0 tokens is empty; give --tokens at least 1, or"),
        (("compact", LONG, "--losses", "--to", "gemini"), "--losses and --to both take stdout"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = ran(*arguments)
    flat = " ".join(done.err.replace("│", " ").split())
    assert (done.code, done.out, said in flat) == (2, "", True), flat


def test_the_tables_of_the_docs_are_up_to_date() -> None:
    page = (ROOT / "docs" / "probes.md").read_text("utf-8")
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert page == made["probes"](page), "run `make docs`"
    table = page.partition("## What is asked")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    told = {(matter, row[1]) for row in rows for matter in re.findall(r"`([\w ]+)`", row[0])}
    assert {matter for matter, _ in told} <= set(get_args(Matter))
    probes = [p for f in (CODEX, LONG) for p in one("probe", f, "--tokens", "8k")["probes"]]
    assert {(probe["matter"], probe["type"]) for probe in probes} <= told
