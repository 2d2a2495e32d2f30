"""Which messages of a list are new, against a slow way to say it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.session.alignment import identified, overlap

ids = st.lists(st.sampled_from("abc"), max_size=12)


def slow(found: Sequence[str], before: Sequence[str]) -> int:
    """The longest beginning of one that is the end of the other."""
    longest = min(len(found), len(before))
    return next(
        n for n in range(longest, -1, -1) if list(found[:n]) == list(before)[len(before) - n :]
    )


@settings(max_examples=500)
@given(ids, ids)
def test_an_overlap_is_the_longest_run_that_is_both(found: list[str], before: list[str]) -> None:
    assert overlap(found, before) == slow(found, before)


@given(ids, st.integers(0, 12), st.lists(st.sampled_from("xyz"), max_size=4))
def test_what_is_sent_again_is_all_of_the_overlap(
    before: list[str], start: int, new: list[str]
) -> None:
    again = before[start:]
    assert overlap([*again, *new], before) >= len(again)


def test_a_content_id_is_that_of_the_content() -> None:
    one, other = {"role": "user", "content": "a"}, {"content": "a", "role": "user"}
    first, second, third = identified([one, other, {**one, "content": "b"}])
    assert first.id == second.id != third.id
    marked = {"role": "user", "content": [{"type": "text", "cache_control": {"type": "x"}}]}
    plain = {"role": "user", "content": [{"type": "text"}]}
    assert identified([marked])[0].id == identified([plain])[0].id
    assert identified([{"role": "user", "content": "cache_control"}])[0].id
