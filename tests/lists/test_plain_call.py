"""The plain call and the loop: a list in, the list to send out, nothing that surprises."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import openai
import pytest

import kedgeline
from kedgeline.adapters.clients import wrap
from kedgeline.adapters.crewai import KedgelineHook
from kedgeline.errors import BadSettings, KedgelineError, NotAMessage, NotATranscript, UserError
from kedgeline.model import Reply
from kedgeline.pipeline.lists import FoldedList
from tests.lists.shapes import SHAPES, Call, Said, Talk, openai_chat

WINDOW = 16_000


def long_talk(turns: int = 40) -> Talk:
    rows = "\n".join(f"row {row}: {row * 7919 % 9973} units" for row in range(60))
    said = tuple(
        Said(
            "Go through all parts. Never skip one." if not n else "",
            f"I look at part {n}.",
            (Call(f"c{n}", n, f"part {n}\n{rows}"),),
            False,
        )
        for n in range(turns)
    )
    return Talk("You are an auditor.", said, "")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_list_that_fits_is_the_same_object(shape: str) -> None:
    messages = SHAPES[shape](long_talk(3))
    assert kedgeline.compact(messages) is messages
    assert asyncio.run(kedgeline.acompact(messages)) is messages
    assert kedgeline.compact([]) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_what_comes_back_is_of_the_same_kind_and_mostly_the_same_objects(shape: str) -> None:
    messages = SHAPES[shape](long_talk())
    sent = kedgeline.compact(messages, WINDOW)
    own = {id(one) for one in messages}
    made = [one for one in sent if id(one) not in own]
    assert len(sent) < len(messages)
    assert 1 <= len(made) <= 8
    assert {type(one) for one in sent} <= {type(one) for one in messages}
    assert sent[-1] is messages[-1]
    assert asyncio.run(kedgeline.acompact(messages, WINDOW))[-1] is messages[-1]


@pytest.mark.parametrize("shape", ["openai-chat", "langchain", "pydantic-ai"])
def test_the_system_prompt_stays(shape: str) -> None:
    """Pydantic AI has it in one message with the first words of the user."""
    messages = SHAPES[shape](long_talk())
    for _ in range(3):
        messages = kedgeline.compact(messages, WINDOW // 2)
    assert "You are an auditor." in str(messages[0])


def test_the_full_result_says_what_was_done() -> None:
    done = kedgeline.compact(openai_chat(long_talk()), WINDOW, full=True)
    assert done.compacted
    assert done.tokens_after < done.tokens_before
    assert "Never skip one" in done.summary
    assert done.verdict.score > 0.9
    assert done.losses is not None
    assert done.window == (WINDOW, "given")
    assert done.report().startswith("compacted: context is at")


@pytest.mark.parametrize(
    ("name", "tokens", "known"),
    [
        ("claude-sonnet-4-5", 200_000, "claude-sonnet-4-5"),
        ("openai/gpt-4o-mini", 128_000, "gpt-4o-mini"),
        ("", 200_000, "no model is named"),
        ("nobodys-model", 200_000, "is not known"),
    ],
)
def test_the_window_is_asked_of_the_models_name(name: str, tokens: int, known: str) -> None:
    loop = kedgeline.Loop()
    loop.step([{"role": "user", "content": "go"}], model_name=name)
    assert loop.last is not None
    assert loop.last.window.tokens == tokens
    assert known in loop.last.window.known_from


def test_from_one_compaction_to_the_next_the_list_begins_the_same() -> None:
    messages, loop = openai_chat(long_talk(80)), kedgeline.Loop(WINDOW)
    breaks, before = 0, []
    for end in range(2, len(messages) + 1):
        sent = loop.step(messages[:end])
        breaks += sent[: len(before)] != before
        before = sent
    assert loop.compactions >= 3
    assert breaks == loop.compactions


def test_a_fold_can_be_stored_beside_the_list() -> None:
    messages, loop = openai_chat(long_talk()), kedgeline.Loop(WINDOW)
    sent = loop.step(messages)
    other = kedgeline.Loop(WINDOW)
    other.fold = msgspec.json.decode(msgspec.json.encode(loop.fold), type=FoldedList)
    assert other.step(messages) == sent
    assert other.compactions == 0


def test_a_fold_of_another_list_is_let_go() -> None:
    loop = kedgeline.Loop(WINDOW)
    loop.step(openai_chat(long_talk()))
    rewound = openai_chat(long_talk(5))
    assert loop.step(rewound) is rewound
    assert loop.fold is None


def test_marks_for_the_cache_may_move() -> None:
    messages, loop = SHAPES["anthropic"](long_talk()), kedgeline.Loop(WINDOW)
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    loop.step(messages)
    moved = [msgspec.json.decode(msgspec.json.encode(one)) for one in messages]
    del moved[-1]["content"][-1]["cache_control"]
    moved.append({"role": "assistant", "content": "Part 7 is wrong."})
    assert len(loop.step(moved)) < len(moved)
    assert loop.compactions == 1


def test_usage_that_is_reported_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's own tools are in no list: what the provider says was sent shows them."""
    from langchain_core.messages import AIMessage

    messages = SHAPES["langchain"](long_talk(20))
    loop = kedgeline.Loop(WINDOW * 2)
    assert loop.step(messages) is messages
    usage = {"input_tokens": 31_000, "output_tokens": 5, "total_tokens": 31_005}
    messages.append(AIMessage("Part 7.", usage_metadata=usage))
    assert len(loop.step(messages)) < len(messages)


