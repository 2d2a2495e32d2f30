"""Errors: seen in a failing call, and shown to be past by a later one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from posixpath import basename
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.paths import Paths, is_scratch
from kedgeline.facts.steps import (
    ENDS,
    SELDOM,
    CommandStep,
    Ran,
    same_command,
    same_folder,
    steps_of,
)
from kedgeline.model import ErrorResolved, ErrorSeen, Speaker, ToolCall, ToolResult, Turn
from kedgeline.shell import CHECKS, Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.shell.evidence import SELDOM_FAIL, shown_part
from kedgeline.shell.telling import LONGEST, TRACED, ToldError, told_in
from kedgeline.text.prose import cut, one_line, sentences

# The errors a call shows: which of its commands, which of its lines, and what they are about.

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


class _Failure(NamedTuple):
    told: tuple[ToldError, ...]
    about: str
    awaited: tuple[Ran, ...] = ()
    """Commands that must succeed for the errors to be past."""
    target: str = ""
    """What a call that runs no command was about."""
    step: CommandStep | None = None
    """The command to blame, where it is known."""
    missing: bool = False
    """The program itself is not there."""
    minor: bool = False
    """A rule of the client, repaired by the next call."""


def failure_of(outcome: Outcome, steps: Sequence[CommandStep], paths: Paths) -> _Failure | None:
    """What went wrong in a call; None where nothing did, or where it is an answer."""
    result = outcome.result
    if result is None or result.refused or result.interrupted or _GIVEN_UP in result.output[:200]:
        return None
    about = _about(outcome)
    if steps:
        return _of_commands(outcome, result, steps, about)
    if not result.failed or outcome.call.verb in _ANSWERS:
        return None
    target = _target_of(outcome.call, paths)
    if outcome.call.verb in _CHANGING:
        text = _OF_EDIT.split((result.error or result.output)[:4_000], maxsplit=1)[0]
        told = told_in("\n".join(islice(text.splitlines(), EDIT_LINES)))[:1]
        return _Failure(told, target, target=target, minor=True) if told else None
    told = told_in(_text(result))
    return _Failure(told, about or target, target=target) if told else None


def _about(outcome: Outcome) -> str:
    return cut(one_line(shell_line(outcome.call)[: ABOUT_SHOWN * 4]), ABOUT_SHOWN)


def _target_of(call: ToolCall, paths: Paths) -> str:
    """The tool, and the file it changes."""
    path = next(iter(call.paths()), "") if call.verb in _CHANGING else ""
    return f"{call.tool[:60]} {paths.name(path)}".rstrip()


def _of_commands(
    outcome: Outcome, result: ToolResult, steps: Sequence[CommandStep], about: str
) -> _Failure | None:
    guilty = _blamed(outcome, steps)
    if not guilty or result.exit_code == STOPPED:
        return None
    text = _text(result)
    looks = all(step.ran.looks for step in guilty)
    told = _own_words(text, [step.ran.program for step in guilty]) if looks else told_in(text)
    if not told and not looks and result.exit_code is not None and outcome.failed:
        told = (ToldError(f"exit code {result.exit_code}", "other"),)
    if not told or _WRONG_FOLDER.search(told[0].line):
        return None
    missing = len(told) == 1 and _MISSING.search(told[0].line) is not None
    return _Failure(told, about, tuple(step.ran for step in guilty), "", guilty[-1], missing)


def _blamed(outcome: Outcome, steps: Sequence[CommandStep]) -> list[CommandStep]:
    """The commands one of which failed; one, where it is known which. A check that failed is an
    error although its line ended well, as in a pipe; any other command may fail there on purpose.
    """
    failing = [step for step in steps if step.failing and step.ran.program not in ENDS]
    checks = [step for step in failing if step.run.purpose in CHECKS]
    if checks or failing or not outcome.failed:
        return (checks or (failing if outcome.failed else []))[-1:]
    unknown = [s for s in steps if s.run.success is None and s.command.program not in SELDOM_FAIL]
    serious = [s for s in unknown if not (s.ran.looks or SELDOM.intersection(s.ran.words[:4]))]
    return serious or unknown


def _own_words(text: str, programs: Sequence[str]) -> tuple[ToldError, ...]:
    """What programs that only look say themselves. What they print beside it is what they were
    looking at; and that something is not there is an answer."""
    starts = tuple(f"{program}: " for program in programs)
    starts += ("fatal: ", "error: ") if "git" in programs else ()
    for line in shown_part(text).splitlines():
        missing = _MISSING.search(line[:400])
        through = any(f": {program}: " in line[:120] for program in programs)
        said = line.startswith(starts) or through
        if missing or (said and not _ABSENT.search(line[:400])):
            return (ToldError(line.strip(), "other"),)
    return ()


def _text(result: ToolResult) -> str:
    if result.error and result.error[:400] not in result.output:
        return f"{result.error}\n{result.output}"
    return result.output


# What makes two errors the same one, and where an error says it is.

KEY_LENGTH = 200
"""Characters of a key: a message and a path."""
MOST_PLACES = 8
"""Places named with one error; a compiler may repeat it at every call site."""

_VARIABLE = re.compile(
    r"(?P<address>\b(?:https?|ssh)://\S{1,300})"
    r"|(?P<scratch>(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'\":,;)\]]{1,300})"
    r"|(?P<time>\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\.\d{1,9})?\b)"
    r"|(?P<hexadecimal>\b0x[0-9a-fA-F]{1,32}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,30}\b"
    r"|\b(?=[a-f]{0,40}\d)[0-9a-f]{7,64}\b)"
    r"|(?P<number>(?<![\w.])[-+]?\d{1,18}(?:\.\d{1,18}){0,4}(?:ms|s|m|h|%|kB|KB|MB|GB)?(?![\w]))"
)
"""What differs from one time to the next. Digits within names stay: `TS2304`, `utf8`."""
_TYPECHECK = " (typecheck)"
"""What a linter puts behind the compiler's own message."""
_QUOTES = str.maketrans(dict.fromkeys('`"“”‘’´', "'"))
_PLACE = re.compile(r"(?<![\w/.])((?:[A-Za-z]:)?[\w.@+/\\-]{1,300}\.[A-Za-z]\w{0,7}):(\d{1,7})\b")


