"""Plans and check lists as they are written in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from kedgeline.facts.said.taken_back import stems
from kedgeline.facts.session import EXIT_PLAN, KEY, key_of, plain_name
from kedgeline.model import TodoSet
from kedgeline.outcomes import Outcome
from kedgeline.text.prose import one_line, sentences

# Which todos a text completes: only those it says so of, in so many words.

LEAST_STEMS = 2
"""Words of substance by which an item is known in other words."""
RULE_LOOKED_AT = 8_000
"""Characters of a text that are read: a closing answer is shorter."""

_CLAUSE = re.compile(
    r"[.;!?\n|](?:\s|$)|,\s|\s[—–]\s|\s(?:and|but|while|although|though|however|so|then)\s|\n",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?")
"""What is asked is not said."""
_DONE = r"(?:done|completed?|finished)"
_EVIDENCE = ("done", "complete", "finished", "[x]")
"""One of these stands in whatever says that something is done."""
_LINK = r"(?:is|are|was|were|has been|have been|now|all|already|fully|successfully|finally)"
_MARK = r"[\s*_`\"'“”:()\[\]–—✓✔✅-]"
_BEHIND = re.compile(rf"^{_MARK}{{0,6}}(?:{_LINK}\s{{1,3}}){{0,3}}{_DONE}(?P<rest>\b.{{0,60}})$")
_REST = re.compile(rf"^{_MARK}{{0,6}}(?:now|today|already|too|as well)?{_MARK}{{0,6}}$")
"""What may stand behind it: "done today" is done, "complete rewrite" is not."""
_BEFORE = re.compile(
    rf"(?:^|[\s(*]){_DONE}(?:\s(?:with|on|the)){{0,2}}{_MARK}{{1,6}}$|^\s*[-*+]\s\[x\]\s{{1,3}}$"
)
_DID = re.compile(
    r"\W{0,6}(?:(?:i|we)(?:'ve| have)? |now |also |just |then ){0,3}(?:\w{2,20}ed|wrote|built|made"
    r"|put|set|ran|split|cut)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what was done."""
_NOT = re.compile(
    r"\b(?:not|never|no|nothing|none|without|yet|almost|nearly|mostly|partial(?:ly)?|half|until"
    r"|unless|once|if|when|before|after|should|must|need(?:s|ed)?|will|would|could|can|may|might"
    r"|to be|want|try(?:ing)?|waiting|pending|blocked|remain(?:s|ing)?|hardly|barely|isn|aren|wasn"
    r"|weren|hasn|haven|can't|won't|\d{1,2}\s?%)\b|n't\b|\d{1,2}\s?%",
    re.IGNORECASE,
)
"""Anywhere in the clause: then it is not said that it is done."""


def completed_by(
    todos: Iterable[TodoSet], text: str, *, literal: bool = False
) -> tuple[TodoSet, ...]:
    """Copies of todos, those in progress completed that a text says are done.

    The evidence is "done", "complete" or "finished" said of the item itself, in one clause and not
    negated. `literal` is the rule of seed 000 as it stands: an item whose words occur in the text
    counts as done; it is for comparison only.
    """
    return tuple(
        msgspec.structs.replace(todo, status="completed")
        if todo.status == "in_progress" and _completes(todo.text, text, literal=literal)
        else todo
        for todo in todos
    )


def says_done(item: str, text: str) -> bool:
    """Whether a text says of an item that it is done."""
    wanted = key_of(item)
    if not wanted or len(wanted) >= KEY:
        return False
    plain = _plain(text[:RULE_LOOKED_AT])
    return wanted in plain and any(_of(wanted, clause) for clause in _CLAUSE.split(plain))


def reports(item: str, text: str) -> bool:
    """Whether a sentence of a text says that something was done, with all words of an item."""
    wanted = {*stems(item)}
    if len(wanted) < LEAST_STEMS:
        return False
    return any(
        _DID.match(said) and not _NOT.search(said) and wanted <= {*stems(said)}
        for said in sentences(text[:RULE_LOOKED_AT])
    )


@lru_cache(maxsize=1)
def _plain(text: str) -> str:
    """Without questions and case; nothing where nothing is said to be done. Kept for the next item
    that is looked for in the same text."""
    plain = _QUESTION.sub("", text.replace("’", "'")).casefold()
    return plain if any(word in plain for word in _EVIDENCE) else ""


def _completes(item: str, text: str, *, literal: bool) -> bool:
    return item.lower() in text.lower() if literal else says_done(item, text)


def _of(wanted: str, clause: str) -> bool:
    """Whether a clause says it of what is wanted, and of nothing more."""
    line = " ".join(clause.split(" "))
    at = line.find(wanted)
    if at < 0 or _NOT.search(line):
        return False
    before, behind = line[:at], line[at + len(wanted) :]
    said = _BEHIND.match(behind)
    if said and _REST.match(said["rest"]):
        return not _longer(before)
    return _BEFORE.search(before) is not None and not behind.strip(" *_`\"').")


def _longer(before: str) -> bool:
    """Whether words before the item make another thing of it, as in "the test of …"."""
    words = before.strip(" *_`\"'(:-–—+[]x#0123456789.)").split()
    return len(words) > 1 or (len(words) == 1 and words[0] not in ("the", "our", "task", "item"))


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
    if plain_name(outcome.call) not in EXIT_PLAN or not outcome.success:
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
