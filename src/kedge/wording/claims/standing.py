"""What the facts of the turns say of the work, as far as prose may contradict it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kedge.model import (
    AnyFact,
    CommandRun,
    Committed,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    InstructionGiven,
    TodoSet,
)
from kedge.wording.claims.bans import Ban, bans_of
from kedge.wording.claims.words import content, lowered, matter

RunKind = Literal["test", "build", "lint"]
RUN_KINDS: tuple[RunKind, ...] = ("test", "build", "lint")
_SIGNS: dict[RunKind, tuple[str, ...]] = {
    "test": ("test", "spec"),
    "build": ("build", "compile", "make", "tsc"),
    "lint": ("lint", "vet", "ruff", "mypy", "format", "fmt", "check"),
}
"""Words of a command that runs a check beside its weightier purpose."""
TRUNKS = frozenset({"main", "master", "trunk", ""})
"""Names of the branch that all others come to; a push may not say where it went."""


class Counted(NamedTuple):
    """What test runners counted."""

    passed: frozenset[int]
    failed: frozenset[int]
    whole: frozenset[int]
    """All tests of a run: nobody prints their sum."""


class Standing(NamedTuple):
    runs: dict[RunKind, bool | None]
    """Whether the newest run of a check succeeded; none where it does not tell. A check that was
    not run is not there."""
    counted: Counted
    done: frozenset[str]
    """Kinds of commits and the purposes of commands that succeeded; `trunk` for what reached the
    main branch."""
    errors: tuple[frozenset[str], ...]
    """Open ones, each by the stems of its words."""
    todos: tuple[frozenset[str], ...]
    """Open ones, in the same form."""
    untouched: tuple[frozenset[str], ...]
    """Those that were not begun, by the stems of all words that say anything."""
    actions: dict[str, frozenset[str]]
    """What became of each file."""
    rules: tuple[frozenset[str], ...]
    """Standing instructions, each by the stems of its words."""
    bans: tuple[Ban, ...]
    """What is not to be done."""


def standing_of(facts: Sequence[AnyFact]) -> Standing:
    runs: dict[RunKind, bool | None] = {}
    actions: dict[str, set[str]] = {}
    for fact in facts:
        if isinstance(fact, CommandRun):
            runs.update(dict.fromkeys(_kinds(fact), _succeeded(fact)))
        elif isinstance(fact, FileChanged):
            actions.setdefault(fact.path, set()).add(fact.action)
    todos = _open_todos(facts)
    rules = rules_of(facts)
    return Standing(
        runs,
        _counted(facts),
        frozenset(_done(facts)),
        tuple(_open_errors(facts)),
        tuple(frozenset(matter(todo.text)) for todo in todos),
        tuple(frozenset(content(todo.text)) for todo in todos if todo.status == "pending"),
        {path: frozenset(found) for path, found in actions.items()},
        tuple(frozenset(matter(rule)) for rule in rules),
        tuple(bans_of(rules, facts)),
    )


def rules_of(facts: Iterable[AnyFact]) -> list[str]:
    """Texts of the rules that stand."""
    rules: dict[str, None] = {}
    for fact in facts:
        if isinstance(fact, InstructionGiven):
            rules.pop(fact.replaces, None)
            if fact.lasts:
                rules[fact.text] = None
    return [*rules]


def _kinds(run: CommandRun) -> list[RunKind]:
    """What a command line checks: its purpose, and what else stands in it where that is one."""
    if run.purpose not in RUN_KINDS:
        return []
    line = lowered(run.command)
    return [
        check
        for check in RUN_KINDS
        if check == run.purpose or any(sign in line for sign in _SIGNS[check])
    ]


def _succeeded(run: CommandRun) -> bool | None:
    """What a test runner counts outranks an exit code, which may be that of a pipe."""
    if run.failed or run.success is False:
        return False
    return True if run.passed else run.success


def _counted(facts: Iterable[AnyFact]) -> Counted:
    runs = [fact for fact in facts if isinstance(fact, CommandRun)]
    both = [(run.passed, run.failed, run.skipped or 0) for run in runs]
    sums = [
        (passed + failed, skipped)
        for passed, failed, skipped in both
        if passed is not None and failed is not None
    ]
    return Counted(
        frozenset(run.passed for run in runs if run.passed is not None),
        frozenset(run.failed for run in runs if run.failed is not None),
        frozenset(number for ran, skipped in sums for number in (ran, ran + skipped)),
    )


def _done(facts: Iterable[AnyFact]) -> Iterable[str]:
    for fact in facts:
        if isinstance(fact, Committed):
            yield fact.what
            name = fact.name.rpartition("/")[2]
            if fact.what == "merge" or (fact.what == "push" and name in TRUNKS):
                yield "trunk"
        elif isinstance(fact, CommandRun) and fact.success:
            yield fact.purpose


def _open_errors(facts: Iterable[AnyFact]) -> Iterable[frozenset[str]]:
    still: dict[str, ErrorSeen] = {}
    for fact in facts:
        if isinstance(fact, ErrorSeen):
            still[fact.key] = fact
        elif isinstance(fact, ErrorResolved):
            still.pop(fact.key, None)
    return (frozenset(matter(f"{error.line} {error.about}")) for error in still.values())


def _open_todos(facts: Iterable[AnyFact]) -> list[TodoSet]:
    """Where the agent keeps a list, nobody ticks off the steps of the plan behind it."""
    newest = {fact.key: fact for fact in facts if isinstance(fact, TodoSet)}
    listed = [todo for todo in newest.values() if todo.source == "todos"]
    every = listed or newest.values()
    return [todo for todo in every if todo.status in ("pending", "in_progress")]
