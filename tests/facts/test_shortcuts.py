"""Shortcuts, held against the plain way of finding the same."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.facts import edits as symbols
from kedgeline.facts.todos import says_done
from kedgeline.text.prose import one_line

BITS = [
    *("foo", "bar_baz", "fooBar", "HTTPServer", "a.b_c", ".x_y", "1.foo_bar", "12abc", "_a"),
    *("port:8080", "Port=81", "PORT", "import", "443", "localhost:8080", "xlocalhost:81"),
    *("127.0.0.1:82", "0.0.0.0:83", "é", "→", "ſ", "\\n", ".", "~"),
    *"`'\"()<>,;*!?\\^{}|",
]
BLANKS = [" ", " ", "\n", "\t", "\u00a0", "\u2028", "\x00", "\x7f", "\x1b[31m"]
texts = st.lists(st.sampled_from([*BITS, *BLANKS]), max_size=30).map("".join)

_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")


@given(texts)
def test_a_line_has_no_colours_and_controls(text: str) -> None:
    plain = _COLOUR.sub("", text)
    kept = "".join(sign for sign in plain if sign.isspace() or category(sign) != "Cc")
    assert one_line(text) == " ".join(kept.split())


LINES = {
    "go": "func Moor(\nfunc (p *Pier) Free() {\ntype Pier struct {\nconst Most = 3\nvar Open bool\n"
    '\tNorth Side = 1\n\tName string `json:"n"`\n\t"fmt"\nimport "os"\n',
    "py": "def moor(x):\nasync def free():\nclass Pier:\nMOST = 3\n    name: str = x\nimport os\n"
    "from a import b\n",
    "ts": "it('moors ships', x)\ntest.each('frees ships')\nclass Pier {\ntype Side = 1\n"
    "export const most = 3\nlet open = 1\n  const free = (x) => 1\n  moor(x) {\n  name: string;\n"
    "import a from 'b'\nexport { a } from 'c'\n",
    "rs": "fn moor() {\nimpl Pier {\nimpl<T> Of for Pier {\nuse std::fs\nconst MOST: u8 = 1;\n"
    "    name: String,\n",
}


@pytest.mark.parametrize("ending", LINES)
def test_a_rule_is_passed_over_only_where_it_matches_nothing(ending: str) -> None:
    rules = symbols._rules(f"a.{ending}")
    for rule in rules:
        found = [m[0] for m in symbols._compiled(rule).finditer(LINES[ending])]
        assert found, rule.pattern
        for match in found if rule.needs else ():
            assert any(word in match for word in rule.needs), (rule.pattern, match)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Step 1 is done.", True),
        ("- [x] Step 1", True),
        ("Step 1 is next.", False),
        ("Is Step 1 done? Step 2 is done.", False),
        ("Step 1 is FINISHED", True),
    ],
)
def test_an_item_is_done_only_where_a_text_says_so(text: str, said: bool) -> None:
    assert says_done("Step 1", text) is said
    assert says_done("Step 7", text) is False
