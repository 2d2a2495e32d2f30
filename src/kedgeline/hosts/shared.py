"""What kedgeline needs of a coding agent, said once, and how a host starts it.

Each host has a module with a table of its own; what several hosts share is written here."""

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
from importlib.resources import files
from json import dumps
from pathlib import Path
from typing import Any, Literal, NamedTuple

NAME = "kedgeline"
SERVER = NAME
"""Name of the server in a host's list; its tools are called mcp__kedgeline__recall and the like."""
HOOK, STATUS_LINE, MCP = "hook", "statusline", "mcp"
"""The commands of kedgeline that hosts run."""
HOST = "--host="
"""Before the name of the host that runs a command: each understands other answers."""
AS_MODULE = ("-P", "-m", NAME)
"""How Python starts it, without the modules of the folder that a host is in."""
HOOK_SECONDS = 10
"""A hook ends by itself after five; a host that waits this long waits for a machine that hangs."""
FENCE = "---\n"
"""The line that front matter begins and ends with."""
HOOKS, COMMAND, ARGUMENTS = "hooks", "command", "args"
"""Keys under which all hosts have their hooks, and what a hook starts."""


class Launch(NamedTuple):
    """The words that start kedgeline."""

    words: tuple[str, ...]

    def argv(self, *more: str) -> list[str]:
        return [*self.words, *more]

    def program(self, *more: str) -> dict[str, Any]:
        """For hosts that start a program with arguments, without a shell between."""
        first, *rest = self.argv(*more)
        return {COMMAND: first, ARGUMENTS: rest}

    def line(self, *more: str) -> str:
        """For hosts that hand a line to a shell."""
        return shlex.join(self.argv(*more))


BY_NAME = Launch((NAME,))
"""What everybody finds on the PATH: for files that several people share."""


def installed(search: str | None = None) -> Launch:
    """This very kedgeline, by its path: a host may have another PATH than the shell it came from.

    A name on the PATH that leads to it is preferred: it outlives the next version of Python."""
    own = Path(sys.executable).with_name(NAME)
    if not os.access(own, os.X_OK):
        return Launch((sys.executable, *AS_MODULE))
    found = shutil.which(NAME, path=search)
    if found and os.path.isabs(found) and os.path.realpath(found) == os.path.realpath(own):
        return Launch((found,))
    return Launch((str(own),))


REPLACE = "host-compact"
"""The command that seams of hosts run in the place of a compaction."""
REPLACE_SECONDS = 30
"""A host waits so long for another context before it compacts by itself."""
_ROOM = re.compile(r"^(?:const )?ROOM\b.*= *(\d+)", re.MULTILINE)


def room_in(text: str) -> int:
    """The room that a seam was installed with."""
    found = _ROOM.search(text)
    return int(found[1]) if found else 0


def filled(name: str, blanks: Mapping[str, str]) -> str:
    """A text of a host's language with its blanks filled in."""
    text = text_named(name)
    for blank, value in blanks.items():
        if blank not in text:
            raise ValueError(f"{name} has no place for {value!r}")
        text = text.replace(blank, value, 1)
    return text


@cache
def text_named(name: str) -> str:
    """Words that hosts are given, one file each."""
    return files("kedgeline.hosts").joinpath("texts", name).read_text("utf-8")


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
OPT_IN: Moment = "tool output"
"""Asked for only where the user wants tool outputs reduced."""


class Text(NamedTuple):
    """A slash command that the user types, or a skill that the agent reads when it needs it."""

    name: str
    description: str
    argument: str = ""
    """What is typed behind it; empty where nothing is."""
    allowed: str = ""
    """The command of kedgeline that it may run without asking."""

    @property
    def body(self) -> str:
        """What the agent is told; `ARGUMENTS` stands for what was typed."""
        return text_named(f"{self.name}.md")


class Needs(NamedTuple):
    summary: str
    commands: tuple[Text, ...]
    skill: Text


