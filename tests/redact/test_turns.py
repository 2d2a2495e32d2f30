"""Turns and transcripts: every text is cleaned, and nothing else changes."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import (
    CallRef,
    Change,
    EarlierCompaction,
    Media,
    Message,
    Note,
    Opaque,
    ResultRef,
    SessionFacts,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.redact.redactor import DEPTH, TOO_DEEP
from tests.redact.seeds import PREFIXED
from tests.turns import bash, turn

CANARY = PREFIXED["stripe"](Random(5))
MARK = "[secret: Stripe key]"


def everywhere(said: str) -> Turn:
    """A turn that says something in every place it has for words."""
    wire: dict[str, Any] = {"deep": [{"er": (said, 1)}], said: None}
    return Turn(
        user_message=f"use {said}",
        assistant_response=said,
        thinking=said,
        tool_calls=(
            ToolCall(id="a", tool="Bash", parameters={"command": f"x {said}", said: {"k": [said]}}),
            ToolCall(id="b", tool=said, wire=wire),
        ),
        tool_results=(
            ToolResult(call_id="a", output=said, error=said, reason=said, wire=wire),
            ToolResult(call_id="b", media=(Media(data=said),)),
        ),
        agent=said,
        model=said,
        message_id=said,
        notes=(Note(kind="hook", text=said, wire=wire),),
        media=(Media(data="aGk=", url="https://acme.test/i.png", wire={"n": 1}),),
        messages=(
            Message(role="user", parts=(Text(text=said, wire=wire), Opaque(kind="x", wire=wire))),
            Message(
                role="assistant",
                parts=(Thinking(text=said, signature="seal"), CallRef(position=0)),
                wire=wire,
            ),
            Message(role="tool", parts=(ResultRef(position=0), Note(kind="hook", text=said))),
        ),
    )


def shape(value: Any) -> Any:
    """All of a value but its words."""
    if isinstance(value, str):
        return "words"
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, (list, tuple)):
        return [shape(item) for item in value]
    return value


def texts_left(turn: Turn, said: str) -> int:
    return msgspec.json.encode(turn).decode().count(said)


def test_every_text_of_a_turn_is_cleaned_and_media_are_not() -> None:
    """hermes-agent#9200: nine places held text, and each had to be found one by one."""
    cleaned = REDACTOR.turn(everywhere(CANARY))
    assert texts_left(cleaned, CANARY) == 1
    assert cleaned.tool_results[1].media == (Media(data=CANARY),)
    assert texts_left(cleaned, MARK) == texts_left(everywhere(CANARY), CANARY) - 1


def test_only_what_changes_is_copied() -> None:
    one = turn(3, bash("ls"), bash("cat .env", output=f"KEY={CANARY}"), user="look", says="done")
    cleaned = REDACTOR.turn(one)
    assert cleaned.tool_results[1].output == f"KEY={MARK}"
    assert cleaned.tool_calls is one.tool_calls
    assert cleaned.tool_results[0] is one.tool_results[0]
    assert msgspec.structs.replace(cleaned, tool_results=one.tool_results) == one


@given(st.lists(st.text(max_size=20), max_size=4), st.integers(0, 3))
def test_any_turn_keeps_its_shape_and_cleaning_twice_is_cleaning_once(
    words: list[str], where: int
) -> None:
    words.insert(min(where, len(words)), CANARY)
    one = turn(
        0, *(bash(word, output=word[::-1] + CANARY) for word in words), user="\n".join(words)
    )
    cleaned = REDACTOR.turn(one)
    assert shape(msgspec.to_builtins(one)) == shape(msgspec.to_builtins(cleaned))
    assert CANARY not in msgspec.json.encode(cleaned).decode()
    assert REDACTOR.turn(cleaned) is cleaned


def test_calls_keep_their_results_when_their_ids_are_secrets() -> None:
    ids = [PREFIXED["github"](Random(number)) for number in range(3)]
    one = Turn(
        tool_calls=tuple(ToolCall(id=name, tool="Bash") for name in ids),
        tool_results=tuple(ToolResult(call_id=name, output=str(n)) for n, name in enumerate(ids)),
    )
    cleaned = REDACTOR.turn(one)
    found = [cleaned.result_of(call) for call in cleaned.tool_calls]
    assert [result.output if result else None for result in found] == ["0", "1", "2"]
    assert not any(name in str(cleaned) for name in ids)


def test_keys_that_become_the_same_do_not_swallow_each_other() -> None:
    names = [PREFIXED["github"](Random(number)) for number in range(3)]
    call = ToolCall(id="a", tool="x", parameters={name: n for n, name in enumerate(names)})
    cleaned = REDACTOR.turn(Turn(tool_calls=(call,))).tool_calls[0].parameters
    assert list(cleaned.values()) == [0, 1, 2]


def test_thinking_that_changes_loses_its_seal_and_other_thinking_keeps_it() -> None:
    """Antigravity-Manager#3337: text was changed, the signature kept, and the provider refused."""
    parts = (Thinking(text=f"use {CANARY}", signature="s1"), Thinking(text="fine", signature="s2"))
    one = Turn(messages=(Message(role="assistant", parts=parts),))
    changed, kept = REDACTOR.turn(one).messages[0].parts
    assert changed == Thinking(text=f"use {MARK}", signature="")
    assert kept is parts[1]


def test_what_is_nested_too_deep_is_withheld() -> None:
    deep: Any = CANARY
    for _ in range(DEPTH + 50):
        deep = [deep]
    cleaned = REDACTOR.turn(Turn(tool_calls=(ToolCall(id="a", tool="x", parameters={"d": deep}),)))
    assert CANARY not in str(cleaned)
    assert TOO_DEEP in str(cleaned)


def test_a_transcript_is_cleaned_with_all_that_stands_beside_its_turns() -> None:
    whole = Transcript(
        format="plain",
        turns=(everywhere(CANARY), everywhere("nothing special")),
        pending=Turn(user_message=CANARY),
        head=(Message(role="system", parts=(Text(text=CANARY),)),),
        session=SessionFacts(changes=(Change(turn=0, name="title", value=CANARY),)),
        compactions=(EarlierCompaction(turn=1, by="client", summary=CANARY),),
        agents=(
            Transcript(format="plain", turns=(Turn(user_message=CANARY),), delegated_by=CANARY),
        ),
        wire={"system": CANARY},
    )
    cleaned = REDACTOR.transcript(whole)
    assert msgspec.json.encode(cleaned).decode().count(CANARY) == 1  # in the media
    assert cleaned.turns[1] is whole.turns[1]
    assert shape(msgspec.to_builtins(whole)) == shape(msgspec.to_builtins(cleaned))
    plain = Transcript(format="plain", turns=(everywhere("nothing special"),))
    assert REDACTOR.transcript(plain) is plain


def test_known_values_are_taken_out_of_turns_too() -> None:
    cleaned = Redactor([("PIN", "kx82!ma0-q")]).turn(turn(0, bash("echo kx82!ma0-q")))
    assert cleaned.tool_calls[0].parameters == {"command": "echo [secret: PIN]"}
