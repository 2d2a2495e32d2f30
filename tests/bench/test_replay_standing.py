"""What stands in a text, and what it scores."""

from __future__ import annotations

import pytest

from bench.replay.names import Action, Files, Finder, Names, Source, Task, outline
from bench.replay.needed import (
    BEGINNING,
    ENDS_LOOSELY,
    MEASURES,
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
    under_way: tuple[str, ...] = (),
    changed: dict[str, Action] | None = None,
    only_read: tuple[str, ...] = (),
    by_command: tuple[str, ...] = (),
    pairs: dict[str, frozenset[str]] | None = None,
    task: Task = NO_TASK,
) -> Needed:
    return Needed(
        names=names or {},
        commands=commands,
        request=request,
        prompts=prompts,
        under_way=under_way,
        files=Files(changed or {}, frozenset(only_read)),
        by_command=frozenset(by_command),
        pairs=pairs or {},
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
    assert standing("pier.py").has_base_name("src/pier.py")
    assert standing("src/pier.py").has("pier.py")


def test_base_names_are_reported_apart() -> None:
    found = scored("pier.py", need({"src/pier.py": "path", "assign_berth": "identifier"}))
    assert (found["names"], found["names_by_base_name"]) == (0.0, 0.5)
    assert (found["names_path"], found["names_identifier"]) == (0.0, 0.0)
    assert "names_hash" not in found


def test_plain_numbers_are_reported_apart() -> None:
    found = scored("assign_berth", need({"assign_berth": "identifier", "480": "parameter"}))
    assert (found["names"], found["names_with_parameters"]) == (1.0, 0.5)


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


def test_where_output_goes_may_be_left_aside() -> None:
    assert standing("pytest -q tests 2>&1 | tail").has_command("pytest -q tests", ENDS_LOOSELY)
    found = scored("`make lint`", need(commands=("make lint 2>&1 | tail -5", "make build")))
    assert (found["commands"], found["commands_bare"]) == (0.0, 0.5)
    kept = scored("make lint 2>&1 | tail -5", need(commands=("make lint 2>&1 | tail -5",)))
    assert (kept["commands"], kept["commands_bare"]) == (1.0, 1.0)


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
    wanted = need(prompts=("Make all piers fair.", LATER), under_way=(LATER,))
    both = scored(f"Make all piers fair. {start} …", wanted)
    assert (both["prompts"], both["prompts_under_way"]) == (1.0, 1.0)
    less = scored(f"Make all piers fair. {start[:-1]}", wanted)
    assert (less["prompts"], less["prompts_under_way"]) == (0.5, 0.0)
    assert not {"prompts", "prompts_under_way"} & set(scored("anything", need()))


def test_a_lost_name_is_priced_and_a_plain_number_is_not() -> None:
    at = {"assign_berth": 0, "src/pier.py": 1, "480": 2}
    sources = {name: Source(step, 0, 100) for name, step in at.items()}
    task = Task(steps=4, history=1_000, needed_at=at, sources=sources)
    names: Names = {"assign_berth": "identifier", "src/pier.py": "path", "480": "parameter"}
    found = scored("src/pier.py", need(names, task=task))
    tokens = standing("src/pier.py").tokens
    assert (found["fetched_tokens"], found["task_tokens"]) == (100, 4 * tokens + 100)
    base_name_alone = scored("pier.py assign_berth", need(names, task=task))
    assert base_name_alone["fetched_tokens"] == 100


def test_every_score_has_its_mean() -> None:
    wanted = need(
        {"a_name": "identifier"},
        commands=("make",),
        request="go",
        prompts=(LATER,),
        under_way=(LATER,),
        changed={"a.py": "created"},
        pairs={"a_name": frozenset({"a.py"})},
    )
    found = scored("## Index\na_name, created a.py", wanted)
    assert set(found) <= set(MEASURES)
    assert set(means([("a", found)])) == set(found)


def test_lines_are_under_headings_and_items_and_code_under_what_introduces_it() -> None:
    text = "# A\n## B\n- one\n  - two\n- three\n```\n# no heading\n```\n## C\nfour"
    assert outline(text.split("\n")) == [
        (),
        (0,),
        (0, 1),
        (0, 1, 2),
        (0, 1),
        (0, 1, 4),
        (0, 1, 4),
        (0, 1, 4),
        (0,),
        (0, 8),
    ]


PAIR = need(pairs={"assign_berth": frozenset({"src/pier.py"})})


@pytest.mark.parametrize(
    "text",
    [
        "`src/pier.py`: assign_berth, moor_vessel",
        "## src/pier.py\n\nassign_berth",
        "- src/pier.py\n  - adds assign_berth",
        "src/pier.py:\n```\ndef assign_berth():\n```",
    ],
)
def test_a_pair_stands_together(text: str) -> None:
    assert scored(text, PAIR)["pairs"] == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "src/pier.py\nassign_berth",
        "## Index\n\nsrc/pier.py\nassign_berth\nsrc/tide.py",
        "## src/pier.py\n\nfees\n\n## src/tide.py\n\nassign_berth",
        "- src/pier.py\n- assign_berth",
        "pier.py: assign_berth",
        "src/assign_berth.py and src/pier.py",
    ],
)
def test_a_pair_that_stands_apart_is_none(text: str) -> None:
    assert scored(text, PAIR)["pairs"] == 0.0


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
    assert (wrong["files"], wrong["files_f1"], wrong["actions_right"]) == (1.0, 0.5, 0.5)
    silent = scored("src/pier.py, src/tide.py", CHANGED)
    assert (silent["files"], silent["files_f1"]) == (1.0, 0.0)
    assert "actions_right" not in silent
    read = scored("modified src/pier.py\ncreated src/tide.py\nmodified src/fees.py", CHANGED)
    assert read["files_f1"] == pytest.approx(0.8)


