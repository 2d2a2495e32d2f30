"""Findings were reported: the agent looked in several places, changed nothing, and answered.

Where a conversation has no calls at all, an answer that concludes a matter counts: it sums up, or
it is long and laid out and the user takes it up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedgeline.anchors.detectors.work import EFFECTS, first_word
from kedgeline.anchors.evidence import (
    CHANGING,
    LOOKED_AT,
    NAMES,
    STRUCTURE,
    WORDS,
    closing,
    fails,
    heading,
    headline,
    matters,
    program_of,
    shown,
    whole,
)
from kedgeline.model import AnchorType, CallRef, Note, Opaque, Part, Text, ToolCall, Turn
from kedgeline.shell import Outcome, Run
from kedgeline.text.spoken import anywhere, at_beginning, opening, proposes, quoted

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
_SUMMARY = re.compile(
    rf"^[ \t]*(?:#{{1,5}} |\*\*)?(?:\d{{1,2}}\. )?(?:{'|'.join(WORDS['summaries'])})\b"
    r"(?=[*:,. \t]*$|\**[:,])",
    re.IGNORECASE | re.MULTILINE,
)
_TAKING_UP = at_beginning(WORDS["taking_up"])


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
        return first_word(call.tool) in NAMES["looking_tools"]
    return any(touch.action == "read" for touch in outcome.touched) or _only_looks(outcome.runs)


def _only_looks(runs: Sequence[Run]) -> bool:
    """Whether a shell line looks somewhere and does nothing else."""
    programs = {program_of(run).partition(" ")[0] for run in runs}
    return not any(map(matters, runs)) and not NAMES["reading"].isdisjoint(programs)


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
    return run.purpose in EFFECTS or (program_of(run).startswith("git ") and matters(run))


def _place(call: ToolCall) -> str:
    """What a call looked at: paths where it names some, else all it was given."""
    where = " ".join(call.paths()) if call.verb == "read" else ""
    return f"{call.tool} {where or sorted(call.parameters.items())}"[:KEPT]


def _takes_up(words: str) -> bool:
    return any(_TAKING_UP.match(sentence) for sentence in opening(words)[:1])


# A search on the web was answered: results came, and the assistant drew an answer from them.

RESULTS = 100
"""Characters beyond which results are more than "nothing found"."""
ANSWER = 200
"""Characters from which a closing answer behind a search is one, also without a cue."""
BEFORE = 30
"""Characters before a cue in which it may be negated."""
ANNOUNCING = 200
"""Characters from the end of what was said before a search, in which it is announced."""
QUERY = 200
"""Characters of a query that are remembered; a description shows fewer."""

SERVER_RESULTS = frozenset({"web_search_tool_result", "web_fetch_tool_result", "web_search_call"})
"""Blocks in which providers keep searches they run themselves."""

_CUE = anywhere(WORDS["cues"])
_LINK = re.compile(r"https?://\S")
_NEGATION = anywhere(WORDS["negations"])
_ANNOUNCEMENT = anywhere(WORDS["announcements"])


class SuccessfulSearch:
    name = "successful-search"
    type: AnchorType = "user_checkpoint"
    confidence = 0.91

    def __init__(self) -> None:
        self._exchange = -1
        self._query: str | None = None
        """What the first search that brought something was for; None before it."""
        self._shown = False
        """Whether the results are in the transcript; those of a provider's own tool are not."""
        self._answered = False

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        if turn.exchange != self._exchange:
            self._exchange, self._query = turn.exchange, None
            self._shown = self._answered = False
        before = self._query is not None
        self._search(turn, outcomes)
        if self._answered or self._query is None:
            return ""
        last = _said_last(turn)
        said = last or (_said_between(turn) if before or not turn.messages else "")
        if not self._answers(said, ended=bool(last)):
            return ""
        self._answered = True
        query = shown(self._query)
        return f"Search answered: {query}" if query else "Search answered"

    def _search(self, turn: Turn, outcomes: Sequence[Outcome]) -> None:
        """Take the searches of a turn that brought something."""
        found = [outcome for outcome in outcomes if _brought(outcome)]
        if self._query is None and (found or any(map(_is_search, _parts(turn)))):
            self._query = _query(found[0].call)[:QUERY] if found else ""
        sizes = (len(one.result.output) for one in found if one.result is not None)
        self._shown = self._shown or any(size > RESULTS for size in sizes)

    def _answers(self, said: str, *, ended: bool) -> bool:
        """Whether an answer draws on the results: it says so, or it closes the exchange."""
        text = said[:LOOKED_AT].replace("’", "'")
        if fails(text):
            return False
        if any(not _negated(text, cue.start()) for cue in _CUE.finditer(text)):
            return True
        if not ended:
            return False
        substance = len(whole(said).prose) >= ANSWER
        return substance and (self._shown or _LINK.search(text) is not None)


