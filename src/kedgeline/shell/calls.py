"""What the calls of a turn came to, and what each command was run for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
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
from kedgeline.shell.prefixes import TABLES, Command, usual_program, without_prefixes, words_given
from kedgeline.shell.touched import touched_by

# What a command is run for, by its words.

WEIGHTIEST: tuple[Purpose, ...] = ("deploy", "migration", "test", "build", "install", "lint")
"""Which of several targets one command is named after."""
REMEMBERED = 2_048
"""Commands whose purpose is kept; the same ones are run again and again."""
INTERPRETERS = {"python", "node", "php", "ruby", "perl"}
"""Programs whose first argument is the program that counts."""
SEVERAL_GOALS = {"mvn", "sbt", "lein"}
"""Programs that take goals one after the other: `mvn clean verify`."""
SCRIPT_RUNNERS = {"hatch", "pdm", "rye"}
"""What stands behind their `run` may be a script of the project."""
_SCRIPT_ENDINGS = re.compile(r"\.(?:[cm]?js|phar|rb)$")
_VERSION = re.compile(r"(?<=.)@[\w.^~-]+$")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


class Wrapper(NamedTuple):
    """A program that runs what a file of the project names."""

    words: tuple[str, ...] = ()
    """Words before the name."""
    needed: bool = False
    """Without one of them no name follows."""
    several: bool = False
    """More than one name may follow."""
    alone: Purpose = "other"
    """What it is for without a name."""


_SEVERAL = ("just", "task", "rake", "invoke", "inv", "gradle", "earthly")
_SCRIPTS = ("run", "run-script")
WRAPPERS: dict[str, Wrapper] = {
    "make": Wrapper(several=True, alone="build"),
    **dict.fromkeys(_SEVERAL, Wrapper(several=True)),
    **dict.fromkeys(("poe", "rush"), Wrapper()),
    **dict.fromkeys(("pnpm", "yarn", "composer", "nx"), Wrapper(_SCRIPTS)),
    **dict.fromkeys(("npm", "bun", "lerna"), Wrapper(_SCRIPTS, needed=True)),
    "deno": Wrapper(("task",), needed=True),
    "mise": Wrapper(("run", "r")),
    "cargo": Wrapper(("make", "xtask"), needed=True),
    "turbo": Wrapper(("run",), several=True),
}

TELLS = {name: frozenset(options.split()) for name, options in TABLES["tells"].items()}
_TARGETS: dict[str, Purpose] = {
    word: purpose for purpose, words in TABLES["targets"].items() for word in words.split()
}
_TOGETHER: dict[str, Purpose] = {
    two: purpose for purpose, pairs in TABLES["targets_together"].items() for two in pairs
}


class _Words(NamedTuple):
    """Alternatives for one word."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]

    def fit(self, word: str) -> bool:
        return word in self.exact or (bool(self.beginnings) and word.startswith(self.beginnings))


class _Rule(NamedTuple):
    purpose: Purpose
    arguments: tuple[_Words, ...]
    options: frozenset[str]


def _alternatives(text: str) -> _Words:
    words = text.split("|")
    return _Words(
        frozenset(word for word in words if not word.endswith("*")),
        tuple(word[:-1] for word in words if word.endswith("*")),
    )


def _indexed() -> tuple[dict[str, list[_Rule]], dict[str, list[_Rule]]]:
    """The table by program, longer rows first; then what programs' names begin with."""
    exact: dict[str, list[_Rule]] = {}
    beginning: dict[str, list[_Rule]] = {}
    rows = [(row.split(), purpose) for purpose, rows in TABLES["purposes"].items() for row in rows]
    for words, purpose in sorted(rows, key=lambda row: -len(row[0])):
        options = frozenset(word for word in words[1:] if word.startswith("-"))
        fixed = tuple(_alternatives(word) for word in words[1:] if word not in options)
        programs = _alternatives(words[0])
        for known, names in ((exact, programs.exact), (beginning, programs.beginnings)):
            for name in names:
                known.setdefault(name, []).append(_Rule(purpose, fixed, options))
    return exact, beginning


