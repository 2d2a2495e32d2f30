"""Code between fences, as a reader of Markdown sees it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kedgeline.bank.markdown import Fences

LINES = (
    *("- ```", "1. ```sh", "  make", "```", "  ```", "   ```", "    ```", "~~~", "~~~~ x", "````"),
    *("> ```", "> x", "- a", "-", "2. b", "2. ```", "1)  ~~~", "  - ```", "- - ```", "> - ```"),
    *(">   ```", "", "  ", "```make``` runs it.", "``` a`b", "\t```", "-\t```", "    # x", "# h"),
    *("text", "     text", "* * *", "+", "```  ", "```\t", "10. ```", "    - ```", "===", "---"),
)
TEXTS = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)


def code_of(text: str) -> set[int]:
    """The lines of code by markdown-it."""
    blocks = [token.map for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]
    return {line for block in blocks if block for line in range(*block)}


@given(text=TEXTS)
@settings(max_examples=200, deadline=None)
def test_code_is_what_a_reader_of_markdown_takes_for_it(text: str) -> None:
    fences = Fences()
    lines = f"{text}\nlast".split("\n")
    found = {n for n, line in enumerate(lines) if fences.take(line).kind == "fenced"}
    differing = found ^ code_of("\n".join(lines))
    assert [n for n in differing if lines[n].strip()] == []


@pytest.mark.parametrize(
    ("text", "closing"),
    [
        ("```\nx\n```", ""),
        ("~~~~\nx\n~~~", "~~~~"),
        ("```\nx\n``` y", "```"),
        ("- ```\n  x", "  ```"),
        ("- ```\n  x\n  ```", ""),
        ("- ```\nx", ""),
        ("> 1. ```sh\n>    x", ">    ```"),
        ("```make``` runs it.", ""),
        ("```\r\nx\r\n```\r", ""),
    ],
)
def test_the_line_that_closes_what_is_open(text: str, closing: str) -> None:
    scanner = Fences()
    for line in text.split("\n"):
        scanner.take(line)
    assert scanner.closing == closing
