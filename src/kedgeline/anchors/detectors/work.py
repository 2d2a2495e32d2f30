"""Anchors of what is done: commands that reached something, tests that verify, errors fixed,
requests carried out, lists done and branches merged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kedgeline.anchors.evidence import (
    EFFECTS,
    KEPT,
    NAMES,
    REMEMBERED,
    SCRATCH,
    Changes,
    Failures,
    Todos,
    files_named,
    first_line,
    first_word,
    first_words,
    leaves_open,
    own_name,
    passes,
    tests_fail,
    verified_by,
)
from kedgeline.model import AnchorType, Turn
from kedgeline.shell import Outcome, Purpose, Run, says_reached

# A command reached something that lasts: installed, built, deployed, committed, pushed.

LOOKED_AT = 4_000
"""Characters of an output looked at from either end for what a command says it did."""
MOST_SAID = 240
"""Characters of a description: three milestones in one turn."""
REACHED: dict[Purpose, str] = {
    "build": "Built",
    "install": "Installed",
    "deploy": "Deployed",
    "migration": "Migrated",
    "commit": "Committed",
    "push": "Pushed",
    "pull_request": "Pull request created",
}
REPEATED: frozenset[Purpose] = frozenset({"deploy", "migration"})
"""The same again reaches something once files have changed."""

_NOTHING_DONE = frozenset({"--dry-run", "--delete", "-d", "--help", "-h", "--abort"})
"""Words with which these commands reach nothing, or undo."""
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] (.{1,400})", re.MULTILINE)
_REQUEST = re.compile(r"https?://\S{1,200}/(?:pull|merge_requests|pull-requests)/\d{1,9}")


class CommandMilestone:
    name = "command-milestone"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()
        self._known: dict[str, None] = {}
        """What was reached already; each counts once."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        told: dict[str, None] = {}
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            if outcome.changed:
                self._forget(*REPEATED, "script")
            if not self._tries_out(outcome):
                output = _ends(outcome)
                told.update(dict.fromkeys(self._reached(run, output) for run in outcome.runs))
                if says_reached(outcome.runs, output):
                    told[self._once("script", "Completed", outcome.runs[-1].text)] = None
        return "; ".join(filter(None, told))[:MOST_SAID]

    def _tries_out(self, outcome: Outcome) -> bool:
        """Whether a call works where things are tried out, and the conversation elsewhere."""
        made = any(run.words[:2] == ("git", "init") for run in outcome.runs)
        return (made or self._changes.elsewhere) and any(
            run.words[:1] == ("cd",) and f"{run.words[-1]}/".startswith(SCRATCH)
            for run in outcome.runs
        )

    def _reached(self, run: Run, output: str) -> str:
        purpose = run.purpose
        if purpose == "build" and run.success is False:
            self._forget("build")
        if run.success is not True or _NOTHING_DONE.intersection(run.words):
            return ""
        if purpose not in REACHED:
            return ""
        what = run.text
        if purpose == "commit":
            what = next(iter(_COMMITTED.findall(output)[::-1]), what)
        elif purpose == "pull_request":
            found = _REQUEST.search(output)
            return f"{REACHED[purpose]}: {found[0]}" if found else REACHED[purpose]
        elif purpose == "push":
            return f"{REACHED[purpose]}: {first_line(what)}"
        return self._once(purpose, REACHED[purpose], what)

    def _once(self, kind: str, word: str, what: str) -> str:
        """Nothing where it was reached before. A build that passes again is the routine of editing
        and building, whatever was built."""
        key = kind if kind == "build" else f"{kind} {what[:KEPT]}"
        if key in self._known:
            return ""
        self._known[key] = None
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return f"{word}: {first_line(what)}"

    def _forget(self, *kinds: str) -> None:
        for key in [key for key in self._known if key.partition(" ")[0] in kinds]:
            del self._known[key]


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
                    found = f"Changes in {files_named(changed)} verified: {verified_by(run)}"
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
        return f"Error fixed in {files_named(changed)} and {verified_by(run)}" if changed else ""


# A feature is through: the todo list done, a merge, a tag.

