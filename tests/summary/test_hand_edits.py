"""A session file written again: what a person wrote, changed or took out stays so."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from kedgeline.model import AnyFact, Decided, FileChanged, Requested, TodoSet
from kedgeline.summary import build, session_file
from kedgeline.summary.markdown import EARLIER, rewritten, without_record
from kedgeline.summary.sections import SECTIONS
from tests.summary.facts import facts

FIRST = (
    Requested(turn=0, by="user", text="Build a crane", scope="new"),
    FileChanged(turn=1, path="crane.py", action="created", what="adds `Crane`"),
    Decided(turn=1, by="user", key="colour", decision="paint it green"),
    TodoSet(turn=2, key="a", text="grease the hook", status="pending"),
    TodoSet(turn=2, key="b", text="test the brake", status="pending", place=1),
)
THEN = (*FIRST, FileChanged(turn=4, path="hook.py", action="created", what="adds `Hook`"))


def fresh(found: tuple[AnyFact, ...] | list[AnyFact] = FIRST) -> str:
    return session_file(build(found), 100_000, lambda text: 1 + len(text) // 4, task="T-1")


def section(text: str, name: str) -> list[str]:
    body = text.partition(f"### {name}\n")[2].partition("\n### ")[0].partition("\n<!-- ")[0]
    return body.rstrip("\n").split("\n")


def inserted(text: str, after: str, *lines: str) -> str:
    found = text.split("\n")
    place = found.index(after) + 1
    return "\n".join([*found[:place], *lines, *found[place:]])


def test_lines_by_hand_stay_in_their_section_and_ours_are_replaced() -> None:
    text = rewritten(fresh(), None)
    text = inserted(
        text, "1. paint it green (no reason given) [t1]", "- I say red", "", "  because it is seen"
    )
    text = inserted(text, "### Current State", "My word: all is well.")
    text = inserted(text, "| crane.py | created | adds `Crane` [t1] |", "| jib.py | mine | by me |")
    again = rewritten(fresh(THEN), text)
    assert section(again, "Decisions Made") == [
        "1. paint it green (no reason given) [t1]",
        "",
        "- I say red",
        "",
        "  because it is seen",
    ]
    assert section(again, "Files Modified")[2:] == [
        "| crane.py | created | adds `Crane` [t1] |",
        "| hook.py | created | adds `Hook` [t4] |",
        "| jib.py | mine | by me |",
    ]
    assert section(again, "Current State")[-2:] == ["", "My word: all is well."]
    assert rewritten(fresh(THEN), again) == again


def test_a_line_that_a_person_changed_stays_changed() -> None:
    text = rewritten(fresh(), None).replace(
        "paint it green (no reason given) [t1]", "paint it red, says the mayor"
    )
    for _ in range(3):
        text = rewritten(fresh(THEN), text)
    assert section(text, "Decisions Made") == ["1. paint it red, says the mayor"]


def test_a_line_that_a_person_took_out_stays_out_under_another_number_too() -> None:
    text = rewritten(fresh(), None).replace("2. test the brake [t2]\n", "")
    more = (*FIRST, TodoSet(turn=3, key="c", text="oil it", status="in_progress"))
    text = rewritten(fresh(more), rewritten(fresh(), text))
    assert section(text, "Next Steps") == [
        "1. oil it (in progress) [t3]",
        "2. grease the hook [t2]",
    ]


def test_sections_of_a_person_stay_where_they_stand() -> None:
    text = rewritten(fresh(), None)
    notes = ["### Notes", "", "free *words*", "## Larger still"]
    text = text.replace("\n### Commands\n", "\n" + "\n".join(notes) + "\n\n### Commands\n")
    again = rewritten(fresh(THEN), text)
    assert "\n".join(notes) + "\n\n### Commands\n" in again
    assert [f"### {name}" for name in SECTIONS] == [
        line for line in again.split("\n") if line.startswith("### ") and line != "### Notes"
    ]


def test_a_heading_put_into_the_middle_of_our_lines_does_not_freeze_them() -> None:
    text = inserted(rewritten(fresh(), None), "1. grease the hook [t2]", "### Notes")
    done = (*FIRST, TodoSet(turn=5, key="b", text="test the brake", status="completed", place=1))
    again = rewritten(fresh(done), text)
    assert section(again, "Next Steps") == ["1. grease the hook [t2]"]
    assert again.count("### Notes\n") == 1
    assert "test the brake [t2]" not in again


def test_a_line_that_kedgeline_comes_to_say_too_stands_once() -> None:
    text = inserted(rewritten(fresh(), None), "### Next Steps", "3. oil it [t3]")
    more = (*FIRST, TodoSet(turn=3, key="c", text="oil it", status="pending", place=2))
    assert rewritten(fresh(more), text).count("oil it") == 1


def test_a_file_of_other_making_is_kept_as_a_person_s() -> None:
    foreign = (
        "## Session Summary — T-1\n\n### Session Intent\nWhat we want.\n\n### Files Modified\n"
        "| File | Action | What Changed |\n|------|--------|----|\n| a.ts | created | New |\n\n"
        "### Error Context (if any)\n- none\n"
    )
    once = rewritten(fresh(), foreign)
    assert section(once, "Session Intent")[-1] == "What we want."
    assert "| a.ts | created | New |\n" in once
    assert "### Error Context (if any)\n- none\n" in once
    assert rewritten(fresh(), once) == once


def test_other_line_ends_and_an_encoding_mark_are_no_edits() -> None:
    text = "\ufeff" + rewritten(fresh(), None).replace("\n", "\r\n")
    assert rewritten(fresh(THEN), text) == rewritten(fresh(THEN), rewritten(fresh(), None))
    noted = text.replace("### Index\r\n", "### Index\r\n- mine\r\n\r\n- too\r\n")
    assert "- mine\r\n\r\n- too\r\n" in rewritten(fresh(THEN), noted)


def test_what_another_session_left_is_kept_beside() -> None:
    second = (FileChanged(turn=0, path="jib.py", action="created"),)
    text = rewritten(fresh(), None, session="one")
    text = rewritten(fresh(second), text, session="two")
    earlier = text.partition(EARLIER)[2]
    assert (
        "#### Files Modified\n| File | Action | What Changed |\n|---|---|---|\n| crane" in earlier
    )
    assert "1. paint it green (no reason given) [t1]" in earlier
    assert rewritten(fresh(second), text, session="two") == text
    assert rewritten(fresh(second), text) == text
    assert EARLIER not in rewritten(fresh(THEN), rewritten(fresh(), None, session="one"))


by_hand = st.one_of(
    st.text(st.characters(exclude_characters="\n", exclude_categories=()), max_size=30),
    st.sampled_from(
        (
            "### Index",
            "### Session Intent",
            "### Notes",
            "## Session Summary — T-1",
            "N/A",
            "  deeper",
            "| File | Action | What Changed |",
            "|---|---|---|",
            "- The agent made no commit",
            "(3 more left out)",
            "1. grease the hook [t2]",
            "\r",
            "```",
            "<!-- kedgeline: mine -->",
        )
    ),
)
edits = st.lists(st.tuples(st.integers(0, 10_000), by_hand | st.integers(0, 10_000)), max_size=6)
"""Where, and which line: one of a person's own, or a copy of one that stands there."""


