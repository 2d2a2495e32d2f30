"""All that the user said in a turn, piece by piece, with the way it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from kedge.model import Note, Text, Turn

Way = Literal["prompt", "queued", "reason", "command", "plan"]

CLIENT_COMMANDS = (
    "add|add-clipboard-image|add-dir|agents|bashes|bug|chat-mode|clear|clipboard|commands|compact",
    "compress|summarize",
    "config|context|copy|copy-context|cost|diff|doctor|drop|edit|editor|ex|exit|export|feedback|git",
    "help|hooks|ide|login|logout|ls|map|map-refresh|mcp|memory|mode|model|models|multiline-mode|new",
    "output-style|paste|permissions|plan|privacy-settings|quit|read-only|release-notes|rename|reset",
    "resume|rewind|save|sessions|settings|share|skills|stats|status|statusline|tasks|terminal-setup",
    "theme|themes|think|todos|tokens|undo|unshare|upgrade|usage|vim|voice|web",
)
"""Commands that steer the client; any other one starts work of the agent's."""
FRESH_COMMANDS = frozenset({"clear", "new", "reset"})
"""Commands behind which the conversation begins anew."""
PLAN_GIVEN = "Implement the following plan:"
"""How a client begins when it gives an approved plan back as the task."""

_CLIENT = re.compile("|".join(CLIENT_COMMANDS), re.IGNORECASE)
_NAME = re.compile(r"<command-name>\s*/?([^<\s]{1,120})\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_TYPED = re.compile(r"/([\w:.-]{1,120})(?=\s|$)")


class Said(NamedTuple):
    text: str
    """Verbatim; of a command, what the user typed behind its name."""
    way: Way = "prompt"
    command: str = ""
    """Name of the slash command."""

    @property
    def own(self) -> bool:
        """Whether the user wrote it: a plan that was given back is the agent's."""
        return self.way != "plan"

    @property
    def starts_work(self) -> bool:
        return bool(self.command) and _CLIENT.fullmatch(self.command) is None

    @property
    def to_agent(self) -> bool:
        """Whether it is said to the agent: what stands behind a command that steers the client is
        for that alone."""
        return not self.command or self.starts_work

    @property
    def typed(self) -> str:
        return f"/{self.command} {self.text}".strip() if self.command else self.text


def said_in(turn: Turn) -> list[Said]:
    """What the user said: commands and plans, prompts and words queued, reasons for refusing a
    call. In a sub-agent's turn it is the agent that speaks."""
    if not (turn.user_message or turn.notes or turn.tool_results):
        return []
    found = [*_noted(turn.notes), *_prompted(turn)]
    found += (
        Said(result.reason, "reason") for result in turn.tool_results if result.reason.strip()
    )
    return [one for one in found if one.text.strip() or one.command]


def _noted(notes: tuple[Note, ...]) -> Iterator[Said]:
    for note in notes:
        if note.kind == "plan":
            yield Said(note.text, "plan")
        elif note.kind == "command":
            yield _command(note.text)


def _command(text: str) -> Said:
    name, arguments = _NAME.search(text), _ARGUMENTS.search(text)
    if name:
        return Said(arguments[1].strip() if arguments else "", "command", name[1])
    if typed := _TYPED.match(text.strip()):
        return Said(text.strip()[typed.end() :].strip(), "command", typed[1])
    return Said("", "command", text.strip().lstrip("/")[:80])


def _prompted(turn: Turn) -> Iterator[Said]:
    if not turn.user_message:
        return
    parts = [
        part
        for message in turn.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text) and part.text
    ]
    if "\n\n".join(part.text for part in parts) != turn.user_message:
        parts = [Text(text=turn.user_message)]
    for part in parts:
        if part.text.startswith(PLAN_GIVEN):
            yield Said(part.text, "plan")
        elif (typed := _TYPED.match(part.text)) and not part.queued:
            yield Said(part.text[typed.end() :].strip(), "command", typed[1])
        else:
            yield Said(part.text, "queued" if part.queued else "prompt")
