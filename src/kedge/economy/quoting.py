"""Text of others under a heading of ours: it cannot pass for another one, nor hide it."""

from __future__ import annotations

import re

from kedge.bank.fences import Fences
from kedge.foreign import foreign, unmarked, without_tags
from kedge.sentences import visible

LEAST_FENCE = 3
"""Characters of a fence in Markdown."""

_LIKE_OURS = re.compile(
    r"#(?:\s|\Z)|=+\s*\Z"  # a heading of the first level, by its mark or the line below it
    r"|<(?:[!?]|/?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|\Z))"  # HTML, which hides what follows
)
"""How a line begins that could pass for our heading, or hide it."""
_TICKS = re.compile(r"`{3,}")


def block(name: str, text: str, level: str, *, code: bool = False) -> str:
    """A text under its heading, blank line behind it. It begins with a heading's mark on a line of
    its own, where no vocabulary joins what stands on both sides: blocks have as many tokens
    together as they have one by one."""
    shortened = "" if level == "full" else f" (in {level} tokens)"
    plain = without_tags(visible(text)).strip("\n")
    body = _fenced(plain) if code else _prose(plain)
    return f"# {foreign(name)}{shortened}\n\n{body}\n\n"


def _prose(text: str) -> str:
    """With a mark before each line that could pass for ours, code apart; what is open is closed."""
    fences, lines = Fences(), []
    for line in unmarked(text).split("\n"):
        after = fences.copy()
        found = after.take(line)
        if found.kind == "text" and _LIKE_OURS.match(found.text):
            place = len(line) - len(found.text)
            line = f"{line[:place]}\\{line[place:]}"
            fences.take(line)
        else:
            fences = after
        lines.append(line)
    return "\n".join([*lines, fences.closing] if fences.closing else lines)


def _fenced(text: str) -> str:
    """Code in a fence that is longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=LEAST_FENCE - 1)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
