"""What kind of answer an assistant gave: a report of substance, a question back, a failure."""

from __future__ import annotations

import re
from typing import NamedTuple

from kedge.anchors.evidence import shown
from kedge.spoken import anywhere, at_beginning

LOOKED_AT = 8_000
"""Characters of an answer looked at, from its end: exports of whole runs put all their steps into
one answer, and the report is last."""
SUBSTANCE = 400
"""Characters of prose that make an answer one of substance: about five sentences."""
STRUCTURED_SUBSTANCE = 200
"""The same where it is laid out in headings, lists or a table: these are shorter."""
STRUCTURE = 3
"""Headings, items or rows from which an answer counts as laid out."""
SECTION = 120
"""Characters below which a last section is a closing remark; the report is the section before."""
ASKING = 300
"""Characters from the beginning in which an answer that asks for something says so."""
FAILING = 160
"""The same for one that did not get there: two sentences."""
TELLING = 25
"""Characters from which a sentence says something: "Great!" does not."""

FAILURES = (
    # English
    r"i(?:'m| am) (?:so |very |really |terribly )?sorry|sorry,|(?:my )?apolog(?:ies|i[sz]e)",
    r"unfortunately|regrettably|api error",
    r"(?:i|we) (?:could not|couldn't|can't|cannot|was unable|am unable|wasn't able|didn't find)",
    r"(?:i|we) (?:found|see|have) (?:no|nothing)|(?:there (?:are|were) )?no (?:search )?results?",
    r"unable to",
)
"""At the beginning of one of the first sentences: it apologises, or did not get there."""
REQUESTS = (
    # English
    r"(?:could|can|would) you (?:please )?(?:provide|share|tell|give|confirm|specify|clarify|let)",
    r"please (?:provide|share|specify|clarify|tell me)",
    r"i(?:'ll| will)? need (?:your|the following|some|more|to know)",
    r"i have (?:a few|some|several|\d+) (?:clarifying )?questions",
)
"""In the first sentences: it asks the user for something."""
FILLERS = (
    # English
    r"now (?:i|let|that)|let me|i'll|i will|i(?:'ve| have) (?:now|reviewed|read|all|the|enough)",
    r"(?:good|great|ok|okay|perfect|excellent|right|yes|sure|certainly)\b[ ,!.—-]",
    r"this is (?:a |an )?(?:good|great|excellent)",
    r"you(?:'re| are) (?:absolutely )?(?:right|correct)",
)
"""How sentences begin that say nothing of the matter."""

_FENCED = re.compile(r"^```.*?^[ \t]*```[^\n]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_DETAILS = re.compile(r"<details>.*?</details>", re.DOTALL)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)
_LAID_OUT = re.compile(
    r"^[ \t]{0,8}(?:[-*•+] \S|\d{1,2}[.)] |#{1,5} |\|.{3}|\*\*[^*\n]{2,100}\*\*:?[ \t]*$)",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^(?:#{1,5} +(?P<marked>[^\n]{2,200})|\*\*(?P<bold>[^*\n]{2,100})\*\*:?[ \t]*$)",
    re.MULTILINE,
)
_MARKS = re.compile(r"[*`#]{1,80}")
_LINE_END = re.compile(r"(?<=[.!?:])\s|\n")
_ITEM = re.compile(r"[-*•+] |\d{1,2}[.)] |\|")
_FILLER = at_beginning(FILLERS, ending="")
_FAILURE = at_beginning(FAILURES)
_REQUEST = anywhere(REQUESTS)


class Answer(NamedTuple):
    """What an answer says, or the closing part of it."""

    prose: str
    """Without code and folded details."""
    laid_out: int
    """Headings, items of lists, rows of tables."""

    @property
    def substantial(self) -> bool:
        size = len(self.prose)
        return size >= SUBSTANCE or (self.laid_out >= STRUCTURE and size >= STRUCTURED_SUBSTANCE)

    @property
    def reports(self) -> bool:
        """Says something of substance, and is neither a question back nor a failure.

        A report may end with an offer or ask which of its findings to follow.
        """
        return self.substantial and not fails(self.prose) and not _asks(self.prose)


def whole(answer: str) -> Answer:
    """All an answer says."""
    return _weighed("\n\n".join(_sections(answer)))


def closing(answer: str) -> Answer:
    """What an answer comes to that holds a whole run: its last section that is more than a remark
    or a question."""
    sections = _sections(answer)
    long = [part for part in reversed(sections) if len(part) >= SECTION]
    return _weighed(next((part for part in long if not _asks(part)), "\n\n".join(sections)))


def _sections(answer: str) -> list[str]:
    """The parts between rules."""
    text = answer[-LOOKED_AT:]
    if len(text) < len(answer) and len(_FENCE.findall(text)) % 2:
        text = text[text.index("```") + 3 :]
    parts = (part.strip() for part in _RULE.split(_without_code(text)))
    return [part for part in parts if part]


def _without_code(text: str) -> str:
    return _DETAILS.sub("", _FENCED.sub("", text)).strip()


def _weighed(prose: str) -> Answer:
    return Answer(prose, len(_LAID_OUT.findall(prose)))


def fails(answer: str) -> bool:
    """Whether one of its first sentences apologises, or begins with what could not be done."""
    head = answer.lstrip()[:FAILING].replace("’", "'")
    return any(_FAILURE.match(sentence) for sentence in _LINE_END.split(head))


def headline(answer: str) -> str:
    """What it is about: the first sentence before its first heading that says something, else the
    heading, else its first line."""
    head = _without_code(answer[:LOOKED_AT])
    found = _HEADING.search(head)
    before = head[: found.start()] if found else head
    told = next((line for line in map(_bare, _LINE_END.split(before)) if _tells(line)), "")
    return shown(told or heading(head) or _bare(head))


def heading(text: str) -> str:
    """Its first heading."""
    found = _HEADING.search(_without_code(text[:LOOKED_AT]))
    return shown(_bare(found["marked"] or found["bold"])) if found else ""


def _bare(line: str) -> str:
    return _MARKS.sub("", line).strip(" :")


def _tells(line: str) -> bool:
    return len(line) >= TELLING and not _ITEM.match(line) and not _FILLER.match(line)


def _asks(prose: str) -> bool:
    """Whether it is a question: its first paragraph asks, or half of its lines do."""
    lines = [line.strip() for line in prose.split("\n") if line.strip()]
    first = prose.strip().partition("\n\n")[0][:ASKING].replace("’", "'")
    questions = sum(line.rstrip("*_ ").endswith("?") for line in lines)
    return (
        first.rstrip("*_ ").endswith("?")
        or _REQUEST.search(first) is not None
        or 2 * questions >= len(lines)
    )
