"""Rules that the user's own later words take back or give in another form, and rules that stand."""

from __future__ import annotations

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.rules import InstructionExtractor
from kedgeline.model import InstructionGiven, Summary
from kedgeline.probes.making import rules
from kedgeline.summary.listing import instructions
from kedgeline.summary.state import ALWAYS, THEN
from tests.facts.speaking import told_by
from tests.turns import turn


def given(*said: str) -> list[InstructionGiven]:
    """The rules of messages one after the other, each answered."""
    turns = [turn(0, user="start", says="Done.")]
    turns += [turn(number, user=words, says="Done.") for number, words in enumerate(said, start=1)]
    return told_by(InstructionExtractor(Setting()), *turns)


REPLACED = (
    ("don't push", "ok you can push now"),
    ("please don't amend commits - it breaks the hooks", "you may amend commits again"),
    ("always run the linter before you commit", "you don't need to run the linter anymore"),
    ("never touch the vendored files", "it's ok to touch the vendored files"),
    ("the header must be green", "the header must be blue"),
    ("links in the sidebar must be #8abeb7", "no, links in the sidebar should be #ff0000"),
    ("use redis, not memcached", "use sqlite instead of redis"),
)


@pytest.mark.parametrize(("earlier", "later"), REPLACED)
def test_a_later_rule_names_the_one_it_replaces(earlier: str, later: str) -> None:
    first, second = given(earlier, "add a test", later)
    assert (first.text, first.replaces) == (earlier, "")
    assert (second.text, second.replaces, second.lasts) == (later, earlier, True)


STAND = (
    ("don't push", "ok you can commit now"),
    ("don't commit secrets", "you can commit"),
    ("never push", "you can push now"),
    ("don't push", "you can push the docs branch"),
    ("don't push before I have seen it", "don't push to main"),
    ("never touch a.py", "never touch b.py"),
    ("the header must be green", "the footer must be blue"),
    ("the header must be green", "the header of the page must be blue"),
    ("always run the unit tests before you commit", "don't run the slow tests"),
    ("use redis, not memcached", "use tabs, not spaces"),
    ("links in the sidebar must be #8abeb7", "text in the footer should be #ff0000"),
    ("no more than 80 characters per line", "at most 3 retries per call"),
)


@pytest.mark.parametrize(("earlier", "later"), STAND)
def test_a_rule_about_something_else_replaces_none(earlier: str, later: str) -> None:
    assert not any(rule.replaces for rule in given(earlier, later))


@pytest.mark.parametrize("words", ["yeah you can undo that, it was the log", "please revert that."])
def test_undo_that_takes_back_the_rule_right_before_it(words: str) -> None:
    earlier = "the picker must wait for the next tick"
    _, second = given(earlier, words)
    assert (second.replaces, second.lasts) == (earlier, False)
    assert second.text in words


@pytest.mark.parametrize(
    "said",
    [
        ("the picker must wait for the next tick", "add a test", "undo that"),
        ("don't log the token", "undo that"),
        ("We print bookings by day. Tests must be fast. Now rename it all.", "undo that"),
        ("the picker must wait for the next tick", "undo the rename"),
    ],
)
def test_undo_that_means_the_work_where_something_else_stands_before(said: tuple[str, ...]) -> None:
    assert all(not rule.replaces and rule.lasts for rule in given(*said))


def test_a_replaced_rule_is_marked_and_gives_way_and_a_probe_asks_for_the_newest_only() -> None:
    said = ("the header must be green", "the header must be blue", "the lists must wait")
    facts = given(*said, "undo that", "never push")
    summary = Summary(instructions=tuple(facts))
    shown = {item.text: item.tier for item in instructions(summary)}
    assert shown == {
        '"the header must be green" (superseded in t2)': THEN,
        '"the header must be blue"': ALWAYS,
        '"the lists must wait" (taken back in t4)': THEN,
        '"never push"': ALWAYS,
    }
    asked = [probe.expected for probe in rules(summary)]
    assert asked == [("the header must be blue",), ("never push",)]
