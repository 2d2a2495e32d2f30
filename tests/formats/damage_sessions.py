"""One small session per line format; line n holds the marker of n where it says anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kedgeline.formats import load_format
from tests.claude import Records, text, use
from tests.formats.damage import Session, session_of
from tests.formats.damage_messages import (
    Made,
    anthropic,
    gemini,
    langchain,
    nested,
    openai_chat,
    openai_responses,
    plain,
    words,
)


def claude_code() -> Made:
    made = Records()
    made.user(words(0))
    made.assistant("m1", {"type": "thinking", "thinking": words(1), "signature": "seal"})
    made.assistant("m1", text(words(2)))
    made.assistant("m1", use("t1", **nested(3)), usage_seen=True)
    made.assistant("m1", use("t2", "Read", file_path=words(4)))
    made.result("t1", words(5), toolUseResult={"stdout": "lit 灯", "interrupted": False})
    made.result("t2", [text(words(6))], is_error=True)
    made.add("system", subtype="turn_duration", durationMs=1200)
    made.user([text(words(8))])
    made.assistant("m2", use("t3", "Task", prompt=words(9)))
    made.add("progress", parentToolUseID="t3", data=_heard_by_agent(10, "user"))
    made.add("progress", parentToolUseID="t3", data=_heard_by_agent(11, "assistant"))
    made.result("t3", words(12), toolUseResult={"agentId": "a1"})
    made.assistant("m3", text(words(13)))
    made.raw({"type": "summary", "summary": words(14), "leafUuid": "u13"})
    made.user(words(15), isMeta=True)
    made.raw({"type": "queue-operation", "operation": "enqueue", "content": words(16)} | _STAMP)
    made.raw({"type": "queue-operation", "operation": "remove"} | _STAMP)
    made.assistant("m4", text(words(18)))
    return [json.loads(line) for line in made.lines]


_STAMP = {"sessionId": "s1", "timestamp": "2026-01-01T00:00:00.000Z"}


def _heard_by_agent(number: int, role: str) -> dict[str, Any]:
    message = {"role": role, "content": [text(words(number))]}
    inner = {"type": role, "uuid": f"a{number}", "timestamp": "2026", "message": message}
    return {"type": "agent_progress", "agentId": "a1", "message": inner, "prompt": "light it"}


def codex() -> Made:
    made: Made = []

    def add(kind: str, **payload: Any) -> None:
        time = f"2026-01-01T00:00:{len(made):02d}.000Z"
        made.append({"timestamp": time, "type": kind, "payload": payload})

    def message(role: str, number: int) -> None:
        block = {"type": "output_text" if role == "assistant" else "input_text"}
        content = [block | {"text": words(number)}]
        add("response_item", type="message", role=role, content=content)

    def call(number: int, call_id: str) -> None:
        arguments = json.dumps(nested(number))
        add(
            "response_item",
            type="function_call",
            name="shell",
            arguments=arguments,
            call_id=call_id,
        )

    def output(number: int, call_id: str) -> None:
        add("response_item", type="function_call_output", call_id=call_id, output=words(number))

    add("session_meta", id="s1", cwd="/home/sam/harbor", cli_version="0.42.0", git={"branch": "m"})
    message("user", 1)
    add("turn_context", cwd="/home/sam/harbor", model="gpt-5", approval_policy="never")
    summary = [{"type": "summary_text", "text": words(3)}]
    add("response_item", type="reasoning", summary=summary, encrypted_content="seal")
    call(4, "c1")
    call(5, "c2")
    output(6, "c1")
    output(7, "c2")
    add("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 7}})
    message("assistant", 9)
    message("user", 10)
    call(11, "c3")
    output(12, "c3")
    message("assistant", 13)
    return made


def pi() -> Made:
    made: Made = []

    def add(kind: str, **fields: Any) -> None:
        ids = {"id": f"e{len(made)}", "parentId": f"e{len(made) - 1}" if made else None}
        time = f"2026-01-01T00:00:{len(made):02d}.000Z"
        made.append({"type": kind, **ids, "timestamp": time, **fields})

    def message(role: str, *content: dict[str, Any], **fields: Any) -> None:
        add("message", message={"role": role, "content": list(content), **fields})

    def call(number: int, call_id: str) -> dict[str, Any]:
        return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": nested(number)}

    def result(number: int, call_id: str) -> None:
        message(
            "toolResult", text(words(number)), toolCallId=call_id, toolName="bash", isError=False
        )

    add("session", cwd="/home/sam/harbor", provider="anthropic", modelId="opus")
    message("user", text(words(1)))
    message("assistant", {"type": "thinking", "thinking": words(2), "thinkingSignature": "seal"})
    message("assistant", call(3, "c1"), model="opus", usage={"input": 7, "output": 3})
    result(4, "c1")
    message("assistant", text(words(5)))
    add("model_change", provider="anthropic", modelId="sonnet")
    add("message", message={"role": "user", "content": words(7)})
    message("assistant", call(8, "c2"))
    result(9, "c2")
    add("compaction", summary=words(10), tokensBefore=175_004)
    message("assistant", text(words(11)))
    return made


def gemini_cli() -> Made:
    made: Made = [{"sessionId": "s1", "projectHash": "0f", "startTime": "2026-01-01T00:00:00.000Z"}]

    def add(kind: str, content: Any, **fields: Any) -> None:
        stamp = {"id": f"m{len(made)}", "timestamp": "2026-01-01T00:00:01.000Z"}
        made.append(stamp | {"type": kind, "content": content, **fields})

    def called(number: int, status: str = "success") -> None:
        answer = {"id": "c1", "name": "shell", "response": {"output": words(number)}}
        call = {"id": f"c{number}", "name": "shell", "args": nested(0)["env"], "status": status}
        add("gemini", "", toolCalls=[call | {"result": [{"functionResponse": answer}]}])

    add("user", words(1))
    add("gemini", words(2), model="gemini-2.5-pro", tokens={"input": 7})
    called(3)
    add("user", [{"text": words(4)}])
    called(5)
    add("gemini", words(6))
    made.append({"$set": {"summary": words(7)}})
    add("user", words(8))
    add("gemini", "", thoughts=[{"subject": "tides", "description": words(9)}])
    add("info", words(10))
    return made


SESSIONS: dict[str, Callable[[], Made]] = {
    "anthropic": anthropic,
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "gemini-cli": gemini_cli,
    "langchain": langchain,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "pi": pi,
    "plain": plain,
}


def _identified(name: str, record: dict[str, Any]) -> bool:
    """Whether a record carries an id under which a reader knows it again."""
    if name == "claude-code":
        return record["type"] in ("user", "assistant")
    return name == "pi" and record["type"] != "session"


def json_session(name: str) -> Session:
    """Every other record is written in ASCII, so that escaped letters are torn too."""
    made = SESSIONS[name]()
    lines = [
        json.dumps(record, ensure_ascii=number % 2 == 0, separators=(",", ":")).encode()
        for number, record in enumerate(made)
    ]
    return session_of(load_format(name), lines, identified=lambda n: _identified(name, made[n]))
