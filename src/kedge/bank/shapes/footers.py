"""What people put at the end of a file or a section, behind the last entry: it is no part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.bank.shapes.markdown import Hidden, walk

RULE = re.compile(
    r"^(?= {0,3}[-*_]) {0,3}(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)(?=\r?$)",
    re.MULTILINE,
)
"""A line across the page."""

_RULE_OR_HEADING = re.compile(rf"(?P<rule>{RULE.pattern})|^ {{0,3}}#{{1,6}}[ \t]", re.MULTILINE)


def before_footer(text: str) -> int:
    """Where the footer of an entry's text begins: a rule and what follows it, unless that has
    headings of its own, or comments that stand by themselves. A rule with nothing behind it is what
    people put between entries, and the entry's own."""
    hidden = [found for found in walk(text) if isinstance(found, Hidden)]
    end = len(text)
    last = max(_rules_and_headings(text, hidden), key=re.Match.start, default=None)
    if last and last["rule"] and text[last.end() :].strip() and _stands_alone(text, last.start()):
        end = last.start()
    return before_comments(text, [one for one in hidden if one.end <= end], end)


def before_comments(text: str, hidden: list[Hidden], end: int) -> int:
    """Where the comments begin that a text ends with."""
    for found in reversed(hidden):
        comment = text.startswith("<!--", found.start + _indent(text, found.start))
        if not comment or text[found.end : end].strip() or not _stands_alone(text, found.start):
            break
        end = found.start
    return end


def _rules_and_headings(text: str, hidden: list[Hidden]) -> Iterator[re.Match[str]]:
    place = 0
    for found in hidden:
        yield from _RULE_OR_HEADING.finditer(text, place, found.start)
        place = found.end
    yield from _RULE_OR_HEADING.finditer(text, place)


def _stands_alone(text: str, start: int) -> bool:
    """Whether a blank line is above it: without one it belongs to what is there."""
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return start > 0 and not text[above:start].strip()


def _indent(text: str, start: int) -> int:
    return len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" "))
