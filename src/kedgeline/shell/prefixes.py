"""One command of a shell line: its words, and the program that is really run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pkgutil import get_data
from posixpath import join, normpath
from typing import Any, Literal, NamedTuple

from kedgeline.model import Value

TABLES: dict[str, Any] = tomllib.loads(
    (get_data("kedgeline.shell", "commands.toml") or b"").decode()
)
"""What is known of programs."""
VALUED = {
    program: frozenset(options.split())
    for programs, options in TABLES["valued"].items()
    for program in programs.split("|")
}
"""Options whose value is the next word, per program."""
ALIASES = {
    **dict.fromkeys(("python2", "python3", "pypy", "pypy3", "py"), "python"),
    **dict.fromkeys(("podman", "docker-compose"), "docker"),
    "pip3": "pip",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "gmake": "make",
    "gtimeout": "timeout",
    "nodejs": "node",
    "batcat": "bat",
}
_VERSIONED = re.compile(r"(python|pip|pypy|node)\d*(?:\.\d+)+")
_ENDINGS = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
REMEMBERED = 512
"""Programs and commands kept plain: everyone who looks at a line asks for the same ones."""
MOST_PREFIXES = 6
"""More of them one before the other than anyone writes."""


class Prefix(NamedTuple):
    """A program that runs the rest of its words as a command."""

    own: tuple[str, ...]
    """Its words."""
    skips: int
    """Words of its own behind these, before the command begins."""
    remote: bool
    dashes: bool
    """What stands before `--`, if there is one, is its own."""
    becomes: str
    """The program that reads the rest, where the prefix swallows its name."""


def _prefixes() -> dict[str, list[Prefix]]:
    """The table by program, longer rows first."""
    given: dict[str, Any] = TABLES["prefixes"]
    remote, dashes = given["in_a_container"], given["until_dashes"]
    alone = {*given["skips_one"], *remote}
    known: dict[str, list[Prefix]] = {}
    every = {*given["plain"], *alone, *dashes, *given["becomes"]}
    for words in sorted(every, key=lambda words: (-words.count(" "), words)):
        own = tuple(words.split())
        becomes = given["becomes"].get(words, "")
        row = Prefix(own, int(words in alone), words in remote, words in dashes, becomes)
        known.setdefault(own[0], []).append(row)
    return known


PREFIXES = _prefixes()


class Plain(NamedTuple):
    words: tuple[str, ...]
    """What is really run."""
    remote: bool


def without_prefixes(words: Sequence[str]) -> Plain:
    """A command without what merely runs it: `sudo timeout 60 npx jest` is `jest`."""
    return _without_prefixes(tuple(words))


@lru_cache(maxsize=REMEMBERED)
def _without_prefixes(words: tuple[str, ...]) -> Plain:
    plain = Plain(words, remote=False)
    for _ in range(MOST_PREFIXES):
        if not plain.words:
            break
        name = plain.words[0].replace("\\", "/").rpartition("/")[2]
        inner = ((_behind(one, plain.words), one.remote) for one in PREFIXES.get(name, ()))
        found = next((each for each in inner if each[0]), None)
        if found is None:
            break
        plain = Plain(found[0], plain.remote or found[1])
    return plain


@lru_cache(maxsize=REMEMBERED)
def usual_program(word: str) -> str:
    """A program by its usual name: without folder, version and ending."""
    name = _ENDINGS.sub("", word.replace("\\", "/").rpartition("/")[2])
    if found := _VERSIONED.fullmatch(name):
        name = found[1]
    return ALIASES.get(name, name)


def next_argument(words: Sequence[str], start: int, valued: frozenset[str]) -> int:
    """Place of the first word from `start` on that is neither an option nor an option's value."""
    place = start
    while place < len(words):
        word = words[place]
        if word == "--":
            return place + 1
        if not word.startswith(("-", "+")) or word == "-":
            return place
        place += 2 if word in valued else 1
    return place


def words_given(words: Sequence[str]) -> list[str]:
    """The words of a command behind its program, options and their values left out."""
    valued = VALUED.get(usual_program(words[0]), frozenset())
    found = []
    place = next_argument(words, 1, valued)
    while place < len(words):
        found.append(words[place])
        place = next_argument(words, place + 1, valued)
    return found


def _behind(prefix: Prefix, words: tuple[str, ...]) -> tuple[str, ...]:
    """The command behind a prefix; nothing where the words are not its own."""
    valued = VALUED.get(usual_program(prefix.own[0]), frozenset())
    place = 1
    for word in prefix.own[1:]:
        place = next_argument(words, place, valued)
        if words[place : place + 1] != (word,):
            return ()
        place += 1
    if words[place : place + 1] == ("-m",) and words[0] in ("uv", "coverage", "pdm"):
        return ("python", *words[place:])  # the module is Python's
    if prefix.dashes and "--" in words[place:]:
        rest = words[words.index("--", place) + 1 :]
    else:
        place = next_argument(words, place, valued)
        for _ in range(prefix.skips):
            place = next_argument(words, place + 1, valued)
        while place < len(words) and _ASSIGNMENT.match(words[place]):
            place += 1
        rest = words[place + (words[place : place + 1] == ("--",)) :]
    return (prefix.becomes, *rest) if rest and prefix.becomes else rest


Joint = Literal["", ";", "&", "&&", "||", "|"]


class Redirect(Value, frozen=True):
    operator: str
    """`>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<` or `<>`."""
    target: str


