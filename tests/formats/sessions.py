"""One small session per line format; line n holds the marker of n where it says anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.claude import Records, text, use

Record = dict[str, Any]
TIME = "2026-01-01T00:00:01.000Z"
SCRIPT = (
    *(("user", ""), ("think", ""), ("call", "c1"), ("call", "c2"), ("result", "c1")),
    *(("result", "c2"), ("say", ""), ("user", ""), ("call", "c3"), ("result", "c3"), ("say", "")),
)
"""What is said and done, line by line, with the id of a call."""


def words(number: int) -> str:
    """Words that hold whatever makes a torn line hard to read: quotes, brackets, wide letters."""
    return f'mark{number:03d}x: "lit" {{the}} lamp\t– C:\\pier\n灯 \u2028 😀 }}{{ ['


def nested(number: int) -> Record:
    """Parameters with objects inside objects, so that a torn line ends deep inside."""
    return {"command": words(number), "env": {"lamps": [{"at": {"x": 1}}, {"at": {"x": []}}]}}


def anthropic(kind: str, n: int, call: str) -> Record:
    block: Record = {"type": "text", "text": words(n)}
    if kind == "think":
        block = {"type": "thinking", "thinking": words(n), "signature": "seal"}
    elif kind == "call":
        block = use(call, **nested(n))
    elif kind == "result":
        block = {"type": "tool_result", "tool_use_id": call, "content": words(n)}
    role = "user" if kind in ("user", "result") else "assistant"
    # One message of the model follows another: they are told apart by their ids.
    return {"role": role, "content": [block], **({"id": "m"} if kind in ("think", "call") else {})}


def openai_chat(kind: str, n: int, call: str) -> Record:
    if kind == "think":
        return {"role": "system", "content": words(n)}
    if kind == "call":
        function = {"name": "shell", "arguments": json.dumps(nested(n))}
        made = {"id": call, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "id": "m", "tool_calls": [made]}
    if kind == "result":
        return {"role": "tool", "tool_call_id": call, "content": words(n)}
    return {"role": "user" if kind == "user" else "assistant", "content": words(n)}


def openai_responses(kind: str, n: int, call: str) -> Record:
    if kind == "think":
        thought = {"type": "summary_text", "text": words(n)}
        return {"type": "reasoning", "summary": [thought], "encrypted_content": "seal"}
    if kind == "call":
        made = {"call_id": call, "name": "shell", "arguments": json.dumps(nested(n))}
        return {"type": "function_call", **made}
    if kind == "result":
        return {"type": "function_call_output", "call_id": call, "output": words(n)}
    role, part = ("user", "input_text") if kind == "user" else ("assistant", "output_text")
    return {"type": "message", "role": role, "content": [{"type": part, "text": words(n)}]}


def gemini(kind: str, n: int, call: str) -> Record:
    part: Record = {"text": words(n)}
    if kind == "think":
        part |= {"thought": True}
    elif kind == "call":
        part = {"functionCall": {"id": call, "name": "shell", "args": nested(n)}}
    elif kind == "result":
        answer = {"id": call, "name": "shell", "response": {"output": words(n)}}
        part = {"functionResponse": answer}
    return {"role": "user" if kind in ("user", "result") else "model", "parts": [part]}


def langchain(kind: str, n: int, call: str) -> Record:
    if kind == "call":
        made = {"name": "shell", "args": nested(n), "id": call, "type": "tool_call"}
        return {"type": "ai", "data": {"content": "", "id": "m", "tool_calls": [made]}}
    if kind == "result":
        data = {"content": words(n), "tool_call_id": call, "status": "success"}
        return {"type": "tool", "data": data}
    name = {"user": "human", "think": "system"}.get(kind, "ai")
    return {"type": name, "data": {"content": words(n)}}


def plain(kind: str, n: int, call: str) -> Record:
    role = {"user": "user", "think": "system"}.get(kind, "assistant")
    return {"role": role, "content": words(n)}


def codex(kind: str, n: int, call: str) -> Record:
    return {
        "timestamp": TIME,
        "type": "response_item",
        "payload": openai_responses(kind, n, call),
    }


def pi(kind: str, n: int, call: str) -> Record:
    content = [text(words(n))]
    message: Record = {"role": "user" if kind == "user" else "assistant", "content": content}
    if kind == "think":
        content[:] = [{"type": "thinking", "thinking": words(n), "thinkingSignature": "seal"}]
    elif kind == "call":
        content[:] = [{"type": "toolCall", "id": call, "name": "bash", "arguments": nested(n)}]
    elif kind == "result":
        answer = {"toolCallId": call, "toolName": "bash", "isError": False}
        message = {"role": "toolResult", "content": content, **answer}
    ids = {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None}
    return {"type": "message", **ids, "timestamp": TIME, "message": message}


def copilot_cli(kind: str, n: int, call: str) -> Record:
    stamp = {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None, "timestamp": TIME}
    if kind == "user":
        return {"type": "user.message", "data": {"content": words(n)}, **stamp}
    if kind == "result":
        data = {"toolCallId": call, "success": True, "result": {"content": words(n)}}
        return {"type": "tool.execution_complete", "data": data, **stamp}
    # One message of the model follows another: they are told apart by their ids.
    said: Record = {"messageId": "m" if kind in ("think", "call") else f"m{n}", "content": ""}
    if kind == "think":
        said |= {"reasoningText": words(n)}
    elif kind == "call":
        said |= {"toolRequests": [{"toolCallId": call, "name": "bash", "arguments": nested(n)}]}
    else:
        said |= {"content": words(n)}
    return {"type": "assistant.message", "data": said, **stamp}


def openhands(kind: str, n: int, call: str) -> Record:
    about = {"id": f"e{n}", "timestamp": TIME, "source": "user" if kind == "user" else "agent"}
    tool = {"tool_name": "terminal", "tool_call_id": call}
    if kind == "call":
        given = {"id": call, "name": "terminal", "arguments": json.dumps(nested(n))}
        answer = {"thought": [], "tool_call": given, "llm_response_id": "m"}
        return {"kind": "ActionEvent", **about, **tool, **answer}
    if kind == "result":
        seen = {"kind": "TerminalObservation", "content": [text(words(n))]}
        return {"kind": "ObservationEvent", **about, **tool, "observation": seen}
    role = "user" if kind == "user" else "assistant"
    thought = {"reasoning_content": words(n)} if kind == "think" else {}
    message = {"role": role, "content": [] if thought else [text(words(n))], **thought}
    answered = "m" if thought else f"m{n}"
    return {"kind": "MessageEvent", **about, "llm_message": message, "llm_response_id": answered}


def gemini_cli(kind: str, n: int, call: str) -> Record:
    stamp = {"id": f"m{n}", "timestamp": TIME}
    if kind == "result":
        return stamp | {"type": "info", "content": words(n)}
    if kind == "think":
        thoughts = [{"subject": "tides", "description": words(n)}]
        return stamp | {"type": "gemini", "content": "", "thoughts": thoughts}
    if kind == "call":
        answer = {"name": "shell", "response": {"output": words(n)}}
        made = {"id": call, "name": "shell", "args": nested(0)["env"], "status": "success"}
        made |= {"result": [{"functionResponse": answer}]}
        return stamp | {"type": "gemini", "content": "", "toolCalls": [made]}
    return stamp | {"type": "user" if kind == "user" else "gemini", "content": words(n)}


def claude_code() -> list[Record]:
    made = Records()
    for n, (kind, call) in enumerate(SCRIPT):
        message = anthropic(kind, n, call)
        if message["role"] == "user":
            made.user(message["content"])
        else:
            made.assistant(f"m{n // 4}", *message["content"])
    made.add("system", subtype="turn_duration", durationMs=1200)
    stamp = {"sessionId": "s1", "timestamp": TIME}
    made.assistant("m8", use("t3", "Task", prompt=words(12)))
    for n, role in ((13, "user"), (14, "assistant")):
        message = {"role": role, "content": [text(words(n))]}
        inner = {"type": role, "uuid": f"a{n}", "timestamp": "2026", "message": message}
        data = {"type": "agent_progress", "agentId": "a1", "message": inner, "prompt": "light it"}
        made.add("progress", parentToolUseID="t3", data=data)
    made.result("t3", words(15), toolUseResult={"agentId": "a1"})
    made.raw({"type": "summary", "summary": words(16), "leafUuid": "u13"})
    made.user(words(17), isMeta=True)
    made.raw({"type": "queue-operation", "operation": "enqueue", "content": words(18)} | stamp)
    made.raw({"type": "queue-operation", "operation": "remove"} | stamp)
    made.assistant("m9", text(words(20)))
    return [json.loads(line) for line in made.lines]


SHAPES: dict[str, Callable[[str, int, str], Record]] = {
    "anthropic": anthropic,
    "codex": codex,
    "copilot-cli": copilot_cli,
    "gemini": gemini,
    "gemini-cli": gemini_cli,
    "langchain": langchain,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "openhands": openhands,
    "pi": pi,
    "plain": plain,
}
JSON_FORMATS = sorted([*SHAPES, "claude-code"])
TEXTS = ("aider", "specstory")


def records_of(name: str) -> list[Record]:
    if name == "claude-code":
        return claude_code()
    return [SHAPES[name](kind, n, call) for n, (kind, call) in enumerate(SCRIPT)]


def lines_of(name: str) -> list[bytes]:
    """Every other record is written in ASCII, so that escaped letters are torn too."""
    if name in TEXTS:
        return [line.encode() for line in (aider if name == "aider" else specstory)()]
    return [
        json.dumps(record, ensure_ascii=number % 2 == 0, separators=(",", ":")).encode()
        for number, record in enumerate(records_of(name))
    ]


def aider() -> list[str]:
    """Lines end as aider ends them: with two spaces where the user or the console speaks."""
    made = ["# aider chat started at 2026-01-01 10:00:00", "", "> Aider v0.86.1  ", ""]
    for _ in range(4):
        made += [f"#### {_line(len(made))}  ", ""]
        made += [_line(len(made)), "", "> Tokens: 2.1k sent, 90 received.  ", ""]
    return made


def specstory() -> list[str]:
    made = ["<!-- Generated by SpecStory -->", "", "# The lamp (2026-01-01 10:00Z)", ""]
    for number in range(8):
        made += [("_**User**_", "_**Assistant**_")[number % 2], ""]
        made += [_line(len(made)), "", "---", ""]
    return made


def _line(number: int) -> str:
    return words(number).replace("\n", " ").replace("\t", " ")
