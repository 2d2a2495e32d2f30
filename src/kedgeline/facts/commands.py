"""Command lines that were run, verbatim, with what came of them and one form for their variants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.paths import WorkingFolder, below
from kedgeline.facts.steps import only_looks
from kedgeline.model import CommandRun, Note, Speaker, ToolCall, ToolResult, Turn
from kedgeline.shell import CHECKS, Counts, Outcome, Purpose, Run
from kedgeline.shell.calls import left_alone, purpose_of, runs_of, shell_line, still_running
from kedgeline.shell.evidence import NO_OUTPUT, shown_part, told_by_output
from kedgeline.shell.parsing import commands_in
from kedgeline.shell.prefixes import without_heredocs, without_prefixes, words_given
from kedgeline.shell.telling import told_in
from kedgeline.text.prose import cut, one_line

# One form for all variants of a command: what cuts its output or tells its status is left off.

SCRIPT_FROM = 2_000
"""Characters of a line that is looked into; a longer one is a script, and its own form."""

CUTTERS = frozenset({"head", "tail", "cat", "tee", "less", "more"})
"""Behind a pipe they show a part, whatever it is a part of."""
FILTERS = CUTTERS | {
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sort",
    "uniq",
    "wc",
    "sed",
    "awk",
    "cut",
    "tr",
}
"""Behind a pipe they choose among the lines of a program that did its work anyway."""
SHOWERS = frozenset(
    {"cat", "ls", "find", "fd", "tree", "echo", "printf", "grep", "rg", "strings", "curl", "wget"}
    | {"git", "gh", "glab", "ps", "env", "sed", "awk", "head", "tail", "docker", "kubectl", "jq"}
)
"""Programs run for what they print: there a filter is the point of the line."""
TELLERS = frozenset({"echo", "printf", "true", ":"})
"""What tells how the command before it went, or hides it."""

_SIGN = re.compile(
    r"""'[^']*' | "(?:[^"\\]|\\.)*" | \\. | \$?\( | \) | `[^`]*`
    | \d?>&\d? | &>>? | (?P<joint>&&|\|\||\|&|[;|&\n])""",
    re.VERBOSE | re.DOTALL,
)
"""All that may hold or hide what joins two commands, and what joins them."""
_QUIET = re.compile(r"\s*(?:\d?>&\d|(?:\d|&)?>{1,2}\s*/dev/null)\s*$")
_TIMED = re.compile(r"^(?:time\s+|g?timeout\s+(?:-\S+\s+)*\d+(?:\.\d+)?[smh]?\s+)")
_STATUS = re.compile(r"\$\?|PIPESTATUS")
_COMMENT = re.compile(r"(?:#[^\n]*|\\)")


class _Piece(NamedTuple):
    joint: str
    """What joins it to the one before; empty for the first."""
    text: str

    @property
    def program(self) -> str:
        words = self.text.split(maxsplit=1)
        return words[0].rpartition("/")[2] if words else ""


def canonical(command: str, *, root: str = "", folder: str = "") -> str:
    """The form that variants of a command share: without `2>&1`, `| tail -5`, `; echo $?`,
    `timeout 60` and a leading `cd` to the root; paths below the root from there; with the folder it
    ran in, where that is not the root."""
    line = command.strip()
    if len(line) <= SCRIPT_FROM and "<<" not in line:
        pieces = [_bare(piece) for piece in _pieces_of(_from_root(line, root))]
        kept = _without_tellers(_without_filters([piece for piece in pieces if piece.text]))
        line = _joined(_without_arrival(kept, root)) or line
    return f"cd {folder} && {line}" if folder else line


def _pieces_of(line: str) -> list[_Piece]:
    """The commands of a line, with what joins them; substitutions and groups stay whole."""
    found: list[_Piece] = []
    joint, start, depth = "", 0, 0
    for sign in _SIGN.finditer(line):
        if sign[0] in ("(", "$("):
            depth += 1
        elif sign[0] == ")":
            depth = max(0, depth - 1)
        elif sign["joint"] and not depth:
            found.append(_Piece(joint, line[start : sign.start()].strip()))
            joint, start = sign[0], sign.end()
    found.append(_Piece(joint, line[start:].strip()))
    return found


def _bare(piece: _Piece) -> _Piece:
    text = "" if _COMMENT.fullmatch(piece.text) else _TIMED.sub("", piece.text)
    while (quiet := _QUIET.search(text)) is not None:
        text = text[: quiet.start()]
    return _Piece("|" if piece.joint == "|&" else piece.joint, text)


def _without_filters(pieces: list[_Piece]) -> list[_Piece]:
    kept: list[_Piece] = []
    source = ""
    for piece in pieces:
        if piece.joint != "|":
            source = piece.program
        dropped = CUTTERS if source in SHOWERS else FILTERS
        if not (kept and piece.joint == "|" and piece.program in dropped):
            kept.append(piece)
    return kept


def _without_tellers(pieces: list[_Piece]) -> list[_Piece]:
    while len(pieces) > 1 and pieces[-1].program in TELLERS and pieces[-1].joint != "|":
        told = pieces[-1].joint in ("&&", "||") or _STATUS.search(pieces[-1].text)
        if not told and pieces[-1].program in ("echo", "printf"):
            break
        pieces = pieces[:-1]
    return pieces


def _without_arrival(pieces: list[_Piece], root: str) -> list[_Piece]:
    """Without a leading `cd` to where the session is anyway."""
    if len(pieces) < 2 or pieces[0].program != "cd" or pieces[1].joint not in ("&&", ";", "\n"):
        return pieces
    target = pieces[0].text.partition(" ")[2].strip().strip("'\"")
    return pieces[1:] if target in (".", "./") or (root and not below(root, target)) else pieces


def _from_root(line: str, root: str) -> str:
    """Paths below the root as they are written from there."""
    root = root.rstrip("/")
    if len(root) < 2 or root not in line:
        return line
    whole = re.escape(root)
    line = re.sub(rf"\bgit -C {whole}/?(?=\s)", "git", line)
    line = re.sub(rf"(?<![\w./-]){whole}/(?=[\w.*{{])", "", line)
    return re.sub(rf"(?<![\w./-]){whole}/?(?![\w./-])", ".", line)


def _joined(pieces: list[_Piece]) -> str:
    words: list[str] = []
    for place, piece in enumerate(pieces):
        if place:
            words.append("; " if piece.joint in (";", "\n") else f" {piece.joint} ")
        words.append(piece.text)
    return "".join(words)


# The telling part of what a command printed, in a few words.

SHOWN = 120
"""Characters of a telling line: a message and a place."""

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
    return _status(runs, text)


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
    plain = [(run, without_prefixes(run.words).words) for run in runs]
    asked = [
        run for run, words in plain if "git" in words[:1] and "status" in words_given(words)[:1]
    ]
    if not asked or "working tree clean" in text:
        return "clean" if asked else ""
    if not {"-s", "--short", "--porcelain", "-sb", "--porcelain=v1"} & set(asked[-1].words):
        number = len(set(_CHANGED.findall(text)))
    elif len(runs) > 1:
        return ""
    elif not text.strip():
        return "clean"
    else:
        number = len(_SHORT_CHANGED.findall(text))
    return f"{number} file{'s' if number != 1 else ''} changed" if number else ""


# Commands that the user ran inside the session, with what their output says.

LONGEST = 4_000
"""Characters of a line that is looked at; nobody types a longer one."""
MOST_BEGINNINGS = 8
"""Lines like the first that are looked at as the beginning of a repetition."""

_OF_COMMAND = ("shell_output", "interruption")
"""Kinds of notes that tell what came of a command."""
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
        return True if any(told_by_output(one, run.purpose, text) for one in same) else None


def by_hand(notes: Sequence[Note]) -> Iterator[ByHand]:
    """The lines among the notes of a turn, each with the output behind it."""
    for place, note in enumerate(notes):
        if note.kind != "shell":
            continue
        line = _MARKS.sub("", note.text[:LONGEST]).removesuffix("</bash-input>").strip()
        if not line or line.startswith(("/", "<")) or "\n" in line:
            continue
        behind = [*takewhile(lambda one: one.kind in _OF_COMMAND, notes[place + 1 :])]
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

BACKGROUND = "in the background"
BY_USER = "run by the user"

_GIVEN_UP = re.compile(r"\A\W{0,4}(?:tool_use_error>)?Sibling tool call errored")


class CommandExtractor:
    """Gives one fact per line. One with a long here-document is left out: a file or a message."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._folder = WorkingFolder()
        self._latest: datetime | None = None

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[CommandRun]:
        for one in by_hand(turn.notes):
            run = decisive(one.outcome) if one.outcome else None
            success = one.success(run) if run else None
            counts = run.counts if run and not one.interrupted else None
            about = _about_by_hand(one, success=success)
            yield self._fact(turn.index, "user", one.line, run, counts, success, about=about)
        self._begin(turn)
        for outcome in outcomes:
            folder = self._folder.of(outcome.call)
            self._folder.follow(outcome)
            if (ran := self._run(outcome, turn.index, folder)) is not None:
                yield ran
            yield from self._of_agent(outcome, turn.index)

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
        command = _given(line)
        if not command:
            return None
        success = _success(outcome, run)
        about = _about(outcome, success=success)
        place = below(self._setting.root, folder)
        counts = run.counts if run else None
        return self._fact(turn, by, command, run, counts, success, folder=place, about=about)

    def _fact(
        self,
        turn: int,
        by: Speaker,
        command: str,
        run: Run | None,
        counts: Counts | None,
        success: bool | None,
        *,
        folder: str = "",
        about: str,
    ) -> CommandRun:
        return CommandRun(
            turn=turn,
            by=by,
            command=command,
            key=canonical(command, root=self._setting.root, folder=folder),
            purpose=_purpose(command, run),
            success=success,
            passed=counts.passed if counts else None,
            failed=counts.failed if counts else None,
            skipped=counts.skipped if counts else None,
            unit=counts.unit if counts else "",
            folder=folder,
            about=about,
        )

    def _of_agent(self, outcome: Outcome, turn: int) -> Iterator[CommandRun]:
        """The newest run of each weighty command of a sub-agent."""
        newest = Recent[str, CommandRun](MOST_BY_AGENT)
        for _, results in agent_turns(self._setting, outcome):
            for one in results:
                run = self._run(one, turn, WorkingFolder().of(one.call), by="agent")
                if run is not None and run.purpose in BY_AGENTS:
                    newest.put(run.key, run)
        yield from newest.values()


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


_LOOKED_AGAIN = re.compile(
    r"git (?:-C \S{1,200} )?(?:status|diff|log|show|branch)\b(?!.*\b[0-9a-f]{7,40}\b).*", re.DOTALL
)
"""Looking that is done again and again: the state of the repository, no commit by its name."""


def _purpose(line: str, run: Run | None) -> str:
    """The weightiest among the commands of a line."""
    purposes = {run.purpose} if run else {purpose_of(one.words) for one in commands_in(line)}
    purpose = next((one for one in WEIGHT if one in purposes), "other")
    looks = purpose == "other" and only_looks(line) and not _LOOKED_AGAIN.fullmatch(line)
    return "look" if looks else purpose


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


def _given(line: str) -> str:
    """The line; nothing for one with a long here-document."""
    bodies = without_heredocs(line).heredocs if "<<" in line else ()
    long = len(line) > LONGEST or any(len(heredoc.body) > LONGEST_BODY for heredoc in bodies)
    return "" if long else line
