"""One conversation of an agent in every shape that a list of messages may have."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock
from google.genai import types as genai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem
from pydantic_ai import messages as pai

Messages = list[Any]


class Call(NamedTuple):
    id: str
    number: int
    output: str


class Said(NamedTuple):
    """What one turn says: words of the user's before it, the answer, calls with their outputs."""

    user: str
    answer: str
    calls: tuple[Call, ...]
    thought: bool


class Talk(NamedTuple):
    system: str
    turns: tuple[Said, ...]
    pending: str
    """Words that wait for an answer."""


def talk(random: Random, *, most: int = 30) -> Talk:
    """A conversation by chance: parallel calls, empty and giant outputs, silent answers."""
    turns: list[Said] = []
    for number in range(random.randint(1, most)):
        asks = not turns or random.random() < 0.2
        many = random.choice((0, 1, 1, 1, 2, 3)) if number + 1 < most else 0
        calls = tuple(Call(f"c{number}-{n}", number, _output(random, number)) for n in range(many))
        answer = f"I look at part {number}." if random.random() < 0.7 or not calls else ""
        user = f"Please check part {number} of src/part{number}.py." if asks else ""
        if turns and not turns[-1].calls and not user:
            user = "Go on."
        turns.append(Said(user, answer, calls, random.random() < 0.3))
    pending = "And now the rest." if random.random() < 0.3 else ""
    return Talk("You are an auditor." if random.random() < 0.5 else "", tuple(turns), pending)


def _output(random: Random, number: int) -> str:
    rows = random.choice((0, 1, 5, 40, 40, 150, 600))
    return "\n".join(f"row {row} of part {number}: {row * 7919 % 9973}" for row in range(rows))


def openai_chat(talk: Talk) -> Messages:
    found: Messages = [{"role": "system", "content": talk.system}] if talk.system else []
    for one in talk.turns:
        if one.user:
            found.append({"role": "user", "content": one.user})
        message: dict[str, Any] = {"role": "assistant", "content": one.answer or None}
        if one.calls:
            message["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": "part", "arguments": _json(c)},
                }
                for c in one.calls
            ]
        found.append(message)
        found += [{"role": "tool", "tool_call_id": c.id, "content": c.output} for c in one.calls]
    return found + ([{"role": "user", "content": talk.pending}] if talk.pending else [])


def anthropic(talk: Talk) -> Messages:
    return _joined(
        talk,
        "content",
        lambda text: {"type": "text", "text": text},
        lambda c: {"type": "tool_use", "id": c.id, "name": "part", "input": {"number": c.number}},
        lambda c: {"type": "tool_result", "tool_use_id": c.id, "content": c.output},
        thought={"type": "thinking", "thinking": "hm", "signature": "s"},
    )


def openai_responses(talk: Talk) -> Messages:
    found: Messages = []
    for one in talk.turns:
        if one.user:
            found.append({"role": "user", "content": one.user})
        if one.thought:
            found.append({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "z"})
        if one.answer:
            text = {"type": "output_text", "text": one.answer, "annotations": []}
            found.append({"type": "message", "role": "assistant", "content": [text]})
        for c in one.calls:
            found.append(
                {"type": "function_call", "call_id": c.id, "name": "part", "arguments": _json(c)}
            )
        for c in one.calls:
            found.append({"type": "function_call_output", "call_id": c.id, "output": c.output})
    return found + ([{"role": "user", "content": talk.pending}] if talk.pending else [])


def gemini(talk: Talk) -> Messages:
    def told(c: Call) -> dict[str, Any]:
        return {"functionResponse": {"name": "part", "response": {"result": c.output}}}

    return _joined(
        talk,
        "parts",
        lambda text: {"text": text},
        lambda c: {"functionCall": {"name": "part", "args": {"number": c.number}}},
        told,
        agent="model",
    )


def bedrock(talk: Talk) -> Messages:
    def call(c: Call) -> dict[str, Any]:
        return {"toolUse": {"toolUseId": c.id, "name": "part", "input": {"number": c.number}}}

    return _joined(
        talk,
        "content",
        lambda text: {"text": text},
        call,
        lambda c: {"toolResult": {"toolUseId": c.id, "content": [{"text": c.output}]}},
    )


def _joined(
    talk: Talk,
    field: str,
    text: Callable[[str], Any],
    call: Callable[[Call], Any],
    told: Callable[[Call], Any],
    *,
    agent: str = "assistant",
    thought: Any = None,
) -> Messages:
    """Messages of blocks in which the results stand in one message with the user's next words."""
    found: Messages = []

    def user(blocks: list[Any]) -> None:
        if found and found[-1]["role"] == "user":
            found[-1][field] += blocks
        elif blocks:
            found.append({"role": "user", field: blocks})

    for one in talk.turns:
        user([text(one.user)] if one.user else [])
        blocks = [*([text(one.answer)] if one.answer else ()), *map(call, one.calls)]
        before = [thought] if thought and one.thought and blocks else []
        found.append({"role": agent, field: [*before, *blocks]})
        user([told(c) for c in one.calls])
    user([text(talk.pending)] if talk.pending else [])
    return found


def langchain(talk: Talk) -> Messages:
    found: Messages = [SystemMessage(talk.system)] if talk.system else []
    for one in talk.turns:
        if one.user:
            found.append(HumanMessage(one.user))
        calls = [{"name": "part", "args": {"number": c.number}, "id": c.id} for c in one.calls]
        found.append(AIMessage(one.answer, tool_calls=calls))
        found += [ToolMessage(c.output, tool_call_id=c.id, artifact=object()) for c in one.calls]
    return found + ([HumanMessage(talk.pending)] if talk.pending else [])


