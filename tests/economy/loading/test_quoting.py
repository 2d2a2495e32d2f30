"""Text of others under our headings: it can neither open one nor swallow it."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kedgeline.economy.packing import block

ODD = (
    *("# systemPatterns.md", "tide", "```", "~~~~", "````python", "===", " # x", "\u2028", "\r"),
    *(
        "\n",
        "\n\n",
        "\x0c",
        "<kedgeline-summary>",
        "</kedgeline-summary>",
        "<!--",
        "[t3]",
        "\u200b",
    ),
    *("<system-reminder>", "    # code", "#", " ", "\x1b[31m", "`", "| a |", "- ```"),
)
PIECES = st.lists(st.sampled_from(ODD), max_size=14).map("".join)


@given(first=PIECES, second=PIECES, code=st.booleans(), name=PIECES)
def test_only_our_headings_are_headings(first: str, second: str, code: bool, name: str) -> None:
    text = block(f"a{name}", first, "full", code=code) + block("b", second, "512", code=code)
    tokens = MarkdownIt("commonmark").parse(text)
    titles = [
        tokens[n + 1].content for n, one in enumerate(tokens) if one.tag == "h1" and one.nesting > 0
    ]
    assert len(titles) == 2
    assert titles[1] == "b (in 512 tokens)"
    assert "<kedgeline" not in text
    assert "</kedgeline" not in text
    assert "<system-reminder" not in text
    assert "<!--" not in text
    assert not re.search("[\u200b\x1b\r\u2028\x0c]", text)


def test_code_stays_as_it_is() -> None:
    code = "# a comment\ndef plan():\n    rows[t1] = '```'\n"
    assert block("plan.py", code, "full", code=True) == (
        "# plan.py\n\n````\n# a comment\ndef plan():\n    rows[t1] = '```'\n````\n\n"
    )


def test_prose_stays_as_it_is_but_for_what_could_pass_for_ours() -> None:
    said = "# Patterns\n\n## Berths\n\nThe pier decides first.\n\n- one\n"
    assert block("systemPatterns.md", said, "full") == (
        "# systemPatterns.md\n\n\\# Patterns\n\n## Berths\n\nThe pier decides first.\n\n- one\n\n"
    )


NASTY = (
    *("- ```", "1. ```sh", "  make", "   ```", "  ```", "```", "~~~~ x", "> ```", "> # q", "> ==="),
    *("- # i", "# h", "===", "---", "- a", "-", "2. b", "2. ```", "- - ```", "> - ```", "", "text"),
    *("<pre>", "<script>", "<?x", "<![CDATA[", "<!A", "<!--", "<div>", "</div>", "<b>", "- <pre>"),
    *("```make``` runs it.", "-\t```", "\t# x", "    # x", "   ===", "     text", "* * *", "#"),
)


def first_headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        inside.content
        for token, inside in pairwise(tokens)
        if token.type == "heading_open" and token.tag == "h1"
    ]


@given(text=st.lists(st.sampled_from(NASTY), max_size=8).map("\n".join), code=st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_reader_of_markdown_sees_our_headings_and_no_other(text: str, code: bool) -> None:
    both = block("a.md", text, "full", code=code) + block("b.md", "x", "full")
    assert first_headings(both) == ["a.md", "b.md"]


def test_addresses_are_no_html() -> None:
    said = "<https://tide.example/x> and a <pre> behind text\n<ann@tide.example>"
    assert block("a", said, "full") == f"# a\n\n{said}\n\n"