class Command(Value, frozen=True):
    """One simple command of a shell line."""

    words: tuple[str, ...] = ()
    """Program and arguments as the program gets them; empty for a mere redirection or
    assignment. What the shell would expand stands as written."""
    joint: Joint = ""
    """How it hangs on the command before it; empty for the first of a line or of a body."""
    decides: bool = False
    """The line can only have succeeded if this command did."""
    piped: bool = False
    """Its output goes into a pipe."""
    background: bool = False
    """Nobody waited for it."""
    inside: bool = False
    """It stands in a branch, a loop or a function: it may run several times, or never."""
    redirects: tuple[Redirect, ...] = ()
    heredoc: str = ""
    """What it gets as input from here-documents."""
    folder: str = ""
    """Where `cd` before it in the line led; empty for where the line began."""
    remote: bool = False
    """It runs in a container or on another machine."""

    @property
    def plain(self) -> tuple[str, ...]:
        """The words without `sudo`, `timeout 60`, `npx` and the like."""
        return without_prefixes(self.words).words

    @property
    def program(self) -> str:
        plain = self.plain
        return usual_program(plain[0]) if plain else ""


def in_folder(folder: str, path: str) -> str:
    """A path as seen from where the line began."""
    if not folder or path.startswith(("/", "~")):
        return path
    whole = normpath(join(folder, path))
    return whole + "/" if path.endswith("/") and not whole.endswith("/") else whole


# Here-documents, taken out of a shell line before it is parsed.

LONGEST_LINE = 1 << 20
"""Characters of a line looked at for here-documents; the rest of a longer one is left off."""
MARK = re.compile(r"kedgeline-here-document-(\d{1,6})-")
"""What stands for a here-document; a name no file has."""

_SIGN = re.compile(
    r"""\\. | '[^']*'? | \$'(?:[^'\\]|\\.)*'? | (?<![^\s;&|(])\#[^\n]* | \$\(\( | \$\( | ["()\n]
    | <<< | <<-?[ \t]*(?=[\w'"\\.])""",
    re.VERBOSE | re.DOTALL,
)
"""Outside double quotes: what opens or closes something, or can hold signs that do not count."""
_QUOTED_SIGN = re.compile(r"""\\.|"|\$\(\(|\$\(""", re.DOTALL)
"""The same inside them."""
_OPENS = {"(": "(", "$(": "(", "$((": "#"}
_DELIMITER = re.compile(r"""(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|<>()'"\\])+""")
_QUOTES = str.maketrans("", "", "'\"\\")


class Heredoc(NamedTuple):
    opening: str
    """As written: `<<'EOF'`."""
    body: str


class Stripped(NamedTuple):
    line: str
    """With a mark in the place of every here-document."""
    heredocs: tuple[Heredoc, ...]
    whole: bool
    """False when the end was left off."""


def without_heredocs(line: str) -> Stripped:
    """One pass over a line. What is open stands on a stack: `"` a string, `(` a parenthesis or a
    command substitution, `#` an arithmetic expression, in which `<<` shifts."""
    whole = len(line) <= LONGEST_LINE
    line = line[:LONGEST_LINE]
    if "<<" not in line:
        return Stripped(line, (), whole)
    kept: list[str] = []
    heredocs: list[Heredoc] = []
    opened: list[str] = []
    awaited: list[tuple[str, str]] = []  # openings and delimiters; the bodies begin on a new line
    position = copied = 0
    while found := (_QUOTED_SIGN if opened[-1:] == ['"'] else _SIGN).search(line, position):
        sign, position = found[0], found.end()
        if sign == "\n" and awaited:
            kept.append(line[copied:position])
            bodies, position = _bodies(line, position, awaited)
            heredocs += bodies
            awaited, copied = [], position
        elif sign[:2] != "<<" or sign == "<<<" or "#" in opened:
            position += _nest(sign, opened, line[position : position + 1])
        elif delimiter := _DELIMITER.match(line, position):
            number = len(heredocs) + len(awaited)
            kept += (line[copied : found.start()], f"< kedgeline-here-document-{number}-")
            copied = position = delimiter.end()
            awaited.append((line[found.start() : copied], delimiter[0].translate(_QUOTES)))
    return Stripped("".join((*kept, line[copied:])), tuple(heredocs), whole)


def _nest(sign: str, opened: list[str], following: str) -> int:
    """Open or close what a sign does; how many more characters belong to it."""
    if sign in _OPENS:
        opened.append(_OPENS[sign])
    elif sign == '"' and opened[-1:] != ['"']:
        opened.append(sign)
    elif sign in ('"', ")") and opened and (sign == '"') == (opened[-1] == '"'):
        return int(opened.pop() == "#" and following == ")")
    return 0


def _bodies(line: str, start: int, awaited: Sequence[tuple[str, str]]) -> tuple[list[Heredoc], int]:
    """The bodies that begin here, one behind the other, and where the last of them ends."""
    found: list[Heredoc] = []
    for opening, delimiter in awaited:
        if found and line.startswith("\n", start):
            start += 1
        tabs = r"\t*" if opening.startswith("<<-") else ""
        last = re.compile(rf"^{tabs}{re.escape(delimiter)}(?:$|(?=\)))", re.MULTILINE)
        end = last.search(line, start)
        body = line[start : end.start() if end else len(line)]
        found.append(Heredoc(opening, re.sub(r"(?m)^\t+", "", body) if tabs else body))
        start = end.end() if end else len(line)
    return found, start
