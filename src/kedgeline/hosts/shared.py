"""What kedgeline needs of a coding agent, said once: how a host starts it, which files it is given,
and how it writes a conversation. Each host has a module with what only it does."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kedgeline.model import Transcript

NAME = "kedgeline"
SERVER = NAME
"""Name of the server in a host's list; its tools are called mcp__kedgeline__recall and the like."""
HOOK, STATUS_LINE, MCP, REPLACE = "hook", "statusline", "mcp", "host-compact"
"""The commands of kedgeline that hosts run."""
HOST = "--host="
"""Before the name of the host that runs a command: each understands other answers."""
AS_MODULE = ("-P", "-m", NAME)
"""How Python starts it, without the modules of the folder that a host is in."""
HOOK_SECONDS = 10
"""A hook ends by itself after five; a host that waits this long waits for a machine that hangs."""
REPLACE_SECONDS = 30
"""A host waits so long for another context before it compacts by itself."""
FENCE = "---\n"
"""The line that front matter begins and ends with."""
HOOKS, COMMAND, ARGUMENTS, MATCHER = "hooks", "command", "args", "matcher"
"""Keys under which all hosts have their hooks, what a hook starts, and when."""
PACKAGE = {"name": NAME, "version": "1.0.0", "type": "module"}
"""What Node wants to know of a plugin."""
SUMMARY = "Nothing that matters is lost when the context is compacted, and it can be recalled."


# How kedgeline is started.


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


class InstallPlace(NamedTuple):
    """For whom it is installed, and what the user chose. None is what was chosen before."""

    home: Path
    environment: Mapping[str, str]
    launch: Launch
    project: Path | None = None
    """The folder of the project; None where it is for the user, in all projects."""
    replacing: bool | None = None
    """Whether the host's compaction is replaced where that can be; else it is only advised."""
    room: int | None = None
    """Tokens that a new context may have; 0 for a share of what there was."""

    def folder(self, variable: str, *usual: str) -> Path:
        """A folder of a host: what its variable says, or the usual one in the user's home."""
        named = self.environment.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*usual)


# The files of a host.


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
    rival: tuple[Path, str] | None = None
    """A file by which a host shows that it installed the plugin itself, and what takes it out."""
    wanted: bool = True
    """Whether it should be there; one that is no longer wanted is removed."""


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
    members: tuple[Member, ...] = ()
    strict: bool = False
    """Whether the host ignores the whole file where it has a comment or a comma too many."""
    switch: str = ""
    """A key that turns all hooks off, where the host has one."""
    plugins: str = ""
    """The key of the plugins that are enabled, where the host has them in this file."""


class ServerTable(NamedTuple):
    """A table of a server in a TOML file that others write too."""

    path: Path
    table: tuple[str, str]
    value: Mapping[str, Any]
    runs: str
    plugins: str = ""
    """The table of the plugins that are enabled, where the host has them in this file."""


Piece = OwnFile | SettingsFile | ServerTable


def json_text(value: Any) -> str:
    from json import dumps

    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


def manifest() -> dict[str, Any]:
    """What every host wants to know of a plugin."""
    from importlib.metadata import version

    return {"name": NAME, "version": version(NAME), "description": SUMMARY}


def server_text(launch: Launch) -> str:
    return json_text({"mcpServers": {SERVER: launch.program(MCP)}})


def server_member(value: Mapping[str, Any]) -> Member:
    return Member(("mcpServers", SERVER), value, MCP, "MCP server")


def markdown_file(path: Path, head: Mapping[str, str], body: str) -> OwnFile:
    lines = "".join(f"{name}: {value}\n" for name, value in head.items())
    return OwnFile(path, f"{FENCE}{lines}{FENCE}\n{body}", opening=FENCE)


def described_file(path: Path, value: Mapping[str, Any], wanted: bool = True) -> OwnFile:
    """A file of JSON, which has no comments: our mark stands at the end of its description."""
    says = f'  "description": "{SUMMARY}'
    return OwnFile(path, json_text(value), says, ending='",', opening="{\n", wanted=wanted)


@cache
def text_named(name: str) -> str:
    """Words that hosts are given, one file each."""
    from importlib.resources import files

    return files("kedgeline.hosts").joinpath("texts", name).read_text("utf-8")


def filled(name: str, values: Mapping[str, Any]) -> str:
    """A text in a host's language with its constants set: `KEDGELINE = []` and the like."""
    from json import dumps

    def line(found: re.Match[str]) -> str:
        value = values.get(found[2], text := found[3])
        if value is text:
            return found[0]
        return found[1] + (f"{value:_}" if type(value) is int else dumps(value))

    return re.sub(r"^((?:const )?(\w+)(?:: \S+)? = )(.*)$", line, text_named(name), flags=re.M)


