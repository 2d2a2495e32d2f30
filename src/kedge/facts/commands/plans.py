"""Commands that a plan names for its verification: none of them has run yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.outcomes.purpose.purposes import purpose_of
from kedge.outcomes.purpose.rules import RULES
from kedge.outcomes.purpose.targets import WRAPPERS
from kedge.outcomes.shell.parsing import commands_in
from kedge.outcomes.shell.prefixes import PREFIXES, program_of

LOOKED_AT = 40_000
"""Characters of a plan that are looked at: some twenty pages."""
MOST = 12
"""Commands taken from one plan."""
LONGEST = 300
"""Characters of a command: a longer one is a script that the plan explains."""

KNOWN = frozenset(
    {
        program
        for rows in RULES.values()
        for row in rows
        for program in row.split()[0].split("|")
        if not program.endswith("*")
    }
    | set(WRAPPERS)
    | {prefix.words.split()[0] for prefix in PREFIXES}
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
    if not line or len(line) > LONGEST or line.startswith("#") or "<" in line or "…" in line:
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
