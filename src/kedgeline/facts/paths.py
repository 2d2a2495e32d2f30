"""One name per file: from the session's root where it lies below it, and else in full; where a call
works, which lines of a file it read, and what the agent said before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from posixpath import basename, isabs, join, normpath
from typing import Any

from kedgeline.facts.extractor import of_turn
from kedgeline.model import CallRef, SessionFacts, Text, ToolCall, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.shell.parsing import commands_in
from kedgeline.shell.prefixes import Command, in_folder, next_argument, words_given
from kedgeline.shell.touched import touched_by_shell
from kedgeline.text.prose import cut, sentences

PATH_MOST = 400
"""Characters beyond which a name is no path anyone typed, but text taken for one."""
REMEMBERED = 4_096
"""Paths whose name is remembered: turns name few files, often, and every extractor asks."""

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/)")
"""How shells beside Windows spell a drive: Git Bash, WSL, Cygwin."""
_PRIVATE = re.compile(r"^/private(?=/(?:tmp|var|etc)/)")
"""Where macOS keeps what it links to."""
_WORKTREE = re.compile(r"(?<=[^/])/(?:\.claude/|\.)?worktrees/[^/]+(?=/|$)")
"""A checkout inside of another: its files are those of the outer one."""
_TEMPORARY = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/|^(?:/private)?/tmp$"
    r"|(?:^|/)(?:scratch|scratchpad|tmp|\.tmp)/|/AppData/Local/Temp/",
)
_MADE_BY_TOOLS = re.compile(
    r"(?:^|/)(?:\.git|node_modules|__pycache__|\.venv|\.pytest_cache|\.mypy_cache|\.ruff_cache)/"
    r"|\.(?:pyc|o|class|tsbuildinfo)$"
)
_CLIENTS_PLAN = re.compile(r"/\.(?:claude|codex|gemini|opencode|cursor|pi)/(?:\w+/)?plans?/")
_GLOB = re.compile(r"\[[^\]]+\]")


def root_of(session: SessionFacts) -> str:
    """The folder a session works in: the one recorded last, or an earlier one around it, for the
    record also shows where the agent went inside."""
    roots = [change.value for change in session.changes if change.name == "root"]
    if not roots:
        return ""
    around = [root for root in roots if f"{roots[-1]}/".startswith(f"{root.rstrip('/')}/")]
    return min(around, key=len)


class Paths:
    """Names files as the session's facts do."""

    def __init__(self, root: str = "", checkouts: Mapping[str, str] | None = None) -> None:
        self._root = _one_spelling(normpath(_slashes(root))) if root else ""
        self._checkouts = {} if checkouts is None else checkouts

    def name(self, written: str, folder: str = "") -> str:
        """The one name of a file that a call names so while it works in that folder; empty where
        it cannot be a file's."""
        path = written.strip()
        if not 0 < len(path) <= PATH_MOST:
            return ""
        return _name(path, folder, self._root, tuple(self._checkouts.items()))


@lru_cache(maxsize=REMEMBERED)
def _name(path: str, folder: str, root: str, checkouts: tuple[tuple[str, str], ...]) -> str:
    path = _slashes(path)
    if not path.isprintable():
        return ""
    if not isabs(path) and not path.startswith("~") and not _DRIVE.match(path):
        path = join(folder, path)
    ends = "/" if path.endswith("/") else ""
    path = _one_spelling(normpath(path), drive=_DRIVE.match(root) is not None)
    inside = f"{root.rstrip('/')}/"
    if root and path.startswith("../"):
        path = normpath(join(root, path))
    around = [one for one in checkouts if f"{path}/".startswith(f"{one[0]}/")]
    if around:
        checkout, named_by = max(around, key=lambda one: len(one[0]))
        path = named_by + path[len(checkout) :]
    if root and (path.startswith(inside) or _same_on_windows(path, inside)):
        path = path[len(inside) :]
    return "" if path in (".", "..", root, "/") else path + ends


@lru_cache(maxsize=REMEMBERED)
def is_scratch(path: str) -> bool:
    """Whether a file, by its name, is no part of the work: temporary, made by tools, or a plan of
    the client. One outside of the root is work too: sessions move between checkouts, and users ask
    for changes of their own settings."""
    return any(shape.search(path) for shape in (_TEMPORARY, _MADE_BY_TOOLS, _CLIENTS_PLAN))


def is_glob(path: str) -> bool:
    return "*" in path or "?" in path or ("[" in path and _GLOB.search(path) is not None)


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


def _one_spelling(path: str, *, drive: bool = True) -> str:
    """Of the ways in which one absolute path is written; `drive`: on Windows, where `/d/x` is
    `D:/x`."""
    if drive and (letter := _MOUNTED.match(path)):
        path = f"{letter[1]}:{path[letter.end() :]}"
    if _DRIVE.match(path):
        path = path[0].upper() + path[1:]
    return _WORKTREE.sub("", _PRIVATE.sub("", path))


def _same_on_windows(path: str, inside: str) -> bool:
    return bool(_DRIVE.match(inside)) and path[: len(inside)].casefold() == inside.casefold()


