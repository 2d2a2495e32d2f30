"""One form for all variants of a command: what cuts its output or tells its status is left off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kedgeline.facts.extractor import Setting
from kedgeline.model import ActionTaken, Turn
from kedgeline.outcomes import Outcome
from kedgeline.outcomes.purpose import PROGRAMS, purpose_of
from kedgeline.outcomes.shell.parsing import commands_in
from kedgeline.outcomes.shell.prefixes import PREFIXES, program_of
from kedgeline.text.prose import cut, one_line

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


# Commands that a plan names for its verification: none of them has run yet.

LOOKED_AT = 40_000
"""Characters of a plan that are looked at: some twenty pages."""
MOST = 12
"""Commands taken from one plan."""
PLANS_LONGEST = 300
"""Characters of a command: a longer one is a script that the plan explains."""

KNOWN = frozenset(
    PROGRAMS
    | set(PREFIXES)
    | {
        "python",
        "node",
        "curl",
        "docker",
        "kubectl",
        "psql",
        "sqlite3",
        "deno",
        "ruby",
    }
) - {"git", "gh", "glab", "hub", "build", "standard", "time", "command", "exec", "test"}
"""Programs a planned line may begin with: neither words of plain English, nor what only commits."""

_HEADING = re.compile(r"^(?:#{1,6}\s+|\*\*)(?P<title>[^\n]{1,200})$")
_LABEL = re.compile(r"^(?P<title>[A-Z][^\n`]{1,80}):$")
_CHECKING = re.compile(
    r"\b(?:verif\w*|validat\w*|test(?:s|ing)?|check(?:s|ing|list)?|lint\w*|quality|commands?)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_SHELLS = frozenset({"", "bash", "sh", "shell", "console", "zsh", "shell-session", "terminal"})
_CODE = re.compile(r"`([^`\n]{4,300})`")
_PROMPT = re.compile(r"^(?:\$|>|%)\s+")
_REMARK = re.compile(r"\s+#\s.*$")


def planned_in(text: str) -> list[str]:
    """The command lines under a plan's headings about checking, each once."""
    found: dict[str, None] = {}
    for line in _lines(text[:LOOKED_AT]) if "`" in text or "~~~" in text else ():
        found.setdefault(line)
        if len(found) == MOST:
            break
    return list(found)


def _lines(text: str) -> Iterator[str]:
    """Lines of shell blocks, and code inside a sentence where its purpose is plain."""
    checking, fence, continued = False, None, ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened is not None:
            fence = None if fence is not None else opened["language"].casefold()
            continued = ""
        elif fence is not None:
            whole = continued + line.strip()
            continued = whole[:-1] if whole.endswith("\\") else ""
            if checking and not continued and fence in _SHELLS and (known := _known(whole)):
                yield known
        elif title := _HEADING.match(line.strip()) or _LABEL.match(line.strip()):
            checking = _CHECKING.search(title["title"]) is not None
        elif checking:
            yield from (code for code in _CODE.findall(line) if _says_purpose(code))


def _known(line: str) -> str:
    """A line as it can be run; empty where its first word is no known program."""
    line = _REMARK.sub("", _PROMPT.sub("", line)).strip()
    if not line or len(line) > PLANS_LONGEST or line.startswith("#") or "<" in line or "…" in line:
        return ""
    commands = commands_in(line)
    first = next((c for c in commands if c.words and c.words[0] != "cd"), None)
    if first is None:
        return ""
    return line if program_of(first.words[0]) in KNOWN else ""


def _says_purpose(code: str) -> bool:
    """Whether code inside a sentence is a command of two words or more that checks something."""
    if not _known(code):
        return False
    purposes = {purpose_of(one.words) for one in commands_in(code) if len(one.words) > 1}
    return bool(purposes & {"test", "build", "lint"})


# Calls that changed something outside of files and shells: bookings, messages, tickets.

CHANGING = (
    "add|apply|approve|assign|attach|book|buy|cancel|change|charge|close|comment|complete|confirm",
    "create|credit|delete|deploy|disable|edit|enable|exchange|insert|invite|issue|merge|modify|move",
    "notify|open|order|pay|place|post|publish|purchase|put|refund|register|reject|remove|rename",
    "reply|reschedule|reserve|resolve|return|revoke|save|schedule|send|set|submit|subscribe",
    "terminate|transfer|trigger|unassign|update|upload|upsert|write",
)
"""Verbs with which the name of a tool begins that changes something."""
ABOUT_SHOWN = 200
"""Characters of the arguments: names and ids, not whole documents."""
RESULT_SHOWN = 160
"""Characters of what came back: an id, a status, a total."""

_CHANGING = re.compile(rf"(?:{'|'.join(CHANGING)})(?:[_\W]|[A-Z]|$)")


class ActionExtractor:
    """Gives what such a call did, where it succeeded."""

    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the calls."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[ActionTaken]:
        for outcome in outcomes:
            call, result = outcome.call, outcome.result
            name = re.split(r"__|\.|/", call.tool)[-1]
            if call.verb != "other" or result is None or not result.success:
                continue
            if _CHANGING.match(name[:1].lower() + name[1:]):
                yield ActionTaken(
                    turn=turn.index,
                    tool=name,
                    about=cut(_told(call.parameters), ABOUT_SHOWN),
                    result=cut(one_line(result.output[: 4 * RESULT_SHOWN]), RESULT_SHOWN),
                )


def _told(parameters: Mapping[str, Any]) -> str:
    """Arguments as `name: value`, lists and objects in short."""
    parts = []
    for name, value in parameters.items():
        plain = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        parts.append(f"{name}: {cut(one_line(plain[: 4 * ABOUT_SHOWN]), ABOUT_SHOWN // 2)}")
    return "; ".join(parts)
