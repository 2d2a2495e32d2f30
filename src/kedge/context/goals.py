"""What the user wants, in the user's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.model import MOST_GOALS, Turn
from kedge.sentences import LOOKED_AT, cut, first_sentence, sentences

GOAL_SHOWN = 100
"""Characters of a goal: the seed's number."""
SMALL_TALK_WORDS = 4
"""Words up to which a sentence that begins like a greeting is nothing else."""

_VERBS = (
    "fix|implement|add|update|create|build|deploy|refactor|remove|delete|change|modify|write|make"
    "|rename|move|install|set up|configure|investigate|debug|improve|optimi[sz]e|migrate|upgrade"
    "|convert|replace|research|review|document|design|port|extend|clean up"
)
_NO_REQUEST = (
    r"(?!\s?:|\s+(?:is|was|are|were|has|have|had|of|still|works?|worked|fails?|failed|failing|passe[sd]"
    r"|errors?|results?|status|logs?|output)\b)"
)
"""Behind a verb that is a noun there: `Build is red`, `Update: it works now`."""
_CUES = re.compile(
    r"\b(?:help me|i want to|i need to|please)\b"
    rf"|\b(?:can|could|would|will) you (?:also |now )?(?:{_VERBS})\b"
    rf"|\blet(?:['’]?s| us) (?:also |now )?(?:{_VERBS})\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"\W{{0,4}}(?:(?:ok|okay|yes|now|then|next|also|and|so|great|thanks|good)\b\W{{1,3}}){{0,3}}"
    rf"(?:{_VERBS})\b{_NO_REQUEST}",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|thanks|thank you|ok|okay|great|good|nice|perfect|cool|yes|no|sure)\b",
    re.IGNORECASE,
)
_AGREEING = frozenset(
    {"yes", "yeah", "ok", "okay", "sure", "please", "thanks", "do", "it", "that", "this", "so"}
    | {"continue", "proceed", "resume", "go", "going", "on", "ahead", "let's", "lets", "carry"}
    | {"keep", "now", "and", "then", "try", "again", "just"}
)
"""A request of these words alone says that the agent may go on; the goal was named before."""


def goal_in(words: str) -> str:
    """The goal that a user's words set, or nothing: their first sentence where they ask for
    something."""
    head = words.lstrip()[:LOOKED_AT]
    spoken = [s for s in sentences(head) if not _is_small_talk(s)]
    begins = spoken[0] if spoken else head
    if not _CUES.search(head) and not _OPENING.match(head) and not _OPENING.match(begins):
        return ""
    goal = first_sentence(begins)
    agrees = {word.strip(".,!?") for word in goal.casefold().split()} <= _AGREEING
    return "" if agrees else cut(goal, GOAL_SHOWN)


class Goals:
    """The latest goals, each with the turn that named it last."""

    def __init__(self) -> None:
        self._goals: dict[str, tuple[int, str]] = {}
        self._asked: tuple[int, str] = (-1, "")
        """The last words of more than small talk, whether or not they name a goal."""

    def add(self, turn: Turn) -> None:
        """To a sub-agent speaks the agent that delegated to it, not the user."""
        words = "" if turn.agent else turn.user_message
        if len(words.split()) > SMALL_TALK_WORDS:
            self._asked = (turn.index, cut(first_sentence(words), GOAL_SHOWN))
        goal = goal_in(words)
        if not goal:
            return
        self._goals.pop(goal.casefold(), None)
        self._goals[goal.casefold()] = (turn.index, goal)
        if len(self._goals) > MOST_GOALS:
            del self._goals[next(iter(self._goals))]

    def since(self, turn_index: int) -> tuple[str, ...]:
        """Those of the turns from this one on; else the last one known, or what was asked after it.
        Goals of older turns have been reached, or given up."""
        found = [(index, goal) for index, goal in self._goals.values()]
        recent = tuple(goal for index, goal in found if index >= turn_index)
        return recent or tuple(max(one, self._asked)[1] for one in found[-1:])


def goals_of(turns: Iterable[Turn], *, kept_from: int = 0) -> tuple[str, ...]:
    """The current goals, where turns from `kept_from` on are kept."""
    goals = Goals()
    for turn in turns:
        goals.add(turn)
    return goals.since(kept_from)


def _is_small_talk(sentence: str) -> bool:
    return bool(_SMALL_TALK.match(sentence)) and len(sentence.split()) <= SMALL_TALK_WORDS