def test_errors_are_raised_or_leave_the_list(caplog: pytest.LogCaptureFixture) -> None:
    unknown = [{"role": "user", "blocks": [{"kind": "text", "text": "go " * 20_000}]}] * 2
    with pytest.raises(NotATranscript):
        kedgeline.compact(unknown, WINDOW)
    with caplog.at_level(logging.WARNING, "kedgeline"):
        assert kedgeline.compact(unknown, WINDOW, on_error="open") is unknown
    assert "NotATranscript" in caplog.text
    done = kedgeline.compact(unknown, WINDOW, on_error="open", full=True)
    assert isinstance(done.error, KedgelineError)


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": -1},
        {"window": "200k"},
        {"at": 2.0},
        {"at": 0.5, "target": 0.6},
        {"pins": "Part 7"},
        {"on_error": "ignore"},
    ],
)
def test_wrong_options_are_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadSettings):
        kedgeline.compact([{"role": "user", "content": "go"}], **wrong)


@pytest.mark.parametrize("wrong", ["go", {"messages": []}, None])
def test_what_is_no_list_is_told(wrong: Any) -> None:
    with pytest.raises(NotAMessage, match="no list"):
        kedgeline.compact(wrong)


def test_a_list_that_cannot_be_made_to_fit_is_told(caplog: pytest.LogCaptureFixture) -> None:
    messages = [{"role": "user", "content": "go " * 20_000}]
    with caplog.at_level(logging.WARNING, "kedgeline"):
        assert kedgeline.compact(messages, WINDOW) is messages
    assert "do not fit the window of 16,000" in caplog.text


def test_the_plain_call_knows_the_model_and_what_is_beside_the_list() -> None:
    prompt = "word " * 1_000
    done = kedgeline.compact(
        openai_chat(long_talk(3)), model_name="gpt-4o", beside=prompt, full=True
    )
    alone = kedgeline.compact(openai_chat(long_talk(3)), full=True)
    assert (done.window.tokens, alone.window.tokens) == (128_000, 200_000)
    assert done.tokens_before >= alone.tokens_before + 1_000


def test_nothing_is_stored_unless_it_is_asked_for(tmp_path: Path) -> None:
    messages = openai_chat(long_talk())
    with pytest.raises(UserError, match="store="):
        kedgeline.compact(messages, WINDOW, session="audit")
    kedgeline.compact(messages, WINDOW, session="audit", store=tmp_path / "store")
    with kedgeline.Session.open("audit", tmp_path / "store") as session:
        assert len(session.history()) == 1
        assert session.recall("row 13")
        session.undo()
        assert len(session.view("openai-chat").messages) == len(messages)


