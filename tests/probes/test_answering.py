"""A text answers a probe where all that is expected stands in one place, and in the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Entry, Matter, Probe, SectionName
from kedgeline.probes import Shown, answer
from kedgeline.summary.sections import SECTIONS

STATE: SectionName = "Current State"
FILES: SectionName = "Files Modified"
READ: SectionName = "Files Read (Not Modified)"


def probe(
    *expected: str, section: SectionName = STATE, matter: Matter = "check", key: str = ""
) -> Probe:
    return Probe(
        type="recall",
        matter=matter,
        question="What?",
        expected=expected,
        section=section,
        turn=1,
        key=key,
    )


def entry(text: str, section: SectionName = STATE, **fields: Any) -> Entry:
    return Entry(section=section, text=text, turns=(1,), **fields)


def row(path: str, action: str, detail: str = "[t1]") -> Entry:
    return entry(path, FILES, action=action, detail=detail)


def passes(asked: Probe, *entries: Entry, beside: Sequence[str] = ()) -> bool:
    return answer(asked, Shown(entries, beside=beside)).passed


def test_all_that_is_expected_stands_in_one_entry() -> None:
    told = entry("test: `make test`: FAILS, 2 tests failed")
    asked = probe("make test", "FAILS", "2 tests failed")
    given = answer(asked, Shown([entry("Branch `main`"), told]))
    assert given.passed
    assert given.found == asked.expected
    assert given.probe is asked


def test_what_is_spread_over_two_entries_answers_nothing() -> None:
    first, second = entry("test: `make test`: passes"), entry("lint: `make lint`: FAILS")
    asked = probe("make test", "FAILS")
    given = answer(asked, Shown([first, second]))
    assert not given.passed
    assert given.found in [("make test",), ("FAILS",)]


def test_a_probe_that_expects_nothing_does_not_pass() -> None:
    """An earlier summary may hold an entry without words."""
    assert not passes(probe(section="Standing Instructions"), entry("x", "Standing Instructions"))


@pytest.mark.parametrize("section", [name for name in SECTIONS if name not in (STATE, "Story")])
def test_the_right_words_in_another_section_are_no_answer(section: SectionName) -> None:
    assert not passes(probe("Fix the light"), entry("Fix the light", section))
    assert not passes(probe("Fix the light", section=section), entry("Fix the light"))


def test_a_file_needs_its_path_and_its_action() -> None:
    asked = probe("src/a.py", "modified", section=FILES, matter="modified")
    assert passes(asked, row("src/a.py", "modified"))
    assert not passes(asked, row("src/a.py", "created"))
    assert not passes(asked, row("src/a.py", "deleted"), row("src/b.py", "modified"))
    for near in ("lib/src/a.py", "src/a.pyi", "a.py", "src/A.py", "src/a.py2", "see src/a.py"):
        assert not passes(asked, row(near, "modified")), near


@pytest.mark.parametrize(
    ("expected", "action", "detail"),
    [
        ("renamed", "modified", "renamed from src/old.py [t1]"),
        ("deleted", "modified", "the lamp was deleted from the list [t1]"),
        ("created", "deleted", "a window is created [t1]"),
    ],
)
def test_a_wrong_action_fails_whatever_the_last_cell_says(
    expected: Matter, action: str, detail: str
) -> None:
    asked = probe("src/a.py", expected, section=FILES, matter=expected)
    assert not passes(asked, row("src/a.py", action, detail))


def test_a_change_stands_in_the_row_of_its_file() -> None:
    asked = probe("src/a.py", "adds `find_free`", section=FILES, matter="change")
    assert passes(asked, row("src/a.py", "modified", "adds `find_free` [t1]; drops `b` [t2]"))
    assert not passes(asked, row("src/b.py", "modified", "adds `find_free` [t1]"))
    assert not passes(asked, row("src/a.py", "modified", "adds `find_free_berth` [t1]"))
    assert not passes(
        asked, row("src/a.py", "modified"), row("src/b.py", "modified", "adds `find_free`")
    )


def test_a_file_that_was_read_is_known_by_its_whole_path() -> None:
    asked = probe("src/a.py", section=READ, matter="read")
    assert passes(asked, entry("src/a.py", READ))
    assert passes(asked, entry("src/a.py: to see the rule", READ))
    assert not passes(asked, entry("lib/src/a.py", READ))
    assert not passes(asked, entry("src/b.py: beside src/a.py", READ))
    assert not passes(asked, row("src/a.py", "modified"))


def test_a_command_is_known_by_all_of_it() -> None:
    asked = probe("make test", section="Commands", matter="command")
    assert passes(asked, entry("`make test`", "Commands"))
    assert passes(asked, entry("`make test` (planned, not run)", "Commands"))
    assert not passes(asked, entry("`make test 2>&1`", "Commands"))
    assert not passes(asked, entry("`cd src && make test`", "Commands"))
    assert not passes(asked, entry("`make`", "Commands"))
    ticked = probe("echo `date` now", section="Commands", matter="command")
    assert passes(ticked, entry("`echo `date` now`", "Commands"))


def test_what_was_said_in_a_turn_stands_in_an_entry_of_it() -> None:
    """Whatever the section: what closed an exchange stands among the state or in the Story."""
    asked = probe("find_free", "12", section="Story", matter="finding")
    told = "Agent: `find_free` looks at 12 berths"
    assert passes(asked, entry(told, "Story"))
    assert passes(asked, entry(told, STATE))
    assert not passes(asked, replace(entry(told, "Story"), turns=(2,)))
    assert not passes(asked, entry("Agent: `find_free` is slow", "Story"), entry("12", "Story"))
    assert not passes(asked, entry("Agent: `find_free` looks at 112 berths", "Story"))


@pytest.mark.parametrize(
    ("matter", "section"), [("request", "Session Intent"), ("rule", "Standing Instructions")]
)
def test_words_of_the_user_may_stand_beside_the_summary(
    matter: Matter, section: SectionName
) -> None:
    words = "Fix the light.\n\nNever push."
    asked = probe(words, section=section, matter=matter)
    short = entry('Now: "Fix the light…"', section)
    assert not passes(asked, short)
    assert passes(asked, short, beside=["# Rules", words])
    assert passes(asked, short, beside=[f"# Rules\n{words}\nand more"])
    assert not passes(asked, short, beside=["Fix the light.", "Never push."])
    assert not passes(asked, short, beside=["Fix the light. Never push it."])


def test_a_rule_may_stand_in_the_request_and_nowhere_else_outside_its_section() -> None:
    asked = probe("Never push", section="Standing Instructions", matter="rule")
    assert passes(asked, entry('Now: "Fix the light. Never push. Thanks"', "Session Intent"))
    assert not passes(asked, entry('Now: "Never pushed it"', "Session Intent"))
    assert not passes(asked, entry("Never push", "Decisions Made"))


def test_a_rule_in_a_request_that_is_over_does_not_stand() -> None:
    """Nobody could tell that it is one, and the line goes with the next compaction."""
    asked = probe("Never push", section="Standing Instructions", matter="rule")
    assert not passes(asked, entry('Before: "Build it. Never push"', "Session Intent"))


def test_a_text_without_sections_is_looked_through_line_by_line() -> None:
    text = "Key outcomes:\n✓ src/a.py was created [t1]\nran `make test`: 12 tests passed"
    shown = Shown([], text=text)
    assert not shown.has_sections
    assert answer(probe("src/a.py", "created", section=FILES), shown).passed
    assert answer(probe("make test", "12 tests passed"), shown).passed
    assert answer(probe("12 tests passed", section="Commands"), shown).passed
    assert not answer(probe("src/a.py", "modified", section=FILES), shown).passed
    assert not answer(probe("src/a.py", "12 tests passed", section=FILES), shown).passed
    assert not answer(probe("a.py", section=READ), shown).passed
    assert answer(probe("make test", "12", section="Story", matter="finding"), shown).passed
    assert not answer(probe("src/a.py", "12", section="Story", matter="finding"), shown).passed
