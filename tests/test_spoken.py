"""The user's words in sentences: where they end, where they stand, and what is left out."""

from __future__ import annotations

import pytest

from kedgeline.text.spoken import spoken


def said(words: str) -> list[str]:
    """The sentences as they stand in the text."""
    return [words[one.start : one.end] for one in spoken(words)]


def test_a_sentence_ends_at_a_point_at_a_line_and_at_an_item() -> None:
    words = "Read a.py, e.g. its head. Why?\nThen:\n1. run it\n- stop  "
    assert said(words) == ["Read a.py, e.g. its head.", "Why?", "Then:", "run it", "stop"]
    assert [one.item for one in spoken(words)] == [False, False, False, True, True]


def test_a_wrapped_line_is_one_sentence() -> None:
    words = (
        "never write to the shared database from a test because the\n"
        "other team runs its reports on it"
    )
    assert said(words) == [words]
    assert said(words.replace("other", "Other")) == words.replace("other", "Other").split("\n")


def test_code_quotes_and_emphasis_are_left_out_of_what_is_searched() -> None:
    (one,) = spoken('the “new” flag `--never` is *not* "always" **on**')
    assert one.plain == "the ⌑ flag ⌑ is not ⌑ on"


def test_paragraphs_are_counted() -> None:
    assert [one.paragraph for one in spoken("one\ntwo\n\nthree")] == [0, 0, 1]


PASTED = (
    "it fails:\n```\nalways use the new API\n```",
    "it fails:\n> never call this twice",
    'it fails:\n"""\nYou must never do that.\n"""',
    "it fails:\n2024-05-01T10:00:00 worker must not restart\n2024-05-01T10:00:01 never mind",
    "it fails:\nError: you must always pass a name\n    at run (/srv/app.js:10:4)",
    "it fails:\n--- FAIL: TestRun (0.00s)\nrun_test.go:10: never use zero\nrun_test.go:11: must be",
    "it fails:\n\n[web] started\nplease never stop the worker\n[web] ready\n[web] gone",
    "diff:\n+++ b/rules.md\n@@ -1 +1 @@\n- 10 always do this\n+ 11 never do this",
)


@pytest.mark.parametrize("words", PASTED)
def test_what_is_pasted_is_left_out(words: str) -> None:
    assert said(words) == [words.split("\n")[0]]


def test_of_a_giant_message_both_ends_are_cut() -> None:
    middle = "line after line of something that was pasted here\n" * 3_000
    words = f"First words.\n\n{middle}\nLast words."
    assert (said(words)[0], said(words)[-1]) == ("First words.", "Last words.")
    fenced = f"First words.\n```\n{middle}```\nLast words."
    assert said(fenced) == ["First words.", "Last words."]
