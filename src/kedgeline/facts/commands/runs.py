"""Command lines that were run, verbatim, with what came of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.facts.commands.canonical import below, canonical, pieces_of, planned_in
from kedgeline.facts.extractor import Setting
from kedgeline.facts.files.changed import WorkingFolder
from kedgeline.model import CommandRun, Note, Speaker, ToolCall, ToolResult, Transcript, Turn
from kedgeline.outcomes import CHECKS, Outcome, Purpose, Run
from kedgeline.outcomes.calls import left_alone, runs_of, shell_line, still_running
from kedgeline.outcomes.evidence import NO_OUTPUT, said, shown_part
from kedgeline.outcomes.purpose import purpose_of
from kedgeline.outcomes.shell.parsing import commands_in
from kedgeline.outcomes.shell.prefixes import (
    MARK,
    arguments,
    program_of,
    without_heredocs,
    without_prefixes,
)
from kedgeline.outcomes.telling import told_in
from kedgeline.text.prose import cut, one_line

# The telling part of what a command printed, in a few words.

SHOWN = 120
"""Characters of a telling line: a message and a place."""
LONGEST_LINE = 1_000
"""Characters of a line that is looked at; longer ones are data."""

COMPILE_ERROR = re.compile(
    r"^[^\s:(]{1,200}(?:\(\d{1,7},\d{1,5}\): error |:\d{1,7}:\d{1,5}: (?:fatal )?error: )",
    re.MULTILINE,
)
"""A line that only a compiler prints that did not succeed."""
_SPEAKS_OF_ERRORS = re.compile(
    r"(?i:error|fatal|fail|cannot|could not|not found|no such|denied|refused|invalid|unknown"
    r"|unrecognized|missing|exception|panic|timed out|unable|reject)"
)

NO_ISSUES = re.compile(
    r"^(?:\[[\w:.-]{1,60}\] )?(?:All checks passed!|Success: no issues found|0 issues\.?$"
    r"|✔ No ESLint warnings or errors|0 errors, 0 warnings|\[OK\] No errors"
    r"|\d{1,6} files? inspected, no offenses)",
    re.MULTILINE,
)
ISSUES = re.compile(
    r"^(?:\[[\w:.-]{1,60}\] )?(?:Found (?P<errors>[1-9]\d{0,6}) errors?\b"
    r"|(?P<issues>[1-9]\d{0,6}) issues?[.:]$"
    r"|[^\n\w]{0,4}(?P<problems>[1-9]\d{0,6}) problems? \([^)\n]{1,60}\)"
    r"|(?P<counted>[1-9]\d{0,6}) errors?, \d{1,6} warnings?"
    r"|\d{1,6} files? inspected, (?P<offenses>[1-9]\d{0,6}) offenses?"
    r"|(?P<files>[1-9]\d{0,6}) files? would be reformatted)",
    re.MULTILINE,
)
_UNITS = {
    "errors": "error",
    "counted": "error",
    "issues": "issue",
    "problems": "problem",
    "offenses": "offense",
    "files": "file to reformat",
}

_VERSION = re.compile(r"(?<![\w.])(?:[A-Za-z]{1,12})?v?\d{1,6}\.\d{1,6}[\w.+-]{0,40}")
_CHANGED = re.compile(
    r"^(?:\t| {8})(?:(?:modified|new file|deleted|renamed|typechange|copied|both \w{1,20}): +)?"
    r"(\S[^\n]{0,400})$",
    re.MULTILINE,
)
_SHORT_CHANGED = re.compile(r"^(?:[ MADRCUT?!][ MADRCUT?!]) \S", re.MULTILINE)


def telling(outcome: Outcome, runs: Sequence[Run], *, success: bool | None) -> str:
    """What of a result is worth a few words; empty where nothing is."""
    result = outcome.result
    if result is None:
        return ""
    text = shown_part(result.output)
    checks = any(run.purpose in CHECKS for run in runs)
    if success is False:
        counted = any(run.counts is not None for run in runs)
        wrong = what_failed(text, tests=counted) or what_failed(result.error or "")
        number = issues_in(text) if checks else ""
        told = cut(": ".join(filter(None, (number, wrong))), SHOWN)
        code = result.exit_code
        return told or (f"exit code {code}" if code else "")
    if success is None and checks:
        return "no output" if text.strip() in NO_OUTPUT else ""
    if any(run.purpose == "lint" for run in runs) and NO_ISSUES.search(text):
        return "0 issues"
    return _status(runs, text) or _version(runs, text)


def what_failed(text: str, *, tests: bool = False) -> str:
    """The first test that failed, or else the line that tells what went wrong. What tests print
    themselves is full of errors that are none: of a runner's output only its own lines count."""
    told = next(iter(told_in(text)), None)
    if told is None:
        return ""
    if told.kind in ("raised", "other") and tests:
        return ""
    named = told.name and not told.line.startswith(told.name)
    line = told.name if named else one_line(told.line.rpartition("\r")[2])
    return line if told.kind != "other" or _SPEAKS_OF_ERRORS.search(line) else ""


