"""What a model is given of folded turns, what it may reply, and what is made of that."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from kedge.model import Dropped, Fallback, Worded

LINE = 200
"""Characters of one change, reason, step or question: a sentence."""
PARAGRAPH = 500
"""Characters of the intent and of the state: a few sentences."""
KNOWN = 1_200
"""Characters of what is known already that stand beside a packet: intent and state."""
MOST_CHANGES = 12
MOST_REASONS = 8
MOST_STEPS = 5
MOST_QUESTIONS = 5

Line = Annotated[str, Meta(max_length=LINE)]
Paragraph = Annotated[str, Meta(max_length=PARAGRAPH)]


class Change(Struct):
    file: Annotated[int, Meta(ge=1, le=99)]
    """Its number in the list of files: a model names no paths."""
    what: Line


class Reason(Struct):
    decision: Annotated[int, Meta(ge=1, le=99)]
    """Its number in the list of decisions."""
    why: Line


class Prose(Struct):
    """The reply as it is asked for. Every list and every text is bounded: small models write on to
    the limit where there is none."""

    intent: Paragraph
    changes: Annotated[list[Change], Meta(max_length=MOST_CHANGES)]
    reasons: Annotated[list[Reason], Meta(max_length=MOST_REASONS)]
    state: Paragraph
    next_steps: Annotated[list[Line], Meta(max_length=MOST_STEPS)]
    questions: Annotated[list[Line], Meta(max_length=MOST_QUESTIONS)]


class Decision(NamedTuple):
    key: str
    """Its matter."""
    text: str
    turn: int


class Packet(NamedTuple):
    """Turns that are sent in one request."""

    first: int
    last: int
    """Indices of the turns."""
    text: str
    """The turns as the model reads them, giant outputs reduced."""
    files: tuple[str, ...] = ()
    """Changed in these turns; the first has the number 1."""
    decisions: tuple[Decision, ...] = ()
    facts: str = ""
    """What is known by code, line by line."""
    spare: int = KNOWN
    """Tokens left beside it in the window, for what is known already."""


class Sources(NamedTuple):
    """What may hold a claim, whole and verbatim."""

    said: str = ""
    """Words of the user and of the agent in these turns, and the arguments of calls."""
    shown: str = ""
    """What tools gave back, and what clients put in."""
    known: str = ""
    """What user and agent said and did, by the summary of earlier turns and the facts."""
    reported: str = ""
    """What tools gave back, by the same: no voice, whatever it demands."""
    turns: tuple[tuple[int, str], ...] = ()
    """What was said and shown, turn by turn, each with its index."""


class Checked(NamedTuple):
    worded: tuple[Worded, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Written(NamedTuple):
    """What came of all packets."""

    worded: tuple[Worded, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    fallback: Fallback = ""
    """Why nothing, or not all, was written."""
    why: str = ""
    model: str = ""
    requests: int = 0
    prompts: tuple[str, ...] = ()