NEEDS = Needs(
    summary="Nothing that matters is lost when the context is compacted, and it can be recalled.",
    commands=(
        Text(
            "report",
            "What was compacted in this session, and how good the summary is",
            allowed="status",
        ),
        Text("recall", "Find the original of something said or seen earlier", "WORDS", "recall"),
        Text("pin", "Keep words verbatim through every compaction to come", "WORDS", "pin"),
    ),
    skill=Text(
        "kedgeline-recall",
        "Finds originals of this and earlier sessions again: exact words, file contents, "
        "commands, errors, decisions. Use when a summary refers to something whose details "
        "are no longer in context, before asking the user or repeating work.",
    ),
)


class OwnFile(NamedTuple):
    """A file that is ours as a whole."""

    path: Path
    text: str
    comment: str = "#"
    """What the line of our mark begins with."""
    ending: str = ""
    """What it ends with."""
    opening: str = ""
    """A first line that must stay the first: the mark goes behind it."""
    reducing: str = ""
    """The same where tool outputs are reduced; empty where that makes no difference."""
    rival: tuple[Path, str] | None = None
    """A file by which a host shows that it installed the plugin itself, and what takes it out."""
    wanted: bool = True
    """Whether it shall be there: one that is not wanted any more goes."""


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
    replacing: bool = True
    """Whether the host's compaction is replaced where that can be; else it is only advised."""
    room: int = 0
    """Tokens that a new context may have; 0 for a share of what there was."""

    def folder(self, variable: str, *usual: str) -> Path:
        """A folder of a host: what its variable says, or the usual one in the user's home."""
        named = self.environment.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*usual)


def json_text(value: Any) -> str:
    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


def manifest() -> dict[str, Any]:
    """What every host wants to know of a plugin."""
    return {"name": NAME, "version": version(NAME), "description": NEEDS.summary}


def server_text(launch: Launch) -> str:
    return json_text({"mcpServers": {SERVER: launch.program(MCP)}})


def server_member(parent: str, value: Mapping[str, Any]) -> Member:
    return Member((parent, SERVER), value, MCP, "MCP server")


def by_launch(text: str, launch: Launch) -> str:
    """The commands in a text as they can be run here."""
    return text.replace("`kedgeline ", f"`{launch.line()} ")


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
    """The host's names for the moments at which kedgeline is called."""
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

    def seam(self, place: Place) -> Path | None:
        """The file by which the host's compaction is replaced; None where it has no such seam."""
        return None

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
        return frozenset(self.events[one] for one in self.events if one == OPT_IN)

    def hooks(self, launch: Launch) -> dict[str, dict[str, Any]]:
        """Groups by event."""
        groups, words = {}, (HOOK, f"{HOST}{self.name}")
        for event in self.events.values():
            handler = {
                "type": "command",
                **self.labels,
                **({COMMAND: launch.line(*words)} if self.shell else launch.program(*words)),
                "timeout": self.limits.get(event, HOOK_SECONDS) * self.second,
                **self.options.get(event, {}),
            }
            matcher = {"matcher": self.matchers[event]} if event in self.matchers else {}
            groups[event] = {**matcher, HOOKS: [handler]}
        return groups

    def plugin_hooks(self) -> dict[str, list[dict[str, Any]]]:
        groups = self.hooks(BY_NAME).items()
        return {event: [group] for event, group in groups if event not in self.opt_in}

    def own_files(self, root: Path, launch: Launch) -> tuple[OwnFile, ...]:
        """Skill and slash commands."""
        skill = NEEDS.skill
        head = {"name": skill.name, "description": dumps(skill.description)}
        made = [
            markdown_file(
                root / "skills" / skill.name / "SKILL.md", head, by_launch(skill.body, launch)
            )
        ]
        for one in NEEDS.commands if self.commands else ():
            path = root / self.commands / one.name
            typed = "{{args}}" if self.toml_commands else "$ARGUMENTS"
            body = by_launch(one.body, launch).replace("ARGUMENTS", typed)
            if self.toml_commands:
                text = f"description = {dumps(one.description)}\nprompt = '''\n{body}'''\n"
                made.append(OwnFile(path.with_suffix(".toml"), text))
                continue
            head = {"description": dumps(one.description)}
            head |= {"argument-hint": one.argument} if one.argument else {}
            allowed = dumps(f"Bash({launch.line(one.allowed)}:*)")
            head |= {"allowed-tools": allowed} if self.allows else {}
            made.append(markdown_file(path.with_suffix(".md"), head, body))
        return tuple(made)


