"""How a host starts kedgeline."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from json import dumps
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kedgeline.model import Value

NAME = "kedgeline"
HOST = "--host="
"""Before the name of the host that runs a command: each understands other answers."""
AS_MODULE = ("-P", "-m", NAME)
"""How Python starts it; without the modules of the folder that a host is in."""


class Launch(NamedTuple):
    """The words that start kedgeline."""

    words: tuple[str, ...]

    def argv(self, *more: str) -> list[str]:
        return [*self.words, *more]

    def program(self, *more: str) -> dict[str, Any]:
        """For hosts that start a program with arguments, without a shell between."""
        first, *rest = self.argv(*more)
        return {"command": first, "args": rest}

    def line(self, *more: str) -> str:
        """For hosts that hand a line to a shell."""
        return shlex.join(self.argv(*more))


BY_NAME = Launch((NAME,))
"""What everybody finds on the PATH: for files that several people share."""


def installed(search: str | None = None) -> Launch:
    """This very kedgeline, by its path: a host may have another PATH than the shell it came from.

    A name on the PATH that leads to it is taken before the place it leads to: it outlives the next
    version of Python."""
    own = Path(sys.executable).with_name(NAME)
    if not os.access(own, os.X_OK):
        return Launch((sys.executable, *AS_MODULE))
    found = shutil.which(NAME, path=search)
    if found and os.path.isabs(found) and os.path.realpath(found) == os.path.realpath(own):
        return Launch((found,))
    return Launch((str(own),))


# The words that hosts are given, one file each.


@cache
def text_named(name: str) -> str:
    from importlib.resources import files

    return files("kedgeline.hosts").joinpath("texts", name).read_text("utf-8")


# What kedgeline needs of a host, said once: each host has a module that writes it in its own shape.

SERVER = "kedgeline"
"""Name of the server in a host's list; its tools are called mcp__kedgeline__recall and the like."""
HOOK, STATUS_LINE, MCP = "hook", "statusline", "mcp"
"""The commands of kedgeline that hosts run."""
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
    """A moment at which kedgeline wants to be called."""

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
    """The command of kedgeline that it may run without asking."""

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
        name="kedgeline-recall",
        description=(
            "Finds originals of this and earlier sessions again: exact words, file contents, "
            "commands, errors, decisions. Use when a summary refers to something whose details "
            "are no longer in context, before asking the user or repeating work."
        ),
    ),
)


# What a host gets, as files: whole ones of ours, and entries in files of others.


class Rival(NamedTuple):
    """A file by which a host shows that it installed the plugin itself, and what takes it out."""

    path: Path
    remedy: str


class OwnFile(NamedTuple):
    """A file that is ours as a whole."""

    path: Path
    text: str
    comment: str
    """What the line of our mark begins with."""
    ending: str = ""
    """What it ends with."""
    opening: str = ""
    """A first line that must stay the first: the mark goes behind it."""
    reducing: str = ""
    """The same where tool outputs are reduced; empty where that makes no difference."""
    rival: Rival | None = None
    """Who else may have put it there."""


class Member(NamedTuple):
    """One entry of an object in a settings file."""

    path: tuple[str, ...]
    value: Mapping[str, Any]
    runs: str
    """The command of kedgeline that it runs, by which it is known again."""
    what: str
    """As a person calls it."""


class SettingsFile(NamedTuple):
    """Entries in a file of JSON that others write too."""

    path: Path
    hooks: Mapping[str, Mapping[str, Any]] = {}
    """By event: the group that is put behind the others of that event."""
    opt_in: frozenset[str] = frozenset()
    """The events of those that only reduce tool outputs."""
    members: tuple[Member, ...] = ()
    strict: bool = False
    """Whether the host ignores the whole file where it has a comment or a comma too many."""
    marked: bool = True
    """Whether the host reads a file that begins with a mark of byte order."""
    switch: str = ""
    """A key that turns all hooks off, where the host has one."""
    plugins: str = ""
    """The key of the plugins that are enabled, where the host has them in this file."""
    also: tuple[Path, ...] = ()
    """Other files that may have these entries: they stay where they are, and go from all of them.
    """


class ServerTable(NamedTuple):
    """A table of a server in a TOML file that others write too."""

    path: Path
    table: tuple[str, ...]
    value: Mapping[str, Any]
    runs: str
    plugins: str = ""
    """The table of the plugins that are enabled, where the host has them in this file."""


Piece = OwnFile | SettingsFile | ServerTable


class Place(NamedTuple):
    """For whom it is installed."""

    home: Path
    environment: Mapping[str, str]
    launch: Launch
    project: Path | None = None
    """The folder of the project; None where it is for the user, in all projects."""
    server: bool = True
    """Whether the server of the Model Context Protocol can be started."""

    def folder(self, variable: str, *usual: str) -> Path:
        """A folder of a host: what its variable says, or the usual one in the user's home."""
        named = self.environment.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*usual)


# How the words and entries of the description look in formats that several hosts share.

