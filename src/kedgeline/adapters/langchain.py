"""LangChain and deepagents: a middleware.

    create_agent(model, tools, middleware=[KedgelineMiddleware()])
    create_deep_agent(model, tools, middleware=[KedgelineMiddleware(replace_summarization=True)])

The messages of the state stay whole; what is sent is compacted, and the decision stands in private
state beside them, so that a checkpoint goes on with it. With `persistent=True` the messages of the
state are compacted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, Unpack
from uuid import uuid4

from kedgeline.adapters.runs import Adapter, AdapterOptions, AgentRun, Runs, restored, stored
from kedgeline.errors import MissingExtra
from kedgeline.session.loop import Beside

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
    from langchain_core.messages import RemoveMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
    from langgraph.types import Command
except ImportError as error:
    raise MissingExtra("the adapter for LangChain", "langchain") from error

KEY = "kedgeline"


class _State(AgentState):
    kedgeline: Annotated[NotRequired[dict[str, str]], PrivateStateAttr]  # type: ignore[valid-type]
    """The run, and what its list rests on."""


class KedgelineMiddleware(Adapter, AgentMiddleware):
    state_schema = _State

    def __init__(
        self, *, replace_summarization: bool = False, **options: Unpack[AdapterOptions]
    ) -> None:
        """With `replace_summarization` it takes the place of the summarization that deepagents
        brings along."""
        super().__init__()
        self._name = "SummarizationMiddleware" if replace_summarization else type(self).__name__
        self._runs = Runs(rewrites=None, **options)

    @property
    def name(self) -> str:
        return self._name

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if self._runs.persistent:
            return handler(request)
        run, key = self._run(request.state)
        sent = run.step(request.messages, **_known(request))
        return self._told(handler(_with(request, sent)), request.state, run, key)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        if self._runs.persistent:
            return await handler(request)
        run, key = self._run(request.state)
        sent = await run.astep(request.messages, **_known(request))
        return self._told(await handler(_with(request, sent)), request.state, run, key)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if not self._runs.persistent:
            return None
        run, key = self._run(state)
        return _rewritten(state, run.step(state["messages"]), key)

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if not self._runs.persistent:
            return None
        run, key = self._run(state)
        return _rewritten(state, await run.astep(state["messages"]), key)

    def _run(self, state: Any) -> tuple[AgentRun, str]:
        kept = state.get(KEY) or {}
        key = kept.get("run") or f"langchain-{uuid4().hex[:12]}"
        run, fold = self._runs.of(key), kept.get("fold", "")
        if fold and not self._runs.persistent and run.fold is None:
            run.fold = restored(fold)  # after a restart
        return run, key

    def _told(self, response: Any, state: Any, run: AgentRun, key: str) -> Any:
        """The answer; and what is to be remembered, where that is something new."""
        kept = state.get(KEY) or {}
        mark = run.fold.mark if run.fold else ""
        if kept.get("run") == key and kept.get("mark", "") == mark:
            return response
        update = {KEY: {"run": key, "mark": mark, "fold": stored(run)}}
        if isinstance(response, ExtendedModelResponse):
            both = {**(getattr(response.command, "update", None) or {}), **update}
            return ExtendedModelResponse(response.model_response, Command(update=both))
        return ExtendedModelResponse(response, Command(update=update))


def _known(request: Any) -> Beside:
    profile = getattr(request.model, "profile", None) or {}
    tools = [(getattr(one, "name", ""), getattr(one, "description", "")) for one in request.tools]
    return {
        "beside": [getattr(request.system_message, "content", None), tools],
        "model_name": getattr(request.model, "model_name", None)
        or getattr(request.model, "model", None)
        or "",
        "model_window": profile.get("max_input_tokens"),
    }


def _with(request: Any, sent: list[Any]) -> Any:
    return request if sent is request.messages else request.override(messages=sent)


def _rewritten(state: Any, made: list[Any], key: str) -> dict[str, Any] | None:
    update = {} if (state.get(KEY) or {}).get("run") == key else {KEY: {"run": key}}
    if made is state["messages"]:
        return update or None
    for message in made:
        message.id = message.id or str(uuid4())
    return {**update, "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *made]}