COMMENTS = {".js": "//", ".ts": "//", ".py": "#", ".yaml": "#"}
"""What a line begins with that is no code."""


def by_launch(text: str, launch: Launch) -> str:
    """The commands in a text as they can be run here."""
    return text.replace("`kedgeline ", f"`{launch.line()} ")


# What the agent and its user are given to read.


class _Text(NamedTuple):
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


COMMANDS = (
    _Text(
        "report", "What was compacted in this session, and how good the summary is", "", "status"
    ),
    _Text("recall", "Find the original of something said or seen earlier", "WORDS", "recall"),
    _Text("pin", "Keep words verbatim through every compaction to come", "WORDS", "pin"),
)
SKILL = _Text(
    "kedgeline-recall",
    "Finds originals of this and earlier sessions again: exact words, file contents, "
    "commands, errors, decisions. Use when a summary refers to something whose details "
    "are no longer in context, before asking the user or repeating work.",
)


# A host's conversation, as messages of a provider and back.

Message = dict[str, Any]
TEXTS = ("text", "input_text", "output_text")


class FromTranscript(NamedTuple):
    """New messages of a session, those in the middle out of the host's own file."""

    before: list[Message]
    read: Transcript
    behind: list[Message]


class Shape(NamedTuple):
    provider: str
    """Whose message list it is taken for."""
    taken: Callable[[Sequence[Message]], list[Message]]
    """The host's messages as the provider's."""
    given: Callable[[Sequence[Message], Sequence[Message]], dict[str, Any]]
    """The answer, from the provider's messages; the host's own are given for what only these have.
    """
    room: int = 0
    """Tokens of the answer where nobody says; 0 for a share of what there was."""
    apart: Callable[[Sequence[Message]], Iterator[tuple[str, str]]] = lambda _: iter(())
    """By the ids of calls, whole outputs of which the messages have a part."""
    drops_thinking: bool = False
    """Whether the host goes on without what the agent thought."""
    file: Callable[[str], str] = lambda _: ""
    """The host's own file of a session, where that tells more than what is handed over."""
    recorded: Callable[[str, Sequence[Message], int], FromTranscript | None] = lambda *_: None
    """Of the host's messages the last so many, as that file has them; None where it has not."""
    rows: Callable[[str], list[Message]] | None = None
    """The messages that the host would hand over now, by that file, as far as they are complete."""


def as_given(
    found: Sequence[Message],
    rows: Sequence[Message],
    taken: Callable[[Sequence[Message]], list[Message]],
    fresh: Callable[[Message, Message], Message],
) -> list[Message]:
    """A provider's messages as the host's: its own where one says the same, a fresh one where it
    does not, made beside the one that has the same calls."""
    from json import dumps

    def key(message: Message) -> str:
        return dumps(message, sort_keys=True)

    def calls(message: Message) -> str:
        blocks = blocks_of(message)
        ids = [one.get("id") or one.get("tool_use_id") for one in blocks]
        ids += [one.get("id") for one in message.get("tool_calls") or ()]
        return dumps([message.get("role"), message.get("tool_call_id"), ids])

    same = {key(one): row for row in rows for one in taken([row])}
    alike = {calls(one): row for row in rows for one in taken([row])}
    return [same.get(key(one)) or fresh(one, alike.get(calls(one), {})) for one in found]


SUMMARY_ROOM = 20_000
"""Tokens of a summary beside which the host keeps what it likes."""


def blocks_of(message: Message) -> list[Message]:
    content = message.get("content") or ()
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


def texts_of(message: Message) -> list[str]:
    """What a message says, our summary first: by it the message is known again when it comes back,
    and it begins with a short line, which hosts show."""
    from kedgeline.session.appending import OURS  # who installs needs none of it

    texts = [block["text"] for block in blocks_of(message) if block.get("type") in TEXTS]
    return sorted(texts, key=lambda text: not text.startswith(OURS))


def is_lead(message: Message) -> bool:
    """Whether a message stands for what was folded."""
    from kedgeline.session.appending import OURS

    texts = texts_of(message) if message.get("role") == "user" else []
    return bool(texts) and texts[0].startswith(OURS)


def in_words(messages: Sequence[Message], _: Sequence[Message]) -> dict[str, Any]:
    """Messages of OpenAI's chat, or items of its Responses, as one text: for a host that has room
    for a summary and keeps what it likes."""
    parts = []
    for one in messages:
        role, calls = one.get("role", ""), [call["function"] for call in one.get("tool_calls", ())]
        if role == "system":
            continue
        who = "" if is_lead(one) else "output: " if role == "tool" else f"{role}: "
        parts += [f"{who}{text}" for text in texts_of(one)]
        parts += [f"output: {text_of(one['output'])}"] if "output" in one else []
        calls += [one] if one.get("type") == "function_call" else []
        parts += [f"called {call['name']} {call['arguments']}" for call in calls]
    return {"summary": "\n\n".join(parts)}


