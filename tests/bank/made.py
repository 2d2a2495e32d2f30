"""Random bank files of known content, random entries, and what a person may do to a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from hypothesis import strategies as st

from kedgeline.bank.entries import BankEntry, NewEntry

START = datetime(2026, 1, 1, tzinfo=UTC)
HASH = "a1" * 32

HOSTILE = (
    "# A title",
    "## A section",
    "### [2026-02-23T00:00:00Z] Somebody",
    " ### 2026-02-23 - title",
    "###\tDEC-001: taken",
    "### DEC-999: forged",
    "Underlined\n=======",
    "Underlined too\n--------",
    "```",
    "~~~~",
    "- ```python",
    "<!-- hidden",
    "-->",
    f"> Archived: 3 entries: forged (x.archive.md, sha256:{HASH})",
    f"- Archived: 3 entries: forged (x.archive.md, sha256:{HASH})",
    f'{{"archived": 3, "archive": "x.md", "sha256": "{HASH}"}}',
    '{"ts": "2026-02-23T00:00:00Z", "predecessor_hash": ""}',
    "<<<<<<< HEAD",
    ">>>>>>> theirs",
    "=======",
    "Status: completed",
    "- **Summary**: forged",
    "**Agent:** forged",
    "* Id: forged",
    "Title: forged",
    "Date: 2020-01-01",
    "Sources:\n- forged.py",
    "| task_id | status |\n|---|---|\n| T-9 | done | too | many |",
    "- [x] forged (2020-01-01)",
    "---\nkey: value\n---",
    "</kedgeline-summary>",
    "colour \x1b[31mred\x1b[0m, bell \x07, half \ud800, turned \u202e",
    "a\rb\u2028c\x85d\x0be",
    "    indented",
    "\ttabbed",
    "",
)
"""Lines that would break a file, or pass for something of ours."""

_plain = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=30)
_line = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30), _plain)
hostile_texts = st.lists(_line, max_size=8).map("\n".join)
times = st.datetimes(
    min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC)
)
new_entries = st.builds(
    NewEntry,
    agent=st.one_of(st.just("Harbour Pilot"), hostile_texts),
    at=times,
    text=hostile_texts,
    title=st.one_of(st.just("a title"), hostile_texts),
    status=st.sampled_from(("", "Active", "completed", "### odd\nDate: 1999-01-01")),
    sources=st.lists(st.one_of(st.just("src/a.py"), hostile_texts), max_size=3).map(tuple),
    summary=hostile_texts,
    fields=st.dictionaries(
        st.sampled_from(("Context", "Rationale", "Date", "summary", "archived", "a*|b:\nc")),
        hostile_texts,
        max_size=3,
    ),
).filter(lambda new: any(map(str.isalnum, new.title)))


class Made(NamedTuple):
    """A file, and the entries it was made of, in its order: their text with plain newlines, or
    their ids."""

    name: str
    text: str
    entries: tuple[str, ...]


OTHERS = (
    "## A section\n\n",
    "## Another one ##\n",
    "### Notes\nWritten by hand.\n\n",
    "Underlined\n==========\n\n",
    "A title\n--------\n\n",
)
"""What ends an entry or can stand before one, and is nobody's."""
ANYWHERE = (
    "> Archived: 3 entries: no hash (x.archive.md, sha256:123)\n\n",
    f"> Archived: 3 entries, 2026-99-99 to 2026-01-01: x (x.md, sha256:{HASH})\n\n",
    "Some prose, and a list:\n- one\n- two\n\n",
    "<!-- a comment\n### [2026-01-01] hidden\n### DEC-777: hidden\n-->\n\n",
    "```\n### [2026-01-01] in code\n### DEC-777: in code\n- [x] in code\n```\n\n",
    "- ```md\n  ### [2026-01-01] in a list\n  ```\n\n",
    "- ~~~\n  left open by a list\n\nand over\n\n",
    "| port | depth |\n|---|---|\n| North | 4 | 5 |\n\n",
    "---\n\n",
    "* * *\n",
    "#### A smaller heading\n\n",
    "1. ` ``` ` inline, and ```code``` too\n\n",
    "trailing blanks  \t \n\n",
)
"""What changes nothing wherever it stands."""
FOOTERS = tuple(part for part in ANYWHERE if part.startswith(("---", "* * *", "<!--")))
"""What is the entry's before another one, and nobody's at the end of a file or a section."""
REFERENCE = (
    f"> Archived: 2 entries, 2026-01-02 to 2026-01-03: both (x.archive.md, sha256:{HASH})\n\n"
)


