"""The model of the program that kedge runs in, where that offers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply
from kedge.models.command import SECONDS
from kedge.models.phrasing import prompt_of, repeatable
from kedge.plugins import FAULTS

Sample = Callable[[str, str, int], Awaitable[str]]
"""What a host does for us: system, prompt and the most tokens in, the reply out."""


@dataclass(frozen=True, slots=True)
class HostModel:
    """Asks through the host, which pays, and may ask its user first."""

    sample: Sample
    name: str = "host"
    seconds: float = SECONDS
    """Where a request allows none of its own."""

    async def __call__(self, ask: Ask, /) -> Reply:
        from asyncio import timeout

        seconds = ask.seconds or self.seconds
        try:
            async with timeout(seconds):
                text = await self.sample(ask.system, prompt_of(ask), ask.most_tokens)
        except TimeoutError as error:
            why = f"it took more than {seconds:g} seconds"
            raise self._failed(why, "allow more (model_call_seconds)", "timed out") from error
        except FAULTS as error:
            why = f"the host failed: {repeatable(str(error)) or type(error).__name__}"
            raise self._failed(why, "see what the host says of it", "failed") from error
        if not isinstance(text, str) or not text.strip():
            raise self._failed("it wrote nothing", "see what the host says of it", "empty")
        return Reply(text=text.strip(), model=self.name)

    def _failed(self, why: str, next_step: str, kind: str) -> ModelFailed:
        return ModelFailed(self.name, why, next_step=next_step, kind=kind)