LEAST_ITEMS = 2
"""Items that make a todo list; a single one is the request itself."""
MERGE_TOOLS = ("mergepullrequest", "mergemergerequest", "acceptmergerequest")
"""Ends of the names of servers' tools that merge; without case, dashes and underscores."""
MAIN_LINES = frozenset({"main", "master", "develop", "dev", "trunk", "head", "fetch_head"})
"""Merging one of these brings a branch up to date; nothing of its own is through."""
NOT_MERGING = frozenset({"--abort", "--quit", "--no-commit", "--help", "-h", "--disable-auto"})
UP_TO_DATE = ("Already up to date", "Already up-to-date")


class FeatureMilestone:
    name = "feature-milestone"
    type: AnchorType = "feature_milestone"
    confidence = 0.92

    def __init__(self) -> None:
        self._todos = Todos()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        for outcome in outcomes:
            self._todos.take(outcome)
        done, last = self._todos.completed()
        if done >= LEAST_ITEMS:
            return f"All {done} todos done: {first_line(last)}"
        return _merged_or_tagged(outcomes)


def _merged_or_tagged(outcomes: Iterable[Outcome]) -> str:
    for outcome in outcomes:
        folded = outcome.call.tool.replace("_", "").replace("-", "").casefold()
        if outcome.success and folded.endswith(MERGE_TOOLS):
            return f"Merged: {first_line(outcome.call.tool)}"
        output = "" if outcome.result is None else outcome.result.output
        for run in outcome.runs:
            if run.success is True and run.purpose == "merge" and _merges(run, output):
                return f"Merged: {first_line(run.text)}"
            if run.success is True and run.purpose == "tag":
                return f"Tagged: {first_line(run.text)}"
    return ""


def _merges(run: Run, output: str) -> bool:
    refs = [word.rpartition("/")[2].casefold() for word in run.words[1:] if word[:1] != "-"]
    return (
        not NOT_MERGING.intersection(run.words)
        and not MAIN_LINES.intersection(refs)
        and not output.lstrip().startswith(UP_TO_DATE)
    )


# A request was carried out: files changed and tests pass, or the answer leaves nothing open.

CLOSING_TOOLS = frozenset(
    {"submit", "finish", "attempt_completion", "complete_task", "task_complete"}
)
"""Tools by which an agent hands its work in; it then has no closing answer."""
MOST_EFFECTS = 3
"""Effects remembered of an exchange: a description names no more."""


class TaskCompletion:
    name = "task-completion"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()
        self._failures = Failures()
        self._exchange = 0
        self._effects: dict[str, None] = {}
        self._verified = self._told = False

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        self._begin(turn.exchange)
        if not turn.tool_calls:
            answer = turn.assistant_response
            if not answer.strip() or leaves_open(answer):
                return ""
            return self._completed(first_words(answer))
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
            self._verified = self._told = False
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
        return f"{files_named(changed)} changed and {verified_by(run)}" if clear else ""

    def _handed_in(self, outcome: Outcome) -> str:
        """The agent hands in what it changed. Often nothing answers, for that is the end."""
        name = own_name(outcome)
        closes = outcome.call.verb == "other" and name in CLOSING_TOOLS
        answered = outcome.success or outcome.result is None
        return self._completed(name) if closes and answered else ""

    def _completed(self, how: str) -> str:
        """Nothing where that was told, something is left open, or nothing was changed."""
        if self._told or self._failures.unanswered:
            return ""
        done_to = files_named(self._changes.since()) or ", ".join(self._effects)
        self._told = bool(done_to)
        return f"Completed: {how} ({done_to})" if done_to else ""

    def _note(self, outcome: Outcome) -> None:
        if not outcome.success:
            return
        effects: list[str] = [
            run.purpose for run in outcome.runs if run.success and run.purpose in EFFECTS
        ]
        tool = own_name(outcome)
        if outcome.call.verb == "other" and first_word(tool) in NAMES["changing_tools"]:
            effects.append(tool)
        for effect in effects:
            if len(self._effects) < MOST_EFFECTS:
                self._effects[effect] = None
