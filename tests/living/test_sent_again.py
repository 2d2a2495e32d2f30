"""What hosts send again, in the ways they do: nothing is taken twice, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.errors import KedgelineError, UserError
from kedgeline.model import Transcript, Turn
from kedgeline.session.alignment import identified
from kedgeline.session.session import Session
from tests.living.sessions import session

Message = dict[str, Any]


def user(words: str) -> Message:
    return {"role": "user", "content": words}


def agent(words: str) -> Message:
    return {"role": "assistant", "content": words}


def call(id: str) -> Message:
    use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}
    return {"role": "assistant", "content": [use]}


def result(id: str, output: str = "out") -> Message:
    block = {"type": "tool_result", "tool_use_id": id, "content": output}
    return {"role": "user", "content": [block]}


def spoken(found: Session) -> list[str]:
    turns = found.transcript().turns
    return [text for turn in turns for text in (turn.user_message, turn.assistant_response) if text]


def hosted(rounds: int, window: int = 2_000) -> Session:
    """A host that goes on with our view, and sends its whole list with every call."""
    found = session(window=window)
    host: list[Message] = []
    for number in range(rounds):
        host.append(user(f"question {number} " + "lorem ipsum " * 20))
        found.append(host)
        host.append(agent(f"answer {number} " + "sit amet " * 20))
        found.append(host)
        if found.should_compact().compacts:
            found.compact()
            host = list(found.view("anthropic").messages)
    return found


def test_a_host_may_go_on_with_our_view() -> None:
    found = hosted(40)
    words = [turn.user_message.split(" lorem")[0] for turn in found.transcript().turns]
    assert words == [f"question {number}" for number in range(40)]
    assert len(found.history()) >= 2
    assert "kedgeline-summary" not in str(found.transcript().turns)


SAME = [
    (user("do X"), {"role": "user", "content": [{"type": "text", "text": "do X"}]}),
    (
        user("do X"),
        {
            "role": "user",
            "content": [{"type": "text", "text": "do X", "cache_control": {"type": "ephemeral"}}],
        },
    ),
    (
        call("x1"),
        {
            **call("x1"),
            "id": "msg_1",
            "type": "message",
            "model": "m",
            "usage": {"input_tokens": 1},
        },
    ),
    (
        agent("done"),
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        },
    ),
]
OTHER = [
    (user("do X"), user("do Y")),
    (user("do X"), agent("do X")),
    (call("x1"), call("x2")),
    (result("x1"), result("x1", "other")),
    (user("a"), {"role": "user", "content": [{"type": "text", "text": "a"}] * 2}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_a_client_puts_around_a_message_says_nothing(one: Message, other: Message) -> None:
    assert identified([one])[0].id == identified([other])[0].id


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_content_is_another_message(one: Message, other: Message) -> None:
    assert identified([one])[0].id != identified([other])[0].id


def test_an_answer_of_the_api_is_known_when_it_is_sent_back() -> None:
    found = session()
    found.append(user("go"))
    found.append({**call("x1"), "id": "msg_1", "type": "message", "model": "m", "usage": {}})
    done = found.append([user("go"), call("x1"), result("x1")])
    assert (done.new, done.known) == (1, 2)
    assert [len(turn.tool_calls) for turn in found.transcript().turns] == [1]


FIRST = [user("hi"), agent("hello"), user("do X"), call("c1"), result("c1"), agent("done X")]


def forked() -> Session:
    found = session()
    found.append(FIRST)
    return found.fork("fork", through=0)


def test_what_a_fork_left_out_can_be_said_again() -> None:
    fork = forked()
    done = fork.append(FIRST[2:])
    assert (done.new, done.known) == (4, 0)
    assert spoken(fork) == ["hi", "hello", "do X", "done X"]
    assert [len(turn.tool_results) for turn in fork.transcript().turns] == [0, 1, 0]


def test_a_whole_list_goes_on_behind_what_a_fork_kept() -> None:
    fork = forked()
    done = fork.append([*FIRST[:2], user("do Y")])
    assert (done.new, done.known) == (1, 2)
    assert fork.append([*FIRST[:2], user("do Y"), agent("done Y")]).new == 1
    assert spoken(fork) == ["hi", "hello", "do Y", "done Y"]


def test_a_fork_of_a_fork_counts_only_what_stands() -> None:
    fork = forked()
    fork.append(FIRST[2:])
    again = fork.fork("again", through=1)
    assert again.append([*FIRST[:5], agent("done otherwise")]).new == 1
    assert spoken(again) == ["hi", "hello", "do X", "done otherwise"]


def test_words_that_wait_are_no_part_of_longer_ones() -> None:
    found = session()
    found.append(user("no"))
    found.append(Turn(user_message="now go on", assistant_response="ok"))
    assert found.transcript().turns[0].user_message == "no\n\nnow go on"


def test_a_turn_in_another_shape_keeps_what_only_its_own_has() -> None:
    thinking = {"type": "thinking", "thinking": "hmm", "signature": "SIG=="}
    use = call("x1")["content"][0]
    asked = {"role": "assistant", "id": "m1", "model": "m", "content": [thinking, use]}
    found = session()
    found.append([user("go"), asked], format="anthropic")
    found.append({"role": "tool", "tool_call_id": "x1", "content": "out"}, format="openai-chat")
    (turn,) = found.transcript().turns
    assert (turn.thinking, turn.model, turn.tool_results[0].output) == ("hmm", "m", "out")
    assert "SIG==" in str(found.view("anthropic").messages)


@pytest.mark.parametrize("wrong", [{}, {"foo": 1}, None, "hi", 7, [None], [{"role": ""}]])
def test_what_is_no_message_is_refused_and_nothing_is_written(wrong: Any) -> None:
    found = session()
    with pytest.raises(KedgelineError):
        found.append(wrong)
    assert found.store.head(found.name).number == 0


def test_turns_and_messages_in_one_list_are_refused() -> None:
    found = session()
    with pytest.raises(UserError, match="one list"):
        found.append([Turn(user_message="a"), user("b")])
    with pytest.raises(UserError, match="no key"):
        found.append(Transcript(format="kedgeline"), key="k")
    assert found.store.head(found.name).number == 0