def below(root: str, path: str) -> str:
    """A path from the root, where it lies below it; empty for the root itself."""
    path, root = path.replace("\\", "/").rstrip("/"), root.replace("\\", "/").rstrip("/")
    if path in (root, "."):
        return ""
    if not root:
        return path
    return path.removeprefix(root + "/")


# The folder a shell call works in, where the record shows it.

STAYS = frozenset({"Bash", "execute_bash"})
"""Tools whose shell stays where a line that succeeded has gone, by their exact name: other clients
call a shell that begins anew by the same word in small letters."""
GIVEN = ("workdir", "cwd", "directory", "dir_path", "working_directory")
"""Parameters that name the folder of one call."""
RESET_WITHIN = 400
"""Characters at the end of an output in which the client says that it went back."""
_RESET = re.compile(r"^Shell cwd was reset to (/[^\n]{1,380})\s*\Z", re.MULTILINE)
_GOES = re.compile(r"\b(?:cd|pushd)\b")
_UNKNOWN = re.compile(r"[$`*?]")
_COMPLAINT = re.compile(r"\b(?:cd|pushd): ")


MOST_CHECKOUTS = 64
"""Worktrees remembered: more than anyone works in at once."""
_ADD_VALUED = frozenset({"-b", "-B", "--reason"})
_LISTED = re.compile(
    r"^(?:worktree )?((?:/|[A-Za-z]:[\\/])[^\n]{1,400}?)"
    r"(?: +(?:[0-9a-f]{7,40} [\[(]|\(bare\))[^\n]*)?$",
    re.MULTILINE,
)


class WorkingFolder:
    """Follows one conversation. A sub-agent's shell begins anew with every call."""

    def __init__(self, *, stays: bool = True) -> None:
        self._stays = stays
        self._folder = ""

    def of(self, call: ToolCall) -> str:
        """Where a call's shell line begins; empty for the session's root."""
        for name in GIVEN:
            if isinstance(given := call.parameters.get(name), str) and given:
                return given
        return self._folder if call.tool in STAYS else ""

    def follow(self, outcome: Outcome) -> None:
        """See where a call has gone; to be called behind `of`."""
        if not self._stays or outcome.call.tool not in STAYS or outcome.result is None:
            return
        tail = outcome.result.output[-RESET_WITHIN:]
        if reset := _RESET.search(tail):
            self._folder = reset[1]
            return
        line = shell_line(outcome.call)
        if not outcome.success or not _GOES.search(line) or _COMPLAINT.search(tail):
            return
        if "popd" in line or outcome.call.parameters.get("run_in_background") is True:
            return
        commands = commands_in(f"{line}\n:")
        went = commands[-1].folder if commands and commands[-1].words == (":",) else ""
        if went.startswith("~"):
            self._folder = went
        elif went and not _UNKNOWN.search(went):
            self._folder = normpath(join(self._folder, went))


def folder_of(command: Command) -> str:
    """Where a command of a line works, seen from where the line began."""
    plain = command.plain
    for place, word in enumerate(plain[:-1]):
        if word == "-C" and command.program == "git":
            return in_folder(command.folder, plain[place + 1])
    return command.folder


class Checkouts(dict[str, str]):
    """The worktrees of a repository that git told of, wherever on the disk they are, each with the
    checkout by which the files of all are named: the one the session is in."""

    def __init__(self, root: str = "", began: str = "") -> None:
        super().__init__()
        self._root = _one_spelling(normpath(_slashes(root))) if root else ""
        self._began = began or root
        self._folder = WorkingFolder()

    def follow(self, outcome: Outcome, *, of_agent: bool = False) -> None:
        """See what a call told of worktrees."""
        folder = WorkingFolder(stays=False).of(outcome.call)
        if not of_agent:
            folder = self._folder.of(outcome.call)
            self._folder.follow(outcome)
        line = shell_line(outcome.call)
        if "worktree" not in line or not outcome.success or outcome.result is None:
            return
        for command in commands_in(line):
            words = command.plain
            asked = words_given(words)[:2] if command.program == "git" else []
            if asked == ["worktree", "list"]:
                self._take(_LISTED.findall(outcome.result.output))
            elif asked == ["worktree", "add"]:
                place = join(self._began, folder, folder_of(command))
                inside = f"{normpath(place)}/".startswith(f"{self._root}/")
                added = next_argument(words, words.index("add") + 1, _ADD_VALUED)
                self._take([self._root if inside else place, join(place, *words[added:][:1])])

    def _take(self, found: Sequence[str]) -> None:
        """Checkouts of one repository; the first is the main one."""
        tops = [_one_spelling(normpath(_slashes(one))) for one in found]
        tops = [self.get(top, top) for top in tops if isabs(top) or _DRIVE.match(top)]
        around = (top for top in tops if f"{self._root}/".startswith(f"{top}/"))
        named_by = min(around, key=len, default=tops[0] if tops else "")
        for top in tops:
            if top != named_by and len(self) < MOST_CHECKOUTS:
                self[top] = named_by