def dated_entry(number: int) -> str:
    return f"### [{START + timedelta(hours=number):%Y-%m-%dT%H:%M:%SZ}] Agent {number}\n"


def decision_entry(number: int) -> str:
    return f"### DEC-{number:03}: Title {number}\n- **Date**: 2026-01-02\n"


@st.composite
def block_files(draw: st.DrawFn) -> Made:
    """A file whose entries begin with headings."""
    make, name = draw(
        st.sampled_from(((dated_entry, "activeContext.md"), (decision_entry, "decisionLog.md")))
    )
    filler = st.lists(st.sampled_from((*OTHERS, *ANYWHERE, REFERENCE)), max_size=3)
    front = draw(st.sampled_from(("", "---\nid: x\n# no heading\n---\n", "# A file\n\n")))
    parts, entries = [front, *draw(filler)], []
    numbers = draw(st.lists(st.integers(0, 900), max_size=6, unique=True))
    for number in numbers:
        entry = make(number) + draw(st.sampled_from(("\n", "Text of it.\n\n")))
        behind = draw(filler)
        own = list(takewhile(lambda part: part in ANYWHERE, behind))
        rest = behind[len(own) :]
        if (rest or number == numbers[-1]) and rest[:1] != [REFERENCE]:
            behind = [part for part in own if part not in FOOTERS] + rest
        own = takewhile(lambda part: part in ANYWHERE, behind)
        entries.append("".join((entry, *own)))
        parts += [entry, *behind]
    return Made(name, ended(draw, "".join(parts)), tuple(entries))


@st.composite
def table_files(draw: st.DrawFn) -> Made:
    columns = draw(st.permutations(("task_id", "status", "agent", "updated_at", "odd")))
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    entries, parts = [], ["# Progress\n\n"]
    for table in range(draw(st.integers(0, 2))):
        parts.append(head)
        for row in range(draw(st.integers(0, 4))):
            entries.append(f"T-{table}{row}")
            values = {"task_id": entries[-1], "status": "done", "odd": "a \\| b"}
            parts.append(f"| {' | '.join(values.get(name, '') for name in columns)} |\n")
        parts += ["\n", *draw(st.lists(st.sampled_from(ANYWHERE), max_size=2)), "\n"]
    return Made("progress.md", ended(draw, "".join(parts)), tuple(entries))


@st.composite
def json_files(draw: st.DrawFn) -> Made:
    entries = tuple(f"DEC-{n:03}" for n in range(draw(st.integers(0, 5))))
    lines = []
    for entry in entries:
        extra = draw(st.dictionaries(st.text(min_size=9, max_size=12), st.integers(), max_size=2))
        lines.append(json.dumps({"id": entry, "ts": "2026-01-02T00:00:00Z", **extra}) + "\n")
        lines += draw(
            st.lists(st.sampled_from(("\n", "  \n", '{"archived": "forged"}\n')), max_size=2)
        )
    return Made("decisionLog.jsonl", ended(draw, "".join(lines)), entries)


files = st.one_of(block_files(), table_files(), json_files())


def ended(draw: st.DrawFn, text: str) -> str:
    """With the line ends, the byte order mark and the last newline that some editors leave."""
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        text = text.removesuffix("\n").removesuffix("\r")
    return f"\ufeff{text}" if draw(st.booleans()) else text


def named(made: Made, entry: BankEntry) -> str:
    """What the file was made with for this entry."""
    if made.name in ("progress.md", "decisionLog.jsonl"):
        return entry.id
    return entry.text.replace("\r\n", "\n")
