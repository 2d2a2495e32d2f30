"""What a line of a summary says that a turn can be asked for.

Paths, names in code, quoted words, commands, numbers and the longer words of prose stand in the
turn they come from. What is derived is not asked for: the words for actions and states, counts,
labels, and what comes from the record of the session rather than from a turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from kedge.model.summary import SectionName
from kedge.summary.items import Item

ClaimKind = Literal["asked", "rule", "path", "code", "quoted", "command", "number", "word"]
"""`asked` and `rule` must be the user's own words, or a rules file's; the others may stand
anywhere in a turn."""
LEAST_WORD = 5
"""Letters of a word that tells where a sentence comes from."""

_MARKS = re.compile(r"\s?\[(t\d+(?:-\d+)?(?:, t\d+(?:-\d+)?)*)\];?")
_MARK = re.compile(r"t(\d+)(?:-(\d+))?")
_LABELLED = re.compile(r'(?:Now|Asked|Asked then|Before|Said since): "(.*)"', re.DOTALL)
_RULE = re.compile(r'"(.*)"(?: \(([^()]{1,300})\))?', re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_QUOTED = re.compile(r"“([^”]+)”")
_PATH = re.compile(
    r"(?<![\w:/.@-])(?:[\w.@+~-]*/)+[\w.@+-]*\w(?::\d+)?|\b[\w-]+(?:\.\w+)*\.\w{1,5}\b"
)
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d(?![\w-])|(?<![\w.,-])\d{2,}(?![\w-])")
_WORD = re.compile(rf"[^\W\d_]{{{LEAST_WORD},}}")
_TORN = re.compile(r"\S*…")
_MORE = re.compile(r",? and \d+ more")
_CHECK = re.compile(r"(?:test|build|lint|deploy|migration): `(.+?)`: (.*)", re.DOTALL)
_COUNTS = re.compile(r"(?:FAILS, )?\d+ [\w ]{1,30} (?:passed|failed)(?:, \d+ (?:passed|failed))?")
_OUTCOME = re.compile(r"^(?:passes|FAILS|outcome unknown)(?:: |$)|^\d+ issues?\b")
_EDITED = "Edited since the last test run: "
_DERIVED = re.compile(
    r"^(?:OPEN|Resolved|Dead end|Done|Pushed|Pull request|Tag|Branch|HEAD|Commit|Sub-agent"
    r"|The (?:user|agent) asked):?,? "
    r"|\(in progress\)|\(planned, not run\)|Not taken: |Superseded: |by the sub-agent"
    r"|: after editing |: by (?=`)| instead$|: by reading it first$|: at the next try$"
    r"|, (?:refused|stopped|taken back)(?=: |$)|, created in t\d+ and deleted again"
    r"|, undone by the user(?=: |$)|, which the user asked to undo|part of the work on |changes to "
    r"|(?<=`) works$|” as proposed|last edit of |edit of |sub-agent (?=“)|plan approved: "
    r"|Approve the plan(?:: |\?)"
)
"""Labels and words of ours between the words of others."""
_SESSION = re.compile(
    r"(?:Mode|Plan file|Worktree|Tasks|No test was run|The agent made no commit)\b"
)


class Claim(NamedTuple):
    kind: ClaimKind
    text: str
    turns: tuple[int, ...]
    """One of them must hold it."""


def claims_of(item: Item) -> list[Claim]:
    """All that one item says, each with the turns it cites for it; none where it cites no turn."""
    turns = cited_turns(item)
    return list(_BY_SECTION.get(item.section, _told)(item, turns)) if turns else []


def cited_turns(item: Item) -> tuple[int, ...]:
    """The turns a reader sees: in the files' table those of the changes, where these are told."""
    shown = tuple(turn for marks in _MARKS.findall(item.detail) for turn in _turns(marks))
    return shown if item.section == "Files Modified" and shown else item.turns


