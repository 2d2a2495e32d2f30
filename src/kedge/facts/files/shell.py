"""What a shell command did to a file, in a few words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kedge.facts.files.edits import Piece
from kedge.outcomes import Outcome, Touch
from kedge.outcomes.calls import shell_line
from kedge.outcomes.shell.command import Command
from kedge.outcomes.shell.parsing import commands_in
from kedge.outcomes.touched.scripts import INTERPRETERS
from kedge.outcomes.touched.shell import COMPILERS, FORMATTERS, touched_by_shell
from kedge.sentences import cut, one_line

SCRIPT_MOST = 70
"""Characters of a substitution or a command that are shown."""
BY_SCRIPT = "by a script"
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i.*|--in-place.*")
_PRINTS = {"echo", "printf"}
_ENDS = re.compile(r"\\n")


class Done(NamedTuple):
    pieces: tuple[Piece, ...] = ()
    """The text that was written, where the line holds it."""
    told: str = ""
    """Said of the command itself, where it does not."""
    built: bool = False
    """A compiler made it: no part of the work."""


def done_by_shell(outcome: Outcome, touch: Touch) -> Done:
    """What the command that touched a file did, as far as its line says."""
    output = outcome.result.output if outcome.result else ""
    commands = commands_in(shell_line(outcome.call))
    for command in commands:
        if touch in tuple(touched_by_shell((command,), output)):
            return _done(command, touch)
    return Done(told=BY_SCRIPT) if touch.action in ("created", "modified") else Done()


def _done(command: Command, touch: Touch) -> Done:
    if touch.action in ("deleted", "renamed"):
        return Done()
    program, words = command.program, command.plain
    writes = [redirect for redirect in command.redirects if ">" in redirect.operator]
    if writes and any(touch.path.endswith(redirect.target.lstrip("./")) for redirect in writes):
        return _written(command, whole=">>" not in writes[0].operator)
    if program == "tee" and command.heredoc:
        return Done((Piece("", command.heredoc, whole=touch.action == "created"),))
    if program in COMPILERS:
        return Done(told="built", built=True)
    if program in FORMATTERS:
        return Done(told=f"formatted by {program}")
    if program in INTERPRETERS:
        return Done(told=BY_SCRIPT)
    return Done(told=_TOLD[program](words) if program in _TOLD else "")


def _written(command: Command, *, whole: bool) -> Done:
    """A file written by a redirection."""
    text = command.heredoc
    if command.program in _PRINTS:
        text = _ENDS.sub("\n", " ".join(w for w in command.plain[1:] if not w.startswith("-")))
    if text and "$(" not in text:
        return Done((Piece("", text, whole=whole, blind=not whole),))
    words = " ".join(command.plain)
    return Done(told=f"output of `{cut(one_line(words), SCRIPT_MOST)}`" if words else "")


def _substituted(words: Sequence[str]) -> str:
    """`sed -i` and `perl -i`: the script."""
    rest = [word for word in words[1:] if word and not _IN_PLACE.fullmatch(word)]
    scripts = [word for word in rest if not word.startswith("-")]
    return f"`{cut(one_line(scripts[0]), SCRIPT_MOST)}`" if scripts else ""


def _restored(words: Sequence[str]) -> str:
    for side in ("--ours", "--theirs"):
        if side in words:
            return f"taken from git ({side})"
    return "restored from git"


def _copied(words: Sequence[str]) -> str:
    given = [word for word in words[1:] if not word.startswith("-")]
    return f"copy of {cut(given[0], SCRIPT_MOST)}" if len(given) == 2 else "copied"


def _downloaded(words: Sequence[str]) -> str:
    address = next((word for word in words if "://" in word), "")
    return f"downloaded from {cut(address, SCRIPT_MOST)}" if address else "downloaded"


_TOLD = {
    "sed": _substituted,
    "gsed": _substituted,
    "perl": _substituted,
    "git": _restored,
    "cp": _copied,
    "curl": _downloaded,
    "wget": _downloaded,
}
