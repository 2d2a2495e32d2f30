"""LiteLLM: hooks of the SDK and of the proxy.

    litellm.callbacks = [KedgelineLogger()]
    litellm_settings: {callbacks: kedgeline.adapters.litellm.proxy_handler}      # the proxy's YAML

`acompletion` is covered, streaming too, and every request of the proxy. The SDK calls no hook that
changes a request in its synchronous `completion`: the logger has one that compacts before it."""

from __future__ import annotations

from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra
from kedgeline.session.loop import Beside

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise MissingExtra("the adapter for LiteLLM", "litellm") from error

DONE = "kedgeline"
"""Stands among the metadata of a request that the proxy's hook has seen."""


class KedgelineLogger(Adapter, CustomLogger):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        super().__init__()
        self._runs = Runs(**options)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """The proxy's, before a request is routed."""
        found = await self._fitted(data)
        if found is not data:
            found["metadata"] = {**(data.get("metadata") or {}), DONE: True}
        return found

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any]:
        """The SDK's, and the router's behind the proxy."""
        seen = DONE in (kwargs.get("metadata") or {})
        return kwargs if seen else await self._fitted(kwargs)

    def completion(self, **body: Any) -> Any:
        """`litellm.completion`, with the messages that fit."""
        if isinstance(body.get("messages"), list):
            body["messages"] = self._runs.step_list(body["messages"], **_known(body))
        return litellm.completion(**body)

    async def _fitted(self, body: dict[str, Any]) -> dict[str, Any]:
        field = next((f for f in ("messages", "input") if isinstance(body.get(f), list)), "")
        if not field or body.get("previous_response_id"):
            return body
        return {**body, field: await self._runs.astep_list(body[field], **_known(body))}


def _known(body: dict[str, Any]) -> Beside:
    model = str(body.get("model") or "")
    try:
        window = litellm.get_model_info(model).get("max_input_tokens")
    except Exception:  # noqa: BLE001 - it raises a bare one for models it does not know
        window = None
    beside = [body[name] for name in ("system", "tools", "instructions") if body.get(name)]
    return {"beside": beside, "model_name": model, "model_window": window}


proxy_handler = KedgelineLogger()
