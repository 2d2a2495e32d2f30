"""Where things stand: what was checked last and what came after, tasks, commits, the session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedgeline.model import (
    AgentReported,
    Called,
    CommandRun,
    Committed,
    ErrorResolved,
    ErrorSeen,
)
from kedgeline.model.fact import net, standing
from kedgeline.model.summary import CHECKS, Summary
from kedgeline.summary.state import FIRST, OPEN, THEN, Item, salience
from kedgeline.summary.story import told_of
from kedgeline.text.prose import announces, cut, one_line

# Errors that are open, how others were resolved, ways that led nowhere, and risks.

RECENT = 0.7
"""Share of the session behind which an error that is open may still stand in the way."""

RISKS_SHOWN = 5
"""Risks that were named, the newest."""
_RISK = re.compile(r"(?:risks?|caveats?|beware)\b[^:.]{0,40}: ?", re.IGNORECASE)


def risks(summary: Summary) -> Iterator[Item]:
    """What the agent named as a risk, in its sentence or in a list below such words."""
    named: dict[str, int] = {}
    for said in summary.statements:
        if said.where in ("answer", "report", "plan") and not said.code:
            label = _RISK.match(said.text)
            if label or _RISK.match(said.head):
                named[said.text[label.end() if label else 0 :].strip()] = said.turn
    for text, turn in [*named.items()][-RISKS_SHOWN:]:
        if text:
            worth = salience("open question", recent=turn / (summary.through + 2))
            yield Item("Blockers / Open Questions", f"Risk: {text}", (turn,), FIRST, worth)


def errors(summary: Summary) -> Iterator[Item]:
    for events in summary.errors.values():
        seen = [event for event in events if isinstance(event, ErrorSeen)]
        if not seen:
            continue
        latest = seen[-1]
        resolved = events[-1] if isinstance(events[-1], ErrorResolved) else None
        turns = tuple(event.turn for event in seen)
        recent = latest.turn / (summary.through + 2)
        places = [place for place in latest.places if place not in latest.line]
        where = f" at {', '.join(places)}" if places else ""
        about = f" in `{latest.about}`" if latest.about and not latest.places else ""
        if resolved is None:
            text = f"OPEN: {latest.line}{where}{about}"
            tier = OPEN if recent >= RECENT else FIRST
            yield Item(
                "Error Context", text, turns, tier, worth=salience("open error", recent=recent)
            )
        else:
            text = f"Resolved: {latest.line}{where}: {resolved.how}"
            worth = salience("resolved error", recent=recent)
            yield Item("Error Context", text, (*turns, resolved.turn), THEN, worth=worth)
    for way in summary.dead_ends:
        text = f"Dead end: {way.what}" + (f": {way.why}" if way.why else "")
        yield Item("Error Context", text, (way.turn,), THEN, worth=salience("dead end"))


# Commands that worked and will be needed again, verbatim.

PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""Purposes that have a weight of their own."""
NEVER_WORKED = 0.5
"""What is left of the worth of a command that never worked."""
DONE_ONCE = 0.5
"""What is left of the worth of a command that was meant for one moment and changes more than files:
run again it could do harm."""
VARIANT = 0.3
"""What is left of the worth of a line that differs from a better one only in how its output is cut.
"""
_ONCE = re.compile(
    r"\bgit (?:-C \S+ )?(?:reset|checkout|restore|rebase|stash|clean|cherry-pick|merge|commit)\b"
    r"|\bgit (?:rm|mv|tag)\b|--force|--amend|\brm\b|(?<![0-9&])>{1,2} {0,2}(?!/dev/null|&)[\w./~]"
    r"|\bgh (?:pr|issue|release) (?:comment|merge|close|create|edit|review)\b"
    r"|(?:-X|--method)[ =]?(?:POST|PUT|PATCH|DELETE)\b|\bkill\b"
)
LONGEST = 400
"""Characters of a command: a longer one is a script, and stands in its turn."""


