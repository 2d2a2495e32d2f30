"""The host's own model: asked in words, within its time."""

from __future__ import annotations

import asyncio

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Step
from kedgeline.models import HostModel, awaited, drive_async

SCHEMA = {"type": "object", "title": "Scores"}


def asked(model: HostModel, *, seconds: float = 0.0) -> str:
    def step() -> Step[str]:
        one = Ask(
            role="summarise",
            system="Be brief.",
            prompt="What now?",
            most_tokens=9,
            schema=SCHEMA,
            seconds=seconds,
        )
        reply = yield one
        assert (reply.model, reply.usage) == (model.name, None)
        return reply.text

    return asyncio.run(drive_async(step(), awaited(model)))


def failure(model: HostModel, *, seconds: float = 0.0) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        asked(model, seconds=seconds)
    return caught.value


def test_it_is_given_system_prompt_and_size_with_the_schema_in_the_prompt() -> None:
    given: list[tuple[str, str, int]] = []

    async def sample(system: str, prompt: str, most_tokens: int) -> str:
        given.append((system, prompt, most_tokens))
        return "  so\n"

    assert asked(HostModel(sample, name="editor")) == "so"
    ((system, prompt, most),) = given
    assert (system, most) == ("Be brief.", 9)
    assert prompt.startswith("What now?\n\nReply with one JSON object of this JSON Schema")
    assert prompt.endswith('\n{"type":"object","title":"Scores"}')


async def never(system: str, prompt: str, most_tokens: int) -> str:
    await asyncio.sleep(60)
    raise AssertionError


@pytest.mark.parametrize(("own", "given", "told"), [(0.02, 0.0, "0.02"), (60.0, 0.01, "0.01")])
def test_it_is_waited_for_as_long_as_the_request_allows(
    own: float, given: float, told: str
) -> None:
    late = failure(HostModel(never, seconds=own), seconds=given)
    assert late.why == f"it took more than {told} seconds"
    assert late.kind == "timed out"


def test_a_host_that_fails_is_a_model_that_fails() -> None:
    async def broken(system: str, prompt: str, most_tokens: int) -> str:
        raise ConnectionResetError("the pipe is gone")

    found = failure(HostModel(broken))
    assert (found.kind, found.why) == ("failed", "the host failed: the pipe is gone")
