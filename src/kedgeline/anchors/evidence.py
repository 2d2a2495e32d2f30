"""What detectors remember of a conversation: files changed, and failures still open. Bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kedgeline.shell import Outcome, Purpose, Run
from kedgeline.shell.calls import Todo, todos_of
from kedgeline.text.spoken import anywhere, at_beginning, cues_of

_CUES = cues_of("kedgeline.anchors")
WORDS: dict[str, list[str]] = _CUES["words"]
"""What detectors look for, as regular expressions."""
NAMES = {kind: frozenset(names.split()) for kind, names in _CUES["names"].items()}
"""Names of programs and tools, by what they do."""

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


EFFECTS = frozenset(
    {"commit", "push", "pull_request", "merge", "tag", "deploy", "migration", "install"}
)
"""Purposes of commands that change something, also where no file is known to have changed."""

_PARTS = re.compile(r"__|[./:]")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def own_name(outcome: Outcome) -> str:
    """The tool's name without that of a server."""
    return _PARTS.split(outcome.call.tool)[-1]


def first_word(tool: str) -> str:
    """What a tool's own name begins with: `get` of `server__getUser`."""
    found = _WORDS.match(_PARTS.split(tool)[-1])
    return found[0].lower() if found else ""


# The todo list of a conversation, from the calls that keep it.

TODOS_REMEMBERED = 200
"""Items remembered; the oldest goes. Lists longer than a screen are not kept by agents."""
TODOS_KEPT = 120
"""Characters of an item that are kept: a description shows fewer."""


class _Item(NamedTuple):
    text: str
    state: str
    """`open`, `done` or `dropped`."""


class Todos:
    """Whole lists replace what is known; single items are created and updated by their id."""

    def __init__(self) -> None:
        self._items: dict[str, _Item] = {}
        self._was_open = False
        """Whether an item was open since the last completion."""
        self._last = ""
        """The item that was done last."""

    def take(self, outcome: Outcome) -> None:
        """A call; only one that succeeded changed the list."""
        call = todos_of(outcome)
        if call is None or call.kind == "listing":
            return
        before = self._items
        if call.kind == "list":
            self._items = {}
        for number, item in enumerate(call.items):
            if call.kind in ("list", "merge"):
                self._put(item.id or str(number), item, before)
                continue
            key = item.id or item.text[:TODOS_KEPT]
            if key and (call.kind == "new" or key in before or item.status is not None):
                self._put(key, item, before)

    def completed(self) -> tuple[int, str]:
        """How many items are done, and the last of them, when the last open one has just become
        done; else nothing. What was completed is then forgotten: what follows is a new list."""
        states = [item.state for item in self._items.values()]
        last, self._last = self._last, ""
        if not self._was_open or not last or "open" in states:
            return 0, ""
        self._was_open, self._items = False, {}
        return states.count("done"), last

    def _put(self, key: str, item: Todo, before: Mapping[str, _Item]) -> None:
        known = before.get(key, _Item("", ""))
        text = item.text[:TODOS_KEPT] or known.text
        state = known.state or "open"
        if item.status is not None:
            state = {"completed": "done", "dropped": "dropped"}.get(item.status, "open")
        if state == "done" and known.state != "done":
            self._last = text or "a task"
        self._was_open = self._was_open or state == "open"
        self._items[key] = _Item(text, state)
        if len(self._items) > TODOS_REMEMBERED:
            del self._items[next(iter(self._items))]


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


class _Failure(NamedTuple):
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