def commands(summary: Summary) -> Iterator[Item]:
    """Of one command with different endings the line used most and newest, then the others."""
    for runs in summary.lines_run():
        lines = Counter(run.command for run in runs)
        newest = {run.command: run for run in runs}
        worked = {run.command for run in runs if run.success}
        best = max(lines, key=lambda line: (lines[line], newest[line].turn))
        for command, times in lines.items():
            run = newest[command]
            if len(command) > LONGEST or "\n" in command:
                continue
            recent = run.turn / (summary.through + 2)
            kind = run.purpose if run.purpose in PURPOSES else "other command"
            worth = salience(kind, recent=recent, again=times - 1 + (command in worked))
            if run.success is False and command not in worked:
                worth *= NEVER_WORKED
            if _ONCE.search(command):
                worth *= DONE_ONCE
            if command != best:
                worth *= VARIANT
            about = "planned, not run" if run.about.startswith("planned") else ""
            turns = tuple(one.turn for one in runs if one.command == command)
            text = f"`{one_line(command)}`" + (f" ({about})" if about else "")
            yield Item("Commands", text, turns[-4:], THEN, worth=worth)


# What was handed on to sub-agents, and what came of it: their word, no fact.

SHOWN = 40
"""Tasks that are told, the newest: of more, the older ones have been worked on."""
UNDER_WAY = 3
"""Reports on what is under way that every hand-off tells: the newest."""
WAITING = "has not reported"
"""Of one that is at work still, as far as is known."""


def delegated(summary: Summary) -> Iterator[Item]:
    """A line for each task, with the turns in which it was handed on and reported on."""
    groups = [group for group in summary.agents_now() if _told(group[-1])][-SHOWN:]
    asked = summary.requests
    opened = max((one.turn for one in asked if one.scope == "new"), default=0)
    place = 0
    for group in reversed(groups):
        last = group[-1]
        turns = tuple(one.turn for one in group)
        if last.state == "running":
            worth, tier = salience("sub-agent at work"), OPEN
        elif asked and last.turn >= opened and place < UNDER_WAY and not _failed(last):
            worth, tier = salience("report under way", place=place), FIRST
            place += 1
        else:
            worth, tier = salience("report of a sub-agent"), THEN
        yield Item("Current State", _told(last), turns, tier, worth)


def _told(last: AgentReported) -> str:
    """Empty where nothing is to be told: it never began, or nothing is known of it."""
    if last.state == "running":
        named = f" {last.agent}" if last.agent else ""
        return f"Sub-agent{named}, {last.task}: {WAITING}"
    if last.state == "stopped":
        said = f": {last.report}" if last.report else ""
        return f"Sub-agent, {last.task}: stopped before it was done{said}"
    if last.state == "refused" or (not last.report and last.success is None):
        return ""
    failed = "FAILED: " if _failed(last) else ""
    return f"Sub-agent, {last.task}: {failed}{last.report or 'it reported nothing'}"


def _failed(last: AgentReported) -> bool:
    """Whether it came to nothing, also where all it handed back is what its client says of that."""
    return last.success is False or last.report.startswith("API Error")


# What is open: todos in their order, and questions that wait.

_THANKS = re.compile(r"^(?!\W*(?:yes|ok|sure|go)\b).*\b(?:thanks?|thx|bye|goodbye)\b", re.I | re.S)
"""Words on the way that ask for nothing."""
_FINISHES = re.compile(
    r"called (?:submit|finish|attempt_completion|task_complete|transfer_to_\w+|escalate\w*)(?!\w)"
)
"""Tools by which an agent hands in what it has done, or hands the user on."""
REQUEST_SHOWN = 60
"""Characters of the request that waits: it stands whole above."""
ANNOUNCEMENT_SHOWN = 120


GOES_ON = ("Answer the request ", "Go on with ")
"""How a next step begins that is nothing but the current request."""


