"""Anchors of what is said: findings reported, searches answered, points the user approved."""

from __future__ import annotations

from collections.abc import Sequence

from kedgeline.anchors.evidence import (
    CHANGING,
    EFFECTS,
    LOOKED_AT,
    NAMES,
    WORDS,
    fails,
    first_line,
    first_word,
    heading,
    matters,
    opening_statement,
    prose_of,
    reports,
    subcommand_of,
)
from kedgeline.model import AnchorType, CallRef, Opaque, Part, Text, ToolCall, Turn
from kedgeline.shell import Outcome, Run
from kedgeline.text.spoken import anywhere, at_beginning, opening, proposes, quoted_words

# The agent looked in several places, changed nothing, and answered.

PLACES = 3
"""Places looked at from which an answer brings things together; fewer are a simple look-up."""
COUNTED = 64
"""Places remembered in an exchange; beyond, the number says no more."""
KEPT = 200
"""Characters by which a place is known again."""
LOOKING_VERBS = frozenset({"read", "search", "web_search", "web_fetch", "delegate"})


class InformationSynthesis:
    name = "information-synthesis"
    type: AnchorType = "user_checkpoint"
    confidence = 0.91

    def __init__(self) -> None:
        self._exchange = -1
        self._places: dict[str, None] = {}
        """Where the agent looked in this exchange."""
        self._delegated = False
        self._over = False
        """Something was changed in this exchange, or its findings are reported."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        if turn.exchange != self._exchange:
            self._exchange = turn.exchange
            self._places = {}
            self._delegated = self._over = False
        for outcome in outcomes:
            self._over = self._over or _changes(outcome)
            if outcome.success and _looks(outcome) and len(self._places) < COUNTED:
                self._places[_place(outcome.call)] = None
                self._delegated = self._delegated or outcome.call.verb == "delegate"
        enough = self._delegated or len(self._places) >= PLACES
        if turn.tool_calls or self._over or not enough:
            return ""
        if not reports(prose_of(turn.assistant_response)):
            return ""
        self._over = True
        number = len(self._places)
        places = f"{number} sources" if number != 1 else "another agent"
        return f"Findings reported from {places}: {opening_statement(turn.assistant_response)}"


def _looks(outcome: Outcome) -> bool:
    """Whether a call looked somewhere: with a tool for it, or in the shell."""
    call = outcome.call
    if call.verb in LOOKING_VERBS:
        return True
    if call.verb == "other":
        return first_word(call.tool) in NAMES["looking_tools"]
    only_looks = bool(outcome.runs) and not any(map(matters, outcome.runs))
    return only_looks or any(touch.action == "read" for touch in outcome.touched)


def _changes(outcome: Outcome) -> bool:
    call = outcome.call
    if outcome.changed or any(run.success and _has_effect(run) for run in outcome.runs):
        return True
    acts = call.verb in CHANGING or (
        call.verb == "other" and first_word(call.tool) in NAMES["changing_tools"]
    )
    return acts and outcome.success


def _has_effect(run: Run) -> bool:
    """Git stages, stashes and switches without a file being known to change."""
    return run.purpose in EFFECTS or (subcommand_of(run).startswith("git ") and matters(run))


def _place(call: ToolCall) -> str:
    """What a call looked at: paths where it names some, else all it was given."""
    where = " ".join(call.paths()) if call.verb == "read" else ""
    return f"{call.tool} {where or sorted(call.parameters.items())}"[:KEPT]


# A search on the web was answered: results came, and the assistant drew an answer from them.

RESULTS = 100
"""Characters beyond which results are more than "nothing found"."""
ANSWER = 200
"""Characters from which a closing answer behind a search is one, also without a cue."""
QUERY = 200
"""Characters of a query that are remembered; a description shows fewer."""
SERVER_RESULTS = frozenset({"web_search_tool_result", "web_fetch_tool_result", "web_search_call"})
"""Blocks in which providers keep searches they run themselves."""

_CUE = anywhere(WORDS["cues"])


class SuccessfulSearch:
    name = "successful-search"
    type: AnchorType = "user_checkpoint"
    confidence = 0.91

    def __init__(self) -> None:
        self._exchange = -1
        self._query: str | None = None
        """What the first search that brought something was for; None before it."""
        self._answered = False

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        if turn.exchange != self._exchange:
            self._exchange, self._query, self._answered = turn.exchange, None, False
        found = [outcome for outcome in outcomes if _brought(outcome)]
        if self._query is None and (found or any(map(_is_search, _parts(turn)))):
            self._query = _query(found[0].call)[:QUERY] if found else ""
        if self._answered or self._query is None or not _answers(turn):
            return ""
        self._answered = True
        return f"Search answered: {first_line(self._query)}" if self._query else "Search answered"


def _answers(turn: Turn) -> bool:
    """Whether a turn draws on the results: it says so, or closes the exchange."""
    said = _said_last(turn)[:LOOKED_AT].replace("’", "'")
    if fails(said):
        return False
    closes = bool(_parts(turn)) or not turn.tool_calls
    closes = closes and len(prose_of(said)) >= ANSWER
    return closes or _CUE.search(said) is not None


def _brought(outcome: Outcome) -> bool:
    """Whether a call searched and brought something; a provider's own search brings it unseen."""
    if outcome.call.verb not in ("web_search", "web_fetch") or outcome.result is None:
        return False
    size = len(outcome.result.output)
    return outcome.success and (size > RESULTS or size == 0)


