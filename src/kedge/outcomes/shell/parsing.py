"""A shell line as the simple commands it runs, by a real grammar.

Commands in subshells, groups, loops and branches count. What stands in strings, here-documents,
comments and command substitutions is text. `bash -c "…"` and `eval` are looked into, one level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kedge.outcomes.shell.command import Command, Redirect, in_folder
from kedge.outcomes.shell.heredocs import without_heredocs
from kedge.outcomes.shell.prefixes import program_of, without_prefixes
from kedge.outcomes.shell.walk import Walk, Way
from kedge.outcomes.shell.words import Source

if TYPE_CHECKING:
    from tree_sitter import Language

__all__ = ["Command", "Redirect", "commands_in", "script_in"]

LONGEST_LINE = 16_384
"""Bytes of a line that are parsed, here-documents not counted; the rest is left off. Lines of
agents seldom have 2,000, and the parser's time grows with the square for some kinds of garbage."""
REMEMBERED = 512
"""Lines kept parsed: several stages ask about the same one, one after the other."""
LONGEST_REMEMBERED = 4_096
"""Longer lines are parsed again when asked for, so that what is remembered stays within 2 MB."""

SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "powershell", "pwsh"}
_ASCII = bytes(code if code < 0x80 else ord("x") for code in range(0x100))
"""To the shell all other characters are letters. The parser must not see them: its scanner looks
them up in a table of 256 entries and can crash the process (tree-sitter-bash issue 337)."""
_TAKES_SCRIPT = re.compile(r"-[a-z]*c|-[Cc]ommand")


def commands_in(line: str) -> tuple[Command, ...]:
    """Every simple command of a line, in order. Never raises, whatever the text."""
    return _remembered(line) if len(line) <= LONGEST_REMEMBERED else _parsed(line)


def script_in(words: Sequence[str]) -> str:
    """The script that a command gives to a shell: `bash -lc SCRIPT`, `eval WORDS`; else empty."""
    if not words:
        return ""
    program = program_of(words[0])
    if program == "eval":
        return " ".join(words[1:])
    if program in SHELLS:
        for option, script in pairwise(words[1:]):
            if not option.startswith("-"):
                break
            if _TAKES_SCRIPT.fullmatch(option):
                return script
    return ""


@lru_cache(maxsize=REMEMBERED)
def _remembered(line: str) -> tuple[Command, ...]:
    return _parsed(line)


def _parsed(line: str) -> tuple[Command, ...]:
    return tuple(inner for command in _top(line) for inner in _looked_into(command))


def _top(line: str) -> list[Command]:
    """The commands of a line; a script given to a shell is still a word."""
    from tree_sitter import Parser

    stripped = without_heredocs(line.replace("\0", " "))
    data = stripped.line.encode(errors="replace")
    whole = stripped.whole and len(data) <= LONGEST_LINE
    data = data[:LONGEST_LINE]
    walk = Walk(Source(data, stripped.heredocs))
    tree = Parser(_language()).parse(data.translate(_ASCII))
    walk.sequence(tree.root_node, Way(decides=whole))
    if walk.full:  # those that were left off may have decided
        return [replace(command, decides=False) for command in walk.found]
    return walk.found


def _looked_into(command: Command) -> list[Command]:
    """The commands of the script that a command gives to a shell; else the command itself."""
    if not command.words:
        return [command]
    plain, remote = without_prefixes(command.words)
    script = script_in(plain)
    inside = _top(script) if script else []
    if not inside:
        return [replace(command, remote=remote)]
    shown = [
        Command(
            words=one.words,
            joint=one.joint if place else command.joint,
            decides=command.decides and one.decides,
            piped=command.piped or one.piped,
            background=command.background or one.background,
            inside=command.inside or one.inside,
            redirects=one.redirects,
            heredoc=one.heredoc,
            folder=in_folder(command.folder, one.folder) if one.folder else command.folder,
            remote=remote,
        )
        for place, one in enumerate(inside)
    ]
    shown[-1] = replace(shown[-1], redirects=(*shown[-1].redirects, *command.redirects))
    return shown


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