FENCE = "---\n"
"""The line that front matter begins and ends with."""


def json_text(value: Any) -> str:
    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


def manifest() -> dict[str, Any]:
    """What every host wants to know of a plugin."""
    return {"name": NAME, "version": version(NAME), "description": NEEDS.summary}


def hook_words(host: str) -> tuple[str, str]:
    """The command that every hook of a host runs."""
    return HOOK, f"{HOST}{host}"


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
    return text.replace("`kedgeline ", f"`{launch.line()} ")


def markdown_file(path: Path, text: str) -> OwnFile:
    return OwnFile(path, text, comment="#", opening=FENCE)


def server_program(launch: Launch) -> dict[str, Any]:
    return launch.program(MCP)


@dataclass(frozen=True, kw_only=True)
class Host:
    """A coding agent that kedgeline is installed into: facts, and what a subclass adds to them."""

    name: str
    title: str
    in_project: str
    """Its folder in a project."""
    variable: str
    """The variable that names the folder of the user's files."""
    usual: tuple[str, ...] = ()
    """That folder in the home, where the variable is not set."""
    below: str = ""
    """The host's own folder in it."""
    events: Mapping[Moment, str] = field(default_factory=dict)
    matchers: Mapping[str, str] = field(default_factory=dict)
    """By event: when a hook is called."""
    shell: bool = True
    """Whether hooks are lines for a shell; else programs with arguments."""
    second: int = 1
    """A second in the unit of time limits."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """By event: the most seconds that the host waits."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Keys of every handler."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By event: further keys of its handler."""
    commands: str = f"commands/{NAME}"
    """The folder of slash commands; empty where users can have none."""
    toml_commands: bool = False
    allows: bool = False
    """Whether a slash command says what it may run without asking."""
    next: str
    """What the user does after an installation."""
    trust: str = ""
    """What must be trusted in a project."""
    replaces_outputs: bool = True

    def root(self, place: Place) -> Path:
        """The folder below which its files are."""
        if place.project:
            return place.project / self.in_project
        return place.folder(self.variable, *self.usual) / self.below

    def pieces(self, place: Place) -> tuple[Piece, ...]:
        raise NotImplementedError

    def plugin(self) -> dict[str, str]:
        """The plugin for those who do not install with kedgeline: its files by their paths."""
        return {file.path.as_posix(): file.text for file in self.own_files(Path(), BY_NAME)}

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        """What the user does next, and should know."""
        said = [self.next]
        if place.project and self.trust:
            said.append(f"{self.title} {self.trust} of a project only where you trust its folder")
        if reduce and not self.replaces_outputs:
            said.append(f"{self.title} does not let a hook replace the output of a tool: left out")
        return tuple(said)

    @property
    def opt_in(self) -> frozenset[str]:
        """Events that are asked for only where tool outputs are reduced."""
        return frozenset(self.events[one.moment] for one in self._wanted() if one.opt_in)

    def hooks(self, launch: Launch) -> dict[str, dict[str, Any]]:
        """Groups by event."""
        groups, words = {}, hook_words(self.name)
        for hook in self._wanted():
            event = self.events[hook.moment]
            seconds = min(hook.seconds, self.limits.get(event, hook.seconds))
            handler = {
                "type": "command",
                **self.labels,
                **({"command": launch.line(*words)} if self.shell else launch.program(*words)),
                "timeout": seconds * self.second,
                **self.options.get(event, {}),
            }
            matcher = {"matcher": self.matchers[event]} if event in self.matchers else {}
            groups[event] = {**matcher, "hooks": [handler]}
        return groups

    def plugin_hooks(self) -> dict[str, list[dict[str, Any]]]:
        groups = self.hooks(BY_NAME).items()
        return {event: [group] for event, group in groups if event not in self.opt_in}

    def own_files(self, root: Path, launch: Launch) -> tuple[OwnFile, ...]:
        """Skill and slash commands."""
        skill = root / "skills" / NEEDS.skill.name / "SKILL.md"
        files = [markdown_file(skill, by_launch(skill_text(), launch))]
        for one in NEEDS.commands if self.commands else ():
            path = root / self.commands / one.name
            if self.toml_commands:
                text = command_toml(one, launch)
                files.append(OwnFile(path.with_suffix(".toml"), text, "#"))
            else:
                text = command_text(one, launch, allowed=self.allows)
                files.append(markdown_file(path.with_suffix(".md"), text))
        return tuple(files)

    def _wanted(self) -> list[Hook]:
        return [hook for hook in NEEDS.hooks if hook.moment in self.events]


def server_member(*path: str, value: Mapping[str, Any]) -> Member:
    return Member((*path, SERVER), value, MCP, "MCP server")


# How an entry that starts kedgeline is known again, with what somebody put around it.

HOOKS = "hooks"
"""The key that all hosts have their hooks under, and the handlers of a group."""
COMMAND, ARGUMENTS = "command", "args"
"""The keys under which all hosts have what they start."""

_WORD = re.compile(r"""(?:[^\s'"\\;|&<>()#]|'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n])+""", re.DOTALL)
"""A word of a line for a shell; nothing that begins another command is in it."""
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_FOR_A_SHELL = re.compile(r"[$`*?\[~{!]")
"""What a shell puts something else for."""
_QUOTED = re.compile(r"'[^']*'")


class Started(NamedTuple):
    """What stands before and behind the command, as words for a shell."""

    before: tuple[str, ...]
    """`env` and variables."""
    behind: tuple[str, ...]
    """Arguments that are not ours."""

    @property
    def needs_shell(self) -> bool:
        return any(_FOR_A_SHELL.search(_QUOTED.sub("", word)) for word in self.before + self.behind)


def runs(value: Any, subcommand: str) -> bool:
    """Whether an entry of a settings file starts this command of kedgeline and nothing else: as a
    line for a shell, as a program with arguments, or as a list of words; for whichever host."""
    return started(value, subcommand) is not None


def started(value: Any, subcommand: str) -> Started | None:
    """How an entry starts this command; nothing where it starts another, or more than one."""
    written = _words(value)
    words = [_read(word) for word in written]
    first = _behind_variables(words)
    last = first + _length_of_launch(words[first:])
    if last == first or words[last : last + 1] != [subcommand]:
        return None
    added = written[last + 1 :]
    behind = [word for word in added if not _read(word).startswith(HOST)]
    return Started(tuple(written[:first]), tuple(behind))


def extended(wanted: Mapping[str, Any], found: Any, subcommand: str) -> dict[str, Any]:
    """The entry that is wanted, with what somebody put around the command in the one that is there:
    variables before it and arguments behind it."""
    around = started(found, subcommand)
    if around is None or not any(around):
        return dict(wanted)
    command, arguments = wanted[COMMAND], wanted.get(ARGUMENTS, [])
    if isinstance(command, str) and (not arguments or around.needs_shell):
        plain = shlex.join([command, *arguments]) if arguments else command
        line = " ".join((*around.before, plain, *around.behind))
        return {**{key: one for key, one in wanted.items() if key != ARGUMENTS}, COMMAND: line}
    before = [_read(word) for word in around.before]
    if before and _SETTING.fullmatch(before[0]):
        before.insert(0, "env")  # without a shell nobody else sets variables
    ours = [command, *arguments] if isinstance(command, str) else [*command]
    words = [*before, *ours, *(_read(word) for word in around.behind)]
    if isinstance(command, str):
        return {**wanted, COMMAND: words[0], ARGUMENTS: words[1:]}
    return {**wanted, COMMAND: words}


def mentions(value: Any, subcommand: str) -> bool:
    """Whether an entry seems to start this command in a way that is not known: in a pipe, or by
    another program."""
    if not isinstance(value, Mapping):
        return False
    parts = [value.get(COMMAND), value.get(ARGUMENTS)]
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    line = " ".join(word for word in words if isinstance(word, str))
    return bool(re.search(rf"(?<![\w.-]){NAME}['\"]*\s+['\"]*{subcommand}(?![\w-])", line))


def _words(value: Any) -> list[str]:
    """The words of an entry as a shell would want them; none where it is no plain command."""
    if not isinstance(value, Mapping):
        return []
    command, arguments = value.get(COMMAND), value.get(ARGUMENTS, [])
    words = command if isinstance(command, list) else [command, *_listed(arguments)]
    if not all(isinstance(word, str) for word in words):
        return []
    if isinstance(command, list) or arguments:
        return [shlex.quote(word) for word in words]
    return _words_of_line(words[0])


def _listed(arguments: Any) -> list[Any]:
    return arguments if isinstance(arguments, list) else [None]


def _words_of_line(line: str) -> list[str]:
    words, place = [], 0
    for found in _WORD.finditer(line):
        if line[place : found.start()].strip(" \t"):
            return []
        words.append(found[0])
        place = found.end()
    return [] if line[place:].strip(" \t") else words


def _read(word: str) -> str:
    return "".join(shlex.split(word))


def _behind_variables(words: list[str]) -> int:
    """How many words only set variables: with `env`, or as a shell has it."""
    place = 1 if words and Path(words[0]).name == "env" else 0
    while place < len(words):
        if _SETTING.fullmatch(words[place]) or (place and words[place] in ("-i", "--")):
            place += 1
        elif place and words[place] == "-u":
            place += 2
        else:
            break
    return min(place, len(words))


def _length_of_launch(words: list[str]) -> int:
    for module in (AS_MODULE, AS_MODULE[1:]):
        if tuple(words[1 : 1 + len(module)]) == module:
            return 1 + len(module)
    return 1 if words and Path(words[0]).name == NAME else 0


def fits(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether an entry says all that is wanted; what somebody added to it does not matter. It
    matters where it has arguments and shall be a line."""
    return (
        isinstance(found, dict)
        and all(found.get(key, wanted) == value for key, value in wanted.items())
        and (ARGUMENTS in wanted or ARGUMENTS not in found)
    )
