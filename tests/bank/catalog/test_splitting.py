"""Chunks: joined they are the document; none is too large; structure stays whole."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.chunks import chunks_of
from kedgeline.bank.values import estimated
from tests.bank.catalog.documents import names, texts


def bodies(name: str, text: str, tokens: int) -> list[str]:
    return [chunk.text for chunk in chunks_of(name, text, tokens)]


@given(name=names, text=texts, tokens=st.integers(1, 200))
@settings(max_examples=400, deadline=None)
def test_joined_chunks_are_the_document_and_none_is_too_large(
    name: str, text: str, tokens: int
) -> None:
    chunks = bodies(name, text, tokens)
    assert "".join(chunks) == text
    assert all(chunks)
    assert all(estimated(chunk) <= tokens for chunk in chunks)


def section(name: str, lines: int) -> str:
    return f"## {name}\n\n" + "One line of text for the section.\n" * lines + "\n"


def test_sections_stay_whole_and_small_neighbours_go_together() -> None:
    text = "# Guide\n\nIntro.\n\n" + section("A", 5) + section("B", 5) + section("C", 12)
    chunks = chunks_of("guide.md", text, 130)
    assert [chunk.title for chunk in chunks] == ["Guide > A, B", "Guide > C"]
    assert all(chunk.text.lstrip().startswith("#") for chunk in chunks)


def test_a_large_section_is_cut_at_paragraphs_and_keeps_its_path() -> None:
    parts = "".join(f"Paragraph {n}. " + "word " * 30 + "\n\n" for n in range(12))
    chunks = chunks_of("guide.md", f"# Guide\n\n## Long\n\n{parts}## Next\n\nShort.\n", 100)
    assert {chunk.title for chunk in chunks} == {"Guide > Long", "Guide > Next"}
    assert all(chunk.text.startswith(("#", "Paragraph")) for chunk in chunks)


def test_no_cut_falls_inside_a_fence_or_a_table() -> None:
    fence = "```py\n" + "a = 1\n\n# not a heading\n" * 8 + "```\n\n"
    table = "| a | b |\n|---|---|\n" + "| one | two |\n" * 12 + "\n"
    text = "# T\n\n" + ("Some prose before it.\n\n" + fence + "More.\n\n" + table) * 6
    chunks = bodies("a.md", text, 90)
    assert len(chunks) > 6
    assert all(chunk.count("```") % 2 == 0 for chunk in chunks)
    assert sum(chunk.count(table.rstrip("\n")) for chunk in chunks) == 6


def test_a_fence_larger_than_a_chunk_is_cut_at_lines() -> None:
    text = "# T\n\n```\n" + "value = 12345\n" * 100 + "```\n"
    chunks = chunks_of("a.md", text, 50)
    assert all(chunk.text.endswith("\n") for chunk in chunks)
    assert all(chunk.inside for chunk in chunks[2:])


PYTHON = '''"""A module."""

import os

LIMIT = 1


# Why it is here.
@decorated
class Boat:
    """A boat."""

    def sail(self):
        """Sail."""
        return "a longer line that fills the method up to its size, more or less"

    @property
    def name(self):
        return "another longer line that fills the method up to its size, more or less"


AFTER = 2


def moor():
    return "# no comment"
'''


def test_python_is_cut_at_its_definitions() -> None:
    chunks = chunks_of("boat.py", PYTHON, 60)
    assert [chunk.title for chunk in chunks] == ["", "Boat > sail", "Boat > name", "moor"]
    assert chunks[1].text.startswith("# Why it is here.\n@decorated\nclass Boat:")
    assert chunks[2].text.startswith("    @property\n    def name")
    assert chunks[3].text.startswith("AFTER = 2")
    for chunk in (chunks[0], chunks[3]):
        ast.parse(chunk.text)


@pytest.mark.parametrize(
    "text", ["def f(:\n", "-" * 50_000 + "1", "(" * 5_000, "x = '\\d'\n\ny = 1\n", "a.b" * 30_000]
)
def test_python_that_cannot_be_parsed_is_cut_at_blank_lines(text: str) -> None:
    assert "".join(bodies("a.py", text, 100)) == text


def test_code_is_cut_before_lines_at_the_margin() -> None:
    text = "".join(f"function f{n}() {{\n  one();\n\n  two();\n}}\n\n" for n in range(9))
    chunks = bodies("a.js", text, 25)
    assert len(chunks) > 3
    assert all(chunk.startswith("function") for chunk in chunks)


def test_headings_are_found_by_underlines_and_not_in_code_or_lists() -> None:
    text = (
        "Title\n=====\n\ntext\n\n- item\n---\n\n```\n# no\n```\n\nPart\n----\n\nmore\n" + "w " * 60
    )
    titles = {chunk.title for chunk in chunks_of("a.md", text, 30)}
    assert titles == {"Title", "Title > Part"}


def test_large_code_in_a_list_is_known_to_be_code() -> None:
    text = "# T\n\n- ```\n" + "  row = plan(row)\n" * 60 + "  ```\n"
    assert any(chunk.inside for chunk in chunks_of("a.md", text, 50))
