"""Verdicts, failed probes and hints as people read them."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from kedgeline.cli.output import Hints
from kedgeline.cli.verdict import (
    floor_score,
    show_failed,
)
from kedgeline.model import Answer, Probe, Verdict


def answer(turn: int = 3, *, passed: bool = False, critical: bool = False) -> Answer:
    probe = Probe(
        type="recall",
        matter="command",
        question=f"Which command was run in t{turn}, exactly?",
        expected=("make ship", "twice"),
        section="Commands",
        turn=turn,
        critical=critical,
    )
    return Answer(probe=probe, found=("make ship", "twice") if passed else (), passed=passed)


def printed(show: Any, *arguments: Any, width: int = 80, **options: Any) -> str:
    told = StringIO()
    show(*arguments, Console(file=told, width=width, markup=False), **options)
    return told.getvalue()


def test_hints_lead_to_turns_of_the_file_and_only_to_those() -> None:
    assert Hints("-").show(4) == "kedgeline show FILE t4"
    assert Hints("x.md", format="aider").facts("files") == (
        "kedgeline facts x.md --kind files --format aider"
    )
    assert Hints("x", first=40).show(44) == "kedgeline show x t4"
    assert Hints("x", first=40).show(39) == "", "it is in a file that came before this one"
    assert Hints("x").show(-1) == ""
    assert Hints("x").shown((-1, 4, 5)) == "kedgeline show x t4"
    assert Hints("x").older == ""
    later = Hints("x", first=40)
    assert later.shown((-1, 39, 44, 45)) == (
        "kedgeline show x t4 (it is t44: this list begins with t40)"
    )
    assert later.shown((-1, 39)) == ""
    assert later.older == "what is older than t40 is in the session before this list"


def test_a_score_is_never_rounded_up() -> None:
    assert [floor_score(score) for score in (0.8999, 0.9, 0.29, 4.999, 1.0)] == [
        "0.89",
        "0.90",
        "0.29",
        "4.99",
        "1.00",
    ]


def test_critical_failures_come_first_and_one_without_a_turn_has_a_dash() -> None:
    verdict = Verdict(answers=(answer(-1), answer(5, critical=True), answer(7, passed=True)))
    told = printed(show_failed, verdict, Hints("s.jsonl"), all_of_them=False).split("\n")
    told = [line.rstrip() for line in told if line]
    assert told[:2] == [
        "failed: 2",
        "t5    critical recall: Which command was run in t5, exactly?",
    ]
    assert told[2:4] == ["      expected make ship · twice", "      found    nothing of it"]
    assert told[4].startswith("–     recall: ")
    assert told[-1] == "see the turn of a probe: kedgeline show s.jsonl t5"
    later = Hints("s.jsonl", first=6)
    told = printed(show_failed, verdict, later, all_of_them=False).splitlines()
    assert told[-1] == "what is older than t6 is in the session before this list"
    assert "kedgeline show" not in "".join(told)
