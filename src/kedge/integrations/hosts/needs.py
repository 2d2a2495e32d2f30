"""What kedge needs of a host, said once: each host has a module that writes it in its own shape."""

from __future__ import annotations

from typing import Literal

from kedge.integrations.hosts.wording import text_named
from kedge.model import Value

SERVER = "kedge"
"""Name of the server in a host's list; its tools are called mcp__kedge__recall and the like."""
HOOK, STATUS_LINE, MCP = "hook", "statusline", "mcp"
"""The commands of kedge that hosts run."""
HOOK_SECONDS = 10
"""A hook stops by itself after five; a host that waits this long waits for a machine that hangs."""

Moment = Literal[
    "session start",
    "prompt",
    "tool output",
    "tools done",
    "turn end",
    "sub-agent end",
    "before compaction",
    "after compaction",
    "session end",
]


class Hook(Value, frozen=True, kw_only=True):
    """A moment at which kedge wants to be called."""

    moment: Moment
    why: str
    seconds: int = HOOK_SECONDS
    opt_in: bool = False
    """Whether it is asked for only where the user wants tool outputs reduced."""


class SlashCommand(Value, frozen=True, kw_only=True):
    """A command that the user types."""

    name: str
    description: str
    argument: str = ""
    """What is typed behind it; empty where nothing is."""
    allowed: str
    """The command of kedge that it may run without asking."""

    @property
    def body(self) -> str:
        """What the agent is told; `ARGUMENTS` stands for what was typed."""
        return text_named(f"{self.name}.md")


class Skill(Value, frozen=True, kw_only=True):
    """Words that the agent reads when it needs them; only the description is always there."""

    name: str
    description: str

    @property
    def body(self) -> str:
        return text_named(f"{self.name}.md")


class Needs(Value, frozen=True, kw_only=True):
    """All of it."""

    summary: str
    hooks: tuple[Hook, ...]
    commands: tuple[SlashCommand, ...]
    skill: Skill


NEEDS = Needs(
    summary="Nothing that matters is lost when the context is compacted, and it can be recalled.",
    hooks=(
        Hook(moment="session start", why="puts back what a compaction lost"),
        Hook(moment="prompt", why="follows the session"),
        Hook(moment="tool output", why="keeps large outputs apart", opt_in=True),
        Hook(moment="tools done", why="puts back the rest while the agent works on"),
        Hook(moment="turn end", why="follows the session"),
        Hook(moment="sub-agent end", why="links what a sub-agent did"),
        Hook(moment="before compaction", why="says what must not be lost"),
        Hook(moment="after compaction", why="scores the summary"),
        Hook(moment="session end", why="follows the session to its end"),
    ),
    commands=(
        SlashCommand(
            name="report",
            description="What was compacted in this session, and how good the summary is",
            allowed="status",
        ),
        SlashCommand(
            name="recall",
            description="Find the original of something said or seen earlier",
            argument="WORDS",
            allowed="recall",
        ),
        SlashCommand(
            name="pin",
            description="Keep words verbatim through every compaction to come",
            argument="WORDS",
            allowed="pin",
        ),
    ),
    skill=Skill(
        name="kedge-recall",
        description=(
            "Finds originals of this and earlier sessions again: exact words, file contents, "
            "commands, errors, decisions. Use when a summary refers to something whose details "
            "are no longer in context, before asking the user or repeating work."
        ),
    ),
)
