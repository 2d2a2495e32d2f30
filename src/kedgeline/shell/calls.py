"""What the calls of a turn came to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.model.catalogue import verb_of
from kedgeline.shell.evidence import (
    SELDOM_FAIL,
    Counts,
    Outcome,
    Purpose,
    Run,
    counts_in,
    echoed,
    idle,
    is_silent,
    shown_part,
    told_by_output,
)
from kedgeline.shell.parsing import commands_in, script_in
from kedgeline.shell.prefixes import Command
from kedgeline.shell.purpose import purpose_of
from kedgeline.shell.touched import touched_by

# The commands of a shell line with what they were for and how they went.

Verdict = bool | None

SHOW_TEXT = frozenset(
    {"cat", "grep", "egrep", "fgrep", "rg", "ag", "tail", "head", "less", "more", "sed", "awk"}
    | {"gh", "glab", "jq", "yq", "cut", "sort", "diff", "curl", "wget", "bat", "nl", "tac"}
    | {"strings", "journalctl", "watch", "zcat", "type", "Get-Content"}
    | {"git log", "git show", "git diff", "git grep", "git blame", "git stash", "git cat-file"}
    | {"docker logs", "docker compose logs", "kubectl logs", "heroku logs", "fly logs"}
)
"""What prints words that others wrote: a runner's closing line among them is old news."""
NO_RUNNER = (
    SELDOM_FAIL
    | SHOW_TEXT
    | {"[", "[[", "test", "cp", "mv", "rm", "touch", "kill", "pkill", "ls", "find", "fd", "tree"}
    | {"wc", "uniq", "tr", "tee", "column", "git", "chmod", "ln", "which", "ps", "du", "df", "head"}
)
"""What runs no tests, whatever its output closes with."""
_STILL_RUNNING = re.compile(
    r"^(?:Process running with session ID|Command running in background with ID:"
    r"|Command was (?:manually |auto-)?(?:moved to|backgrounded)|Background PIDs:)",
    re.MULTILINE,
)
"""How clients word that they did not wait for the end."""
_PASSED = re.compile(
    r"\W{0,4}(?:all (?:of the )?(?:\d{1,6} )?tests? (?:have |has )?(?:pass|passed|succeeded)"
    r"(?: successfully)?|test result: ok\. [1-9]\d{0,6} passed; 0 failed)\W{0,4}",
    re.IGNORECASE,
)
"""The last line of a script that ran all tests, and counts none or in a form of no runner."""
_SUBJECT = (
    r"(?:(?!(?:no|not|nothing|never|none|nobody|would|was|were|if|without)\b)[\w.-]{1,40} ){0,4}"
)
_REACHED = re.compile(
    rf"\W{{0,4}}(?:{_SUBJECT}(?:(?:is|are|has been|have been) )?(?:successfully )?"
    r"(?:installed|built|compiled|completed?|deployed|migrated|published|released)"
    r"(?: successfully)?|successfully (?:installed|built|compiled|completed|deployed|migrated"
    r"|published|released)(?: [\w.@/-]{1,60}){0,6})"
    r"(?: (?:to|in|on|into|at|for) [\w.@:/ -]{1,60})?\W{0,4}",
    re.IGNORECASE,
)
"""The last line of a script that says of itself that it did what it was run for."""
STILL_RUNNING_WITHIN = 2_000
"""Characters of an output in which they would say so."""


def runs_of(
    commands: Sequence[Command], result: ToolResult | None, *, waited: bool = True
) -> tuple[Run, ...]:
    """One run per simple command, in order. Success is known where the line's exit code depends on
    the command, or where the output proves it."""
    purposes = [purpose_of(command.words) for command in commands]
    verdicts: list[Verdict] = [None] * len(commands)
    counts: dict[int, Counts] = {}
    stopped = result is None or result.refused or result.interrupted or still_running(result)
    if waited and result is not None and not stopped:
        counts = _counted(commands, purposes, result.output)
        verdicts = _verdicts(commands, purposes, counts, result)
    return tuple(
        Run(purpose=purposes[place], words=command.words, success=verdict, counts=counts.get(place))
        for place, (command, verdict) in enumerate(zip(commands, verdicts, strict=True))
        if command.words
    )


def still_running(result: ToolResult) -> bool:
    """Whether the client says that it did not wait for the end."""
    head = result.output[:STILL_RUNNING_WITHIN]
    return result.exit_code is None and _STILL_RUNNING.search(head) is not None


def _counted(
    commands: Sequence[Command], purposes: list[Purpose], output: str
) -> dict[int, Counts]:
    """What a test runner counted, with the place of the run: the last test of the line. A program
    that is not known to test, but whose output closes as a runner's does, was a test."""
    tests = [place for place, purpose in enumerate(purposes) if purpose == "test"]
    places = [
        place for place in tests or _may_test(commands, purposes) if not commands[place].background
    ]
    counts = counts_in(output) if places else None
    if not places or (counts is None and (tests or not _PASSED.fullmatch(closing_line(output)))):
        return {}
    if counts is None or purposes[places[-1]] == "other":
        purposes[places[-1]] = "test"
    return {} if counts is None else {places[-1]: counts}


