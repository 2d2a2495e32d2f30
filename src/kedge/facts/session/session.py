"""What a session is in: its mode, its plan file, its folder, its model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.session.tool_names import ENTER_PLAN, EXIT_PLAN, plain_name
from kedge.model import Change, SessionFacts, SessionNoted, Turn
from kedge.outcomes import Outcome, Run

PLAN_MODE = "plan"
PLAN_LEFT = "plan approved"
"""The mode behind plan mode: which one it is, the calls do not say."""
KEPT = ("branch", "mode", "title", "pull_request")
"""What a client records that is taken as it is. Its version and the session's id help nobody."""
NOTE = 4_000
"""Characters of a note in which the client says where things are."""
SCRATCH = ("/tmp", "/private/tmp", "/var/folders", "/private/var/folders", "$", "~/tmp")
CLIENTS_PLANS = "/.claude/plans/"
VALUE = 400
"""Characters of a value: a path."""

_PLAN_SAVED = re.compile(
    r"plan (?:has been |was )?saved to:? {0,3}(\S{1,400}\.md)\b", re.IGNORECASE
)
_PLAN_AT = re.compile(
    r"plan file[^\n]{0,200}?(/\S{1,400}\.md)\b|(?:create|write|build) your plan (?:at|in|to) "
    r"(/\S{1,400}\.md)\b",
    re.IGNORECASE,
)
_FOLDER = re.compile(r"<cwd>([^<\n]{1,400})</cwd>")
_PLANS = re.compile(r"(?:^|/)plans/[^/]{1,200}\.md$")


class SessionExtractor:
    """What the turns themselves show of the session, where it changes."""

    def __init__(self, setting: Setting) -> None:
        self._known: dict[str, str] = {"folder": setting.root}

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[SessionNoted]:
        if turn.model and not turn.model.startswith("<"):
            yield from self._note(turn.index, "model", turn.model)
        for note in turn.notes:
            text = note.text[:NOTE]
            if note.kind == "environment" and (folder := _FOLDER.search(text)):
                yield from self._note(turn.index, "folder", folder[1].strip())
            elif note.kind == "injected" and (plan := _PLAN_AT.search(text)):
                yield from self._note(turn.index, "plan_file", plan[1] or plan[2])
        for outcome in outcomes:
            yield from self._called(turn.index, outcome)

    def _called(self, turn: int, outcome: Outcome) -> Iterator[SessionNoted]:
        if not outcome.success:
            return
        name = plain_name(outcome.call)
        if name in ENTER_PLAN:
            yield from self._note(turn, "mode", PLAN_MODE)
        elif name in EXIT_PLAN:
            yield from self._left(turn, outcome)
        elif outcome.call.verb == "write":
            for path in outcome.changed:
                if self._is_plan(path.replace("\\", "/")):
                    yield from self._note(turn, "plan_file", path)
        for run in outcome.runs:
            if run.words[:1] == ("cd",):
                return
            yield from self._worktree(turn, run)

    def _is_plan(self, path: str) -> bool:
        """Whether a file is the client's plan file; any plans folder is, in plan mode."""
        planning = self._known.get("mode") == PLAN_MODE
        return _PLANS.search(path) is not None and (planning or CLIENTS_PLANS in path)

    def _left(self, turn: int, outcome: Outcome) -> Iterator[SessionNoted]:
        yield from self._note(turn, "mode", PLAN_LEFT)
        output = "" if outcome.result is None else outcome.result.output[:NOTE]
        if saved := _PLAN_SAVED.search(output):
            yield from self._note(turn, "plan_file", saved[1])

    def _worktree(self, turn: int, run: Run) -> Iterator[SessionNoted]:
        """A worktree that was added, or the last one that is gone. One in a temporary folder, or
        made after a change of folder, is a trial."""
        if run.success is not True or run.words[:2] != ("git", "worktree") or len(run.words) < 4:
            return
        named = (word for word in _without_branch(run.words[3:]) if word[:1] != "-")
        paths = [word for word in named if not word.startswith(SCRATCH)]
        if run.words[2] == "add" and paths:
            yield from self._note(turn, "worktree", paths[0])
        elif run.words[2] == "remove" and paths and paths[0] == self._known.get("worktree"):
            yield from self._note(turn, "worktree", "")

    def _note(self, turn: int, name: str, value: str) -> Iterator[SessionNoted]:
        value = value[:VALUE]
        if self._known.get(name) != value:
            self._known[name] = value
            yield SessionNoted(turn=turn, name=name, value=value)


def session_facts(session: SessionFacts, turns: Iterable[Turn]) -> tuple[SessionNoted, ...]:
    """What the client recorded of the session, each with the first turn it holds for.

    A client names the plan file of every session beforehand; it is given only from the turn on at
    which there is a plan. A folder below the root is where the shell stands, no other root.
    """
    last, planned = _last_and_planned(turns)
    found: list[SessionNoted] = []
    root = ""
    for change in session.changes:
        turn = min(change.turn, last)
        if change.name in KEPT and not _is_no_branch(change, found):
            found.append(SessionNoted(turn=turn, name=change.name, value=change.value))
        elif change.name == "root":
            below = bool(root) and f"{change.value}/".startswith(f"{root.rstrip('/')}/")
            root = root if below else change.value
            name = "folder" if below else "root"
            found.append(SessionNoted(turn=turn, name=name, value=change.value))
    found.extend(_plan_files(session.changes, planned, last))
    return tuple(sorted(found, key=lambda fact: fact.turn))


def _is_no_branch(change: Change, found: Sequence[SessionNoted]) -> bool:
    """Clients record this for a folder without a repository; behind a branch it is a commit."""
    is_head = (change.name, change.value) == ("branch", "HEAD")
    return is_head and not any(one.name == "branch" for one in found)


def _plan_files(changes: Iterable[Change], planned: int, last: int) -> Iterator[SessionNoted]:
    modes = (one.turn for one in changes if one.name == "mode" and one.value == PLAN_MODE)
    since = min((turn for turn in (planned, next(modes, -1)) if turn >= 0), default=-1)
    named = [change for change in changes if change.name == "plan_file"]
    for change in named if since >= 0 else ():
        turn = min(max(change.turn, since), last)
        yield SessionNoted(turn=turn, name="plan_file", value=change.value)


def _last_and_planned(turns: Iterable[Turn]) -> tuple[int, int]:
    """The index of the last turn, and of the first with a plan; -1 where there is none."""
    last, planned = 0, -1
    for turn in turns:
        last = max(last, turn.index)
        if planned < 0 and has_plan(turn):
            planned = turn.index
    return last, planned


def has_plan(turn: Turn) -> bool:
    """Whether a turn shows that there is a plan."""
    return any(note.kind == "plan" for note in turn.notes) or any(
        plain_name(call) in ENTER_PLAN | EXIT_PLAN for call in turn.tool_calls
    )


def _without_branch(words: Sequence[str]) -> Iterator[str]:
    """Words of `git worktree add` without options that take a value."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-b", "-B", "--reason"):
            skip = True
        else:
            yield word
