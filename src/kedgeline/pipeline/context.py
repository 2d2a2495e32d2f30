"""What a summary has to preserve of a conversation: files, goals, errors, the build, the intent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.model import (
    MOST_ERRORS,
    MOST_FILES,
    MOST_GOALS,
    BuildStatus,
    PreservationContext,
    ToolCall,
    Turn,
)
from kedgeline.outcomes import Counts, Outcome, Purpose, Run, Touch, outcomes_of
from kedgeline.outcomes.telling import telling_line
from kedgeline.text.prose import LOOKED_AT, cut, first_sentence, one_line, sentences

__all__ = ["Extraction", "extract_from_turns", "goals_of", "relative"]


# What test and build runs came to.

CHECKS = frozenset({"test", "build"})
"""Purposes of runs that say whether the work is in order."""


def runs_of(outcome: Outcome) -> tuple[Run, ...]:
    """The runs of a call that took place: a refused or interrupted one has none to speak of."""
    result = outcome.result
    return () if result is None or result.refused or result.interrupted else outcome.runs


def status_of(run: Run) -> BuildStatus | None:
    """None where a run does not tell. What a test runner counts outranks an exit code, which may
    be that of a pipe."""
    if run.success is False or (run.counts is not None and run.counts.failed):
        return "failing"
    if run.counts is not None:
        return "passing" if run.counts.passing else None
    return "passing" if run.success else None


# What the user wants, in the user's own words.

GOAL_SHOWN = 100
"""Characters of a goal: the seed's number."""
SMALL_TALK_WORDS = 4
"""Words up to which a sentence that begins like a greeting is nothing else."""

_VERBS = (
    "fix|implement|add|update|create|build|deploy|refactor|remove|delete|change|modify|write|make"
    "|rename|move|install|set up|configure|investigate|debug|improve|optimi[sz]e|migrate|upgrade"
    "|convert|replace|research|review|document|design|port|extend|clean up"
)
_NO_REQUEST = (
    r"(?!\s?:|\s+(?:is|was|are|were|has|have|had|of|still|works?|worked|fails?|failed|failing|passe[sd]"
    r"|errors?|results?|status|logs?|output)\b)"
)
"""Behind a verb that is a noun there: `Build is red`, `Update: it works now`."""
_CUES = re.compile(
    r"\b(?:help me|i want to|i need to|please)\b"
    rf"|\b(?:can|could|would|will) you (?:also |now )?(?:{_VERBS})\b"
    rf"|\blet(?:['’]?s| us) (?:also |now )?(?:{_VERBS})\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"\W{{0,4}}(?:(?:ok|okay|yes|now|then|next|also|and|so|great|thanks|good)\b\W{{1,3}}){{0,3}}"
    rf"(?:{_VERBS})\b{_NO_REQUEST}",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|thanks|thank you|ok|okay|great|good|nice|perfect|cool|yes|no|sure)\b",
    re.IGNORECASE,
)
_AGREEING = frozenset(
    {"yes", "yeah", "ok", "okay", "sure", "please", "thanks", "do", "it", "that", "this", "so"}
    | {"continue", "proceed", "resume", "go", "going", "on", "ahead", "let's", "lets", "carry"}
    | {"keep", "now", "and", "then", "try", "again", "just"}
)
"""A request of these words alone says that the agent may go on; the goal was named before."""


def goal_in(words: str) -> str:
    """The goal that a user's words set, or nothing: their first sentence where they ask for
    something."""
    head = words.lstrip()[:LOOKED_AT]
    spoken = [s for s in sentences(head) if not _is_small_talk(s)]
    begins = spoken[0] if spoken else head
    if not _CUES.search(head) and not _OPENING.match(head) and not _OPENING.match(begins):
        return ""
    goal = first_sentence(begins)
    agrees = {word.strip(".,!?") for word in goal.casefold().split()} <= _AGREEING
    return "" if agrees else cut(goal, GOAL_SHOWN)


class Goals:
    """The latest goals, each with the turn that named it last."""

    def __init__(self) -> None:
        self._goals: dict[str, tuple[int, str]] = {}
        self._asked: tuple[int, str] = (-1, "")
        """The last words of more than small talk, whether or not they name a goal."""

    def add(self, turn: Turn) -> None:
        """To a sub-agent speaks the agent that delegated to it, not the user."""
        words = "" if turn.agent else turn.user_message
        if len(words.split(maxsplit=SMALL_TALK_WORDS)) > SMALL_TALK_WORDS:
            self._asked = (turn.index, cut(first_sentence(words), GOAL_SHOWN))
        goal = goal_in(words)
        if not goal:
            return
        self._goals.pop(goal.casefold(), None)
        self._goals[goal.casefold()] = (turn.index, goal)
        if len(self._goals) > MOST_GOALS:
            del self._goals[next(iter(self._goals))]

    def since(self, turn_index: int) -> tuple[str, ...]:
        """Those of the turns from this one on; else the last one known, or what was asked after it.
        Goals of older turns have been reached, or given up."""
        found = [(index, goal) for index, goal in self._goals.values()]
        recent = tuple(goal for index, goal in found if index >= turn_index)
        return recent or tuple(max(one, self._asked)[1] for one in found[-1:])


