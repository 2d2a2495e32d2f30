"""Where a name is used, from the results of searches."""

from __future__ import annotations

import pytest

from kedge.facts.names.call_sites import (
    MOST_HITS,
    Hit,
    Site,
    hits_in,
    pattern_of,
    sites_of,
    sought_in,
)
from kedge.outcomes import outcomes_of
from tests.turns import bash, called, turn


def sites(name: str, output: str, searched: str = "") -> list[Site]:
    return [*sites_of(name, hits_in(output), searched)]


def test_hits_are_grouped_by_file_with_all_their_lines() -> None:
    output = (
        "pkg/store.go:12:\tx := loadThing(a)\n"
        "pkg/main.go:7:func loadThing(a int) int {\n"
        "pkg/store.go:40:\treturn loadThing(b)\n"
    )
    assert sites("loadThing", output) == [
        Site("pkg/store.go", (12, 40)),
        Site("pkg/main.go", (7,)),
    ]


def test_a_longer_word_is_another_name() -> None:
    output = "a.go:1:reloadThing()\na.go:2:loadThings()\na.go:3:loadThing()\n"
    assert sites("loadThing", output) == [Site("a.go", (3,))]


def test_a_line_that_shows_the_name_twice_counts_once() -> None:
    assert sites("loadThing", "a.go:5:loadThing(loadThing(x))\na.go:5:loadThing\n") == [
        Site("a.go", (5,))
    ]


def test_a_result_without_files_is_of_the_file_that_was_searched() -> None:
    assert sites("loadThing", "5:loadThing()\n", "src/a.py") == [Site("src/a.py", (5,))]
    assert sites("loadThing", "5:loadThing()\n") == []


@pytest.mark.parametrize(
    "output",
    [
        "src/app.ts\n12:  loadThing()\n30:loadThing(1)\n",
        "Found 2 matches\nsrc/app.ts:\n  Line 12: loadThing()\n  Line 30: loadThing(1)\n",
        "Found 2 matches for pattern\n---\nFile: src/app.ts\nL12: loadThing()\nL30: loadThing(1)\n",
    ],
    ids=["ripgrep's headings", "opencode", "gemini"],
)
def test_a_file_may_stand_above_its_hits(output: str) -> None:
    assert sites("loadThing", output) == [Site("src/app.ts", (12, 30))]


def test_lines_of_context_and_times_of_day_are_no_hits() -> None:
    output = "a.go-11-loadThing()\n12:30:45 loadThing started\na.go:12:loadThing()\n"
    assert hits_in(output) == [Hit("a.go", 12, "loadThing()")]


def test_a_listing_is_no_list_of_call_sites() -> None:
    lines = "".join(f"a.go:{line}:loadThing()\n" for line in range(1, MOST_HITS + 2))
    assert hits_in(lines) == []
    assert len(hits_in(lines[: lines.rindex("a.go")])) == MOST_HITS


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("loadThing", ("loadThing",)),
        (r"func.*loadThing\(", ("loadThing",)),
        (r"load_thing\(|LoadThing\(", ("load_thing", "LoadThing")),
        ("TODO", ()),
        ("oneThing|twoThings|threeThings|fourThings", ()),
    ],
)
def test_a_pattern_asks_for_few_names(pattern: str, names: tuple[str, ...]) -> None:
    assert sought_in(pattern) == names


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("grep -rn 'loadThing' src | head -20", "loadThing"),
        ("rg -n --type go loadThing", "loadThing"),
        ("grep -A 3 -e loadThing src", "loadThing"),
        ("git grep -n loadThing -- src", "loadThing"),
        ("/usr/bin/grep loadThing src", "loadThing"),
        ("go test ./...", ""),
        ("echo grep loadThing", ""),
    ],
)
def test_the_pattern_of_a_shell_search(command: str, pattern: str) -> None:
    (outcome,) = outcomes_of(turn(0, bash(command)))
    assert pattern_of(outcome) == pattern


def test_the_pattern_of_a_search_tool() -> None:
    step = called("Grep", "a.go:1:x", pattern="loadThing", path="src")
    assert pattern_of(outcomes_of(turn(0, step))[0]) == "loadThing"


def test_hostile_results_never_raise() -> None:
    for output in ("", ":" * 10_000, "a:1:" * 5_000, "\0\ud800:3:x\n", "9" * 50_000 + ":x"):
        assert [*sites_of("loadThing", hits_in(output), "f.go")] == []