def next_steps(summary: Summary) -> Iterator[Item]:
    """What was begun before what was not, each in the order of its list."""
    waiting = [todo for todo in summary.tasks_now() if todo.status in ("in_progress", "pending")]
    if not waiting:
        yield from _unanswered(summary)
        latest = (events[-1] for events in summary.todos.values())
        waiting = [one for one in latest if one.status == "pending" and one.source == "stated"]
    waiting.sort(key=lambda todo: (todo.status != "in_progress", todo.place))
    for place, todo in enumerate(waiting):
        begun = todo.status == "in_progress"
        text = f"{todo.text} (in progress)" if begun else todo.text
        worth = salience("next step", place=place)
        yield Item("Next Steps", text, (todo.turn,), tier=OPEN if begun else FIRST, worth=worth)


def _unanswered(summary: Summary) -> Iterator[Item]:
    """The request that has no answer yet: it comes next where no task says what does."""
    asked = summary.asked
    closed = summary.answers[-1].turn if summary.answers else -1
    said = [one for one in summary.requests if one.scope != "step" or not _THANKS.search(one.text)]
    if asked and closed < max(asked[-1].turn, said[-1].turn):
        since = [call for call in summary.calls if call.turn >= asked[-1].turn]
        last = since[-1] if since else None
        if last and _FINISHES.match(last.what) and last.state in ("", "waiting"):
            return
        if last and last.kind == "edit" and last.turn in summary.committed_in():
            return  # by a client that commits what it was asked to edit
        quoted = f'"{cut(one_line(asked[-1].text), REQUEST_SHOWN)}"'
        worth = salience("next step")
        text = _to_do(summary, quoted, last)
        yield Item("Next Steps", text, (asked[-1].turn,), tier=OPEN, worth=worth)
        return
    waiting = (one[-1] for one in summary.questions.values() if not one[-1].answer)
    for put in (one for one in waiting if one.turn == closed and one.by == "agent"):
        text = "Wait for the user's answer to the agent's question"
        yield Item("Next Steps", text, (put.turn,), tier=OPEN, worth=salience("next step"))


def _to_do(summary: Summary, request: str, last: Called | None) -> str:
    """What comes next for a request without an answer, by how its last call ended."""
    if last is None:
        return f"Answer the request {request}"
    if last.state == "refused":
        return f"Wait for the user about {request}: the last call was refused"
    if last.turn in summary.committed_in():
        return f"Say what came of {request}: it was committed last, and has no closing answer yet"
    said = [one for one in summary.statements if one.turn >= last.turn and one.where == "narration"]
    next_said = next((one.text for one in reversed(said) if announces(one.text)), "")
    if next_said:
        return f"Go on with {request}; the agent last said: {cut(next_said, ANNOUNCEMENT_SHOWN)}"
    return f"Go on with {request}; no closing answer yet"


def questions(summary: Summary) -> Iterator[Item]:
    for asked in summary.questions.values():
        latest = asked[-1]
        if not latest.answer:
            who = "the user" if latest.by == "user" else "the agent"
            blocks = latest.question.startswith("Blocker: ")
            text = (
                f"{latest.question} ({who})" if blocks else f"T{who[1:]} asked: {latest.question}"
            )
            worth = salience("open question")
            yield Item("Blockers / Open Questions", text, (latest.turn,), OPEN, worth)


ANNOUNCED, ANNOUNCED_SHOWN = 3, 300
"""Sentences, and characters, of what the agent said last before it acted."""
IN_HAND_RUNGS = 3
"""Renditions of the last call: its whole result stands in the Story, where there is room."""
FAILING_SHOWN = 2
"""Older checks that failed and were not run again: a narrower one that passes settles nothing."""
FRESH_SHOWN = 2
"""Other checks that passed since the last edit: of another package, say."""
_HASH = re.compile(r"[0-9a-f]{7,40}\b")
EDITED_SHOWN = 6
"""Files named that were edited since the last check."""
ACTIONS_SHOWN = 5
"""Actions that every hand-off tells: the newest."""
NOTED = ("mode", "plan_file", "worktree")
"""What a session notes of itself that matters to who goes on."""


def state(summary: Summary) -> Iterator[Item]:
    yield from _in_hand(summary)
    yield from _checks(summary)
    yield from _since(summary)
    yield from _tasks(summary)
    yield from _actions(summary)
    yield from _values(summary)
    yield from _repository(summary)
    yield from _session(summary)
    yield from delegated(summary)


