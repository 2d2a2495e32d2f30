"""Where things stand: what was checked last and what came after, tasks, commits, the session."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from kedge.model import CommandRun, Committed
from kedge.model.fact import standing
from kedge.model.summary import Summary
from kedge.summary.items import FIRST, OPEN, THEN, Item
from kedge.summary.salience import salience
from kedge.summary.sections.delegated import delegated
from kedge.summary.sections.files import net
from kedge.summary.sections.next_steps import tasks

FAILING_SHOWN = 2
"""Older checks that failed and were not run again: a narrower one that passes settles nothing."""
_HASH = re.compile(r"[0-9a-f]{7,40}\b")
CHECKS = ("test", "build", "lint", "deploy", "migration")
EDITED_SHOWN = 6
"""Files named that were edited since the last check."""
ACTIONS_SHOWN = 5
"""Actions that every hand-off tells: the newest."""
NOTED = ("mode", "plan_file", "worktree")
"""What a session notes of itself that matters to who goes on."""


def state(summary: Summary) -> Iterator[Item]:
    yield from _checks(summary)
    yield from _since(summary)
    yield from _uncommitted(summary)
    yield from _tasks(summary)
    yield from _actions(summary)
    yield from _repository(summary)
    yield from _session(summary)
    yield from delegated(summary)


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


def _latest(summary: Summary) -> dict[str, list[CommandRun]]:
    """The newest run of each command that checks something, by purpose."""
    found: dict[str, list[CommandRun]] = {}
    for runs in summary.commands.values():
        done = [run for run in runs if run.success is not None or run.passed is not None]
        if done and done[-1].purpose in CHECKS:
            found.setdefault(done[-1].purpose, []).append(done[-1])
    return {
        purpose: sorted(runs, key=lambda run: -run.turn)
        for purpose, runs in sorted(found.items(), key=lambda one: CHECKS.index(one[0]))
    }


def _checks(summary: Summary) -> Iterator[Item]:
    for purpose, runs in _latest(summary).items():
        unseen = _unseen(summary, purpose)
        failing = [run for run in runs[1:] if _fails(run) and not _settled(run, runs)]
        failing = failing[:FAILING_SHOWN]
        for place, run in enumerate(dict.fromkeys((*runs[:3], *failing))):
            text = f"{purpose}: `{run.command}`: {outcome(run)}"
            fails = _fails(run)
            again = max((turn for turn in unseen if turn > run.turn), default=0)
            if fails and again:
                text += f"; run again in t{again}, its outcome was not shown"
            tells = purpose == "test" and not place  # whether it works: the first thing to know
            waits = fails and not again and run in (runs[0], *failing)
            tier = OPEN if tells or waits else FIRST if not place else THEN
            kind = "newest check" if not place else "failing check" if fails else "older check"
            worth = salience(kind, place=max(0, place - 1))
            yield Item("Current State", text, (run.turn,), tier, worth=worth)


def _unseen(summary: Summary, purpose: str) -> list[int]:
    """Turns of runs of this purpose of which nobody can tell how they ended: cut by a pipe, say."""
    runs = (run for runs in summary.commands.values() for run in runs)
    return [
        run.turn
        for run in runs
        if run.purpose == purpose
        and run.success is None
        and run.passed is None
        and run.by == "tool"
    ]


def _fails(run: CommandRun) -> bool:
    return bool(run.failed) or run.success is False


def _settled(run: CommandRun, runs: list[CommandRun]) -> bool:
    """Whether a later run that passes is a part of it, or has it as a part."""
    return any(
        later.turn > run.turn
        and not _fails(later)
        and (later.key in run.key or run.key in later.key)
        for later in runs
    )


def _since(summary: Summary) -> Iterator[Item]:
    """What was edited after the last test run; and absences, which prose forgets."""
    tested = max((runs[0].turn for p, runs in _latest(summary).items() if p == "test"), default=-1)
    edited = {
        path: standing(events)[-1].turn
        for path, events in summary.files.items()
        if net(events) and not all(event.scratch for event in events)
    }
    by_turn = sorted(edited.items(), key=lambda one: one[1])
    later = {path: turn for path, turn in by_turn if turn > tested}
    if not edited:
        return
    if tested < 0:
        ran = any(run.purpose == "test" for runs in summary.commands.values() for run in runs)
        if summary.commands and not ran:
            yield Item("Current State", "No test was run", (), FIRST, salience("absence"))
    elif later:
        named = ", ".join([*later][-EDITED_SHOWN:])
        more = f" and {len(later) - EDITED_SHOWN} more" if len(later) > EDITED_SHOWN else ""
        text = f"Edited since the last test run: {named}{more}"
        yield Item("Current State", text, tuple(later.values()), FIRST, salience("edited since"))


def _uncommitted(summary: Summary) -> Iterator[Item]:
    """What was edited after the last commit of the session."""
    made = [one.turn for one in summary.repository if one.what == "commit"]
    edits = {
        path: standing(events)[-1].turn
        for path, events in summary.files.items()
        if net(events) and not all(event.scratch for event in events)
    }
    later = sorted((turn, path) for path, turn in edits.items() if made and turn > made[-1])
    if later:
        named = ", ".join(path for _, path in later[-EDITED_SHOWN:])
        more = f" and {len(later) - EDITED_SHOWN} more" if len(later) > EDITED_SHOWN else ""
        text = f"Edited since the last commit: {named}{more}"
        turns = tuple(turn for turn, _ in later)
        yield Item("Current State", text, turns, FIRST, salience("edited since"))


def _tasks(summary: Summary) -> Iterator[Item]:
    latest = tasks(summary)
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
    shell = any(run.by == "tool" for runs in summary.commands.values() for run in runs)
    if summary.files and shell and not made:  # a client without a shell may commit by itself
        yield Item("Current State", "The agent made no commit", (), FIRST, salience("absence"))


def _actions(summary: Summary) -> Iterator[Item]:
    """What was done for the user, the newest first where there is no room for all."""
    for place, action in enumerate(reversed(summary.actions)):
        about = f" ({action.about})" if action.about else ""
        came = f": {action.result}" if action.result else ""
        text = f"Done: {action.tool}{about}{came}"
        tier = OPEN if place < ACTIONS_SHOWN else THEN
        yield Item("Current State", text, (action.turn,), tier, salience("action", place=place))


def _pushed(known: list[Committed], head: Committed | None) -> Committed | None:
    """The newest commit that is known: what was pushed since, where a rebase made new ones."""
    pushes = [one for one in known if one.what == "push" and _HASH.match(one.about)]
    if not pushes or (head is not None and pushes[-1].turn <= head.turn):
        return head
    name = _HASH.match(pushes[-1].about)
    if name is None:
        return head
    made = [one for one in known if one.what == "commit" and one.name.startswith(name[0])]
    return made[-1] if made else replace(pushes[-1], name=name[0], about="pushed")


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