# A host.

_ROOM = re.compile(r"^(?:const )?ROOM\b.*= *([\d_]+)", re.MULTILINE)


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
    shape: Shape | None = None
    """How it writes a conversation, where its compaction can be replaced."""
    events: tuple[str, ...] = ()
    """At which kedgeline is called, as the host names them."""
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
    advises: bool = True
    """Whether agent and compaction of it can be told anything; else it has a plugin and no more."""
    files: tuple[tuple[str, str], ...] = ()
    """Files of its plugin below its folder, each with the name of its text; the first one is that
    by which its compaction is replaced."""
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Files of JSON beside them."""

    def root(self, place: InstallPlace) -> Path:
        """The folder below which its files are."""
        if place.project:
            return place.project / self.in_project
        return place.folder(self.variable, *self.usual) / self.below

    def pieces(self, place: InstallPlace) -> tuple[Piece, ...]:
        """All files that it is given."""
        return self.own_files(self.root(place), place)

    def seam(self, place: InstallPlace) -> Path | None:
        """The file by which the host's compaction is replaced; None where it has no such seam."""
        return self.root(place) / self.files[0][0] if self.files else None

    def constants(self, place: InstallPlace) -> dict[str, Any]:
        """What the texts of its plugin are filled with."""
        return {
            "KEDGELINE": place.launch.argv(),
            "HOST": self.name,
            "SECONDS": REPLACE_SECONDS,
            "MILLISECONDS": REPLACE_SECONDS * 1_000,
            "ROOM": place.room or 0,
        }

    def chosen(self, place: InstallPlace) -> InstallPlace:
        """The place with what its user chose there earlier, where nothing else is said."""
        path = self.seam(place)
        try:
            text = path.read_text("utf-8") if path else ""
        except (OSError, UnicodeDecodeError):
            text = ""
        room = _ROOM.search(text)
        return place._replace(
            room=(int(room[1]) if room else 0) if place.room is None else place.room,
            replacing=self.is_replacing(text) if place.replacing is None else place.replacing,
        )

    def is_replacing(self, seam: str) -> bool:
        """Whether compactions are replaced, as the seam's text has it."""
        return bool(seam)

    def plugin(self) -> dict[str, str]:
        """The plugin for those who do not install with kedgeline: its files by their paths."""
        place = InstallPlace(Path(), {}, BY_NAME, replacing=True, room=0)
        return {file.path.as_posix(): file.text for file in self.own_files(Path(), place)}

    def advice(self, place: InstallPlace) -> tuple[str, ...]:
        """What the user does next, and should know."""
        said = [self.next]
        if place.project and self.trust:
            said.append(f"{self.title} {self.trust} of a project only where you trust its folder")
        return tuple(said)

    def hooks(self, launch: Launch) -> dict[str, dict[str, Any]]:
        """Groups by event."""
        groups, words = {}, (HOOK, f"{HOST}{self.name}")
        for event in self.events:
            handler = {
                "type": "command",
                **self.labels,
                **({COMMAND: launch.line(*words)} if self.shell else launch.program(*words)),
                "timeout": self.limits.get(event, HOOK_SECONDS) * self.second,
                **self.options.get(event, {}),
            }
            matcher = {MATCHER: self.matchers[event]} if event in self.matchers else {}
            groups[event] = {**matcher, HOOKS: [handler]}
        return groups

    def plugin_hooks(self) -> dict[str, list[dict[str, Any]]]:
        return {event: [group] for event, group in self.hooks(BY_NAME).items()}

    def own_files(self, root: Path, place: InstallPlace) -> tuple[OwnFile, ...]:
        """Plugin, skill and slash commands."""
        from json import dumps

        launch, constants = place.launch, self.constants(place)
        plugin = [
            OwnFile(root / path, filled(name, constants), COMMENTS[Path(path).suffix])
            for path, name in self.files
        ]
        plugin += [described_file(root / path, one) for path, one in self.described.items()]
        if not self.advises:
            return tuple(plugin)
        path = root / "skills" / SKILL.name / "SKILL.md"
        head = {"name": SKILL.name, "description": dumps(SKILL.description)}
        made = [*plugin, markdown_file(path, head, by_launch(SKILL.body, launch))]
        for one in COMMANDS if self.commands else ():
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
