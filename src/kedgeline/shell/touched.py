"""Which files a call touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, join
from typing import Literal, NamedTuple

from kedgeline.model import ToolCall, ToolResult
from kedgeline.model.catalogue import patch_in
from kedgeline.shell.evidence import Touch
from kedgeline.shell.prefixes import TABLES, VALUED, Command, in_folder, usual_program

Action = Literal["created", "modified", "deleted", "renamed", "read"]

# The files a call changed or read, as far as the call itself names them.

REPORTED: dict[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
"""By what the tool itself reports to have done."""
BY_VERB: dict[str, Action] = {
    "write": "created",
    "edit": "modified",
    "delete": "deleted",
    "read": "read",
}
"""Where it reports nothing. A file written whole counts as created: whether it was there before,
only earlier turns can tell."""
SAID: dict[str, Action] = {
    r"File created successfully|Successfully created and wrote to new file": "created",
    r"The file [^\n]{1,400} has been (?:updated|overwritten)|Successfully overwrote": "modified",
}
"""How clients word it in the output, where the record keeps nothing beside it."""
_PATCH_HEADER = re.compile(
    r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE
)
_PATCHED: dict[str, Action] = {
    "Add File": "created",
    "Update File": "modified",
    "Delete File": "deleted",
}
_APPLIES = {"apply_patch", "applypatch"}
_DESTINATIONS = ("destination", "destination_path", "new_path", "to")


def touched_by(
    call: ToolCall, result: ToolResult | None, commands: Sequence[Command] = ()
) -> tuple[Touch, ...]:
    """The files of one call, each once per action; `commands` are those of its shell line."""
    found: Iterable[Touch] = ()
    if result is None or not result.success:
        return ()
    if call.verb == "run":
        found = touched_by_shell(commands, result.output)
    elif call.verb == "edit" and (patch := patch_in(call.parameters)):
        gone_to = (one.folder for one in commands if one.program in _APPLIES)
        found = _files_patched(patch, next(gone_to, ""))
    elif call.verb == "move":
        found = _files_moved(call)
    elif call.verb in BY_VERB:
        action = reported(result) if call.verb != "read" else None
        found = _each(action or BY_VERB[call.verb], call.paths())
    return tuple(dict.fromkeys(found))


def reported(result: ToolResult) -> Action | None:
    """What the tool itself says to have done to its file."""
    said = (action for words, action in SAID.items() if re.match(words, result.output))
    return REPORTED.get(result.change) or next(said, None)


def _files_patched(patch: str, folder: str) -> Iterator[Touch]:
    """The files of an `apply_patch` text, by its headers."""
    headers = [(kind, in_folder(folder, path)) for kind, path in _PATCH_HEADER.findall(patch)]
    for (_, before), (kind, path), (following, _) in zip(
        (("", ""), *headers), headers, (*headers[1:], ("", "")), strict=False
    ):
        if kind == "Move to":
            yield Touch(path=path, action="renamed", renamed_from=before)
        elif following != "Move to":
            yield Touch(path=path, action=_PATCHED[kind])


def _files_moved(call: ToolCall) -> Iterator[Touch]:
    paths = call.paths()
    given = (call.parameters.get(name) for name in _DESTINATIONS)
    after = next((path for path in given if isinstance(path, str) and path), "")
    after = after or (paths[-1] if len(paths) > 1 else "")
    before = next((path for path in paths if path != after), "")
    if before and after:
        yield Touch(path=after, action="renamed", renamed_from=before)


def _each(action: Action, paths: Iterable[str]) -> Iterator[Touch]:
    return (Touch(path=path, action=action) for path in paths)


# The files that the commands of a shell line change or print.

ERRORS_WITHIN = 65_536
"""Characters of an output in which a command's complaint about a file is looked for."""
FORMATTERS = {
    program: frozenset(options.split()) for program, options in TABLES["formatters"].items()
}
"""Programs that rewrite the files they are given, and the word with which they do; `*` always."""
CHECKS_ONLY = frozenset({"--check", "--diff", "--list-different", "-l", "--check-only", "-d"})
COMPILERS = ("go", "gcc", "g++", "clang", "clang++", "cc", "c++", "rustc", "swiftc", "ghc")
FOLDERS = {".", "..", "*", "/", "~"}
_NO_FILE = re.compile(r"[$`]|\{\}|\{[^{}]*(?:,|\.\.)[^{}]*\}|^(?:[<>]\(|&|-$|/dev/|\w+://)|^$")
"""What is expanded, a device, a stream, or on the web."""
_ENDING = re.compile(r"[^/]\.\w+$")
_SOURCE = re.compile(r"^(?!v?\d).*[^/]\.[A-Za-z]\w{0,9}$")
"""A word that is a file's name and hardly a branch or a tag."""