def _key_of(line: str, root: str) -> str:
    """The line without what changes from one time to the next."""
    text = one_line(line[:LONGEST]).translate(_QUOTES)
    if text.endswith(_TYPECHECK):
        text = text.removesuffix(_TYPECHECK)
        text = text[:-1] if text.endswith(")") and text.count("(") < text.count(")") else text
    if root:
        text = text.replace(f"{root.rstrip('/')}/", "")
    return cut(
        _VARIABLE.sub(lambda one: one[0] if one.lastgroup == "address" else "#", text), KEY_LENGTH
    )


def _places_of(told: ToldError, paths: Paths, folder: str) -> Iterator[str]:
    """`file:line`, seen from the root; as written where the folder is not known."""
    written: Iterable[str] = told.places
    if not told.places and not TRACED.search(told.line):
        found = _PLACE.findall(told.line)
        written = (f"{file}:{line}" for file, line in found if "//" not in file)
    for place in written:
        file, _, line = place.rpartition(":")
        name = paths.name(file, folder)
        led_out = file.startswith("..") and (name.startswith(("/", "..")) or not folder)
        if name and not led_out:
            yield f"{name}:{line}"


# Whether a command that succeeds shows an earlier error to be past.

REPEATED = frozenset({"commit", "push", "pull_request", "merge", "tag"})
"""Purposes whose commands differ in their words only: the next that works is the same again."""
VARIED = frozenset({"install", "deploy", "migration"})
"""Purposes for which the same program with other options is the same again."""
CHOOSERS = frozenset(
    {"-run", "-k", "-t", "--grep", "-g", "--testNamePattern", "--filter", "-m", "--test", "-e"}
    | {"--tests", "-Dtest", "--bench", "-bench", "--only"}
)
"""Options that choose among tests."""
TASK_RUNNERS = frozenset({"make", "mise", "just", "task", "cmake", "ninja", "bazel"})
"""Programs that run others: a run of all tests may be theirs."""
_ALL_TESTS = re.compile(r"run|exec|task|-m|[\w:-]*(?:test|check|spec|unit|all|ci)[\w:-]*")
"""The words of a command that runs all tests there are."""
_TEST_FILE = re.compile(r"(?:^|[/_.-])(?:tests?|spec)[/_.]|_test\.", re.IGNORECASE)
_SET_APART = re.compile(r"^-(?:-)?tags?\b|^-m$|integration|e2e|slow|bench", re.IGNORECASE)
"""Tests behind a tag or a mark, which a run of all need not run."""
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
    target: str
    about: str
    since: int
    """How many changes there had been when it was first seen."""
    exchange: int


