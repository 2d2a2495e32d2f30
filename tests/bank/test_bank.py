"""The bank as a whole: what is added, compacted, undone and filed through one class."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kedgeline.bank import Bank, Limits, NewEntry
from kedgeline.errors import BankMalformed, UserError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FEW = Limits(entries=3, index_after=2, milestones=1)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def later(self, **more: float) -> None:
        self.now += timedelta(**more)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bank(tmp_path: Path, clock: Clock) -> Bank:
    made = Bank(tmp_path / "memory-bank", limits=FEW, clock=clock)
    made.begin()
    return made


def said(text: str, clock: Clock, **more: object) -> NewEntry:
    clock.later(minutes=1)
    return NewEntry(agent="builder", at=clock(), text=text, **more)  # type: ignore[arg-type]


def files(bank: Bank) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in bank.path.iterdir() if path.is_file()}


def test_a_new_bank_has_five_files_and_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "progress.jsonl").write_bytes(b"")
    assert "progress.md" not in Bank(tmp_path).begin()
    assert len(list(tmp_path.glob("*.md"))) == 4
    assert Bank(tmp_path).begin() == []


def test_nothing_is_refused(bank: Bank, clock: Clock) -> None:
    with pytest.raises(UserError, match="the entry is empty"):
        bank.add("activeContext", said("  ", clock))


def test_undo_takes_compactions_back_and_no_entries(bank: Bank, clock: Clock) -> None:
    for n in range(5):
        bank.add("activeContext", said(f"Step {n} done.", clock))
    bank.compact("anyone")
    bank.add("decisionLog", said("Use WAL", clock, title="Journal"))
    bank.add("activeContext", said("Step 5 done.", clock))
    bank.undo("anyone")
    text = (bank.path / "activeContext.md").read_text()
    assert all(f"Step {n} done." in text for n in range(6))
    assert "Use WAL" in (bank.path / "decisionLog.md").read_text()
    with pytest.raises(UserError, match="none to undo"):
        bank.undo("anyone")


def test_a_broken_file_stops_everything_before_anything_is_written(
    bank: Bank, clock: Clock
) -> None:
    bank.add("activeContext", said("Fine.", clock))
    path = bank.path / "activeContext.md"
    path.write_text(path.read_text() + "<<<<<<< HEAD\n### [2026-01-01] a\n=======\n>>>>>>> b\n")
    before = files(bank)
    for act in (
        lambda: bank.add("activeContext", said("More.", clock)),
        lambda: bank.compact("anyone"),
    ):
        with pytest.raises(BankMalformed, match=r"activeContext\.md, line \d+"):
            act()
    assert files(bank) == before


@pytest.mark.parametrize(
    "name", ["activeContext.archive", "decisionLog.chain", "decisionLog.index"]
)
def test_files_that_follow_others_take_no_entries(bank: Bank, clock: Clock, name: str) -> None:
    for n in range(5):
        bank.add("activeContext", said(f"Step {n} done.", clock))
        bank.add("decisionLog", said(f"Choice {n}", clock, title=f"Matter {n}"))
    bank.compact("anyone")
    before = files(bank)
    with pytest.raises(UserError, match="from another file; add to that file"):
        bank.add(name, said("into it", clock))
    assert files(bank) == before


def test_an_undo_leaves_the_chain_and_the_index_alone(bank: Bank, clock: Clock) -> None:
    """What was written into the log by hand is in the chain from then on, whatever is undone."""
    log = bank.path / "decisionLog.md"
    log.write_text("# Decision Log\n\n### DEC-001: Journal\n\n- **Decision**: Use WAL\n")
    for n in range(5):
        bank.add("activeContext", said(f"Step {n} done.", clock))
    bank.compact("anyone")
    bank.add("decisionLog", said("Use FTS", clock, title="Search"))
    bank.undo("anyone")
    assert bank.verify().sound
    log.write_text(log.read_text().replace("Use WAL", "Use TRUNCATE"))
    assert not bank.verify().sound


def test_a_compaction_that_moves_nothing_is_none_to_undo(bank: Bank, clock: Clock) -> None:
    for n in range(5):
        bank.add("activeContext", said(f"Step {n} done.", clock))
    before = files(bank)
    bank.compact("anyone")
    (bank.path / "decisionLog.md").write_text("# Decision Log\n\n### DEC-001: Journal\n\nWAL.\n")
    again = bank.compact("anyone")
    assert (again.number, again.derived) == (0, ("decisionLog.chain.jsonl",))
    bank.undo("anyone")
    assert files(bank)["activeContext.md"] == before["activeContext.md"]


def test_two_logs_do_not_stop_a_compaction(bank: Bank, clock: Clock) -> None:
    (bank.path / "decisionLog.jsonl").write_text('{"id": "DEC-20260101-001", "rationale": "x"}\n')
    for n in range(5):
        bank.add("activeContext", said(f"Step {n} done.", clock))
        bank.add("decisionLog.md", said(f"Choice {n}", clock, title=f"Matter {n}"))
    assert bank.compact("anyone").plan.files
    assert bank.verify().sound


def test_a_file_is_meant_however_it_is_spelt(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "active-context.md").write_text("# Active\n")
    (tmp_path / "decision_log.md").write_text("# Log\n")
    bank = Bank(tmp_path, limits=FEW, clock=clock)
    assert sorted(bank.begin()) == ["productContext.md", "progress.md", "systemPatterns.md"]
    assert bank.add("activeContext", said("Here.", clock)).file == "active-context.md"
    for n in range(5):
        bank.add("ActiveContext", said(f"Step {n} done.", clock))
    assert bank.compact("anyone").plan.files[0].archive == "active-context.archive.md"


def test_no_part_of_an_entry_keeps_a_secret_and_no_summary_is_long(
    bank: Bank, clock: Clock
) -> None:
    secret = "ghp_" + "a1B2" * 9
    new = NewEntry(
        agent=f"a {secret}",
        at=clock(),
        text="said",
        status=secret,
        summary="word " * 2_000,
        fields={secret: "x"},
    )
    bank.add("decisionLog", new)
    assert all(secret.encode() not in data for data in files(bank).values())
    assert len((bank.path / "decisionLog.md").read_text()) < 1_500


def test_a_link_is_shown_and_not_followed(bank: Bank, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("# Log\n")
    (bank.path / "decisionLog.md").unlink()
    (bank.path / "decisionLog.md").symlink_to(tmp_path / "elsewhere.md")
    assert bank.status().links == ("decisionLog.md",)