def issues_in(text: str) -> str:
    """How many errors or issues a check closes with, in its own word."""
    every = list(ISSUES.finditer(text))
    found = every[-1] if every else None  # the last one closes the output
    if found is None or found.lastgroup is None:
        return ""
    number, unit = int(found[found.lastgroup]), _UNITS[found.lastgroup]
    first, _, rest = unit.partition(" ")
    return f"{number} {first}{'s' if number > 1 else ''}{' ' + rest if rest else ''}"


def _status(runs: Sequence[Run], text: str) -> str:
    """Of `git status`: clean, or how many files it names."""
    asked = [run for run in runs if _git(run)[:1] == ["status"]]
    if not asked:
        return ""
    if "working tree clean" in text:
        return "clean"
    short = {"-s", "--short", "--porcelain", "-sb", "--porcelain=v1"} & set(asked[-1].words)
    if not short:
        number = len(set(_CHANGED.findall(text)))
    elif len(runs) > 1:
        return ""
    else:
        number = len(_SHORT_CHANGED.findall(text))
        if not number:
            return "" if text.strip() else "clean"
    return f"{number} file{'s' if number != 1 else ''} changed" if number else ""


def _git(run: Run) -> list[str]:
    """The words of a git command that are no options."""
    plain = without_prefixes(run.words).words
    return arguments(plain) if plain and program_of(plain[0]) == "git" else []


def _version(runs: Sequence[Run], text: str) -> str:
    """What a command that asks for a version printed."""
    if len(runs) != 1 or not runs[0].words[1:]:
        return ""
    asked = runs[0].words[-1] if len(runs[0].words) == 2 else ""
    if asked not in ("--version", "-version", "-V", "-v", "version"):
        return ""
    found = _VERSION.search(text.strip()[:LONGEST_LINE])
    return found[0] if found else ""


# Commands that the user ran inside the session, with what their output says.

_OF_COMMAND = ("shell_output", "interruption")
"""Kinds of notes that tell what came of a command."""
LONGEST = 4_000
"""Characters of a line that is looked at; nobody types a longer one."""
MOST_BEGINNINGS = 8
"""Lines like the first that are looked at as the beginning of a repetition."""

_MARKS = re.compile(r"^\s*(?:/(?:test|run|lint)\s+|<bash-input>|!)\s*")
_TAGS = re.compile(r"</?bash-std(?:out|err)>")
"""What a client writes around what a command printed."""


class ByHand(NamedTuple):
    line: str
    outcome: Outcome | None = None
    """None where the session does not show what it printed. No client notes an exit code, so only
    what the output proves is known of it."""
    interrupted: bool = False

    def success(self, run: Run) -> bool | None:
        """How one of its commands went, as far as what was printed says so."""
        if self.outcome is None or self.outcome.result is None or self.interrupted:
            return None
        if run.success is False or (run.counts is not None and run.success):
            return run.success
        text = shown_part(self.outcome.result.output)
        same = (one for one in commands_in(self.line) if one.words == run.words)
        return True if any(said(one, run.purpose, text) for one in same) else None


def by_hand(notes: Sequence[Note]) -> Iterator[ByHand]:
    """The lines among the notes of a turn, each with the output behind it."""
    for place, note in enumerate(notes):
        if note.kind != "shell":
            continue
        line = _MARKS.sub("", note.text[:LONGEST]).removesuffix("</bash-input>").strip()
        if not line or line.startswith(("/", "<")) or "\n" in line:
            continue
        behind = tuple(
            takewhile(lambda one: one.kind in ("shell_output", "interruption"), notes[place + 1 :])
        )
        printed = [one.text for one in behind if one.kind == "shell_output"]
        stopped = any(one.kind == "interruption" for one in behind)
        outcome = _outcome(line, "\n".join(printed)) if printed else None
        yield ByHand(line, outcome, interrupted=stopped)


def _outcome(line: str, printed: str) -> Outcome:
    call = ToolCall(id="by-hand", tool="shell", parameters={"command": line}, verb="run")
    result = ToolResult(call_id=call.id, output=_once(_TAGS.sub("\n", printed).strip("\n")))
    return Outcome(call=call, result=result, runs=runs_of(commands_in(line), result))


def _once(printed: str) -> str:
    """An output without its repetition: aider prints what it gives to the model once more, without
    indentation, and a runner's counts would be added up."""
    lines = printed.split("\n")
    # aider takes the sign before a line for its own
    told = [
        ("".join(line.split()).lstrip(">"), place)
        for place, line in enumerate(lines)
        if line.strip()
    ]
    words = [folded for folded, _ in told]
    again = (place for place, word in enumerate(words[1:], 1) if word == words[0])
    for place in islice(again, MOST_BEGINNINGS):
        if words[place : 2 * place] == words[:place]:
            return "\n".join(lines[: told[place][1]])
    return printed