def _in_hand(summary: Summary) -> Iterator[Item]:
    """What was done last, with its result; or the call that has none yet."""
    words = [one for one in summary.statements if one.turn >= summary.through - 1 and not one.code]
    aloud = [one for one in words if one.where == "narration"]
    closed = bool(summary.answers) and summary.answers[-1].turn >= summary.through
    if said := not closed and (aloud or [one for one in words if one.where == "thought"]):
        last = [one.text for one in said[-ANNOUNCED:] if one.turn == said[-1].turn]
        text = f"The agent was at: {cut(' '.join(last), ANNOUNCED_SHOWN)}"
        worth = salience("newest check")
        yield Item("Current State", text, (said[-1].turn,), FIRST, worth)
    asked = summary.asked[-1].turn if summary.asked else summary.through
    since = min(summary.through - 1, max([asked, *(one.turn for one in summary.answers[-1:])]))
    if not closed and summary.calls and summary.calls[-1].turn >= since:
        line = told_of(summary, summary.calls[-1])
        shown = 1 if summary.calls[-1].kind == "read" else IN_HAND_RUNGS  # it can be read again
        first, *longer = (f"Last call: {rung}" for rung in line.rungs[:shown])
        turns = (summary.calls[-1].turn,)
        worth = salience("newest check")
        yield Item("Current State", first, turns, FIRST, worth, more=tuple(longer))


def outcome(run: CommandRun) -> str:
    """What a run came to, in words."""
    unit = run.unit or "tests"
    if run.failed:
        counted = f"FAILS, {run.failed} {unit} failed"
        return f"{counted}, {run.passed} passed" if run.passed else counted
    if run.passed and run.success is not False:
        return f"{run.passed} {unit} passed, 0 failed"
    if run.success is None:
        return run.about or "outcome unknown"
    word = "passes" if run.success else "FAILS"
    return f"{word}: {run.about}" if run.about else word


def _checks(summary: Summary) -> Iterator[Item]:
    latest = summary.checks_now()
    edited = max((turn for turn, _ in _edits(summary)), default=-1)
    passed = {purpose: [run.turn for run in latest[purpose] if _passes(run)] for purpose in latest}
    lint = passed.get("lint", ())
    for purpose, runs in sorted(latest.items(), key=lambda one: CHECKS.index(one[0])):
        unseen = _unseen(summary, purpose)
        since = [*passed.get("test", ()), *(lint if edited > runs[0].turn else ())]
        if purpose == "build" and _fails(runs[0]) and any(turn > runs[0].turn for turn in since):
            continue  # what is checked was built
        failing = [run for run in runs[1:] if _fails(run) and not _settled(run, runs)]
        fresh = [run for run in runs[1:] if _passes(run) and run.turn > edited]
        shown = dict.fromkeys((runs[0], *failing[:FAILING_SHOWN], *fresh[:FRESH_SHOWN]))
        for place, run in enumerate(shown):
            text = f"{purpose}: `{run.command}`: {outcome(run)}"
            fails = _fails(run)
            again = [one for one in unseen if one.turn > run.turn]
            if fails and again:
                text += _run_again(run, again)
            elif edited > run.turn and (fails or purpose != "test"):
                # of tests that pass a line below says it
                text += _again(summary, run, edited)
            tells = purpose == "test" and not place  # whether it works: the first thing to know
            waits = fails and not again
            tier = OPEN if tells or waits else FIRST if not place or not fails else THEN
            kind = "newest check" if not place else "failing check" if fails else "older check"
            worth = salience(kind, place=max(0, place - 1))
            yield Item("Current State", text, (run.turn,), tier, worth=worth)


def _run_again(run: CommandRun, again: Sequence[CommandRun]) -> str:
    """What later runs say of a failure that do not tell how they ended: where it is the same line,
    it would have shown it."""
    same = [one.turn for one in again if one.command == run.command]
    if same:
        return f"; run again in t{max(same)} without showing it"
    return f"; run again in t{max(one.turn for one in again)}, its outcome was not shown"


