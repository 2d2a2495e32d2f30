"""The words of a command that works on files: options, their values, and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Action = Literal["created", "modified", "deleted", "renamed", "read"]

VALUED: dict[str, frozenset[str]] = {
    program: frozenset(options.split())
    for program, options in {
        "head": "-n -c --lines --bytes",
        "tail": "-n -c --lines --bytes -s --pid",
        "bat": "-r --line-range -l --language --style --theme",
        "nl": "-b -s -w -v",
        "truncate": "-s --size -r --reference",
        "sed": "-e -f --expression --file -l",
        "perl": "-e -E",
        "touch": "-d -t -r --date --reference",
        "cp": "-t --target-directory -S",
        "mv": "-t --target-directory -S",
        "ln": "-t --target-directory -S",
        "install": "-m -o -g -t --mode --owner --group --target-directory",
        "tee": "--output-error",
        "prettier": "--config --parser --ignore-path",
        "eslint": "--config -c --ext --rule",
        "ruff": "--select --ignore --config --line-length --target-version",
        "black": "-l --line-length -t --target-version --config",
        "isort": "--profile -l --line-length",
        "patch": "-p -i -d -o -r --input --directory --output",
        "git": "-C -c -s --source",
        "curl": "-o --output -H -d -X -u -A -e -b -F --header --data --request --max-time -m",
        "wget": "-O --output-document -P --directory-prefix -o --header --timeout -T",
        "autopep8": "--max-line-length --select --ignore",
        "rustfmt": "--edition --config",
        **dict.fromkeys(("go", "gcc", "g++", "clang", "clang++", "cc", "c++", "rustc"), "-o"),
        **dict.fromkeys(("swiftc", "ghc"), "-o"),
    }.items()
}
"""Options whose value is the next word."""


class Words(NamedTuple):
    options: frozenset[str]
    values: dict[str, str]
    """By option, where it has one."""
    given: list[str]
    """All other words, the program left out."""
    behind: list[str]
    """Those of them that stand behind `--`."""

    def value(self, *options: str) -> str:
        return next((self.values[option] for option in options if option in self.values), "")


def told_apart(program: str, words: Sequence[str]) -> Words:
    valued = VALUED.get(program, frozenset())
    options: set[str] = set()
    values: dict[str, str] = {}
    given: list[str] = []
    behind: list[str] = []
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
