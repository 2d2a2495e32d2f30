"""Findings were reported: the agent looked in several places, changed nothing, and answered.

Where a conversation has no calls at all, an answer that concludes a matter counts: it sums up, or
it is long and laid out and the user takes it up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.anchors.answers import STRUCTURE, closing, headline, whole
from kedge.anchors.detectors.task_completion import CHANGING_WORDS, EFFECTS
from kedge.anchors.evidence import CHANGING, matters, program_of
from kedge.model import AnchorType, Note, ToolCall, Turn
from kedge.outcomes import Outcome, Run
from kedge.spoken import at_beginning, opening

PLACES = 3
"""Places looked at from which an answer brings things together; fewer are a simple look-up."""
COUNTED = 64
"""Places remembered in an exchange; beyond, the number says no more."""
KEPT = 200
"""Characters by which a place is known again."""
APART = 5
"""Turns between two conclusions of a conversation without calls, where every answer may be long:
one in five still marks the course, all of them would mark nothing."""

LOOKING_VERBS = frozenset({"read", "search", "web_search", "web_fetch"})
_LOOKING = """
    calculate check count describe explain fetch find get inspect list lookup query read resolve
    retrieve search show view"""
LOOKING_WORDS = frozenset(_LOOKING.split())
"""What the name of a tool outside the catalogue begins with, when calling it only tells."""
_READING = """
    ag awk bat cat curl diff egrep fd find git grep head jq less ls nl rg sed tail tree wc wget"""
READING_PROGRAMS = frozenset(_READING.split())
"""Programs that look, of those whose failing would not matter."""
SUMMARIES = (
    # English
    r"(?:final |executive |key |overall |quick )?(?:summary|conclusions?|takeaways?|recap|verdict)",
    r"in (?:summary|conclusion|short)|to (?:sum up|summari[sz]e)|tl;?dr|bottom line",
    r"finali[sz]ed plan|recommendations?",
)
"""At the head of a heading or a paragraph: what follows concludes."""
TAKING_UP = (
    # English
    r"(?:please |let's |lets |now |next,? |can you |could you |i want you to )?"
    r"(?:now |just |also ){0,2}(?:add|apply|build|commit|continue|create|delete|do|document|draft"
    r"|extend|generate|go|implement|make|mark|merge|move|publish|push|put|release|remove|rename|run"
    r"|save|send|start|switch|test|turn|update|use|write)",
    r"next|moving on",
)
"""How the user goes on from an answer, where others object to it or ask again."""

_SUMMARY = re.compile(
    rf"^[ \t]*(?:#{{1,5}} |\*\*)?(?:\d{{1,2}}\. )?(?:{'|'.join(SUMMARIES)})\b"
    r"(?=[*:,. \t]*$|\**[:,])",
    re.IGNORECASE | re.MULTILINE,
)
_TAKING_UP = at_beginning(TAKING_UP)
_PARTS = re.compile(r"__|[./:]")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class InformationSynthesis:
    name = "information-synthesis"
    type: AnchorType = "user_checkpoint"
    confidence = 0.91

    def __init__(self) -> None:
        self._exchange = -1
        self._places: dict[str, None] = {}
        """Where the agent looked in this exchange."""
        self._changed = False
        self._delegated = False
        self._awaited = 0
        """Agents at work in the background that have not reported back."""
        self._reported = False
        self._calls_seen = False
        self._offered = ""
        """The headline of the last answer, where the user may take it up."""
        self._concluded = -APART
        """The turn of the last conclusion."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        if turn.exchange != self._exchange:
            self._exchange = turn.exchange
            self._places = {}
            self._changed = self._delegated = self._reported = False
        self._hear(turn.notes)
        for outcome in outcomes:
            self._take(outcome)
        if turn.tool_calls:
            self._calls_seen = True
            return ""
        if self._calls_seen:
            return self._findings(turn.assistant_response)
        return self._conclusion(turn)

    def _take(self, outcome: Outcome) -> None:
        call = outcome.call
        self._changed = self._changed or _changes(outcome)
        if not outcome.success:
            return
        if call.verb == "delegate" and call.parameters.get("run_in_background"):
            self._awaited += 1
            return
        self._delegated = self._delegated or call.verb == "delegate"
        if _looks(outcome) and len(self._places) < COUNTED:
            self._places[_place(call)] = None

    def _hear(self, notes: Sequence[Note]) -> None:
        """What ran in the background reports back."""
        for note in notes:
            if note.kind == "notification" and self._awaited:
                self._awaited -= 1
                self._delegated = True
                self._places[note.text[:KEPT]] = None

    def _findings(self, answer: str) -> str:
        enough = self._delegated or len(self._places) >= PLACES
        if self._reported or self._changed or self._awaited or not enough:
            return ""
        if not whole(answer).reports:
            return ""
        self._reported = True
        number = len(self._places)
        places = f"{number} sources" if number != 1 else "another agent"
        return f"Findings reported from {places}: {headline(answer)}"

    def _conclusion(self, turn: Turn) -> str:
        """Of a conversation without calls: an answer that sums up, or the one before, taken up."""
        taken_up = self._offered if _takes_up(turn.user_message) else ""
        if turn.user_message:
            self._offered = ""
        answer = closing(turn.assistant_response)
        summed_up = answer.reports and _SUMMARY.search(answer.prose) is not None
        if answer.reports and answer.laid_out >= STRUCTURE:
            self._offered = headline(answer.prose)
        if turn.index - self._concluded < APART or not (taken_up or summed_up):
            return ""
        self._concluded = turn.index
        if taken_up:
            return f"Answer taken up: {taken_up}"
        self._offered = ""
        return f"Concluded: {headline(answer.prose)}"


def _looks(outcome: Outcome) -> bool:
    """Whether a call looked somewhere: with a tool for it, or in the shell."""
    call = outcome.call
    if call.verb in LOOKING_VERBS or call.verb == "delegate":
        return True
    if call.verb == "other":
        return _first_word(call.tool) in LOOKING_WORDS
    return any(touch.action == "read" for touch in outcome.touched) or _only_looks(outcome.runs)


def _only_looks(runs: Sequence[Run]) -> bool:
    """Whether a shell line looks somewhere and does nothing else."""
    programs = {program_of(run).partition(" ")[0] for run in runs}
    return not any(map(matters, runs)) and not READING_PROGRAMS.isdisjoint(programs)


def _changes(outcome: Outcome) -> bool:
    call = outcome.call
    if outcome.changed or any(run.success and _has_effect(run) for run in outcome.runs):
        return True
    acts = call.verb in CHANGING or (
        call.verb == "other" and _first_word(call.tool) in CHANGING_WORDS
    )
    return acts and outcome.success


def _has_effect(run: Run) -> bool:
    """Git stages, stashes and switches without a file being known to change."""
    return run.purpose in EFFECTS or (program_of(run).startswith("git ") and matters(run))


def _place(call: ToolCall) -> str:
    """What a call looked at: paths where it names some, else all it was given."""
    where = " ".join(call.paths()) if call.verb == "read" else ""
    return f"{call.tool} {where or sorted(call.parameters.items())}"[:KEPT]


def _first_word(tool: str) -> str:
    found = _WORDS.match(_PARTS.split(tool)[-1])
    return found[0].lower() if found else ""


def _takes_up(words: str) -> bool:
    return any(_TAKING_UP.match(sentence) for sentence in opening(words)[:1])