def _unseen(summary: Summary, purpose: str) -> list[CommandRun]:
    """Runs of this purpose of which nobody can tell how they ended: cut by a pipe, say."""
    runs = (run for runs in summary.commands.values() for run in runs)
    return [
        run
        for run in runs
        if run.purpose == purpose
        and run.success is None
        and run.passed is None
        and run.by == "tool"
    ]


_CHANGES_FOLDER = re.compile(r"^cd \S+ && ")


def _again(summary: Summary, run: CommandRun, edited: int) -> str:
    """That it did not run again since the last edit, unless a longer line had all of it in it."""
    runs = (one for runs in summary.commands.values() for one in runs)
    line = _CHANGES_FOLDER.sub("", run.key)
    if any(one.turn >= edited and line in one.key and one.by == "tool" for one in runs):
        return ""
    return f"; not run again since the edit in t{edited}"


def _fails(run: CommandRun) -> bool:
    return bool(run.failed) or run.success is False


def _passes(run: CommandRun) -> bool:
    return not _fails(run) and bool(run.passed or run.success)


def _settled(run: CommandRun, runs: list[CommandRun]) -> bool:
    """Whether a later run that passes is a part of it, or has it as a part."""
    return any(
        later.turn > run.turn
        and not _fails(later)
        and (later.key in run.key or run.key in later.key or (_passes(later) and _is_whole(later)))
        for later in runs
    )


_WHOLE = frozenset({"test", "tests", "check", "ci", "all", "pytest", "tox", "nox"})
"""Last words of a command that runs all tests there are."""


def _is_whole(run: CommandRun) -> bool:
    """Whether a run names no part of the project, and so checks all of it."""
    words = [word for word in run.key.replace("./...", "").split() if not word.startswith("-")]
    return not run.folder and bool(words) and words[-1] in _WHOLE


def _edits(summary: Summary) -> list[tuple[int, str]]:
    """Files of the work that are different, with the turn that changed each last."""
    return sorted(
        (standing(events)[-1].turn, path)
        for path, events in summary.files.items()
        if net(events) and not all(event.scratch for event in events)
    )


def _since(summary: Summary) -> Iterator[Item]:
    """What was edited after the last test run and the last commit; and absences, which prose
    forgets."""
    edits = _edits(summary)
    tests = [run.turn for run in summary.checks_now().get("test", ())[:1]]
    ran = any(run.purpose == "test" for runs in summary.commands.values() for run in runs)
    if edits and not tests and summary.commands and not ran:
        text, turns = _untested(summary, edits[-1][0])
        yield Item("Current State", text, turns, FIRST, salience("absence"))
    for label, done in (("test run", tests), ("commit", summary.committed_in())):
        if later := [(turn, path) for turn, path in edits if done and turn > max(done)]:
            named = ", ".join(path for _, path in later[-EDITED_SHOWN:])
            more = f" and {len(later) - EDITED_SHOWN} more" if len(later) > EDITED_SHOWN else ""
            text = f"Edited since the last {label}: {named}{more}"
            turns = tuple(turn for turn, _ in later)
            yield Item("Current State", text, turns, FIRST, salience("edited since"))


_PROGRAM = re.compile(
    r"(?:python3?|node|bun|deno run|ruby|go run|cargo run|uv run|npx tsx|bash|sh) \S|\./\S"
)
"""A command that runs the project's own program."""


def _untested(summary: Summary, edited: int) -> tuple[str, tuple[int, ...]]:
    """No test was run; a program that ran since the last edit may have shown that it works."""
    runs = [run for runs in summary.commands.values() for run in runs]
    runs = [run for run in runs if run.by == "tool" and _PROGRAM.match(run.command)]
    last = max(runs, key=lambda run: run.turn, default=None)
    if last is None or last.turn < edited:
        return "No test was run", ()
    came = f": {outcome(last)}" if last.success is not None else ""
    return f"No test was run; since the last edit `{last.command}` was{came}", (last.turn,)