def closing_line(output: str) -> str:
    """The last line that says something."""
    lines = output[-STILL_RUNNING_WITHIN:].splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def says_reached(runs: Sequence[Run], output: str) -> bool:
    """Whether a script, run alone, closes with saying that it did what it was run for: installed,
    built, compiled, completed or deployed something. What prints words of others says nothing."""
    own = [Command(words=run.words) for run in runs if run.words[:1] != ("cd",)]
    if len(own) != 1 or runs[-1].success is not True or runs[-1].purpose != "other":
        return False
    if own[0].program in NO_RUNNER or _shows_text(own[0]):
        return False
    return _REACHED.fullmatch(closing_line(output)) is not None


def _may_test(commands: Sequence[Command], purposes: Sequence[Purpose]) -> list[int]:
    """Places of commands that could have run tests; none where the line also prints a text that
    could hold a runner's words."""
    if any(_shows_text(command) for command in commands if command.joint != "|"):
        return []
    return [
        place
        for place, purpose in enumerate(purposes)
        if purpose in ("other", "build") and commands[place].program not in NO_RUNNER
    ]


def _shows_text(command: Command) -> bool:
    program, words = command.program, command.plain
    names = (" ".join((program, *words[1:end])) for end in (1, 2, 3))
    return not SHOW_TEXT.isdisjoint(names)


def _verdicts(
    commands: Sequence[Command],
    purposes: Sequence[Purpose],
    counts: dict[int, Counts],
    result: ToolResult,
) -> list[Verdict]:
    text = shown_part(result.output)
    known, disputed = _known(commands, purposes, counts, text)
    _ran_before(commands, known, counts)
    if result.success:
        for place, command in enumerate(commands):
            if command.decides and known[place] is None and place not in disputed:
                known[place] = True
    else:
        _blame(commands, known)
        if len(commands) == 1 and known[0]:
            known[0] = None  # a line that failed has nothing else that could have
    for place, command in enumerate(commands):
        nothing = place in counts and not counts[place].passed and not counts[place].failed
        if command.background or nothing or idle(purposes[place], text):
            known[place] = None
    return known


def _known(
    commands: Sequence[Command],
    purposes: Sequence[Purpose],
    counts: dict[int, Counts],
    text: str,
) -> tuple[list[Verdict], list[int]]:
    """What the output alone proves, and the places of commands that an error line could be about:
    where there are several, it proves nothing of any."""
    known = [
        True if is_silent(commands, place, text) else told_by_output(command, purpose, text)
        for place, (command, purpose) in enumerate(zip(commands, purposes, strict=True))
    ]
    for place, counted in counts.items():
        if counted.failed or counted.passed:
            known[place] = counted.passing
    disputed = [place for place, verdict in enumerate(known) if verdict is False]
    if len(disputed) > 1:
        for place in disputed:
            if place not in counts:
                known[place] = None
    for place, success in echoed(commands, text):
        if not success or known[place] is None:
            known[place] = success
    return known, disputed


def _ran_before(commands: Sequence[Command], known: list[Verdict], counts: Collection[int]) -> None:
    """What stands before `&&` succeeded if what stands behind it did something."""
    ran = False
    for place in range(len(commands) - 1, 0, -1):
        ran = ran or known[place] is True or place in counts
        if commands[place].joint == "&&":
            if ran and known[place - 1] is None:
                known[place - 1] = True
        elif commands[place].joint != "|":
            ran = False


def _blame(commands: Sequence[Command], known: list[Verdict]) -> None:
    """A failed line: one of the commands that decide failed, and none behind it ran."""
    deciding = [place for place, command in enumerate(commands) if command.decides]
    if any(known[place] is False for place in deciding):
        return
    last = max((place for place in deciding if known[place]), default=-1)
    for place in deciding:
        if place < last and known[place] is None:
            known[place] = True
    left = [
        place for place in deciding if place > last and commands[place].program not in SELDOM_FAIL
    ]
    if not left and last >= 0:
        known[last] = False  # what it printed is contradicted by the exit code
    elif len(left) == 1:
        known[left[0]] = False


HOLD_CODE = frozenset({"python", "codeinterpreter", "ipython", "jupyter", "repl", "writestdin"})
"""Running tools whose text is no shell line, without case and dashes."""
_FOLDED = str.maketrans("", "", "_-. ")


def outcomes_of(turn: Turn) -> tuple[Outcome, ...]:
    """One outcome per call, in their order."""
    return tuple(_outcome(call, turn.result_of(call)) for call in turn.tool_calls)


def _outcome(call: ToolCall, result: ToolResult | None) -> Outcome:
    line = shell_line(call)
    commands = commands_in(line) if line else ()
    return Outcome(
        call=call,
        result=result,
        runs=runs_of(commands, result, waited=not left_alone(call)) if commands else (),
        touched=touched_by(call, result, commands),
    )


