"""Where the work stands: checks, tasks, what waits, what was decided."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import CommandRun, Decided, Probe, Summary, TodoSet
from kedge.probes.making.files import different
from kedge.probes.making.homes import probe
from kedge.sentences import one_line

CHECKS = ("test", "build", "lint", "deploy", "migration")
"""Purposes of commands that say whether the work is good."""


def newest_checks(summary: Summary) -> Iterator[Probe]:
    """How the newest run of each purpose ended."""
    for runs in _checks(summary).values():
        if runs[0].success is not None or runs[0].passed or runs[0].failed:
            yield _check(runs[0], critical=runs[0].purpose == "test")


def edited_since(summary: Summary) -> Iterator[Probe]:
    """The file that was edited last, where no test has seen it, or no commit has it."""
    edits = [(events[-1].turn, path) for path, events in different(summary).items()]
    tests = [runs[0].turn for purpose, runs in _checks(summary).items() if purpose == "test"]
    commits = [one.turn for one in summary.repository if one.what == "commit"]
    for label, turns in (("test run", tests), ("commit", commits)):
        if turns and edits and max(edits)[0] > turns[-1]:
            turn = max(edits)[0]
            last = [path for at, path in edits if at == turn]
            yield probe(
                matter="edited since",
                question=f"Which file was edited last, after the last {label}?",
                expected=(f"Edited since the last {label}", *(last if len(last) == 1 else ())),
                turn=turn,
                key=label,
            )


def absences(summary: Summary) -> Iterator[Probe]:
    """What was not done, where one would expect it."""
    runs = [run for runs in summary.commands.values() for run in runs]
    tested = any(run.purpose == "test" for run in runs)
    committed = any(one.what == "commit" for one in summary.repository)
    if different(summary) and runs and not tested:
        yield _absence("Was a test run?", "No test was run", summary.through)
    if summary.files and any(run.by == "tool" for run in runs) and not committed:
        yield _absence("Was anything committed?", "The agent made no commit", summary.through)


def _absence(question: str, told: str, turn: int) -> Probe:
    return probe(
        matter="absence",
        question=question,
        expected=(told,),
        turn=turn,
        key=told,
    )


def open_tasks(summary: Summary) -> Iterator[Probe]:
    """What is in flight and what is next."""
    for todo in _tasks(summary):
        if todo.status in ("pending", "in_progress"):
            begun = todo.status == "in_progress"
            yield probe(
                matter="task",
                question="What is in flight?" if begun else "What is still to be done?",
                expected=(todo.text, "(in progress)") if begun else (todo.text,),
                turn=todo.turn,
                critical=begun,
                key=todo.key,
            )


def task_count(summary: Summary) -> Iterator[Probe]:
    tasks = _tasks(summary)
    done = sum(todo.status == "completed" for todo in tasks)
    if tasks:
        yield probe(
            matter="task",
            section="Current State",
            question="How many of the tasks are completed?",
            expected=(f"{done} of {len(tasks)}",),
            turn=max(todo.turn for todo in tasks),
            key="count",
        )


def tasks_done(summary: Summary) -> Iterator[Probe]:
    """The newest first."""
    done = [todo for todo in _tasks(summary) if todo.status == "completed"]
    for todo in sorted(done, key=lambda one: -one.turn):
        yield probe(
            matter="task done",
            question=f"Which task was completed in t{todo.turn}?",
            expected=(todo.text,),
            turn=todo.turn,
            key=todo.key,
        )


def questions(summary: Summary) -> Iterator[Probe]:
    """Those that wait for an answer."""
    for asked in summary.questions.values():
        latest = asked[-1]
        if not latest.answer:
            yield probe(
                matter="question",
                question=f"Which question of the {latest.by} waits for an answer?",
                expected=(latest.question,),
                turn=latest.turn,
                key=latest.key,
            )


def users_decisions(summary: Summary) -> Iterator[Probe]:
    """What the user chose is not to be taken back."""
    return (_decision(one) for one in _decisions(summary) if one.by == "user")


def agents_decisions(summary: Summary) -> Iterator[Probe]:
    return (_decision(one) for one in _decisions(summary) if one.by != "user")


def _checks(summary: Summary) -> dict[str, list[CommandRun]]:
    """The newest run of each command that came to something, by purpose, the newest first."""
    found: dict[str, list[CommandRun]] = {}
    for runs in summary.commands.values():
        done = [run for run in runs if run.success is not None or run.passed is not None]
        if done and done[-1].purpose in CHECKS:
            found.setdefault(done[-1].purpose, []).append(done[-1])
    return {purpose: sorted(runs, key=lambda run: -run.turn) for purpose, runs in found.items()}


def _check(run: CommandRun, *, critical: bool) -> Probe:
    return probe(
        matter="check",
        question=f"How did the last {run.purpose} run end?",
        expected=(one_line(run.command), *_ending(run)),
        turn=run.turn,
        critical=critical,
        key=run.purpose,
    )


def _ending(run: CommandRun) -> tuple[str, ...]:
    """The exact counts, where there are any."""
    unit = run.unit or "tests"
    if run.failed:
        return ("FAILS", f"{run.failed} {unit} failed")
    if run.success is False:
        return ("FAILS",)
    return (f"{run.passed} {unit} passed",) if run.passed else ("passes",)


def _tasks(summary: Summary) -> list[TodoSet]:
    """As they stand; steps of a plan count only where the agent keeps no list of its own."""
    latest = [events[-1] for events in summary.todos.values()]
    own = [todo for todo in latest if todo.source == "todos"]
    return [todo for todo in own or latest if todo.status != "dropped"]


def _decisions(summary: Summary) -> list[Decided]:
    """The newest first; one that is a standing rule is asked for as such."""
    rules = {rule.text for rule in summary.instructions}
    latest = (made[-1] for made in summary.decisions_now())
    return sorted((one for one in latest if one.decision not in rules), key=lambda one: -one.turn)


def _decision(one: Decided) -> Probe:
    why = " and why" if one.rationale else ""
    parts = (one.decision, one.rationale, one.rejected)
    return probe(
        matter="decision",
        question=f"What was decided in t{one.turn}{why}?",
        expected=tuple(part for part in parts if part),
        turn=one.turn,
        critical=one.by == "user",
        key=one.key,
        lasting=one.by == "user",
    )
