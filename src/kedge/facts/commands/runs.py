"""Command lines that were run, verbatim, with what came of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from kedge.facts.commands.by_hand import ByHand, by_hand
from kedge.facts.commands.canonical import below, canonical, pieces_of
from kedge.facts.commands.plans import planned_in
from kedge.facts.commands.results import COMPILE_ERROR, issues_in, telling
from kedge.facts.extractor import Setting
from kedge.facts.files.folders import WorkingFolder
from kedge.model import CommandRun, Speaker, ToolCall, ToolResult, Transcript, Turn
from kedge.outcomes import CHECKS, Outcome, Purpose, Run
from kedge.outcomes.calls import left_alone, shell_line
from kedge.outcomes.evidence import shown_part
from kedge.outcomes.purpose.purposes import purpose_of
from kedge.outcomes.runs import still_running
from kedge.outcomes.shell.heredocs import MARK, without_heredocs
from kedge.outcomes.shell.parsing import commands_in

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
LONGEST = 4_000
"""Characters of a line that is given whole; a longer one is a script that nobody types again."""
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
