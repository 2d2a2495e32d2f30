"""An entry must stand as it was first committed, and putting it back makes a log sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.banks import decision, decisions
from tests.bank.proving.repository import LOG, checked, commit, lost, run


def typo(right: bool) -> str:
    return decisions([0, 1]).replace("way 1.", "way one." if right else "way oen.")


def test_a_first_form_that_was_put_back_is_sound(bank: Path) -> None:
    commit(bank, typo(False))
    commit(bank, typo(True))
    (finding,) = [f for f in checked(bank).found if f.gravity == "violation"]
    first = run(bank, "rev-list", "--max-parents=0", "HEAD")[:12]
    assert finding.what == f"the entry DEC-001 of commit {first} was changed since"
    assert finding.line == 11
    assert f"`git show {first}` has it as it was first committed" in finding.advice
    (bank / LOG).write_text(typo(False), "utf-8")
    assert lost(bank) == []
    commit(bank, typo(False))
    commit(bank, typo(False) + decision(2))
    assert lost(bank) == []
    assert sum("the first form of it is" in f.what for f in checked(bank).found) == 1


def test_putting_back_a_later_form_does_not_do(bank: Path) -> None:
    for text in (typo(False), typo(True), typo(True).replace("way one.", "way three.")):
        commit(bank, text)
    commit(bank, typo(True))
    assert len(lost(bank)) == 1
    commit(bank, typo(False))
    assert lost(bank) == []


def test_entries_without_an_id_can_be_put_back(bank: Path) -> None:
    text = "# Decision Log\n\n### [2026-01-0{}T00:00:00Z] agent\n\nWe {}.\n"
    commit(bank, text.format(1, "oges"))
    commit(bank, text.format(1, "go"))
    assert len(lost(bank)) == 1
    commit(bank, text.format(1, "oges"))
    assert lost(bank) == []


def test_an_id_that_was_given_twice_is_compared_by_content(bank: Path) -> None:
    twice = decisions([0, 1]) + decision(1).replace("We use way 1", "We use way 7")
    commit(bank, decisions([0, 1]))
    commit(bank, twice)
    assert lost(bank) == []
    (bank / LOG).write_text(twice.replace("We use way 7", "We use way 8"), "utf-8")
    assert len(lost(bank)) == 1
    (bank / LOG).write_text(twice.replace("We use way 1", "We use way 8"), "utf-8")
    assert len(lost(bank)) == 1
    (bank / LOG).write_text(decisions([0, 1]), "utf-8")
    assert len(lost(bank)) == 1


@pytest.mark.parametrize("together", [False, True])
def test_an_id_that_two_branches_gave_may_be_given_anew(bank: Path, together: bool) -> None:
    other = decision(1).replace("We use way 1", "We use way 7")
    commit(bank, decisions([0]))
    run(bank, "checkout", "-q", "-b", "side")
    commit(bank, decisions([0]) + other)
    run(bank, "checkout", "-q", "main")
    commit(bank, decisions([0, 1]))
    run(bank, "merge", "-q", "-s", "ours", "--no-edit", "side")
    if together:
        commit(bank, decisions([0, 1]) + other)
    commit(bank, decisions([0, 1]) + other.replace("DEC-001", "DEC-002"))
    assert lost(bank) == []
    assert any("has the id DEC-002 now" in f.what for f in checked(bank).found)


def test_ids_that_were_exchanged_are_violations(bank: Path) -> None:
    commit(bank, decisions([0, 1]))
    text = decisions([0, 1]).replace("DEC-000", "DEC-00X").replace("DEC-001", "DEC-000")
    commit(bank, text.replace("DEC-00X", "DEC-001"))
    assert len(lost(bank)) == 2
