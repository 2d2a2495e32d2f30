"""What a living session gives a provider is what it takes, in whatever order it all came."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.pipeline.view import PROVIDERS, problems
from kedgeline.session import alignment as legal
from tests.living.sessions import session

Message = dict[str, Any]


def said(text: str) -> Message:
    return {"role": "user", "content": text}


def answered(text: str) -> Message:
    return {"role": "assistant", "content": text}


def called(*ids: str) -> Message:
    blocks = [{"type": "tool_use", "id": id, "name": "Bash", "input": {"n": id}} for id in ids]
    return {"role": "assistant", "content": blocks}


def result(id: str) -> Message:
    content = [{"type": "tool_result", "tool_use_id": id, "content": f"output of {id}"}]
    return {"role": "user", "content": content}


ARRIVALS = {
    "words while a call runs": [
        said("go"), called("c1"), said("also this"), result("c1"), answered("done"),
    ],
    "results one by one, words between": [
        said("go"), called("c1", "c2"), result("c2"), said("also this"), result("c1"),
        answered("done"),
    ],
    "a result when the next turn has begun": [
        said("go"), called("c1"), said("leave that"), answered("left"), result("c1"),
        answered("done"),
    ],
    "words that never get an answer of the call": [
        said("go"), called("c1"), said("leave that"), answered("left"), said("one thing more"),
    ],
}  # fmt: skip


def refused(provider: str, messages: list[Message]) -> list[str]:
    found = session()
    for message in messages:
        found.append(message, format="anthropic")
    view = found.view(provider)
    assert view.left_out == ()
    text = str(view.messages)
    words = [one["content"] for one in messages if isinstance(one["content"], str)]
    outputs = [f"output of {id}" for id in ("c1", "c2") if result(id) in messages]
    assert [text.count(one) for one in (*words, *outputs)] == [1] * len(words + outputs)
    return problems(provider, view.messages)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("arrival", ARRIVALS)
def test_what_came_in_disorder_is_sent_in_order(arrival: str, provider: str) -> None:
    assert refused(provider, ARRIVALS[arrival]) == []


def test_a_list_that_is_taken_stays_as_it_came() -> None:
    """Messages of one role in a row are taken: the provider joins them."""
    messages = [
        said("go"),
        said("and go on"),
        called("c1", "c2"),
        {"role": "user", "content": [*result("c1")["content"], *result("c2")["content"]]},
        answered("done"),
        said("more"),
        called("c3"),
    ]
    found = session()
    for message in messages:
        found.append(message, format="anthropic")
    assert found.view("anthropic").messages == messages
    assert found.view("anthropic").left_out == ()


def test_what_a_provider_still_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = session()
    found.append([said("go"), answered("done")])
    before = found.view("openai-chat")
    monkeypatch.setattr(legal, "problems", lambda provider, messages: ["1: too long"])
    assert found.view("openai-chat").messages == before.messages
    assert found.view("openai-chat").left_out == ("openai-chat refuses it: 1: too long",)


def test_a_message_of_no_known_shape_stays_as_it_is_and_is_named() -> None:
    odd = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}
    messages = [said("go"), {**odd, "content": [*odd["content"], {"type": "text", "text": "so"}]}]
    found = session()
    found.append(messages, format="anthropic")
    view = found.view("anthropic")
    assert (view.messages, view.left_out) == (messages, (legal.UNLIKE,))
