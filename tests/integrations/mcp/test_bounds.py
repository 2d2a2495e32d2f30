"""No result is larger than a client takes, whatever the session holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.hosts.mcp.tools import RESULT_TOKENS, Page, page
from kedgeline.tokens import Estimate
from tests.integrations.mcp.serving import serving, store_of, text_of
from tests.turns import bash, edit, turn
from tests.turns import called as call

COUNT = Estimate().count
GIANT = 100_000
"""Characters: several pages."""


def giants() -> list[Any]:
    """Giant outputs, words, names, decisions and errors, and very many of all."""
    noise = "\n".join(f'{n} buoy {n * 7919 % 104_729} \\"quoted\\" ünïcode' for n in range(3_000))
    made = [
        turn(0, user=f"Never do this: {'x ' * 20_000}", says="yes " * 20_000),
        turn(1, bash("cat noise", noise), bash("cat line", "y" * GIANT)),
        turn(2, bash(f"echo {'z' * 30_000}", "E " + "error " * 20_000, exit_code=1)),
        turn(
            3, call("Ask", "ok", question="q" * 50_000, **{f"k{n}": "v" * 99 for n in range(500)})
        ),
        turn(
            4, user="\n".join(f"We decided to use lamp {n}, not lamp {n + 1}." for n in range(300))
        ),
    ]
    made += [turn(n, edit(f"src/{'deep/' * 20}lamp{n}.py")) for n in range(5, 105)]
    return made


@pytest.fixture(scope="module")
def server() -> Any:
    with serving(store_of(harbor=giants())) as found:
        yield found


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"words": "buoy", "limit": 50}),
        ("recall", {"limit": 50}),
        ("recall", {"errors": True}),
        *(("show", {"mark": mark}) for mark in ("t0", "t1", "t1.0", "t1.1", "t2", "t3", "t3.0")),
        ("summary", {}),
        ("summary", {"tokens": 16_384}),
        ("pin", {"what": "t0"}),
    ],
)
def test_every_result_is_within_its_bound(server: Any, tool: str, arguments: Any) -> None:
    result = server.called(tool, **arguments)
    assert not result["isError"], text_of(result)
    for told in (text_of(result), json.dumps(result["structuredContent"], ensure_ascii=False)):
        assert COUNT(told) <= RESULT_TOKENS


def test_pages_together_are_the_whole_output(server: Any) -> None:
    """One line of 100,000 characters: it counts as several."""
    text, first, pages = "", 1, 0
    while True:
        shown = server.given("show", mark="t1.1", first=first)
        text, pages, first = text + shown["text"].replace("\n", ""), pages + 1, shown["last"] + 1
        if not shown["note"]:
            break
        assert f"show(mark='t1.1', first={first}) goes on" in shown["note"]
    assert text == "y" * GIANT
    assert pages > 2


def test_a_page_takes_what_fits_and_says_what_is_next() -> None:
    assert page("a\nb\nc", COUNT, what="x") == Page("a\nb\nc", 1, 3, 3, False)
    assert page("a\nb\nc", COUNT, what="x", first=2, last=2) == Page("b", 2, 2, 3, True)
    assert page("\ud800 \x00", COUNT, what="x").lines == 1


def test_halves_of_pairs_and_zeros_do_not_break_a_result() -> None:
    with serving(store_of(harbor=[turn(0, bash("odd", "\ud800\x00 end"))])) as server:
        assert server.given("show", mark="t0.0")["text"].endswith("end")
