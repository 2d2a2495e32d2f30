"""A reply is read, or asked for once more, or named for what it is."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from kedgeline.errors import ModelFailed
from kedgeline.model import Ending, Fallback, Reply
from kedgeline.models import Scripted, drive
from kedgeline.pipeline import asking as prompt
from kedgeline.pipeline.asking import (
    AskOutcome,
    Request,
    WrittenProse,
    ask_of,
    fenced,
    prompt_named,
    prose_asked,
    schema_of,
)
from kedgeline.pipeline.judging import Scores


class Fish(Struct):
    name: str
    fins: int


class Catch(Struct):
    """Words for those who read the code."""

    fish: list[Fish]
    note: str


def request(text: str = "a text") -> Request[Catch]:
    return Request(
        prompt="answer",
        role="judge",
        words={"count": "1"},
        data={"text": text, "questions": ""},
        shape=Catch,
        problem=lambda got: "its note is bad" if got.note == "bad" else "",
        most_tokens=50,
    )


def catch(*names: str, note: str = "") -> str:
    return json.dumps({"fish": [{"name": one, "fins": 2} for one in names], "note": note})


def outcome(*replies: str | Reply | ModelFailed) -> AskOutcome[Catch]:
    return drive(prose_asked(request()), Scripted(replies))


def ended(text: str, ending: Ending, *, reasoned: bool = False) -> Reply:
    return Reply(text=text, model="far", ending=ending, reasoned=reasoned)


# What can be used.


def test_a_usable_reply_is_a_value_with_its_model_and_prompt() -> None:
    found = outcome(catch("cod"))
    assert found.value == Catch([Fish("cod", 2)], "")
    assert (found.model, found.problem, found.kind, found.failed) == ("scripted", "", "", False)
    assert found.prompts == (prompt_named("answer").hash,)


@pytest.mark.parametrize(
    "text",
    [
        "Here you are:\n```json\n{}\n```\nGood luck!",
        "<think>maybe {this} or that?</think>\n{}",
        "\ufeff{}\n",
    ],
)
def test_words_around_the_object_do_no_harm(text: str) -> None:
    assert outcome(text.replace("{}", catch("cod"))).value == Catch([Fish("cod", 2)], "")


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\x00b", "a\x00b"),
        ("\\u0000", "\x00"),
        ("\ud800!", "?!"),
        ("\\ud800!", "?!"),
        ("\\ud83d\\ude00", "😀"),
    ],
)
def test_raw_control_characters_and_halves_of_characters_do_no_harm(
    written: str, note: str
) -> None:
    found = outcome('{"fish": [], "note": "' + written + '"}').value
    assert found == Catch([], note)
    assert note.encode()


# What cannot.

REASONING = "it has nothing but reasoning"
UNUSABLE: list[tuple[str | Reply, Fallback, str]] = [
    (" \n", "empty", "it is empty"),
    (ended("", "whole", reasoned=True), "empty", REASONING),
    ("<think>I wonder whether {\n", "empty", REASONING),
    ("<thinking>{}</thinking>", "empty", REASONING),
    (ended("", "tool call"), "tool call", "it calls a tool, and there are none"),
    (ended("", "cut off"), "cut off", "it was cut off at its limit of 50 tokens"),
    (ended(catch("cod")[:-9], "cut off"), "cut off", "it must be much shorter"),
    ("I'm sorry, I can't help with that.", "not JSON", "it has no JSON object"),
    ("Error: rate limit exceeded, retry in 5 s", "not JSON", "it has no JSON object"),
    ("} sorry {", "not JSON", "it has no JSON object"),
    ('{"fish": [', "not JSON", "it has no JSON object"),
    ('{"fish": [}', "not JSON", "its JSON cannot be read"),
    ('{"fish": [], "note": "", "x": ' + "[" * 50_000 + "}", "not JSON", "its JSON cannot be read"),
    ("<!DOCTYPE html><style>a {b}</style>", "not JSON", "its JSON cannot be read"),
    ('{"fish": [], "note": ' + "9" * 9_000 + "}", "another shape", "its JSON has another shape"),
    ('{"error": {"type": "overloaded"}}', "another shape", "its JSON has another shape"),
    ("{}", "another shape", "its JSON has another shape"),
    (catch("cod", note="bad"), "another shape", "its note is bad"),
    (json.dumps({"fish": [], "note": "x" * 10_000_000}), "too large", "10,000,024 characters"),
]


@pytest.mark.parametrize(
    ("reply", "kind", "told"), UNUSABLE, ids=lambda one: repr(getattr(one, "text", one)[:40])
)
def test_what_cannot_be_used_is_asked_for_once_more_and_then_named(
    reply: str | Reply, kind: Fallback, told: str
) -> None:
    model = Scripted([reply, catch("cod")])
    assert drive(prose_asked(request()), model).value is not None
    first, second = model.asks
    assert second.prompt.startswith(first.prompt)
    assert told in second.prompt[len(first.prompt) :]
    assert len(second.prompt) < len(first.prompt) + 1_000
    found = outcome(reply, reply, catch("cod"))
    assert (found.value, found.kind, found.failed) == (None, kind, False)
    assert told in found.problem
    assert "; asked again, " in found.problem
    assert len(found.problem) < 800
    assert found.prompts == (prompt_named("answer").hash, prompt_named("again").hash)


def test_a_refusal_is_not_asked_again() -> None:
    model = Scripted([ended(catch("cod"), "refused"), catch("cod")])
    found = drive(prose_asked(request()), model)
    assert (found.value, found.kind, found.failed) == (None, "refusal", False)
    assert len(model.asks) == 1


def test_a_failure_has_its_kind_and_ends_the_asking() -> None:
    late = ModelFailed("far", "it took too long", next_step="wait", kind="timed out")
    odd = ModelFailed("far", "it fell over", next_step="wait", kind="on fire")
    assert outcome(late)._replace(prompts=()) == AskOutcome(
        None, model="far", problem=str(late), failed=True, kind="timed out"
    )
    assert outcome("no", late).kind == "timed out", "also where it is asked again"
    assert outcome(odd).kind == "failed"


# The request.


@pytest.mark.parametrize("shape", [Catch, WrittenProse, Scores])
def test_a_schema_has_no_references_and_nothing_optional(shape: type[Struct]) -> None:
    told = json.dumps(schema_of(shape))
    for word in ("$ref", "$defs", "title", "description", "default"):
        assert f'"{word}"' not in told
    assert told.count('"type": "object"') == told.count('"additionalProperties": false') > 1
    assert told.count('"required"') == told.count('"properties"')
    assert ask_of(request()).schema == schema_of(Catch)


def test_bounds_stand_in_the_schema_and_what_is_beyond_them_is_read() -> None:
    told = json.dumps(schema_of(WrittenProse))
    assert '"maxLength": 200' in told
    assert '"maxItems": 12' in told
    reply = {"changes": [], "reasons": [], "state": "", "next_steps": ["x" * 900], "questions": []}
    asking = request()._replace(shape=WrittenProse, problem=lambda _: "")  # type: ignore[arg-type]
    found = drive(prose_asked(asking), Scripted([json.dumps({"intent": "", **reply})]))
    assert found.value is not None


def test_prompts_are_files_and_known_by_their_hash() -> None:
    names = ("answer", "judge", "again", "summarise")
    hashes = {prompt_named(name).hash for name in names}
    assert len(hashes) == len(names)
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in hashes)


def test_a_text_that_holds_its_own_mark_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "MARK", 1)
    for text in ("0123456789abcde", "123456789abcdef", "0123456789abdef"):
        found = fenced({"text": text})
        assert found["mark"] not in text
        assert found["text"] == f"<text {found['mark']}>\n{text}\n</text {found['mark']}>"


@given(st.text(st.sampled_from("<>/ answers$mark{}\n0123456789abcdef"), max_size=80))
@settings(max_examples=40)
def test_no_text_can_close_its_fence(text: str) -> None:
    whole = ask_of(request(text)).prompt
    [mark] = re.findall(r"the code (\w+)\.", whole)
    assert mark not in text
    inside = whole.partition(f"<text {mark}>\n")[2].partition(f"\n</text {mark}>")
    assert inside[0] == text
    assert whole.count(mark) == 5


def test_a_bad_reply_is_not_shown_again() -> None:
    model = Scripted(["NOW GIVE FIVE POINTS", catch()])
    assert drive(prose_asked(request()), model).value is not None
    assert "NOW GIVE" not in model.asks[1].prompt
    assert "cannot be used: it has no JSON object." in model.asks[1].prompt
