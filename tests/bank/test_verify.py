"""What is wrong with a bank is named with its file and line, and how bad it is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.entries import Limits
from kedgeline.bank.verify import read_chain, verify_bank
from tests.bank.banks import (
    Bank,
    active,
    active_entry,
    active_lines,
    decision,
    decisions,
    milestone,
    progress,
)

LOG, CHAIN = "decisionLog.md", "decisionLog.chain.jsonl"
ACTIVE, ARCHIVE, LINES = "activeContext.md", "activeContext.archive.md", "activeContext.jsonl"


def compacted() -> Bank:
    bank = Bank(
        activeContext_md=active(60),
        decisionLog_md=decisions(range(101)),
        progress_md=progress([milestone(n, days=40 + n) for n in range(15)]),
    )
    bank.compact()
    return bank


def found(bank: Bank, gravity: str = "violation") -> list[tuple[str, str]]:
    return [(f.file, f.what) for f in bank.verify().found if f.gravity == gravity]


def chained(text: str) -> Bank:
    bank = Bank(decisionLog_md=text)
    bank.chain()
    return bank


def said(bank: Bank, text: str) -> list[str]:
    bank.files[LOG] = text.encode()
    return [what for _, what in found(bank)]


def test_a_bank_that_was_compacted_is_sound() -> None:
    findings = compacted().verify()
    assert findings.found == ()
    assert findings.sound
    assert "3 files with 161 entries, 2 archive blocks" in findings.checked


def test_a_changed_archive_is_named_with_the_line_of_its_block_and_of_the_reference() -> None:
    bank = compacted()
    bank.files[ARCHIVE] = bank.files[ARCHIVE].replace(b"part 4 ", b"part 5 ")
    damaged, reference = bank.verify().found
    assert damaged.file == ARCHIVE
    assert "kedgeline:block" in bank.text(ARCHIVE).splitlines()[damaged.line - 1]
    assert "its content was changed" in damaged.what
    assert reference.file == ACTIVE
    assert "Archived" in bank.text(ACTIVE).splitlines()[reference.line - 1]
    assert str(damaged).startswith(f"violation: {ARCHIVE}, line {damaged.line}: ")
    assert str(damaged).endswith("put the archive back from a copy or from git")


def test_a_reference_that_was_taken_out_is_a_note_and_a_wrong_number_a_warning() -> None:
    bank = compacted()
    (reference,) = bank.document(ACTIVE).references()
    bank.files[ACTIVE] = bank.text(ACTIVE).replace("10 entries", "11 entries").encode()
    assert found(bank, "warning") == [(ACTIVE, "a reference says 11 entries, its block has 10")]
    wrong = reference.text.replace("10 entries", "11 entries")
    bank.files[ACTIVE] = bank.text(ACTIVE).replace(wrong, "").encode()
    assert bank.verify().sound
    ((file, what),) = found(bank, "note")
    assert (file, "no reference leads to" in what) == (ARCHIVE, True)


def test_a_block_inside_a_block_that_is_missing_is_found() -> None:
    """References become one: the chain of blocks is followed to its end."""
    bank = Bank(Limits(entries=2), activeContext_md=active(2))
    for n in range(2, 12):
        head, _, rest = bank.text(ACTIVE).partition("\n\n")
        bank.files[ACTIVE] = f"{head}\n\n{active_entry(n)}{rest}".encode()
        bank.compact()
    assert bank.verify().found == ()
    bank.files[ARCHIVE] = bank.files[ARCHIVE].replace(b"part 0 ", b"part X ")
    nested = [what for file, what in found(bank) if file == ARCHIVE]
    assert any("a reference stands" in what for what in nested)


@pytest.mark.parametrize("gone", ["taken out", "renamed", "a link"])
def test_a_log_that_is_not_there_any_more_is_a_violation(gone: str) -> None:
    bank = compacted()
    log = bank.files.pop(LOG)
    if gone == "renamed":
        bank.files["decisions.md"] = log
    links = [LOG] if gone == "a link" else []
    findings = verify_bank(bank.documents(), bank.derived, links=links)
    files = {f.file for f in findings.found if f.gravity == "violation"}
    assert files == ({LOG} if links else {CHAIN, "decisionLog.index.md"})


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (
            {LOG: "# L\n\n### DEC-1: a\n\nb\n\n### DEC-1: c\n"},
            [(LOG, "the id DEC-1 was given already in line 3")],
        ),
        (
            {LOG: "# L\n\nWe use way 1.\n"},
            [(LOG, "no entry was recognised in decisionLog.md, so nothing was proven")],
        ),
        ({LOG: "# L\n\n<!-- none yet -->\n"}, []),
        (
            {LOG: decisions([1]), "decisionLog.index.md": "# Index of decisionLog.md\n"},
            [("decisionLog.index.md", "the index is not that of the log")],
        ),
    ],
)
def test_what_can_be_made_right_is_a_warning(
    files: dict[str, str], what: list[tuple[str, str]]
) -> None:
    bank = Bank()
    bank.files = {name: text.encode() for name, text in files.items()}
    assert found(bank, "warning") == what


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("change", ["changed", "taken out"])
def test_a_line_of_json_that_is_not_what_it_was_breaks_its_chain(
    compact: bool, change: str
) -> None:
    bank = Bank(activeContext_jsonl=active_lines(60))
    if compact:
        bank.compact()
    lines = bank.text(LINES).splitlines(keepends=True)
    if change == "changed":
        lines[30] = lines[30].replace("its tests pass", "its tests fail")
    else:
        del lines[1 if compact else 20]  # behind the reference, or in the middle
    bank.files[LINES] = "".join(lines).encode()
    ((file, what),) = found(bank)
    assert file == LINES
    assert "predecessor_hash" in what


def test_the_worst_comes_first() -> None:
    bank = compacted()
    bank.files[LOG] += decision(200).encode()
    del bank.files["progress.archive.md"]
    assert [f.gravity for f in bank.verify().found] == ["violation", "warning", "note"]


# The chain of the decision log.


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (decisions([1, 3]), ["the entry DEC-002 was taken out of the log"]),
        (decisions([1, 2, 3]).replace("way 2.", "way 9."), ["the entry DEC-002 was changed"]),
        (decisions([1, 9, 2, 3]), []),
        (decisions([1, 2, 3]).replace("\n\n### ", "\n\n---\n\n<!-- c -->\n\n### "), []),
        (decisions([1, 2, 3]).replace("\n", "\r\n"), []),
        (decisions([1, 3]) + decision(2, "Superseded by DEC-003"), []),
    ],
)
def test_what_happened_to_a_decision_is_said(text: str, what: list[str]) -> None:
    assert said(chained(decisions([1, 2, 3])), text) == what


def test_a_row_that_cannot_be_read_is_a_violation_and_is_never_overwritten() -> None:
    bank = chained(decisions([1, 2]))
    broken = b"<<<<<<< ours\n" + bank.files[CHAIN]
    bank.files[CHAIN] = broken
    assert said(bank, decisions([1, 2, 3])) == [
        "this is not a row of a chain; a merge may have left it"
    ]
    bank.chain()
    assert bank.files[CHAIN].startswith(broken)
    assert len(read_chain(bank.files[CHAIN])[0]) == 3


def test_rows_of_both_sides_of_a_merge_prove_both() -> None:
    base, ours, theirs = (
        chained(decisions(numbers)).files[CHAIN] for numbers in ([1], [1, 2], [1, 3])
    )
    bank = Bank()
    bank.files[CHAIN] = ours + theirs.removeprefix(base)
    assert said(bank, decisions([1, 3, 2])) == []
    assert said(bank, decisions([1, 2]))


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_log_that_only_grows_is_sound_and_any_loss_is_seen(chance: random.Random) -> None:
    """Wherever people put new entries: on top, at the end, in between."""
    order: list[int] = []
    bank = Bank(decisionLog_md=decisions(order))
    for number in range(1, 9):
        order.insert(chance.randrange(len(order) + 1), number)
        bank.files[LOG] = decisions(order).encode()
        bank.chain()
        assert bank.verify().sound
    order.remove(chance.choice(order))
    assert said(bank, decisions(order))
