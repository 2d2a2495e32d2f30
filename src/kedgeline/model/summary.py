"""The summary: all facts of the folded turns, by section and matter.

It is complete; a level is a rendering of it. Nothing in it is derived: merging two summaries is
putting the facts of the one behind those of the other, so that nothing erodes however often it is
done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from kedgeline.model.fact import (
    ActionTaken,
    AgentReported,
    Answered,
    Asked,
    Called,
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
    Stated,
    TodoSet,
    Worded,
    net,
    standing,
)
from kedgeline.model.turn import Value

_COMMITS = re.compile(
    r"\bgit (?:-C \S{1,200} )?(?:rebase|cherry-pick|merge|revert)(?![\w-])(?! --(?:abort|quit))"
)
"""Commands that make commits without saying so."""
_GIT = re.compile(r"\bgit (?:-C \S{1,200} )?[a-z]")
_COMMITTING = re.compile(r"\bgit (?:-C \S{1,200} )?commit\b")

SectionName = Literal[
    "Session Intent",
    "Standing Instructions",
    "Files Modified",
    "Files Read (Not Modified)",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Next Steps",
    "Error Context",
    "Commands",
    "Index",
    "Story",
]


CHECKS = ("test", "build", "lint", "deploy", "migration")
"""Purposes of commands that say whether the work is good."""
VALUES = 60
"""Values of a talk that are its state, the newest; older ones are told with all else that was
said."""


class Entry(Value, frozen=True):
    """One thing a text says in one of its sections, as it stands there."""

    section: SectionName
    text: str
    turns: tuple[int, ...] = ()
    action: str = ""
    detail: str = ""


FORGOTTEN = 2
"""Requests that were answered since a list of tasks was touched, from which on it is forgotten."""


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
    agents: tuple[AgentReported, ...] = ()
    statements: tuple[Stated, ...] = ()
    calls: tuple[Called, ...] = ()
    session: dict[str, tuple[SessionNoted, ...]] = msgspec.field(default_factory=dict)
    wordings: dict[str, tuple[Worded, ...]] = msgspec.field(default_factory=dict)
    """What models wrote, by what it is about."""
    carried: tuple[Entry, ...] = ()
    """Of an earlier text, where the facts behind it are nowhere else."""

    @property
    def asked(self) -> tuple[Requested, ...]:
        """Requests without the words on the way."""
        return tuple(one for one in self.requests if one.scope != "step")

    def replaced_rules(self) -> dict[str, InstructionGiven]:
        """By text, the rules that later words of the user's took back or gave in another form,
        with these words. One that was said again since stands."""
        ended: dict[str, InstructionGiven] = {}
        for rule in self.instructions:
            ended.pop(rule.text, None)
            if rule.replaces:
                ended[rule.replaces] = rule
        return ended

    def overtaken(self) -> dict[Stated, Stated]:
        """The user's statements that give a value which a later turn gives anew, each with the
        newest. What one message says of a matter again and again is a list."""
        newest = {said.matter: said for said in self.statements if said.matter}
        return {
            said: new
            for said in self.statements
            if said.matter
            and (new := newest[said.matter]).turn > said.turn
            and new.text != said.text
        }

    def values_now(self) -> tuple[Stated, ...]:
        """What the user has given a value for, as it stands, none twice and no rule. Only where no
        work is done on files: there the work itself is the state."""
        if self.files or self.reads or self.commands:
            return ()
        gone = self.overtaken()
        rules = "\n".join(rule.text for rule in self.instructions)
        newest = {
            said.text: said
            for said in self.statements
            if said.matter and said not in gone and said.text not in rules
        }
        return tuple(sorted(newest.values(), key=lambda said: (said.turn, said.place)))[-VALUES:]

    def decisions_now(self) -> Iterator[tuple[Decided, ...]]:
        """The choices that stand, each behind those it replaced. What the user chose only the user
        replaces: what the agent says of the same matter later stands beside it."""
        for made in self.decisions.values():
            behind = max((n for n, one in enumerate(made, 1) if one.by == "user"), default=0)
            said = {one.decision for one in made[:behind]}
            later = tuple(one for one in made[behind:] if one.decision not in said)
            yield from (part for part in (made[:behind], later) if part)

    def tasks_now(self) -> list[TodoSet]:
        """The tasks as they stand; steps of a plan count only where the agent keeps no list of its
        own, what was only said where there is neither. Steps that nobody ticked are no tasks any
        more where the agent has closed its work since, nor is a list that was left as it was while
        later requests were answered."""
        latest = [events[-1] for events in self.todos.values()]
        kept = [todo for todo in latest if todo.source == "todos"]
        kept = kept or [todo for todo in latest if todo.source != "stated"] or latest
        kept = [todo for todo in kept if todo.status != "dropped"]
        closed = max((one.turn for one in self.answers if not one.asks), default=-1)
        worked = max((events[-1].turn for events in self.files_now().values()), default=-1)
        if all(todo.source == "plan" and todo.status == "pending" for todo in kept):
            kept = [todo for todo in kept if not todo.turn <= worked <= closed]
        touched = max((todo.turn for todo in kept), default=-1)
        rules = {rule.turn for rule in self.instructions}  # what only gives a rule asks for nothing
        since = {one.turn for one in self.asked if touched < one.turn <= closed} - rules
        open_ = any(todo.status in ("pending", "in_progress") for todo in kept)
        return [] if open_ and len(since) >= FORGOTTEN else kept

    def committed_in(self) -> list[int]:
        """Turns in which commits were made: as they were shown, or by commands that make them."""
        runs = (run for runs in self.commands.values() for run in runs)
        ran = (run for run in runs if run.by == "tool" and run.success is not False)
        made = [run.turn for run in ran if _COMMITS.search(run.command)]
        return [*(one.turn for one in self.repository if one.what == "commit"), *made]

    def lacks_commit(self) -> bool:
        """Whether files of a repository were worked on and nothing was committed: a client without
        a shell may commit by itself, and a commit may be under way."""
        runs = [run for runs in self.commands.values() for run in runs if run.by == "tool"]
        versioned = bool(self.repository or self.session.get("branch")) or any(
            _GIT.search(run.command) for run in runs
        )
        last = self.calls[-1] if self.calls else None
        under_way = last and last.state == "waiting" and _COMMITTING.search(last.what)
        return bool(self.files and runs and versioned and not under_way and not self.committed_in())

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

    def lines_run(self) -> Iterator[tuple[CommandRun, ...]]:
        """The runs of each command that may be needed again: not of a program that was not there,
        and of those that only look, what was looked at more than once."""
        for runs in self.commands.values():
            lines = Counter(run.command for run in runs)
            again = [run for run in runs if run.purpose != "look" or lines[run.command] > 1]
            kept = [run for run in again if not run.missing]
            if kept:
                yield tuple(kept)

    def files_now(self) -> dict[str, tuple[FileChanged, ...]]:
        """The changes of each file that stand, by the name it has now, in the order of turns."""
        now: dict[str, list[FileChanged]] = {}
        every = (event for events in self.files.values() for event in events)
        for event in sorted(every, key=lambda one: one.turn):
            moved = event.renamed_from and event.renamed_from != event.path
            before = now.pop(event.renamed_from, []) if moved else []
            now[event.path] = [*before, *now.pop(event.path, []), event]
        return {path: kept for path, events in now.items() if (kept := standing(events))}

    def files_different(self) -> dict[str, tuple[FileChanged, ...]]:
        """The files of the work that are not as they were: none that came and went, none of a
        temporary folder."""
        return {
            path: events
            for path, events in self.files_now().items()
            if net(events) and not all(event.scratch for event in events)
        }

    def checks_now(self) -> dict[str, list[CommandRun]]:
        """The newest run of each command that came to something, by purpose, the newest first. A
        program that was not there says nothing where another checked the same later."""
        found: dict[str, list[CommandRun]] = {}
        for runs in self.commands.values():
            done = [run for run in runs if run.success is not None or run.passed is not None]
            if done and done[-1].purpose in CHECKS:
                found.setdefault(done[-1].purpose, []).append(done[-1])
        newest = {
            purpose: sorted(runs, key=lambda run: -run.turn) for purpose, runs in found.items()
        }
        return {
            purpose: [run for run in runs if run is runs[0] or not run.missing]
            for purpose, runs in newest.items()
        }


# What a compaction left out of the text the agent goes on with.


class Lost(Value, frozen=True):
    """One entry that is known and does not stand in the text."""

    section: SectionName
    text: str
    turn: int
    """Where it comes from, and can be seen again; -1 where no turn is known."""


class Losses(Value, frozen=True):
    turns: int = 0
    """That were newly folded."""
    tokens: int = 0
    """Of these."""
    earlier: int = 0
    """Turns that earlier compactions had folded."""
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    """How many entries are not in the text, by section."""
    undetailed: int = 0
    """Files that stand in the text without what changed in them, though it is known."""
    named: tuple[Lost, ...] = ()
    """The most salient of what is left out."""


# Probes: questions with known answers, asked of a rendered summary; and what they found.

ProbeType = Literal["recall", "artifact", "continuation", "decision", "instruction"]
Matter = Literal[
    "request",
    "earlier request",
    "said since",
    "rule",
    "created",
    "modified",
    "deleted",
    "renamed",
    "change",
    "read",
    "decision",
    "check",
    "edited since",
    "absence",
    "task",
    "task done",
    "question",
    "branch",
    "head",
    "published",
    "session",
    "answer",
    "action",
    "commit",
    "report",
    "open error",
    "resolved error",
    "dead end",
    "command",
    "finding",
    "earlier text",
]
"""What a probe asks about."""
Dimension = Literal[
    "accuracy",
    "context_awareness",
    "artifact_trail",
    "completeness",
    "continuity",
    "instruction_following",
]

ACCEPTED = 0.9
"""Score from which a summary is accepted, where no critical probe fails (R33)."""


class Probe(Value, frozen=True):
    """Made from facts, never from the text it is asked of."""

    type: ProbeType
    matter: Matter
    question: str
    expected: tuple[str, ...]
    """All of them must stand in one entry."""
    section: SectionName
    """Where the answer belongs."""
    turn: int
    """Where the answer comes from."""
    critical: bool = False
    key: str = ""
    """With the matter, what it is about: a newer probe of the same key takes its place."""
    lasting: bool = True
    """Holds until newer facts are about the same: asked at every later compaction too. Others are
    made anew each time, as what they ask about moves with the work."""


class Answer(Value, frozen=True):
    """What a text answers to a probe."""

    probe: Probe
    found: tuple[str, ...]
    """Those of the expected that stand there."""
    passed: bool
    given: str = ""
    """The words of the answer, where a model gave it."""


class CriterionScore(Value, frozen=True):
    """One criterion of a dimension."""

    criterion: str
    weight: float
    score: float | None
    """From 0 to 5; none where nothing was asked about it."""
    reason: str = ""


class DimensionScore(Value, frozen=True):
    dimension: Dimension
    score: float | None
    target: float
    """Seed 002's."""
    criteria: tuple[CriterionScore, ...] = ()


