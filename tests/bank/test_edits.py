"""People edit the files between compactions, in every way an editor allows: all of it survives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.archive import archive_name
from kedgeline.bank.compaction import BankPlan
from kedgeline.bank.entries import Limits, Reference
from tests.bank.banks import NOW, Bank, active_entry, blocks, pieces_with_archived

NAME = "activeContext.md"
LIMITS = Limits(entries=6, least_entries=3)
EDITS, ROUNDS = 20, 50
"""A thousand edits: fifty histories of twenty."""

Edit = Callable[[list[str], random.Random, int], list[str]]
"""Lines of the file, chance, and the number of the edit, which makes its words unlike any other."""


def new_entry(lines: list[str], chance: random.Random, number: int) -> list[str]:
    at = NOW + timedelta(minutes=number)
    lines = ended(lines)
    first = min(heads(lines), default=len(lines))
    return [*lines[:first], active_entry(number, at=at), *lines[first:]]


def old_entry(lines: list[str], chance: random.Random, number: int) -> list[str]:
    """Somebody writes down later what happened earlier, anywhere."""
    at = NOW - timedelta(days=chance.randrange(400))
    return between(lines, chance, [active_entry(number, at=at)])


def paragraph(lines: list[str], chance: random.Random, number: int) -> list[str]:
    words = f"  A person's words {number},   oddly\tspaced.  \n"
    return between(lines, chance, ["\n", words, "\n"], anywhere=True)


def section(lines: list[str], chance: random.Random, number: int) -> list[str]:
    return between(lines, chance, [f"## Section {number}\n", "\n", f"- [ ] task {number}\n", "\n"])


def comment(lines: list[str], chance: random.Random, number: int) -> list[str]:
    return between(lines, chance, [f"<!-- comment {number}\n", "### [2020-01-01] no entry -->\n"])


def fence(lines: list[str], chance: random.Random, number: int) -> list[str]:
    inside = [f"### [2020-01-01T00:00:00Z] code {number}\n", "> Archived: 3 entries: x\n"]
    return between(lines, chance, ["```\n", *inside, "```\n", "\n"])


def fake_block(lines: list[str], chance: random.Random, number: int) -> list[str]:
    marker = f"<!-- kedgeline:block entries=1 lead=0 bytes={number} sha256={'a' * 64} -->\n"
    return between(lines, chance, [marker, f"words {number}\n", "\n"])


def reworded(lines: list[str], chance: random.Random, number: int) -> list[str]:
    places = [n for n, line in enumerate(lines) if line.startswith("Wired")]
    if places:
        lines[chance.choice(places)] = f"Wired otherwise {number} 🧵 — in another way.\n"
    return lines


def removed(lines: list[str], chance: random.Random, number: int) -> list[str]:
    """A line of a person's own goes; that is theirs to do."""
    places = [n for n, line in enumerate(lines) if "A person's" in line]
    if places:
        del lines[chance.choice(places)]
    return lines


def no_last_newline(lines: list[str], chance: random.Random, number: int) -> list[str]:
    return [*lines[:-1], lines[-1].rstrip("\n") or f"end {number}"]


def windows(lines: list[str], chance: random.Random, number: int) -> list[str]:
    place = chance.randrange(len(lines))
    lines[place] = lines[place].replace("\r\n", "\n").replace("\n", "\r\n")
    return lines


def turned(lines: list[str], chance: random.Random, number: int) -> list[str]:
    """Two neighbouring entries change places."""
    starts = heads(lines := ended(lines))
    if len(starts) < 3:
        return lines
    n = chance.randrange(len(starts) - 2)
    a, b, c = starts[n : n + 3]
    return [*lines[:a], *lines[b:c], *lines[a:b], *lines[c:]]


def doubled(lines: list[str], chance: random.Random, number: int) -> list[str]:
    """An entry is written down a second time, somewhere else."""
    starts = [*heads(lines := ended(lines)), len(lines)]
    if len(starts) < 2:
        return lines
    n = chance.randrange(len(starts) - 1)
    return between(lines, chance, lines[starts[n] : starts[n + 1]])


ALL: tuple[Edit, ...] = (
    *(new_entry, new_entry, new_entry, old_entry, paragraph, section, comment, fence),
    *(fake_block, reworded, removed, no_last_newline, windows, turned, doubled, doubled),
)


def between(
    lines: list[str], chance: random.Random, new: list[str], *, anywhere: bool = False
) -> list[str]:
    """Put in before an entry, or at the end; before any line only what harms none."""
    lines = ended(lines)
    places = [n for n in range(len(lines)) if safe(lines, n)] if anywhere else heads(lines)
    place = chance.choice([*places, len(lines)])
    return [*lines[:place], *new, *lines[place:]]


def ended(lines: list[str]) -> list[str]:
    """With a newline behind the last line, as an editor puts it before more is typed."""
    return lines if not lines or lines[-1].endswith("\n") else [*lines[:-1], lines[-1] + "\n"]


def heads(lines: list[str]) -> list[int]:
    """Where entries begin."""
    return [n for n, line in enumerate(lines) if line.startswith("### [2") and safe(lines, n)]


def safe(lines: list[str], place: int) -> bool:
    """Whether a line is in neither a code block nor a comment."""
    above = "".join(lines[:place])
    return above.count("```") % 2 == 0 and above.count("<!--") == above.count("-->")


def all_lines(bank: Bank) -> Counter[str]:
    """Every line of file and archive that is not ours."""
    document = bank.document(NAME)
    archive = bank.files.get(archive_name(NAME), b"")
    pieces = pieces_with_archived(document, archive)
    texts = [piece.text for piece in pieces if not isinstance(piece, Reference)]
    return Counter(line for text in texts for line in text.splitlines(keepends=True))


def lived(edits: Iterable[tuple[Edit, int]]) -> Bank:
    """A file that is edited and compacted in turns. Whatever stood there before a compaction, to
    the byte of every line, stands in file or archive behind it."""
    bank = Bank(LIMITS, activeContext_md="# Active Context\n\n" + active_entry(0))
    for number, (edit, seed) in enumerate(edits, start=1):
        lines = bank.text(NAME).splitlines(keepends=True)
        bank.files[NAME] = "".join(edit(lines, random.Random(seed), number)).encode()
        before = all_lines(bank)
        assert not refused(bank.compact())
        assert before == all_lines(bank)
        assert len(list(bank.document(NAME).entries())) <= LIMITS.entries
    assert bank.verify().sound
    return bank


def refused(plan: BankPlan) -> list[str]:
    return [note for note in plan.notes if "was left as it is" in note]


HISTORIES = st.lists(
    st.tuples(st.sampled_from(ALL), st.integers(0, 2**32)), min_size=EDITS, max_size=EDITS
)


@settings(max_examples=ROUNDS, deadline=None)
@given(HISTORIES)
def test_every_edit_of_a_person_survives(edits: list[tuple[Edit, int]]) -> None:
    lived(edits)


def test_a_twin_of_an_archived_entry_can_go_too() -> None:
    """Its block is in the archive already, and the reference to that one moves at the same time."""
    edits: list[tuple[Edit, int]] = [
        *[(new_entry, 0)] * 3,
        *[(paragraph, 0)] * 6,
        (doubled, 1),
        *[(new_entry, 0)] * 4,
        (no_last_newline, 0),
        (new_entry, 0),
    ]
    assert len(list(blocks(lived(edits).files[archive_name(NAME)]))) > 1
