"""Which names stand in a text."""

from __future__ import annotations

import pytest

from bench.replay.names import Finder, roots_of
from kedgeline.model import Change, SessionFacts, Transcript

FINDER = Finder(("/home/sam/harbor",))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("open /home/sam/harbor/src/berths.py.", {"src/berths.py": "path"}),
        ("see ./src/berths.py:12, and", {"src/berths.py": "path"}),
        ("/home/sam/harbor/README.md", {"README.md": "file"}),
        ("in /srv/tides/table.csv now", {"/srv/tides/table.csv": "path"}),
        ("the docs/pier/moor folder", {"docs/pier/moor": "path"}),
        ("edit berths.py", {"berths.py": "file"}),
        (
            "call assign_berth and findPier",
            {"assign_berth": "identifier", "findPier": "identifier"},
        ),
        ("MOORING_FEE applies", {"MOORING_FEE": "identifier"}),
        ("commit 4f2a9c1 is in", {"4f2a9c1": "hash"}),
        ("as in HARB-421 and #381", {"HARB-421": "ticket", "#381": "ticket"}),
        ("(https://tides.example/api/v2?x=1).", {"https://tides.example/api/v2?x=1": "url"}),
        ("on port 8443.", {"8443": "number"}),
    ],
)
def test_a_name_is_found_with_its_kind(text: str, names: dict[str, str]) -> None:
    assert FINDER.names_in(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "read/write and either/or",
        "vessel.name is self.pier",
        "t.Log(message)",
        "2 > /dev/null",
        "*_test.py",
        "in *_test.py",
        "12 of 99",
        "it costs 1,250 or 3.141",
        "defaced and acceded",
        "   120→nothing here\n   121→nor here",
        "/home/REDACTED/berths.py",
        "REDACTED.py and https://REDACTED.example/tides",
        "plain words Only",
    ],
)
def test_what_is_no_name_is_not_taken_for_one(text: str) -> None:
    assert FINDER.names_in(text) == {}


def test_the_first_root_counts_and_not_where_the_agent_went_for_a_while() -> None:
    roots = ("/home/sam/harbor", "/home/sam/harbor/src", "/home/sam", "/srv/tides")
    changes = tuple(Change(turn=n, name="root", value=root) for n, root in enumerate(roots))
    transcript = Transcript(format="plain", session=SessionFacts(changes=changes))
    assert roots_of(transcript) == ("/home/sam/harbor", "/srv/tides")