def prose(text: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """What a text of several sources says: code, quotes, paths, numbers, longer words."""
    rest = _MORE.sub(" ", _DERIVED.sub(_kept, text))
    yield from _marked(rest, turns)
    rest = _TORN.sub(" ", _CODE.sub(" ", _QUOTED.sub(" ", rest)))
    yield from (Claim("path", found, turns) for found in _PATH.findall(rest))
    rest = _PATH.sub(" ", rest)
    yield from (Claim("number", found, turns) for found in _NUMBER.findall(rest))
    yield from (Claim("word", found, turns) for found in _WORD.findall(rest))


def _marked(text: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """What stands in quotes, and what stands as code outside of them."""
    yield from (Claim("quoted", found, turns) for found in _QUOTED.findall(text))
    yield from (Claim("code", found, turns) for found in _CODE.findall(_QUOTED.sub(" ", text)))


def _kept(ours: re.Match[str]) -> str:
    """In the place of words of ours: the quote they close, or nothing."""
    return "” " if ours[0].startswith("”") else " "


def _told(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    yield from prose(item.text, turns)


def _asked(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = _LABELLED.fullmatch(item.text)
    yield Claim("asked", found[1] if found else item.text, turns)


def _rules(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = _RULE.fullmatch(item.text)
    yield Claim("rule", found[1] if found else item.text, turns)


def _changed(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    """The path may stand in any of the turns; what changed, in those behind it."""
    yield Claim("path", item.text, turns)
    start = 0
    for marks in _MARKS.finditer(item.detail):
        yield from _change(item.detail[start : marks.start()], _turns(marks[1]))
        start = marks.end()
    yield from _change(item.detail[start:], item.turns)


def _change(detail: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """Only what is quoted: the words around it say what kind of change it was."""
    yield from _marked(detail, turns)
    before = re.search(r"(?:renamed from|copy of) ([^\s;]+)", detail)
    if before and not before[1].endswith("…"):
        yield Claim("path", before[1], turns)


def _read(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    """Of a span of lines the first: the last may be computed from how many were asked for."""
    yield Claim("path", item.text, turns)
    spans = re.match(r"lines ((?:(?:last )?\d+-?\d*(?:, )?)+)(?:; |$)", item.detail)
    if spans:
        yield from (
            Claim("number", first, turns) for first in re.findall(r"(\d+)(?:-\d+)?", spans[1])
        )
    yield from prose(item.detail[spans.end() if spans else 0 :], turns)


def _state(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    if _SESSION.match(item.text):
        return
    if item.text.startswith(_EDITED):
        listed = _MORE.sub("", item.text.removeprefix(_EDITED)).split(", ")
        yield from (Claim("path", path, turns) for path in listed)
    elif check := _CHECK.fullmatch(item.text):
        yield Claim("command", check[1], turns)
        yield from prose(_OUTCOME.sub("", _COUNTS.sub("", check[2])), turns)
    else:
        yield from prose(item.text, turns)


def _command(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = re.match(r"`(.+)`(?: \([^()`]*\))?$", item.text, re.DOTALL)
    yield Claim("command", found[1] if found else item.text, turns)


def _name(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    name = item.text.strip("`")
    yield Claim("path" if "/" in name and "://" not in name else "code", name, turns)
    if item.topic:
        yield Claim("path", item.topic, turns)
    yield from prose(item.detail, turns)


def _turns(marks: str) -> tuple[int, ...]:
    spans = ((int(first), int(last or first)) for first, last in _MARK.findall(marks))
    return tuple(turn for first, last in spans for turn in range(first, last + 1))


_BY_SECTION: dict[SectionName, Callable[[Item, tuple[int, ...]], Iterator[Claim]]] = {
    "Session Intent": _asked,
    "Standing Instructions": _rules,
    "Files Modified": _changed,
    "Files Read (Not Modified)": _read,
    "Current State": _state,
    "Commands": _command,
    "Index": _name,
}
