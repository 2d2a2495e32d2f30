"""Code between fences, as a reader of Markdown sees it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kedge.bank import fences
from kedge.bank.fences import Fences, fenced

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


def differing(text: str) -> set[int]:
    """Lines that are read otherwise; whose a blank line is at the end of a list, nobody sees."""
    ours = {number for number, (_, code) in enumerate(fenced(text)) if code}
    lines = text.split("\n")
    return {number for number in ours ^ code_of(text) if lines[number].strip()}


@given(text=TEXTS)
@settings(max_examples=400, deadline=None)
def test_code_is_what_a_reader_of_markdown_takes_for_it(text: str) -> None:
    assert not differing(f"{text}\nlast")


def test_a_scanner_that_does_not_know_lists_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fences, "_opened", lambda rest, *, continues: None)
    assert differing("- ```\n  make\n  ```\n\nlast")


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


def test_marks_without_end_are_read_in_time() -> None:
    for line in ("> " * 50_000, "- " * 50_000, "1. " * 50_000, "`" * 100_000, "\t" * 50_000):
        assert len(list(fenced("\n".join([line] * 5)))) == 5
