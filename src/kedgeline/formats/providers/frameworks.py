"""Messages of frameworks that have a shape of their own: Bedrock Converse (Strands, and all of
Bedrock), Microsoft's Agent Framework, LlamaIndex, Haystack, Vercel's AI SDK. Each is read as the
message of Anthropic's that says the same; none is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_json, parsed_arguments, plain_words
from kedgeline.formats.providers import anthropic
from kedgeline.formats.providers.messages import KEYS, turns_in
from kedgeline.formats.providers.shape import Reader
from kedgeline.formats.records import Lines, Record, mapping, mappings, string
from kedgeline.formats.registry import FileHead
from kedgeline.model import Turn

Blocks = list[Record]
ROLES = {"user", "assistant", "system", "tool", "developer", "model", "chatbot"}


class FrameworkFormat:
    """One framework: the field its messages keep their blocks in, and a block as Anthropic's."""

    def __init__(
        self,
        name: str,
        field: str,
        translated: Callable[[Record, Record], Blocks | None],
        tells: Callable[[Record], bool],
    ) -> None:
        self.name, self._field = name, field
        self._translated, self._tells = translated, tells

    def sniff(self, head: FileHead) -> int:
        messages = _listed(head)
        known = (
            string(one.get("role")) in ROLES
            and all(self._translated(block, one) is not None for block in self._blocks(one))
            for one in messages
        )
        return 3 if messages and any(map(self._tells, messages)) and all(known) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_in(lines, log, lambda log, session: _Reader(log, session, self), KEYS)

    def _blocks(self, message: Record) -> Blocks:
        content = message.get(self._field)
        return (
            [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content)
        )

    def message(self, message: Record) -> Record:
        blocks: Blocks = []
        for block in self._blocks(message):
            found = self._translated(block, message)
            blocks += [block] if found is None else found
        role = string(message.get("role"))
        known = {"tool": "user", "developer": "system", "model": "assistant"}.get(role, role)
        if any(block.get("type") == "tool_result" for block in blocks):
            known = "user"
        usage = _usage(message)
        return {"role": known, "content": blocks, **({"usage": usage} if usage else {})}


class _Reader(Reader):
    def __init__(self, log: Log, session: int, framework: FrameworkFormat) -> None:
        super().__init__(log, session, anthropic.FORMAT)
        self._framework = framework

    def take(self, line: Line, message: Record) -> None:
        super().take(line, self._framework.message(message))


def _listed(head: FileHead) -> Sequence[Record]:
    value: Any = head.document if head.document is not None else list(head.lines)
    if isinstance(value, dict):
        value = next((value[key] for key in KEYS if isinstance(value.get(key), list)), [])
    return [one for one in value or () if isinstance(one, dict)]


def _usage(message: Record) -> Record:
    counts = mapping(mapping(message.get("metadata")).get("usage"))
    names = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cacheReadInputTokens": "cache_read_input_tokens",
        "cacheWriteInputTokens": "cache_creation_input_tokens",
    }
    return {to: counts[name] for name, to in names.items() if name in counts}


def _text(text: Any) -> Blocks:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []


def _thought(text: Any, signature: Any = "") -> Blocks:
    return [{"type": "thinking", "thinking": string(text), "signature": string(signature)}]


def _call(call_id: Any, name: Any, arguments: Any) -> Blocks:
    return [
        {
            "type": "tool_use",
            "id": string(call_id),
            "name": string(name),
            "input": parsed_arguments(arguments),
        }
    ]


def _result(
    call_id: Any, output: Any, *, failed: bool = False, media: Sequence[Record] = ()
) -> Blocks:
    text = output if isinstance(output, str) else plain_words(output) or as_json(output)
    return [
        {
            "type": "tool_result",
            "tool_use_id": string(call_id),
            "content": [*_text(text), *media] if media else text,
            **({"is_error": True} if failed else {}),
        }
    ]


