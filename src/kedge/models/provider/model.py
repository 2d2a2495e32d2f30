"""A language model of any provider that pydantic-ai knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kedge.errors import UserError
from kedge.model import Ask, Reply
from kedge.models.command import SECONDS
from kedge.models.phrasing import prompt_of
from kedge.models.provider.blocking import blocked
from kedge.models.provider.clients import check_provider, opened, retries_itself
from kedge.models.provider.failures import failure, not_usable, raised, timed_out
from kedge.models.provider.naming import Place, place_named
from kedge.models.provider.replies import Size, reply_in

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelRequest, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """Asks over the network, once: repeating is not its business.

    Keys come from the environment, as the provider has them. Each request has connections of its
    own, so it can be asked from any thread and any loop."""

    place: Place
    seconds: float = SECONDS
    """Where a request allows none of its own."""
    stream: bool = True
    """Whether a reply comes piece by piece: then one that grows too large is stopped early."""

    @classmethod
    def named(cls, text: str, /) -> ProviderModel:
        """From `PROVIDER:MODEL`, with `@http://HOST/…` behind it for an address of one's own."""
        place = place_named(text)
        check_provider(place)
        return cls(place)

    @property
    def name(self) -> str:
        return str(self.place)

    def __call__(self, ask: Ask, /) -> Reply:
        return blocked(self.awaited(ask))

    async def awaited(self, ask: Ask, /) -> Reply:
        """The same for those who await."""
        from asyncio import timeout

        try:  # before all else: without the libraries, nothing below works
            check_provider(self.place)
        except UserError as error:
            raise not_usable(self.place, error) from error
        seconds = ask.seconds or self.seconds
        try:
            async with opened(self.place) as model, timeout(seconds):
                response = await _response(model, ask, stream=self.stream)
            return reply_in(response, name=self.name, streamed=self.stream)
        except TimeoutError:
            raise timed_out(self.place, seconds) from None
        except raised() as error:
            # Without what was raised: its text may hold the request and its headers.
            raise failure(self.place, error) from None


async def _response(model: Model, ask: Ask, *, stream: bool) -> ModelResponse:
    from pydantic_ai.direct import model_request, model_request_stream

    arguments: dict[str, Any] = {
        "model_settings": _settings(model, ask),
        "model_request_parameters": _parameters(model, ask),
        "instrument": False,  # whatever the program around traces: this is nobody's but the user's
    }
    messages = [_message(model, ask)]
    if not stream:
        return await model_request(model, messages, **arguments)
    size = Size()
    async with model_request_stream(model, messages, **arguments) as events:
        async for event in events:
            size.grow(event)
    return events.get()


def _settings(model: Model, ask: Ask) -> ModelSettings:
    # Reasoning counts as a part of the reply: of so short a one, it would leave nothing.
    settings: dict[str, Any] = {"max_tokens": ask.most_tokens, "thinking": False}
    if retries_itself(model):
        settings["max_retries"] = 0
    if model.provider is not None and model.provider.name == "openai":
        settings["openai_store"] = False  # it keeps what it is sent unless it is told not to
    return cast("ModelSettings", settings)


def _native(model: Model) -> bool:
    """Whether a schema is enforced where the reply is written."""
    return bool(model.profile.get("supports_json_schema_output"))


def _message(model: Model, ask: Ask) -> ModelRequest:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    prompt = ask.prompt if _native(model) else prompt_of(ask)
    parts = [UserPromptPart(_sendable(prompt))]
    return ModelRequest(parts=parts, instructions=_sendable(ask.system) or None)


def _parameters(model: Model, ask: Ask) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if ask.schema is None or not _native(model):
        return ModelRequestParameters()
    shape = OutputObjectDefinition(json_schema=ask.schema, name="reply")
    return ModelRequestParameters(output_mode="native", output_object=shape)


def _sendable(text: str) -> str:
    """Without halves of characters, which nothing that is sent can hold."""
    return text.encode(errors="replace").decode()
