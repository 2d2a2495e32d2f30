"""The files that a script given to an interpreter on the shell line opens for writing.

Only names that stand in the script as they are, or in a variable set once to a plain string: what
it computes is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kedge.outcomes.shell.command import Command
from kedge.outcomes.shell.prefixes import program_of
from kedge.outcomes.touched.words import Action
from kedge.outcomes.values import Touch

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
_WRITES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bopen\({_NAME},\s{{0,9}}(?:mode=)?[\"'](?P<mode>[wax][bt+]{{0,2}}|r\+b?)[\"']",
        rf"\bPath\({_NAME}\)\.write_(?:text|bytes)\(",
        r"\b(?P<by>[A-Za-z_]\w{0,60})\.write_(?:text|bytes)\(",
        rf"\b(?:write|(?P<mode>append))File(?:Sync)?\({_NAME},",
    )
)
_READS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bopen\({_NAME}(?:\)|,\s{{0,9}}(?:encoding|[\"']rb?[\"']))",
        rf"\bPath\({_NAME}\)\.read_",
        r"\b(?P<by>[A-Za-z_]\w{0,60})\.read_",
        rf"\breadFile(?:Sync)?\({_NAME}",
    )
)
_COMPUTED = re.compile(r"[{}$]")
"""In a name: it is put together when the script runs."""


def touched_by_scripts(commands: Sequence[Command]) -> Iterator[tuple[Command, Touch]]:
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
    option = INTERPRETERS.get(program_of(words[0])) if words else None
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
        action: Action = "modified" if known else "created"
        if path and not _COMPUTED.search(path):
            yield Touch(path=path, action=action)


def _path(found: re.Match[str], names: Mapping[str, str]) -> str:
    """The name a match holds, or the one its variable was set to."""
    groups = found.groupdict()
    return groups.get("path") or names.get(groups["by"] or "", "")
