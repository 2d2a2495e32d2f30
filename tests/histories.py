"""Random histories of agents, fast: message lists of each provider with all that goes wrong.

A history is made once, in words common to all providers, and then put into the provider's shape. It
holds parallel, aborted, late and repeated calls, ids that occur twice, thinking, images of the user
and of tools, tools of the provider, answers in two messages, empty answers and words in a row. A
provider would refuse many of them. The same seed gives the same history.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

Record = dict[str, Any]

LEAST, MOST = 3, 30
"""Messages of a history."""
PIXEL = "iVBORw0KGgo="
WORDS = ("fix the harbour light", "go on", "and the second lamp?", "naïve ✓ 漢字", "x")
TOOLS = ("Bash", "read_file", "lookup")
OUTPUTS = ("ok", "", "line 1\nline 2", "Exit code 1\nboom")
LONG_OUTPUTS = (
    *OUTPUTS,
    "\n".join(f"line {n} of what a tool printed" for n in range(40)),
    "\n".join(f"{n} ok, or error {n}" for n in range(300)),
)
"""With some of a few hundred and a few thousand tokens, which are worth masking and shortening."""


class Piece(NamedTuple):
    kind: str
    """text, thinking, call, result, image, server or server_result."""
    id: str = ""
    text: str = ""
    """What was said, the name of the tool, or the output."""
    shows: bool = False
    """Whether a result holds an image."""
    signed: bool = True


class Said(NamedTuple):
    by: str
    """user or assistant."""
    pieces: list[Piece]


def history(
    chance: random.Random,
    provider: str,
    *,
    least: int = LEAST,
    most: int = MOST,
    outputs: Sequence[str] = OUTPUTS,
) -> list[Record]:
    """One message list in the provider's shape, with so many messages and such outputs."""
    script = Script(chance, chance.randint(least, most), outputs)
    written = SHAPES[provider](script.said, chance)
    return written[: script.length]


class Script:
    """A conversation as it may go."""

    def __init__(self, chance: random.Random, length: int, outputs: Sequence[str]) -> None:
        self.chance, self.length, self._outputs = chance, length, outputs
        self.said: list[Said] = []
        self._number = 0
        self._ids: list[str] = []
        self._late: list[Piece] = []
        """Results that come later than they should."""
        self._paused: list[str] = []
        """Tools of the provider that have been used and not answered."""
        while len(self.said) < self.length:
            self._exchange()

    def _often(self, share: float) -> bool:
        return self.chance.random() < share

    def _exchange(self) -> None:
        self._user()
        while self._often(0.15):
            self._user()
        for _ in range(self.chance.randint(0, 4)):
            self._step()
        if self._often(0.85):
            self._answer([Piece("text", text=self.chance.choice(WORDS))])

    def _user(self) -> None:
        pieces = [Piece("text", text=self.chance.choice(WORDS))] if self._often(0.9) else []
        if not pieces or self._often(0.1):
            pieces.append(Piece("image"))
        self.said.append(Said("user", pieces))

    def _step(self) -> None:
        """An answer with calls, and what came of them."""
        if self._often(0.04):
            self.said.append(Said("assistant", []))
            return
        words = [Piece("text", text=self.chance.choice(WORDS))] if self._often(0.5) else []
        calls = [self._call(number) for number in range(self.chance.choice((1, 1, 1, 2, 3)))]
        self._answer([*words, *calls])
        self._results(calls)

    def _answer(self, pieces: list[Piece]) -> None:
        before: list[Piece] = []
        if self._paused:
            before = [Piece("server_result", id=name) for name in self._paused]
            self._paused = []
        elif self._often(0.08):
            before = self._server()
        if self._often(0.3):
            before.insert(0, Piece("thinking", signed=self._often(0.9)))
        if before and self._often(0.1):  # paused, or one block in a message
            self.said.append(Said("assistant", before))
            before = []
        if len(pieces) > 1 and self._often(0.05):
            self.said.append(Said("assistant", [*before, pieces[0]]))
            before, pieces = [], pieces[1:]
        self.said.append(Said("assistant", [*before, *pieces]))

    def _server(self) -> list[Piece]:
        self._number += 1
        use = Piece("server", id=f"srv{self._number}")
        if self._often(0.3):
            self._paused.append(use.id)
            return [use]
        return [use, Piece("server_result", id=use.id)]

    def _call(self, place: int) -> Piece:
        self._number += 1
        again = self._ids and self._often(0.04)
        name = self.chance.choice(self._ids) if again else f"call_{self._number}"
        self._ids.append(name)
        return Piece("call", id=name, text=self.chance.choice(TOOLS), signed=place == 0)

    def _results(self, calls: list[Piece]) -> None:
        results = [
            Piece("result", call.id, self.chance.choice(self._outputs), shows=self._often(0.05))
            for call in calls
            if not self._often(0.05)
        ]
        self.chance.shuffle(results)
        due, self._late = (self._late, []) if self._often(0.5) else ([], self._late)
        if results and self._often(0.05):
            self._late.append(results.pop())
        if results and self._often(0.03):
            self._late.append(results[0])
        pieces = [*results, *due]
        if pieces and self._often(0.08):
            pieces.append(Piece("image"))
        if pieces and self._often(0.08):
            pieces.append(Piece("text", text=self.chance.choice(WORDS)))
        if pieces:
            self.said.append(Said("user", pieces))


