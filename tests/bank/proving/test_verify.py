"""What is wrong with a bank is named with its file and line, and how bad it is."""

from __future__ import annotations

import pytest

from kedgeline.bank.values import Limits
from kedgeline.bank.verify import verify
from tests.bank.banks import (
    Bank,
    active,
    active_entry,
    active_lines,
    decisions,
    milestone,
    progress,
)

LOG_CHAIN = "decisionLog.chain.jsonl"
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


def test_a_bank_that_was_compacted_is_sound() -> None:
    findings = compacted().verify()
    assert findings.found == ()
    assert findings.sound
    assert "3 files with 161 entries, 2 archive blocks" in findings.checked
    assert "git history was not looked at: nobody asked for it" in findings.checked


def test_a_changed_archive_is_named_with_the_line_of_its_block_and_of_the_reference() -> None:
    bank = compacted()
    bank.files[ARCHIVE] = bank.files[ARCHIVE].replace(b"part 4 ", b"part 5 ")
    findings = bank.verify()
    assert not findings.sound
    damaged, reference = findings.found
    assert damaged.file == ARCHIVE
    assert "kedgeline:block" in bank.text(ARCHIVE).splitlines()[damaged.line - 1]
    assert "its content was changed" in damaged.what
    assert reference.file == ACTIVE
    assert "Archived" in bank.text(ACTIVE).splitlines()[reference.line - 1]
    assert str(damaged).startswith(f"violation: {ARCHIVE}, line {damaged.line}: ")
    assert str(damaged).endswith("put the archive back from a copy or from git")


def test_a_reference_that_was_taken_out_is_a_note_and_names_the_block() -> None:
    bank = compacted()
    (reference,) = bank.document(ACTIVE).references()
    bank.files[ACTIVE] = bank.text(ACTIVE).replace(reference.text, "").encode()
    assert bank.verify().sound
    ((file, what),) = found(bank, "note")
    assert (file, "no reference leads to" in what) == (ARCHIVE, True)


def test_a_wrong_number_in_a_reference_is_a_warning() -> None:
    bank = compacted()
    bank.files[ACTIVE] = bank.text(ACTIVE).replace("10 entries", "11 entries").encode()
    assert found(bank, "warning") == [(ACTIVE, "a reference says 11 entries, its block has 10")]


def test_a_block_inside_a_block_that_is_missing_is_found() -> None:
    """References that became one: the chain of blocks is followed to its end."""
    limits = Limits(entries=2, references=2)
    bank = Bank(limits, activeContext_md=active(2))
    for n in range(2, 12):
        head, _, rest = bank.text(ACTIVE).partition("\n\n")
        bank.files[ACTIVE] = f"{head}\n\n{active_entry(n)}{rest}".encode()
        bank.compact()
    assert bank.verify().found == ()
    bank.files[ARCHIVE] = bank.files[ARCHIVE].replace(b"part 0 ", b"part X ")
    nested = [what for file, what in found(bank) if file == ARCHIVE]
    assert any("a reference stands" in what for what in nested)


def test_an_entry_that_stands_in_file_and_archive_is_a_note() -> None:
    bank = compacted()
    bank.files[ACTIVE] += active_entry(3).encode()
    assert found(bank, "note") == [(ACTIVE, "the same entry stands in the archive")]


def test_an_id_that_was_given_twice_is_a_warning() -> None:
    rows = [
        f"### [2026-01-0{n}T00:00:00Z] agent\n\n**Id:** D-{n % 2}\n\nWe use way {n}.\n\n"
        for n in (3, 2, 1)
    ]
    bank = Bank(decisionLog_md="# Decision Log\n\n" + "".join(rows))
    bank.chain()
    assert found(bank, "warning") == [("decisionLog.md", "the id D-1 was given already in line 3")]


@pytest.mark.parametrize("gone", ["taken out", "renamed", "a link"])
def test_a_log_that_is_not_there_any_more_is_a_violation(gone: str) -> None:
    bank = compacted()
    log = bank.files.pop("decisionLog.md")
    if gone == "renamed":
        bank.files["decisions.md"] = log
    links = ["decisionLog.md"] if gone == "a link" else []
    findings = verify(bank.documents(), bank.derived, links=links)
    files = {f.file for f in findings.found if f.gravity == "violation"}
    assert files == ({"decisionLog.md"} if links else {LOG_CHAIN, "decisionLog.index.md"})


def test_a_log_of_no_known_form_is_a_warning() -> None:
    text = "# Decision Log\n\n<!-- none yet -->\n"
    assert found(Bank(decisionLog_md=text), "warning") == []
    bank = Bank(decisionLog_md=text + "We use way 1.\n")
    said = "no entry was recognised in decisionLog.md, so nothing was proven"
    assert found(bank, "warning") == [("decisionLog.md", said)]
    (finding,) = bank.verify().found
    assert "`### DEC-001: title`" in finding.advice


@pytest.mark.parametrize("index", ["", "# Index of decisionLog.md\n"])
def test_an_index_that_is_not_that_of_the_log_is_a_warning(index: str) -> None:
    bank = compacted()
    bank.files["decisionLog.index.md"] = index.encode()
    assert found(bank, "warning") == [("decisionLog.index.md", "the index is not that of the log")]


@pytest.mark.parametrize(("line", "compact"), [(30, False), (30, True), (55, True)])
def test_a_line_of_json_that_was_changed_breaks_its_chain(line: int, compact: bool) -> None:
    text = active_lines(60).splitlines(keepends=True)
    bank = Bank(activeContext_jsonl="".join(text))
    if compact:
        bank.compact()
    changed = bank.text(LINES).replace(f"part {line};", f"part {line}0;", 1)
    bank.files[LINES] = changed.encode()
    ((file, what),) = found(bank)
    assert file == LINES
    assert "predecessor_hash" in what


@pytest.mark.parametrize("compact", [False, True])
def test_a_line_of_json_that_was_taken_out_breaks_its_chain(compact: bool) -> None:
    bank = Bank(activeContext_jsonl=active_lines(60))
    if compact:
        bank.compact()
    lines = bank.text(LINES).splitlines(keepends=True)
    gone = 1 if compact else 20  # behind the reference, or in the middle
    bank.files[LINES] = "".join(lines[:gone] + lines[gone + 1 :]).encode()
    assert [file for file, _ in found(bank)] == [LINES]


def test_the_worst_comes_first() -> None:
    bank = compacted()
    bank.files[ACTIVE] += active_entry(3).encode()
    del bank.files["decisionLog.index.md"]
    del bank.files["progress.archive.md"]
    assert [f.gravity for f in bank.verify().found] == ["violation", "warning", "note"]
