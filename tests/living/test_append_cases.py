"""What may come to a session in messages, case by case."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.errors import NotAMessage
from kedgeline.session.appending import Appending
from kedgeline.session.session import Session
from tests.living.sessions import bare, session, steps
from tests.living.test_appending import PLAIN, Message
from tests.providers import RICH


def _calls(*ids: str) -> Message:
    calls = [
        {"id": one, "type": "function", "function": {"name": "run", "arguments": "{}"}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(one: str) -> Message:
    return {"role": "tool", "tool_call_id": one, "content": f"out of {one}"}


def test_parallel_calls_answered_in_several_messages_are_one_turn() -> None:
    found = session()
    for message in ({"role": "user", "content": "go"}, _calls("a", "b", "c"), _result("b")):
        found.append(message)
    found.append([_result("c"), _result("a")])
    [turn] = found.transcript().turns
    assert [one.call_id for one in turn.tool_results] == ["a", "b", "c"]


def test_a_result_that_comes_behind_words_is_still_its_calls() -> None:
    found = session()
    for message in ({"role": "user", "content": "go"}, _calls("a", "b"), _result("a")):
        found.append(message)
    found.append({"role": "user", "content": "hurry"})
    found.append(_result("b"))
    found.append({"role": "assistant", "content": "done"})
    first, second = found.transcript().turns
    assert [one.output for one in first.tool_results] == ["out of a", "out of b"]
    assert (second.user_message, second.assistant_response) == ("hurry", "done")


def test_a_repeated_message_in_the_middle_does_not_make_the_rest_new() -> None:
    """A list with the same result twice is known as a whole when it is sent again."""
    messages = [
        {"role": "user", "content": "go"},
        _calls("a"),
        _result("a"),
        {"role": "assistant", "content": "next"},
        _result("a"),
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": "done"},
    ]
    found = session()
    for end in range(1, len(messages) + 1):
        found.append(messages[:end])
    assert len(found.transcript().turns) == 3
    assert found.append(messages).new == 0


def test_a_system_prompt_that_changes_is_the_prompt_from_now_on() -> None:
    found = session()
    first = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "a"}]
    found.append(first)
    answer = {"role": "assistant", "content": "b"}
    found.append([{"role": "system", "content": "be brief"}, *first[1:], answer])
    view = found.view("openai-chat").messages
    assert view == [{"role": "system", "content": "be brief"}, *first[1:], answer]


def test_a_system_message_in_the_middle_stays_in_the_middle() -> None:
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "system", "content": "the user is away"},
        {"role": "assistant", "content": "c"},
    ]
    found = session()
    for message in messages:
        found.append(message)
    assert found.view("openai-chat").messages == messages
    assert found.append(messages).new == 0


def test_a_prompt_that_every_call_repeats_is_said_once() -> None:
    found = session()
    prompt = {"role": "system", "content": "be kind"}
    for n in range(3):
        found.append([prompt, {"role": "user", "content": f"a{n}"}])
        found.append([prompt, {"role": "assistant", "content": f"b{n}"}])
    assert [m["role"] for m in found.view("openai-chat").messages] == [
        "system",
        *["user", "assistant"] * 3,
    ]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    """Providers without ids pair by name; two turns of a session must not share one."""
    found = session()
    for message in [*RICH["gemini"][:3], *RICH["gemini"][1:3]]:
        found.append({**message, "x": next(_numbers)}, format="gemini")
    ids = [call.id for turn in found.transcript().turns for call in turn.tool_calls]
    assert len(ids) == len(set(ids)) == 2
    written = found.view("anthropic").messages
    used = [b["id"] for m in written for b in m["content"] if b["type"] == "tool_use"]
    assert len(used) == len(set(used)) == 2


_numbers = count()


def test_the_same_key_twice_is_one_append() -> None:
    found = session()
    for _ in range(3):
        found.append({"role": "user", "content": "go"}, key="k1")
        found.append({"role": "assistant", "content": "went"}, key="k2")
    found.append({"role": "user", "content": "go"}, key="k3")
    found.append({"role": "user", "content": "go"}, key="k4")
    assert len(found.transcript().turns) == 1
    made = session()
    for _ in range(2):
        made.append(steps(3), key="k")
    assert len(made.transcript().turns) == 3


def test_a_key_is_kept_where_nothing_new_was_said() -> None:
    """What was tried under a key is over, even if all of it was known."""
    found = session()
    found.append(PLAIN[:2])
    assert found.append(PLAIN[:2], key="k").new == 0
    found.append({"role": "user", "content": "other"})
    assert found.append(PLAIN[:2], key="k").new == 0


def test_turns_that_are_sent_again_are_left_out() -> None:
    turns = steps(12)
    found = session()
    for end in (3, 7, 12):
        found.append(turns[:end])
    found.append(turns[8:])
    kept = found.transcript().turns
    assert [bare(replace(t, exchange=0)) for t in kept] == [
        bare(replace(t, exchange=0)) for t in turns
    ]
    assert [t.exchange for t in kept] == [n // 4 for n in range(12)]


def _entries_read(number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many entries are looked at while so many words pile up."""
    found = session()
    seen = 0
    whole = type(found.store).entries

    def counted(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal seen
        for entry in whole(self, *given, **named):
            seen += 1
            yield entry

    with monkeypatch.context() as patch:
        patch.setattr("kedgeline.store.tables.Tables.entries", counted)
        for n in range(number):
            other = Session(found.name, found.store)  # one that remembers nothing
            other.append({"role": "user", "content": f"word {n}"})
    pending = found.transcript().pending
    assert pending is not None
    assert pending.user_message.count("word") == number
    return seen


def test_words_that_pile_up_cost_no_more_each(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = _entries_read(50, monkeypatch), _entries_read(200, monkeypatch)
    assert many < 5 * few


def test_an_append_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = session()
    found.append(PLAIN[:2])
    before = found.store.head("s")

    def fails(*given: Any, **named: Any) -> None:
        raise NotAMessage("a", "b", "c")

    monkeypatch.setattr(Appending, "words", fails)
    with pytest.raises(NotAMessage):
        found.append([{"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}])
    assert found.store.head("s") == before
    assert isinstance(found, Session)
