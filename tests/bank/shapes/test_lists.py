"""Entries that are items of lists, as they are found in the field."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedge.bank.shapes import items, with_entry
from kedge.bank.values import Entry, Limits, Other
from tests.bank.banks import Bank
from tests.bank.shapes.field import NEW, QUOTED, grown, read, refusals, titles
from tests.bank.shapes.made import HASH

LISTED = f"- Archived: 2 entries: both (progress.archive.md, sha256:{HASH})\n"
BETWEEN = ("", "\n", "\n\n", "\n## Section\n\n", "## Close\n", "\n- no box\n", "<!-- by hand -->\n")


def lists(draw: st.DrawFn, first: str) -> str:
    """A list with blank lines, headings and comments of a person between its items."""
    rows = [f"{first.format(day=draw(st.integers(1, 28)), n=n)}\n" for n in range(6)]
    return "# P\n\n" + "".join(row + draw(st.sampled_from(BETWEEN)) for row in rows)


@st.composite
def checklists(draw: st.DrawFn) -> str:
    return lists(draw, "- [x] M-{n}: thing (2025-01-{day:02})")


@st.composite
def dated_lists(draw: st.DrawFn) -> str:
    return lists(draw, "* [2025-01-{day:02} 10:00:00] - thing {n}")


LOOSE = "# P\n\n" + "".join(f"- [x] M-{n}: t (2025-01-{n:02})\n\n" for n in (2, 6, 1, 5, 4, 3))


@settings(max_examples=60, deadline=None)
@given(checklists(), st.integers(0, 5))
@example(LOOSE, 3)
@example(LOOSE + "## Close\n", 3)
def test_any_checklist_can_be_compacted_again_and_again(text: str, stay: int) -> None:
    """An item is the same whatever follows it, or it could not be found again."""
    bank = Bank(Limits(milestones=stay), progress_md=text)
    for left in {stay, stay // 2}:
        bank.limits = Limits(milestones=left)
        assert refusals(bank.compact()) == []
    assert len(list(bank.document("progress.md").entries())) <= stay


@settings(max_examples=40, deadline=None)
@given(dated_lists(), st.integers(1, 5))
def test_any_list_of_dated_items_can_be_compacted(text: str, stay: int) -> None:
    bank = Bank(Limits(entries=stay, least_entries=1), activeContext_md=text)
    assert refusals(bank.compact()) == []
    assert len(list(bank.document("activeContext.md").entries())) == stay


def test_these_checks_see_items_that_depend_on_what_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: blank lines are an item's own only before another item."""
    behind = items.read_items

    def careless(name: str, text: str, *more: object) -> tuple[object, ...]:
        pieces = list(behind(name, text, *more))  # type: ignore[arg-type]
        for n, (one, following) in enumerate(pairwise([*pieces, Other(text="", line=0)])):
            if isinstance(one, Entry) and not isinstance(following, Entry):
                short = one.text.rstrip() + "\n"
                pieces[n] = Entry(text=short, line=one.line, done=one.done, at=one.at)
        return tuple(pieces)

    monkeypatch.setattr("kedge.bank.shapes.checklists.read_items", careless)
    assert refusals(Bank(Limits(milestones=3), progress_md=LOOSE).compact())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [x] a\n- [x] b\n\n## Next\n", "- [x] a\n- [x] b\n- [ ] Third port"),
        ("- [x] a\n\n- [x] b\n\n## Next\n", "- [x] a\n\n- [x] b\n\n- [ ] Third port"),
        ("- [x] a\n\n- [x] b", "- [x] a\n\n- [x] b\n\n- [ ] Third port"),
    ],
)
def test_a_new_item_keeps_the_gaps_of_the_list(text: str, expected: str) -> None:
    written = with_entry(read(text, "progress.md"), NEW)
    assert written.startswith(expected)
    assert written.endswith("\n\n## Next\n") or "Next" not in text


def test_a_checklist_of_which_all_items_were_moved_stays_one() -> None:
    document = read(f"# P\n\n{LISTED}", "progress.md")
    assert (document.shape, len(list(document.references()))) == ("checklists", 1)
    assert "- [ ] Third port" in with_entry(document, NEW)
    assert read(f"# P\n\n{QUOTED}", "progress.md").shape == "dated"
    assert read("# P\n\n- Archived: see the wiki\n", "progress.md").shape == "tables"


@pytest.mark.parametrize(
    ("item", "day"),
    [
        ("Import the 2019-01-01 dump", None),
        ("M-1: the dump of 2019-01-01 is read", None),
        ("Thing (needs the 2019-01-01-dump)", None),
        ("Thing (2019-01-02)", 2),
        ("Thing [2019-01-03]", 3),
        ("Thing (completed 2019-01-04)", 4),
        ("Thing, done 2019-01-05 by Mate", 5),
        ("Thing, Completed: 2019-01-06", 6),
        ("2019-01-07: thing of 2018-01-01", 7),
        ("M-1: **2019-01-08** thing", 8),
        ("Thing ✅ 2019-01-09", 9),
        ("Thing - 2019-01-10", 10),
        ("Ship on 2019-01-11", 11),
    ],
)
def test_only_a_date_that_says_when_is_the_time_of_an_item(item: str, day: int | None) -> None:
    [entry] = read(f"- [x] {item}\n", "progress.md").entries()
    assert entry.at == (datetime(2019, 1, day, tzinfo=UTC) if day else None)


@pytest.mark.parametrize(
    ("below", "done"),
    [
        ("  - [ ] open\n", False),
        ("\t* [ ] open\n", False),
        ("  - [x] done\n", True),
        ("  ```\n  - [ ] code\n  ```\n", True),
    ],
)
def test_an_item_with_something_open_below_it_is_not_done(below: str, done: bool) -> None:
    first, _ = read(f"- [x] parent (2025-01-01)\n{below}- [ ] next\n", "progress.md").entries()
    assert first.done == done


SECTIONED = "# Active\n\n## Recent Changes\n\n{}\n## Open Questions\n\n* [2026-01-01] q?\n"


def test_items_with_a_date_are_entries_and_a_new_one_goes_beside_the_newest() -> None:
    rising = "* [2026-01-02 10:00:00] - first\n* [2026-01-03 11:00:00] second\n  more of it\n"
    document = read(SECTIONED.format(rising))
    assert (document.shape, titles(document)) == ("dated_lists", ["first", "second", "q?"])
    assert [e.at.hour for e in document.entries() if e.at] == [10, 11, 0]
    again = grown(document)
    assert again.shape == "dated_lists"
    assert again.text.index("second") < again.text.index("Third port") < again.text.index("## Open")
    log = read(SECTIONED.format(rising), "decisionLog.md")
    assert len(titles(log)) == 3


def test_items_with_a_date_keep_the_newest_on_top() -> None:
    falling = "".join(f"- [2026-01-0{n}] change {n}\n" for n in (5, 4, 3, 2))
    document = read(f"# A\n\n{falling}")
    assert titles(grown(document))[0] == "Third port"
    assert "- [2026-03-01] - Third port\n  - **Time**" in with_entry(document, NEW)


def test_links_and_boxes_are_no_items_with_a_date() -> None:
    text = "- [2026-01-02](notes/a.md)\n- [2026-01-02][ref]\n- [x] 2026-01-02\n- [2026] plans\n"
    assert read(text).shape == "dated"
    assert titles(read(text)) == []
