"""People edit tables and lists of milestones on the disk while agents add, compact and undo:
nothing is lost, and an undo gives all of it back."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.bank.files import undoing
from kedge.bank.files.merging import Missing
from kedge.bank.moving import proof
from kedge.bank.moving.archives import archive_name, blocks
from kedge.bank.values import Limits, NewEntry
from kedge.errors import BankChanged
from tests.bank.banks import NOW, Kept, active, progress, stamp

LIMITS = Limits(milestones=3, references=3, entries=4, least_entries=2)
EDITS, ROUNDS = 6, 3
"""Few, as each is several transactions on a disk; the torture test has more."""
HASH = re.compile(r"[0-9a-f]{64}")

Row = Callable[[str, str, str], str]
"""A milestone by its name, its status and its time, as a line of its own."""
Act = Callable[[list[str], random.Random, int, Row], list[str]]
"""What somebody does to the lines of a file."""


def table_row(name: str, status: str, at: str) -> str:
    return f"| {name} | {status} | agent-1 | high | {at} |\n"


def item(name: str, status: str, at: str) -> str:
    return f"- [{'x' if status == 'completed' else ' '}] {name} ({at})\n"


def loose_item(name: str, status: str, at: str) -> str:
    return f"{item(name, status, at)}\n  More about {name}.\n\n"


def entry(name: str, status: str, at: str) -> str:
    return f"### [{at}] agent-1\n\n{name} is {status}.\n\n"


FILES: dict[str, tuple[str, str, Row]] = {
    "table": ("progress.md", progress([]), table_row),
    "list": ("progress.md", "# Progress\n\n", item),
    "loose list": ("progress.md", "# Progress\n\n", loose_item),
    "headings": ("activeContext.md", active(2), entry),
}


def last(lines: list[str], chance: random.Random, number: int, row: Row) -> list[str]:
    days = chance.randrange(60)
    return [*lines, row(f"T-{number}", "completed", stamp(NOW - timedelta(days=days)))]


def anywhere(lines: list[str], chance: random.Random, number: int, row: Row) -> list[str]:
    status = chance.choice(["completed", "open"])
    at = stamp(NOW - timedelta(days=31 + chance.randrange(300)))
    return put(lines, chance, row(f"T-{number}", status, at))


def again(lines: list[str], chance: random.Random, number: int, row: Row) -> list[str]:
    """The same old milestone as before, in other places."""
    same = row("T-0", "completed", stamp(NOW - timedelta(days=200)))
    return put(put(lines, chance, same), chance, same)


def comment(lines: list[str], chance: random.Random, number: int, row: Row) -> list[str]:
    return put(lines, chance, f"<!-- a person's remark {number} -->\n")


ACTS: tuple[Act, ...] = (last, last, anywhere, anywhere, again, comment)


def put(lines: list[str], chance: random.Random, new: str) -> list[str]:
    """Before an entry, or at the end."""
    starts = ("| T-", "- [", "### [")
    places = [n for n, line in enumerate(lines) if line.startswith(starts)]
    place = chance.choice([*places, len(lines)])
    return [*lines[:place], *new.splitlines(keepends=True), *lines[place:]]


def told(text: str, whole: dict[str, str]) -> Iterator[str]:
    """Every line that says something; for a reference, what it stands for."""
    for line in text.splitlines():
        found = HASH.search(line) if "Archived: " in line else None
        if found and found[0] in whole:
            yield from told(whole[found[0]], whole)
        elif line.strip():
            yield line


def all_told(bank: Kept, name: str) -> Counter[str]:
    archive = bank.files.get(archive_name(name), b"")
    return Counter(
        told(bank.text(name), {one.sha256: one.content.decode() for one in blocks(archive)})
    )


def lived(folder: Path, shape: str, acts: list[tuple[Act, int]]) -> None:
    name, text, row = FILES[shape]
    bank = Kept(folder, LIMITS)
    bank.put(**{name: text})
    for number, (act, seed) in enumerate(acts, start=1):
        chance = random.Random(seed)
        for more in range(chance.randrange(1, 4)):
            lines = bank.text(name).splitlines(keepends=True)
            bank.put(**{name: "".join(act(lines, chance, 10 * number + more, row))})
        before, files = all_told(bank, name), dict(bank.files)
        plan = bank.compact()
        assert not [note for note in plan.notes if "was left as it is" in note], plan.notes
        assert before == all_told(bank, name)
        if plan.files and chance.random() < 0.6:
            undone(bank, name, files, chance, number)
    assert bank.verify().sound


def undone(
    bank: Kept, name: str, files: dict[str, bytes], chance: random.Random, number: int
) -> None:
    """At once, to the byte; or after an agent wrote more, which then stays."""
    if chance.random() < 0.5:
        bank.undo()
        assert bank.files == files
        return
    at = NOW + timedelta(minutes=number)
    bank.add(name, NewEntry(agent="agent-2", at=at, title=f"Later {number}", text="Some more."))
    before = all_told(bank, name)
    bank.undo()
    assert before == all_told(bank, name)
    assert f"Later {number}" in bank.text(name)
    assert bank.files.get(archive_name(name)) == files.get(archive_name(name))


HISTORIES = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 2**32)), min_size=EDITS, max_size=EDITS
)


@pytest.mark.parametrize("shape", FILES)
@settings(max_examples=ROUNDS, deadline=None)
@given(HISTORIES)
def test_milestones_survive_edits_compactions_and_undos(
    shape: str, acts: list[tuple[Act, int]]
) -> None:
    with TemporaryDirectory() as folder:
        lived(Path(folder) / "bank", shape, acts)


@pytest.mark.torture
@pytest.mark.parametrize("shape", FILES)
@settings(max_examples=50 * ROUNDS, deadline=None)
@given(HISTORIES)
def test_milestones_survive_many_more_edits(shape: str, acts: list[tuple[Act, int]]) -> None:
    with TemporaryDirectory() as folder:
        lived(Path(folder) / "bank", shape, acts)


NOT_MOVED = proof._not_moved
STORY: list[tuple[Act, int]] = [
    (act, seed) for seed, act in enumerate([again, last, anywhere, last, again, anywhere] * 2)
]


def test_a_planted_bug_that_reads_a_block_once_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two references to one block."""

    def once(
        gone: Counter[str], references: Iterable[str], contents: dict[str, bytes]
    ) -> Counter[str]:
        return NOT_MOVED(gone, set(references), contents)

    monkeypatch.setattr(proof, "_not_moved", once)
    with pytest.raises(AssertionError, match="would not be found again"):
        lived(tmp_path / "bank", "headings", STORY)


def test_a_planted_bug_that_only_merges_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were written beside a reference."""
    monkeypatch.setattr(undoing, "taken_back", lambda before, after, now: Missing(b""))
    with pytest.raises(BankChanged, match="nothing was undone"):
        lived(tmp_path / "bank", "table", STORY)
