"""smolagents: a mixin for its agents.

    class Auditor(KedgelineMixin, ToolCallingAgent): ...
    Auditor(tools=tools, model=model, kedgeline={"window": 128_000})

The steps in the agent's memory stay whole; the messages that are made of them are compacted. Calls
and their results are texts there, so a step stays or goes as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

from kedgeline.adapters.runs import Adapter, Parts, Runs
from kedgeline.errors import MissingExtra

try:
    from smolagents import ActionStep, ChatMessage, MessageRole, TaskStep
except ImportError as error:
    raise MissingExtra("the adapter for smolagents", "smolagents") from error


class KedgelineMixin(Adapter):
    def __init__(self, *args: Any, kedgeline: dict[str, Any] | None = None, **more: Any) -> None:
        """`kedgeline` are the options that every adapter has: window, at, target, store …"""
        self._runs, self._key = Runs(**(kedgeline or {})), f"smolagents-{uuid4().hex[:12]}"
        self._parts = Parts(_records)
        super().__init__(*args, **more)

    def write_memory_to_messages(self, summary_mode: bool = False) -> list[Any]:
        whole = super().write_memory_to_messages  # type: ignore[misc]
        found: list[Any]
        if summary_mode:  # asked for by planning, which sees little of each step
            found = whole(summary_mode=True)
            return found
        try:
            found = self._fitted()
        except Exception:  # noqa: BLE001 - a step may hold anything: the run goes on
            found = whole(summary_mode=False)
        return found

    def _fitted(self) -> list[Any]:
        memory, model = self.memory, self.model  # type: ignore[attr-defined]
        records = self._parts.messages(memory.steps)
        prompt = memory.system_prompt.to_messages(summary_mode=False)
        name = str(getattr(model, "model_id", "") or "")
        sent = self._runs.of(self._key).step(
            records, beside=memory.system_prompt.system_prompt, model_name=name
        )
        lead, staying, outputs = self._parts.remaining(memory.steps, sent)
        shown = list(prompt)
        if lead is not None:
            content = lead["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            shown.append(ChatMessage(role=MessageRole.USER, content=blocks))
        for place, step in enumerate(memory.steps):
            if place in staying or sent is records:
                text = outputs.get(_call_id(step))
                step = step if text is None else replace(step, observations=text)
                shown += step.to_messages(summary_mode=False)
        return shown


def _call_id(step: Any) -> str:
    return f"step-{id(step)}"


def _records(step: Any) -> list[dict[str, Any]]:
    """What a step says, as messages of OpenAI's chat API."""
    if isinstance(step, TaskStep):
        return [{"role": "user", "content": step.task}]
    if not isinstance(step, ActionStep):
        return [{"role": "assistant", "content": str(getattr(step, "plan", "") or step)}]
    calls = step.tool_calls or []
    named = [(call.name, call.arguments) for call in calls] or [("answer", {})]
    name, arguments = (
        named[0] if len(named) == 1 else ("calls", {"calls": [list(n) for n in named]})
    )
    told = step.observations or (str(step.error) if step.error else "")
    said = step.model_output if isinstance(step.model_output, str) else ""
    arguments = arguments if isinstance(arguments, dict) else {"code": str(arguments)}
    call = {
        "id": _call_id(step),
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments, default=str)},
    }
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": _call_id(step), "content": told},
    ]
