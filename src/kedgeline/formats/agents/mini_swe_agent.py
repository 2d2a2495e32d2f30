"""mini-swe-agent: trajectories (`.traj.json`), as a list of messages or an object around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import replace

from kedgeline.formats.content import (
    calls_in,
    parsed_arguments,
    said_by_user,
    text_and_media,
    text_of,
    time_of,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    document,
    mapping,
    mappings,
    maybe_whole,
    numbered_items,
    string,
    tokens_in,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Note, Text, Thinking, ToolCall, ToolResult, Turn, Usage

# What mini-swe-agent writes under the user's role behind the task: observations, and the few
# sentences in which it passes on what the user typed.

RETURN_CODE = re.compile(
    r"\s*(?:<exception>.*?</exception>\s*)?<returncode>\s*(-?\d{1,9})\s*</returncode>", re.DOTALL
)
"""How an observation begins. Older versions without a template print the result as Python does."""
_PRINTED = re.compile(r"Observation: \{'output':.*'returncode': (-?\d{1,9})", re.DOTALL)
_TIMED_OUT = re.compile(r"The last command <command>.*?</command> timed out", re.DOTALL)
NOT_EXECUTED = "action was not executed"
"""The exception the client notes for calls the user did not let run."""


Sentence = Literal["rejection", "interruption", "task", "shell"]
_SENTENCES: tuple[tuple[re.Pattern[str], Sentence], ...] = (
    (
        re.compile(
            r"Commands? not executed[.:] *"
            r"(?:The user rejected your commands? with the following message:"
            r"|Switching to human mode)?"
        ),
        "rejection",
    ),
    (re.compile(r"Interrupted by user: *(?:Temporary interruption caught\.)?"), "interruption"),
    (re.compile(r"The user added a new task: *"), "task"),
    (re.compile(r"User command: *"), "shell"),
)
"""How the client introduces what the user typed while it ran."""
_FENCE = re.compile(r"```\w*\n|\n?```\s*$")


def result_of(call: ToolCall, message: Record) -> ToolResult:
    """The result of a call; the exit code from the message's own record, else from its text."""
    extra = mapping(message.get("extra"))
    output, media = text_and_media(message.get("content", message.get("output")))
    if string(extra.get("exception_info")) == NOT_EXECUTED:
        return ToolResult(call_id=call.id, success=False, output=output, refused=True, media=media)
    code = _exit_code(extra, output)
    success = code in (None, 0) and not _TIMED_OUT.match(output)
    return ToolResult(
        call_id=call.id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        media=media,
    )


def is_observation(content: Any) -> bool:
    return isinstance(content, str) and RETURN_CODE.match(content) is not None


def _exit_code(extra: Record, output: str) -> int | None:
    if (code := maybe_whole(extra.get("returncode"))) is not None:
        return code
    found = RETURN_CODE.match(output) or _PRINTED.match(output)
    return int(found[1]) if found else None


# mini-swe-agent's trajectories into turns.

SHELL = "bash"
FORMAT_NAME = "mini-swe-agent"
ACTION_FENCE = "```mswea_bash_command"

