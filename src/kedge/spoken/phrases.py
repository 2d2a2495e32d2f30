"""What a user opens, and what an answer proposes, by the words it is said in."""

from __future__ import annotations

from kedge.spoken.cues import anywhere, at_beginning
from kedge.spoken.cutting import opening

_MAKE = (
    "add|address|build|clean|configure|create|deploy|design|document|draft|extend|extract|fix"
    "|handle|implement|improve|integrate|investigate|migrate|move|optimi[sz]e|port|prepare"
    "|refactor|release|remove|rename|replace|rewrite|start|tackle|update|upgrade|work|write"
)
_DO = (
    f"{_MAKE}|adjust|change|continue|deal|do|finish|get|go|look|make|plan|review|set|split|switch"
    "|talk|test|turn"
)
_WE = (
    "(?:let's|lets|let us|we (?:need|should|have|can|could|must|want)(?: to)?|i(?:'d| would) like"
    "(?: you)?(?: to)?|i (?:want|need)(?: you)?(?: to)?|please|can you|could you|can we|could we)"
)
SHIFTS = (
    # English
    rf"(?:now|next),? {_WE}(?: (?:also|now|please|just|finally|to)){{0,2}} (?:{_DO})",
    rf"(?:now|next),? (?:please )?(?:{_MAKE})(?= )",
    rf"{_WE} now (?:{_DO})",
    r"next(?: up)?[,:]|next (?:task|step|item|feature|thing|topic|issue|problem|one|up)"
    r"(?: is|:|,|,? let's|,? please)",
    r"(?:the|our|my) next (?:task|step|item|feature|thing|topic|issue|problem)",
    r"(?:(?:let's|lets|let us|now) )?mov(?:e|ing) on(?=\W| to)|on to (?:the|our|a)",
    r"(?:(?:let's|lets|let us) )?(?:now )?switch(?:ing)? (?:to|over|gears|topics)",
    r"(?:let's|lets|let us) (?:now )?(?:work on|start (?:on|with|working)|tackle|turn to|try"
    r" something else|get back to|go back to|do something else)",
    r"(?:a )?(?:new|different|another|separate|unrelated) (?:task|topic|feature|issue|request)"
    r"(?=[:,.]| for you)",
    r"getting back to|back to (?:the|our)(?= )",
)
"""Open another task. A question such as "what's next?" and a symptom such as "now it fails" begin
otherwise."""
ASKED_FOR = (
    # English
    r"can|could|would|couldn't|shouldn't",
)
"""In a question they ask for something to be done; without them it asks to be told."""
PROPOSALS = (
    # English
    r"(?:would|do) you (?:like|want|prefer)|want me to|how would you like|what would you like",
    r"(?:shall|should|may) (?:i|we)|can i (?:go ahead|proceed|start)|ready to (?:\w+ )?",
    r"please (?:confirm|let me know|choose|approve|review)|confirm (?:if|that|whether|and|the)",
    r"let me know (?:if|which|how|what|when|whether|once|your)|if you(?:'re| are) happy",
    r"(?:does|do|is|are) (?:this|that|these|it|everything) (?:look|sound|work|make|ok|okay|fine)",
    r"(?:look|sound)s? (?:good|right|ok|okay)\?|which (?:one|ones|option|approach)",
    r"(?:want|like|wish) to proceed|to proceed|go ahead|your (?:call|preference|approval)",
)
"""How an answer proposes something or asks for approval."""

_SHIFT = at_beginning(SHIFTS)
_ASKED_FOR = anywhere(ASKED_FOR)
_PROPOSAL = anywhere(PROPOSALS)


def opens_task(words: str) -> bool:
    """Whether one of the first two sentences opens a task; the first often speaks of the last."""
    return any(
        _SHIFT.match(sentence) and (not sentence.endswith("?") or _ASKED_FOR.search(sentence))
        for sentence in opening(words)[:2]
    )


def proposes(answer: str) -> bool:
    """Whether an answer, or the end of one, proposes something or asks for approval."""
    return _PROPOSAL.search(answer) is not None