def shows_past(passing: Ran, failed: Ran, error: Open) -> bool:
    """Whether a command that succeeded proves that an error of another one is gone."""
    if same_command(passing, failed):
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
    if error.kind == "test" and (_names(passing, error.name) or _is_whole_run(passing, failed)):
        return True
    return _covers(passing, failed)


def _went_on(passing: Ran, failed: Ran) -> bool:
    """`git rebase --continue` that works ends what `git rebase main` could not."""
    doing = next((word for word in failed.words[1:3] if word in _GOES_ON), "")
    goes_on = {"--continue", "--skip"}.intersection(passing.words)
    return bool(doing and goes_on) and passing.program == "git" and doing in passing.words[:3]


def _compiles(passing: Ran, failed: Ran, error: Open) -> bool:
    """Whether the files of a compiler's message were built. Files of tests are built by tests."""
    vets = passing.words[:2] == ("go", "vet")
    tests = vets or passing.purpose == "test"
    files = [place.rpartition(":")[0] for place in error.places]
    if not (tests or passing.purpose == "build") or not files or _tags(failed) - _tags(passing):
        return False
    if passing.program != failed.program and passing.program not in TASK_RUNNERS:
        return False
    folders = [_bare(word) for word in passing.words[1:] if "/" in word and word[:1] != "-"]
    return same_folder(passing.folder, failed.folder) and all(
        (tests or not _TEST_FILE.search(file))
        and (not any(folders) or any(_around(folder, file) for folder in folders))
        for file in files
    )


def _tags(ran: Ran) -> set[str]:
    return {word for word in ran.words if word.startswith(("-tags", "--tags", "--features"))}


def _covers(passing: Ran, failed: Ran) -> bool:
    """Whether a run concerned all that a failing one did: every word narrows a run, and each of its
    own stands in the failing command too, or is a folder around one there."""
    left = _options(failed) - _options(passing) - CHOOSERS
    if passing.program != failed.program or left:
        return False
    return same_folder(passing.folder, failed.folder) and all(
        any(_around(word, _bare(other)) for other in failed.words[1:])
        for word in map(_bare, passing.words[1:])
        if word and not _HARMLESS.match(word)
    )


def _names(passing: Ran, name: str) -> bool:
    """Whether a test was among those chosen by name."""
    pairs = zip(passing.words, passing.words[1:], strict=False)
    chosen = (word for before, word in pairs if "::" in word or before in CHOOSERS)
    parts = (part.strip("^$() ") for word in chosen for part in word.split("::")[-1].split("|"))
    return any(part.isidentifier() and part in name for part in parts)


def _is_whole_run(passing: Ran, failed: Ran) -> bool:
    """Whether all tests of the project were run, and the failing ones are always run."""
    narrows = (word for word in passing.words[1:] if _bare(word) and not _HARMLESS.match(word))
    if passing.counts is None or not all(_ALL_TESTS.fullmatch(word) for word in narrows):
        return False
    if passing.folder and not same_folder(passing.folder, failed.folder):
        return False
    set_apart = any(_SET_APART.search(word) for word in failed.words)
    same = passing.program == failed.program or passing.program in TASK_RUNNERS
    return same and not set_apart


