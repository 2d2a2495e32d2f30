"""To the letter: what is nearly right is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.text.prose import holds

HELD = [
    ("see src/a.py for it", "src/a.py"),
    ("src/a.py", "src/a.py"),
    ("`src/a.py`: the rule", "src/a.py"),
    ("src/a.py:12", "src/a.py"),
    ("(src/a.py, lib/b.py)", "lib/b.py"),
    ("It is in src/a.py.", "src/a.py"),
    ("12 tests passed", "12 tests passed"),
    ("exit code 12.", "12"),
    ("12, 13 and 14", "13"),
    ("runs find_free() twice", "find_free"),
    ('"Never push", they said', "Never push"),
    ("say “naïve” ✓", "naïve"),
    ("端口 4711 已用", "4711"),
    ("用 漢字 写", "漢字"),
    ("one\n  two\tthree", "one two three"),
    ("one two three", "one\n\n two   three"),
    ("a rule: `--force` never", "--force"),
    ("\x1b[31mred\x1b[0m light", "red light"),
    ("112 of 12", "12"),
    ("src/a.pyi and src/a.py", "src/a.py"),
    ("ends with a colon:", "a colon:"),
    ("[t12] (in progress)", "(in progress)"),
]
NEAR = [
    ("lib/src/a.py", "src/a.py"),
    ("/src/a.py", "src/a.py"),
    ("src/a.pyi", "src/a.py"),
    ("src/a.py/b", "src/a.py"),
    ("src/a.py.orig", "src/a.py"),
    ("src/a.py-old", "src/a.py"),
    ("other/a.py", "src/a.py"),
    ("src/b.py", "src/a.py"),
    ("src/A.py", "src/a.py"),
    ("src/a.py", "a.py"),
    ("src/", "src"),
    ("112", "12"),
    ("120", "12"),
    ("12.5", "12"),
    ("0.12", "12"),
    ("v12", "12"),
    ("12th", "12"),
    ("12-13", "12"),
    ("12/13", "12"),
    ("find_free_berth", "find_free"),
    ("_find_free", "find_free"),
    ("find_free2", "find_free"),
    ("harbour.find_free", "find_free"),
    ("me@harbour", "harbour"),
    ("never  pushes", "never push"),
    ("‘Never push’", "'Never push'"),
    ('"Never push"', "“Never push”"),
    ("漢字表", "漢字"),
    ("端口4711", "4711"),
    ("one two", "two one"),
    ("onetwo", "one two"),
    ("some words", ""),
    ("some words", "  \n"),
    ("", "words"),
    ("", ""),
    # What goes on in front of the words, with a sign that no word begins with.
    ("1,200 tests passed", "200 tests passed"),
    ("exit code -12", "12"),
    ("run with --force", "force"),
    ("reads .env first", "env"),
    ("lib\\src\\a.py", "src\\a.py"),
]
LETTERS = st.text(st.sampled_from("ab1é漢_"), min_size=1, max_size=12)
OTHERS = st.text(st.sampled_from("xy 7.`/\n-"), max_size=20)


@pytest.mark.parametrize(("text", "part"), HELD)
def test_words_that_stand_there_are_held(text: str, part: str) -> None:
    assert holds(text, part)


@pytest.mark.parametrize(("text", "part"), NEAR)
def test_what_is_nearly_there_is_not_held(text: str, part: str) -> None:
    assert not holds(text, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("never print <kedgeline_summary>", "never print <kedgeline-summary>"),
        ("never print < / kedgeline_summary>", "never print < / kedgeline-summary>"),
        ("</KEDGELINE_summary>", "</KEDGELINE-summary>"),
        ("<kedgeline-summary>", "<kedgeline_summary>"),
    ],
)
def test_the_tag_is_known_in_both_spellings(text: str, part: str) -> None:
    """In a summary it is written in another way, so that no words can close it."""
    assert holds(text, part)


@given(LETTERS, OTHERS, OTHERS)
def test_a_part_between_blanks_is_held(part: str, before: str, after: str) -> None:
    assert holds(f"{before} {part} {after}", part)


@given(st.text(st.sampled_from("ab1é漢_./- "), min_size=1, max_size=12), st.data())
def test_a_part_with_one_character_less_is_not_held(part: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(part) - 1))
    less = part[:place] + part[place + 1 :]
    if part.strip() and " ".join(part.split()) != " ".join(less.split()):
        assert not holds(less, part)
