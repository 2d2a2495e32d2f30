"""Codex rollouts: one line per item or event, the same words often as both."""

from __future__ import annotations

import json
from typing import Any

from clock import Clock
from identity import Identities
from workspace import Workspace, hunk

Record = dict[str, Any]
CHARACTERS_PER_TOKEN = 4
SYSTEM_TOKENS = 6_150
"""What the client sends before the first word."""
WINDOW = 272_000


class Rollout:
    def __init__(self, *, seed: str, start: str, workspace: Workspace, version: str, model: str):
        self.ids = Identities(seed)
        self.clock = Clock(start)
        self.workspace = workspace
        self.model = model
        self.records: list[Record] = []
        self._context = SYSTEM_TOKENS
        self._cached = 0
        self._total = {"input": 0, "cached": 0, "output": 0, "reasoning": 0}
        self._begin(version)

    # what the user and the client do

    def instructions(self, text: str) -> None:
        """The project's rules, as the client hands them over."""
        root = self.workspace.root
        self._message(
            "user",
            f"# AGENTS.md instructions for {root}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>",
        )
        self._message(
            "user",
            f"<environment_context>\n  <cwd>{root}</cwd>\n  <approval_policy>on-request"
            "</approval_policy>\n  <sandbox_mode>workspace-write</sandbox_mode>\n"
            "  <network_access>restricted</network_access>\n  <shell>bash</shell>\n"
            "</environment_context>",
        )

    def user(self, text: str, *, after: int = 60) -> None:
        self.clock.tick(after * 1000)
        self._message("user", text)
        self._write("event_msg", {"type": "user_message", "message": text, "kind": "plain"})
        policy = {"mode": "workspace-write", "network_access": False}
        context = {"cwd": self.workspace.root, "approval_policy": "on-request"}
        self._write(
            "turn_context",
            context
            | {
                "sandbox_policy": policy,
                "model": self.model,
                "effort": "medium",
                "summary": "auto",
            },
        )

    # what the agent does

    def think(self, title: str) -> None:
        """Reasoning: its title can be read, the rest is sealed."""
        text = f"**{title}**"
        self.clock.tick(self.ids.between(1_500, 6_000))
        self._write("event_msg", {"type": "agent_reasoning", "text": text})
        summary = [{"type": "summary_text", "text": text}]
        sealed = "gAAAAAB" + self.ids.sealed(240).replace("+", "-").replace("/", "_")
        self._item(type="reasoning", summary=summary, content=None, encrypted_content=sealed)

    def say(self, text: str) -> None:
        """Words before a call."""
        self.clock.tick(self.ids.between(900, 4_000))
        self._write("event_msg", {"type": "agent_message", "message": text})
        self._message("assistant", text)

    def done(self, text: str) -> None:
        """The last words of an answer."""
        self.say(text)
        self._count(text, 64)

    def shell(self, command: str, out: str = "", *, code: int = 0, seconds: float = 0.1) -> None:
        """A command in the shell, with what it printed and its exit code."""
        self._run(["bash", "-lc", command], _output(out, code, seconds))
        self.clock.tick(int(seconds * 1000))

    def refused(self, command: str) -> None:
        """A command the user does not let run."""
        self._run(["bash", "-lc", command], "exec command rejected by user")

    def plan(self, *steps: str) -> None:
        """The plan; each step as `x done`, `> under way` or `  open`."""
        states = {"x": "completed", ">": "in_progress", " ": "pending"}
        listed = [{"step": step[2:], "status": states[step[0]]} for step in steps]
        self._call("update_plan", json.dumps({"plan": listed}), "Plan updated")

    def patch_by_shell(self, path: str, old: str, new: str) -> None:
        """A patch that goes through the shell, as older versions have it."""
        text = self._patched(path, old, new)
        command = ["bash", "-lc", f"apply_patch <<'EOF'\n{text}\nEOF"]
        self._run(command, _output(f"Success. Updated the following files:\nM {path}", 0, 0.0))

    def patch(self, path: str, old: str, new: str) -> None:
        """A patch as a tool of its own."""
        text = self._patched(path, old, new)
        call = self.ids.token("call_", 24)
        said = f"Success. Updated the following files:\nM {path}\n"
        self.clock.tick(self.ids.between(1_500, 7_000))
        self._item(
            type="custom_tool_call",
            status="completed",
            call_id=call,
            name="apply_patch",
            input=text,
        )
        self._count(text, 32)
        self._item(
            type="custom_tool_call_output", call_id=call, output=_output(said.rstrip(), 0, 0.0)
        )

    def _patched(self, path: str, old: str, new: str) -> str:
        before = self.workspace.edit(path, old, new)
        change = hunk(before, self.workspace.files[path])
        lines = "\n".join(change.lines)
        return f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}\n*** End Patch"

    # records

    def _run(self, command: list[str], output: str) -> None:
        given = {"command": command, "workdir": self.workspace.root}
        self._call("shell", json.dumps(given), output)

    def _call(self, name: str, arguments: str, output: str) -> None:
        call = self.ids.token("call_", 24)
        self.clock.tick(self.ids.between(1_000, 5_000))
        self._item(type="function_call", name=name, arguments=arguments, call_id=call)
        self._count(arguments, 32)
        self._item(type="function_call_output", call_id=call, output=output)
        self._context += len(output) // CHARACTERS_PER_TOKEN

    def _begin(self, version: str) -> None:
        git = {
            "commit_hash": self.ids.hex(40),
            "branch": "main",
            "repository_url": "https://github.com/example-weather/gauge.git",
        }
        self._write(
            "session_meta",
            {
                "id": self.ids.uuid(),
                "timestamp": self.clock.iso(),
                "cwd": self.workspace.root,
                "originator": "codex_cli_rs",
                "cli_version": version,
                "instructions": None,
                "git": git,
            },
        )

    def _message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self._item(type="message", role=role, content=[{"type": kind, "text": text}])
        self._context += len(text) // CHARACTERS_PER_TOKEN

    def _item(self, **payload: Any) -> None:
        self._write("response_item", payload)

    def _count(self, said: str, reasoning: int) -> None:
        """Token counts behind an answer: of this request, and of all so far."""
        output = len(said) // CHARACTERS_PER_TOKEN + reasoning
        last = {"input": self._context, "cached": self._cached, "output": output}
        last["reasoning"] = reasoning
        for name, value in last.items():
            self._total[name] += value
        self._cached = self._context - self._context % 128
        self._context += output
        info = {
            "total_token_usage": _usage(self._total),
            "last_token_usage": _usage(last),
            "model_context_window": WINDOW,
        }
        primary = {"used_percent": 2.0, "window_minutes": 299, "resets_in_seconds": 9_120}
        limits = {"primary": primary, "secondary": None}
        self._write("event_msg", {"type": "token_count", "info": info, "rate_limits": limits})

    def _write(self, kind: str, payload: Record) -> None:
        self.clock.tick(3)
        self.records.append({"timestamp": self.clock.iso(), "type": kind, "payload": payload})


def _usage(counts: dict[str, int]) -> Record:
    return {
        "input_tokens": counts["input"],
        "cached_input_tokens": counts["cached"],
        "output_tokens": counts["output"],
        "reasoning_output_tokens": counts["reasoning"],
        "total_tokens": counts["input"] + counts["output"],
    }


def _output(out: str, code: int, seconds: float) -> str:
    ends = out + "\n" if out else ""
    metadata = {"exit_code": code, "duration_seconds": seconds}
    return json.dumps({"output": ends, "metadata": metadata}, separators=(",", ":"))
