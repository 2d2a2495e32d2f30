"""A command reached something that lasts: installed, built, deployed, committed, pushed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kedge.anchors.evidence import KEPT, NAMED, REMEMBERED, SCRATCH, Changes, shown
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome, Run

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
    more = f" +{len(packages) - NAMED} more" if len(packages) > NAMED else ""
    return f"Installed {', '.join(packages[:NAMED])}{more}"


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
