"""What the user pinned or laid down stays word for word through all compactions (T-C7)."""

from __future__ import annotations

import json

import pytest

from kedgeline.errors import UserError
from kedgeline.session.session import Session
from tests.living.sessions import Opening, cheaply, opened, session, steps
from tests.turns import turn

ODD = (
    "keep  two spaces",
    "line\nbreak </kedgeline-pinned>",
    "naïve ✓ 漢字",
    "`code` [t12] \\",
    '"quoted"',
)


def shown(found: Session) -> str:
    """All the text of a view."""
    texts = []
    for message in found.view("openai-chat").messages:
        content = message.get("content")
        texts.append(content if isinstance(content, str) else json.dumps(content))
        if isinstance(content, list):
            texts += [part.get("text", "") for part in content if isinstance(part, dict)]
    return "\n".join(texts)


RULE = "Always run  `make lamps`\tbefore you commit, never after."
REQUEST = "now light the western lamp, and only that one"


def test_standing_instructions_and_the_request_survive_real_compactions(opening: Opening) -> None:
    """T-C7, T-C8: opencode#16372, codex#27731; also when hundreds of steps follow the request."""
    turns = [turn(0, user=RULE, says="I will.", tokens=40), *steps(12, first=1)]
    for number in range(6):
        with opened(opening) as found:
            found.append(turns)
            found.compact(window=1_500)
            text = shown(found)
            assert RULE in text, number
            if number:
                assert REQUEST in text, number
        asked = [turn(0, user=REQUEST, says="yes", tokens=30)] if not number else []
        silent = [
            turn(
                0, *zip(one.tool_calls, one.tool_results, strict=True), says=one.assistant_response
            )
            for one in steps(9, first=len(turns))
        ]
        turns = [*turns, *asked, *silent]


def test_a_pin_is_taken_back_by_its_words_its_turn_or_its_number() -> None:
    found = session()
    found.append(steps(10))
    first, second, third = found.pin("hold this"), found.pin("t2"), found.pin(3)
    cheaply(found)
    assert [pin.number for pin in found.pins()] == [first.number, second.number, third.number]
    assert "hold this" in shown(found)
    assert "lamp 2 is done" in shown(found)
    found.unpin("hold this")
    found.unpin("t2")
    found.unpin(f"#{third.number}")
    assert found.pins() == []
    assert "hold this" not in shown(found)
    assert "lamp 2 is done" not in shown(found)


def test_what_is_not_there_can_be_neither_pinned_nor_unpinned() -> None:
    found = session()
    found.append(steps(3))
    before = found.store.head("s")
    for wrong in (3, -1, "t99"):
        with pytest.raises(UserError):
            found.pin(wrong)
    for wrong in ("never pinned", "t1", 77, "#77"):
        with pytest.raises(UserError):
            found.unpin(wrong)
    assert found.store.head("s") == before


def test_a_pinned_turn_that_is_not_folded_is_not_said_twice() -> None:
    found = session()
    found.append(steps(10))
    found.pin(9)
    cheaply(found)
    assert shown(found).count("lamp 9 is done") == 1
