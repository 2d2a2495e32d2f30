"""Requests in the shape of OpenAI's chat completions."""

from __future__ import annotations

import json
from typing import Any

from identity import Identities

Record = dict[str, Any]


class Request:
    def __init__(self, *, seed: str, model: str, tools: list[Record]) -> None:
        self.ids = Identities(seed)
        self._model, self._tools = model, tools
        self._messages: list[Record] = []

    def document(self) -> Record:
        return {"model": self._model, "messages": self._messages, "tools": self._tools}

    def system(self, text: str) -> None:
        self._messages.append({"role": "system", "content": text})

    def user(self, text: str) -> None:
        self._messages.append({"role": "user", "content": text})

    def say(self, text: str) -> None:
        self._messages.append({"role": "assistant", "content": text})

    def call(self, *calls: tuple[str, Record, Any], text: str | None = None) -> None:
        """Calls of one message, each with its name, arguments and what the tool returned."""
        made = [(self.ids.token("call_", 24), *call) for call in calls]
        self._messages.append(
            {
                "role": "assistant",
                "content": text,
                "tool_calls": [
                    {
                        "id": call,
                        "type": "function",
                        "function": {"name": name, "arguments": json.dumps(given)},
                    }
                    for call, name, given, _ in made
                ],
            }
        )
        for call, _, _, returned in made:
            content = returned if isinstance(returned, str) else json.dumps(returned)
            self._messages.append({"role": "tool", "tool_call_id": call, "content": content})


def function(name: str, about: str, **parameters: str) -> Record:
    """A tool with text parameters, all of them needed."""
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": schema},
    }
