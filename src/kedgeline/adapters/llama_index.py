"""LlamaIndex: a function agent that fits what it sends.

    agent = KedgelineFunctionAgent(tools=tools, llm=llm, system_prompt=prompt)

During a run messages are in the agent's scratchpad, where no memory of LlamaIndex reaches; the
agent itself is the only place that sees a whole request. Memory and its store stay whole."""

from __future__ import annotations

from typing import Any

from kedgeline.adapters.runs import Adapter, Runs
from kedgeline.errors import MissingExtra
from kedgeline.session.loop import Beside

try:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
except ImportError as error:
    raise MissingExtra("the adapter for LlamaIndex", "llama-index") from error


class KedgelineFunctionAgent(Adapter, FunctionAgent):
    kedgeline: dict[str, Any] = Field(default_factory=dict)
    """The options that every adapter has: window, at, target, store, session …"""
    _runs: Runs = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self._runs = Runs(**self.kedgeline)

    async def _get_response(self, current_llm_input: list[Any], tools: Any) -> Any:
        sent = await self._runs.astep_list(current_llm_input, **self._known())
        return await super()._get_response(sent, tools)

    async def _get_streaming_response(
        self, ctx: Any, current_llm_input: list[Any], tools: Any
    ) -> Any:
        sent = await self._runs.astep_list(current_llm_input, **self._known())
        return await super()._get_streaming_response(ctx, sent, tools)

    def _known(self) -> Beside:
        about = self.llm.metadata
        return {"model_name": about.model_name, "model_window": about.context_window}