class Words(NamedTuple):
    """The words of a command that works on files."""

    options: frozenset[str]
    values: dict[str, str]
    """By option, where it has one."""
    given: list[str]
    """All other words, the program left out."""
    behind: list[str]
    """Those of them that stand behind `--`."""

    def value(self, *options: str) -> str:
        return next((self.values[option] for option in options if option in self.values), "")

    def any_option(self, pattern: str) -> bool:
        return any(re.fullmatch(pattern, option) for option in self.options)


def _told_apart(program: str, words: Sequence[str]) -> Words:
    valued = VALUED.get(program, frozenset())
    options, given, behind = set[str](), list[str](), list[str]()
    values: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        if word == "--":
            behind = list(rest)
        elif word.startswith("-") and word != "-":
            name, has_value, value = word.partition("=")
            options.add(name)
            if has_value:
                values[name] = value
            elif word in valued or (program == "perl" and word[-1] in "eE"):
                values[word] = next(rest, "")
        else:
            given.append(word)
    return Words(frozenset(options), values, given + behind, behind)


def touched_by_shell(commands: Sequence[Command], output: str) -> Iterator[Touch]:
    """What the commands of a successful line touched, in order; what scripts do comes last."""
    here = [one for one in commands if not one.remote and one.joint != "||"]
    for command in here:
        complaints = _complaints(command, output)
        for touch in _touches(command):
            if not any(touch.path in line for line in complaints):
                yield from _placed(touch, command.folder)
    for command, touch in _touched_by_scripts(commands):
        if command in here:
            yield from _placed(touch, command.folder)


def _placed(touch: Touch, folder: str) -> Iterator[Touch]:
    """A file as seen from where the line began; nothing where it is none."""
    if _is_file(touch.path):
        before = in_folder(folder, touch.renamed_from) if touch.renamed_from else ""
        path = in_folder(folder, touch.path)
        yield Touch(path=path, action=touch.action, by="shell", renamed_from=before)


def _complaints(command: Command, output: str) -> list[str]:
    """Lines in which a command says what it could not do, where its exit code is not the line's."""
    start = f"{command.program}: "
    if command.decides or start not in output:
        return []
    return [line for line in output[:ERRORS_WITHIN].splitlines() if line.startswith(start)]


def _is_file(path: str) -> bool:
    return path not in FOLDERS and _NO_FILE.search(path) is None


def _touches(command: Command) -> Iterator[Touch]:
    """As the command names the files."""
    writes = [redirect for redirect in command.redirects if ">" in redirect.operator]
    words = command.plain
    if words[1:2] == ("-m",) and usual_program(words[0]) == "python":
        words = words[2:]
    if words:
        program = usual_program(words[0])
        touches = _formatted(program) if program in FORMATTERS else _TOUCHES.get(program, _nothing)
        hidden = any(_is_file(redirect.target) for redirect in writes)
        for touch in touches(_told_apart(program, words)):
            if not (hidden and touch.action == "read"):
                yield touch
    for redirect in writes:
        action: Action = "modified" if ">>" in redirect.operator else "created"
        yield Touch(path=redirect.target, action=action)


Touches = Callable[[Words], Iterator[Touch]]


def _nothing(words: Words) -> Iterator[Touch]:
    return iter(())


def _given(action: Action) -> Touches:
    return lambda words: _each(action, words.given)


def _formatted(program: str) -> Touches:
    """Files that a formatter rewrote; what it did to a folder is not known."""

    def touches(words: Words) -> Iterator[Touch]:
        rewrites = FORMATTERS[program]
        always = "*" in rewrites or (program == "ruff" and words.given[:1] == ["format"])
        does = not words.options & CHECKS_ONLY if always else words.options & rewrites
        return _each("modified", filter(_ENDING.search, words.given if does else ()))

    return touches