def _options(ran: Ran) -> set[str]:
    """Options that may change what is checked."""
    given = {word.partition("=")[0] for word in ran.words if word.startswith("-")}
    return {word for word in given if not _HARMLESS.match(word)}


def _bare(word: str) -> str:
    """A target without what says `and all below`; empty for everything."""
    bare = word.removesuffix("...").rstrip("/").removeprefix("./")
    return "" if bare == "." else bare


def _around(folder: str, path: str) -> bool:
    return path == folder or path.startswith((f"{folder}/", f"{folder}::"))


# What was done since an error, and what shows it to be past.

REMEMBERED = 48
"""Open errors remembered; the oldest goes, and stays open for whoever was told of it."""
FILES = 64
"""Changed files remembered, the latest: few errors take more to mend."""
NAMED = 3
"""Files named as the ones that mended an error; the others are counted."""
COMMAND_SHOWN = 80
"""Characters of a command in what mended an error: one line of a terminal."""
OUTPUT_WITHIN = 20_000
"""Characters at the end of an output in which a compiler says that it stopped counting."""
_INSTEAD = re.compile(
    r"\bfail\w*\b.{0,300}?[,;—-] ?(?:so |therefore |instead,? )?(?:I|we)?(?:'ve| have)? ?"
    r"(switched to .{2,200}|moved to .{2,200}|went with .{2,200}|use[ds]? .{2,200} instead)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[\w./-]{3,80}")
ANSWER_WITHIN = 4_000
"""Characters of an answer in which it says what is done instead."""

Past = tuple[str, str]
"""An error's key, and by what it went away."""


class _Changes:
    """The files changed, and the installations made."""

    def __init__(self, paths: Paths) -> None:
        self.count = 0
        """All changes so far."""
        self._paths = paths
        self._files = Recent[str, int](FILES)
        self._installed = ("", 0)

    def add(self, outcome: Outcome, steps: Sequence[CommandStep]) -> None:
        """Take what a call changed, but not what its commands printed into files."""
        for touch in outcome.touched:
            printed = touch.by == "shell" and touch.action == "created"
            name = self._paths.name(touch.path)
            if touch.action != "read" and name and not printed and not is_scratch(name):
                self.count += 1
                self._files.put(name, self.count)
        if any(step.passing and step.run.purpose == "install" for step in steps):
            self.count += 1
            self._installed = (_shown(shell_line(outcome.call)), self.count)

    def how(self, since: int) -> str:
        """What was done after so many changes, in a few words; empty where nothing was."""
        if files := [path for path, last in self._files.items() if last > since]:
            return f"after editing {file_names(files)}"
        command, last = self._installed
        return f"by `{command}`" if last > since else ""


