"""Shortcuts, held against the plain way of finding the same."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.facts.files import symbols
from kedge.facts.names.call_sites import hits_in
from kedge.facts.names.declarations import _BEGINNINGS, _DECLARED
from kedge.facts.names.literals import beside_words
from kedge.facts.names.shapes import JOINED_WORD, WORDS, separated
from kedge.facts.names.texts import found_in, names_in
from kedge.facts.tasks.rule import says_done
from kedge.sentences import one_line

BITS = [
    *("foo", "bar_baz", "fooBar", "HTTPServer", "a.b_c", ".x_y", "1.foo_bar", "12abc", "_a"),
    *("port:8080", "Port=81", "PORT", "import", "443", "localhost:8080", "xlocalhost:81"),
    *("127.0.0.1:82", "0.0.0.0:83", "é", "→", "ſ", "\\n", ".", "~"),
    *"`'\"()<>,;*!?\\^{}|",
]
BLANKS = [" ", " ", "\n", "\t", "\u00a0", "\u2028", "\x00", "\x7f", "\x1b[31m"]
texts = st.lists(st.sampled_from([*BITS, *BLANKS]), max_size=30).map("".join)

_WORD = re.compile(r"[^\s\"'`<>(){}|\\^,;*!?]+")
_JOINED = re.compile(r"\b[A-Za-z_.]{1,100}(?:_|[A-Z]|[0-9])[\w.]*", re.ASCII)
_PORT = re.compile(
    r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b"
    r"|\b(?:[Pp]ort|PORT)s?(?:\s+(?:is|to|on|number)|\s*[:=])?\s*[\"'`]?(\d{2,5})\b(?![.%\w])"
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")


@given(texts)
def test_words_are_what_stands_between_separators(text: str) -> None:
    assert separated(text).split() == _WORD.findall(text)
    assert len(separated(text).splitlines()) == len(text.splitlines())


@given(texts, st.integers(95, 105))
def test_joined_words_are_found_without_going_back(text: str, length: int) -> None:
    for one in (text, "a" * length + "_b", "a" * length + text):
        assert JOINED_WORD.findall(one) == _JOINED.findall(one)


@given(texts)
def test_a_port_is_a_word_of_its_own(text: str) -> None:
    found = [(one.name, one.note) for one in beside_words(text) if one.kind == "port"]
    plain = [(match[2] or match[3], match[1] or "port") for match in _PORT.finditer(text)]
    assert found == [one for one in plain[:40] if int(one[0]) <= 65_535]


@given(texts)
def test_names_are_found_whether_or_not_they_are_counted(text: str) -> None:
    assert found_in(text) == [found for found, _ in names_in(text)]


@given(texts)
def test_a_line_has_no_colours_and_controls(text: str) -> None:
    plain = _COLOUR.sub("", text)
    kept = "".join(sign for sign in plain if sign.isspace() or category(sign) != "Cc")
    assert one_line(text) == " ".join(kept.split())


@pytest.mark.parametrize("word", ["harbor", "Harbor", "éclair", "lowercase"])
def test_a_plain_word_is_no_name(word: str) -> None:
    assert WORDS[word] == ()


@pytest.mark.parametrize("word", ["pier_of", "src/pier.py", "v1.2.3", "--dry-run", "moorShip"])
def test_a_word_with_more_than_small_letters_may_be_one(word: str) -> None:
    assert WORDS[word] != ()


@pytest.mark.parametrize(
    "line",
    [
        "def assign_pier(x)",
        "fn open_gate() {",
        "export default class Pier {",
        "const MAX = 1",
        "pub(crate) fn moor(",
        "func (p *Pier) Moor(",
        "function* steps(",
        "val Pier = 3",
    ],
)
def test_what_may_declare_is_told_by_its_beginning(line: str) -> None:
    assert _DECLARED.match(line)
    assert line[:3] in _BEGINNINGS


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


def test_hits_below_a_heading_are_of_that_file() -> None:
    output = "src/pier.py\n12:def moor():\n13:def free():\n\nsrc/gate.py\nno hit\n7:moor()\n"
    assert [(hit.path, hit.line) for hit in hits_in(output)] == [
        ("src/pier.py", 12),
        ("src/pier.py", 13),
        ("src/gate.py", 7),
    ]


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