def _tasks(summary: Summary) -> Iterator[Item]:
    latest = summary.tasks_now()
    done = [todo for todo in latest if todo.status == "completed"]
    if not latest:
        return
    last = max(todo.turn for todo in done or latest)
    text = f"Tasks: {len(done)} of {len(latest)} completed"
    yield Item("Current State", text, (last,), FIRST, worth=salience("task count"))
    for place, todo in enumerate(reversed(done)):
        set_at = summary.todos[todo.key][0].turn
        text = f"Done: {todo.text}"
        worth = salience("task done", place=place)
        yield Item("Current State", text, (set_at, todo.turn), THEN, worth=worth)


def _repository(summary: Summary) -> Iterator[Item]:
    replaced = {one.replaces for one in summary.repository if one.replaces}
    known = [one for one in summary.repository if one.name not in replaced]
    made = [one for one in known if one.what == "commit"]
    newest: dict[str, Committed] = {one.what: one for one in summary.repository}
    noted = summary.session.get("branch", ())
    branches = [(b.turn, b.name) for b in known if b.what == "branch" and b.name]
    branches += [(one.turn, one.value) for one in noted if one.value]
    if branches:
        turn, name = max(branches)
        yield Item("Current State", f"Branch `{name}`", (turn,), FIRST, salience("branch"))
    heads = [one for one in known if one.what in ("head", "commit") and (one.name or one.about)]
    head = _pushed(known, heads[-1] if heads else None)
    if head is not None:
        yield Item("Current State", _commit("HEAD", head), (head.turn,), FIRST, salience("head"))
    for place, one in enumerate(reversed(made)):
        if head is None or one.name != head.name:
            text = _commit("Commit", one)
            yield Item("Current State", text, (one.turn,), THEN, salience("commit", place=place))
    for what, label in (("push", "Pushed"), ("pull_request", "Pull request"), ("tag", "Tag")):
        if (last := newest.get(what)) is not None:
            text = f"{label}: {last.name}"
            yield Item("Current State", text, (last.turn,), FIRST, salience("published"))
    if summary.lacks_commit():
        yield Item("Current State", "The agent made no commit", (), FIRST, salience("absence"))


def _actions(summary: Summary) -> Iterator[Item]:
    """What was done for the user, the newest first where there is no room for all."""
    last = summary.calls[-1] if summary.calls else None
    for place, action in enumerate(reversed(summary.actions)):
        if last and last.turn == action.turn and last.what == f"called {action.tool}":
            continue  # it is told as the last call
        about = f" ({action.about})" if action.about else ""
        came = f": {action.result}" if action.result else ""
        text = f"Done: {action.tool}{about}{came}"
        tier = OPEN if place < ACTIONS_SHOWN else THEN
        yield Item("Current State", text, (action.turn,), tier, salience("action", place=place))


def _values(summary: Summary) -> Iterator[Item]:
    """What the user gave in a talk: names, dates, amounts, wishes, each as it is now."""
    for said in summary.values_now():
        worth = salience("value given", recent=said.turn / max(1, summary.through))
        yield Item("Current State", f'"{one_line(said.text)}"', (said.turn,), FIRST, worth)


def _pushed(known: list[Committed], head: Committed | None) -> Committed | None:
    """The newest commit that is known: what was pushed since, where a rebase made new ones."""
    pushes = [one for one in known if one.what == "push" and _HASH.match(one.about)]
    if not pushes or (head is not None and pushes[-1].turn <= head.turn):
        return head
    name = _HASH.match(pushes[-1].about)
    if name is None:
        return head
    made = [one for one in known if one.what == "commit" and one.name.startswith(name[0])]
    return made[-1] if made else replace(pushes[-1], name=name[0], about="")


def _commit(label: str, commit: Committed) -> str:
    about = f'"{commit.about}"' if commit.about else ""
    return " ".join(part for part in (label, commit.name, about) if part)


def _session(summary: Summary) -> Iterator[Item]:
    for name in NOTED:
        if noted := summary.session.get(name):
            latest = noted[-1]
            label = name.replace("_", " ").capitalize()
            if latest.value:
                text = f"{label}: {latest.value}"
                yield Item("Current State", text, (latest.turn,), FIRST, salience("session"))
