"""`kedgeline recall`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from kedgeline.cli.options import expanded
from kedgeline.cli.recall import recall_command as command
from kedgeline.errors import UserError
from kedgeline.store.protocol import open_store
from tests.conftest import ROOT
from tests.recall.keeping import keep
from tests.turns import bash, called, turn

app = typer.Typer()
app.command()(expanded(command))


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "store")
    shared = turn(1, called("Read", "a gauge", file_path="src/tide.py"))
    with closing(open_store(place, durability="fast")) as store:
        log = "\n".join(f"row {n}" for n in range(40)) + "\nTideError: \x1b[31mtoo low\x1b[0m\n"
        keep(
            store,
            "harbor",
            turn(0, bash("pytest -q", log, exit_code=1), user="mend the tide"),
            shared,
            at=1_790_000_000_000_000,
        )
        keep(store, "harbor-2", shared)
    return place


def run(*words: str) -> Any:
    return CliRunner().invoke(app, words, env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_a_block_says_where_it_is_from_and_how_to_see_the_whole(place: str) -> None:
    result = run("TideError", "--lines", "1", "--store", place)
    assert result.exit_code == 0
    head, before, line, whole, *_ = result.stdout.splitlines()
    assert head.startswith("harbor  t0  2026-")
    assert head.endswith("· tool · Bash pytest -q · failed")
    assert before.split() == ["40", "row", "39"]
    assert line.split(maxsplit=1) == ["41", "TideError: ␛[31mtoo low␛[0m"]
    assert whole.strip() == "whole: kedgeline show harbor t0"


def test_json_has_all_of_it(place: str) -> None:
    result = run("TideError", "--json", "--store", place)
    (one,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (one["session"], one["mark"], one["output"]) == ("harbor", "t0", "t0.0")
    assert one["at"].startswith("2026-")
    assert one["lines"][-1]["spans"] == [[0, 9]]
    page = (ROOT / "docs" / "json.md").read_text("utf-8").partition("`kedgeline recall --json`")[2]
    assert [key for key in (*one, *one["lines"][0]) if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["tide", "--session", "harbor"], True),
        (["tide", "--who", "user"], True),
        (["tide", "--who", "client"], False),
        (["gauge", "--file", "src/tide.py"], True),
        (["gauge", "--file", "src/quay.py"], False),
        (["--command", "pytest"], True),
        (["--command", "cargo"], False),
        (["gauge", "--error"], False),
        (["TideError", "--error"], True),
        (["TideError", "--since", "2020-01-01", "--until", "2027-01-01"], True),
        (["TideError", "--since", "2027-01-01"], False),
        (["TideError", "--until", "2020-01-01"], False),
        (["TideError", "--session", "harbor-2"], False),
        (["TideError", "--turn", "t0-5"], True),
        (["TideError", "--turn", "t1-5"], False),
        (["--", "--no-such-flag-here"], False),
    ],
)
def test_every_option_and_the_exit_code_of_grep(
    place: str, options: list[str], found: bool
) -> None:
    result = run("--store", place, *options)
    assert (result.exit_code, bool(result.stdout)) == (0 if found else 1, found)
    assert ("nothing found; " in result.stderr) is not found


def test_what_a_reader_must_know_is_said(place: str) -> None:
    relaxed = run("TideError", "zeppelin", "--store", place).stdout
    assert 'nothing has all of it; this lacks "zeppelin"' in relaxed
    forked = run("gauge", "--store", place).stdout
    assert "also in harbor" in forked
    with closing(open_store(place)) as store:
        keep(store, "harbor", turn(0, user="begun anew"))
    rewound = run("TideError", "--store", place).stdout
    assert "was t0, and was taken back later" in rewound
    assert "kedgeline show harbor '#1'" in rewound


def test_lines_that_are_left_out_between_others_are_shown_as_such(place: str) -> None:
    result = run("row", "TideError", "5", "--lines", "0", "--store", place)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:4]] == ["6", "⋮", "41"]


def test_wrong_usage_is_one_sentence(place: str) -> None:
    result = run("--store", place)
    assert isinstance(result.exception, UserError)
    assert "there is nothing to look for" in str(result.exception)
    assert run("x", "--turn", "twelve", "--store", place).exit_code == 2


def test_an_empty_store_has_nothing(tmp_path: Path) -> None:
    assert run("x", "--store", str(tmp_path / "new")).exit_code == 1
