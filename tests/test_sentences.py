"""Prose made short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.text.prose import cut, first_sentence, one_line, sentences


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Fixed auth.rs. Next up.", "Fixed auth.rs"),
        ("Use e.g. tabs. Or not", "Use e.g. tabs"),
        ("1. Do this. 2. Do that.", "1. Do this"),
        ("Hmm... let me see. Yes", "Hmm... let me see"),
        ('He said "stop." Then left', 'He said "stop."'),
        ("Is it? Yes.", "Is it?"),
        ("直しました。次へ", "直しました。"),
        ("## Summary\n\nAll is well. Really", "All is well"),
        ("**Summary**\nAll is well", "All is well"),
        ("# Title\nAll is well", "All is well"),
        ("**Note** that all is well", "**Note** that all is well"),
        ("I changed:\n- one\n- two", "I changed"),
        ("one line\nof two. And more", "one line of two"),
        ("```\nx = 1\n```", "x = 1 ```"),
        ("# Title", "Title"),
        ("", ""),
    ],
)
def test_the_first_sentence(text: str, sentence: str) -> None:
    """R21: a split at every point ended sentences inside file names."""
    assert first_sentence(text) == sentence


@given(st.text(), st.integers(2, 50))
def test_lines_are_whole_and_cuts_keep_their_length(text: str, most: int) -> None:
    line = one_line(text)
    assert line == one_line(line)
    assert line.splitlines() in ([], [line])
    assert len(cut(line, most)) <= most
    assert cut(line, len(line) + 1) == line
    assert all(sentence == one_line(sentence) for sentence in sentences(text))


def test_a_cut_falls_between_words_where_it_can() -> None:
    assert cut("one two three", 9) == "one two…"
    assert cut("one, two, three", 10) == "one, two…"
    assert cut("x" * 20, 9) == "x" * 8 + "…"


def test_colours_and_controls_are_left_out() -> None:
    assert one_line("\x1b[1;31mred\x1b[0m\x00 \u2028 line\r\n") == "red line"


def test_megabytes_of_text_cost_no_more_than_their_beginning() -> None:
    assert first_sentence("a" * 5_000_000) == "a" * 4_000
