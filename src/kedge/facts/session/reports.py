"""A long report made short: what it says first, its headings and the items of its lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.sentences import cut, one_line

REPORT = 400
"""Characters of a report."""
LOOKED_AT = 8_000
"""Characters in which they are found: a page or two."""

USAGE = "<usage>"
"""Behind a report: what it cost."""

FILLERS = (
    # English
    r"(?:perfect|great|excellent|good|done|ok|okay|now)\b[!.,]",
    r"now (?:i|let|that)|let me|i'll|i will",
    r"(?:i|i've|i have) (?:now )?(?:have |gathered |got )?(?:all|enough|sufficient"
    r"|a (?:complete|comprehensive|clear|full|good))\b",
    r"(?:i|i've|i have) (?:thoroughly |successfully |now )?(?:completed|analy[sz]ed|explored)\b",
    r"based on (?:my|the|this)|here(?:'s| is| are)|this is (?:a|the) (?:complete|comprehensive)",
    r"below is|the following (?:is|are)",
)
"""How sentences begin that say nothing of the matter."""
_GENERIC = """
    summary overview report findings analysis results conclusion introduction executive details
    final complete full comprehensive key main my the review investigation exploration"""
GENERIC = frozenset(_GENERIC.split())
"""Words of headings that only say that a report follows."""

_FENCE = re.compile(r"^\s{0,12}(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.{1,300}?)\s*$|^\*\*(.{2,120}?)\*\*:?\s*$")
_ITEM = re.compile(r"^\s{0,12}(?:[-*•+]|\d{1,2}[.)])\s+(.{1,1000})$")
_NO_PROSE = re.compile(r"^\s{0,12}(?:\||-{3,}|={3,}|\*{3,}|<|agentId:|$)")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+")
_FILLER = re.compile(rf"(?:{'|'.join(FILLERS)})", re.IGNORECASE)
_MARKS = re.compile(r"\*{1,3}|^(?:#{1,6}|>)\s+")


def report_of(text: str) -> str:
    """The first sentences, headings and items that say something, on one line."""
    parts: list[str] = []
    length = 0
    for part in _parts(text[:LOOKED_AT].partition(USAGE)[0]):
        parts.append(part)
        length += len(part) + 1
        if length > REPORT:
            break
    while parts and parts[-1].endswith(":") and length <= REPORT:
        parts.pop()
    return cut(" ".join(parts), REPORT)


def _parts(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or _NO_PROSE.match(line):
            continue
        elif heading := _HEADING.match(line):
            if said := _heading(heading[1] or heading[2]):
                yield f"{said}:"
        elif item := _ITEM.match(line):
            yield f"{_bare(item[1]).rstrip(' .;:')};"
        else:
            yield from _telling(_bare(line))


def _telling(line: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(line):
        if sentence and not _FILLER.match(sentence):
            yield sentence


def _heading(text: str) -> str:
    """A heading, where it says more than that a report follows."""
    words = re.findall(r"[^\W\d_]{2,40}", text.casefold())
    return "" if set(words) <= GENERIC else _bare(text).rstrip(" :")


def _bare(text: str) -> str:
    return one_line(_MARKS.sub("", text))
