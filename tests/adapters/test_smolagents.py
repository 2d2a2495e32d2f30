"""smolagents: the mixin, with a played model."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

pytest.importorskip("smolagents")

from rich.console import Console
from smolagents import (
    ActionStep,
    AgentLogger,
    ChatMessage,
    CodeAgent,
    MessageRole,
    Model,
    ToolCallingAgent,
    tool,
)
from smolagents.models import (
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    TokenUsage,
)
from smolagents.monitoring import LogLevel

from kedgeline.adapters.smolagents import KedgelineMixin
from tests.adapters.contract import CALLS, TASK, WINDOW, Planted, Seen, output

pytestmark = pytest.mark.adapters


class Auditor(KedgelineMixin, ToolCallingAgent): ...


class Coder(KedgelineMixin, CodeAgent): ...


def text(message: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [])


class Played(Model):
    def __init__(self, seen: Seen) -> None:
        super().__init__(model_id="played")
        self.seen = seen

    def _number(self, messages: Any) -> int:
        calls = [m for m in messages if m.role == MessageRole.TOOL_CALL]
        results = [text(m) for m in messages if m.role == MessageRole.TOOL_RESPONSE]
        spoken = [m for m in messages if m.role != MessageRole.SYSTEM]  # of 2,000 tokens
        plain = [{"role": m.role.value, "content": text(m)} for m in spoken]
        self.seen.request(plain, range(len(calls)), range(len(results)))
        last = results[-1] if results else "RESULT 0"
        return int(last.split("RESULT ")[1].split()[0])

    def generate(self, messages: Any, **known: Any) -> ChatMessage:
        number = self._number(messages)
        usage = TokenUsage(input_tokens=self.seen.sizes[-1], output_tokens=5)
        if "</code>" in (known.get("stop_sequences") or ()):
            code = f"print(part(number={number + 1}))" if number < CALLS else "final_answer('done')"
            said = f"Thought: go on\n<code>\n{code}\n</code>"
            return ChatMessage(role=MessageRole.ASSISTANT, content=said, token_usage=usage)
        name, arguments = "part", {"number": number + 1}
        if number >= CALLS:
            name, arguments = "final_answer", {"answer": "done"}  # type: ignore[dict-item]
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"c{number + 1}", type="function", function=function)
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=usage
        )

    def generate_stream(self, messages: Any, **known: Any) -> Any:
        call = (self.generate(messages, **known).tool_calls or [])[0]
        function = ChatMessageToolCallFunction(
            name=call.function.name, arguments=json.dumps(call.function.arguments)
        )
        delta = ChatMessageToolCallStreamDelta(
            index=0, id=call.id, type="function", function=function
        )
        yield ChatMessageStreamDelta(content="", tool_calls=[delta])


@tool
def part(number: int) -> str:
    """Give back one part of the ledger.

    Args:
        number: its number
    """
    return f"RESULT {output(number)}"


def gone(cls: Any, seen: Seen, *, streaming: bool = False) -> Any:
    quiet = AgentLogger(level=LogLevel.OFF, console=Console(file=io.StringIO()))
    more = {"stream_outputs": True} if streaming else {}
    agent = cls(
        tools=[part],
        model=Played(seen),
        max_steps=200,
        logger=quiet,
        kedgeline={"window": WINDOW},
        **more,
    )
    if streaming:
        assert list(agent.run(TASK, stream=True))[-1].output == "done"
    else:
        assert agent.run(TASK) == "done"
    return agent


@pytest.mark.parametrize(("cls", "streaming"), [(Auditor, False), (Auditor, True), (Coder, False)])
def test_the_memory_stays_whole_and_what_is_sent_fits(cls: Any, streaming: bool) -> None:
    seen = Seen()
    agent = gone(cls, seen, streaming=streaming)
    seen.holds(agent)
    steps = [step for step in agent.memory.steps if isinstance(step, ActionStep)]
    assert len(steps) == CALLS + 1
    told = zip(steps[:-1], range(1, CALLS + 1), strict=True)
    assert all(output(number).rstrip()[-20:] in (step.observations or "") for step, number in told)


@pytest.mark.parametrize("cls", [Auditor, Coder])
def test_an_error_of_ours_does_not_end_the_run(cls: Any, planted: Planted) -> None:
    seen = Seen(window=10**9)
    gone(cls, seen)
    assert len(seen.sizes) == CALLS + 1
    assert planted()
