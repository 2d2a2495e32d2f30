"""Commands as they can be compared with later ones, and which of a line is to blame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from posixpath import basename
from typing import Literal, NamedTuple

from kedgeline.facts.files.paths import Paths
from kedgeline.model import ToolCall, ToolResult
from kedgeline.outcomes import CHECKS, Counts, Outcome, Purpose, Run
from kedgeline.outcomes.calls import shell_line
from kedgeline.outcomes.evidence import SELDOM_FAIL, shown_part
from kedgeline.outcomes.shell.parsing import commands_in
from kedgeline.outcomes.shell.prefixes import Command, program_of, without_prefixes
from kedgeline.outcomes.telling import Told, told_in
from kedgeline.text.prose import cut, one_line

WORDS_KEPT = 24
"""Words of a command by which it is known again."""
WORD_KEPT = 200
"""Characters of each: a path, or the beginning of a script."""

_LOOKS = """
    [ [[ ag awk bat cat cmp comm command cut df diff du egrep fd fgrep file find git-grep grep head
    jq less ls lsof md5sum more nl pgrep ps pwd readlink realpath rg sed shasum sort stat tail test
    tree type uniq wc whereis which who whoami xargs yq Get-ChildItem Get-Command Get-Content
    Get-Item Get-Location Select-Object Select-String Test-Path"""
LOOKS = frozenset(_LOOKS.split())
"""Programs that only look: their failing is an answer unless they say otherwise."""
_GIT_LOOKS = """
    blame branch cat-file check-ignore config describe diff diff-index for-each-ref grep log
    ls-files ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse show show-ref
    status symbolic-ref"""
GIT_LOOKS = frozenset(_GIT_LOOKS.split())
FORMATS = frozenset({"fmt", "format", "gofmt", "prettier", "black"})
"""What rewrites files and is seldom what a line fails at."""
ENDS = frozenset({"exit", "return", "false"})
"""What only passes a failure on."""
SELDOM = (("git", "add"), ("git", "fetch"), ("git", "stash"))
"""The same, of git."""
FILTERS = frozenset({"head", "tail"})
"""What shows a part of an output."""
_TASK_FAILED = re.compile(r"^\[([\w:.@/-]{1,60})\] ERROR task failed", re.MULTILINE)
TASKS_WITHIN = 20_000
"""Characters of an output in which a task runner names the task that failed."""


class Ran(NamedTuple):
    """One command of a line, without pipes and redirections."""

    purpose: Purpose
    words: tuple[str, ...]
    """Without `sudo`, `timeout 60`, `npx` and the like; the program by its name."""
    folder: str = ""
    """Where `cd` or the call itself put it; empty where neither says so."""
    counts: Counts | None = None

    @property
    def program(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def looks(self) -> bool:
        """Whether it only looks."""
        if self.program == "git":
            return bool(GIT_LOOKS.intersection(self.words[1:4]))
        return self.program in LOOKS


class Step(NamedTuple):
    """A command of a line with what came of it."""

    ran: Ran
    run: Run
    command: Command
    behind: tuple[Command, ...]
    """What its output was piped into."""

    @property
    def passing(self) -> bool:
        counts = self.run.counts
        if self.run.success is False or (counts is not None and counts.failed):
            return False
        return counts.passing if counts is not None else self.run.success is True

    @property
    def failing(self) -> bool:
        counts = self.run.counts
        return self.run.success is False or (counts is not None and counts.failed > 0)


def steps_of(outcome: Outcome) -> tuple[Step, ...]:
    """The commands of a call that took place, in order."""
    if not outcome.runs:
        return ()
    commands = [command for command in commands_in(shell_line(outcome.call)) if command.words]
    if len(commands) != len(outcome.runs):
        commands = [Command(words=run.words) for run in outcome.runs]
    given = outcome.call.parameters.get("workdir")
    folder = given if isinstance(given, str) else ""
    return tuple(
        Step(_ran(run, command, folder), run, command, _behind(commands, place))
        for place, (run, command) in enumerate(zip(outcome.runs, commands, strict=True))
    )


def _ran(run: Run, command: Command, folder: str) -> Ran:
    plain = without_prefixes(run.words).words or run.words
    words = tuple(word[:WORD_KEPT] for word in plain[:WORDS_KEPT])
    if words:
        words = (program_of(words[0]) or words[0], *words[1:])
    return Ran(run.purpose, words, (command.folder or folder)[:WORD_KEPT], run.counts)


def only_looks(line: str) -> bool:
    """Whether all that a line would do is to look."""
    plain = (without_prefixes(one.words).words or one.words for one in commands_in(line))
    rans = [
        Ran("other", (program_of(words[0]) or words[0], *words[1:])) for words in plain if words
    ]
    telling = [ran for ran in rans if ran.program not in SELDOM_FAIL]
    return bool(rans) and all(ran.looks for ran in telling)


def _behind(commands: Sequence[Command], place: int) -> tuple[Command, ...]:
    end = place + 1
    while end < len(commands) and commands[end].joint == "|":
        end += 1
    return tuple(commands[place + 1 : end])


def blamed(outcome: Outcome, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The commands one of which failed; one, where it is known which. A check that failed is an
    error although its line ended well, as in a pipe; any other command may fail there on purpose.
    """
    failing = [step for step in steps if step.failing and step.ran.program not in ENDS]
    checks = [step for step in failing if step.run.purpose in CHECKS]
    if checks or not outcome.failed:
        return tuple(checks[-1:])
    if failing:
        return tuple(failing[-1:])
    open_ones = [s for s in steps if s.run.success is None and s.command.program not in SELDOM_FAIL]
    named = _by_task(outcome, open_ones)
    serious = [
        s
        for s in open_ones
        if not (s.ran.looks or s.ran.words[:2] in SELDOM or FORMATS.intersection(s.ran.words))
    ]
    return tuple(named or serious or open_ones)


def _by_task(outcome: Outcome, steps: Sequence[Step]) -> list[Step]:
    """The command whose task the output names as the one that failed."""
    output = "" if outcome.result is None else outcome.result.output[:TASKS_WITHIN]
    tasks = {task.partition(":")[0] for task in _TASK_FAILED.findall(output)}
    tasks |= set(_TASK_FAILED.findall(output))
    return [step for step in steps if tasks.intersection(step.ran.words)][-1:]


def whole_output(step: Step, output: str) -> bool:
    """Whether all that a command printed is there, and it did not stop counting."""
    if "too many errors" in output[-TASKS_WITHIN:]:
        return False
    lines = output.count("\n") + 1
    for command in step.behind:
        if command.program not in FILTERS | {"cat", "tee"}:
            return False
        if command.program in FILTERS and lines >= _shown(command):
            return False
    return True


def _shown(command: Command) -> int:
    """How many lines `head` and `tail` show."""
    numbers = (word.lstrip("-n+") for word in command.words[1:])
    return next((int(number) for number in numbers if number.isdecimal()), 10)


def searched_for(step: Step) -> tuple[str, ...]:
    """The words for which an output was searched, where only lines with them were shown."""
    if not step.behind or step.behind[0].program not in ("grep", "egrep", "rg"):
        return ()
    if any(command.program not in FILTERS for command in step.behind[1:]):
        return ()
    given = [word for word in step.behind[0].words[1:] if not word.startswith("-")]
    options = [word for word in step.behind[0].words[1:] if word.startswith("-")]
    if not given or any("v" in option or "c" in option for option in options):
        return ()
    alternatives = given[0].replace("\\|", "|").strip("()^$").split("|")
    return tuple(a for a in alternatives if a.replace(" ", "").replace(":", "").isalnum())


def alike(one: Ran, other: Ran) -> bool:
    """Whether two are the same command."""
    return one.words == other.words and same_folder(one.folder, other.folder)


def same_folder(one: str, other: str) -> bool:
    """Unless both are known and neither ends with the other: shells stay where they were sent."""
    if not one or not other or one == other:
        return True
    return one.endswith(f"/{basename(other)}") or other.endswith(f"/{basename(one)}")


# The errors a call shows: which of its lines, and what they are about.

ABOUT_SHOWN = 160
"""Characters of the command or call that failed."""
EDIT_LINES = 6
"""Lines of a failed edit that are the tool's own; behind them it may print the file."""
STOPPED = 130
"""The exit code of a command that was interrupted by hand."""

_CHANGING = frozenset({"edit", "write", "delete", "move"})
_ANSWERS = frozenset({"read", "search", "web_search", "web_fetch", "ask", "todo"})
"""Verbs of calls that only look: what they do not find is an answer."""
_ABSENT = re.compile(
    r"no such file or directory|does not exist|cannot access|cannot find path|not a directory"
    r"|is a directory|not found in|no matches found",
    re.IGNORECASE,
)
_MISSING = re.compile(r"command not found|: not found$|is not recognized as")
_OF_EDIT = re.compile(r"\n(?:String|Content|Old string): ?")
"""Behind it a client prints the text it was given."""
_WRONG_FOLDER = re.compile(r"\bcd:.{0,200}(?i:no such file or directory|not a directory)")
"""A slip of the line itself: nothing of what it was to run has failed."""
_GIVEN_UP = "Sibling tool call errored"


class Failure(NamedTuple):
    told: tuple[Told, ...]
    about: str
    awaited: tuple[Ran, ...] = ()
    """Commands that must succeed for the errors to be past."""
    target: str = ""
    """What a call that runs no command was about."""
    step: Step | None = None
    """The command to blame, where it is known."""
    missing: bool = False
    """The program itself is not there."""
    minor: bool = False
    """A rule of the client, repaired by the next call."""


def failure_of(outcome: Outcome, steps: Sequence[Step], paths: Paths) -> Failure | None:
    """What went wrong in a call; None where nothing did, or where it is an answer."""
    result = outcome.result
    if result is None or result.refused or result.interrupted:
        return None
    if steps:
        return _of_commands(outcome, result, steps)
    if not result.failed or outcome.call.verb in _ANSWERS or _GIVEN_UP in result.output[:200]:
        return None
    target = target_of(outcome.call, paths)
    if outcome.call.verb in _CHANGING:
        text = _OF_EDIT.split((result.error or result.output)[:4_000], maxsplit=1)[0]
        told = told_in("\n".join(islice(text.splitlines(), EDIT_LINES)))[:1]
        return Failure(told, target, target=target, minor=True) if told else None
    told = told_in(_text(result))
    about = cut(one_line(shell_line(outcome.call)[: ABOUT_SHOWN * 4]), ABOUT_SHOWN) or target
    return Failure(told, about, target=target) if told else None


def target_of(call: ToolCall, paths: Paths) -> str:
    """The tool, and the file it changes."""
    path = next(iter(call.paths()), "") if call.verb in _CHANGING else ""
    return f"{call.tool[:60]} {paths.name(path)}".rstrip()


def _of_commands(outcome: Outcome, result: ToolResult, steps: Sequence[Step]) -> Failure | None:
    guilty = blamed(outcome, steps)
    if not guilty or _GIVEN_UP in result.output[:200] or result.exit_code == STOPPED:
        return None
    about = cut(one_line(shell_line(outcome.call)[: ABOUT_SHOWN * 4]), ABOUT_SHOWN)
    awaited = tuple(step.ran for step in guilty)
    text = _text(result)
    looks = all(step.ran.looks for step in guilty)
    told = _own_words(text, awaited) if looks else told_in(text)
    if not told and not looks and result.exit_code is not None and outcome.failed:
        told = (Told(f"exit code {result.exit_code}", "other"),)
    missing = len(told) == 1 and _MISSING.search(told[0].line) is not None
    if not told or _WRONG_FOLDER.search(told[0].line):
        return None
    return Failure(told, about, awaited, "", guilty[-1], missing)


def _own_words(text: str, awaited: Iterable[Ran]) -> tuple[Told, ...]:
    """What programs that only look say themselves. What they print beside it is what they were
    looking at; and that something is not there is an answer."""
    programs = {ran.program for ran in awaited}
    starts = tuple(f"{program}: " for program in programs)
    starts += ("fatal: ", "error: ") if "git" in programs else ()
    through = tuple(f": {program}: " for program in programs)
    for line in shown_part(text).splitlines():
        said = line.startswith(starts) or any(start in line[:120] for start in through)
        said = said or _MISSING.search(line[:400]) is not None
        if said and (_MISSING.search(line[:400]) or not _ABSENT.search(line[:400])):
            return (Told(line.strip(), "other"),)
    return ()


def _text(result: ToolResult) -> str:
    if result.error and result.error[:400] not in result.output:
        return f"{result.error}\n{result.output}"
    return result.output


# Whether a command that succeeds shows an earlier error to be past.

REPEATED = frozenset({"commit", "push", "pull_request", "merge", "tag"})
"""Purposes whose commands differ in their words only: the next that works is the same again."""
VARIED = frozenset({"install", "deploy", "migration"})
"""Purposes for which the same program with other options is the same again."""
SCOPE_FILTERS = frozenset(
    {"-run", "-k", "-t", "--grep", "-g", "--testNamePattern", "--filter", "-m", "--test", "-e"}
    | {"--tests", "-Dtest", "--bench", "-bench", "--only"}
)
"""Options that choose among tests."""
ALONE = frozenset(
    {"pytest", "tsc", "tsgo", "vue-tsc", "jest", "vitest", "mocha", "mypy", "pyright", "eslint"}
    | {"prettier", "flake8", "pylint", "black", "isort", "gofmt", "rspec", "phpunit", "node"}
)
"""Programs without subcommands: their first word is what they look at."""
RUNS = frozenset({"run", "run-script", "exec", "task", "r"})
"""Subcommands behind which stands the name of a script."""
SCRIPTS = ".ts .tsx .js .jsx .mts .cts .mjs .cjs .vue .svelte"
_LANGUAGES = {
    "go": ".go",
    "cargo": ".rs",
    "rustc": ".rs",
    "python": ".py",
    "pytest": ".py",
    "mypy": ".py",
    "ruff": ".py",
    "npm": SCRIPTS,
    "pnpm": SCRIPTS,
    "yarn": SCRIPTS,
    "bun": SCRIPTS,
    "tsc": SCRIPTS,
    "tsgo": SCRIPTS,
    "jest": SCRIPTS,
    "vitest": SCRIPTS,
    "vite": SCRIPTS,
    "mvn": ".java .kt .scala",
    "gradle": ".java .kt .scala",
    "gradlew": ".java .kt .scala",
    "javac": ".java",
    "dotnet": ".cs .fs",
    "swift": ".swift",
    "make": "*",
    "mise": "*",
    "just": "*",
    "task": "*",
    "cmake": "*",
    "ninja": "*",
    "bazel": "*",
}
LANGUAGES = {program: frozenset(endings.split()) for program, endings in _LANGUAGES.items()}
"""Endings of the files a program builds or tests; `*` for what runs other programs."""
_NAME = re.compile(r"[a-z][\w:-]*", re.IGNORECASE)
_TEST_FILE = re.compile(r"(?:^|[/_.-])(?:tests?|spec)[/_.]|_test\.", re.IGNORECASE)
_SET_APART = re.compile(r"^-(?:-)?tags?\b|^-m$|integration|e2e|slow|bench", re.IGNORECASE)
_HARMLESS = re.compile(
    r"-(?:v{1,3}|q{1,2}|x|s|race|failfast|count=\d+|p|j\d*|n\d*)$"
    r"|--?(?:verbose|quiet|silent|timeout|color|colour|no-color|tb|no-header|durations|parallel"
    r"|maxfail|bail|cache|no-cache|nocapture|reporter)\b"
)
"""Options that change what is shown, or how fast."""
_GOES_ON = ("rebase", "merge", "cherry-pick", "revert", "am")


Kind = Literal["test", "compiler", "raised", "other"]


class Open(NamedTuple):
    """An error that nothing has shown to be past."""

    line: str
    kind: Kind
    name: str
    places: tuple[str, ...]
    missing: bool
    awaited: tuple[Ran, ...]
    """Commands that must succeed for it to be past."""
    also: tuple[Ran, ...]
    """Others that showed it before: one of them is enough."""
    target: str
    about: str
    since: int
    """How many changes there had been when it was first seen."""
    turn: int
    exchange: int


class _Scope(NamedTuple):
    head: tuple[str, ...]
    """The program and what it is told to do: `go test`, `npm run check`."""
    targets: tuple[str, ...]
    """Files and folders; none where it concerns all."""
    chosen: tuple[str, ...]
    """The names of tests, or parts of them, that were chosen."""


def shows_past(passing: Ran, failed: Ran, error: Open) -> bool:
    """Whether a command that succeeded proves that an error of another one is gone."""
    if alike(passing, failed):
        return True
    if error.missing:
        return passing.program == failed.program
    if failed.purpose in REPEATED:
        return passing.purpose == failed.purpose
    if failed.purpose in VARIED:
        return (passing.purpose, passing.program) == (failed.purpose, failed.program)
    if failed.program == "git":
        return _went_on(passing, failed)
    if error.kind == "compiler" and failed.purpose in ("test", "build", "other"):
        return _compiles(passing, failed, error)
    if failed.purpose not in ("test", "build", "lint") or passing.purpose != failed.purpose:
        return False
    if error.kind == "test" and error.name and _chose(scope_of(passing), error.name):
        return True
    return _at_least(passing, failed) or (error.kind == "test" and _whole(passing, failed))


def scope_of(ran: Ran) -> _Scope:
    module = ran.words[:2] == ("python", "-m")
    words = ran.words[2:] if module else ran.words
    head = _head(words)
    rest = words[len(head) :]
    chosen: list[str] = []
    targets: list[str] = []
    before = ""
    for word in rest:
        option, joined, value = word.partition("=")
        if before in SCOPE_FILTERS:
            chosen.append(word)
        elif option in SCOPE_FILTERS and joined:
            chosen.append(value)
        elif not word.startswith("-"):
            path, named, test = word.partition("::")
            targets.append(path)
            chosen += [test] if named else []
        before = word
    return _Scope(head, _wide(targets), tuple(chosen))


def _head(words: tuple[str, ...]) -> tuple[str, ...]:
    """The program with its subcommand, and the script that it runs."""
    longest = 1 if words[:1] and words[0] in ALONE else 3 if words[1:2] and words[1] in RUNS else 2
    named = [bool(_NAME.fullmatch(word)) for word in words[1:longest]]
    return words[: 1 + (named.index(False) if False in named else len(named))]


def _wide(targets: list[str]) -> tuple[str, ...]:
    """Targets without what says `and all below`; none where one of them is everything."""
    plain = [target.removesuffix("...").rstrip("/").removeprefix("./") for target in targets]
    return () if any(target in ("", ".") for target in plain) else tuple(plain)


def _went_on(passing: Ran, failed: Ran) -> bool:
    """`git rebase --continue` that works ends what `git rebase main` could not."""
    doing = next((word for word in failed.words[1:3] if word in _GOES_ON), "")
    return (
        bool(doing)
        and doing in passing.words[:3]
        and passing.program == "git"
        and (bool({"--continue", "--skip"} & set(passing.words)))
    )


def _compiles(passing: Ran, failed: Ran, error: Open) -> bool:
    """Whether the files of a compiler's message were built. Files of tests are built by tests."""
    vetted = passing.words[:2] == ("go", "vet")
    files = [place.rpartition(":")[0] for place in error.places]
    if not (vetted or passing.purpose in ("test", "build")):
        return False
    if tags_of(failed) - tags_of(passing):
        return False
    if not files or not same_folder(passing.folder, failed.folder):
        return False
    endings = LANGUAGES.get(passing.program, frozenset())
    scope = scope_of(passing)
    return all(
        ("*" in endings or any(file.endswith(ending) for ending in endings))
        and (vetted or passing.purpose == "test" or not _TEST_FILE.search(file))
        and (not scope.targets or _below(file, scope.targets))
        for file in files
    )


def tags_of(ran: Ran) -> set[str]:
    return {word for word in ran.words if word.startswith(("-tags", "--tags", "--features"))}


def _below(path: str, targets: tuple[str, ...]) -> bool:
    return any(path == target or path.startswith(f"{target}/") for target in targets)


def _chose(scope: _Scope, name: str) -> bool:
    """Whether a test was among those chosen by name."""
    alternatives = [part.strip("^$() ") for word in scope.chosen for part in word.split("|")]
    return any(part.isidentifier() and part in name for part in alternatives)


def _at_least(passing: Ran, failed: Ran) -> bool:
    """Whether a run concerned all that a failing one did."""
    wide, narrow = scope_of(passing), scope_of(failed)
    if wide.chosen and wide.chosen != narrow.chosen:
        return False
    covered = narrow.targets and all(_below(target, wide.targets) for target in narrow.targets)
    if wide.head != narrow.head or (wide.targets and not covered):
        return False
    if _options(passing) != _options(failed):
        return False
    # where fewer tests passed than had been run, a part of them settles nothing
    counts = (passing.counts, failed.counts)
    return same_folder(passing.folder, failed.folder) and (
        not _comparable(*counts) or _as_many(*counts)
    )


def _whole(passing: Ran, failed: Ran) -> bool:
    """Whether all tests of the project were run, and the failing ones were of those that are
    always run: tests behind a tag or a mark need not be."""
    scope = scope_of(passing)
    if scope.chosen or scope.targets or passing.counts is None:
        return False
    if passing.folder and not same_folder(passing.folder, failed.folder):
        return False
    if _as_many(passing.counts, failed.counts):
        return True
    set_apart = any(_SET_APART.search(word) for word in failed.words)
    runs_others = "*" in LANGUAGES.get(passing.program, frozenset())
    return not set_apart and (runs_others or passing.program == failed.program)


def _options(ran: Ran) -> set[str]:
    """Options that may change what is checked."""
    given = {word for word in ran.words if word.startswith("-")} - SCOPE_FILTERS
    return {word for word in given if not _HARMLESS.match(word)}


def _as_many(passing: Counts | None, failing: Counts | None) -> bool:
    if passing is None or failing is None or not _comparable(passing, failing):
        return False
    return passing.passed >= failing.passed + failing.failed


def _comparable(passing: Counts | None, failing: Counts | None) -> bool:
    if passing is None or failing is None:
        return False
    return (passing.runner, passing.unit) == (failing.runner, failing.unit)
