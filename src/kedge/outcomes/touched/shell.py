"""The files that the commands of a shell line change or print.

Exact where a command names its files; what the shell expands, and folders a command works on as a
whole, are not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from posixpath import basename, join

from kedge.outcomes.shell.command import Command, in_folder
from kedge.outcomes.shell.prefixes import program_of
from kedge.outcomes.touched.scripts import touched_by_scripts
from kedge.outcomes.touched.words import Action, Words, told_apart
from kedge.outcomes.values import Touch

ERRORS_WITHIN = 65_536
"""Characters of an output in which a command's complaint about a file is looked for."""

READERS = {"cat", "head", "tail", "less", "more", "bat", "nl", "tac"}
FORMATTERS: dict[str, frozenset[str]] = {
    program: frozenset(options.split())
    for program, options in {
        "gofmt": "-w",
        "gofumpt": "-w",
        "goimports": "-w",
        "shfmt": "-w",
        "prettier": "--write -w",
        "biome": "--write --apply --fix",
        "eslint": "--fix",
        "stylelint": "--fix",
        "ruff": "--fix format",
        "black": "*",
        "isort": "*",
        "rustfmt": "*",
        "stylua": "*",
        "autopep8": "-i --in-place",
        "yapf": "-i --in-place",
        "clang-format": "-i",
        "rubocop": "-a -A --autocorrect --auto-correct",
        "dos2unix": "*",
    }.items()
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
_SED_IN_PLACE = re.compile(r"-[nErsz]*i.*|--in-place")
_PERL_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i.*")


def touched_by_shell(commands: Sequence[Command], output: str) -> Iterator[Touch]:
    """What the commands of a successful line touched, in order; what scripts do comes last."""
    for command in commands:
        if _ran_here(command):
            complaints = _complaints(command, output)
            for touch in _touches(command):
                if _is_file(touch.path) and not any(touch.path in line for line in complaints):
                    yield _placed(touch, command.folder)
    for command, touch in touched_by_scripts(commands):
        if _ran_here(command) and _is_file(touch.path):
            yield _placed(touch, command.folder)


def _ran_here(command: Command) -> bool:
    """Not elsewhere, and not only where the command before it failed."""
    return not command.remote and command.joint != "||"


def _placed(touch: Touch, folder: str) -> Touch:
    before = in_folder(folder, touch.renamed_from) if touch.renamed_from else ""
    path = in_folder(folder, touch.path)
    return Touch(path=path, action=touch.action, by="shell", renamed_from=before)


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
    if words[1:2] == ("-m",) and program_of(words[0]) == "python":
        words = words[2:]
    if words:
        hidden = any(_is_file(redirect.target) for redirect in writes)
        for touch in _named(program_of(words[0]), words):
            if not (hidden and touch.action == "read"):
                yield touch
    for redirect in writes:
        action: Action = "modified" if ">>" in redirect.operator else "created"
        yield Touch(path=redirect.target, action=action)


def _named(program: str, words: Sequence[str]) -> Iterator[Touch]:
    """The files among a command's words."""
    if program in READERS:
        return _each("read", told_apart(program, words).given)
    if program in FORMATTERS:
        return _formatted(program, told_apart(program, words))
    touches = _TOUCHES.get(program)
    return iter(()) if touches is None else touches(told_apart(program, words))


def _each(action: Action, paths: Sequence[str]) -> Iterator[Touch]:
    return (Touch(path=path, action=action) for path in paths)


def _formatted(program: str, words: Words) -> Iterator[Touch]:
    """Files that a formatter rewrote; what it did to a folder is not known."""
    rewrites = FORMATTERS[program]
    always = "*" in rewrites or (program == "ruff" and words.given[:1] == ["format"])
    if always and words.options & CHECKS_ONLY:
        return iter(())
    if not always and not words.options & rewrites:
        return iter(())
    return _each("modified", [path for path in words.given if _ENDING.search(path)])


def _removed(words: Words) -> Iterator[Touch]:
    return _each("deleted", words.given)


def _made(words: Words) -> Iterator[Touch]:
    return _each("created", words.given)


def _changed(words: Words) -> Iterator[Touch]:
    return _each("modified", words.given)


def _teed(words: Words) -> Iterator[Touch]:
    return _each("modified" if words.options & {"-a", "--append"} else "created", words.given)


def _edited(words: Words) -> Iterator[Touch]:
    """`sed`: the first word is the script, unless an option has it."""
    files = [word for word in words.given if word]
    if not words.options & {"-e", "-f", "--expression", "--file"}:
        files = files[1:]
    in_place = any(_SED_IN_PLACE.fullmatch(option) for option in words.options)
    return _each("modified" if in_place else "read", files)


def _rewritten(words: Words) -> Iterator[Touch]:
    """`perl -i`: the script is the value of an option."""
    in_place = any(_PERL_IN_PLACE.fullmatch(option) for option in words.options)
    has_script = any(option[-1] in "eE" for option in words.values)
    return _each("modified", words.given if in_place and has_script else [])


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
    folders = any(set(option) & set("rRa") for option in words.options if option[:2] != "--")
    folders = folders or bool(words.options & {"--recursive", "--archive", "-d", "--directory"})
    for source, destination in _pairs(words):
        if _is_file(source) and not (folders and not _ENDING.search(source)):
            yield Touch(path=destination, action="created")


def _linked(words: Words) -> Iterator[Touch]:
    return _each("created", words.given[1:2] if len(words.given) == 2 else [])


def _dumped(words: Words) -> Iterator[Touch]:
    return _each("created", [word[3:] for word in words.given if word.startswith("of=")])


def _fetched(words: Words) -> Iterator[Touch]:
    """`curl -o FILE`, `wget -O FILE`, and `curl -O URL`, which names the file after the address."""
    if path := words.value("-o", "--output", "--output-document") or words.values.get("-O", ""):
        return _each("created", [path])
    named = words.options & {"-O", "--remote-name", "-LO", "-sLO", "-fsSLO"}
    return _each("created", [basename(url) for url in words.given] if named else [])


def _patched(words: Words) -> Iterator[Touch]:
    return _each("modified", words.given[:1])


def _built(words: Words) -> Iterator[Touch]:
    """What a compiler was told to write."""
    return _each("created", [path] if (path := words.value("-o", "--output")) else [])


def _in_git(words: Words) -> Iterator[Touch]:
    """What git does to files that are named; branches and commits are not files."""
    folder = words.value("-C")
    own = Words(words.options, words.values, words.given[1:], words.behind)
    if (touches := _GIT_TOUCHES.get(words.given[0] if words.given else "")) is None:
        return
    for touch in touches(own):
        yield _placed(touch, folder)


def _untracked(words: Words) -> Iterator[Touch]:
    return iter(()) if "--cached" in words.options else _removed(words)


def _checked_out(words: Words) -> Iterator[Touch]:
    """Files behind `--`, or told from branches and commits by their ending."""
    if words.behind or words.options & {"-b", "-B", "--orphan", "-t", "--track"}:
        return _each("modified", words.behind)
    if words.options & {"--ours", "--theirs"}:
        return _changed(words)
    return _each("modified", [word for word in words.given if _SOURCE.search(word)])


def _restored(words: Words) -> Iterator[Touch]:
    only_index = words.options & {"--staged", "-S"} and not words.options & {"--worktree", "-W"}
    return iter(()) if only_index else _changed(words)


_TOUCHES: dict[str, Callable[[Words], Iterator[Touch]]] = {
    "rm": _removed,
    "unlink": _removed,
    "touch": _made,
    "truncate": _changed,
    "sponge": _changed,
    "tee": _teed,
    "sed": _edited,
    "gsed": _edited,
    "perl": _rewritten,
    "mv": _moved,
    "cp": _copied,
    "install": _copied,
    "ln": _linked,
    "dd": _dumped,
    "curl": _fetched,
    "wget": _fetched,
    "patch": _patched,
    "git": _in_git,
    **dict.fromkeys(COMPILERS, _built),
}
_GIT_TOUCHES: dict[str, Callable[[Words], Iterator[Touch]]] = {
    "mv": _moved,
    "rm": _untracked,
    "checkout": _checked_out,
    "restore": _restored,
}