_OWN_ACTION = re.compile(
    r"```mswea_bash_command[ \t]*\n(?P<fenced>.*?)\n[ \t]*```"
    r"|<mswea_bash_command>(?P<tagged>(?:(?!<mswea_bash_command>).)*?)</mswea_bash_command>",
    re.DOTALL,
)
_SHELL_ACTION = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(?P<fenced>.*?)\n[ \t]*```", re.DOTALL)


class MiniSweAgent:
    name = "mini-swe-agent"

    def sniff(self, head: Head) -> int:
        value = head.document
        if isinstance(value, dict) and (
            string(value.get("trajectory_format")).startswith(FORMAT_NAME)
            or "mini_version" in mapping(value.get("info"))
        ):
            return 3
        messages = mappings(_messages(value))
        return 3 if any(map(_is_telling, messages, [{}, *messages])) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        session = Run(log, mapping(mapping(value).get("info")))
        messages = _messages(value)
        if messages is None:
            log.broken("shape", Line(0), "no list of messages")
        for line, message in numbered_items(messages, log):
            session.take(line, message)
            yield from session.main.ready()
        yield from session.main.finish()


FORMAT = MiniSweAgent()


def _messages(value: Any) -> Any:
    found = value.get("messages") if isinstance(value, dict) else value
    return found if isinstance(found, list) else None


def _is_telling(message: Record, before: Record) -> bool:
    """A message only mini-swe-agent writes: its own fence, or a return code as the user behind an
    answer with one command; anyone may paste a return code."""
    if message.get("role") == "user":
        ran = before.get("role") == "assistant" and len(_actions(text_of(before.get("content"))))
        return ran == 1 and is_observation(message.get("content"))
    return message.get("role") == "assistant" and ACTION_FENCE in string(message.get("content"))


class Run(SessionReader):
    """Takes the messages of one run in their order."""

    def __init__(self, log: Log, info: Record) -> None:
        super().__init__(log)
        self._pending: list[ToolCall] = []
        """Calls that wait for their observation."""
        self._calls = 0
        self._asked = self._answered = False
        self._shell = False
        """The user has just run a command by hand; its output comes next."""
        config, version = mapping(info.get("config")), string(info.get("mini_version"))
        self.facts(
            client=version and f"mini-swe-agent {version}",
            model=mapping(config.get("model")).get("model_name"),
            root=mapping(config.get("environment")).get("cwd"),
        )

    def take(self, line: Line, message: Record) -> None:
        role, kind = message.get("role"), message.get("type")
        if role == "system":
            self.main.system(line, (Text(text=text_of(message.get("content"))),))
        elif role == "assistant" or isinstance(message.get("output"), list):
            self._assistant(line, message)
        elif role == "tool" or kind == "function_call_output":
            self._answer(line, message)
        elif role == "user":
            self._user(line, message)
        elif role == "exit":
            self._exit(line, message)
        else:
            self.unknown(f"role/{role}")

    def _assistant(self, line: Line, message: Record) -> None:
        extra = mapping(message.get("extra"))
        response = mapping(extra.get("response")) or message
        pieces = _spoken(message)
        calls = [self._with_id(piece) for piece in pieces if isinstance(piece, ToolCall)]
        said = [piece for piece in pieces if not isinstance(piece, ToolCall)]
        self.main.assistant(
            line,
            [*said, *calls],
            time=time_of(extra.get("timestamp", message.get("timestamp"))),
            model=string(response.get("model")) or self.log.latest("model"),
            usage=_usage(response.get("usage")),
        )
        self._pending, self._answered, self._shell = calls, True, False

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Actions in text have no id; they are numbered."""
        self._calls += 1
        if call.id:
            return call
        return ToolCall(id=f"action-{self._calls}", tool=call.tool, parameters=call.parameters)

    def _answer(self, line: Line, message: Record) -> None:
        """A message that answers a call by its id."""
        name = string(message.get("tool_call_id")) or string(message.get("call_id"))
        call = next((call for call in self._pending if call.id == name), ToolCall(id=name, tool=""))
        self.main.results(line, (result_of(call, message),))
        self._pending = [waiting for waiting in self._pending if waiting.id != name]

    def _user(self, line: Line, message: Record) -> None:
        text, media = text_and_media(message.get("content"))
        if self._asked and self._interrupted(line, text):
            return
        if not self._answered and not self._shell:
            if text.strip() or media:
                self.user(line, [*(said_by_user(text) if text.strip() else ()), *media])
                self._asked = True
        elif self._pending:
            # One message each, in order, when an answer held several actions.
            self.main.results(line, (result_of(self._pending.pop(0), message),))
        elif text.strip():
            note = Note(kind="shell_output" if self._shell else "injected", text=text)
            self._shell = False
            self.user(line, (note,))

    def _interrupted(self, line: Line, text: str) -> bool:
        """Whether the message passes on what the user typed in between; if so, it is taken."""
        found = ((sentence.match(text), kind) for sentence, kind in _SENTENCES)
        sentence, kind = next((one for one in found if one[0]), (None, "task"))
        if sentence is None:
            return False
        words = text[sentence.end() :].strip()
        pieces: list[Piece] = [Text(text=words)] if words else []
        waiting, self._pending = self._pending, []
        failed = ToolResult(call_id="", success=False, output=text)
        if kind == "rejection" and waiting:
            self._answered_by(line, waiting, replace(failed, refused=True, reason=words))
            return True
        if kind == "interruption":
            self._answered_by(line, waiting, replace(failed, error=text, interrupted=True))
            pieces.insert(0, Note(kind="interruption", text=text))
        elif kind == "task":
            # The command that ends a run has no observation: the client hears it succeed, and asks
            # the user what is next.
            self._answered_by(line, waiting, ToolResult(call_id=""))
        elif kind == "shell":
            pieces = [Note(kind="shell", text=_FENCE.sub("", words))]
            self._shell = True
        self.user(line, pieces)
        return True

    def _answered_by(self, line: Line, calls: list[ToolCall], result: ToolResult) -> None:
        self.main.results(line, [replace(result, call_id=call.id) for call in calls])

    def _exit(self, line: Line, message: Record) -> None:
        """The run is over: what was submitted is the output of the call that did so."""
        extra = mapping(message.get("extra"))
        text = text_of(message.get("content"))
        if self._pending and extra.get("exit_status") == "Submitted":
            self.main.results(line, (result_of(self._pending.pop(0), message),))
        elif text.strip():
            self.user(line, (Note(kind="injected", text=text),))


def _spoken(message: Record) -> list[Piece]:
    """Thoughts, words and calls of an assistant message, in whichever of the three shapes."""
    if isinstance(message.get("output"), list):
        return [piece for item in mappings(message["output"]) for piece in _response_item(item)]
    thoughts = string(message.get("reasoning_content"))
    pieces: list[Piece] = [Thinking(text=thoughts)] if thoughts else []
    words = text_of(message.get("content"))
    calls = calls_in(message)
    actions = _actions(words)
    if not calls and len(actions) == 1:
        # With none or several the client runs nothing and asks for exactly one.
        command = next(filter(None, actions[0].groups()), "").strip()
        calls = [ToolCall(id="", tool=SHELL, parameters={"command": command})]
        words = _around(words, actions[0])
    if words.strip():
        pieces.append(Text(text=words))
    return [*pieces, *calls]


def _actions(words: str) -> list[re.Match[str]]:
    """The commands an answer holds in fences."""
    return list(_OWN_ACTION.finditer(words)) or list(_SHELL_ACTION.finditer(words))


def _response_item(item: Record) -> list[Piece]:
    """An item of OpenAI's Responses API."""
    kind = item.get("type")
    if kind == "function_call":
        name = string(item.get("call_id")) or string(item.get("id"))
        arguments = parsed_arguments(item.get("arguments"))
        return [ToolCall(id=name, tool=string(item.get("name")), parameters=arguments)]
    if kind == "reasoning":
        text = text_of(item.get("summary")) if item.get("summary") else ""
        return [Thinking(text=text, signature=string(item.get("encrypted_content")))]
    words = text_of(item.get("content"))
    return [Text(text=words)] if words else []


def _around(text: str, found: re.Match[str]) -> str:
    parts = (text[: found.start()].strip(), text[found.end() :].strip())
    return "\n\n".join(part for part in parts if part)


def _usage(value: Any) -> Usage | None:
    names = ("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens")
    found = tokens_in(value, *names)
    details = mapping(value).get("prompt_tokens_details")
    cached = tokens_in(details, "cached_tokens")["cached_tokens"]
    sent = found["prompt_tokens"] or found["input_tokens"]
    received = found["completion_tokens"] or found["output_tokens"]
    if not sent and not received:
        return None
    return Usage(input=max(sent - cached, 0), output=received, cache_read=cached)
