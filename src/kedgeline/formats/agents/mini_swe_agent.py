"""mini-swe-agent: trajectories (`.traj.json`), as a list of messages or an object around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    mapping,
    mappings,
    maybe_whole,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, ToolCall, ToolResult, Turn

SHELL = "bash"
ACTION_FENCE = "```mswea_bash_command"
_OWN_ACTION = re.compile(
    r"```mswea_bash_command[ \t]*\n(?P<fenced>.*?)\n[ \t]*```"
    r"|<mswea_bash_command>(?P<tagged>(?:(?!<mswea_bash_command>).)*?)</mswea_bash_command>",
    re.DOTALL,
)
_SHELL_ACTION = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(?P<fenced>.*?)\n[ \t]*```", re.DOTALL)

# What stands under the user's role behind the task: observations, and the few sentences in which
# the client passes on what the user typed.

RETURN_CODE = re.compile(
    r"\s*(?:<exception>.*?</exception>\s*)?<returncode>\s*(-?\d{1,9})\s*</returncode>", re.DOTALL
)
"""How an observation begins."""
_TIMED_OUT = re.compile(r"The last command <command>.*?</command> timed out", re.DOTALL)
NOT_EXECUTED = "action was not executed"
"""The exception the client notes for calls the user did not let run."""

Sentence = Literal["rejection", "interruption", "task", "shell"]
_REJECTED = r"The user rejected your commands? with the following message:|Switching to human mode"
_SENTENCES: tuple[tuple[re.Pattern[str], Sentence], ...] = (
    (re.compile(rf"Commands? not executed[.:] *(?:{_REJECTED})?"), "rejection"),
    (re.compile(r"Interrupted by user: *(?:Temporary interruption caught\.)?"), "interruption"),
    (re.compile(r"The user added a new task: *"), "task"),
    (re.compile(r"User command: *"), "shell"),
)
"""How the client introduces what the user typed while it ran."""
_FENCE = re.compile(r"```\w*\n|\n?```\s*$")


SENT, RECEIVED = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
"""Names of counts, of which a client has one."""


class _Run(SessionReader):
    def __init__(self, log: Log, info: Record) -> None:
        super().__init__(log)
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
        role = message.get("role")
        if role == "system":
            self.system(line, message.get("content"))
        elif role == "assistant" or isinstance(message.get("output"), list):
            self._assistant(line, message)
        elif role == "tool" or message.get("type") == "function_call_output":
            call_id = string(message.get("tool_call_id")) or string(message.get("call_id"))
            self.main.results(line, [_result(call_id, message)])
        elif role == "user":
            self._user(line, message)
        elif role == "exit":
            self._exit(line, message)
        else:
            self.unknown("role", role)

    def _assistant(self, line: Line, message: Record) -> None:
        extra = mapping(message.get("extra"))
        response = mapping(extra.get("response")) or message
        counts = mapping(response.get("usage"))
        details = mapping(counts.get("prompt_tokens_details"))
        self.answer(
            line,
            [self.numbered(piece, "action") for piece in _said(message)],
            time=extra.get("timestamp", message.get("timestamp")),
            model=string(response.get("model")) or self.log.latest("model"),
            usage=pieces.usage_in(
                {**counts, **details}, SENT, RECEIVED, "cached_tokens", within=True
            ),
        )
        self._answered, self._shell = True, False

    def _user(self, line: Line, message: Record) -> None:
        text, media = pieces.text_and_media(message.get("content"))
        if self._asked and self._interrupted(line, text):
            return
        waiting = self.main.open_calls()
        if not self._answered and not self._shell:
            self._asked = self._asked or bool(text.strip() or media)
            self.user(line, [*pieces.heard(text), *media])
        elif waiting and not self._shell:
            # One message each, in order, when an answer held several actions.
            self.main.results(line, [_result(waiting[0].id, message)])
        else:
            self.note(line, "shell_output" if self._shell else "injected", text)
            self._shell = self._shell and not text.strip()

    def _interrupted(self, line: Line, text: str) -> bool:
        """Whether the message passes on what the user typed in between; if so, it is taken."""
        matched = ((sentence.match(text), kind) for sentence, kind in _SENTENCES)
        found, kind = next((one for one in matched if one[0]), (None, "task"))
        if found is None:
            return False
        words = text[found.end() :].strip()
        waiting = self.main.open_calls()
        heard = pieces.texts(words)
        ended: Record = {"content": text}
        if kind == "rejection" and waiting:
            heard = []
            ended |= {"refused": True, "reason": words}
        elif kind == "interruption":
            heard.insert(0, Note(kind="interruption", text=text))
            ended |= {"interrupted": True}
        else:
            # The command that ends a run has no observation: the client hears it succeed, and asks
            # the user what is next.
            ended = {"content": ""}
            waiting = waiting if kind == "task" else []
        if kind == "shell":
            heard, self._shell = [Note(kind="shell", text=_FENCE.sub("", words))], True
        self.main.results(line, [pieces.result(call.id, **ended) for call in waiting])
        self.user(line, heard)
        return True

    def _exit(self, line: Line, message: Record) -> None:
        """The run is over: what was submitted is the output of the call that did so."""
        waiting = self.main.open_calls()
        if waiting and mapping(message.get("extra")).get("exit_status") == "Submitted":
            self.main.results(line, [_result(waiting[0].id, message)])
        else:
            self.note(line, "injected", pieces.plain_words(message.get("content")))


def _result(call_id: str, message: Record) -> ToolResult:
    """The result of a call; the exit code from the message's own record, else from its text."""
    extra = mapping(message.get("extra"))
    output, media = pieces.text_and_media(message.get("content", message.get("output")))
    code = maybe_whole(extra.get("returncode"))
    if code is None and (found := RETURN_CODE.match(output)):
        code = int(found[1])
    refused = extra.get("exception_info") == NOT_EXECUTED
    return pieces.result(
        call_id,
        output,
        failed=_TIMED_OUT.match(output) is not None,
        exit_code=None if refused else code,
        refused=refused,
        media=media,
    )