WEIGHT: tuple[Purpose, ...] = (
    "test",
    "build",
    "lint",
    "deploy",
    "migration",
    "install",
    "commit",
    "push",
    "pull_request",
    "merge",
    "tag",
    "other",
)
"""Which purpose a line with several commands is named after: the first of them."""
WEIGHTY = frozenset({"test", "build", "lint", "deploy", "migration", "install"})
"""What is run again, and what tells where the work stands."""
BY_AGENTS = WEIGHTY - {"lint"}
"""What is taken from a sub-agent's work."""
MOST_BY_AGENT = 20
"""Commands taken from one sub-agent: the newest."""
LONGEST_BODY = 300
"""Characters of a here-document in a line that is run again: longer ones are files or messages."""
PAUSE = timedelta(hours=3)
"""After so long without a turn a session was often left and resumed, in its root again."""
DEEPEST = 3
"""Sub-agents of sub-agents that are followed."""

PLANNED = "planned, not run"
BACKGROUND = "in the background"
PART = "part of a longer line"
BY_USER = "run by the user"

_GIVEN_UP = re.compile(r"\A\W{0,4}(?:tool_use_error>)?Sibling tool call errored")


class CommandExtractor:
    """Gives one fact per line. A line with a long here-document is left out; where it also tests,
    builds or the like, the command that does so is given, as a part of it."""

    def __init__(self, setting: Setting) -> None:
        self._root = setting.root
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._folder = WorkingFolder()
        self._latest: datetime | None = None

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[CommandRun]:
        yield from self._planned(turn)
        yield from self._by_hand(turn)
        self._begin(turn)
        for outcome in outcomes:
            folder = self._folder.of(outcome.call)
            self._folder.follow(outcome)
            if (run := self._run(outcome, turn.index, folder)) is not None:
                yield run
            if (agent := self._agents.get(outcome.call.id)) is not None:
                yield from self._of_agent(agent, turn.index, DEEPEST)

    def _begin(self, turn: Turn) -> None:
        """Forget the shell's folder where the client may have been started anew."""
        if turn.timestamp is not None:
            if self._latest is not None and turn.timestamp - self._latest > PAUSE:
                self._folder = WorkingFolder()
            self._latest = turn.timestamp

    def _run(
        self, outcome: Outcome, turn: int, folder: str, by: Speaker = "tool"
    ) -> CommandRun | None:
        result, line = outcome.result, _line(outcome.call)
        if not line or result is None or result.refused or _given_up(result):
            return None
        run = decisive(outcome)
        purpose = run.purpose if run else "other"
        command = _given(line, purpose)
        if not command:
            return None
        success = _success(outcome, run)
        counts = run.counts if run else None
        place = below(self._root, folder)
        return CommandRun(
            turn=turn,
            by=by,
            command=command,
            key=canonical(command, root=self._root, folder=place),
            purpose=purpose,
            success=success,
            passed=counts.passed if counts else None,
            failed=counts.failed if counts else None,
            skipped=counts.skipped if counts else None,
            unit=counts.unit if counts else "",
            folder=place,
            about=_about(outcome, success=success) or (PART if command != line else ""),
        )

    def _of_agent(self, agent: Transcript, turn: int, depth: int) -> Iterator[CommandRun]:
        """The newest run of each weighty command of a sub-agent."""
        newest: dict[str, CommandRun] = {}
        for step in agent.turns:
            for outcome in self._outcomes(step):
                run = self._run(outcome, turn, WorkingFolder().of(outcome.call), by="agent")
                if run is not None and run.purpose in BY_AGENTS:
                    newest.pop(run.key, None)
                    newest[run.key] = run
                inner = self._agents.get(outcome.call.id)
                if inner is not None and depth > 1:
                    for one in self._of_agent(inner, turn, depth - 1):
                        newest[one.key] = one
        yield from list(newest.values())[-MOST_BY_AGENT:]

    def _planned(self, turn: Turn) -> Iterator[CommandRun]:
        for text, by in _plans(turn):
            for line in planned_in(text):
                yield CommandRun(
                    turn=turn.index,
                    by=by,
                    command=line,
                    key=canonical(line, root=self._root),
                    purpose=_purpose(line),
                    about=PLANNED,
                )

    def _by_hand(self, turn: Turn) -> Iterator[CommandRun]:
        """What the user ran inside the session."""
        for one in by_hand(turn.notes):
            run = decisive(one.outcome) if one.outcome else None
            success = one.success(run) if run else None
            counts = run.counts if run and not one.interrupted else None
            yield CommandRun(
                turn=turn.index,
                by="user",
                command=one.line,
                key=canonical(one.line, root=self._root),
                purpose=run.purpose if run else _purpose(one.line),
                success=success,
                passed=counts.passed if counts else None,
                failed=counts.failed if counts else None,
                skipped=counts.skipped if counts else None,
                unit=counts.unit if counts else "",
                about=_about_by_hand(one, success=success),
            )