def test_what_a_command_may_have_changed_is_not_judged() -> None:
    text = "modified src/pier.py\nmodified src/fees.py\nmodified src/other.py"
    files: dict[str, Action] = {"src/pier.py": "modified"}
    found = scored(
        text, need(changed=files, only_read=("src/fees.py",), by_command=("src/fees.py",))
    )
    assert found["files_f1"] == 1.0


def test_later_words_about_a_file_are_folded_as_its_changes_are() -> None:
    log = "File created: src/tide.py\nsrc/tide.py has been updated\nupdated src/pier.py"
    assert scored(log, CHANGED)["files_f1"] == 1.0


def test_files_with_odd_names_are_found_too() -> None:
    files: dict[str, Action] = {"app/[id]/page.tsx": "created", "Makefile": "modified"}
    found = scored("created app/[id]/page.tsx\nmodified Makefile", need(changed=files))
    assert (found["files"], found["files_f1"]) == (1.0, 1.0)
    assert scored("Makefiles", need(changed={"Makefile": "modified"}))["files"] == 0.0


def test_the_share_of_an_index_is_reported_where_there_is_one() -> None:
    text = "## State\nall is well here\n## Index\n### src/pier.py\nassign_berth\n## Next\nnothing"
    assert 0.2 < scored(text, need())["index_share"] < 0.8
    assert standing(text).index() == "## Index\n### src/pier.py\nassign_berth"
    assert "index_share" not in scored("the index of names", need())


def test_means_have_intervals_over_sessions_and_are_the_same_again() -> None:
    rows = [("a", {"names": 0.0}), ("a", {"names": 0.5}), ("b", {"names": 1.0}), ("c", Scores())]
    found = means(rows)
    assert set(found) == {"names"}
    one = found["names"]
    assert (one.mean, one.over) == (0.5, 3)
    assert (one.low, one.high) == (0.25, 1.0)
    assert means(rows) == found
    assert means([("a", {"names": 0.4})])["names"].low == 0.4


@pytest.mark.parametrize(
    "text", ["", "\n\n", "```", "# ", "\ud800", "|", "- \t```\n~~~", "é" * 500]
)
def test_odd_texts_are_scored_too(text: str) -> None:
    wanted = need(
        {"assign_berth": "identifier"}, commands=("x",), request="(", changed={"a.py": "created"}
    )
    assert scored(text, wanted)["names"] == 0.0


def test_an_interval_narrows_with_the_number_of_sessions() -> None:
    one = means([(f"s{n:02}", {"names": float(n % 2)}) for n in range(40)])["names"]
    assert 0.3 < one.low < 0.42 < one.mean < 0.58 < one.high < 0.7


def test_what_stands_under_not_modified_was_not_modified() -> None:
    text = "## Files Read (Not Modified)\n- src/pier.py\n\n## Files Modified\n- src/berth.py"
    assert standing(text).actions({"src/pier.py", "src/berth.py"}) == {"src/berth.py": "modified"}


def test_a_file_that_a_command_may_have_created_is_right_as_created_too() -> None:
    changed: dict[str, Action] = {"src/pier.py": "modified"}
    text = "created src/pier.py"
    scored = scores_of(standing(text), need(changed=changed, by_command=("src/pier.py",)))
    assert scored["files_f1"] == 1.0
    assert scores_of(standing(text), need(changed=changed))["files_f1"] == 0.0


def test_a_row_of_a_table_outweighs_what_is_said_elsewhere() -> None:
    text = "- The agent had created src/pier.py\n| src/pier.py | modified | fees |"
    assert standing(text).actions({"src/pier.py"}) == {"src/pier.py": "modified"}
    assert standing(text.split("\n")[0]).actions({"src/pier.py"}) == {"src/pier.py": "created"}
