"""Whatever a session comes to, and however often it is filed: once, and all of it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedgeline.bank import filing as known
from kedgeline.model import AnyFact, Committed, Decided, ErrorSeen, TodoSet
from kedgeline.summary import build
from kedgeline.text.prose import one_line
from tests.bank.test_filing import LOGS, Bank, chosen, only

SAID = st.one_of(
    st.sampled_from(["Use SQLite", "use sqlite.", "Keep tabs", "Ship — on `Friday`", "潮を待つ"]),
    st.text(min_size=1, max_size=30),
)
FACTS = st.lists(
    st.one_of(
        st.builds(
            Decided,
            turn=st.integers(0, 9),
            key=st.sampled_from("ab"),
            decision=SAID,
            by=st.sampled_from(["user", "agent"]),
            rationale=st.sampled_from(["", "it is fast", "Use SQLite"]),
            rejected=st.sampled_from(["", "Keep tabs"]),
        ),
        st.builds(
            TodoSet,
            turn=st.integers(0, 9),
            key=st.sampled_from("xy"),
            text=SAID,
            status=st.sampled_from(["pending", "completed"]),
        ),
        st.builds(
            Committed,
            turn=st.integers(0, 9),
            what=st.sampled_from(["commit", "tag", "push"]),
            name=st.sampled_from(["", "abcdef1234567", "v1.0", "v1.0.1"]),
            about=st.sampled_from(["", "Add tides", "Keep tabs"]),
        ),
        st.builds(ErrorSeen, turn=st.integers(0, 9), key=st.just("e"), line=st.just("TideError")),
    ),
    max_size=8,
)


def in_order(facts: Sequence[AnyFact]) -> list[AnyFact]:
    return sorted(facts, key=lambda fact: fact.turn)


def check(facts: list[AnyFact], cuts: list[int], log: str) -> None:
    """Filed in some steps: nothing twice, nothing missing, nothing made up."""
    bank = Bank(**LOGS[log])
    for cut in sorted(cuts):
        bank.file(build(facts[:cut]))
        assert bank.file(build(facts[:cut])) == []
    new = bank.file(build(facts))
    assert bank.file(build(facts)) == []
    said = {
        known.filing_key(one_line(fact.decision)) for fact in facts if isinstance(fact, Decided)
    }
    told = [e.fields["Decision"] for n, e in new if n.startswith("decisionLog")]
    assert {known.filing_key(text) for text in told} <= said
    log = known.KnownEntries([one for name, one in bank.documents.items() if "Log" in name])
    for made in build(facts).decisions_now():
        told_of = [one for one in made if any(map(str.isalnum, one.decision))]
        if any(one.by == "user" or one.rationale or one.rejected for one in told_of):
            assert log.newest([one_line(told_of[-1].decision)]) is not None, made


AGAIN = [
    Decided(turn=0, by="agent", key="a", decision="Keep tabs"),
    Decided(turn=1, by="agent", key="a", decision="Keep tabs", rejected="Use spaces"),
]
"""A choice whose reason is given when it is said again."""


@settings(max_examples=120)
@example(facts=AGAIN, cuts=[], log="headings")
@given(
    facts=FACTS.map(in_order),
    cuts=st.lists(st.integers(0, 8), max_size=3),
    log=st.sampled_from(sorted(LOGS)),
)
def test_whatever_is_filed_is_filed_once(facts: list[AnyFact], cuts: list[int], log: str) -> None:
    check(facts, cuts, log)


def test_two_matters_may_come_to_the_same_words() -> None:
    both = [chosen(1, "Use SQLite."), chosen(2, "use SQLite", key="cache")]
    assert len(only(Bank().file(build(both)), "decisionLog.md")) == 1
    facts: list[AnyFact] = [*both, chosen(3, "Keep tabs.")]
    check(facts, [], "ours")
    check(facts, [2], "ours")