def test_a_kept_list_has_the_target_and_the_pins_of_the_call(tmp_path: Path) -> None:
    messages, kept = openai_chat(long_talk()), {"session": "audit", "store": tmp_path / "store"}
    pins = ("Part 7 is the one.",)
    done = kedgeline.compact(messages, WINDOW, target=0.2, pins=pins, full=True, **kept)
    assert done.tokens_after < 0.2 * WINDOW
    assert pins[0] in str(done.messages)
    kedgeline.compact(messages, WINDOW, pins=pins, **kept)
    with kedgeline.Session.open("audit", tmp_path / "store") as session:
        assert [pin.text for pin in session.pins()] == [*pins]


@pytest.mark.parametrize(("model", "usable"), [("gpt-4o", 102_400), ("nobodys", 168_000)])
def test_a_session_without_a_window_asks_the_name_of_its_model(model: str, usable: int) -> None:
    with kedgeline.Session.open("audit", ":memory:", at=0.1, target=0.05) as session:
        session.append({"model": model, "messages": openai_chat(long_talk())[1:]})
        assert f"of {usable:,} tokens" in session.should_compact().reason
        assert session.should_compact().compacts
        assert session.compact().tokens_after <= 0.05 * usable


def test_a_session_takes_the_same_lists(tmp_path: Path) -> None:
    messages = openai_chat(long_talk(60))
    with kedgeline.Session.open("audit", tmp_path / "store", window=WINDOW) as session:
        for end in range(2, len(messages) + 1):
            sent = session.step(messages[:end])
        assert len(sent) < len(messages) / 2
        assert sent[-1] is messages[-1]
        assert len(session.transcript().turns) == 60
        made = sum(hasattr(event.what, "compaction") for event in session.history())
        assert made >= 3
    with kedgeline.Session.open("audit", tmp_path / "store", window=WINDOW) as session:
        again = session.step(messages)  # another process goes on with what is in force
        assert again == sent
        session.undo()
        assert len(session.step(messages[:-1])) != len(again)


def test_a_session_goes_on_with_the_list_that_it_gave(tmp_path: Path) -> None:
    messages = openai_chat(long_talk(60))
    with kedgeline.Session.open("audit", tmp_path / "store", window=WINDOW) as session:
        current: list[Any] = []
        for one in messages:
            current = session.step([*current, one])
        assert len(current) < len(messages) / 2
        assert len(session.transcript().turns) == 60


def test_a_list_that_tells_a_run_lends_its_id_to_no_other() -> None:
    """Where a framework names no run, as CrewAI."""
    hook, messages = KedgelineHook(window=WINDOW), openai_chat(long_talk())
    place = id(messages)
    hook(SimpleNamespace(agent=None, llm=None, messages=messages))
    del messages
    others: list[list[int]] = [[] for _ in range(10_000)]
    assert place not in map(id, others)


def test_a_history_that_stays_whole_cannot_be_asked_to_be_compacted() -> None:
    client = openai.OpenAI(api_key="none")
    with pytest.raises(UserError, match="persistent"):
        wrap(client, persistent=True)


def test_pins_stand_in_every_list() -> None:
    messages = openai_chat(long_talk())
    for _ in range(2):
        messages = kedgeline.compact(messages, WINDOW // 2, pins=("Part 7 is the one.",))
        assert "Part 7 is the one." in str(messages)


def test_a_model_writes_prose_on_top() -> None:
    asked = []

    def model(ask: Any) -> Reply:
        asked.append(ask)
        return Reply(text="{}")

    kedgeline.compact(openai_chat(long_talk()), WINDOW, model=model)
    assert asked


def test_random_lists_grow_and_are_compacted_over_and_over() -> None:
    """As a loop does it: the list that came back goes on."""
    random = Random(7)
    messages: list[Any] = []
    for one in openai_chat(long_talk(120)):
        messages = kedgeline.compact([*messages, one], random.choice((WINDOW, WINDOW // 2)))
    assert str(messages).count("<kedgeline-summary>") == 1
    assert "Never skip one" in str(messages)
