"""Haystack: a compactor for its compaction hook.

    hook = CompactionHook(KedgelineCompactor(), context_window=128_000)
    Agent(chat_generator=generator, tools=tools, hooks={"before_llm": [hook]})

The hook decides when; the messages of the agent's state are compacted."""

from __future__ import annotations

from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra
from kedgeline.planning import POLICY

try:
    from haystack import default_from_dict, default_to_dict
    from haystack.hooks.compaction.types import Compactor
except ImportError as error:
    raise MissingExtra("the adapter for Haystack", "haystack") from error

PLAIN = ("window", "at", "target", "store", "session", "on_error", "pins")
"""Options that a pipeline can be written down with."""


class KedgelineCompactor(Adapter, Compactor):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        self._options = options
        self._runs = Runs(rewrites=True, **options)

    def compact(
        self, messages: list[Any], target_tokens: int, token_counter: Any
    ) -> list[Any] | None:
        run = self._runs.of_list(messages)
        run.window = self._window(target_tokens)
        return self._smaller(messages, run.step(messages, now=True), token_counter, run)

    async def compact_async(
        self, messages: list[Any], target_tokens: int, token_counter: Any
    ) -> list[Any] | None:
        run = self._runs.of_list(messages)
        run.window = self._window(target_tokens)
        return self._smaller(messages, await run.astep(messages, now=True), token_counter, run)

    def _window(self, target_tokens: int) -> int:
        """A window of which the target is what the hook asks for."""
        share = (1 - POLICY.output_share) * self._options.get("target", POLICY.target)
        return self._options.get("window") or max(1, int(target_tokens / share))

    def _smaller(
        self, messages: list[Any], sent: list[Any], counter: Any, run: Any
    ) -> list[Any] | None:
        if sent is messages:
            return None
        fits = counter.count(messages=sent) < counter.count(messages=messages)
        if fits:
            self._runs.remember(sent, run)
        return list(sent) if fits else None

    def to_dict(self) -> dict[str, Any]:
        plain = {name: self._options[name] for name in PLAIN if name in self._options}  # type: ignore[literal-required]
        if "store" in plain:
            plain["store"] = str(plain["store"])
        found: dict[str, Any] = default_to_dict(self, **plain)
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KedgelineCompactor:
        made: KedgelineCompactor = default_from_dict(cls, data)
        return made