class Failures:
    """What failed and was not seen to succeed since, in this exchange and the one before."""

    def __init__(self) -> None:
        self._open: list[_Failure] = []
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
        verb = outcome.call.verb
        tool = outcome.call.tool[:KEPT] if verb in ("other", "run") else ""
        tool = "change" if verb in CHANGING else tool
        if outcome.success:
            self._succeeded = self._calls
            self._open = [one for one in self._open if one.program != tool]
        elif outcome.failed and not outcome.runs and tool:
            self._add("other", tool, tool, changes, lasting=verb == "other")
        elif outcome.failed and not any(run.success is False for run in outcome.runs):
            unknown = (run for run in outcome.runs if run.success is None and matters(run))
            able = [run for run in unknown if run.words[:2] != SELDOM_FAILS]
            for run in able[:1]:  # a later one would have had its say in the output
                self.fail(run, changes)

    def fail(self, run: Run, changes: int) -> None:
        """A run that failed, after so many changes."""
        if matters(run):
            lasting = run.purpose != "other"
            self._add(run.purpose, subcommand_of(run), run.text[:KEPT], changes, lasting=lasting)

    def mend(self, run: Run) -> tuple[_Failure, ...]:
        """Close what a successful run shows to be mended, and give it back.

        For other purposes than these, the same program with other arguments closes a failure too
        but shows nothing.
        """
        mended = tuple(one for one in self._open if _mends(run, one))
        shows = run.purpose in ("test", "build", "other")
        closed = None if shows else (run.purpose, subcommand_of(run))
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
        failure = _Failure(purpose, program, command, self._exchange, since, self._calls, lasting)
        self._open = [one for one in self._open if one.command != command]
        self._open.append(failure)
        del self._open[:-REMEMBERED]


def passes(run: Run) -> bool:
    """A test run in which something passed and nothing failed, as far as its runner counts."""
    counted = run.counts is None or run.counts.passing
    return run.purpose == "test" and run.success is True and counted


def tests_fail(outcomes: Iterable[Outcome]) -> bool:
    """Whether a test run among these fails: then another that passes shows little."""
    tests = (run for outcome in outcomes for run in outcome.runs if run.purpose == "test")
    return any(
        run.success is False or (run.counts is not None and run.counts.failed > 0) for run in tests
    )


def matters(run: Run) -> bool:
    """Whether it is a problem when this command fails."""
    if run.purpose != "other":
        return True
    program = _base_name(run.words[0]) if run.words else ""
    if program == "git":
        return NAMES["looking_git"].isdisjoint(run.words[1:4])
    return bool(program) and program not in NAMES["looking"] and not program.startswith("Get-")


def subcommand_of(run: Run) -> str:
    """The program and its subcommand, or its first option where that is a word."""
    found = [_base_name(word) for word in run.words[:1]]
    found += [word for word in run.words[1:2] if word.replace("-", "").isalpha()]
    return " ".join(found)[:KEPT]


def files_named(paths: Iterable[str]) -> str:
    """Base names, each once."""
    return _listed(tuple(dict.fromkeys(_base_name(path) for path in paths)))


def _listed(names: tuple[str, ...]) -> str:
    more = f" +{len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def verified_by(run: Run) -> str:
    """What a successful run shows, in words."""
    if run.purpose == "test" and run.counts is not None:
        unit = run.counts.unit if run.counts.passed != 1 else run.counts.unit.removesuffix("s")
        unit = "" if run.counts.unit == "tests" else f" {unit}"
        return f"tests pass ({run.counts.passed}{unit} passed)"
    if run.purpose in ("test", "build"):
        what = "tests pass" if run.purpose == "test" else "the build passes"
        return f"{what} ({first_line(run.text)})"
    return f"`{first_line(run.text)}` succeeds"


def first_line(text: str) -> str:
    """The first line, cut."""
    line = text[: SHOWN * 4].strip().partition("\n")[0].strip()
    return line if len(line) <= SHOWN else line[: SHOWN - 1].rstrip() + "…"


def _mends(run: Run, failure: _Failure) -> bool:
    if run.text[:KEPT] == failure.command:
        return True
    if passes(run):
        tried_out = any(word.startswith(SCRATCH) for word in failure.command.split())
        runs_the_work = failure.program in RUNNING and not tried_out
        concerned = failure.purpose in ("test", "build") or runs_the_work
    else:
        concerned = run.purpose == failure.purpose == "build"
    return concerned and _may_overlap(_targets(run.text[:KEPT]), _targets(failure.command))


def _targets(command: str) -> tuple[str, ...]:
    """Files and folders a command names; nothing where it concerns all."""
    given = (word.partition("::")[0] for word in command.split()[1:] if word[0] != "-")
    targets = [word.rstrip("./").removeprefix("./") for word in given if "/" in word]
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


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


# What an answer says: whether it reports something, and its most telling sentence.

