"""Messages of frameworks that have a shape of their own: Bedrock Converse (Strands, and all of
Bedrock), Microsoft's Agent Framework, LlamaIndex, Haystack, Vercel's AI SDK. Each is read as the
message of Anthropic's that says the same; of none is more written than one message in the user's
voice.

A framework is a table: each kind of block, and where in it the words, the id of a call, its
arguments or its result stand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_json, parsed_arguments, plain_words
from kedgeline.formats.providers import anthropic
from kedgeline.formats.providers.messages import KEYS, Outputs, conversations, first_messages
from kedgeline.formats.providers.shape import Reader, turns_in
from kedgeline.formats.records import Lines, Record, at, mapping, mappings, string
from kedgeline.formats.registry import FileHead
from kedgeline.model import Turn

Blocks = list[Record]
Block = Callable[[Record, Record], Blocks]
"""The blocks of Anthropic's that a block says, with its message."""
ROLES = {
    **{role: role for role in ("user", "assistant", "system", "chatbot")},
    "tool": "user",
    "developer": "system",
    "model": "assistant",
}
USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


class Framework:
    """How one framework dumps its messages."""

    def __init__(
        self,
        name: str,
        blocks: dict[str, Block],
        outputs: Outputs,
        *,
        field: str = "content",
        kind: str = "",
        telling: Collection[str] = (),
        frame: Record | None = None,
    ) -> None:
        """`field` holds the blocks; `kind` is the field of a block that says its kind, and without
        one its first key that is known does. `telling` kinds are nobody else's. A message
        that is made has the fields of the `frame`."""
        self.name, self.outputs = name, outputs
        self._blocks, self._field, self._kind = blocks, field, kind
        self._telling, self._frame = telling or blocks, frame or {}

    def sniff(self, head: FileHead) -> int:
        messages = first_messages(head, KEYS)
        blocks = (block for one in messages for block in mappings(one.get(self._field)))
        kinds = set(map(self._kind_of, blocks))
        known = kinds <= self._blocks.keys() and all(map(self._could_be, messages))
        return 3 if known and not kinds.isdisjoint(self._telling) else 0

    def _could_be(self, message: Record) -> bool:
        """Whether it has a role; where blocks have no kind, Haystack's pass for Bedrock's, but its
        messages have a field more."""
        alike = bool(self._kind) or ("meta" in message) is ("meta" in self._frame)
        return alike and string(message.get("role")) in ROLES

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        found = conversations(lines, log, KEYS)
        return turns_in(found, log, lambda log, session: _Reader(log, session, self))

    def spoken(self, text: str) -> Record:
        """A message in the user's voice."""
        block = {**({self._kind: "text"} if self._kind else {}), "text": text}
        return {**self._frame, "role": "user", self._field: [block]}

    def message(self, message: Record) -> Record:
        """The message of Anthropic's that says the same."""
        blocks: Blocks = []
        for block in self._listed(message):
            found = self._blocks.get(self._kind_of(block))
            blocks += [block] if found is None else found(block, message)
        role = string(message.get("role"))
        result = any(block.get("type") == "tool_result" for block in blocks)
        counts = mapping(at(message, "metadata.usage"))
        usage = {to: counts[name] for name, to in USAGE.items() if name in counts}
        said = {"role": "user" if result else ROLES.get(role, role), "content": blocks}
        return {**said, "usage": usage} if usage else said

    def _listed(self, message: Record) -> Blocks:
        content = message.get(self._field)
        text = {**({self._kind: "text"} if self._kind else {}), "text": content}
        return [text] if isinstance(content, str) else mappings(content)

    def _kind_of(self, block: Record) -> str:
        if self._kind:
            return string(block.get(self._kind))
        return "" if "type" in block else next((key for key in self._blocks if key in block), "")


class _Reader(Reader):
    def __init__(self, log: Log, session: int, framework: Framework) -> None:
        super().__init__(log, session, anthropic.FORMAT)
        self._framework = framework

    def take(self, line: Line, message: Record) -> None:
        super().take(line, self._framework.message(message))


# Blocks by the paths of their fields.


def nothing(block: Record, message: Record) -> Blocks:
    return []


def text(path: str = "text") -> Block:
    return lambda block, message: _text(at(block, path))


def thought(path: str, signature: str = "") -> Block:
    return lambda block, message: [
        {
            "type": "thinking",
            "thinking": string(at(block, path)),
            "signature": string(at(block, signature)),
        }
    ]


def call(call_id: str, name: str, arguments: str) -> Block:
    return lambda block, message: [
        {
            "type": "tool_use",
            "id": string(at(block, call_id)),
            "name": string(at(block, name)),
            "input": parsed_arguments(at(block, arguments)),
        }
    ]


def result(call_id: str, output: str, failed: Callable[[Record], bool]) -> Block:
    return lambda block, message: _result(at(block, call_id), at(block, output), failed(block))


def media(data: Sequence[str], mime: str, usual: str = "") -> Block:
    """`data` are the paths where it may stand: as base64, or as a URL."""

    def read(block: Record, message: Record) -> Blocks:
        known = string(at(block, mime)) or usual
        found = next((one for path in data if (one := at(block, path))), None)
        return _media(found, known, "image" if known.startswith("image") else "document")

    return read


