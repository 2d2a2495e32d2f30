"""Plans and check lists as they are written in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kedge.facts.session.tool_names import EXIT_PLAN, is_served, plain_name
from kedge.outcomes import Outcome
from kedge.sentences import one_line

LOOKED_AT = 60_000
"""Characters of a plan that are read; a plan of a thousand lines is shorter."""
STEPS = 60
"""Steps of a plan, or items of a check list, that are taken: a longer one is a catalogue."""
BOLD_LEVEL = 7
"""Below all headings: a line in bold that stands for one."""
LEAST = 2
"""Numbers that make a row; a single one is an aside."""

STEP_SECTIONS = (
    "step|plan|change|task|implement|approach|to-?do|fix|solution|work|order|sequence|action|phase"
)
"""A numbered list below such a heading is what will be done."""
OTHER_SECTIONS = (
    "context|background|problem|goal|objective|overview|summary|motivation|current|existing"
    r"|analysis|finding|root cause|cause|why|risk|alternative|consideration|notes?\b|question"
    "|decision|trade-?off|option|rationale|verif|validat|success criteria|acceptance|reference"
    "|out of scope|limitation|edge case|example|scenario|requirement|constraint|research"
)
"""A numbered list below such a heading is about the work, not a step of it."""
DOCUMENTS = frozenset({"", "md", "mdx", "markdown", "txt", "org", "rst"})
APPROVED = "## Approved Plan"
"""Above the plan in the result of the tool that had it approved: as the user left it."""

_FENCE = re.compile(r"^\s{0,12}(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.{1,400}?)\s*#{0,6}\s*$")
_BOLD = re.compile(r"^\*\*(.{1,300}?)\*\*:?\s*$")
_NAMED = re.compile(
    r"(?:step|task|phase|stage|milestone|part|batch|commit)\s+\d{1,3}[a-z]?\b", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:\d{1,2}|[A-H])(?:[.):]|\s+[—–-])\s+(?=\S)")
_LISTED = re.compile(r"^ ?\d{1,2}[.)]\s+(\S.{0,2000})$")
_CHECK = re.compile(r"^[ \t]{0,8}(?:[-*+]|\d{1,2}[.)])[ \t]+\[([ xX])\][ \t]+(\S.{0,2000})$")
_STEP_SECTION = re.compile(rf"\b(?:{STEP_SECTIONS})", re.IGNORECASE)
_OTHER_SECTION = re.compile(rf"\b(?:{OTHER_SECTIONS})", re.IGNORECASE)
_PLAN_FILE = re.compile(
    r"(?:^|[^a-z])(?:to-?dos?|plans?|planning|tasks?|check-?list|roadmap)(?:[^a-z]|$)"
)
_TITLE = re.compile(r"^(?:plan|implementation plan|fix)\s*[:—–-]\s*", re.IGNORECASE)


class Checkbox(NamedTuple):
    text: str
    done: bool


class _Heading(NamedTuple):
    level: int
    text: str
    about: bool
    """Whether it, or one above it, heads what is no step."""


def is_plan_file(path: str) -> bool:
    """Whether a file is by its name a plan or a list of things to do, or lies among plans."""
    *folders, name = path.replace("\\", "/").casefold().split("/")
    stem, _, suffix = name.rpartition(".") if "." in name[1:] else (name, "", "")
    if suffix not in DOCUMENTS:
        return False
    return _PLAN_FILE.search(stem) is not None or any(
        folder in ("plans", "todos", "todo") for folder in folders[-2:]
    )


def approved_plan(outcome: Outcome) -> str | None:
    """The plan a call had approved, empty where it does not repeat it; None where none was."""
    served = is_served(outcome.call)
    if served or plain_name(outcome.call) not in EXIT_PLAN or not outcome.success:
        return None
    output = "" if outcome.result is None else outcome.result.output[:LOOKED_AT]
    _, found, behind = output.partition(APPROVED)
    if found:
        return behind.partition("\n")[2]
    given = outcome.call.parameters.get("plan")
    return given if isinstance(given, str) else ""


def title_of(plan: str) -> str:
    """Its first heading, without the word plan."""
    for line in plan[:LOOKED_AT].splitlines():
        if found := _HEADING.match(line):
            return _TITLE.sub("", one_line(found[2]))
    return ""


def steps_in(plan: str) -> tuple[str, ...]:
    """The steps a plan numbers: headings such as `Task 3: …`, else numbered headings, else the
    numbered list of the section that says what will be done. Of nested ones the outermost."""
    named: list[tuple[int, str]] = []
    numbered: list[tuple[int, str]] = []
    rows: list[list[str]] = [[]]
    path: list[_Heading] = []
    for line in _prose(plan):
        if heading := _heading(line):
            path = _below(path, *heading)
            rows.append([])
            level, text, about = path[-1]
            if not about and _NAMED.match(text):
                named.append((level, text))
            elif not about and (number := _NUMBERED.match(text)):
                numbered.append((level, text[number.end() :]))
        elif (item := _LISTED.match(line)) and _holds_steps(path):
            rows[-1].append(item[1].rstrip(" :"))
    found = _outermost(named, 1) or _outermost(numbered, LEAST)
    found = found or next((row for row in rows if len(row) >= LEAST), [])
    return tuple(text.strip() for text in found[:STEPS])


def checkboxes_in(text: str) -> tuple[Checkbox, ...]:
    """The items of Markdown check lists."""
    found = (_CHECK.match(line) for line in _prose(text))
    boxes = (Checkbox(one[2].strip(), one[1] != " ") for one in found if one)
    return tuple(box for box, _ in zip(boxes, range(STEPS), strict=False))


def _prose(text: str) -> Iterator[str]:
    """Lines outside of fenced code."""
    fenced = False
    for line in text[:LOOKED_AT].splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def _heading(line: str) -> tuple[int, str] | None:
    if found := _HEADING.match(line):
        return len(found[1]), found[2].strip("*: ")
    bold = _BOLD.match(line)
    if bold and (_NAMED.match(bold[1]) or _NUMBERED.match(bold[1])):
        return BOLD_LEVEL, bold[1].strip("*: ")
    return None


def _below(path: list[_Heading], level: int, text: str) -> list[_Heading]:
    """The headings a new one stands under, with itself. The title of all is about the work."""
    above = [heading for heading in path if heading.level < level]
    title = not path and level == 1
    named = _NAMED.match(text) or _NUMBERED.match(text)
    about = not title and not named and _OTHER_SECTION.search(text) is not None
    return [*above, _Heading(level, text, about or any(one.about for one in above))]


def _holds_steps(path: list[_Heading]) -> bool:
    """Whether a numbered list here is one of steps: right below the title, or where a heading
    says so."""
    if not path or (len(path) == 1 and path[0].level == 1):
        return True
    return not path[-1].about and _STEP_SECTION.search(path[-1].text) is not None


def _outermost(headings: list[tuple[int, str]], least: int) -> list[str]:
    """Those of the highest level that has so many."""
    levels = [level for level, _ in headings]
    fit = [level for level in sorted(set(levels)) if levels.count(level) >= least]
    return [text for level, text in headings if fit and level == fit[0]]
