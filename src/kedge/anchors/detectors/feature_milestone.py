"""A feature is through: the todo list done, a merge, a tag; or the user opens another task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.anchors.evidence import shown
from kedge.anchors.todos import Todos
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome, Run
from kedge.spoken import opens_task, quoted

QUOTED = 80
"""Characters of the user's words that a description shows."""
LEAST_ITEMS = 2
"""Items that make a todo list; a single one is the request itself."""
WORK = 2
"""Calls that succeeded since the last shift, from which there was a task to shift from."""
TALK = 1_200
"""The same in characters of answers, for conversations without calls."""
MESSAGE = 1_500
"""Characters of a message, beyond which it is pasted text rather than a change of direction."""

MERGE_TOOLS = ("mergepullrequest", "mergemergerequest", "acceptmergerequest")
"""Ends of the names of servers' tools that merge; without case, dashes and underscores."""
MAIN_LINES = frozenset({"main", "master", "develop", "dev", "trunk", "head", "fetch_head"})
"""Merging one of these brings a branch up to date; nothing of its own is through."""
NOT_MERGING = frozenset({"--abort", "--quit", "--no-commit", "--help", "-h", "--disable-auto"})
NOT_TAGGING = frozenset(
    {"-l", "--list", "-d", "--delete", "-n", "--contains", "--points-at", "-v", "--help", "view"}
)
UP_TO_DATE = ("Already up to date", "Already up-to-date")


class FeatureMilestone:
    name = "feature-milestone"
    type: AnchorType = "feature_milestone"
    confidence = 0.92

    def __init__(self) -> None:
        self._todos = Todos()
        self._exchange = 0
        self._calls = 0
        """Calls that succeeded since the last shift."""
        self._talk = 0
        """Characters of answers since the last shift."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        shift = self._shift(turn)
        for outcome in outcomes:
            self._todos.take(outcome)
        self._calls += sum(outcome.success for outcome in outcomes)
        self._talk += len(turn.assistant_response)
        return self._list_done() or _merged_or_tagged(outcomes) or shift

    def _list_done(self) -> str:
        done, last = self._todos.completed()
        return f"All {done} todos done: {shown(last)}" if done >= LEAST_ITEMS else ""

    def _shift(self, turn: Turn) -> str:
        new = turn.exchange != self._exchange
        self._exchange = turn.exchange
        worked = self._calls >= WORK or self._talk >= TALK
        words = turn.user_message
        if not new or not worked or len(words) > MESSAGE or not opens_task(words):
            return ""
        self._calls = self._talk = 0
        return f"New task: {quoted(words, QUOTED)}"


def _merged_or_tagged(outcomes: Iterable[Outcome]) -> str:
    for outcome in outcomes:
        if outcome.success and _folded(outcome.call.tool).endswith(MERGE_TOOLS):
            return f"Merged: {shown(outcome.call.tool)}"
        output = "" if outcome.result is None else outcome.result.output
        for run in outcome.runs:
            if run.success is True and run.purpose == "merge" and _merges(run, output):
                return f"Merged: {shown(run.text)}"
            if run.success is True and run.purpose == "tag" and _tags(run):
                return f"Tagged: {shown(run.text)}"
    return ""


def _merges(run: Run, output: str) -> bool:
    refs = [word.rpartition("/")[2].casefold() for word in run.words[1:] if word[:1] != "-"]
    return (
        not NOT_MERGING.intersection(run.words)
        and not MAIN_LINES.intersection(refs)
        and not output.lstrip().startswith(UP_TO_DATE)
    )


def _tags(run: Run) -> bool:
    """Whether a tag is made; without a name, tags are listed."""
    at = run.words.index("tag") if "tag" in run.words else len(run.words) - 2
    return len(run.words) > at + 1 and not NOT_TAGGING.intersection(run.words)


def _folded(tool: str) -> str:
    return tool.replace("_", "").replace("-", "").casefold()