def _edited(words: Words) -> Iterator[Touch]:
    """`sed`: the first word is the script, unless an option has it."""
    files = [word for word in words.given if word]
    if not words.options & {"-e", "-f", "--expression", "--file"}:
        files = files[1:]
    in_place = words.any_option(r"-[nErsz]*i.*|--in-place")
    return _each("modified" if in_place else "read", files)


def _rewritten(words: Words) -> Iterator[Touch]:
    """`perl -i`: the script is the value of an option."""
    has_script = any(option[-1] in "eE" for option in words.values)
    rewrites = has_script and words.any_option(r"-[a-zA-Z0-9]*i.*")
    return _each("modified", words.given if rewrites else ())


def _pairs(words: Words) -> Iterator[tuple[str, str]]:
    """Sources with their destinations."""
    folder = words.value("-t", "--target-directory")
    sources = words.given if folder else words.given[:-1]
    destination = folder or (words.given[-1] if words.given else "")
    for source in sources:
        into = (
            folder
            or len(sources) > 1
            or destination.endswith("/")
            or destination in FOLDERS
            or _looks_like_folder(destination, source)
        )
        yield source, join(destination, basename(source.rstrip("/"))) if into else destination


def _looks_like_folder(destination: str, source: str) -> bool:
    """Whether `cp a.py lib` means `lib/a.py`: small letters without an ending, unless the source's
    own name was only made shorter, as in `cp run.sh bin/run`."""
    name = basename(destination)
    shortened = basename(source).startswith(f"{name}.")
    return bool(_ENDING.search(source)) and name.islower() and "." not in name and not shortened


def _moved(words: Words) -> Iterator[Touch]:
    for source, destination in _pairs(words):
        if _is_file(source):
            yield Touch(path=destination, action="renamed", renamed_from=source)


def _copied(words: Words) -> Iterator[Touch]:
    """Copies of files; those of folders hold files that are not named."""
    folders = words.any_option("-[^-]*[rRa].*|--recursive|--archive|-d|--directory")
    for source, destination in _pairs(words):
        if _is_file(source) and not (folders and not _ENDING.search(source)):
            yield Touch(path=destination, action="created")


def _fetched(words: Words) -> Iterator[Touch]:
    """`curl -o FILE`, `wget -O FILE`, and `curl -O URL`, which names the file after the address."""
    if path := words.value("-o", "--output", "--output-document", "-O"):
        return _each("created", [path])
    named = words.options & {"-O", "--remote-name", "-LO", "-sLO", "-fsSLO"}
    return _each("created", map(basename, words.given if named else ()))


def _in_git(words: Words) -> Iterator[Touch]:
    """What git does to files that are named; branches and commits are not files."""
    folder, command = words.value("-C"), "".join(words.given[:1])
    own, options, action = words.given[1:], words.options, _GIT_ACTIONS.get(command, "modified")
    if command == "mv":
        touches = _moved(words._replace(given=own))
    elif command == "checkout":
        new_branch = options & {"-b", "-B", "--orphan", "-t", "--track"}
        if words.behind or new_branch:
            own = words.behind
        elif not options & {"--ours", "--theirs"}:  # told from branches and commits by their ending
            own = [word for word in own if _SOURCE.search(word)]
        touches = _each(action, own)
    elif command in _GIT_ACTIONS:
        only_index = options & {"--cached", "--staged", "-S"} and not options & {"--worktree", "-W"}
        touches = _each(action, () if only_index else own)
    else:
        return
    for touch in touches:
        yield from _placed(touch, folder)


_GIT_ACTIONS: dict[str, Action] = {"rm": "deleted", "restore": "modified"}

_TOUCHES: dict[str, Touches] = {
    **dict.fromkeys(("cat", "head", "tail", "less", "more", "bat", "nl", "tac"), _given("read")),
    **dict.fromkeys(("rm", "unlink"), _given("deleted")),
    **dict.fromkeys(("truncate", "sponge"), _given("modified")),
    **dict.fromkeys(("sed", "gsed"), _edited),
    **dict.fromkeys(("cp", "install"), _copied),
    **dict.fromkeys(("curl", "wget"), _fetched),
    **dict.fromkeys(
        COMPILERS, lambda words: _each("created", filter(None, [words.value("-o", "--output")]))
    ),
    "touch": _given("created"),
    "tee": lambda words: _each(
        "modified" if words.options & {"-a", "--append"} else "created", words.given
    ),
    "perl": _rewritten,
    "mv": _moved,
    "ln": lambda words: _each("created", words.given[1:2] if len(words.given) == 2 else []),
    "dd": lambda words: _each("created", [w[3:] for w in words.given if w.startswith("of=")]),
    "patch": lambda words: _each("modified", words.given[:1]),
    "git": _in_git,
}


