"""What the record says exactly: commits, actions, commands, the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kedgeline.model import (
    AgentReported,
    CommandRun,
    Committed,
    Decided,
    Entry,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    Matter,
    Probe,
    ProbeType,
    SectionName,
    Summary,
    TodoSet,
)
from kedgeline.model.fact import standing
from kedgeline.probes.making.homes import beginning, probe
from kedgeline.text.prose import one_line

# Which files were created, modified, deleted, renamed or read, and what changed in them.


def files(summary: Summary) -> Iterator[Probe]:
    """Every file that is different now."""
    for path, events in different(summary).items():
        became = _became(events)
        yield probe(
            matter=became,
            question=f"What became of {path}?",
            expected=(path, became),
            turn=events[-1].turn,
            critical=True,
            key=path,
            lasting=True,
        )


def changes(summary: Summary) -> Iterator[Probe]:
    """What changed last in each file, the newest first."""
    told = (
        (path, events[-1])
        for path, events in different(summary).items()
        if events[-1].what or events[-1].said
    )
    for path, event in sorted(told, key=lambda one: -one[1].turn):
        yield probe(
            matter="change",
            question=f"What was changed in {path} in t{event.turn}?",
            expected=(path, _whole_words(event.what or event.said)),
            turn=event.turn,
            key=path,
        )


def reads(summary: Summary) -> Iterator[Probe]:
    """Files that were read and are as they were, the newest first."""
    changed = {path for path, events in summary.files.items() if not _came_and_went(events)}
    seen = [(path, sights) for path, sights in summary.reads.items() if path not in changed]
    for path, sights in sorted(seen, key=lambda one: (-one[1][-1].turn, -len(one[1]))):
        yield probe(
            matter="read",
            question=f"Which file was read in t{sights[-1].turn}?",
            expected=(path,),
            turn=sights[-1].turn,
            key=path,
        )


def different(summary: Summary) -> dict[str, tuple[FileChanged, ...]]:
    """Events of the files of the work that are not as they were, by the name they have now."""
    return {
        path: events
        for path, events in summary.files_now().items()
        if not _came_and_went(events) and not all(event.scratch for event in events)
    }


def _came_and_went(every: Sequence[FileChanged]) -> bool:
    """Whether a file is as it was: created and deleted, or all changes taken back."""
    events = standing(every)
    return not events or (events[0].action == "created" and events[-1].action == "deleted")


def _became(events: Sequence[FileChanged]) -> Matter:
    actions = [event.action for event in events]
    if actions[-1] == "deleted":
        return "deleted"
    if actions[0] == "created":
        return "created"
    return "renamed" if "renamed" in actions else "modified"


def _whole_words(text: str) -> str:
    """How a change is told, up to where it may be cut."""
    return beginning(text.partition("…")[0])


# The original errors, how others were resolved, and ways that led nowhere.

IN_THE_WAY = 0.7
"""Share of the session behind which an open error may still stand in the way."""


def errors_in_the_way(summary: Summary) -> Iterator[Probe]:
    for seen in _open(summary):
        if _is_recent(seen, summary):
            yield _open_error(seen, critical=True)


def older_errors(summary: Summary) -> Iterator[Probe]:
    """Open ones nobody came back to, the newest first."""
    for seen in _open(summary):
        if not _is_recent(seen, summary):
            yield _open_error(seen, critical=False)


def resolved_errors(summary: Summary) -> Iterator[Probe]:
    """The newest first."""
    found = [
        (seen[-1], events[-1])
        for events in summary.errors.values()
        if isinstance(events[-1], ErrorResolved)
        and (seen := [event for event in events if isinstance(event, ErrorSeen)])
    ]
    for error, resolved in sorted(found, key=lambda one: -one[1].turn):
        if isinstance(resolved, ErrorResolved):
            yield probe(
                matter="resolved error",
                question=f"How was the error of t{error.turn} resolved?",
                expected=("Resolved", error.line, resolved.how),
                turn=resolved.turn,
                key=error.key,
            )


def dead_ends(summary: Summary) -> Iterator[Probe]:
    for way in reversed(summary.dead_ends):
        yield probe(
            matter="dead end",
            question=f"What was tried and dropped in t{way.turn}?",
            expected=(way.what, way.why) if way.why else (way.what,),
            turn=way.turn,
            key=way.what,
        )


def _open(summary: Summary) -> list[ErrorSeen]:
    last = (events[-1] for events in summary.errors.values())
    return sorted((one for one in last if isinstance(one, ErrorSeen)), key=lambda one: -one.turn)


def _is_recent(seen: ErrorSeen, summary: Summary) -> bool:
    return seen.turn >= IN_THE_WAY * (summary.through + 2)


def _open_error(seen: ErrorSeen, *, critical: bool) -> Probe:
    return probe(
        matter="open error",
        question=f"Which error of t{seen.turn} is still open?",
        expected=("OPEN", seen.line),
        turn=seen.turn,
        critical=critical,
        key=seen.key,
    )


# Where the work stands: checks, tasks, what waits, what was decided.

CHECKS = ("test", "build", "lint", "deploy", "migration")
"""Purposes of commands that say whether the work is good."""


def newest_checks(summary: Summary) -> Iterator[Probe]:
    """How the newest run of each purpose ended; a build that failed is settled by tests that passed
    since."""
    checks = _checks(summary)
    tested = [run.turn for run in checks.get("test", ()) if "FAILS" not in _ending(run)]
    for purpose, (newest, *_) in checks.items():
        if newest.success is None and not newest.passed and not newest.failed:
            continue
        fails = "FAILS" in _ending(newest)
        if purpose == "build" and fails and any(turn > newest.turn for turn in tested):
            continue
        yield _check(newest, critical=purpose == "test")


def edited_since(summary: Summary) -> Iterator[Probe]:
    """The file that was edited last, where no test has seen it, or no commit has it."""
    edits = [(events[-1].turn, path) for path, events in different(summary).items()]
    tests = [runs[0].turn for purpose, runs in _checks(summary).items() if purpose == "test"]
    commits = sorted(summary.committed_in())
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
    if different(summary) and runs and not tested:
        yield _absence("Was a test run?", "No test was run", summary.through)
    if summary.lacks_commit():
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
    """As they stand; steps of a plan count only where the agent keeps no list of its own,
    and what was only said where there is neither."""
    return summary.tasks_now()


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


PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""Commands of these purposes are needed again before all others."""
SCRIPT = 400
"""Characters of a command from which it is a script: nobody knows one by heart, it is looked up."""
ACTIONS = 5
"""Newest actions that every hand-off tells: what was done outside of files is seen nowhere else."""
LASTING: dict[SectionName, ProbeType] = {
    "Standing Instructions": "instruction",
    "Files Modified": "artifact",
    "Decisions Made": "decision",
}
"""Sections of an earlier text of which nothing may be lost."""
OPEN: tuple[SectionName, ...] = ("Next Steps", "Blockers / Open Questions")
"""Sections of an earlier text that say what is to be done."""
REPORTS = 6
"""Newest reports of sub-agents that may be asked for: older ones have been worked on."""
UNDER_WAY = 3
"""Newest reports on what is under way: what was found for it stands nowhere else."""
NOTED = ("mode", "plan_file", "worktree")


