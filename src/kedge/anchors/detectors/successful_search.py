"""A search on the web was answered: results came, and the assistant drew an answer from them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.anchors.answers import LOOKED_AT, fails, whole
from kedge.anchors.evidence import shown
from kedge.model import AnchorType, CallRef, Opaque, Part, Text, ToolCall, Turn
from kedge.outcomes import Outcome
from kedge.spoken import anywhere

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

CUES = (
    # English
    r"based on(?! (?:your|the|this|that) (?:request|question|message|instructions?|input|prompt))",
    r"according to",
    r"(?:the |these |my )?(?:web )?search results?(?! (?:for|page))",
    r"(?:the |these )?(?:results|sources|docs|documentation|articles?|findings) "
    r"(?:show|indicate|suggest|say|state|confirm|reveal|explain|report|mention)s?",
    r"i(?:'ve| have)? found(?! (?:no\b|nothing|out|an error|any))",
    r"(?:here(?:'s| is| are) )?what i (?:found|learned)",
    r"sources:",
)
"""Refer to what was found."""
NEGATIONS = (
    # English
    r"not|no|never|without|unable|cannot|\w+n't",
)
ANNOUNCEMENTS = (
    # English
    r"(?:let me|let's|i'll|i will|i'm going to|i need to) (?:\w+ ){0,2}"
    r"(?:search|look|check|fetch|find|browse|google|read|see|try|verify)",
)
"""Said before a search; where it is not known what was said when, then nothing is answered yet."""
SERVER_RESULTS = frozenset({"web_search_tool_result", "web_fetch_tool_result", "web_search_call"})
"""Blocks in which providers keep searches they run themselves."""

_CUE = anywhere(CUES)
_LINK = re.compile(r"https?://\S")
_NEGATION = anywhere(NEGATIONS)
_ANNOUNCEMENT = anywhere(ANNOUNCEMENTS)


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
