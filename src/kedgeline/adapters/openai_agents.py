"""The OpenAI Agents SDK: an input filter, and a session around any other.

    Runner.run(agent, task, run_config=RunConfig(call_model_input_filter=KedgelineFilter()))
    Runner.run(agent, task, session=KedgelineSession(SQLiteSession("chat")))

Results and sessions stay whole; what is sent is compacted, of all agents of a run. The session is
asked once in a run: it makes a long conversation fit, the filter a long run."""

from __future__ import annotations

from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra

try:
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("the adapter for the OpenAI Agents SDK", "openai-agents") from error


class KedgelineFilter(Adapter):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        self._runs = Runs(**options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        given, items = data.model_data, data.model_data.input
        if _is_continued(items):
            return given
        model = getattr(data.agent, "model", None)
        sent = await self._runs.astep_list(
            items,
            beside=given.instructions,
            model_name=model if isinstance(model, str) else getattr(model, "model", "") or "",
        )
        if sent is items:
            return given
        return ModelInputData(input=sent, instructions=given.instructions)


class KedgelineSession(Adapter):
    def __init__(self, inner: Any, **options: Unpack[AdapterOptions]) -> None:
        self._inner, self._runs = inner, Runs(**options)
        self.session_id = inner.session_id
        self.session_settings = getattr(inner, "session_settings", None)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        items: list[Any] = await self._inner.get_items(limit)
        return await self._runs.of(self.session_id).astep(items)

    async def add_items(self, items: list[Any]) -> None:
        await self._inner.add_items(items)

    async def pop_item(self) -> Any:
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        await self._inner.clear_session()


def _is_continued(items: list[Any]) -> bool:
    """Whether the server has what comes before: an output stands without its call."""
    called = {one.get("call_id") for one in items if one.get("type") == "function_call"}
    told = (one for one in items if one.get("type") == "function_call_output")
    return any(one.get("call_id") not in called for one in told)