def _text(value: Any) -> Blocks:
    return [{"type": "text", "text": value}] if isinstance(value, str) and value else []


def _result(call_id: Any, output: Any, failed: bool, shown: Sequence[Record] = ()) -> Blocks:
    words = output if isinstance(output, str) else plain_words(output) or as_json(output)
    content = [*_text(words), *shown] if shown else words
    named = {"type": "tool_result", "tool_use_id": string(call_id), "content": content}
    return [{**named, "is_error": True} if failed else named]


def _media(data: Any, mime: str, kind: str) -> Blocks:
    if not isinstance(data, str):
        return []
    if data.startswith(("http://", "https://")):
        return [{"type": kind, "source": {"type": "url", "url": data}}]
    data = data.partition(";base64,")[2] or data
    return [{"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}]


# Bedrock's results hold blocks too; LlamaIndex's are texts under the role `tool`.


def _bedrock_result(block: Record, message: Record) -> Blocks:
    words: list[str] = []
    shown: Blocks = []
    for one in mappings(at(block, "toolResult.content")):
        if "json" in one:
            words.append(as_json(one["json"]))
        elif "text" in one:
            words.append(string(one["text"]))
        else:
            shown += _bedrock_media(one, message)
    failed = at(block, "toolResult.status") == "error"
    return _result(at(block, "toolResult.toolUseId"), "\n".join(words), failed, shown)


def _bedrock_media(block: Record, message: Record) -> Blocks:
    kind = "image" if "image" in block else "document"
    mime = f"{'image' if kind == 'image' else 'application'}/{string(at(block, f'{kind}.format'))}"
    return _media(at(block, f"{kind}.source.bytes"), mime, kind)


def _llama_index_text(block: Record, message: Record) -> Blocks:
    if message.get("role") != "tool":
        return _text(block.get("text"))
    return _result(at(message, "additional_kwargs.tool_call_id"), block.get("text"), failed=False)


def _agent_framework_result(block: Record, message: Record) -> Blocks:
    error = block.get("exception")
    return _result(block.get("call_id"), error or block.get("result"), bool(error))


AI_SDK = Framework(
    "ai-sdk",
    {
        "text": text(),
        "reasoning": thought("text"),
        "tool-call": call("toolCallId", "toolName", "input"),
        "tool-result": result(
            "toolCallId",
            "output.value",
            lambda block: string(at(block, "output.type")).startswith("error"),
        ),
        **dict.fromkeys(("image", "file"), media(("image", "data"), "mediaType", "image/png")),
        **dict.fromkeys(("tool-approval-request", "tool-approval-response"), nothing),
    },
    Outputs(
        *("content", ("tool-result",), "toolCallId", "output"),
        lambda text: {"type": "text", "value": text},
    ),
    kind="type",
    telling=("tool-call", "tool-result"),
)
BEDROCK = Framework(
    "bedrock",
    {
        "text": text(),
        "toolUse": call("toolUse.toolUseId", "toolUse.name", "toolUse.input"),
        "toolResult": _bedrock_result,
        "reasoningContent": thought(
            "reasoningContent.reasoningText.text", "reasoningContent.reasoningText.signature"
        ),
        **dict.fromkeys(("image", "document"), _bedrock_media),
        "cachePoint": nothing,
    },
    Outputs("content", ("toolResult",), "toolUseId", "content", lambda text: [{"text": text}]),
)
AGENT_FRAMEWORK = Framework(
    "agent-framework",
    {
        "text": text(),
        "text_reasoning": thought("text", "protected_data"),
        "function_call": call("call_id", "name", "arguments"),
        "function_result": _agent_framework_result,
        **dict.fromkeys(("data", "uri"), media(("uri",), "media_type")),
        "usage": nothing,
    },
    Outputs("contents", ("function_result",), "call_id", "result", repeated="items"),
    field="contents",
    kind="type",
    frame={"type": "message"},
)
LLAMA_INDEX = Framework(
    "llama-index",
    {
        "text": _llama_index_text,
        "thinking": thought("content", "additional_information.signature"),
        "tool_call": call("tool_call_id", "tool_name", "tool_kwargs"),
        "image": media(("image", "url"), "image_mimetype", "image/png"),
        "cache": nothing,
    },
    Outputs(
        *("", ("tool",), "additional_kwargs.tool_call_id", "blocks"),
        lambda text: [{"block_type": "text", "text": text}],
    ),
    field="blocks",
    kind="block_type",
    frame={"additional_kwargs": {}},
)
HAYSTACK = Framework(
    "haystack",
    {
        "text": text(),
        "tool_call": call("tool_call.id", "tool_call.tool_name", "tool_call.arguments"),
        "tool_call_result": result(
            "tool_call_result.origin.id",
            "tool_call_result.result",
            lambda block: at(block, "tool_call_result.error") is True,
        ),
        "reasoning": thought("reasoning.reasoning_text"),
        "image": media(("image.base64_image",), "image.mime_type"),
    },
    Outputs("content", ("tool_call_result",), "origin.id", "result"),
    frame={"meta": {}, "name": None},
)