def repository(summary: Summary) -> Iterator[Probe]:
    """Branch, newest commit, and what others have seen."""
    newest: dict[str, Committed] = {one.what: one for one in summary.repository if one.name}
    noted = [one for one in summary.session.get("branch", ()) if one.value]
    branches = [(one.turn, one.name) for one in summary.repository if one.what == "branch"]
    branches += [(one.turn, one.value) for one in noted]
    if branches := [one for one in branches if one[1]]:
        turn, name = max(branches)
        yield probe("branch", "On which branch is the work?", ("Branch", name), turn)
    if (head := _head(summary)) is not None:
        asked = "What is the newest commit that is known?"
        yield probe("head", asked, ("HEAD", head.name), head.turn)
    for what, label in (("push", "Pushed"), ("pull_request", "Pull request"), ("tag", "Tag")):
        if (one := newest.get(what)) is not None:
            asked = f"What was published last ({label.lower()})?"
            yield probe("published", asked, (label, one.name), one.turn, key=what)


def commits(summary: Summary) -> Iterator[Probe]:
    """Hashes with their messages, the newest first; not one that was replaced."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    made = [one for one in summary.repository if one.what == "commit" and one.name not in replaced]
    heads = {one.name for one in summary.repository if one.what == "head"}
    for one in reversed(made):
        if one.name:
            told = one.about and one.name not in heads  # a log may have shown the hash alone
            expected = (one.name, one.about) if told else (one.name,)
            yield probe(
                matter="commit",
                question=f"Which commit was made in t{one.turn}?",
                expected=expected,
                turn=one.turn,
                key=one.name,
            )


def newest_actions(summary: Summary) -> Iterator[Probe]:
    return (_action(summary, place) for place in range(len(summary.actions))[-ACTIONS:])


def older_actions(summary: Summary) -> Iterator[Probe]:
    return (_action(summary, place) for place in reversed(range(len(summary.actions))[:-ACTIONS]))


def delegated(summary: Summary) -> Iterator[Probe]:
    """Sub-agents that are at work, and what others reported on what is under way."""
    for group in summary.agents_now():
        if (one := group[-1]).state == "running":
            asked = f"Has the sub-agent of t{one.turn} reported?"
            yield _report(one, asked, (one.task, "has not reported"))
    for one in _newest_reports(summary)[: _under_way(summary)]:
        yield _report(one)


def reports(summary: Summary) -> Iterator[Probe]:
    """What other sub-agents were asked and reported, the newest first."""
    for one in _newest_reports(summary)[_under_way(summary) :]:
        yield _report(one)


def _newest_reports(summary: Summary) -> list[AgentReported]:
    """With those that were stopped before they could."""
    last = [group[-1] for group in summary.agents_now()]
    return [one for one in last if one.report or one.state == "stopped"][: -REPORTS - 1 : -1]


def _under_way(summary: Summary) -> int:
    """How many of the newest are on what is under way."""
    if not (asked := summary.requests):
        return 0
    opened = max((one.turn for one in asked if one.scope == "new"), default=asked[0].turn)
    return sum(one.turn >= opened for one in _newest_reports(summary)[:UNDER_WAY])


def _report(one: AgentReported, question: str = "", expected: tuple[str, ...] = ()) -> Probe:
    ended = ("stopped",) if one.state == "stopped" else ("FAILED",) if one.success is False else ()
    return probe(
        matter="report",
        question=question or f"What did the sub-agent of t{one.turn} report?",
        expected=expected or (one.task, *ended, *filter(None, (one.report,))),
        turn=one.turn,
        key=f"{one.turn} {one.task}",
    )


def session(summary: Summary) -> Iterator[Probe]:
    for name in NOTED:
        noted = summary.session.get(name)
        if noted and noted[-1].value:
            label = name.replace("_", " ")
            told = (f"{label.capitalize()}: {noted[-1].value}",)
            yield probe(
                "session", f"What is the session's {label}?", told, noted[-1].turn, key=name
            )


def commands(summary: Summary) -> Iterator[Probe]:
    """Command lines verbatim: checks before others, then by use, then by age."""
    times: Counter[str] = Counter()
    newest: dict[str, CommandRun] = {}
    for runs in summary.commands.values():
        for run in runs:
            times[run.command] += 1
            newest[run.command] = run
    usable = [one for one in newest if len(one) <= SCRIPT and "\n" not in one]
    for line in sorted(usable, key=lambda one: _need(newest[one], times[one], summary)):
        run = newest[line]
        yield probe(
            matter="command",
            question=f"Which command was run in t{run.turn}, exactly?",
            expected=(one_line(line),),
            turn=run.turn,
            key=line,
        )


def earlier_text_that_holds(summary: Summary) -> Iterator[Probe]:
    """What an earlier summary told and no hand-off may lose: rules, files, decisions, what is in
    flight, what is open."""
    changed = {path for path, events in summary.files.items() if events}
    for entry in summary.carried:
        if _holds(entry) and entry.text not in changed:
            yield _earlier(entry)


def earlier_text(summary: Summary) -> Iterator[Probe]:
    """What else an earlier summary told, where its facts are nowhere else."""
    return (_earlier(entry) for entry in summary.carried if not _holds(entry))


def _holds(entry: Entry) -> bool:
    return entry.section in LASTING or entry.section in OPEN or entry.text.startswith("OPEN")


def _earlier(entry: Entry) -> Probe:
    lasting = entry.section in LASTING
    begun = entry.section == "Next Steps" and "(in progress)" in entry.text
    return Probe(
        type=LASTING.get(entry.section, "continuation" if _holds(entry) else "recall"),
        matter="earlier text",
        question=f"What did the earlier summary say under {entry.section}?",
        expected=(entry.text, entry.action) if entry.action else (entry.text,),
        section=entry.section,
        turn=entry.turns[-1] if entry.turns else -1,
        critical=lasting or begun,
        key=entry.text,
        lasting=lasting,
    )


def _head(summary: Summary) -> Committed | None:
    """The newest commit or line of a log; where something was pushed since, it may be another."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    known = [one for one in summary.repository if one.name and one.name not in replaced]
    heads = [one for one in known if one.what in ("head", "commit")]
    pushes = [one for one in known if one.what == "push"]
    if not heads or (pushes and pushes[-1].turn > heads[-1].turn):
        return None
    return heads[-1]


def _action(summary: Summary, place: int) -> Probe:
    action = summary.actions[place]
    newest = place >= len(summary.actions) - ACTIONS
    parts = (action.tool, action.about, action.result)
    return probe(
        matter="action",
        question=f"What was done for the user in t{action.turn}?",
        expected=tuple(part for part in parts if part),
        turn=action.turn,
        critical=newest,
        key=f"{action.turn} {action.tool} {action.about}",
    )


def _need(run: CommandRun, times: int, summary: Summary) -> tuple[bool, bool, float]:
    """Smaller for what is needed more: a check, one that worked, one used often and lately."""
    age = (summary.through - run.turn) / (summary.through + 2)
    return (run.purpose not in PURPOSES, run.success is False, age - times)