def pydantic_ai(talk: Talk) -> Messages:
    found: Messages = []
    system: list[Any] = [pai.SystemPromptPart(talk.system)] if talk.system else []

    def user(parts: list[Any]) -> None:
        nonlocal system
        parts, system = [*system, *parts], []
        if found and isinstance(found[-1], pai.ModelRequest):
            found[-1].parts = [*found[-1].parts, *parts]
        elif parts:
            found.append(pai.ModelRequest(parts=parts))

    for one in talk.turns:
        user([pai.UserPromptPart(one.user)] if one.user else [])
        parts: list[Any] = [pai.TextPart(one.answer)] if one.answer else []
        parts += [
            pai.ToolCallPart("part", {"number": c.number}, tool_call_id=c.id) for c in one.calls
        ]
        found.append(pai.ModelResponse(parts=parts))
        user([pai.ToolReturnPart("part", c.output, tool_call_id=c.id) for c in one.calls])
    user([pai.UserPromptPart(talk.pending)] if talk.pending else [])
    return found


def google_genai(talk: Talk) -> Messages:
    return [genai.Content.model_validate(content) for content in gemini(talk)]


def _function(call: Call) -> dict[str, str]:
    return {"name": "part", "arguments": _json(call)}


def _json(call: Call) -> str:
    return json.dumps({"number": call.number})


# Objects of clients, which stand among the caller's own JSON.


def openai_chat_objects(talk: Talk) -> Messages:
    return [
        ChatCompletionMessage.model_validate(one) if one["role"] == "assistant" else one
        for one in openai_chat(talk)
    ]


def openai_responses_objects(talk: Talk) -> Messages:
    known = {"function_call": ResponseFunctionToolCall, "reasoning": ResponseReasoningItem}
    return [
        known[one["type"]].model_validate(one) if one.get("type") in known else one
        for one in openai_responses(talk)
    ]


def anthropic_objects(talk: Talk) -> Messages:
    known = {"text": TextBlock, "thinking": ThinkingBlock, "tool_use": ToolUseBlock}
    found = anthropic(talk)
    for message in found:
        if message["role"] == "assistant":
            blocks = message["content"]
            message["content"] = [known[b["type"]].model_validate(b) for b in blocks]
    return found


# Frameworks that are not among our own packages, as they dump their messages.


def agent_framework(talk: Talk) -> Messages:
    def result(c: Call) -> list[dict[str, Any]]:
        return [{"type": "function_result", "call_id": c.id, "result": c.output}]

    return _dumped(
        talk,
        lambda role, contents: {"type": "message", "role": role, "contents": contents},
        lambda text: {"type": "text", "text": text},
        lambda c: {"type": "function_call", "call_id": c.id, **_function(c)},
        lambda message, c: message("tool", result(c)),
    )


def llama_index(talk: Talk) -> Messages:
    def message(role: str, blocks: list[Any], **extra: str) -> dict[str, Any]:
        return {"role": role, "additional_kwargs": extra, "blocks": blocks}

    def told(_: Any, c: Call) -> dict[str, Any]:
        return message("tool", [{"block_type": "text", "text": c.output}], tool_call_id=c.id)

    return _dumped(
        talk,
        message,
        lambda text: {"block_type": "text", "text": text},
        lambda c: {
            "block_type": "tool_call",
            "tool_call_id": c.id,
            "tool_name": "part",
            "tool_kwargs": {"number": c.number},
        },
        told,
    )


def haystack(talk: Talk) -> Messages:
    def call(c: Call) -> dict[str, Any]:
        return {"id": c.id, "tool_name": "part", "arguments": {"number": c.number}, "extra": None}

    return _dumped(
        talk,
        lambda role, blocks: {"role": role, "meta": {}, "name": None, "content": blocks},
        lambda text: {"text": text},
        lambda c: {"tool_call": call(c)},
        lambda message, c: message(
            "tool", [{"tool_call_result": {"result": c.output, "origin": call(c), "error": False}}]
        ),
    )


def ai_sdk(talk: Talk) -> Messages:
    def told(message: Any, c: Call) -> Any:
        output = {"type": "text", "value": c.output}
        named = {"toolCallId": c.id, "toolName": "part"}
        return message("tool", [{"type": "tool-result", **named, "output": output}])

    return _dumped(
        talk,
        lambda role, content: {"role": role, "content": content},
        lambda text: {"type": "text", "text": text},
        lambda c: {
            "type": "tool-call",
            "toolCallId": c.id,
            "toolName": "part",
            "input": {"number": c.number},
        },
        told,
    )


def _dumped(
    talk: Talk,
    message: Callable[[str, list[Any]], Any],
    text: Callable[[str], Any],
    call: Callable[[Call], Any],
    told: Callable[[Any, Call], Any],
) -> Messages:
    """Messages of blocks, where each result is a message of its own."""
    found: Messages = [message("system", [text(talk.system)])] if talk.system else []
    for one in talk.turns:
        if one.user:
            found.append(message("user", [text(one.user)]))
        blocks = [text(one.answer)] if one.answer else []
        found.append(message("assistant", [*blocks, *map(call, one.calls)]))
        found += [told(message, c) for c in one.calls]
    return found + ([message("user", [text(talk.pending)])] if talk.pending else [])


SHAPES: dict[str, Callable[[Talk], Messages]] = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "bedrock": bedrock,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "google-genai": google_genai,
    "openai-chat objects": openai_chat_objects,
    "openai-responses objects": openai_responses_objects,
    "anthropic objects": anthropic_objects,
    "agent-framework": agent_framework,
    "llama-index": llama_index,
    "haystack": haystack,
    "ai-sdk": ai_sdk,
}