_BY_PROGRAM, _BY_BEGINNING = _indexed()
PROGRAMS = frozenset({*_BY_PROGRAM, *WRAPPERS})
"""Programs that are known to be run for something."""


@lru_cache(maxsize=REMEMBERED)
def purpose_of(words: tuple[str, ...]) -> Purpose:
    """What a command is for; `other` where the words do not tell."""
    plain = without_prefixes(words).words
    found = _purpose(plain)
    if found is None and (script := _interpreted(plain)):
        plain = without_prefixes(script).words
        found = _purpose(plain)
    if found is None and plain and words[0] in SCRIPT_RUNNERS and words[1:2] == ("run",):
        found = target_purpose(plain[0])
    return found or "other"


def target_purpose(name: str) -> Purpose | None:
    """What a make target or a package's script is for, by its name."""
    parts = [part.casefold() for part in _NAME_PARTS.findall(name)]
    if together := _TOGETHER.get(" ".join(parts[:2])):
        return together
    return next((_TARGETS[part] for part in parts if part in _TARGETS), None)


def _purpose(plain: tuple[str, ...]) -> Purpose | None:
    if not plain:
        return None
    program = _VERSION.sub("", usual_program(plain[0]))
    given = words_given((program, *plain[1:]))
    options = frozenset(word.partition("=")[0] for word in plain[1:] if word.startswith("-"))
    if _only_tells(program, given, options, plain):
        return "other"
    if program in SEVERAL_GOALS:
        return _weightiest({_ruled(program, [goal], options) for goal in given})
    return _ruled(program, given, options) or _wrapped(program, given)


def _ruled(program: str, given: list[str], options: frozenset[str]) -> Purpose | None:
    beginning = program.partition("-")[0] + "-"
    for rule in _BY_PROGRAM.get(program) or _BY_BEGINNING.get(beginning) or []:
        enough = len(given) >= len(rule.arguments) and rule.options <= options
        if enough and all(map(_Words.fit, rule.arguments, given)):
            lists_tags = rule.purpose == "tag" and program == "git" and len(given) < 2
            return None if lists_tags else rule.purpose
    return None


def _wrapped(program: str, given: list[str]) -> Purpose | None:
    """The purpose of a target or script that a command names."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    names = [name for name in given if "=" not in name and not name.isdigit()]
    if names and names[0] in wrapper.words:
        names = names[1:]
    elif wrapper.needed:
        return None
    if not names:
        return wrapper.alone
    return _weightiest({target_purpose(name) for name in names[: None if wrapper.several else 1]})


def _weightiest(purposes: Collection[Purpose | None]) -> Purpose | None:
    return next((purpose for purpose in WEIGHTIEST if purpose in purposes), None)


def _only_tells(
    program: str, given: list[str], options: frozenset[str], plain: tuple[str, ...]
) -> bool:
    """Whether a command tells of itself, or of what it would do."""
    if plain[1:] in (("-h",), ("-V",), ("-v",), ("help",)):
        return True
    if "--dry-run=none" in plain:
        options -= {"--dry-run"}
    names = ("*", program, " ".join((program, *given[:1])))
    return any(options & TELLS.get(name, frozenset()) for name in names)


def _interpreted(plain: tuple[str, ...]) -> tuple[str, ...]:
    """What an interpreter runs: `python -m pytest -q` is `pytest -q`, `php artisan test` is
    `artisan test`. Nothing for code given as a word."""
    program = usual_program(plain[0]) if plain else ""
    if program not in INTERPRETERS:
        return ()
    for place, word in enumerate(plain[1:], start=1):
        if word == "-m" and program == "python":
            return plain[place + 1 :]
        if word in ("-c", "-e", "-"):
            return ()
        if not word.startswith("-") and plain[place - 1] not in ("-X", "-W", "-r", "--require"):
            return (_SCRIPT_ENDINGS.sub("", usual_program(word)), *plain[place + 1 :])
    return ()


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