# The files that a script given to an interpreter on the shell line opens for writing.

SCRIPT_WITHIN = 65_536
"""Characters of a script that are looked at; agents' scripts have fewer."""
INTERPRETERS: dict[str, frozenset[str]] = {
    "python": frozenset({"-c"}),
    "node": frozenset({"-e", "--eval", "-p"}),
    "bun": frozenset({"-e"}),
}
"""Programs whose scripts are read, and the option that has the script as its value."""

_NAME = (
    r"""\s{0,9}(?:[fru]{0,2}["'`](?P<path>[^"'`\n]{1,400})["'`]|(?P<by>[A-Za-z_]\w{0,60}))\s{0,9}"""
)
_SET = re.compile(
    r"""^[ \t]*(?:const |let |var )?(?P<name>[A-Za-z_]\w{0,60})[ \t]*(?:: ?\w+ ?)?=[ \t]*"""
    r"""(?:(?:pathlib\.)?Path\()?[ru]?["'`](?P<value>[^"'`\n]{1,400})["'`]\)?;?[ \t]*$""",
    re.MULTILINE,
)
_WRITES = (
    re.compile(rf"\bopen\({_NAME},\s{{0,9}}(?:mode=)?[\"'](?P<mode>[wax][bt+]{{0,2}}|r\+b?)[\"']"),
    re.compile(rf"\bPath\({_NAME}\)\.write_(?:text|bytes)\("),
    re.compile(r"\b(?P<by>[A-Za-z_]\w{0,60})\.write_(?:text|bytes)\("),
    re.compile(rf"\b(?:write|(?P<mode>append))File(?:Sync)?\({_NAME},"),
)
_READS = (
    re.compile(rf"\bopen\({_NAME}(?:\)|,\s{{0,9}}(?:encoding|[\"']rb?[\"']))"),
    re.compile(rf"\bPath\({_NAME}\)\.read_"),
    re.compile(r"\b(?P<by>[A-Za-z_]\w{0,60})\.read_"),
    re.compile(rf"\breadFile(?:Sync)?\({_NAME}"),
)
_COMPUTED = re.compile(r"[{}$]")
"""In a name: it is put together when the script runs."""


def _touched_by_scripts(commands: Sequence[Command]) -> Iterator[tuple[Command, Touch]]:
    """The files each command's script writes, as the script names them."""
    written: dict[str, str] = {}
    for command in commands:
        if command.heredoc:
            written.update({redirect.target: command.heredoc for redirect in command.redirects})
        if script := _script(command, written):
            for touch in _opened(script[:SCRIPT_WITHIN]):
                yield command, touch


def _script(command: Command, written: Mapping[str, str]) -> str:
    """The script a command runs, where the line itself holds it."""
    words = command.plain
    option = INTERPRETERS.get(usual_program(words[0])) if words else None
    if option is None:
        return ""
    given = next((value for name, value in pairwise(words[1:]) if name in option), "")
    if given or len(words) == 1 or words[1] == "-":
        return given or command.heredoc
    return written.get(words[1], "")


def _opened(script: str) -> Iterator[Touch]:
    names: dict[str, str] = {}
    for found in _SET.finditer(script):
        names[found["name"]] = "" if found["name"] in names else found["value"]
    read = {_path(found, names) for reads in _READS for found in reads.finditer(script)}
    written = [found for writes in _WRITES for found in writes.finditer(script)]
    for found in sorted(written, key=lambda found: found.start()):
        path = _path(found, names)
        mode = found.groupdict().get("mode") or "w"
        known = path in read or mode[0] in "ar"
        if path and not _COMPUTED.search(path):
            yield Touch(path=path, action="modified" if known else "created")


def _path(found: re.Match[str], names: Mapping[str, str]) -> str:
    """The name a match holds, or the one its variable was set to."""
    groups = found.groupdict()
    return groups.get("path") or names.get(groups["by"] or "", "")
