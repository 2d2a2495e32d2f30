"""A command reached something that lasts: installed, built, deployed, committed, pushed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from kedgeline.anchors.evidence import (
    KEPT,
    NAMES,
    REMEMBERED,
    SCRATCH,
    Changes,
    Failures,
    Todos,
    listed,
    named,
    passes,
    reported_done,
    shown,
    tests_fail,
    verified_by,
)
from kedgeline.model import AnchorType, Turn
from kedgeline.shell import Outcome, Run, says_reached
from kedgeline.text.spoken import opens_task, quoted

LOOKED_AT = 4_000
"""Characters of an output looked at from either end for what a command says it did."""
MOST_SAID = 240
"""Characters of a description: three milestones in one turn."""

_NOTHING_DONE = frozenset({"--dry-run", "--delete", "-d", "--help", "-h", "--abort"})
"""Words with which these commands reach nothing, or undo."""
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] (.{1,400})", re.MULTILINE)
_REQUEST = re.compile(r"https?://\S{1,200}/(?:pull|merge_requests|pull-requests)/\d{1,9}")
_PUSHED = re.compile(r"^ .{0,200} -> (\S{1,200})", re.MULTILINE)
_INSTALLING = frozenset({"install", "add", "i", "get", "require"})
_MAKING = frozenset({"init", "create", "new", "clone", "venv", "link"})
_FROM_FILE = frozenset({"-r", "--requirement", "-e", "--editable", "-c", "--constraint"})


class CommandMilestone:
    name = "command-milestone"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()
        self._installed: dict[str, None] = {}
        """Commands; each counts once."""
        self._brought: dict[str, None] = {}
        """Deployments and migrations since a file last changed; the same again brings nothing."""
        self._messages: dict[str, None] = {}
        """Of commits: amending one under the same message reaches nothing new."""
        self._build_due = True
        """No build has passed yet, or the last one failed. A build that passes again is the
        routine of editing and building."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        said: dict[str, None] = {}
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            if outcome.changed:
                self._brought.clear()
            if self._tries_out(outcome):
                continue
            output = _ends(outcome)
            for run in outcome.runs:
                if words := self._reached(run, output):
                    said[words] = None
            if says_reached(outcome.runs, output) and _first(self._brought, outcome.runs[-1].text):
                said[f"Completed: {shown(outcome.runs[-1].text)}"] = None
        return "; ".join(said)[:MOST_SAID]

    def _tries_out(self, outcome: Outcome) -> bool:
        """Whether a call works where things are tried out, and the conversation elsewhere."""
        made = any(run.words[:2] == ("git", "init") for run in outcome.runs)
        return (made or self._changes.elsewhere) and any(
            run.words[:1] == ("cd",) and f"{run.words[-1]}/".startswith(SCRATCH)
            for run in outcome.runs
        )

    def _reached(self, run: Run, output: str) -> str:
        if run.purpose == "build" and run.success is False:
            self._build_due = True
        if run.success is not True or _NOTHING_DONE.intersection(run.words):
            return ""
        match run.purpose:
            case "build":
                due, self._build_due = self._build_due, False
                return f"Built: {shown(run.text)}" if due else ""
            case "install":
                return _installed(run) if _first(self._installed, run.text) else ""
            case "deploy":
                return f"Deployed: {shown(run.text)}" if _first(self._brought, run.text) else ""
            case "migration":
                return f"Migrated: {shown(run.text)}" if _first(self._brought, run.text) else ""
            case "commit":
                return self._committed(run, output)
            case "push":
                return _pushed(run, output)
            case "pull_request":
                return _requested(run, output)
        return ""

    def _committed(self, run: Run, output: str) -> str:
        found = _COMMITTED.findall(output)
        given = _given_message(run.words)
        message = next((one for one in found if one == shown(given)), found[-1] if found else given)
        new = _first(self._messages, message)
        if not new and "--amend" in run.words:
            return ""
        return f"Committed: {shown(message)}" if message else "Committed"


def _given_message(words: Sequence[str]) -> str:
    """The first line of the message after `-m`, unless a command was to write it."""
    for option, value in pairwise(words):
        if option == "--message" or (option.startswith("-") and option[-1:] == "m"):
            line = value.strip().partition("\n")[0]
            return "" if line.startswith(("$(", "`")) else line
    return next((word.partition("=")[2] for word in words if word.startswith("--message=")), "")


def _pushed(run: Run, output: str) -> str:
    at = run.words.index("push") if "push" in run.words else len(run.words)
    if where := [word for word in run.words[at + 1 :] if not word.startswith("-")]:
        return f"Pushed to {shown(' '.join(where))}"
    found = _PUSHED.search(output)
    return f"Pushed {shown(found[1])}" if found else "Pushed"


def _requested(run: Run, output: str) -> str:
    if not {"create", "new", "pull-request"}.intersection(run.words):
        return ""
    found = _REQUEST.search(output)
    return f"Pull request created: {found[0]}" if found else "Pull request created"


