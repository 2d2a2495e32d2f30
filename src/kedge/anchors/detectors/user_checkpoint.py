"""The user said so: keep this point, this is good, yes to what was proposed; or approved a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.anchors.answers import heading
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome
from kedge.spoken import anywhere, at_beginning, opening, proposes, quoted

QUOTED = 80
"""Characters of the user's words that a description shows."""
TAIL = 700
"""Characters from the end of an answer in which it proposes something or asks for approval."""
SHORT = 4
"""Words of a message that says no more than "ok": with more, it asks for something."""
SEARCHED = 2
"""Sentences in which a cue counts."""

SAVES = (
    # English
    r"(?:please |let's |lets |can you |could you )?(?:save|bookmark|checkpoint) "
    r"(?:this|here|it|where we are|(?:our|the|this) (?:current )?(?:progress|state|point|version))",
    r"(?:please |let's |lets )?(?:make|set|create) (?:this )?a checkpoint (?:here|now|of this)",
    r"checkpoint(?=[.!]*$)",
    r"(?:please )?remember this (?:point|state|version)",
    r"(?:please |let's |lets )?commit (?:this|the current) (?:state|progress|checkpoint)",
)
_GOOD = "good|great|fine|perfect|correct|right|nice|awesome|excellent|solid|amazing|fantastic"
_SUBJECT = (
    "this|that|it|these|those|they|all|both|everything|all of (?:this|that|it)|"
    r"(?:the|your) (?:[\w-]{1,30} ){0,2}[\w-]{1,30}"
)
_PRAISE = "perfect|excellent|awesome|amazing|fantastic|brilliant|wonderful|beautiful"
APPROVALS = (
    # English
    rf"(?:(?:{_SUBJECT}) )?(?:all )?look(?:s|ing)? (?:really |very |pretty |so |all )?(?:{_GOOD})",
    rf"(?:(?:this|that|it|plan) )?sounds (?:{_GOOD}|like a plan|reasonable)",
    rf"(?:that's|that is|this is|it's|it is) (?:just |absolutely |all )?(?:{_PRAISE}|great)",
    r"(?:that's|that is|this is) exactly (?:right|it|what i (?:want|need|mean|was))\w{0,3}",
    rf"(?:absolutely |just )?(?:{_PRAISE})",
    r"(?:(?:this|that|it|everything|now it) )(?:all |now |finally |just |really ){0,2}"
    r"(?:works|worked|is working)(?: (?:great|fine|well|perfectly|now))?",
    r"works (?:great|fine|well|perfectly|now|like a charm|for me)",
    r"(?:great|nice|good|excellent|awesome|amazing) (?:work|job|stuff)|well done",
    r"lgtm|ship it|approved|i approve|all good|good to (?:go|merge|ship)",
    r"(?:i'm|i am|we're|we are) (?:happy|satisfied) with (?:this|that|it|the)",
    r"i (?:really )?(?:like|love) (?:it|this|that)|love (?:it|this)",
)
"""Say that what was done is good, whatever was asked before."""
THANKS = (
    # English
    r"(?:many )?(?:thanks|thank you|thx|cheers)(?: so much| a lot| very much)?(?! in advance)",
)
"""Only in the first sentence: behind a request they thank in advance."""
GRATITUDE = (
    # English
    r"(?:thanks|thank you) for (?:your (?:help|assist|support|work|time)|all|the|helping|handling"
    r"|explaining)",
    r"i (?:really )?appreciate (?:it|that|this|(?:all )?your)",
)
"""Look back, also behind another sentence."""
ALONE = (
    # English
    r"great|nice|cool|good|sweet|neat|wow",
)
"""Only where the message says nothing else: before a request they are mere manners."""
AGREEMENTS = (
    # English
    r"yes|yep|yeah|yup|i confirm|(?:(?:that|this|it) )?makes sense",
    r"(?:agreed|exactly|correct|confirmed|that's (?:right|correct))(?=\s*(?:$|[,.!;:—–]))",
)
"""Agree with a proposal, or with a statement; after a mere question they are an answer."""
ORDERS = (
    # English
    r"(?:please |just )?(?:go ahead|go for it|do (?:it|that|so)|proceed|make it so)",
    r"please do|carry on",
    r"(?:let's|lets) (?:do|implement|build|ship|go for) (?:it|this|that|them|all)",
    r"(?:let's|lets) (?:proceed|go)(?! with)",
    r"(?:please |just )?implement (?:it|this|that|them|all)(?: of (?:it|this|that|them))?",
)
"""Tell the assistant to do what it has just described."""
CHOICES = (
    # English
    r"(?:i'll|i will|let's|lets|i'd like to|i would like to|i want to) "
    r"(?:go|proceed|continue|move forward) with",
    r"i(?:'d| would)? (?:like|prefer|choose|pick|want) (?:to choose )?(?:the )?"
    r"(?:option|approach|first|second|third|last|former|latter|plan)",
    r"i(?:'d| would) like to (?:choose|pick|take|book) (?:the|option|flight)",
    r"option (?:[a-z]|\d{1,2})(?=\W*$|[,.!]| please| for| it is| is (?:good|fine))",
    r"(?:the )?(?:first|second|third|last|former|latter)(?: one| option| approach)?(?=[.!]*$)",
    r"(?:choose|pick|take|implement|do|fix) (?:option |number )?#?\d{1,2}",
)
"""Choose among what was offered."""
CONSENTS = (
    # English
    r"ok|okay|sure|fine|alright|of course|please|continue|y",
)
"""Consent to a proposal where they are all the user says."""
OBJECTIONS = (
    # English
    r"but|however|except|although|though|apart from|other than|unless|only if",
    r"undo|revert|roll back",
)
"""In the same sentence or at the beginning of the next: then it is not approved as it is."""
TAGS = (
    # English
    r"right|no|ok|okay|yes|yeah|correct|isn't it|doesn't it|or not",
)
"""Behind a comma and before a question mark they ask what the sentence seems to say."""

_FOLLOWERS = (
    r"to me|for me|now|again|thanks|thank|and|so|then|let's|lets|please|too|as well|here|"
    r"this time|overall|already|i think|man|dude|with|for|all|go|great|perfectly|of"
)
_ENDING = rf"(?=\s*(?:$|[^\w\s?'/-]|-[\s-])|\s+(?:{_FOLLOWERS})\b)"
"""Behind a cue the sentence ends, pauses, or goes on with one of a few words: "that works" is
approval, "that works only for strings" is not."""

_SAVE = at_beginning(SAVES)
_APPROVAL = at_beginning(APPROVALS, ending=_ENDING)
_THANKS = at_beginning(THANKS, ending=_ENDING)
_GRATITUDE = at_beginning(GRATITUDE, ending="")
_ALONE = at_beginning(ALONE, ending=r"\W*$")
_AGREEMENT = at_beginning(AGREEMENTS)
_ORDER = at_beginning(ORDERS, ending=_ENDING)
_CHOICE = at_beginning(CHOICES)
_CONSENT = at_beginning(CONSENTS)
_OBJECTION = anywhere(OBJECTIONS)
_OBJECTING = at_beginning(OBJECTIONS)
_TAG = at_beginning(TAGS, ending=r"\W*$")
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
    if len(only.split()) > SHORT or only.endswith("?"):
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