def _said(message: Record) -> list[Piece]:
    """Thoughts, words and calls of an assistant message, in whichever of the three shapes."""
    if isinstance(message.get("output"), list):
        return [piece for item in mappings(message["output"]) for piece in _response_item(item)]
    words, calls = pieces.plain_words(message.get("content")), pieces.calls_in(message)
    actions = _actions(words)
    if not calls and len(actions) == 1:
        # With none or several the client runs nothing and asks for exactly one.
        command = next(filter(None, actions[0].groups()), "").strip()
        calls = [ToolCall(id="", tool=SHELL, parameters={"command": command})]
        words = pieces.without(words, actions[0])
    said = pieces.texts(words) if words.strip() else []
    return [*pieces.thoughts(message.get("reasoning_content")), *said, *calls]


def _actions(words: str) -> list[re.Match[str]]:
    """The commands an answer holds in fences."""
    return list(_OWN_ACTION.finditer(words)) or list(_SHELL_ACTION.finditer(words))


def _response_item(item: Record) -> list[Piece]:
    """An item of OpenAI's Responses API."""
    kind = item.get("type")
    if kind == "function_call":
        call_id = string(item.get("call_id")) or string(item.get("id"))
        return [pieces.call(call_id, item.get("name"), item.get("arguments"))]
    if kind == "reasoning":
        return pieces.reasoning(item)
    return pieces.texts(pieces.plain_words(item.get("content")))


class MiniSweAgent:
    name = "mini-swe-agent"

    def sniff(self, head: FileHead) -> int:
        around = mapping(head.document)
        version = string(around.get("trajectory_format"))
        if version.startswith(self.name) or "mini_version" in mapping(around.get("info")):
            return 3
        messages = mappings(_messages(head.document))
        return 3 if any(map(_is_telling, messages, [{}, *messages])) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        messages = _messages(value)
        if not isinstance(messages, list):
            log.broken("shape", Line(0), "no list of messages")
        run = _Run(log, mapping(mapping(value).get("info")))
        return run.turns(numbered_items(messages, log))


FORMAT = MiniSweAgent()


def _messages(value: Any) -> Any:
    return value.get("messages") if isinstance(value, dict) else value


def _is_telling(message: Record, before: Record) -> bool:
    """A message only mini-swe-agent writes: its own fence, or a return code as the user behind an
    answer with one command; anyone may paste a return code."""
    content = string(message.get("content"))
    if message.get("role") == "user":
        ran = before.get("role") == "assistant" and pieces.plain_words(before.get("content"))
        return len(_actions(ran or "")) == 1 and RETURN_CODE.match(content) is not None
    return message.get("role") == "assistant" and ACTION_FENCE in content
