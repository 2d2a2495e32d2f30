"""What compactions saved and cost, from what was reported around them."""

from __future__ import annotations

from pathlib import Path

from kedgeline.economy.counting import LedgerBuilder, Made, Saving, count_reading, count_turns
from kedgeline.economy.report import cost_page, cost_report
from kedgeline.model import Turn
from kedgeline.pipeline.read import stream
from tests.economy.ledger.sessions import OPUS, Charged, message_id, savings_of, used


def charged(index: int, read: int, write: int = 0) -> Turn:
    return Turn(
        index=index, message_id=message_id(index), model=OPUS, usage=used(0, 10, read, write)
    )


def kept(*turns: Turn, made: tuple[Made, ...]) -> tuple[Saving, ...]:
    return count_turns(LedgerBuilder(), turns, source="harbor", made=made)


def test_a_clients_own_compaction_is_measured_from_usage(tmp_path: Path) -> None:
    records = Charged()
    records.user("go")
    records.charged(1, read=100_000)
    records.add("system", subtype="compact_boundary", compactMetadata={"preTokens": 101_000})
    summary = "This session is being continued from a previous conversation. " + "word " * 99
    records.user(summary, isCompactSummary=True)
    for number in (2, 3, 4):
        records.user("on")
        records.charged(number, read=1_000, write=20_000 if number == 2 else 0)
    (saving,) = savings_of(records.written(tmp_path / "a.jsonl"))
    assert (saving.before, saving.after) == (101_000, 21_003), "after: as reported for t1"
    assert (saving.turn, saving.turns) == (1, 3)
    assert saving.saved == 3 * (101_000 - 21_003)
    assert saving.cache_write == 20_000
    assert saving.summary is not None
    assert saving.summary_estimated
    assert saving.summary.input == 101_000
    assert saving.summary.output > 99


def test_a_kept_compaction_saves_until_the_next_one() -> None:
    turns = [charged(0, 50_000), *(charged(i, 10_000, 2_000) for i in (1, 2, 3))]
    first = Made(turn=1, by="kedgeline", before=50_000, after=12_000, by_model=False)
    second = Made(turn=3, by="kedgeline", before=12_000, after=11_000, by_model=False)
    one, two = kept(*turns, made=(first, second))
    assert (one.turns, one.saved, one.cache_write) == (2, 2 * 38_000, 2_000)
    assert (two.turns, two.remark) == (1, "the reported context did not shrink (12,000 to 12,000)")
    assert two.saved == 0
    assert one.summary is None, "no model wrote it"


def test_a_view_that_was_not_used_saved_nothing() -> None:
    """A compaction of a kept session whose agent went on with its own context."""
    turns = [charged(0, 50_000), charged(1, 51_000)]
    (saving,) = kept(*turns, made=(Made(turn=1, by="kedgeline", before=50_000, after=9_000),))
    assert saving.saved == 0
    assert "did not shrink" in saving.remark


def test_what_was_undone_saved_nothing() -> None:
    made = Made(turn=1, by="kedgeline", before=50_000, after=9_000, undone=True)
    (saving,) = kept(charged(0, 50_000), charged(1, 9_000), made=(made,))
    assert (saving.saved, saving.remark) == (0, "undone")


def test_money_is_that_of_the_sessions_model() -> None:
    builder = LedgerBuilder()
    made = Made(turn=1, by="kedgeline", before=1_010_000, after=10_000, by_model=False)
    turns = [charged(0, 1_010_000), charged(1, 0, 10_000)]
    savings = count_turns(builder, turns, source="harbor", made=(made,))
    (priced,) = cost_report(builder.ledger(), savings).compactions
    assert priced.saved is not None
    assert priced.taken is not None
    assert priced.saved.amount == 0.5, "a million tokens that were not read from the cache"
    assert priced.taken.amount == 0.0625, "10,000 tokens written into it"


def test_one_that_was_undone_does_not_end_the_savings_of_the_one_that_stands() -> None:
    turns = [charged(0, 50_000), *(charged(i, 10_000) for i in range(1, 6))]
    first = Made(turn=1, by="kedgeline", before=50_000, after=10_000, by_model=False)
    undone = first._replace(turn=3, undone=True)
    last = first._replace(turn=5)
    one, gone, _ = kept(*turns, made=(first, undone, last))
    assert (one.turns, one.saved) == (4, 4 * 40_000)
    assert gone.saved == 0


def test_a_compaction_is_listed_once_however_many_copies_are_read(tmp_path: Path) -> None:
    records = Charged()
    records.user("go")
    records.charged(1, read=100_000)
    records.add("system", subtype="compact_boundary", compactMetadata={"preTokens": 101_000})
    records.user("on")
    records.charged(2, read=1_000)
    first = records.written(tmp_path / "a.jsonl")
    records.user("further")
    records.charged(3, read=1_000)
    resumed = records.written(tmp_path / "b.jsonl")
    builder = LedgerBuilder()
    savings = [
        saving
        for path in (first, first, resumed)
        for saving in count_reading(builder, stream(path), source=str(path))
    ]
    assert len(savings) == 3
    (priced,) = cost_report(builder.ledger(), savings).compactions
    assert (priced.saving.session, priced.saving.turns) == (str(first), 2)


def test_what_a_compaction_took_is_not_nothing_where_nobody_knows() -> None:
    builder = LedgerBuilder()
    made = Made(turn=1, by="other", before=None, after=None)
    savings = count_turns(builder, [Turn(index=0), Turn(index=1)], source="s", made=(made,))
    report = cost_report(builder.ledger(), savings)
    (priced,) = report.compactions
    assert (priced.saved, priced.taken) == (None, None)
    row = next(
        line for line in cost_page(report, title="s").splitlines() if line.startswith("| t1 ")
    )
    assert "$" not in row
    assert row.endswith("| – |")