def goals_of(turns: Iterable[Turn], *, kept_from: int = 0) -> tuple[str, ...]:
    """The current goals, where turns from `kept_from` on are kept."""
    goals = Goals()
    for turn in turns:
        goals.add(turn)
    return goals.since(kept_from)


def _is_small_talk(sentence: str) -> bool:
    return bool(_SMALL_TALK.match(sentence)) and len(sentence.split()) <= SMALL_TALK_WORDS


# The files a conversation works on.

PATH_MOST = 400
"""Characters beyond which a name is no path anyone typed, but text taken for one."""


class ActiveFiles:
    """Files changed, and files only read; of each the latest."""

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._changed: dict[str, None] = {}
        self._read: dict[str, None] = {}
        """Without those that were changed."""

    def add(self, touch: Touch) -> None:
        if touch.action in ("deleted", "renamed"):
            self._forget(touch.renamed_from or touch.path)
        if touch.action == "deleted":
            return
        path = relative(touch.path, self._root)
        if not path or len(path) > PATH_MOST or not path.isprintable():
            return
        only_read = touch.action == "read" and path not in self._changed
        self._forget(touch.path)
        known = self._read if only_read else self._changed
        known[path] = None
        if len(known) > MOST_FILES:
            del known[next(iter(known))]

    def paths(self) -> tuple[str, ...]:
        """Those changed before those only read, which give way where there are too many; in each
        part those worked on last at the end."""
        room = MOST_FILES - len(self._changed)
        return (*self._changed, *list(self._read)[max(0, len(self._read) - room) :])

    def _forget(self, name: str) -> None:
        path = relative(name, self._root)
        self._changed.pop(path, None)
        self._read.pop(path, None)


def relative(path: str, root: str) -> str:
    """A path as seen from the session's root where it lies below it, and else as it is."""
    base = root.rstrip("/\\")
    inside = bool(base) and path[len(base) : len(base) + 1] in ("/", "\\")
    if inside and path.replace("\\", "/").startswith(base.replace("\\", "/")):
        return path[len(base) + 1 :]
    return path.removeprefix("./")


# Errors that nothing has resolved yet.

REMEMBERED = 20
"""Open errors remembered: more than are shown, as those resolved make room for older ones."""
TARGET_LOOKED_AT = 400
"""Characters of a command or parameter by which a later call is known to be the same."""
LINE_SHOWN = 100
"""Characters of an error line (seed 001)."""
COMMAND_SHOWN = 120
"""Characters of a command that failed without a word."""
QUIET = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "git", "diff", "cmp", "test", "[", "pgrep"}
)
"""Programs whose exit code 1 is an answer, not an error, where they say nothing: no match, or a
difference."""
LOOKING = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ls", "find", "fd", "cat", "head", "tail", "less"}
    | {
        "tree",
        "which",
        "type",
        "command",
        "stat",
        "file",
        "wc",
        "jq",
        "curl",
        "wget",
        "ps",
        "pgrep",
    }
)
"""Programs that only look: where they fail nothing is broken, and they are rarely run again."""
SETTLES: dict[Purpose, frozenset[Purpose]] = {
    "test": frozenset({"test", "build", "install", "other"}),
    "build": frozenset({"build", "other"}),
    "commit": frozenset({"commit"}),
    "push": frozenset({"push"}),
    "pull_request": frozenset({"pull_request"}),
    "merge": frozenset({"merge"}),
    "tag": frozenset({"tag"}),
}
"""Which errors a run that succeeds shows to be past. Passing tests need what they run on; a build
says nothing about tests, and neither about a deployment. Commits differ in their words only."""
_FILES = frozenset({"read", "write", "edit", "delete", "move"})


class _Open(NamedTuple):
    line: str
    purpose: Purpose
    counts: Counts | None


class OpenErrors:
    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        """By what failed: a command, or a tool and its target."""

    def add(self, outcome: Outcome) -> None:
        """Take what a call came to."""
        for run in runs_of(outcome):
            if status_of(run) == "passing":
                self._settle(run)
        for key in _mended(outcome):
            self._open.pop(key, None)
        failed = _failed_run(outcome)
        if failed is not None and failed.words[0].rpartition("/")[2] in LOOKING:
            return
        if (outcome.failed or failed is not None) and (line := _line(outcome)):
            key = _target(outcome.call) if failed is None else _of_run(failed)
            self._remember(key, line, failed)

    def lines(self) -> tuple[str, ...]:
        """The telling lines, newest last, each once."""
        newest = dict.fromkeys(error.line for error in reversed(self._open.values()))
        return tuple(reversed(list(newest)[:MOST_ERRORS]))

    def _remember(self, key: str, line: str, run: Run | None) -> None:
        self._open.pop(key, None)
        self._open[key] = _Open(line, run.purpose if run else "other", run.counts if run else None)
        if len(self._open) > REMEMBERED:
            del self._open[next(iter(self._open))]

    def _settle(self, run: Run) -> None:
        settled = SETTLES.get(run.purpose, frozenset())
        self._open = {
            key: error
            for key, error in self._open.items()
            if error.purpose not in settled
            or (error.purpose == "test" and _fewer(run.counts, error.counts))
        }


