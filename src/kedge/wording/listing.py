"""Facts as short lines: what a model is told that code knows, and what it refers to by number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kedge.foreign import foreign
from kedge.model import (
    ActionTaken,
    AgentReported,
    AnyFact,
    Asked,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    NameSeen,
    SessionNoted,
    TodoSet,
    Worded,
)
from kedge.model.fact import standing
from kedge.sentences import cut
from kedge.wording.shape import Decision

LINE = 160
"""Characters of one line."""
MOST_FILES = 40
MOST_DECISIONS = 20
"""Lines of the two lists that are numbered: a few times what a reply has room for."""
MOST = {
    "Commands": 20,
    "Commits": 8,
    "Errors still open": 8,
    "Todos": 20,
    "Questions still open": 8,
}
"""Lines of the other lists."""

VOICED = frozenset({"intent", "next step", "question"})
"""Prose that was taken only where user or agent said as much."""
_BY_TOOLS: dict[type, tuple[str, ...]] = {
    ErrorSeen: ("key", "line"),
    ErrorResolved: ("key", "how"),
    CommandRun: ("about",),
    ActionTaken: ("result",),
    AgentReported: ("report",),
    NameSeen: ("note",),
    SessionNoted: ("name", "value"),
}
"""Fields of facts that hold what came out of a tool; the others are words or names."""
_T = TypeVar("_T")
_LISTED = frozenset({CommandRun, Committed, ErrorSeen, ErrorResolved, TodoSet, Asked})


class Lists(NamedTuple):
    """Facts as they stand at the end of some turns: what is settled or taken back is in none."""

    files: Mapping[str, Sequence[FileChanged]]
    """Changes by path."""
    decisions: Mapping[str, Decided]
    lines: Mapping[str, Mapping[str, str]]
    """Lines of the other lists, by the name of the list and by what they are about."""


class Listing(NamedTuple):
    files: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    text: str = ""


def lists_of(facts: Iterable[AnyFact]) -> Lists:
    files: dict[str, list[FileChanged]] = {}
    decisions: dict[str, Decided] = {}
    lines: dict[str, dict[str, str]] = {name: {} for name in MOST}
    for fact in facts:
        if isinstance(fact, FileChanged) and not fact.scratch:
            files[fact.path] = changes = files.pop(fact.path, [])
            changes.append(fact)
        elif isinstance(fact, Decided):
            decisions.pop(fact.key, None)
            decisions[fact.key] = fact
        elif entry := _entry(fact):
            lines[entry.list].pop(entry.key, None)
            if entry.line:
                lines[entry.list][entry.key] = entry.line
    left = {path: standing(changes) for path, changes in files.items()}
    return Lists({path: changes for path, changes in left.items() if changes}, decisions, lines)


def listing(lists: Lists, *, share: float = 1.0) -> Listing:
    """The lists as text, the newest of each. A smaller share leaves fewer lines."""
    files = _newest([*lists.files.items()], MOST_FILES * share)
    decisions = _newest([*lists.decisions.values()], MOST_DECISIONS * share)
    parts = [
        ("Files changed", _numbered(_changed(path, changes) for path, changes in files)),
        ("Decisions", _numbered(foreign(one.decision) for one in decisions)),
        *(
            (name, [f"- {line}" for line in _newest([*held.values()], MOST[name] * share)])
            for name, held in lists.lines.items()
        ),
    ]
    return Listing(
        files=tuple(path for path, _ in files),
        decisions=tuple(Decision(one.key, one.decision, one.turn) for one in decisions),
        text="\n".join("\n".join((f"{name}:", *lines)) for name, lines in parts if lines),
    )


class ToldBy(NamedTuple):
    """The texts of a fact, by whose they are."""

    voiced: tuple[str, ...]
    """What user and agent said and did, and the names of files and commands."""
    reported: tuple[str, ...]
    """What came out of tools."""


def told(fact: AnyFact) -> ToldBy:
    """All that a fact says: its line, and its texts whole."""
    tools = _reported(fact)
    voiced: list[str] = []
    reported: list[str] = []
    if isinstance(fact, FileChanged):
        voiced.append(f"{fact.action} +{fact.added} -{fact.removed}")
    elif entry := _entry(fact):
        (reported if tools else voiced).append(entry.line)
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        texts = value if isinstance(value, tuple) else (value,)
        side = reported if name in tools else voiced
        side += [text for text in texts if isinstance(text, str)]
    return ToldBy(tuple(voiced), tuple(reported))


def _reported(fact: AnyFact) -> Collection[str]:
    """Fields that a tool filled."""
    if isinstance(fact, Worded):
        return () if fact.about in VOICED else ("text",)
    if isinstance(fact, Committed):
        return ("about",) if fact.what == "head" else ()
    if isinstance(fact, DeadEnd):
        return ("why",) if fact.by == "tool" else ()
    return _BY_TOOLS.get(type(fact), ())


class _Entry(NamedTuple):
    list: str
    key: str
    line: str
    """Empty where the matter is settled."""


def _entry(fact: AnyFact) -> _Entry | None:
    if type(fact) not in _LISTED:  # most are not, and matching each case takes its time
        return None
    match fact:
        case CommandRun() if fact.purpose != "other" or fact.success is False:
            return _Entry("Commands", fact.key or fact.command, _came_to(fact))
        case Committed():
            words = (fact.what.replace("_", " "), fact.name, fact.about)
            return _Entry("Commits", " ".join(words), _joined(*words))
        case ErrorSeen():
            return _Entry("Errors still open", fact.key, _joined(fact.line))
        case ErrorResolved():
            return _Entry("Errors still open", fact.key, "")
        case TodoSet():
            line = _joined(f"{fact.status.replace('_', ' ')}:", fact.text)
            return _Entry("Todos", fact.key, line)
        case Asked():
            line = "" if fact.answer else _joined(fact.question)
            return _Entry("Questions still open", fact.key, line)
        case _:
            return None


def _came_to(run: CommandRun) -> str:
    outcome = {True: "succeeded", False: "failed", None: "outcome unknown"}[run.success]
    counts = ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped"))
    counted = ", ".join(f"{number} {what}" for number, what in counts if number is not None)
    told = "; ".join(filter(None, (outcome, counted, foreign(run.about))))
    return f"{cut(foreign(run.command), LINE)}: {cut(told, LINE)}"


def _changed(path: str, changes: Sequence[FileChanged]) -> str:
    created = any(change.action == "created" for change in changes)
    action = "created" if created else changes[-1].action
    what = "; ".join(dict.fromkeys(change.what for change in changes if change.what))
    return f"{foreign(path)} ({action})" + (f": {cut(foreign(what), LINE)}" if what else "")


def _joined(*words: str) -> str:
    return cut(" ".join(foreign(word) for word in words if word), LINE)


def _numbered(lines: Iterable[str]) -> list[str]:
    return [f"{number}. {cut(line, 2 * LINE)}" for number, line in enumerate(lines, 1)]


def _newest(items: Sequence[_T], most: float) -> Sequence[_T]:
    return items[max(0, len(items) - int(most)) :]