def _image(mime: str, data: Any, kind: str = "image") -> Blocks:
    if not isinstance(data, str):
        return []
    if data.startswith(("http://", "https://")):
        return [{"type": kind, "source": {"type": "url", "url": data}}]
    data = data.partition(";base64,")[2] or data
    return [{"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}]


# Bedrock Converse: blocks without a type, each with one key that says what it is.


def _converse(block: Record, _: Record) -> Blocks | None:
    if "text" in block:
        return _text(block["text"])
    if "toolUse" in block:
        use = mapping(block["toolUse"])
        return _call(use.get("toolUseId"), use.get("name"), use.get("input"))
    if "toolResult" in block:
        return _converse_result(mapping(block["toolResult"]))
    if "reasoningContent" in block:
        said = mapping(mapping(block["reasoningContent"]).get("reasoningText"))
        return _thought(said.get("text"), said.get("signature"))
    if "image" in block or "document" in block:
        return _converse_media(block)
    return [] if "cachePoint" in block else None


def _converse_result(result: Record) -> Blocks:
    words: list[str] = []
    media: Blocks = []
    for one in mappings(result.get("content")):
        if "json" in one:
            words.append(as_json(one["json"]))
        elif "text" in one:
            words.append(string(one["text"]))
        else:
            media += _converse_media(one)
    failed = result.get("status") == "error"
    return _result(result.get("toolUseId"), "\n".join(words), failed=failed, media=media)


def _converse_media(block: Record) -> Blocks:
    kind = "image" if "image" in block else "document"
    media = mapping(block.get(kind))
    data = mapping(media.get("source")).get("bytes")
    mime = f"{'image' if kind == 'image' else 'application'}/{string(media.get('format'))}"
    return _image(mime, data, kind)


def _is_converse(message: Record) -> bool:
    marks = {"text", "toolUse", "toolResult", "reasoningContent", "cachePoint"}
    blocks = mappings(message.get("content"))
    return "meta" not in message and any(
        "type" not in block and block.keys() & marks for block in blocks
    )


# Microsoft's Agent Framework: contents of one class, told apart by their type.


def _agent_framework(block: Record, _: Record) -> Blocks | None:
    kind = block.get("type")
    if kind == "text":
        return _text(block.get("text"))
    if kind == "text_reasoning":
        return _thought(block.get("text"), block.get("protected_data"))
    if kind == "function_call":
        return _call(block.get("call_id"), block.get("name"), block.get("arguments"))
    if kind == "function_result":
        failed = bool(block.get("exception"))
        output = block.get("exception") if failed else block.get("result")
        return _result(block.get("call_id"), output, failed=failed)
    if kind in ("data", "uri"):
        mime = string(block.get("media_type"))
        return _image(mime, block.get("uri"), "image" if mime.startswith("image") else "document")
    return [] if kind == "usage" else None


# LlamaIndex: blocks with a block_type; a result is a text under the role `tool`.


def _llama_index(block: Record, message: Record) -> Blocks | None:
    kind = block.get("block_type")
    if kind == "text" and message.get("role") == "tool":
        extra = mapping(message.get("additional_kwargs"))
        return _result(extra.get("tool_call_id"), block.get("text"))
    if kind == "text":
        return _text(block.get("text"))
    if kind == "thinking":
        extra = mapping(block.get("additional_information"))
        return _thought(block.get("content"), extra.get("signature"))
    if kind == "tool_call":
        return _call(block.get("tool_call_id"), block.get("tool_name"), block.get("tool_kwargs"))
    if kind == "image":
        return _image(
            string(block.get("image_mimetype")) or "image/png",
            block.get("image") or block.get("url"),
        )
    return [] if kind == "cache" else None


# Haystack's `to_dict`: blocks with one key each.


def _haystack(block: Record, _: Record) -> Blocks | None:
    if "text" in block:
        return _text(block["text"])
    if "tool_call" in block:
        call = mapping(block["tool_call"])
        return _call(call.get("id"), call.get("tool_name"), call.get("arguments"))
    if "tool_call_result" in block:
        result = mapping(block["tool_call_result"])
        call_id = mapping(result.get("origin")).get("id")
        return _result(call_id, result.get("result"), failed=result.get("error") is True)
    if "reasoning" in block:
        return _thought(mapping(block["reasoning"]).get("reasoning_text"))
    if "image" in block:
        image = mapping(block["image"])
        return _image(string(image.get("mime_type")), image.get("base64_image"))
    return None


def _is_haystack(message: Record) -> bool:
    marks = {"tool_call", "tool_call_result", "reasoning"} | (
        {"text"} if "meta" in message else set()
    )
    blocks = mappings(message.get("content"))
    return any("type" not in block and block.keys() & marks for block in blocks)


def _has(mark: str) -> Callable[[Record], bool]:
    return lambda message: any(
        mark in block for field in ("contents", "blocks") for block in mappings(message.get(field))
    )


# Vercel's AI SDK: blocks with types of their own, beside plain texts.


def _ai_sdk(block: Record, _: Record) -> Blocks | None:
    kind = block.get("type")
    if kind == "text":
        return _text(block.get("text"))
    if kind == "reasoning":
        return _thought(block.get("text"))
    if kind == "tool-call":
        return _call(block.get("toolCallId"), block.get("toolName"), block.get("input"))
    if kind == "tool-result":
        output = mapping(block.get("output"))
        failed = string(output.get("type")).startswith("error")
        return _result(block.get("toolCallId"), output.get("value", ""), failed=failed)
    if kind in ("image", "file"):
        data = block.get("image", block.get("data"))
        mime = string(block.get("mediaType")) or "image/png"
        return _image(mime, data, "image" if mime.startswith("image") else "document")
    return [] if kind in ("tool-approval-request", "tool-approval-response") else None


def _is_ai_sdk(message: Record) -> bool:
    marks = {"tool-call", "tool-result"}
    return any(block.get("type") in marks for block in mappings(message.get("content")))


AI_SDK = FrameworkFormat("ai-sdk", "content", _ai_sdk, _is_ai_sdk)
BEDROCK = FrameworkFormat("bedrock", "content", _converse, _is_converse)
AGENT_FRAMEWORK = FrameworkFormat("agent-framework", "contents", _agent_framework, _has("type"))
LLAMA_INDEX = FrameworkFormat("llama-index", "blocks", _llama_index, _has("block_type"))
HAYSTACK = FrameworkFormat("haystack", "content", _haystack, _is_haystack)