@given(st.lists(st.tuples(facts, edits), min_size=1, max_size=4))
@example([(list(FIRST), [(3, "### Index"), (9, 3)]), (list(THEN), []), ([], [])])
def test_every_line_put_in_by_hand_survives_any_number_of_updates(
    rounds: list[tuple[list[AnyFact], list[tuple[int, str | int]]]],
) -> None:
    text: str | None = None
    mine: Counter[str] = Counter()
    for found, made in rounds:
        text = rewritten(fresh(found), text)
        for place, line in made:
            lines = text.split("\n")
            new = lines[line % len(lines)] if isinstance(line, int) else line
            if new.startswith("<!-- kedgeline: written"):
                continue
            mine[new] += 1
            place %= len(lines)
            text = "\n".join([*lines[:place], new, *lines[place:]])
    for _ in range(2):
        text = rewritten(fresh(rounds[-1][0]), text)
        del mine[""]
        assert mine <= Counter(text.split("\n"))


own = st.text(st.characters(min_codepoint=0x3B1, max_codepoint=0x3C9), min_size=1, max_size=8)


@given(facts, facts, st.lists(st.tuples(st.integers(0, 10_000), own), max_size=8))
def test_nothing_but_what_is_by_hand_is_added_to_a_rendering(
    before: list[AnyFact], after: list[AnyFact], made: list[tuple[int, str]]
) -> None:
    lines = rewritten(fresh(before), None).split("\n")[:-2]
    for place, line in made:
        lines.insert(place % (len(lines) + 1), line)
    record = rewritten(fresh(before), None).split("\n")[-2]
    text = rewritten(fresh(after), "\n".join([*lines, record, ""]))
    left = Counter(line for line in without_record(text).split("\n") if line)
    wanted = Counter(line for line in fresh(after).split("\n") if line)
    added = Counter(line for _, line in made)
    assert left - wanted == added
    assert set(wanted - left) <= {"N/A"}
