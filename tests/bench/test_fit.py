"""Weights from what sessions used again: which signal gets the credit, and what counts as used."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.fit import Fit, Row, Sample, fitted, measure, needs_of, rows_of
from kedgeline.cli.main import app
from kedgeline.errors import BadSettings, SourceUnreadable
from kedgeline.model import Decided, Stated, Turn
from kedgeline.summary import build
from kedgeline.summary.story import weights
from tests.turns import bash, turn

TURNS, BACK = 20, 8
WORDS = [
    "".join(parts) for parts in islice(product("bdklmn", "ae", "rst", "io", "fgp", "uy"), 4 * TURNS)
]
"""Invented, and none like another."""


def session(folder: Path, name: str) -> None:
    """Every turn gives a reason and tells something else; only reasons are spoken of again."""
    messages = []
    for number in range(TURNS):
        one, other, third, fourth = WORDS[number * 4 : number * 4 + 4]
        said = [
            f"The {one} tower leans because of {other} gravel.",
            f"The {third} meadow borders on {fourth} gardens.",
        ]
        if number >= BACK:
            again = WORDS[(number - BACK) * 4 :]
            said.append(f"So {again[0]} goes with {again[1]} after everything.")
        messages += [
            {"role": "user", "content": f"Go on, {name}."},
            {"role": "assistant", "content": " ".join(said)},
        ]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"messages": messages}), "utf-8")


def found(folder: Path, questions: Path | None = None) -> Fit:
    return measure(folder, questions, watch=lambda _: None)


def test_the_signal_that_decides_gets_the_weight() -> None:
    rows = [
        Row({"answer": 1.0, "reasons": float(n % 2), "listed": float(n % 3 == 0)}, bool(n % 2))
        for n in range(120)
    ]
    weights = fitted([rows], ("reasons", "listed", "leads"))
    assert weights["reasons"] > 2
    assert abs(weights["listed"]) < 0.2
    assert weights["leads"] == 0  # no line has it


def test_how_much_is_needed_at_all_is_no_merit_of_a_signal() -> None:
    """In one cut all is of use and many lines are listed, in the other nothing and few."""
    busy = [Row({"listed": float(n % 4 > 0)}, n < 90) for n in range(100)]
    quiet = [Row({"listed": float(n % 4 == 0)}, n < 10) for n in range(100)]
    assert abs(fitted([busy, quiet], ["listed"])["listed"]) < 0.3


def test_reasons_that_a_session_comes_back_to_are_worth_more(tmp_path: Path) -> None:
    session(tmp_path, "harbor")
    fit = found(tmp_path)
    weights = {one.name: one.fitted for one in fit.weights}
    assert (fit.sessions, fit.cuts) == (1, 3)
    assert weights["reasons"] > 1
    # Eight, eight and four later turns come back to a line each; what the last turns before the cut
    # said is told by other sections.
    assert fit.needed == 14


def test_sessions_that_questions_are_asked_about_are_left_out(tmp_path: Path) -> None:
    corpus, questions = tmp_path / "corpus", tmp_path / "questions"
    session(corpus, "harbor")
    (questions / "cases").mkdir(parents=True)
    (questions / "window.json").write_text("{}", "utf-8")
    case = {"session": "s", "format": "plain", "file": "harbor.json", "window": "window.json"}
    (questions / "cases" / "one.json").write_text(json.dumps(case | {"probes": []}), "utf-8")
    (corpus / "copy.json").write_bytes((corpus / "harbor.json").read_bytes())
    with pytest.raises(SourceUnreadable):
        found(corpus, questions)
    assert found(corpus).sessions == 1  # the copy is the same task


BEFORE = Stated(turn=0, by="agent", where="answer", text="The crane leans on gravel.")
SAID = {2: ["So the crane needs gravel."]}


@pytest.mark.parametrize(
    ("first", "elsewhere", "needed"),
    [
        (turn(1), False, 1),
        (turn(1, bash("cat", "a crane on gravel")), False, 0),
        (turn(1, user="What of the crane and its gravel?"), False, 0),
        (turn(1, user="What of the crane?"), False, 1),
        (turn(1), True, 0),
    ],
    ids=["nothing brought it", "a result did", "the user did", "half of it", "another section"],
)
def test_needed_is_what_nothing_else_brings(first: Turn, elsewhere: bool, needed: int) -> None:
    decided = Decided(turn=0, by="user", key="k", decision="The crane stands on gravel")
    summary = build([BEFORE, decided] if elsewhere else [BEFORE])
    assert len(needs_of(summary, [first, turn(2)], SAID)) == needed


def test_a_thought_is_of_use_where_nothing_said_aloud_is() -> None:
    told = ["The crane leans on gravel.", "The harbor wall wants timber."]
    thoughts = [Stated(turn=0, by="agent", where="thought", text=text) for text in told]
    summary = build([*thoughts, BEFORE])
    sample = Sample("s", summary, {("crane", "gravel"): 1.0, ("harbor", "timber"): 1.0})
    used = [row.used for row in rows_of(sample) if row.signals.get("thought")]
    assert used == [False, True]


def test_the_command_writes_weights_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(tmp_path / "corpus", "harbor")
    target = tmp_path / "weights.json"
    done = CliRunner().invoke(
        app, ["bench", "fit", str(tmp_path / "corpus"), "--weights", str(target), "--json"]
    )
    assert done.exit_code == 0, done.output
    written = json.loads(target.read_bytes())
    packaged = Path(__file__).parents[2] / "src" / "kedgeline" / "summary" / "weights.json"
    in_use = json.loads(packaged.read_bytes())
    assert written["given"] == in_use["given"]
    assert list(written["signals"]) == list(in_use["signals"])
    assert "3 cuts of 1 sessions, corpus sha256 " in written["of"]
    monkeypatch.setenv("KEDGELINE_WEIGHTS", str(target))
    weights.cache_clear()
    try:
        assert weights().signals == written["signals"]
        target.write_text('{"of": "", "signals": {}, "given": {}}')
        weights.cache_clear()
        with pytest.raises(BadSettings, match="no weight for again"):
            weights()
    finally:
        weights.cache_clear()


def test_rows_of_parquet_are_sessions_too(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    session(tmp_path / "files", "harbor")
    text = (tmp_path / "files" / "harbor.json").read_text("utf-8")
    (tmp_path / "rows").mkdir()
    kept = [{"messages": json.dumps(json.loads(text)["messages"])}, {"messages": "torn"}]
    parquet.write_table(Table.from_pylist(kept[::-1]), tmp_path / "rows" / "rows.parquet")
    files, rows = (found(tmp_path / name) for name in ("files", "rows"))
    assert (rows.cuts, rows.needed, rows.weights) == (files.cuts, files.needed, files.weights)
