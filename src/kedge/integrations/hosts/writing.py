"""How the words and entries of the description look in formats that several hosts share."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from json import dumps
from pathlib import Path
from typing import Any

from kedge.integrations.hosts.launch import HOST, NAME, Launch
from kedge.integrations.hosts.needs import HOOK, MCP, NEEDS, Hook, Moment, SlashCommand
from kedge.integrations.hosts.pieces import OwnFile

FENCE = "---\n"
"""The line that front matter begins and ends with."""


def json_text(value: Any) -> str:
    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


def manifest() -> dict[str, Any]:
    """What every host wants to know of a plugin."""
    return {"name": NAME, "version": version(NAME), "description": NEEDS.summary}


def hooks_for(events: Mapping[Moment, str]) -> list[tuple[str, Hook]]:
    """The hooks that a host has events for."""
    return [(events[hook.moment], hook) for hook in NEEDS.hooks if hook.moment in events]


def hook_words(host: str) -> tuple[str, str]:
    """The command that every hook of a host runs."""
    return HOOK, f"{HOST}{host}"


def opt_in_events(events: Mapping[Moment, str]) -> frozenset[str]:
    return frozenset(event for event, hook in hooks_for(events) if hook.opt_in)


def skill_text() -> str:
    """A skill as all four hosts read it."""
    skill = NEEDS.skill
    head = f"name: {skill.name}\ndescription: {dumps(skill.description)}\n"
    return f"{FENCE}{head}{FENCE}\n{skill.body}"


def command_text(command: SlashCommand, launch: Launch, *, allowed: bool) -> str:
    """A slash command of Markdown."""
    head = f"description: {dumps(command.description)}\n"
    if command.argument:
        head += f"argument-hint: {command.argument}\n"
    if allowed:
        head += f"allowed-tools: {dumps(f'Bash({launch.line(command.allowed)}:*)')}\n"
    return f"{FENCE}{head}{FENCE}\n{told(command, launch, '$ARGUMENTS')}"


def command_toml(command: SlashCommand, launch: Launch) -> str:
    """A slash command of TOML."""
    body = told(command, launch, "{{args}}")
    return f"description = {dumps(command.description)}\nprompt = '''\n{body}'''\n"


def told(command: SlashCommand, launch: Launch, arguments: str) -> str:
    return by_launch(command.body, launch).replace("ARGUMENTS", arguments)


def by_launch(text: str, launch: Launch) -> str:
    """The commands in a text as they can be run here."""
    return text.replace("`kedge ", f"`{launch.line()} ")


def markdown_file(path: Path, text: str) -> OwnFile:
    return OwnFile(path, text, comment="#", opening=FENCE)


def server_program(launch: Launch) -> dict[str, Any]:
    return launch.program(MCP)