def _installed(run: Run) -> str:
    packages: list[str] = []
    at = next((n for n, word in enumerate(run.words) if word in _INSTALLING), None)
    if at is not None and not _FROM_FILE.intersection(run.words):
        packages = [word for word in run.words[at + 1 :] if word[:1] not in ("-", ".", "/")]
    if not packages:
        what = "Set up" if _MAKING.intersection(run.words) else "Installed dependencies"
        return f"{what}: {shown(run.text)}"
    return f"Installed {listed(tuple(packages))}"


def _first(known: dict[str, None], key: str) -> bool:
    """Whether this is new; it is remembered, and the oldest goes."""
    if key[:KEPT] in known:
        return False
    known[key[:KEPT]] = None
    if len(known) > REMEMBERED:
        del known[next(iter(known))]
    return True


def _ends(outcome: Outcome) -> str:
    output = "" if outcome.result is None else outcome.result.output
    if len(output) <= 2 * LOOKED_AT:
        return output
    return f"{output[:LOOKED_AT]}\n{output[-LOOKED_AT:]}"


# Tests pass after files changed since they last did, however many turns lie between.


class VerifiedTests:
    name = "verified-tests"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        found, failing = "", tests_fail(outcomes)
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            for run in outcome.runs:
                changed = self._changes.tested_since() if passes(run) and not failing else ()
                if changed:
                    found = f"Changes in {named(changed)} verified: {verified_by(run)}"
                    self._changes.forget()
        return found


# An error was open, files were changed, and now a run shows that it is gone.


class ErrorResolution:
    name = "error-resolution"
    type: AnchorType = "error_resolution"
    confidence = 0.95

    def __init__(self) -> None:
        self._changes = Changes()
        self._failures = Failures()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        self._failures.begin(turn.exchange)
        before = self._changes.count
        found = ""
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            self._failures.take(outcome, self._changes.count)
            for run in outcome.runs:
                found = self._resolved(run, before if turn.previous_error else None) or found
        return "" if tests_fail(outcomes) else found

    def _resolved(self, run: Run, before: int | None) -> str:
        """What a run resolves. `before` counts the changes before this turn where the turn is
        known to follow an error that no call of ours told of."""
        if run.success is False:
            self._failures.fail(run, self._changes.count)
        if run.success is not True or (run.purpose == "test" and not passes(run)):
            return ""
        mended = self._failures.mend(run)
        since = [failure.since for failure in mended if failure.purpose != "lint"]
        if before is not None and passes(run):
            since.append(before)
        changed = self._changes.tested_since(min(since)) if since else ()
        return f"Error fixed in {named(changed)} and {verified_by(run)}" if changed else ""


# A feature is through: the todo list done, a merge, a tag; or the user opens another task.

QUOTED = 80
"""Characters of the user's words that a description shows."""
LEAST_ITEMS = 2
"""Items that make a todo list; a single one is the request itself."""
WORK = 2
"""Calls that succeeded since the last shift, from which there was a task to shift from."""
TALK = 1_200
"""The same in characters of answers, for conversations without calls."""
MESSAGE = 1_500
"""Characters of a message, beyond which it is pasted text rather than a change of direction."""

MERGE_TOOLS = ("mergepullrequest", "mergemergerequest", "acceptmergerequest")
"""Ends of the names of servers' tools that merge; without case, dashes and underscores."""
MAIN_LINES = frozenset({"main", "master", "develop", "dev", "trunk", "head", "fetch_head"})
"""Merging one of these brings a branch up to date; nothing of its own is through."""
NOT_MERGING = frozenset({"--abort", "--quit", "--no-commit", "--help", "-h", "--disable-auto"})
NOT_TAGGING = frozenset(
    {"-l", "--list", "-d", "--delete", "-n", "--contains", "--points-at", "-v", "--help", "view"}
)
UP_TO_DATE = ("Already up to date", "Already up-to-date")


