"""The summary: all facts of the folded turns, by section and matter.

It is complete; a level is a rendering of it. Nothing in it is derived: merging two summaries is
putting the facts of the one behind those of the other, so that nothing erodes however often it is
done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from kedge.model.fact import (
    ActionTaken,
    AgentReported,
    Answered,
    Asked,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    FileRead,
    InstructionGiven,
    Requested,
    SessionNoted,
    TodoSet,
    Worded,
    standing,
)
from kedge.model.value import Value

SectionName = Literal[
    "Session Intent",
    "Standing Instructions",
    "Files Modified",
    "Files Read (Not Modified)",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Error Context",
    "Next Steps",
    "Commands",
    "Index",
]


HALF_LIFE = 20
"""Turns after which a sight of a name counts half. Measured on real sessions: anything from 10 to
80 does about as well, no decay at all does worse in little room."""


class Place(Value, frozen=True):
    """Where a name stands, and what it means there."""

    place: str = ""
    note: str = ""
    weight: int = 0
    last: int = -1


class NameEntry(Value, frozen=True):
    """All that is known of a name: sums and newest places, as every sight would be too much."""

    kind: str
    count: int = 0
    heat: float = 0.0
    """What all sights count together, older ones less; as of the last one."""
    first: int = -1
    last: int = -1
    turns: tuple[int, ...] = ()
    """The newest ones, to be cited."""
    places: dict[str, Place] = msgspec.field(default_factory=dict)
    """By file or topic."""

    def heat_at(self, turn: int) -> float:
        """What is left of the heat at a later turn."""
        left: float = self.heat * 0.5 ** ((turn - self.last) / HALF_LIFE)
        return left


class Entry(Value, frozen=True):
    """One thing a text says in one of its sections, as it stands there."""

    section: SectionName
    text: str
    turns: tuple[int, ...] = ()
    action: str = ""
    detail: str = ""
    topic: str = ""


class Summary(Value, frozen=True):
    through: int = -1
    """Index of the last turn it stands for."""
    requests: tuple[Requested, ...] = ()
    answers: tuple[Answered, ...] = ()
    instructions: tuple[InstructionGiven, ...] = ()
    files: dict[str, tuple[FileChanged, ...]] = msgspec.field(default_factory=dict)
    reads: dict[str, tuple[FileRead, ...]] = msgspec.field(default_factory=dict)
    decisions: dict[str, tuple[Decided, ...]] = msgspec.field(default_factory=dict)
    commands: dict[str, tuple[CommandRun, ...]] = msgspec.field(default_factory=dict)
    actions: tuple[ActionTaken, ...] = ()
    repository: tuple[Committed, ...] = ()
    errors: dict[str, tuple[ErrorSeen | ErrorResolved, ...]] = msgspec.field(default_factory=dict)
    dead_ends: tuple[DeadEnd, ...] = ()
    todos: dict[str, tuple[TodoSet, ...]] = msgspec.field(default_factory=dict)
    questions: dict[str, tuple[Asked, ...]] = msgspec.field(default_factory=dict)
    names: dict[str, NameEntry] = msgspec.field(default_factory=dict)
    agents: tuple[AgentReported, ...] = ()
    session: dict[str, tuple[SessionNoted, ...]] = msgspec.field(default_factory=dict)
    wordings: dict[str, tuple[Worded, ...]] = msgspec.field(default_factory=dict)
    """What models wrote, by what it is about."""
    carried: tuple[Entry, ...] = ()
    """Of an earlier text, where the facts behind it are nowhere else."""

    def replaced_rules(self) -> dict[str, InstructionGiven]:
        """By text, the rules that later words of the user's took back or gave in another form,
        with these words. One that was said again since stands."""
        ended: dict[str, InstructionGiven] = {}
        for rule in self.instructions:
            ended.pop(rule.text, None)
            if rule.replaces:
                ended[rule.replaces] = rule
        return ended

    def decisions_now(self) -> Iterator[tuple[Decided, ...]]:
        """The choices that stand, each behind those it replaced. What the user chose only the user
        replaces: what the agent says of the same matter later stands beside it."""
        for made in self.decisions.values():
            behind = max((n for n, one in enumerate(made, 1) if one.by == "user"), default=0)
            said = {one.decision for one in made[:behind]}
            later = tuple(one for one in made[behind:] if one.decision not in said)
            yield from (part for part in (made[:behind], later) if part)

    def agents_now(self) -> list[tuple[AgentReported, ...]]:
        """What is known of each task that was handed on, its newest state last: a report comes
        behind the start of the sub-agent it is of."""
        groups: list[list[AgentReported]] = []
        running: dict[str, list[AgentReported]] = {}
        for one in self.agents:
            key = one.agent or one.task
            group = running.pop(key, None)
            if group is None:
                groups.append(group := [])
            group.append(one)
            if one.state == "running":
                running[key] = group
        return [tuple(group) for group in groups]

    def files_now(self) -> dict[str, tuple[FileChanged, ...]]:
        """The changes of each file that stand, by the name it has now, in the order of turns."""
        now: dict[str, list[FileChanged]] = {}
        every = (event for events in self.files.values() for event in events)
        for event in sorted(every, key=lambda one: one.turn):
            moved = event.renamed_from and event.renamed_from != event.path
            before = now.pop(event.renamed_from, []) if moved else []
            now[event.path] = [*before, *now.pop(event.path, []), event]
        return {path: kept for path, events in now.items() if (kept := standing(events))}
