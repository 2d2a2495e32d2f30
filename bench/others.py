"""Compaction of other packages that asks no model, each in the environment of its own package.

    python bench/others.py METHOD FILE TOKENS      one text, as `bench public --method` asks for it
    python bench/others.py METHOD                  a question a line: {"messages": […], "tokens": N}

Messages are those of OpenAI's chat API. Where a package has several steps without a model they are
taken in the order its own documentation gives; where its step has no size, the caller cuts what is
too much. This file imports nothing of kedgeline."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

Messages = list[dict[str, Any]]
CHARACTERS = 4
"""Of a token: every package counts in a way of its own, and the caller asks again for less."""


def sized(messages: Iterable[Any]) -> int:
    return sum(len(str(getattr(one, "content", one))) for one in messages) // CHARACTERS


# LangChain, and deepagents that builds on it.


def _to_langchain(messages: Messages) -> list[Any]:
    from langchain_core.messages import convert_to_messages

    return list(convert_to_messages(messages))


def _from_langchain(messages: Iterable[Any]) -> Messages:
    from langchain_core.messages import convert_to_openai_messages

    return list(convert_to_openai_messages(list(messages)))


def langchain(messages: Messages, tokens: int) -> Messages:
    from langchain.agents.middleware import ClearToolUsesEdit

    listed = _to_langchain(messages)
    ClearToolUsesEdit(trigger=tokens).apply(listed, count_tokens=sized)
    return _from_langchain(listed)


def deepagents(messages: Messages, tokens: int) -> Messages:
    """Arguments and outputs shortened, and the messages that its summarization would keep; a model
    would write the summary."""
    from deepagents.backends import StateBackend
    from deepagents.middleware.filesystem import _create_content_preview
    from deepagents.middleware.summarization import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel

    keep = ("tokens", tokens)
    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[""]),
        backend=StateBackend(),
        trigger=keep,
        keep=keep,
        token_counter=sized,
        truncate_args_settings={"trigger": keep, "keep": keep},
    )
    listed = _to_langchain(messages)
    shortened, _ = middleware._truncate_args(listed, sized(listed))
    for number, one in enumerate(shortened):
        if one.type == "tool" and len(one.content) > CHARACTERS * tokens:
            preview = _create_content_preview(one.content)
            shortened[number] = one.model_copy(update={"content": preview.text})
    return _from_langchain(shortened[middleware._determine_cutoff_index(shortened) :])


# Pydantic AI's harness.


def harness(messages: Messages, tokens: int) -> Messages:
    """Cleared results first, then the window: two tiers."""
    from pydantic_ai import RunContext
    from pydantic_ai import messages as pai
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage
    from pydantic_ai_harness.compaction import (
        ClearToolResults,
        SlidingWindowCompaction,
        TieredCompaction,
    )

    named: dict[str, str] = {}
    listed: list[Any] = []
    for one in messages:
        text = str(one.get("content") or "")
        if one["role"] == "assistant":
            parts: list[Any] = [pai.TextPart(text)] if text else []
            for call in one.get("tool_calls") or ():
                named[call["id"]] = call["function"]["name"]
                asked = call["function"]["arguments"]
                parts.append(pai.ToolCallPart(named[call["id"]], asked, tool_call_id=call["id"]))
            listed.append(pai.ModelResponse(parts=parts))
        elif one["role"] == "tool":
            name = named.get(one["tool_call_id"], "tool")
            told = pai.ToolReturnPart(name, text, tool_call_id=one["tool_call_id"])
            listed.append(pai.ModelRequest(parts=[told]))
        else:
            listed.append(pai.ModelRequest(parts=[pai.UserPromptPart(text)]))
    clear = ClearToolResults(max_tokens=tokens)
    window = SlidingWindowCompaction(max_tokens=tokens, keep_tokens=tokens)
    tiered = TieredCompaction(tiers=[clear, window], target_tokens=tokens)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    made = asyncio.run(tiered.compact(listed, context))
    return [part for one in made for part in _from_pydantic(one.parts)]


def _from_pydantic(parts: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for part in parts:
        if part.part_kind == "tool-call":
            call = {"name": part.tool_name, "arguments": part.args_as_json_str()}
            yield {"role": "assistant", "tool_calls": [{"function": call}]}
        elif part.part_kind == "tool-return":
            yield {"role": "tool", "content": str(part.content)}
        else:
            role = "assistant" if part.part_kind == "text" else "user"
            yield {"role": role, "content": str(part.content)}


# Haystack and headroom.


def haystack(messages: Messages, tokens: int) -> Messages:
    """Outputs pruned first, then the window."""
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import SlidingWindowCompactor, ToolResultPruningCompactor

    class Counter:
        def count(self, messages: Any, tools: Any = None) -> int:
            return sized([one.to_openai_dict_format() for one in messages])

    # it takes no empty message
    full = ({**one, "content": one.get("content") or " "} for one in messages)
    made = [ChatMessage.from_openai_dict_format(one) for one in full]
    for compactor in (ToolResultPruningCompactor(), SlidingWindowCompactor()):
        made = compactor.compact(made, tokens, Counter()) or made
    return [one.to_openai_dict_format() for one in made]


def headroom(messages: Messages, tokens: int) -> Messages:
    """All that it does without the model that it would load."""
    from headroom import CompressConfig, compress

    config = CompressConfig(kompress_model="disabled")
    return list(compress(messages, model_limit=tokens, config=config).messages)


METHODS: dict[str, Callable[[Messages, int], Messages]] = {
    "langchain": langchain,
    "deepagents": deepagents,
    "harness": harness,
    "haystack": haystack,
    "headroom": headroom,
}


# Messages as the text that is scored.


def text_of(messages: Messages) -> str:
    return "\n\n".join(part for one in messages for part in _parts(one) if part)


def _parts(message: dict[str, Any]) -> Iterable[str]:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(str(block.get("text", "")) for block in content)
    yield content
    for call in message.get("tool_calls") or ():
        asked = call["function"]["arguments"]
        try:
            asked = json.loads(asked)
        except ValueError:
            asked = {"": asked}
        lines = (f"{key}: {value}" for key, value in asked.items())
        yield "\n".join((call["function"]["name"], *lines))


def main(name: str, *rest: str) -> None:
    method = METHODS[name]
    if rest:
        with open(rest[0], encoding="utf-8") as file:
            sys.stdout.write(text_of(method(json.load(file)["messages"], int(rest[1]))))
        return
    out, sys.stdout = sys.stdout, sys.stderr  # what a package prints is no answer
    for line in sys.stdin:
        asked = json.loads(line)
        told = text_of(method(asked["messages"], asked["tokens"]))
        print(json.dumps(told), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
