"""With a real model on this machine, whose server somebody else has written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask
from kedgeline.models import Terms, awaited, model_named
from kedgeline.pipeline.read import read
from kedgeline.session.session import Session
from kedgeline.store.sqlite import open_memory
from tests.conftest import EXAMPLES
from tests.models.local_model import NoLocalModel, local_model
from tests.validity import problems

pytestmark = pytest.mark.live

Short = Annotated[str, msgspec.Meta(max_length=60)]


class Note(msgspec.Struct, forbid_unknown_fields=True):
    """Bounded: so small a model would otherwise write until it is cut off."""

    state: Short
    next_steps: Annotated[list[Short], msgspec.Meta(max_length=2)]


ASK = Ask(
    role="summarise",
    system="You write short notes about work on software.",
    prompt="The tests of the parser fail in line 7. Next we repair it. Write a note.",
    most_tokens=300,
    schema=msgspec.json.schema(Note),
    seconds=120.0,
)


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    try:
        with local_model() as found:
            yield found
    except NoLocalModel as error:
        pytest.skip(str(error))


def test_a_structured_reply_has_its_shape(name: str) -> None:
    reply = model_named(name)(ASK)
    assert msgspec.json.decode(reply.text, type=Note).state
    assert (reply.ending, reply.model) == ("whole", name)
    assert reply.usage is not None
    assert reply.usage.context > 20
    assert 5 < reply.usage.output <= 300


def test_it_is_the_same_awaited(name: str) -> None:
    model = model_named(name)

    async def asked() -> str:
        return (await awaited(model)(ASK)).text

    assert asyncio.run(asked()) == model(ASK).text


def test_a_reply_that_is_too_long_is_cut_off(name: str) -> None:
    ask = msgspec.structs.replace(ASK, schema=None, prompt="Count to a thousand.", most_tokens=8)
    reply = model_named(name)(ask)
    assert reply.ending == "cut off"
    assert reply.usage is not None
    assert reply.usage.output == 8


def test_one_that_takes_too_long_fails_in_time_and_does_not_block_the_next(name: str) -> None:
    ask = msgspec.structs.replace(ASK, prompt="word " * 3_000, seconds=0.3)
    begun = time.monotonic()
    with pytest.raises(ModelFailed) as caught:
        model_named(name)(ask)
    assert caught.value.kind == "timed out"
    assert time.monotonic() - begun < 5
    assert model_named(name)(ASK).ending == "whole"


def test_what_its_server_refuses_is_a_bad_request(name: str) -> None:
    ask = msgspec.structs.replace(ASK, prompt="word " * 20_000)
    with pytest.raises(ModelFailed) as caught:
        model_named(name)(ask)
    assert caught.value.kind == "bad request"
    assert "model_window" in caught.value.next_step


def test_a_session_is_compacted_and_nothing_is_worse(name: str) -> None:
    """It is small, and what it writes is mostly wrong."""
    transcript = read(EXAMPLES / "codex.jsonl")
    plain = Session("plain", open_memory("memory:plain"), window=4_000)
    plain.append(transcript)
    floor = plain.compact()
    found = Session("worded", open_memory("memory:worded"), window=4_000)
    found.append(transcript)
    said = found.transcript()
    terms = Terms(window=4_096, call_seconds=240, seconds=240)
    done = found.compact(model=model_named(name), terms=terms)
    assert done.wording is not None
    assert done.verdict is not None
    assert floor.verdict is not None
    assert (done.verdict.score or 0) >= (floor.verdict.score or 0)
    assert found.transcript() == said
    assert not problems("anthropic", found.view("anthropic").messages)
    replied = [call for call in done.wording.calls if not call.failure]
    assert replied
    assert all(call.usage.output and not call.estimated for call in replied)
