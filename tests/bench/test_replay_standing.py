"""What stands in a text, and what it scores."""

from __future__ import annotations

import pytest

from bench.replay.names import Action, Files, Finder, Names, Task
from bench.replay.needed import (
    BEGINNING,
    Needed,
    Scores,
    Standing,
    means,
    scores_of,
)

FINDER = Finder(("/home/sam/harbor",))
NO_TASK = Task(steps=1, history=1_000, needed_at={}, sources={})


def standing(text: str) -> Standing:
    return Standing(text, FINDER)


def need(
    names: Names | None = None,
    *,
    commands: tuple[str, ...] = (),
    request: str = "",
    prompts: tuple[str, ...] = (),
    changed: dict[str, Action] | None = None,
    only_read: tuple[str, ...] = (),
    by_command: tuple[str, ...] = (),
    task: Task = NO_TASK,
) -> Needed:
    return Needed(
        names=names or {},
        commands=commands,
        request=request,
        prompts=prompts,
        files=Files(changed or {}, frozenset(only_read)),
        by_command=frozenset(by_command),
        task=task,
    )


def scored(text: str, needed: Needed) -> Scores:
    return scores_of(standing(text), needed)


def test_a_name_stands_only_as_a_whole() -> None:
    assert standing("calls `assign_berth()`").has("assign_berth")
    assert not standing("calls assign_berths").has("assign_berth")
    assert not standing("calls reassign_berth").has("assign_berth")
    assert not standing("on 18443").has("8443")


def test_a_path_stands_in_full_or_from_the_root_and_a_base_name_is_no_path() -> None:
    assert standing("/home/sam/harbor/src/pier.py").has("src/pier.py")
    assert standing("**src/pier.py**: fees").has("src/pier.py")
    assert not standing("pier.py").has("src/pier.py")
    assert not standing("lib/src/pier.py").has("src/pier.py")
    assert not standing("src/pier.pyc").has("src/pier.py")
    assert standing("src/pier.py").has("pier.py")


def test_files_of_one_folder_may_share_a_row() -> None:
    """Longer rows of a table left more files to rows of their folders, which counted as missing:
    0.80 of the changed files became 0.75, and 0.99 of them stood there."""
    row = standing("| src/{pier.py, tide.py} | modified | |")
    assert row.has_file("src/pier.py")
    assert row.actions(["src/tide.py"]) == {"src/tide.py": "modified"}
    assert not standing("src/{pier, tide}").has_file("src/pier.py")


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q tests",
        "Run `pytest -q tests` first",
        "- pytest -q tests",
        "$ pytest -q tests",
        "| `x` | pytest -q tests | passes |",
        "command: pytest -q tests\ndescription: run",
        "Tests: pytest -q tests (14 passed) [t3]",
        "cd src && pytest -q tests && make lint",
    ],
)
def test_a_command_stands_verbatim(text: str) -> None:
    assert standing(text).has_command("pytest -q tests")


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q tests/unit",
        "pytest -q tests -x",
        "pytest -q 'tests'",
        "python -m pytest -q tests",
        "pytest  -q tests",
        "pytest tests -q",
        "pytest -q tests 2>&1",
    ],
)
def test_another_command_does_not_stand_for_it(text: str) -> None:
    assert not standing(text).has_command("pytest -q tests")


def test_a_request_stands_verbatim_however_lines_are_broken() -> None:
    request = "Moor her at\nthe north pier."
    assert scored("- Moor her at the\n  north pier.", need(request=request))["request"] == 1.0
    assert scored("Moor her at the pier.", need(request=request))["request"] == 0.0
    assert scored("unmoored", need(request="moored"))["request"] == 0.0
    assert "request" not in scored("anything", need())


LATER = "Then moor her at the north pier and write down the hour"


def test_a_prompt_stands_by_its_beginning() -> None:
    assert len(LATER.split()) > BEGINNING
    start = " ".join(LATER.split()[:BEGINNING])
    wanted = need(prompts=("Make all piers fair.", LATER))
    assert scored(f"Make all piers fair. {start} …", wanted)["prompts"] == 1.0
    assert scored(f"Make all piers fair. {start[:-1]}", wanted)["prompts"] == 0.5
    assert "prompts" not in scored("anything", need())


CHANGED = need(
    changed={"src/pier.py": "modified", "src/tide.py": "created"}, only_read=("src/fees.py",)
)


def test_files_count_with_the_right_action() -> None:
    right = "| src/pier.py | modified | new fees |\n| src/tide.py | created | tables |"
    assert scored(right, CHANGED)["files_f1"] == 1.0
    under = "## Created\n- src/tide.py\n## Modified\n- src/pier.py"
    assert scored(under, CHANGED)["files_f1"] == 1.0


def test_the_action_nearest_to_a_file_is_its_own() -> None:
    text = "- src/pier.py: modified, old fees deleted\n- deleted nothing, created src/tide.py"
    assert scored(text, CHANGED)["files_f1"] == 1.0


def test_a_wrong_action_a_missing_one_and_a_file_only_read_cost() -> None:
    wrong = scored("modified src/pier.py\nmodified src/tide.py", CHANGED)
    assert (wrong["files"], wrong["files_f1"]) == (1.0, 0.5)
    silent = scored("src/pier.py, src/tide.py", CHANGED)
    assert (silent["files"], silent["files_f1"]) == (1.0, 0.0)
    read = scored("modified src/pier.py\ncreated src/tide.py\nmodified src/fees.py", CHANGED)
    assert read["files_f1"] == pytest.approx(0.8)


def test_means_have_intervals_over_sessions_and_are_the_same_again() -> None:
    rows = [("a", {"names": 0.0}), ("a", {"names": 0.5}), ("b", {"names": 1.0}), ("c", Scores())]
    found = means(rows)
    assert set(found) == {"names"}
    one = found["names"]
    assert (one.mean, one.over) == (0.5, 3)
    assert (one.low, one.high) == (0.25, 1.0)
    assert means(rows) == found
    assert means([("a", {"names": 0.4})])["names"].low == 0.4