def _said_last(turn: Turn) -> str:
    """What the assistant said behind its last call; all it said where nobody knows the order."""
    parts = _parts(turn)
    if not parts:
        return turn.assistant_response
    calls = [at for at, part in enumerate(parts) if isinstance(part, CallRef) or _is_search(part)]
    after = calls[-1] + 1 if calls else 0
    return "\n\n".join(part.text for part in parts[after:] if isinstance(part, Text))


def _parts(turn: Turn) -> list[Part]:
    return [part for one in turn.messages if one.role == "assistant" for part in one.parts]


def _is_search(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind in SERVER_RESULTS


def _query(call: ToolCall) -> str:
    """What a search was for, or which page was fetched."""
    for key in ("query", "q", "url", "search_term", "prompt"):
        if isinstance(value := call.parameters.get(key), str) and value.strip():
            return value
    return ""


# The user said so: keep this point, this is good, yes to what was proposed; or approved a plan.

QUOTED = 80
"""Characters of the user's words that a description shows."""
TAIL = 700
"""Characters from the end of an answer in which it proposes something or asks for approval."""
SEARCHED = 2
"""Sentences in which a cue counts."""

_FOLLOWERS = "to me|for me|now|again|thanks|thank|and|so|then|let's|please|too|as well|here|with"
_ENDING = rf"(?=\s*(?:$|[^\w\s?'/-]|-[\s-])|\s+(?:{_FOLLOWERS})\b)"
"""Behind a cue the sentence ends, pauses, or goes on with one of a few words: "that works" is
approval, "that works only for strings" is not."""

_SAVE = at_beginning(WORDS["saves"])
_APPROVAL = at_beginning(WORDS["approvals"], ending=_ENDING)
_CONSENT = at_beginning(WORDS["consents"], ending=_ENDING)
_OBJECTION = anywhere(WORDS["objections"])
_OBJECTING = at_beginning(WORDS["objections"])
_PLAN_TOOL = "exitplanmode"


class UserCheckpoint:
    name = "user-checkpoint"
    type: AnchorType = "user_checkpoint"
    confidence = 0.95

    def __init__(self) -> None:
        self._answered = False
        """Whether there is anything yet that the user could approve."""
        self._tail = ""
        """The end of the last answer."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        found = _plan(turn, outcomes)
        if not found and self._answered and turn.user_message:
            found = self._said(turn.user_message)
        self._answered = True
        self._tail = turn.assistant_response[-TAIL:].replace("’", "'")
        return found

    def _said(self, words: str) -> str:
        sentences = [one for one in opening(words) if not one.endswith("?")]
        if any(map(_SAVE.match, sentences[:SEARCHED])):
            return f"User saved this point: {quoted_words(words, QUOTED)}"
        proposed = proposes(self._tail)
        for place, sentence in enumerate(sentences[:SEARCHED]):
            cue = _APPROVAL.match(sentence) or (_CONSENT.match(sentence) if proposed else None)
            after = sentences[place + 1] if place + 1 < len(sentences) else ""
            if cue and not _OBJECTION.search(sentence, cue.end()) and not _OBJECTING.match(after):
                return f"User approved: {quoted_words(words, QUOTED)}"
        return ""


def _plan(turn: Turn, outcomes: Sequence[Outcome]) -> str:
    """A plan the user approved: in the client's dialogue, or given back as the task."""
    plans = [note.text for note in turn.notes if note.kind == "plan"]
    for outcome in outcomes:
        if outcome.success and outcome.call.tool.replace("_", "").casefold() == _PLAN_TOOL:
            plan = outcome.call.parameters.get("plan")
            plans.append(plan if isinstance(plan, str) else "")
    if not plans:
        return ""
    title = heading(plans[-1])
    return f"Plan approved: {title}" if title else "Plan approved"
