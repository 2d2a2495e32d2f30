"""Requests in the shape of Anthropic's messages."""

from __future__ import annotations

from typing import Any

from identity import Identities

Record = dict[str, Any]
Made = tuple[Record, Record]
"""A call, and its result."""


class Request:
    def __init__(self, *, seed: str, system: list[Record], tools: list[Record]) -> None:
        self.ids = Identities(seed)
        self._head: Record = {
            "model": "claude-opus-4-5",
            "max_tokens": 8_000,
            "thinking": {"type": "enabled", "budget_tokens": 4_000},
            "system": system,
            "tools": tools,
        }
        self._messages: list[Record] = []

    def document(self) -> Record:
        return {**self._head, "messages": self._messages}

    def user(self, text: str, *more: Record) -> None:
        content: Any = [*more, {"type": "text", "text": text}] if more else text
        last = self._messages[-1] if self._messages else None
        if last and last["role"] == "user":
            last["content"].append({"type": "text", "text": text})
            return
        self._messages.append({"role": "user", "content": content})

    def call(self, tool: str, given: Record, output: Any, *, failed: bool = False) -> Made:
        call = self.ids.token("toolu_01")
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        result: Record = {"type": "tool_result", "tool_use_id": call, "content": output}
        return use, result | ({"is_error": True} if failed else {})

    def searched(self, query: str, *found: tuple[str, str, str]) -> list[Record]:
        """A search the provider ran itself: its call and its result are one message's blocks."""
        call = self.ids.token("srvtoolu_01")
        results = [
            {
                "type": "web_search_result",
                "url": url,
                "title": title,
                "encrypted_content": self.ids.sealed(96),
                "page_age": age,
            }
            for title, url, age in found
        ]
        use = {"type": "server_tool_use", "id": call, "name": "web_search"}
        return [
            use | {"input": {"query": query}},
            {"type": "web_search_tool_result", "tool_use_id": call, "content": results},
        ]

    def turn(
        self, text: str, *calls: Made, think: str = "", searched: list[Record] | None = None
    ) -> None:
        """One assistant message, and the results of its calls in the next one."""
        content: list[Record] = []
        if think:
            signature = self.ids.sealed(180)
            content.append({"type": "thinking", "thinking": think, "signature": signature})
        content += searched or []
        if text:
            content.append({"type": "text", "text": text})
        content += [use for use, _ in calls]
        self._messages.append({"role": "assistant", "content": content})
        if calls:
            self._messages.append({"role": "user", "content": [result for _, result in calls]})
