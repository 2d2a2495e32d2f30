"""`kedgeline anchors`, `plan`, `compact` and `show` as people and programs use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline.pipeline.view import PROVIDERS, problems
from tests.claude import Records, text, use
from tests.conftest import EXAMPLES, ROOT
from tests.test_cli import kedgeline, rows

LONG = str(EXAMPLES / "claude-code-long.jsonl")
ANCHOR = {"turn_index", "type", "weight", "confidence", "description", "synthetic"}
COMPACTED = {
    "markdown",
    "kept",
    "folded",
    "masked",
    "tokens_before",
    "tokens_after",
    "context_reduction",
    "span_reduction",
    "over_budget",
    "warnings",
    "anchors",
}


def one(*arguments: str, **options: Any) -> dict[str, Any]:
    (found,) = rows(kedgeline(*arguments, "--json", **options))
    return found


def test_anchors_as_json_have_their_keys_and_weights() -> None:
    found = rows(kedgeline("anchors", LONG, "--json"))
    assert all(set(row) >= ANCHOR for row in found)
    assert {row["type"]: row["weight"] for row in found}["error_resolution"] == 0.9
    assert [row["turn_index"] for row in found] == sorted({row["turn_index"] for row in found})
    assert all(row["confidence"] >= 0.9 for row in found)


def test_anchors_for_people_are_a_table_with_a_count() -> None:
    shown = kedgeline("anchors", LONG).stdout.decode()
    assert shown.splitlines()[0].split() == ["turn", "type", "weight", "confidence", "description"]
    assert "per 100 turns" in shown.splitlines()[-1]


def test_a_session_with_nothing_natural_has_a_synthetic_checkpoint(tmp_path: Path) -> None:
    records = Records()
    for number in range(10):
        records.user(f"tell me about stone {number}")
        records.assistant(f"m{number}", text("It is a stone."))
    path = tmp_path / "plain.jsonl"
    path.write_bytes(b"".join(records.lines))
    (found,) = rows(kedgeline("anchors", str(path), "--json"))
    assert (found["turn_index"], found["synthetic"]) == (9, True)
    assert (found["weight"], found["confidence"]) == (0.7, 1.0)
    assert "synthetic" in kedgeline("anchors", str(path)).stdout.decode()


def test_the_literal_profile_keeps_two_detectors_silent() -> None:
    usual = {row["detector"] for row in rows(kedgeline("anchors", LONG, "--json"))}
    literal = rows(kedgeline("anchors", LONG, "--json", "--profile", "literal"))
    assert "command-milestone" in usual
    assert "command-milestone" not in {row["detector"] for row in literal}
    lower = rows(
        kedgeline("anchors", LONG, "--json", "--profile", "literal", "--threshold", "0.88")
    )
    assert "command-milestone" in {row["detector"] for row in lower}


def test_a_plan_as_json_has_spans_that_cover_every_turn() -> None:
    plan = one("plan", LONG, "--window", "32k")
    spans = [*plan["folded"], *plan["kept"]]
    covered = [n for span in spans for n in range(span["first"], span["last"] + 1)]
    assert covered == list(range(194))
    assert all(span["reason"] and span["tokens"] > 0 for span in spans)
    assert plan["decision"]["action"] == "force"
    assert plan["decision"]["reason"]


def test_a_plan_for_people_has_a_picture_of_the_window() -> None:
    shown = kedgeline("plan", LONG, "--window", "32k").stdout.decode()
    assert all(
        word in shown for word in ("before", "after", "window", "folded", "kept", "triggers")
    )
    assert "░" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_compaction_as_json_has_its_keys() -> None:
    done = one("compact", LONG, "--window", "32k")
    assert set(done) >= COMPACTED
    assert done["context_reduction"] >= 0.6
    assert done["over_budget"] is False
    assert done["markdown"].count("## Files Modified") == 1
    outcomes = one("compact", LONG, "--window", "32k", "--style", "outcomes")
    assert outcomes["markdown"].count("Key outcomes:") == 1
    assert set(done["anchors"][0]) >= ANCHOR


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_rebuilt_list_is_written_to_stdout(provider: str) -> None:
    done = kedgeline("compact", LONG, "--window", "32k", "--to", provider)
    messages = json.loads(done.stdout)
    assert problems(provider, messages) == []
    assert "kedgeline-summary" in json.dumps(messages[0])
    assert b"freed" in done.stderr
    again = kedgeline(
        "compact", "-", "--window", "8k", "--json", "--to", provider, stdin=done.stdout
    )
    (second,) = rows(again)
    assert problems(provider, second["messages"]) == []


def test_the_summary_is_written_to_stdout_and_the_report_to_stderr() -> None:
    done = kedgeline("compact", LONG, "--window", "32k")
    assert done.stdout.decode().startswith("## Session Intent")
    assert b"tokens" in done.stderr
    assert b"freed" not in done.stdout


def test_a_window_is_written_as_people_write_it() -> None:
    sizes = {one("plan", LONG, "--window", w)["window"] for w in ("32k", "32000", "32_000")}
    assert sizes == {32_000}
    assert one("plan", LONG, "--window", "1m")["window"] == 1_000_000
    assert one("plan", LONG, KEDGELINE_WINDOW="50000")["window"] == 50_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plan", LONG, "--window", "much"), "is no number of tokens"),
        (("plan", LONG, "--window", "10"), "smaller than any model's"),
        (("compact", LONG, "--to", "nowhere"), "unknown provider 'nowhere'"),
        (("plan", LONG, "--to", "claude-code"), "unknown provider"),
        (("anchors", LONG, "--profile", "bold"), "unknown profile 'bold'"),
        (("show", LONG, "t500"), "has no turn t500"),
        (("show", LONG, "twelve"), "is no turn"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = kedgeline(*arguments)
    flat = " ".join(done.stderr.decode().replace("│", " ").split())
    assert (done.returncode, words in flat, "Traceback" in flat) == (2, True, False), flat


def test_single_turns_are_shown_whole() -> None:
    shown = kedgeline("show", LONG, "t191", "[t192-193]").stdout.decode()
    assert [mark in shown for mark in ("t190", "t191", "t192", "t193")] == [False, True, True, True]
    found = rows(kedgeline("show", LONG, "t3", "--json"))
    assert [row["index"] for row in found] == [3]


def test_a_short_session_is_left_alone_and_says_so(tmp_path: Path) -> None:
    records = Records()
    records.user("run it")
    records.assistant("m1", use("c1", command="ls"))
    records.result("c1", "a\nb")
    path = tmp_path / "short.jsonl"
    path.write_bytes(b"".join(records.lines))
    done = kedgeline("compact", str(path))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"nothing was folded" in done.stderr
    assert json.loads(kedgeline("compact", str(path), "--to", "anthropic").stdout)
    assert b"nothing to do" in kedgeline("plan", str(path)).stdout


def test_json_keys_are_in_the_reference() -> None:
    reference = (ROOT / "docs" / "json.md").read_text("utf-8")
    found = one("compact", LONG, "--window", "32k", "--to", "anthropic")
    keys = {*found, *one("plan", LONG, "--window", "32k"), *found["anchors"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in reference] == []
