"""One conversation as a file of every format: what was said, called and given back, and by whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.claude import Records, text, use
from tests.formats import (
    aider_history,
    gemini_chat,
    opencode_export,
    test_atif,
    test_copilot_cli,
    test_openhands,
)


class Heard(NamedTuple):
    """A text under the user's role."""

    text: str


class Says(NamedTuple):
    text: str


class Called(NamedTuple):
    tool: str
    parameters: dict[str, Any]
    output: str
    failed: bool = False

    @property
    def shell(self) -> str:
        """The call as a command line, for agents that have nothing else."""
        return str(self.parameters.get("command", "show")).split("\n")[0]


Event = Heard | Says | Called
Message = dict[str, Any]


class Script(NamedTuple):
    events: Sequence[Event]
    title: str = "Berths"
    branch: str = "main"


def _messages(script: Script, shape: Callable[[int, Event], Sequence[Message]]) -> list[Message]:
    return [one for number, event in enumerate(script.events) for one in shape(number, event)]


def anthropic(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if isinstance(event, Heard):
            return [{"role": "user", "content": event.text}]
        if isinstance(event, Says):
            return [{"role": "assistant", "content": [text(event.text)]}]
        call = use(f"c{number}", event.tool, **event.parameters)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": event.output}
        given = result | {"is_error": True} if event.failed else result
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [given]}]

    return _messages(script, shape)


