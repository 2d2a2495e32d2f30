"""One form for all variants of a command: what cuts its output or tells its status is left off."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 2_000
"""Characters of a line that is looked into; a longer one is a script, and its own form."""

CUTTERS = frozenset({"head", "tail", "cat", "tee", "less", "more"})
"""Behind a pipe they show a part, whatever it is a part of."""
FILTERS = CUTTERS | {
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sort",
    "uniq",
    "wc",
    "sed",
    "awk",
    "cut",
    "tr",
}
"""Behind a pipe they choose among the lines of a program that did its work anyway."""
SHOWERS = frozenset(
    {"cat", "ls", "find", "fd", "tree", "echo", "printf", "grep", "rg", "strings", "curl", "wget"}
    | {"git", "gh", "glab", "ps", "env", "sed", "awk", "head", "tail", "docker", "kubectl", "jq"}
)
"""Programs run for what they print: there a filter is the point of the line."""
TELLERS = frozenset({"echo", "printf", "true", ":"})
"""What tells how the command before it went, or hides it."""

_SIGN = re.compile(
    r"""'[^']*' | "(?:[^"\\]|\\.)*" | \\. | \$?\( | \) | `[^`]*`
    | \d?>&\d? | &>>? | (?P<joint>&&|\|\||\|&|[;|&\n])""",
    re.VERBOSE | re.DOTALL,
)
"""All that may hold or hide what joins two commands, and what joins them."""
_QUIET = re.compile(r"\s*(?:\d?>&\d|(?:\d|&)?>{1,2}\s*/dev/null)\s*$")
_TIMED = re.compile(r"^(?:time\s+|g?timeout\s+(?:-\S+\s+)*\d+(?:\.\d+)?[smh]?\s+)")
_STATUS = re.compile(r"\$\?|PIPESTATUS")
_COMMENT = re.compile(r"(?:#[^\n]*|\\)")


class Piece(NamedTuple):
    joint: str
    """What joins it to the one before; empty for the first."""
    text: str

    @property
    def program(self) -> str:
        words = self.text.split(maxsplit=1)
        return words[0].rpartition("/")[2] if words else ""


def canonical(command: str, *, root: str = "", folder: str = "") -> str:
    """The form that variants of a command share: without `2>&1`, `| tail -5`, `; echo $?`,
    `timeout 60` and a leading `cd` to the root; paths below the root from there; with the folder it
    ran in, where that is not the root."""
    line = command.strip()
    if len(line) <= LONGEST and "<<" not in line:
        pieces = [_bare(piece) for piece in pieces_of(_from_root(line, root))]
        kept = _without_tellers(_without_filters([piece for piece in pieces if piece.text]))
        line = _joined(_without_arrival(kept, root)) or line
    return f"cd {folder} && {line}" if folder else line


def below(root: str, path: str) -> str:
    """A path from the root, where it lies below it; empty for the root itself."""
    path, root = path.replace("\\", "/").rstrip("/"), root.replace("\\", "/").rstrip("/")
    if path in (root, "."):
        return ""
    if not root:
        return path
    return path.removeprefix(root + "/")


def pieces_of(line: str) -> list[Piece]:
    """The commands of a line, with what joins them; substitutions and groups stay whole."""
    found: list[Piece] = []
    joint, start, depth = "", 0, 0
    for sign in _SIGN.finditer(line):
        if sign[0] in ("(", "$("):
            depth += 1
        elif sign[0] == ")":
            depth = max(0, depth - 1)
        elif sign["joint"] and not depth:
            found.append(Piece(joint, line[start : sign.start()].strip()))
            joint, start = sign[0], sign.end()
    found.append(Piece(joint, line[start:].strip()))
    return found


def _bare(piece: Piece) -> Piece:
    text = "" if _COMMENT.fullmatch(piece.text) else _TIMED.sub("", piece.text)
    while (quiet := _QUIET.search(text)) is not None:
        text = text[: quiet.start()]
    return Piece("|" if piece.joint == "|&" else piece.joint, text)


def _without_filters(pieces: list[Piece]) -> list[Piece]:
    kept: list[Piece] = []
    source = ""
    for piece in pieces:
        if piece.joint != "|":
            source = piece.program
        dropped = CUTTERS if source in SHOWERS else FILTERS
        if not (kept and piece.joint == "|" and piece.program in dropped):
            kept.append(piece)
    return kept


def _without_tellers(pieces: list[Piece]) -> list[Piece]:
    while len(pieces) > 1 and pieces[-1].program in TELLERS and pieces[-1].joint != "|":
        told = pieces[-1].joint in ("&&", "||") or _STATUS.search(pieces[-1].text)
        if not told and pieces[-1].program in ("echo", "printf"):
            break
        pieces = pieces[:-1]
    return pieces


def _without_arrival(pieces: list[Piece], root: str) -> list[Piece]:
    """Without a leading `cd` to where the session is anyway."""
    if len(pieces) < 2 or pieces[0].program != "cd" or pieces[1].joint not in ("&&", ";", "\n"):
        return pieces
    target = pieces[0].text.partition(" ")[2].strip().strip("'\"")
    return pieces[1:] if target in (".", "./") or (root and not below(root, target)) else pieces


def _from_root(line: str, root: str) -> str:
    """Paths below the root as they are written from there."""
    root = root.rstrip("/")
    if len(root) < 2 or root not in line:
        return line
    whole = re.escape(root)
    line = re.sub(rf"\bgit -C {whole}/?(?=\s)", "git", line)
    line = re.sub(rf"(?<![\w./-]){whole}/(?=[\w.*{{])", "", line)
    return re.sub(rf"(?<![\w./-]){whole}/?(?![\w./-])", ".", line)


def _joined(pieces: list[Piece]) -> str:
    words: list[str] = []
    for place, piece in enumerate(pieces):
        if place:
            words.append("; " if piece.joint in (";", "\n") else f" {piece.joint} ")
        words.append(piece.text)
    return "".join(words)