# Which lines of a file a call read.

DEFAULT_LINES = 10
"""What `head` and `tail` show unless told."""
MOST_LINES = 10**9
_PRINTED = re.compile(r"(\d{1,7})(?:,(\d{1,7}|\$))?p")
_COUNT = re.compile(r"(?:-n|-|--lines=)?(\+?\d{1,7})")


def lines_read(outcome: Outcome, path: str) -> str:
    """The lines as `600-659`; empty for the whole file, or where it is not known."""
    if outcome.call.verb == "read":
        return _by_parameters(outcome.call.parameters)
    commands = commands_in(shell_line(outcome.call))
    for place, command in enumerate(commands):
        if any(touch.path == path for touch in touched_by_shell((command,), "")):
            behind = commands[place + 1] if place + 1 < len(commands) else command
            shows = behind if behind.joint == "|" and command.program == "cat" else command
            return _by_command(shows.program, shows.plain)
    return ""


def _by_parameters(given: dict[str, Any]) -> str:
    view = given.get("view_range")
    if isinstance(view, (list, tuple)) and len(view) == 2:
        first, last = _whole(view[0]), _whole(view[1])
        return f"{first}-{last}" if last > 0 else f"{first}-" if first > 1 else ""
    first = _whole(given.get("offset", given.get("start_line", given.get("startLine"))))
    last = _whole(given.get("end_line", given.get("endLine")))
    count = _whole(given.get("limit"))
    if last > 0:
        return f"{max(first, 1)}-{last}"
    if count > 0:
        return f"{max(first, 1)}-{max(first, 1) + count - 1}"
    return f"{first}-" if first > 1 else ""


def _by_command(program: str, words: Sequence[str]) -> str:
    if program == "sed":
        found = next((found for word in words if (found := _PRINTED.fullmatch(word))), None)
        if found is None or found[2] == "$":
            return f"{found[1]}-" if found else ""
        return f"{found[1]}-{found[2] or found[1]}"
    if program not in ("head", "tail"):
        return ""
    counts = (found[1] for word in words[1:] if (found := _COUNT.fullmatch(word)))
    count = next(counts, str(DEFAULT_LINES))
    if program == "head":
        return f"1-{count.lstrip('+')}"
    return f"{count[1:]}-" if count.startswith("+") else f"last {count}"


def _whole(value: Any) -> int:
    """Nought for what is no number of a line: words, infinity, more than any file has."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 9:
        return int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and abs(value) < MOST_LINES else 0


# The agent's own sentence before a call, and whether it speaks about a change.

SAID_MOST = 150
WHY_MOST = 120
"""Characters of a sentence that are kept."""
TAIL = 1_500
"""Characters at the end of a text in which its last sentence is looked for."""
FEWEST_WORDS = 5
"""Of a sentence that names nothing: "fix it" and "update the docs" tell less than the change."""

_BEGIN = (
    r"\W*(?:(?:now|first|next|then|also|okay|ok|good|great|perfect|let|me|let's|i'll|i|we|will|need"
    r"|should|want|going|just|quickly|and|so|to)\W+)*"
)
_BEGINS = re.compile(_BEGIN, re.IGNORECASE)
_ONLY_LOOKS = re.compile(
    _BEGIN + r"(?:here(?:'s| is| are)|check|look|read|see|view|find|search|understand|examin|explor"
    r"|inspect|verif|review|run|test|confirm|investigat|analy[sz]|debug|compar|trac|commit|push|build|wait"
    r"|ask|grep|list)"
    r"\w*\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"`[^`]+`|\w\.\w|\w_\w|[a-z][A-Z]|[A-Z]{2}")


@of_turn
def texts_before(turn: Turn) -> Sequence[str]:
    """For each call of a turn what the agent said last before it."""
    found = [turn.assistant_response] * len(turn.tool_calls)
    said = ""
    for message in turn.messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                said = part.text
            elif isinstance(part, CallRef) and part.position < len(found):
                found[part.position] = said
    return found


def why(text: str) -> str:
    return cut(_last_sentence(text), WHY_MOST)


def said_of(text: str, path: str, others: Iterable[str]) -> str:
    """The last sentence of a text where it may speak about the change of a file; `others` are all
    files the same turn changes: a sentence that names some of them is about those."""
    sentence = _last_sentence(text)
    rest = _BEGINS.sub("", sentence, count=1)
    tells = len(rest.split()) >= FEWEST_WORDS or _NAME.search(rest)
    if not sentence or not tells or _ONLY_LOOKS.match(sentence):
        return ""
    named = [other for other in others if basename(other) in sentence]
    return cut(sentence, SAID_MOST) if not named or path in named else ""


def _last_sentence(text: str) -> str:
    """Without what closes it; empty for a question or code."""
    tail = text[-TAIL:]
    if len(text) > TAIL:
        tail = tail.partition("\n")[2]
    *_, last = "", *sentences(tail)
    return "" if last.endswith("?") else last.replace("**", "").strip(" *_-#").rstrip(" .:;…")
