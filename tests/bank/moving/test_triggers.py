"""The seed's four triggers, each with its numbers."""

from __future__ import annotations

import pytest

from kedge.bank.moving import BankSignals, triggers_of
from kedge.bank.values import LIMITS, Limits
from tests.bank.banks import Bank, active, decisions, milestone, progress

NONE = BankSignals()


def holding(bank: Bank, signals: BankSignals = NONE) -> list[str]:
    found = triggers_of(bank.documents(), bank.limits, signals, names=bank.files)
    assert len(found) == 4
    return [trigger.cause for trigger in found if trigger.holds]


@pytest.mark.parametrize(("count", "causes"), [(0, []), (50, []), (51, ["entries"])])
def test_more_than_50_entries(count: int, causes: list[str]) -> None:
    assert holding(Bank(activeContext_md=active(count))) == causes


@pytest.mark.parametrize(
    ("used", "budget", "causes"),
    [(59_999, 100_000, []), (60_000, 100_000, ["session"]), (60_000, 0, []), (0, 100_000, [])],
)
def test_60_percent_of_the_session(used: int, budget: int, causes: list[str]) -> None:
    signals = BankSignals(session_tokens=used, session_budget=budget)
    assert holding(Bank(activeContext_md=active(3)), signals) == causes


@pytest.mark.parametrize(("characters", "causes"), [(80_003, []), (80_004, ["tokens"])])
def test_more_than_20000_estimated_tokens(characters: int, causes: list[str]) -> None:
    assert holding(Bank(systemPatterns_md="w" * characters)) == causes


def test_somebody_asked() -> None:
    assert holding(Bank(activeContext_md=active(1)), BankSignals(manual=True)) == ["manual"]


def test_the_strongest_comes_first_and_a_word_before_any_number() -> None:
    bank = Bank(activeContext_md=active(60), systemPatterns_md="w" * 160_000)
    signals = BankSignals(session_tokens=80, session_budget=100)
    assert holding(bank, signals) == ["tokens", "session", "entries"]
    asked = BankSignals(session_tokens=80, session_budget=100, manual=True)
    assert holding(bank, asked) == ["manual", "tokens", "session", "entries"]


def test_each_says_its_numbers() -> None:
    bank = Bank(activeContext_md=active(51))
    signals = BankSignals(session_tokens=61_000, session_budget=100_000)
    reasons = {t.cause: t.reason for t in triggers_of(bank.documents(), LIMITS, signals)}
    assert reasons["entries"] == "activeContext.md has 51 entries, more than 50"
    assert reasons["session"] == (
        "the session has used 61,000 of 100,000 tokens, 61%, at least 60%"
    )
    assert "estimated tokens, not more than 20,000" in reasons["tokens"]
    assert reasons["manual"] == "nobody asked for it"


def test_one_entry_is_no_plural() -> None:
    plan = Bank(activeContext_md=active(1)).plan()
    reasons = {trigger.cause: trigger.reason for trigger in plan.triggers}
    assert reasons["entries"] == "activeContext.md has 1 entry, not more than 50"
    assert "the 1 entry of the active context is within" in plan.nothing


def test_what_is_looked_up_does_not_count_as_loaded() -> None:
    """Archives, the index, and a log that has an index."""
    large = "w" * 100_000
    bank = Bank(
        activeContext_md=active(3), activeContext_archive_md=large, decisionLog_md=decisions([1])
    )
    assert holding(bank) == []
    bank.files["decisionLog.md"] += b"w" * 100_000
    assert holding(bank) == ["tokens"]
    bank.files["decisionLog.index.md"] = b""
    assert holding(bank) == []


def test_no_trigger_no_move_and_the_plan_says_why() -> None:
    old = [milestone(n, days=40 + n) for n in range(15)]
    bank = Bank(Limits(entries=60), activeContext_md=active(55), progress_md=progress(old))
    plan = bank.compact(NONE)
    assert plan.changes == ()
    assert plan.nothing.startswith("nothing to do: ")
    for words in ("55 entries", "budget of the session is not known", "tokens", "nobody asked"):
        assert words in plan.nothing


def test_a_trigger_that_holds_while_nothing_can_move_says_so_and_does_not_loop() -> None:
    bank = Bank(activeContext_md=active(3), systemPatterns_md="w" * 100_000)
    for _ in range(2):
        plan = bank.compact(NONE)
        assert plan.triggers[0].cause == "tokens"
        assert plan.changes == ()
        assert "nothing more can move" in plan.nothing
        assert "systemPatterns.md, shorten it by hand" in plan.notes[0]