def _anthropic(said: list[Said], chance: random.Random) -> list[Record]:
    return [{"role": by, "content": [_block(piece) for piece in pieces]} for by, pieces in said]


def _block(piece: Piece) -> Record:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    if piece.kind == "thinking":
        return {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    if piece.kind == "call":
        return {"type": "tool_use", "id": piece.id, "name": piece.text, "input": {"a": 1}}
    if piece.kind == "result":
        shown = [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]
        content: Any = shown if piece.shows else piece.text
        return {"type": "tool_result", "tool_use_id": piece.id, "content": content}
    if piece.kind == "image":
        return {"type": "image", "source": source}
    if piece.kind == "server":
        return {"type": "server_tool_use", "id": piece.id, "name": "web_search", "input": {}}
    if piece.kind == "server_result":
        return {"type": "web_search_tool_result", "tool_use_id": piece.id, "content": []}
    return {"type": "text", "text": piece.text}


def _chat(said: list[Said], chance: random.Random) -> list[Record]:
    messages: list[Record] = []
    for by, pieces in said:
        if by == "assistant":
            messages.append(_spoken(pieces))
            continue
        messages += [
            {"role": "tool", "tool_call_id": piece.id, "content": piece.text}
            for piece in pieces
            if piece.kind == "result"
        ]
        if parts := [_part(piece) for piece in pieces if piece.kind != "result"]:
            one = len(parts) == 1 and parts[0]["type"] == "text" and chance.random() < 0.7
            messages.append({"role": "user", "content": parts[0]["text"] if one else parts})
    return messages


def _spoken(pieces: list[Piece]) -> Record:
    text = "\n".join(piece.text for piece in pieces if piece.kind == "text")
    message: Record = {"role": "assistant", "content": text or None}
    if any(piece.kind == "thinking" for piece in pieces):
        message["reasoning_content"] = "hm"
    calls = [
        {
            "id": piece.id,
            "type": "function",
            "function": {"name": piece.text, "arguments": '{"a": 1}'},
        }
        for piece in pieces
        if piece.kind == "call"
    ]
    return {**message, "tool_calls": calls} if calls else message


def _part(piece: Piece) -> Record:
    if piece.kind == "image":
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    return {"type": "text", "text": piece.text}


def _responses(said: list[Said], chance: random.Random) -> list[Record]:
    items: list[Record] = []
    for by, pieces in said:
        items += [_item(by, piece) for piece in pieces]
    if chance.random() < 0.2:  # the client notes an output only after the model has gone on
        for n, (one, after) in enumerate(pairwise(items)):
            if one["type"] == "function_call_output" and after["type"] == "reasoning":
                items[n], items[n + 1] = after, one
    return items


def _item(by: str, piece: Piece) -> Record:
    url = f"data:image/png;base64,{PIXEL}"
    if piece.kind == "thinking":
        return {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "AAAA"}
    if piece.kind == "call":
        named = {"call_id": piece.id, "name": piece.text}
        return {"type": "function_call", **named, "arguments": '{"a":1}'}
    if piece.kind == "result":
        shown = [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": url}]
        output: Any = shown if piece.shows else piece.text
        return {"type": "function_call_output", "call_id": piece.id, "output": output}
    if piece.kind == "image":
        image = {"type": "input_image", "image_url": url}
        return {"type": "message", "role": "user", "content": [image]}
    if piece.kind == "server":
        return {"type": "mcp_approval_request", "id": piece.id, "name": "n", "arguments": "{}"}
    if piece.kind == "server_result":
        return {"type": "mcp_approval_response", "approval_request_id": piece.id, "approve": True}
    return {"type": "message", "role": by, "content": piece.text}


def _gemini(said: list[Said], chance: random.Random) -> list[Record]:
    with_ids = chance.random() < 0.7
    names: dict[str, str] = {}
    contents: list[Record] = []
    for by, pieces in said:
        names |= {piece.id: piece.text for piece in pieces if piece.kind == "call"}
        parts = [_gemini_part(piece, names, with_ids) for piece in pieces]
        contents.append({"role": "model" if by == "assistant" else "user", "parts": parts})
    return contents


def _gemini_part(piece: Piece, names: dict[str, str], with_ids: bool) -> Record:
    named = {"id": piece.id} if with_ids else {}
    pixel = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    if piece.kind == "thinking":
        return {
            "text": "hm",
            "thought": True,
            **({"thoughtSignature": "s"} if piece.signed else {}),
        }
    if piece.kind == "call":
        call = {"functionCall": {**named, "name": piece.text, "args": {"a": 1}}}
        return {**call, "thoughtSignature": "c2ln"} if piece.signed else call
    if piece.kind == "result":
        answer = {**named, "name": names[piece.id], "response": {"output": piece.text}}
        return {"functionResponse": {**answer, "parts": [pixel]} if piece.shows else answer}
    if piece.kind == "image":
        return pixel
    if piece.kind == "server":
        return {"executableCode": {"language": "PYTHON", "code": "1"}}
    if piece.kind == "server_result":
        return {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    return {"text": piece.text}


SHAPES = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