def shell_line(call: ToolCall) -> str:
    """The shell line a call runs; empty when it runs none."""
    if call.verb != "run" and not (call.verb == "edit" and verb_of(call.tool, {}) == "run"):
        return ""
    if call.tool.translate(_FOLDED).casefold() in HOLD_CODE:
        return ""
    for name in ("command", "cmd"):
        given = call.parameters.get(name)
        if isinstance(given, str):
            return given
        if isinstance(given, (list, tuple)):
            words = [word for word in given if isinstance(word, str)]
            return script_in(words) or shlex.join(words)
    return ""


def left_alone(call: ToolCall) -> bool:
    """Whether the call only started something."""
    return any(
        call.parameters.get(name) is True
        for name in ("run_in_background", "is_background", "isBackground", "background")
    )


# Outcomes that several ask for, each found out once.

OutcomesOf = Callable[[Turn], tuple[Outcome, ...]]
"""How to learn what the calls of a turn came to."""


class KnownOutcomes:
    """Gives the outcomes of a turn again to whoever asks next.

    A turn is known by being the same object, so it is held as long as its outcomes are. Of `most`
    turns they are kept, and all are forgotten when it would be more; without it, of as many as are
    asked for.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._known: dict[int, tuple[Turn, tuple[Outcome, ...]]] = {}

    def __call__(self, turn: Turn) -> tuple[Outcome, ...]:
        known = self._known.get(id(turn))
        if known is not None:
            return known[1]
        if self._most is not None and len(self._known) >= self._most:
            self._known.clear()
        outcomes = outcomes_of(turn)
        self._known[id(turn)] = (turn, outcomes)
        return outcomes


# What a call says about a list of todos: which items, and how they now stand.

Status = Literal["pending", "in_progress", "completed", "dropped"]

LISTS = ("todos", "plan", "todoList", "tasks", "items")
"""Parameters that hold a whole list."""
TEXTS = ("content", "step", "subject", "title", "description", "text", "name", "task")
"""Where an item says what is to be done."""
RENAMED = tuple(name for name in TEXTS if name != "description")
"""Where an update of one item gives it other words; its description only adds to them."""
IDS = ("taskId", "task_id", "id")
COMPLETED = frozenset({"completed", "complete", "done", "finished"})
DROPPED = frozenset({"cancelled", "canceled", "deleted", "dropped", "skipped"})
IN_PROGRESS = frozenset({"in_progress", "in-progress", "inprogress", "active", "doing", "started"})
NUMBER_IN = 400
"""Characters of a result in which the id of a new item stands."""
LISTING = 40_000
"""Characters of a printed list that are read: a hundred items and more."""
EMPTY_LISTING = "No tasks found"

_NUMBER = re.compile(r"#(\w{1,40})")
_LISTED = re.compile(r"^#(\w{1,40}) \[(\w{1,20})\] ([^\n]{1,1000})$", re.MULTILINE)
_BLOCKED = re.compile(r" \[blocked by [^\]]{1,200}\]$")


class Todo(NamedTuple):
    id: str
    """As the tool numbers it; empty where it does not."""
    text: str
    """Verbatim; empty where the call does not repeat it."""
    status: Status | None
    """None where the call says nothing of it."""


class TodoCall(NamedTuple):
    kind: Literal["list", "merge", "new", "update", "listing"]
    """`list` takes the place of what was there, `merge` changes some of its items, `new` and
    `update` concern one numbered item, `listing` is all numbered items as the tool prints them."""
    items: tuple[Todo, ...]


def todos_of(outcome: Outcome) -> TodoCall | None:
    """What a call did to a list; nothing where it kept none, or did not succeed."""
    if outcome.call.verb != "todo" or not outcome.success:
        return None
    given = outcome.call.parameters
    whole = next((given[key] for key in LISTS if isinstance(given.get(key), list)), None)
    if whole is not None:
        items = tuple(_item(one) for one in whole if isinstance(one, Mapping))
        return TodoCall("merge" if given.get("merge") else "list", items)
    output = "" if outcome.result is None else outcome.result.output
    item = _item(given)
    if item.id:
        return TodoCall("update", (item._replace(text=_first(given, RENAMED)),))
    if "subject" in given:
        number = _NUMBER.search(output[:NUMBER_IN])
        return TodoCall("new", (item._replace(id=number[1] if number else ""),))
    return _listing(output[:LISTING])


def _item(given: Mapping[str, Any]) -> Todo:
    status = given.get("status")
    return Todo(
        _first(given, IDS),
        _first(given, TEXTS),
        _status(status) if status not in (None, "") else None,
    )


def _status(word: object) -> Status:
    """What is open in any other way is pending."""
    lowered = str(word).casefold()
    if lowered in COMPLETED:
        return "completed"
    if lowered in DROPPED:
        return "dropped"
    return "in_progress" if lowered in IN_PROGRESS else "pending"


def _listing(output: str) -> TodoCall | None:
    items = tuple(
        Todo(number, _BLOCKED.sub("", text.strip()), _status(status))
        for number, status, text in _LISTED.findall(output)
    )
    known = items or output.strip().startswith(EMPTY_LISTING)
    return TodoCall("listing", items) if known else None


def _first(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    found: Iterator[Any] = (given[key] for key in keys if key in given)
    return next(
        (str(value) for value in found if isinstance(value, (str, int)) and value != ""), ""
    )