class FeatureMilestone:
    name = "feature-milestone"
    type: AnchorType = "feature_milestone"
    confidence = 0.92

    def __init__(self) -> None:
        self._todos = Todos()
        self._exchange = 0
        self._calls = 0
        """Calls that succeeded since the last shift."""
        self._talk = 0
        """Characters of answers since the last shift."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        shift = self._shift(turn)
        for outcome in outcomes:
            self._todos.take(outcome)
        self._calls += sum(outcome.success for outcome in outcomes)
        self._talk += len(turn.assistant_response)
        return self._list_done() or _merged_or_tagged(outcomes) or shift

    def _list_done(self) -> str:
        done, last = self._todos.completed()
        return f"All {done} todos done: {shown(last)}" if done >= LEAST_ITEMS else ""

    def _shift(self, turn: Turn) -> str:
        new = turn.exchange != self._exchange
        self._exchange = turn.exchange
        worked = self._calls >= WORK or self._talk >= TALK
        words = turn.user_message
        if not new or not worked or len(words) > MESSAGE or not opens_task(words):
            return ""
        self._calls = self._talk = 0
        return f"New task: {quoted(words, QUOTED)}"


def _merged_or_tagged(outcomes: Iterable[Outcome]) -> str:
    for outcome in outcomes:
        if outcome.success and _folded(outcome.call.tool).endswith(MERGE_TOOLS):
            return f"Merged: {shown(outcome.call.tool)}"
        output = "" if outcome.result is None else outcome.result.output
        for run in outcome.runs:
            if run.success is True and run.purpose == "merge" and _merges(run, output):
                return f"Merged: {shown(run.text)}"
            if run.success is True and run.purpose == "tag" and _tags(run):
                return f"Tagged: {shown(run.text)}"
    return ""


def _merges(run: Run, output: str) -> bool:
    refs = [word.rpartition("/")[2].casefold() for word in run.words[1:] if word[:1] != "-"]
    return (
        not NOT_MERGING.intersection(run.words)
        and not MAIN_LINES.intersection(refs)
        and not output.lstrip().startswith(UP_TO_DATE)
    )


def _tags(run: Run) -> bool:
    """Whether a tag is made; without a name, tags are listed."""
    at = run.words.index("tag") if "tag" in run.words else len(run.words) - 2
    return len(run.words) > at + 1 and not NOT_TAGGING.intersection(run.words)


def _folded(tool: str) -> str:
    return tool.replace("_", "").replace("-", "").casefold()


# A request was carried out: files changed and tests pass, or the closing answer says so.

EFFECTS = frozenset(
    {"commit", "push", "pull_request", "merge", "tag", "deploy", "migration", "install"}
)
"""Purposes of commands that change something, also where no file is known to have changed."""
CLOSING_TOOLS = frozenset(
    {"submit", "finish", "attempt_completion", "complete_task", "task_complete"}
)
"""Tools by which an agent hands its work in; it then has no closing answer."""
MOST_EFFECTS = 3
"""Effects remembered of an exchange: a description names no more."""

_PARTS = re.compile(r"__|[./:]")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class TaskCompletion:
    name = "task-completion"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()
        self._failures = Failures()
        self._exchange = 0
        self._effects: list[str] = []
        self._verified = False
        self._reported = False

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        self._begin(turn.exchange)
        if not turn.tool_calls:
            return self._closed(turn.assistant_response)
        found = ""
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            self._failures.take(outcome, self._changes.count)
            found = self._handed_in(outcome) or found
            self._note(outcome)
            for run in outcome.runs:
                found = self._passed(run) or found
        return "" if tests_fail(outcomes) else found

    def _begin(self, exchange: int) -> None:
        if exchange != self._exchange:
            self._exchange = exchange
            self._changes.forget()
            self._effects.clear()
            self._verified = self._reported = False
        self._failures.begin(exchange)

    def _passed(self, run: Run) -> str:
        """The seed's form: files changed and tests pass, with nothing wrong before. The first pass
        of an exchange decides; what ends an error is for others to tell."""
        clear = not self._failures.unanswered
        if run.success is False:
            self._failures.fail(run, self._changes.count)
        elif run.success:
            self._failures.mend(run)
        changed = self._changes.tested_since() if passes(run) else ()
        if not changed or self._verified:
            return ""
        self._verified = True
        return f"{named(changed)} changed and {verified_by(run)}" if clear else ""

    def _closed(self, answer: str) -> str:
        """The general form: the closing answer reports completion, and calls bear it out."""
        done_to = self._done_to()
        sentence = reported_done(answer) if done_to else ""
        self._reported = self._reported or bool(sentence)
        return f"Completed: {shown(sentence)} ({done_to})" if sentence else ""

    def _handed_in(self, outcome: Outcome) -> str:
        """The same without words: the agent hands in what it changed. Often nothing answers, for
        that is the end."""
        closing = outcome.call.verb == "other" and _own_name(outcome) in CLOSING_TOOLS
        answered = outcome.success or outcome.result is None
        done_to = self._done_to() if closing and answered else ""
        self._reported = self._reported or bool(done_to)
        return f"Completed: {_own_name(outcome)} ({done_to})" if done_to else ""

    def _done_to(self) -> str:
        """What the exchange changed; nothing where that was told, or something is left open."""
        if self._reported or self._failures.unanswered:
            return ""
        return named(self._changes.since()) or ", ".join(self._effects)

    def _note(self, outcome: Outcome) -> None:
        if not outcome.success:
            return
        effects: list[str] = [
            run.purpose for run in outcome.runs if run.success and run.purpose in EFFECTS
        ]
        tool = _own_name(outcome)
        if outcome.call.verb == "other" and first_word(tool) in NAMES["changing_tools"]:
            effects.append(tool)
        for effect in effects:
            if effect not in self._effects and len(self._effects) < MOST_EFFECTS:
                self._effects.append(effect)


def _own_name(outcome: Outcome) -> str:
    """The tool's name without that of a server."""
    return _PARTS.split(outcome.call.tool)[-1]


def first_word(tool: str) -> str:
    """What a tool's own name begins with: `get` of `server__getUser`."""
    found = _WORDS.match(_PARTS.split(tool)[-1])
    return found[0].lower() if found else ""