def _fewer(passing: Counts | None, failing: Counts | None) -> bool:
    """Whether fewer tests passed than had been run: a part of them settles nothing."""
    if passing is None or failing is None:
        return False
    alike = (passing.runner, passing.unit) == (failing.runner, failing.unit)
    return alike and passing.passed < failing.passed + failing.failed


def _failed_run(outcome: Outcome) -> Run | None:
    """The run that failed. Failing tests are an error also where their line ended well, as in a
    pipe; any other command may fail there on purpose."""
    runs = runs_of(outcome)
    failing = [run for run in runs if status_of(run) == "failing"]
    if not outcome.failed:
        failing = [run for run in failing if run.purpose in CHECKS]
    return next(reversed(failing or (runs if outcome.failed else ())), None)


def _line(outcome: Outcome) -> str:
    result = outcome.result
    if result is None:
        return ""
    if line := telling_line(result.error or "") or telling_line(result.output):
        return cut(one_line(line), LINE_SHOWN)
    programs = {run.words[0].rpartition("/")[2] for run in outcome.runs if run.words}
    if result.exit_code is None or (result.exit_code == 1 and programs & QUIET):
        return ""
    return f"{cut(one_line(_words(outcome.call)), COMMAND_SHOWN)}: exit code {result.exit_code}"


def _mended(outcome: Outcome) -> Iterator[str]:
    """What a call shows to be well again, had it failed before."""
    yield from (_of_run(run) for run in runs_of(outcome) if status_of(run) == "passing")
    if outcome.success:
        yield _target(outcome.call)
        paths = outcome.call.paths() if outcome.call.verb in _FILES else ()
        yield from (f"read {path}" for path in (*paths, *outcome.changed))


def _target(call: ToolCall) -> str:
    """What a call is about: its file, by whatever tool that is changed, or else its own words."""
    paths = call.paths() if call.verb in _FILES else ()
    if paths:
        return f"{'read' if call.verb == 'read' else 'change'} {paths[0]}"
    return f"{call.tool} {_words(call)}"


def _of_run(run: Run) -> str:
    return f"run {run.text[:TARGET_LOOKED_AT]}"


def _words(call: ToolCall) -> str:
    """A call's command, or else the tool and what it was given."""
    given = call.parameters.get("command", call.parameters.get("cmd"))
    if isinstance(given, list):
        given = " ".join(str(word)[:TARGET_LOOKED_AT] for word in given)
    if isinstance(given, str) and given:
        return given[:TARGET_LOOKED_AT]
    values = (v[:TARGET_LOOKED_AT] for v in call.parameters.values() if isinstance(v, str))
    return " ".join((call.tool, *values))[:TARGET_LOOKED_AT]


# The context of a conversation, gathered turn by turn.

INTENT_SHOWN = 200
"""Characters of the last intent: the seed's number. The request itself is kept verbatim beside the
summary."""
INTENT_CUT = 197
"""What is shown of a longer one."""
INTENT_LOOKED_AT = 4_000
"""Characters looked at, so that blanks folded away leave enough."""


class Extraction:
    """Takes the turns of one conversation in order. What it remembers is bounded, and a turn costs
    the same however many came before."""

    def __init__(self, root: str = "") -> None:
        """`root` is the session's folder: paths below it are shown from there."""
        self._files = ActiveFiles(root)
        self._goals = Goals()
        self._errors = OpenErrors()
        self._build: BuildStatus = "unknown"
        self._intent = ""

    def add(self, turn: Turn, outcomes: Sequence[Outcome]) -> None:
        """Take the next turn, with what its calls came to. Words that wait for an answer are a turn
        without calls."""
        self._hear(turn)
        for outcome in outcomes:
            for touch in outcome.touched:
                self._files.add(touch)
            self._errors.add(outcome)
            for run in runs_of(outcome):
                if run.purpose in CHECKS:
                    self._build = status_of(run) or self._build

    def context(self, *, kept_from: int = 0) -> PreservationContext:
        """What is known by now. Files, errors and the build are those of the whole conversation;
        goals are those of the turns from `kept_from` on, or else the last one before."""
        return PreservationContext(
            active_files=self._files.paths(),
            current_goals=self._goals.since(kept_from),
            error_states=self._errors.lines(),
            build_status=self._build,
            last_user_intent=self._intent,
        )

    def _hear(self, turn: Turn) -> None:
        self._goals.add(turn)
        words = one_line(turn.user_message.lstrip()[:INTENT_LOOKED_AT])
        if words and not turn.agent:
            whole = len(words) <= INTENT_SHOWN
            self._intent = words if whole else words[:INTENT_CUT].rstrip() + "…"


def extract_from_turns(
    turns: Iterable[Turn], *, kept_from: int = 0, root: str = ""
) -> PreservationContext:
    """The context of a conversation at its end; turns from `kept_from` on stay verbatim."""
    extraction = Extraction(root)
    for turn in turns:
        extraction.add(turn, outcomes_of(turn))
    return extraction.context(kept_from=kept_from)
