"""What detectors remember of a conversation: files changed, and failures still open. Bounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kedge.outcomes import Outcome, Purpose, Run

REMEMBERED = 64
"""Paths or failures remembered at the most; the oldest goes. One request seldom concerns more, and
a description names three."""
KEPT = 300
"""Characters of a path, or of a command, that are kept: enough to know it again, and a command may
carry a whole file."""
NAMED = 3
"""Files a description names; the others are counted."""
SHOWN = 80
"""Characters of a command or a message that a description shows: one line of a terminal."""

_LOOKING = """
    [ ag awk cat cd cmp command comm curl cut df diff du echo env export false file find getent
    grep egrep fgrep head hash id jq kill less ls lsof man md5sum more nl pgrep pkill printenv ps
    pwd readlink realpath rg sed shasum sha256sum sleep sort source stat tail tar test timeout tree
    true type uniq wc wget whereis which whoami xargs"""
LOOKING = frozenset(_LOOKING.split())
"""Programs that only look, or whose failing is an answer: nothing found, files differ."""
_LOOKING_GIT = """
    blame branch cat-file check-ignore config describe diff diff-index fetch for-each-ref grep
    log ls-files ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse show
    show-ref status symbolic-ref"""
LOOKING_GIT = frozenset(_LOOKING_GIT.split())
"""The same, of git."""
SELDOM_FAILS = ("git", "add")
"""What stands at the beginning of many lines, and is never what they fail at."""
_RUNNING = (
    "python|python3|node|ruby|php|perl|java|julia|lua|deno|bun|tsx|ts-node|Rscript|go run|cargo run"
    "|dotnet run|swift run|npm start"
)
RUNNING = frozenset(_RUNNING.split("|"))
"""Programs that run what is being worked on; tests that pass say something about it."""
SCRATCH = ("/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/dev/", "$TMP", "$(mktemp")
"""Where files are tried out and thrown away."""
PROSE = (".md", ".mdx", ".rst", ".adoc")
"""Endings of files that no test run verifies."""
CHANGING = ("edit", "write", "delete", "move")
"""Verbs of calls that change files."""


class Failure(NamedTuple):
    purpose: Purpose
    program: str
    """The program with its subcommand, or the tool."""
    command: str
    exchange: int
    since: int
    """How many changes there had been."""
    number: int
    """Its place among all calls."""
    lasting: bool
    """Whether it stays open until seen to succeed. A plain command that fails is left behind with
    the next call that succeeds: the agent went another way."""


class Changes:
    """Files changed, each with when it last was."""

    def __init__(self) -> None:
        self.count = 0
        """All changes so far."""
        self.elsewhere = False
        """Whether a file outside SCRATCH has been changed. Until then a conversation may well have
        its work there."""
        self._last: dict[str, int] = {}

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            scratch = path.startswith(SCRATCH)
            if not scratch and not self.elsewhere:
                self.elsewhere = True
                self._last.clear()
            if scratch and self.elsewhere:
                continue
            self.count += 1
            self._last.pop(path[-KEPT:], None)
            self._last[path[-KEPT:]] = self.count
            if len(self._last) > REMEMBERED:
                del self._last[next(iter(self._last))]

    def since(self, count: int = 0) -> tuple[str, ...]:
        """Files changed after so many changes, in the order of their last one."""
        return tuple(path for path, last in self._last.items() if last > count)

    def tested_since(self, count: int = 0) -> tuple[str, ...]:
        """Those of them that a test run says something about."""
        return tuple(path for path in self.since(count) if not path.lower().endswith(PROSE))

    def forget(self) -> None:
        self._last.clear()


class Failures:
    """What failed and was not seen to succeed since, in this exchange and the one before."""

    def __init__(self) -> None:
        self._open: list[Failure] = []
        self._exchange = 0
        self._calls = 0
        self._succeeded = 0
        """Number of the last call that succeeded."""

    def begin(self, exchange: int) -> None:
        """Enter an exchange; what failed before the exchange before is no longer open."""
        if exchange != self._exchange:
            self._open = [one for one in self._open if one.exchange == self._exchange]
            self._exchange = exchange

    def take(self, outcome: Outcome, changes: int) -> None:
        """A call, without runs of which it is known how they went, after so many changes."""
        self._calls += 1
        tool = _tool(outcome)
        if outcome.success:
            self._succeeded = self._calls
            self._open = [one for one in self._open if one.program != tool]
        elif outcome.failed and not outcome.runs and tool:
            self._add("other", tool, tool, changes, lasting=outcome.call.verb == "other")
        elif outcome.failed and not any(run.success is False for run in outcome.runs):
            unknown = (run for run in outcome.runs if run.success is None and matters(run))
            able = [run for run in unknown if run.words[:2] != SELDOM_FAILS]
            for run in able[:1]:  # a later one would have had its say in the output
                self.fail(run, changes)

    def fail(self, run: Run, changes: int) -> None:
        """A run that failed, after so many changes."""
        if matters(run):
            lasting = run.purpose != "other"
            self._add(run.purpose, program_of(run), run.text[:KEPT], changes, lasting=lasting)

    def mend(self, run: Run) -> tuple[Failure, ...]:
        """Close what a successful run shows to be mended, and give it back.

        For other purposes than these, the same program with other arguments closes a failure too
        but shows nothing.
        """
        mended = tuple(one for one in self._open if _mends(run, one))
        shows = run.purpose in ("test", "build", "other")
        closed = None if shows else (run.purpose, program_of(run))
        self._open = [
            one for one in self._open if one not in mended and (one.purpose, one.program) != closed
        ]
        return mended

    @property
    def unanswered(self) -> bool:
        """Whether something failed in this exchange and was left at that."""
        return any(
            one.exchange == self._exchange and (one.lasting or one.number >= self._succeeded)
            for one in self._open
        )

    def _add(
        self, purpose: Purpose, program: str, command: str, changes: int, *, lasting: bool
    ) -> None:
        known = [one for one in self._open if one.command == command]
        since = min([changes, *(one.since for one in known)])  # open since it first failed
        failure = Failure(purpose, program, command, self._exchange, since, self._calls, lasting)
        self._open = [one for one in self._open if one.command != command]
        self._open.append(failure)
        del self._open[:-REMEMBERED]


def passes(run: Run) -> bool:
    """A test run in which something passed and nothing failed, as far as its runner counts."""
    return (
        run.purpose == "test" and run.success is True and (run.counts is None or run.counts.passing)
    )


def tests_fail(outcomes: Iterable[Outcome]) -> bool:
    """Whether a test run among these fails: then another that passes shows little."""
    return any(
        run.purpose == "test"
        and (run.success is False or (run.counts is not None and run.counts.failed > 0))
        for outcome in outcomes
        for run in outcome.runs
    )


def matters(run: Run) -> bool:
    """Whether it is a problem when this command fails."""
    if run.purpose != "other":
        return True
    program = _base_name(run.words[0]) if run.words else ""
    if program == "git":
        return not LOOKING_GIT.intersection(run.words[1:4])
    return bool(program) and program not in LOOKING and not program.startswith("Get-")


def program_of(run: Run) -> str:
    """The program and its subcommand, or its first option where that is a word."""
    words = [_base_name(word) for word in run.words[:1]]
    words += [word for word in run.words[1:2] if word.replace("-", "").isalpha()]
    return " ".join(words)[:KEPT]


def named(paths: Iterable[str]) -> str:
    """Base names, each once."""
    names = tuple(dict.fromkeys(_base_name(path) for path in paths))
    more = f" +{len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def verified_by(run: Run) -> str:
    """What a successful run shows, in words."""
    if run.purpose == "test" and run.counts is not None:
        unit = run.counts.unit if run.counts.passed != 1 else run.counts.unit.removesuffix("s")
        unit = "" if run.counts.unit == "tests" else f" {unit}"
        return f"tests pass ({run.counts.passed}{unit} passed)"
    if run.purpose == "test":
        return f"tests pass ({shown(run.text)})"
    if run.purpose == "build":
        return f"the build passes ({shown(run.text)})"
    return f"`{shown(run.text)}` succeeds"


def shown(text: str) -> str:
    """The first line, cut."""
    line = text[: SHOWN * 4].strip().partition("\n")[0].strip()
    return line if len(line) <= SHOWN else line[: SHOWN - 1].rstrip() + "…"


def _mends(run: Run, failure: Failure) -> bool:
    if run.text[:KEPT] == failure.command:
        return True
    if passes(run):
        concerned = failure.purpose in ("test", "build") or _ran_the_work(failure)
    else:
        concerned = run.purpose == failure.purpose == "build"
    return concerned and _may_overlap(_targets(run.text[:KEPT]), _targets(failure.command))


def _ran_the_work(failure: Failure) -> bool:
    """Whether it ran what is worked on, and not something tried out beside it."""
    return failure.program in RUNNING and not any(
        word.startswith(SCRATCH) for word in failure.command.split()
    )


def _targets(command: str) -> tuple[str, ...]:
    """Files and folders a command names; nothing where it concerns all."""
    words = (word.partition("::")[0] for word in command.split()[1:] if word[0] != "-")
    targets = [word.rstrip("./").removeprefix("./") for word in words if "/" in word]
    return tuple(targets) if all(targets) else ()


def _may_overlap(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Unless both name what they concern, and one nothing of the other."""
    if not some or not others:
        return True
    return any(
        f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
        for one in some
        for other in others
    )


def _tool(outcome: Outcome) -> str:
    """What a failing call is remembered under; nothing where failing is an answer."""
    verb = outcome.call.verb
    if verb in CHANGING:
        return "change"
    return outcome.call.tool[:KEPT] if verb in ("other", "run") else ""


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