class OpenErrors:
    def __init__(self, paths: Paths) -> None:
        self.changes = _Changes(paths)
        self._paths = paths
        self._open = Recent[str, Open](REMEMBERED)

    def items(self) -> tuple[tuple[str, Open], ...]:
        return tuple(self._open.items())

    def add(self, key: str, error: Open) -> None:
        """Take an error; one that is open already stays so since it was first seen."""
        before = self._open.get(key)
        self._open.put(key, error._replace(since=before.since) if before else error)

    def settle(self, turn: Turn, outcome: Outcome, steps: Sequence[CommandStep]) -> Iterator[Past]:
        """What a call shows to be past."""
        result = outcome.result
        if result is None or result.refused or result.interrupted:
            return
        self.changes.add(outcome, steps)
        if outcome.success and not steps and self._open:
            yield from self._repaired(turn, outcome)
        for step in steps if self._open else ():
            if step.passing:
                yield from self._passed(shell_line(outcome.call), step.ran)

    def replace(
        self, outcome: Outcome, failure: _Failure, kind: Kind, keys: set[str]
    ) -> Iterator[Past]:
        """The same command fails again, with other errors: those it no longer names are gone,
        where all it said is there and something was changed."""
        step, result = failure.step, outcome.result
        if step is None or result is None or len(failure.awaited) != 1:
            return
        cut_by = _cut_by(step, result.output)
        for key, error in self.items():
            if cut_by and not (cut_by == "head" and (kind, error.kind) == ("test", "compiler")):
                continue  # what does not compile is told before tests: it would stand in the head
            how = self.changes.how(error.since)
            if how and key not in keys and _waits_for(error, step) and _follows(kind, error.kind):
                yield self._past(key, how)

    def not_shown(self, outcome: Outcome) -> Iterator[Past]:
        """The same line to the letter ran again, and what it prints of itself has no error: a pipe
        that hides how it ended cuts as it cut before."""
        result = outcome.result
        if result is None or result.failed or not result.output.strip():
            return
        for key, error in self.items():
            if error.awaited and error.about == _about(outcome):
                yield self._past(key, self.changes.how(error.since) or "not shown at the next run")

    def _passed(self, line: str, ran: Ran) -> Iterator[Past]:
        """A command succeeded."""
        for key, error in self.items():
            left = tuple(one for one in error.awaited if not shows_past(ran, one, error))
            if error.awaited and not left:
                again = any(same_command(ran, one) for one in error.awaited)
                how = f"`{_shown(line)}` works" if again else f"by `{_shown(line)}`"
                yield self._past(key, self.changes.how(error.since) or how)
            elif left != error.awaited:
                self._open[key] = error._replace(awaited=left)

    def _repaired(self, turn: Turn, outcome: Outcome) -> Iterator[Past]:
        """A call of the same tool succeeded; for a file, any change of that file."""
        target = _target_of(outcome.call, self._paths)
        path = target.partition(" ")[2]
        for key, error in self.items():
            other = error.target.partition(" ")[2]
            same = path == other if path else error.target == target
            if error.target and same and (path or error.exchange == turn.exchange):
                yield self._past(key, "at the next try")

    def give_up(self, answer: str) -> Iterator[Past]:
        """Errors of which the agent says what it does instead, by a name that stands in them."""
        told = [one for one in map(_INSTEAD.search, sentences(answer[:ANSWER_WITHIN])) if one]
        for key, error in self.items() if told else ():
            names = {name for name in _WORDS.findall(error.line) if not name.isalpha()}
            for found in told:
                if key in self._open and names & set(_WORDS.findall(found.string)):
                    yield self._past(key, cut(one_line(found[1]), COMMAND_SHOWN).rstrip("."))

    def _past(self, key: str, how: str) -> Past:
        self._open.pop(key, None)
        return key, how


def _waits_for(error: Open, step: CommandStep) -> bool:
    return any(same_command(step.ran, ran) for ran in error.awaited)


def _follows(now: Kind, before: Kind) -> bool:
    """Whether an error would have been named among those that came now. What does not compile
    says nothing about tests; what was said otherwise says nothing about either."""
    if before == "test":
        return now == "test"
    return now in ("test", "compiler") if before == "compiler" else True


def _cut_by(step: CommandStep, output: str) -> str:
    """What left out some of what a command printed; empty where all of it is there."""
    lines = output.count("\n") + 1
    for command in step.behind:
        if command.program in ("head", "tail"):
            numbers = (word.lstrip("-n+") for word in command.words[1:])
            if lines >= next((int(one) for one in numbers if one.isdecimal()), 10):
                return command.program
        elif command.program not in ("cat", "tee"):
            return command.program
    return "compiler" if "too many errors" in output[-OUTPUT_WITHIN:] else ""


def file_names(paths: Iterable[str]) -> str:
    """Base names, each once; the last ones first, as they were nearest to the success."""
    names = tuple(dict.fromkeys(basename(path.rstrip("/")) for path in reversed(tuple(paths))))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _shown(command: str) -> str:
    return cut(one_line(command[: COMMAND_SHOWN * 8]), COMMAND_SHOWN)