LOOKED_AT = 8_000
"""Characters of an answer looked at, from its end: exports of whole runs put all their steps into
one answer, and the report is last."""
SUBSTANCE, STRUCTURED_SUBSTANCE = 400, 200
"""Characters of prose that make an answer one of substance: about five sentences; less where it has
headings, lists or a table."""
STRUCTURE = 3
"""Headings, items or rows from which an answer counts as laid out."""
OPENING, CLOSING = 300, 400
"""Characters from the beginning and from the end of an answer in which it says how it went."""
TELLING = 25
"""Characters from which a sentence says something: "Great!" does not."""

_NO_PROSE = re.compile(r"^```.*?^[ \t]*```[^\n]*$|<details>.*?</details>", re.DOTALL | re.MULTILINE)
_LAID_OUT = re.compile(
    r"^[ \t]{0,8}(?:[-*•+] \S|\d{1,2}[.)] |#{1,5} |\|.{3}|\*\*[^*\n]{2,100}\*\*:?[ \t]*$)",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^(?:#{1,5} +(?P<marked>[^\n]{2,200})|\*\*(?P<bold>[^*\n]{2,100})\*\*:?[ \t]*$)",
    re.MULTILINE,
)
_MARKS = re.compile(r"[*`#>|✓✅✔☑]{1,80}")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n")
_ITEM = re.compile(r"[-*•+] |\d{1,2}[.)] |\|")
_FILLER = at_beginning(WORDS["fillers"], ending="")
_FAILURE = at_beginning(WORDS["failures"])
_ASKS = anywhere(WORDS["requests"])
_UNFINISHED = re.compile("|".join(WORDS["unfinished"]), re.IGNORECASE)


def prose_of(answer: str) -> str:
    """What an answer says beside code and folded details."""
    text = answer[-LOOKED_AT:]
    if len(text) < len(answer) and text.count("```") % 2:
        text = text.partition("```")[2]  # it begins inside code
    return _NO_PROSE.sub("", text).strip()


def reports(prose: str) -> bool:
    """Whether prose has substance, and is neither a question back nor a failure. A report may end
    with an offer, or ask which of its findings to follow."""
    laid_out = len(_LAID_OUT.findall(prose)) >= STRUCTURE
    substantial = len(prose) >= (STRUCTURED_SUBSTANCE if laid_out else SUBSTANCE)
    return substantial and not fails(prose) and not _asks(prose)


def fails(answer: str) -> bool:
    """Whether one of its first sentences apologises, or begins with what could not be done."""
    head = answer.lstrip()[:OPENING].replace("’", "'")
    return any(_FAILURE.match(sentence) for sentence in _SENTENCE_END.split(head))


def _asks(prose: str) -> bool:
    """Whether it is a question: its first paragraph asks, or half of its lines do."""
    lines = [line.rstrip("*_ ") for line in prose.split("\n") if line.strip()]
    first = prose.strip().partition("\n\n")[0][:OPENING].replace("’", "'").rstrip("*_ ")
    questions = sum(line.endswith("?") for line in lines)
    return first.endswith("?") or _ASKS.search(first) is not None or 2 * questions >= len(lines)


def leaves_open(answer: str) -> bool:
    """Whether an answer says that something is not done, or asks before it goes on."""
    ends = f"{answer[:OPENING]}\n{answer[-CLOSING:]}".replace("’", "'")
    first = _SENTENCE_END.split(ends.lstrip(), maxsplit=1)[0]
    unsure = first.endswith("?") or _ASKS.search(first) or _UNFINISHED.search(ends)
    return bool(unsure) or fails(answer)


def opening_statement(answer: str) -> str:
    """What it is about: the first sentence before its first heading that says something, else the
    heading, else its first line."""
    head = _NO_PROSE.sub("", answer[:LOOKED_AT]).strip()
    found = _HEADING.search(head)
    lines = map(_bare, _SENTENCE_END.split(head[: found.start()] if found else head))
    told = (one for one in lines if len(one) >= TELLING and not _ITEM.match(one))
    first = next((one for one in told if not _FILLER.match(one)), "")
    return first_line(first or heading(head) or _bare(head))


def first_words(answer: str) -> str:
    return first_line(" ".join(_MARKS.sub("", prose_of(answer)[: SHOWN * 4]).split()))


def heading(text: str) -> str:
    """Its first heading."""
    found = _HEADING.search(text[:LOOKED_AT])
    return first_line(_bare(found["marked"] or found["bold"])) if found else ""


def _bare(line: str) -> str:
    return _MARKS.sub("", line).strip(" :")