def decisive(outcome: Outcome) -> Run | None:
    """The run a line is named after: the weightiest; but where nothing is known of that and a
    lighter one failed, the one that failed."""
    found: Run | None = None
    for purpose in WEIGHT:
        same = [run for run in outcome.runs if run.purpose == purpose]
        if not same:
            continue
        failed = next((run for run in same if run.success is False), None)
        if failed is None and purpose == "lint" and _left_issues(outcome):
            failed = replace(same[-1], success=False)
        if found is None:
            found = failed or same[-1]
        elif found.success is None and failed is not None and purpose in WEIGHTY:
            return failed
    return found


def _left_issues(outcome: Outcome) -> bool:
    """Whether a line that failed counts what its linter found, and no test failed in it."""
    if not outcome.failed or outcome.result is None:
        return False
    tested = any(run.counts is not None for run in outcome.runs)
    return not tested and bool(issues_in(shown_part(outcome.result.output)))


def _success(outcome: Outcome, run: Run | None) -> bool | None:
    """Of the run the line is named after; of the line itself where it has no purpose."""
    result = outcome.result
    if result is None or result.interrupted or _left_running(outcome):
        return None
    if run is None or run.purpose == "other":
        return False if run is not None and run.success is False else result.success
    if run.success is None and run.purpose in CHECKS:
        return False if COMPILE_ERROR.search(shown_part(result.output)) else None
    return run.success


def _about(outcome: Outcome, *, success: bool | None) -> str:
    if outcome.result is not None and outcome.result.interrupted:
        return "interrupted"
    if _left_running(outcome):
        return BACKGROUND
    wrong = False if success is None and outcome.failed else success
    return telling(outcome, outcome.runs, success=wrong)


def _about_by_hand(one: ByHand, *, success: bool | None) -> str:
    if one.interrupted or one.outcome is None:
        return "interrupted" if one.interrupted else BY_USER
    return telling(one.outcome, one.outcome.runs, success=success) or BY_USER


def _purpose(line: str) -> Purpose:
    """The weightiest among the commands of a line that is not known to have run."""
    purposes = {purpose_of(command.words) for command in commands_in(line)}
    return next((one for one in WEIGHT if one in purposes), "other")


def _given_up(result: ToolResult) -> bool:
    """Whether the client did not run a call because another one beside it failed."""
    return result.failed and _GIVEN_UP.search(result.error or result.output[:200]) is not None


def _left_running(outcome: Outcome) -> bool:
    """Whether nobody waited for the end."""
    if left_alone(outcome.call) or (outcome.result and still_running(outcome.result)):
        return True
    commands = [command for command in commands_in(_line(outcome.call)) if command.words]
    return bool(commands) and commands[-1].background


def _line(call: ToolCall) -> str:
    return shell_line(call).strip() if call.verb == "run" else ""


def _given(line: str, purpose: str) -> str:
    """The line; or of one with a long here-document, the weighty command in it, or nothing."""
    short = len(line) <= LONGEST
    bodies = without_heredocs(line).heredocs if "<<" in line else ()
    if short and all(len(heredoc.body) <= LONGEST_BODY for heredoc in bodies):
        return line
    return _part(line, purpose) if purpose in WEIGHTY else ""


def _part(line: str, purpose: str) -> str:
    """The command of a purpose in a script, as written, behind a `cd` to where it ran."""
    ran = [command for command in commands_in(line) if purpose_of(command.words) == purpose]
    for piece in reversed(pieces_of(without_heredocs(line).line)):
        if MARK.search(piece.text) or len(piece.text) > LONGEST:
            continue
        if any(purpose_of(command.words) == purpose for command in commands_in(piece.text)):
            folder = ran[-1].folder if ran else ""
            return f"cd {folder} && {piece.text}" if folder else piece.text
    return ""


def _plans(turn: Turn) -> Iterator[tuple[str, Speaker]]:
    """Texts of plans, with who wrote them: the user's words, a plan of the agent's that the user
    approved or gave back as the task."""
    yield turn.user_message, "user"
    for note in turn.notes:
        if note.kind == "plan":
            yield note.text, "agent"
    for call in turn.tool_calls:
        plan = call.parameters.get("plan")
        if call.verb == "ask" and isinstance(plan, str):
            result = turn.result_of(call)
            if result is not None and result.success:
                yield plan, "agent"