def openai_chat(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if not isinstance(event, Called):
            role = "user" if isinstance(event, Heard) else "assistant"
            return [{"role": role, "content": event.text}]
        function = {"name": event.tool, "arguments": json.dumps(event.parameters)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": event.output},
        ]

    return _messages(script, shape)


def openai_responses(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if not isinstance(event, Called):
            role, kind = (
                ("user", "input_text") if isinstance(event, Heard) else ("assistant", "output_text")
            )
            content = [{"type": kind, "text": event.text}]
            return [{"type": "message", "role": role, "content": content}]
        named = {"call_id": f"c{number}", "name": event.tool}
        return [
            {"type": "function_call", **named, "arguments": json.dumps(event.parameters)},
            {"type": "function_call_output", "call_id": f"c{number}", "output": event.output},
        ]

    return _messages(script, shape)


def gemini(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if not isinstance(event, Called):
            role = "user" if isinstance(event, Heard) else "model"
            return [{"role": role, "parts": [{"text": event.text}]}]
        field = "error" if event.failed else "output"
        call = {"id": f"c{number}", "name": event.tool, "args": event.parameters}
        result = {"id": f"c{number}", "name": event.tool, "response": {field: event.output}}
        return [
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": result}]},
        ]

    return _messages(script, shape)


def langchain(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if not isinstance(event, Called):
            kind = "human" if isinstance(event, Heard) else "ai"
            return [{"type": kind, "data": {"content": event.text}}]
        call = {"name": event.tool, "args": event.parameters, "id": f"c{number}"}
        status = "error" if event.failed else "success"
        result = {"content": event.output, "tool_call_id": f"c{number}", "status": status}
        return [
            {"type": "ai", "data": {"content": "", "tool_calls": [call | {"type": "tool_call"}]}},
            {"type": "tool", "data": result},
        ]

    return _messages(script, shape)


def tau_bench(script: Script) -> Any:
    return [{"task_id": 0, "reward": 0.0, "info": {"task": {}}, "traj": openai_chat(script)}]


def plain(script: Script) -> Any:
    def shape(number: int, event: Event) -> list[Message]:
        if isinstance(event, Called):
            return [{"role": "tool", "content": event.output}]
        role = "user" if isinstance(event, Heard) else "assistant"
        return [{"role": role, "content": event.text}]

    return {"title": script.title, "messages": _messages(script, shape)}


def claude_code(script: Script) -> bytes:
    made = Records()
    made.raw({"type": "summary", "summary": script.title, "leafUuid": "u1"})
    made.raw({"type": "custom-title", "customTitle": script.title, "sessionId": "s1"})
    for number, event in enumerate(script.events):
        if isinstance(event, Heard):
            made.user(event.text, gitBranch=script.branch)
        elif isinstance(event, Says):
            made.assistant(f"m{number}", text(event.text))
        else:
            made.assistant(f"m{number}", use(f"c{number}", event.tool, **event.parameters))
            made.result(f"c{number}", _failure(event), is_error=event.failed)
    return b"".join(made.lines)


def _failure(event: Called) -> str:
    """What a shell printed stands behind its exit code."""
    return f"Exit code 1\n{event.output}" if event.failed and event.tool == "Bash" else event.output


def codex(script: Script) -> bytes:
    made: list[Message] = []

    def add(kind: str, **payload: Any) -> None:
        made.append({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload})

    add("session_meta", id="s1", cwd="/h", cli_version="0.42.0", git={"branch": script.branch})
    for number, event in enumerate(script.events):
        if isinstance(event, Called):
            named = {"name": event.tool, "call_id": f"c{number}"}
            arguments = json.dumps(event.parameters)
            add("response_item", type="function_call", **named, arguments=arguments)
            shell = {"output": event.output, "metadata": {"exit_code": int(event.failed)}}
            output = event.output if "__" in event.tool else json.dumps(shell)
            add("response_item", type="function_call_output", call_id=f"c{number}", output=output)
            continue
        role = "user" if isinstance(event, Heard) else "assistant"
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": event.text}]
        add("response_item", type="message", role=role, content=content)
    return _lines(made)


def pi(script: Script) -> bytes:
    made: list[Message] = [{"type": "session", "cwd": "/h", "timestamp": "2026", "id": "e"}]

    def message(role: str, *content: Any, **fields: Any) -> None:
        inner = {"role": role, "content": list(content), **fields}
        made.append({"type": "message", "timestamp": "2026", "message": inner})

    for number, event in enumerate(script.events):
        if not isinstance(event, Called):
            message("user" if isinstance(event, Heard) else "assistant", text(event.text))
            continue
        call = {"type": "toolCall", "id": f"c{number}", "name": event.tool}
        message("assistant", call | {"arguments": event.parameters})
        given = {"toolCallId": f"c{number}", "toolName": event.tool, "isError": event.failed}
        message("toolResult", text(event.output), **given)
    return _lines(made)


def gemini_cli(script: Script) -> Any:
    messages = []
    for number, event in enumerate(script.events):
        if isinstance(event, Heard):
            messages.append(gemini_chat.user(event.text, number))
        elif isinstance(event, Says):
            messages.append(gemini_chat.said(event.text, number))
        else:
            status = "error" if event.failed else "success"
            named = {"id": f"c{number}", "args": event.parameters}
            call = gemini_chat.call(event.output, status=status, name=event.tool) | named
            messages.append(gemini_chat.said("", number, call))
    return {**gemini_chat.METADATA, "messages": messages}


def opencode(script: Script) -> Any:
    messages = []
    for number, event in enumerate(script.events):
        if isinstance(event, Heard):
            messages.append(opencode_export.user(event.text, number))
        elif isinstance(event, Says):
            messages.append(opencode_export.said(number, opencode_export.text(event.text)))
        else:
            ended = (
                {"status": "error", "error": event.output}
                if event.failed and "__" in event.tool
                else {"output": event.output, "metadata": {"exit": int(event.failed)}}
            )
            name = event.tool.lower().replace("mcp__", "")
            call = opencode_export.tool(f"c{number}", name, input=event.parameters, **ended)
            messages.append(opencode_export.said(number, call))
    return opencode_export.export(*messages, title=script.title)


def swe_agent(script: Script) -> Any:
    """After the task all that stands under the user's role is the environment's."""
    history: list[Message] = []
    for event in _task_first(script):
        if isinstance(event, Called):
            action = f"{event.shell}\n"
            thought = {"thought": "", "action": action, "agent": "primary"}
            history.append({"role": "assistant", "content": f"```\n{action}```", **thought})
            history.append({"role": "user", "content": event.output, "agent": "primary"})
        elif isinstance(event, Heard):
            history.append({"role": "user", "content": event.text, "agent": "primary"})
    return {"history": history, "trajectory": []}


def mini_swe_agent(script: Script) -> Any:
    messages: list[Message] = []
    for event in _task_first(script):
        if isinstance(event, Called):
            fenced = f"```mswea_bash_command\n{event.shell}\n```"
            messages.append({"role": "assistant", "content": fenced})
            told = (
                f"<returncode>{int(event.failed)}</returncode>\n<output>\n{event.output}</output>"
            )
            messages.append({"role": "user", "content": told})
        elif isinstance(event, Heard):
            messages.append({"role": "user", "content": event.text})
    return messages


def _task_first(script: Script) -> list[Event]:
    """All that the user says as one task; wrapped texts of the client stay where they are."""
    said = [one for one in script.events if isinstance(one, Heard) and not one.text.startswith("<")]
    task = Heard(" ".join(one.text for one in said))
    return [task, *(one for one in script.events if one not in said)]


def aider(script: Script) -> bytes:
    parts = [aider_history.START]
    for event in script.events:
        if isinstance(event, Heard):
            parts.append(aider_history.user(*event.text.splitlines()))
        elif isinstance(event, Says):
            parts.append(aider_history.answer(event.text))
        else:
            parts.append(aider_history.user(f"/run {event.shell}"))
            parts.append(aider_history.console(*event.output.splitlines()))
            parts.append(aider_history.answer("Seen."))
    return "".join(parts).encode()


def specstory(script: Script) -> bytes:
    title = " ".join(script.title.split())
    parts = [f"<!-- Generated by SpecStory -->\n\n# {title} (2031-02-03 04:05:06)\n"]
    for event in script.events:
        if isinstance(event, Heard):
            parts.append(f"_**User**_\n\n{event.text}\n\n---\n")
        else:
            told = event.text if isinstance(event, Says) else f"```\n{event.output}\n```"
            parts.append(f"_**Assistant**_\n\n{told}\n\n---\n")
    return "\n".join(parts).encode()


def atif(script: Script) -> Any:
    steps: list[Message] = []
    for number, event in enumerate(script.events):
        if isinstance(event, Heard):
            steps.append(test_atif.user(event.text))
        elif isinstance(event, Says):
            steps.append(test_atif.agent(event.text))
        else:
            call = test_atif.call(f"c{number}", event.tool, **event.parameters)
            result = {"source_call_id": f"c{number}", "content": event.output}
            observation = test_atif.observed(result)
            steps.append(test_atif.agent("", tool_calls=[call], observation=observation))
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
    agent = {"name": "harbor-agent", "version": "1.2"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": numbered}


def copilot_cli(script: Script) -> bytes:
    made = [test_copilot_cli.start()]
    for number, event in enumerate(script.events):
        if isinstance(event, Heard):
            made.append(test_copilot_cli.asked(event.text))
        elif isinstance(event, Says):
            made.append(test_copilot_cli.said(event.text))
        else:
            call = {"toolCallId": f"c{number}", "name": event.tool, "arguments": event.parameters}
            said = {"messageId": f"m{number}", "content": "", "toolRequests": [call]}
            made.append(test_copilot_cli.event("assistant.message", **said))
            came = (
                {"success": False, "error": {"message": event.output}}
                if event.failed
                else {"result": {"content": event.output}}
            )
            made.append(test_copilot_cli.done(f"c{number}", **came))
    return _lines(made)


def openhands(script: Script) -> bytes:
    made: list[Message] = []
    for number, event in enumerate(script.events):
        if not isinstance(event, Called):
            role = "user" if isinstance(event, Heard) else "assistant"
            made.append(test_openhands.said(role, event.text))
            continue
        call = test_openhands.action(f"c{number}", f"r{number}", **event.parameters)
        named = {"name": event.tool, "arguments": json.dumps(event.parameters)}
        made.append(call | {"tool_name": event.tool, "tool_call": {"id": f"c{number}", **named}})
        outcome = test_openhands.outcome(f"c{number}", event.output, exit_code=int(event.failed))
        made.append(outcome | {"tool_name": event.tool})
    return _lines(made)


def _lines(records: Sequence[Message]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


FILES: dict[str, Callable[[Script], Any]] = {
    "aider": aider,
    "anthropic": anthropic,
    "atif": atif,
    "claude-code": claude_code,
    "codex": codex,
    "copilot-cli": copilot_cli,
    "gemini": gemini,
    "gemini-cli": gemini_cli,
    "langchain": langchain,
    "mini-swe-agent": mini_swe_agent,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "opencode": opencode,
    "openhands": openhands,
    "pi": pi,
    "plain": plain,
    "specstory": specstory,
    "swe-agent": swe_agent,
    "tau-bench": tau_bench,
}


def file_of(name: str, script: Script) -> bytes:
    made = FILES[name](script)
    return made if isinstance(made, bytes) else json.dumps(made).encode()