LINE_SHOWN = 240
"""Characters of a telling line: a message, a path, what was expected and what came."""
MOST_SEEN = 3
"""Errors given of one output: the first ones cause many of the others."""

Found = ErrorSeen | ErrorResolved


class ErrorExtractor:
    """Gives each error when it is seen, and again when something shows it to be past."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._paths = Paths(setting.root, setting.checkouts)
        self._errors = OpenErrors(self._paths)
        self._minor = Recent[str, int](REMEMBERED)
        """In which exchange a client's rule was last broken: once is enough to be told."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Found]:
        for outcome in outcomes:
            steps = steps_of(outcome)
            gone = [*self._errors.settle(turn, outcome, steps)]
            failure = failure_of(outcome, steps, self._paths)
            keyed = self._keyed(failure) if failure else {}
            if failure:
                kind = failure.told[0].kind
                gone += self._errors.replace(outcome, failure, kind, set(keyed))
            elif steps:
                gone += self._errors.not_shown(outcome)
            for key, how in gone:
                yield ErrorResolved(turn=turn.index, by=_speaker(turn), key=key, how=how)
            if failure:
                yield from self._failed(turn, failure, keyed)
            if outcome.call.verb == "delegate":
                yield from self._of_agent(turn, outcome)
        for key, how in self._errors.give_up(turn.assistant_response) if not outcomes else ():
            yield ErrorResolved(turn=turn.index, by="agent", key=key, how=how)

    def _failed(
        self, turn: Turn, failure: _Failure, keyed: dict[str, tuple[ToldError, tuple[str, ...]]]
    ) -> Iterator[ErrorSeen]:
        for key, (told, places) in list(keyed.items())[:MOST_SEEN]:
            if failure.minor:
                rule = _key_of(told.line, self._setting.root)
                before = self._minor.get(rule)
                self._minor.put(rule, turn.exchange)
                if before == turn.exchange:
                    continue
            error = Open(
                line=cut(one_line(told.line), LINE_SHOWN),
                kind=told.kind,
                name=told.name,
                places=places,
                missing=failure.missing,
                awaited=failure.awaited,
                target=failure.target,
                about=failure.about,
                since=self._errors.changes.count,
                exchange=turn.exchange,
            )
            yield self._seen(turn, key, error, _speaker(turn))

    def _seen(self, turn: Turn, key: str, error: Open, by: Speaker) -> ErrorSeen:
        self._errors.add(key, error)
        return ErrorSeen(
            turn=turn.index,
            by=by,
            key=key,
            line=error.line,
            about=error.about,
            places=error.places,
        )

    def _keyed(self, failure: _Failure) -> dict[str, tuple[ToldError, tuple[str, ...]]]:
        """The errors by their keys; those of one key are one, with all its places. Where the line
        tells little, what it is about belongs to the key."""
        folder = failure.awaited[-1].folder if failure.awaited else ""
        found: dict[str, tuple[ToldError, tuple[str, ...]]] = {}
        for told in failure.told:
            key = _key_of(told.line, self._setting.root)
            if failure.minor or told.line.startswith("exit code "):
                key = f"{key} [{failure.target or _shown(failure.about)}]"
            first, before = found.get(key, (told, ()))
            places = dict.fromkeys((*before, *_places_of(told, self._paths, folder)))
            found[key] = (first, tuple(places)[:MOST_PLACES])
        return found

    def _of_agent(self, turn: Turn, outcome: Outcome) -> Iterator[ErrorSeen]:
        """What a sub-agent left unsolved: its word, as nobody looked on."""
        inner = ErrorExtractor(self._setting._replace(agents={}))
        for own, outcomes in agent_turns(self._setting, outcome):
            deque(inner.see(own, outcomes), maxlen=0)
        left = [(key, error) for key, error in inner._errors.items() if not error.target]
        for key, error in left[-MOST_SEEN:]:
            here = error._replace(since=self._errors.changes.count, exchange=turn.exchange)
            yield self._seen(turn, key, here, "agent")


def _speaker(turn: Turn) -> Speaker:
    return "agent" if turn.agent else "tool"
