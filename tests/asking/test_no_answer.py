"""Refusals and errors are known by their words, in a reply and in a sentence of one."""

from __future__ import annotations

import pytest

from kedgeline.prose.asking import SHORT, is_error, is_no_answer, is_refusal


@pytest.mark.parametrize(
    "words",
    [
        "I'm sorry, but I can't help with that.",
        "I’m really sorry.",
        "I cannot summarise this.",
        "I am not able to do so.",
        "**Sorry**, no.",
    ],
)
def test_a_refusal_is_one_as_a_reply_and_as_a_sentence(words: str) -> None:
    assert is_refusal(words)
    assert is_no_answer(words)


@pytest.mark.parametrize(
    "words", ["rate limit reached", "Error: 429 Too Many Requests", "503 Service Unavailable"]
)
def test_an_error_is_one_as_a_reply_and_as_a_sentence(words: str) -> None:
    assert is_error(words)
    assert is_no_answer(words)


@pytest.mark.parametrize("words", ["Failed tests are mended.", "Connection pooling was added."])
def test_what_tells_of_an_error_is_one_only_where_nothing_was_answered(words: str) -> None:
    assert is_error(words)
    assert not is_no_answer(words)


@pytest.mark.parametrize("words", ["Please provide the turns.", "As a language model, no."])
def test_a_reply_that_asks_back_may_be_asked_again(words: str) -> None:
    assert is_no_answer(words)
    assert not is_refusal(words)


@pytest.mark.parametrize("words", ["The rate limit is 40 a minute.", "Rate limiting was added."])
def test_work_on_limits_is_an_answer(words: str) -> None:
    assert not is_no_answer(words)
    assert not is_refusal(words)


def test_a_long_sentence_that_begins_like_an_error_tells_of_one() -> None:
    told = "Service unavailable"
    assert is_no_answer(told)
    assert not is_no_answer(f"{told} {'was what it said ' * SHORT}")
