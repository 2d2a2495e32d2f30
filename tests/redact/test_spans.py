"""Places in a text: joined, whole characters only, and outside of marks."""

from __future__ import annotations

from kedgeline.redact.scanning import SecretSpan, character, merged_spans, outside

WORDS = "aé密b".encode()  # one, two, three and one bytes


def test_no_character_is_cut() -> None:
    assert merged_spans([SecretSpan(2, 4, "x", 0)], WORDS) == [SecretSpan(1, 6, "x", 0)]
    assert [character(WORDS, position) for position in range(8)] == [0, 1, 1, 3, 3, 3, 6, 7]


def test_what_overlaps_becomes_one_and_the_first_rule_names_it() -> None:
    data = b"0123456789"
    spans = [SecretSpan(4, 8, "late", 5), SecretSpan(1, 6, "early", 9), SecretSpan(8, 9, "next", 1)]
    assert merged_spans(spans, data) == [SecretSpan(1, 8, "late", 5), SecretSpan(8, 9, "next", 1)]


def test_marks_are_left_out_of_spans() -> None:
    spans = [SecretSpan(0, 10, "a", 0), SecretSpan(12, 14, "b", 0), SecretSpan(14, 20, "c", 0)]
    marks = [(2, 4), (6, 8), (11, 15)]
    assert list(outside(spans, marks)) == [
        SecretSpan(0, 2, "a", 0),
        SecretSpan(4, 6, "a", 0),
        SecretSpan(8, 10, "a", 0),
        SecretSpan(15, 20, "c", 0),
    ]
