"""What each provider demands of a list of messages, as far as it can be seen from the list.

It knows nothing of how lists are written, so that it can tell whether they are written well."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

Messages = list[dict[str, Any]]


def problems(provider: str, messages: Messages) -> list[str]:
    """What a provider would refuse in a list; a call in flight at its end is no problem."""
    return RULES[provider](messages)


def anthropic(messages: Messages) -> list[str]:
    found = _alternation(messages, "content", "assistant")
    found += _server_tools(messages)
    open_calls: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        last = number == len(messages) - 1
        found += [f"{number}: blank text" for b in blocks if b == {"type": "text", "text": ""}]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if blocks[: len(results)] != [b for b in blocks if b["type"] == "tool_result"]:
            found.append(f"{number}: results do not come first")
        if not set(results) <= set(open_calls) or (set(results) < set(open_calls) and not last):
            found.append(f"{number}: results {results} for calls {open_calls}")
        open_calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        found += _repeated(number, open_calls, seen)
        if open_calls and message["role"] != "assistant":
            found.append(f"{number}: a call of the user")
        if message["role"] == "assistant" and blocks and blocks[-1]["type"] in THOUGHTS:
            found.append(f"{number}: ends with thinking")
        for block in blocks:
            if block["type"] == "thinking" and not block["signature"]:
                found.append(f"{number}: thinking without a signature")
            if block["type"] == "image" and message["role"] == "assistant":
                found.append(f"{number}: an image of the assistant")
    return found


def _server_tools(messages: Messages) -> list[str]:
    """Tools that the provider runs itself: no result without its use, and no use that is left
    without a result when the user speaks again."""
    found: list[str] = []
    waiting: dict[str, int] = {}
    for number, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text"}]
        if message["role"] == "user" and any(b["type"] != "tool_result" for b in blocks):
            found += [f"{number}: no result for {one!r}" for one in waiting]
            waiting = {}
        for block in blocks:
            if block["type"] in ("server_tool_use", "mcp_tool_use"):
                waiting[block["id"]] = number
            elif not block["type"].endswith("_tool_result"):
                continue
            elif waiting.pop(block["tool_use_id"], None) is None:
                found.append(f"{number}: a result for {block['tool_use_id']!r}, never used")
    return found


def openai_chat(messages: Messages) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        role = message["role"]
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            found.append(f"{number}: role {role!r}")
        if role in ("tool", "function"):
            answered = message.get("tool_call_id") if role == "tool" else message["name"]
            if answered in waiting:
                waiting.remove(answered)
            else:
                found.append(f"{number}: a result for {answered!r}, which no call waits for")
            continue
        if waiting:
            found.append(f"{number}: {waiting} not answered")
        calls = message.get("tool_calls") or []
        waiting = [call["id"] for call in calls]
        found += _repeated(number, waiting, seen)
        old = message.get("function_call")
        waiting += [old["name"]] if old else []
        for call in calls:
            if call["type"] == "function" and not isinstance(call["function"]["arguments"], str):
                found.append(f"{number}: arguments are no string")
        if role == "user" and not message["content"]:
            found.append(f"{number}: nothing said")
        if role == "assistant" and not (message.get("content") or calls or old):
            found += [] if message.get("refusal") or message.get("audio") else [f"{number}: empty"]
    return found


def openai_responses(items: Messages) -> list[str]:
    found: list[str] = []
    waiting: dict[str, str] = {}
    seen: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        call_id = str(item.get("call_id", item.get("id", "")))
        if kind.endswith("_call_output"):
            if waiting.pop(call_id, None) != kind.removesuffix("_output"):
                found.append(f"{number}: an output for {call_id!r}, which no call waits for")
        elif kind.endswith("_call") and f"{kind}_output" in OUTPUTS:
            found += _repeated(number, [call_id], seen)
            waiting[call_id] = kind
        elif kind == "message" and item["role"] not in ("user", "assistant", "system", "developer"):
            found.append(f"{number}: role {item['role']!r}")
        elif kind == "reasoning":
            after = items[number + 1] if number + 1 < len(items) else {}
            if after.get("role", "assistant") != "assistant" or not after:
                found.append(f"{number}: reasoning that nothing follows")
    if waiting and not _in_flight(items, waiting):
        found.append(f"{sorted(waiting)} not answered")
    return found


def gemini(contents: Messages) -> list[str]:
    found = _alternation(contents, "parts", "model")
    waiting: list[tuple[Any, str]] = []
    for number, content in enumerate(contents):
        parts = content["parts"]
        answers = [_named(p, "functionResponse", "function_response") for p in parts]
        given = [(a.get("id"), a["name"]) for a in answers if a]
        last = number == len(contents) - 1
        if not set(given) <= set(waiting) or (len(given) != len(waiting) and not last):
            found.append(f"{number}: responses {given} for calls {waiting}")
        calls = [_named(p, "functionCall", "function_call") for p in parts]
        waiting = [(c.get("id"), c["name"]) for c in calls if c]
        found += [f"{number}: an empty part" for part in parts if not part]
    return found


THOUGHTS = ("thinking", "redacted_thinking")
OUTPUTS = {
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
}
RULES: dict[str, Callable[[Messages], list[str]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}


PROVIDERS = tuple(RULES)


def _alternation(messages: Messages, key: str, assistant: str) -> list[str]:
    roles = ["assistant" if m.get("role") == assistant else "user" for m in messages]
    found = [f"{n}: nothing in it" for n, m in enumerate(messages) if not m[key]]
    if roles and roles[0] != "user":
        found.append("begins with the assistant")
    twice = [n for n, (one, next_one) in enumerate(pairwise(roles)) if one == next_one]
    return found + [f"{n}: {roles[n]} twice" for n in twice]


def _repeated(number: int, ids: list[str], seen: set[str]) -> list[str]:
    twice = [f"{number}: id {one!r} again" for one in ids if one in seen or ids.count(one) > 1]
    seen.update(ids)
    return twice + [f"{number}: no id" for one in ids if not one]


def _in_flight(items: Messages, waiting: dict[str, str]) -> bool:
    """Whether nothing of the user's comes behind the calls that wait."""
    first = min(n for n, i in enumerate(items) if i.get("call_id") in waiting)
    return all(item.get("role", "assistant") == "assistant" for item in items[first:])


def _named(part: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((part[name] for name in names if name in part), {})
