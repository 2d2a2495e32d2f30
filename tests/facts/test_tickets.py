"""Tickets that are named in words, branches and messages."""

from __future__ import annotations

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.repository import RepositoryExtractor
from kedgeline.model import Committed, Turn
from tests.facts.speaking import told_by
from tests.turns import turn


def named(*turns: Turn) -> list[Committed]:
    found = told_by(RepositoryExtractor(Setting(root="/srv/shop")), *turns)
    return [fact for fact in found if isinstance(fact, Committed)]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("fix SHOP-248, then look at SHOP-12 again", ["SHOP-248", "SHOP-12"]),
        ("ISO-8601 in UTF-8 with SHA-256, HTTP-404 and GPT-4.1, RFC-3339", []),
        ("see PHASE-12 and x-SHOP-12 and SHOP-12-a and SHOP-12.5", []),
        ("SHOP-3 is red", []),
        ("address PR #143 and issue #9; colour #123", ["#143", "#9"]),
        ("see https://host/a/b/pull/190 please", ["https://host/a/b/pull/190"]),
        ("```\nERR SHOP-99\n```", []),
        (" ".join(f"SHOP-{n}" for n in range(10, 40)), [f"SHOP-{n}" for n in range(10, 16)]),
    ],
)
def test_tickets_in_the_user_s_words(words: str, names: list[str]) -> None:
    found = named(turn(0, user=words), turn(1, user=words))
    assert [one.name for one in found] == names
    assert {one.by for one in found} <= {"user"}