def markdown_file(path: Path, head: Mapping[str, str], body: str) -> OwnFile:
    lines = "".join(f"{name}: {value}\n" for name, value in head.items())
    return OwnFile(path, f"{FENCE}{lines}{FENCE}\n{body}", opening=FENCE)


# How an entry that starts kedgeline is known again, with what somebody put around it.

_WORD = r"""(?:[^\s'"\\;|&<>()#]|'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n])+"""
"""A word of a line for a shell; nothing that begins another command is in it."""
_STARTED = re.compile(
    rf"""[ \t]*(?P<before>(?:(?:[^\s'"]*/)?env[ \t]+(?:(?:-i|--|-u[ \t]+{_WORD})[ \t]+)*)?
    (?:(?:'[A-Za-z_]\w*=[^']*'|[A-Za-z_]\w*=(?:{_WORD})?)[ \t]+)*)
    (?P<program>{_WORD})[ \t]+(?P<module>(?:-P[ \t]+)?-m[ \t]+{NAME}[ \t]+)?
    (?P<command>[a-z]+)(?P<behind>(?:[ \t]+{_WORD})*)[ \t]*""",
    re.DOTALL | re.VERBOSE,
)


def runs(entry: Any, subcommand: str) -> bool:
    """Whether an entry of a settings file starts this command of kedgeline and nothing else: as a
    line for a shell, as a program with arguments, or as a list of words; for whichever host."""
    return _started(entry, subcommand) is not None


def extended(wanted: Mapping[str, Any], found: Any, subcommand: str) -> dict[str, Any]:
    """The entry that is wanted, with what somebody put around the command in the one that is there:
    variables before it and arguments behind it. What is a line for a shell stays one."""
    started = _started(found, subcommand)
    behind = [
        word
        for word in re.findall(_WORD, started["behind"] if started else "", re.DOTALL)
        if not shlex.split(word)[0].startswith(HOST)
    ]
    if started is None or not (started["before"] or behind):
        return dict(wanted)
    line = " ".join(filter(None, (started["before"].strip(), _line(wanted), *behind)))
    if isinstance(wanted[COMMAND], list):
        return {**wanted, COMMAND: shlex.split(line)}
    if ARGUMENTS in wanted and found.get(ARGUMENTS):
        first, *rest = shlex.split(line)
        return {**wanted, COMMAND: first, ARGUMENTS: rest}
    return {**{key: one for key, one in wanted.items() if key != ARGUMENTS}, COMMAND: line}


def mentions(entry: Any, subcommand: str) -> bool:
    """Whether an entry seems to start this command in a way that is not known: in a pipe, or by
    another program."""
    if not isinstance(entry, Mapping):
        return False
    parts = [entry.get(COMMAND), entry.get(ARGUMENTS)]
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    line = " ".join(word for word in words if isinstance(word, str))
    return bool(re.search(rf"(?<![\w.-]){NAME}['\"]*\s+['\"]*{subcommand}(?![\w-])", line))


def fits(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether an entry says all that is wanted; what somebody added to it does not matter. It
    matters where it has arguments and shall be a line."""
    return (
        isinstance(found, dict)
        and all(found.get(key, wanted) == value for key, value in wanted.items())
        and (ARGUMENTS in wanted or ARGUMENTS not in found)
    )


def _started(entry: Any, subcommand: str) -> re.Match[str] | None:
    """How an entry starts this command; nothing where it starts another, or more than one."""
    found = _STARTED.fullmatch(_line(entry))
    if found is None or found["command"] != subcommand:
        return None
    program = "".join(shlex.split(found["program"]))
    return found if found["module"] or Path(program).name == NAME else None


def _line(entry: Any) -> str:
    """An entry as a line for a shell; empty where it is no plain command."""
    if not isinstance(entry, Mapping):
        return ""
    command, arguments = entry.get(COMMAND), entry.get(ARGUMENTS, [])
    if isinstance(command, str) and not arguments:
        return command
    words = command if isinstance(command, list) else [command, *_listed(arguments)]
    return shlex.join(words) if all(isinstance(word, str) for word in words) else ""


def _listed(arguments: Any) -> list[Any]:
    return arguments if isinstance(arguments, list) else [None]