class Quality(Value, frozen=True):
    """Scores on the six dimensions, by one scorer."""

    by: str
    """`probes` for the deterministic scorer, else who judged: scores of two scorers are never put
    into one column."""
    dimensions: tuple[DimensionScore, ...]

    @property
    def overall(self) -> float | None:
        """The unweighted mean of those that have a score."""
        scores = [one.score for one in self.dimensions if one.score is not None]
        return sum(scores) / len(scores) if scores else None


class Verdict(Value, frozen=True):
    """What the probes found."""

    answers: tuple[Answer, ...] = ()
    strays: tuple[str, ...] = ()
    """Lines of the text that no fact holds, and sections that do not add up."""
    quality: Quality | None = None
    failed_first: int = 0
    """Probes that failed before anything was put back."""
    repaired: int = 0
    """Those of them that pass now."""

    @property
    def score(self) -> float | None:
        """Share of the probes that pass; none where there was nothing to ask."""
        return sum(a.passed for a in self.answers) / len(self.answers) if self.answers else None

    @property
    def failed(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.passed)

    @property
    def critical_failures(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.failed if answer.probe.critical)

    @property
    def accepted(self) -> bool:
        """Whether the summary may stand for its turns; one of which nothing can be asked may."""
        good = self.score is None or self.score >= ACCEPTED
        return good and not self.critical_failures and not self.strays