def _brought(outcome: Outcome) -> bool:
    """Whether a call searched and brought something; a provider's own search brings it unseen."""
    if outcome.call.verb not in ("web_search", "web_fetch") or outcome.result is None:
        return False
    size = len(outcome.result.output)
    return outcome.success and (size > RESULTS or size == 0)


def _said_last(turn: Turn) -> str:
    """What the assistant said behind its last call: behind calls that it waits for, nothing."""
    if not turn.messages:
        return "" if turn.tool_calls else turn.assistant_response
    parts = _parts(turn)
    calls = [at for at, part in enumerate(parts) if isinstance(part, CallRef) or _is_search(part)]
    after = calls[-1] + 1 if calls else 0
    return "\n\n".join(part.text for part in parts[after:] if isinstance(part, Text))


def _said_between(turn: Turn) -> str:
    """What the assistant said beside its calls, unless it announces a further search."""
    said = turn.assistant_response
    announced = _ANNOUNCEMENT.search(said[-ANNOUNCING:].replace("’", "'"))
    return "" if announced else said


def _parts(turn: Turn) -> list[Part]:
    return [part for one in turn.messages if one.role == "assistant" for part in one.parts]


def _is_search(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind in SERVER_RESULTS


def _negated(text: str, at: int) -> bool:
    """Whether the words just before a cue, in its sentence, deny it."""
    before = re.split(r"[.!?;\n]", text[max(0, at - BEFORE) : at])[-1]
    return _NEGATION.search(before) is not None


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
SHORT = 4
"""Words of a message that says no more than "ok": with more, it asks for something."""
SEARCHED = 2
"""Sentences in which a cue counts."""

_FOLLOWERS = (
    r"to me|for me|now|again|thanks|thank|and|so|then|let's|lets|please|too|as well|here|"
    r"this time|overall|already|i think|man|dude|with|for|all|go|great|perfectly|of"
)
_ENDING = rf"(?=\s*(?:$|[^\w\s?'/-]|-[\s-])|\s+(?:{_FOLLOWERS})\b)"
"""Behind a cue the sentence ends, pauses, or goes on with one of a few words: "that works" is
approval, "that works only for strings" is not."""

_SAVE = at_beginning(WORDS["saves"])
_APPROVAL = at_beginning(WORDS["approvals"], ending=_ENDING)
_THANKS = at_beginning(WORDS["thanks"], ending=_ENDING)
_GRATITUDE = at_beginning(WORDS["gratitude"], ending="")
_ALONE = at_beginning(WORDS["alone"], ending=r"\W*$")
_AGREEMENT = at_beginning(WORDS["agreements"])
_ORDER = at_beginning(WORDS["orders"], ending=_ENDING)
_CHOICE = at_beginning(WORDS["choices"])
_CONSENT = at_beginning(WORDS["consents"])
_OBJECTION = anywhere(WORDS["objections"])
_OBJECTING = at_beginning(WORDS["objections"])
_TAG = at_beginning(WORDS["tags"], ending=r"\W*$")
_PLAN_TOOLS = frozenset({"exitplanmode"})


class UserCheckpoint:
    name = "user-checkpoint"
    type: AnchorType = "user_checkpoint"
    confidence = 0.95

    def __init__(self) -> None:
        self._answered = False
        """Whether there is anything yet that the user could approve."""
        self._tail = ""
        """The end of the last answer."""
        self._thanked = -1
        """The last exchange that began with thanks; in a row of farewells only the first counts."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        found = _plan(turn, outcomes)
        if not found and self._answered and turn.user_message:
            found = self._said(turn.user_message, turn.exchange)
        self._answered = True
        self._tail = turn.assistant_response[-TAIL:].replace("’", "'")
        return found

    def _said(self, words: str, exchange: int) -> str:
        sentences = opening(words)
        proposed = proposes(self._tail)
        if any(_SAVE.match(one) and not one.endswith("?") for one in sentences[:SEARCHED]):
            return f"User saved this point: {quoted(words, QUOTED)}"
        approved = any(
            self._approves(sentence, after, proposed=proposed)
            for sentence, after in zip(sentences[:SEARCHED], (*sentences[1:], ""), strict=False)
        )
        thanked = self._thanks(sentences, exchange)
        if approved or _brief(sentences, proposed):
            return f"User approved: {quoted(words, QUOTED)}"
        return f"User closed with thanks: {quoted(words, QUOTED)}" if thanked else ""

    def _approves(self, sentence: str, after: str, *, proposed: bool) -> bool:
        heard = bool(self._tail)
        patterns = (
            (_APPROVAL, True),
            (_ORDER, heard),
            (_AGREEMENT, heard and (proposed or "?" not in self._tail)),
            (_CHOICE, proposed),
        )
        return any(counts and _stands(one, sentence, after) for one, counts in patterns)

    def _thanks(self, sentences: Sequence[str], exchange: int) -> bool:
        first, second = (*sentences, "", "")[:SEARCHED]
        given = _stands(_THANKS, first, second) or any(
            _stands(_GRATITUDE, one, "") for one in (first, second)
        )
        again = given and self._thanked == exchange - 1
        self._thanked = exchange if given else self._thanked
        return given and not again


def _brief(sentences: Sequence[str], proposed: bool) -> bool:
    """One word of praise, or of consent to a proposal, and nothing else."""
    only = sentences[0] if len(sentences) == 1 else ""
    if len(only.split(maxsplit=SHORT)) > SHORT or only.endswith("?"):
        return False
    return bool(_ALONE.match(only) or (proposed and _CONSENT.match(only)))


def _stands(cue: re.Pattern[str], sentence: str, after: str) -> bool:
    """Whether a sentence begins with a cue and neither asks it nor takes it back."""
    found = cue.match(sentence)
    if found is None:
        return False
    rest = sentence[found.end() :]
    if _OBJECTION.search(rest) or _OBJECTING.match(after):
        return False
    if not rest.endswith("?"):
        return True
    pause, _, request = rest.partition(",")
    return not pause.strip() and bool(request) and not _TAG.match(request.strip())


def _plan(turn: Turn, outcomes: Sequence[Outcome]) -> str:
    """A plan the user approved: in the client's dialogue, or given back as the task."""
    for outcome in outcomes:
        tool = outcome.call.tool.replace("_", "").casefold()
        if tool in _PLAN_TOOLS and outcome.success:
            plan = outcome.call.parameters.get("plan")
            return _approved_plan(plan if isinstance(plan, str) else "")
    for note in turn.notes:
        if note.kind == "plan":
            return _approved_plan(note.text)
    return ""


def _approved_plan(plan: str) -> str:
    title = heading(plan)
    return f"Plan approved: {title}" if title else "Plan approved"
