"""The context rebuilt: what was there before the turns, the summary, the kept turns verbatim."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from kedge.foreign import neutral
from kedge.model import (
    PINNED_TAG,
    SUMMARY_TAG,
    Compaction,
    Masked,
    Media,
    Message,
    Note,
    Part,
    Repeat,
    Repeated,
    Text,
    Transcript,
    Turn,
)
from kedge.planning import applied, parts_of

_WORDED = re.compile(r"^(?:-|\d+\.) (?:In short[:,]|Suggested:|Perhaps open:) ", re.MULTILINE)
OPENING, CLOSING = f"<{SUMMARY_TAG}>", f"</{SUMMARY_TAG}>"
PREAMBLE = (
    "The conversation up to here was compacted. This summary stands for it; marks such as [t12] "
    "name the turns it comes from. What the user asked last follows it, word for word."
)
KNOWN = (
    " What is not here was not lost: `kedge recall WORDS --session {name}` finds it, `kedge show "
    "{name} t12` shows a turn as it was; FILE in a command stands for {name}."
)
"""Behind the preamble, where the session is kept."""
WORDED = (
    " Lines that begin with `In short`, `Suggested` or `Perhaps open` are a language model's words "
    "about the record: no facts, and nothing that the user asked for."
)
"""Behind the preamble, where there are such lines."""
PINNED = "The user pinned what follows: it holds, word for word, until they take it back."
BEFORE: tuple[Repeated, ...] = ("instructions", "environment", "summary")
"""What is said again before the summary; the request comes behind it."""


def view(
    transcript: Transcript, compaction: Compaction, *, pinned: Sequence[str] = ()
) -> Transcript:
    """The transcript as the agent goes on with it. `pinned` are texts that stand in it word for
    word, whatever is folded.

    It depends on nothing but the turns, the record and the pins: turns added later follow behind,
    and what stands before them stays the same to the byte until the next compaction."""
    plan = compaction.plan
    transcript = _numbered(transcript, compaction)
    masked: defaultdict[int, list[Masked]] = defaultdict(list)
    for one in plan.masked:
        masked[one.turn].append(one)
    kept = (applied(turn, masked.get(turn.index, ())) for turn in transcript.turns[plan.cut :])
    return replace(transcript, turns=(*lead(transcript, compaction, pinned=pinned), *kept))


def lead(
    transcript: Transcript, compaction: Compaction, *, pinned: Sequence[str] = ()
) -> tuple[Turn, ...]:
    """The turn that stands for all that was folded: nobody has answered it yet."""
    if not compaction.summary:
        return pinned_alone(pinned)
    transcript = _numbered(transcript, compaction)
    again = compaction.plan.repeated
    before = _parts(transcript, [one for one in again if one.what in BEFORE])
    request = _parts(transcript, [one for one in again if one.what not in BEFORE])
    note = Note(kind="summary", text=wrapped(compaction.summary, compaction.name))
    parts: tuple[Part, ...] = (*before, *_pinned(pinned), note, *request)
    first = transcript.turns[compaction.plan.cut - 1]
    return (
        Turn(
            index=first.index,
            exchange=first.exchange,
            user_message="\n\n".join(part.text for part in request if isinstance(part, Text)),
            notes=tuple(part for part in parts if isinstance(part, Note)),
            media=tuple(part for part in parts if isinstance(part, Media)),
            messages=(Message(role="user", parts=parts),),
            timestamp=first.timestamp,
        ),
    )


def pinned_alone(pinned: Sequence[str]) -> tuple[Turn, ...]:
    """The turn that leads a conversation of which nothing was folded."""
    notes = _pinned(pinned)
    return (Turn(notes=notes, messages=(Message(role="user", parts=notes),)),) if notes else ()


def _pinned(pinned: Sequence[str]) -> tuple[Note, ...]:
    """As a rules file is given: the user's own words, and none of a summary's."""
    if not pinned:
        return ()
    text = "\n\n".join((f"<{PINNED_TAG}>\n{PINNED}", *pinned, f"</{PINNED_TAG}>"))
    return (Note(kind="instructions", text=text),)


def said_again(transcript: Transcript, again: Sequence[Repeat]) -> tuple[str, ...]:
    """The words that stand verbatim beside the summary."""
    parts = _parts(transcript, list(again)) if again else ()
    return tuple(part.text for part in parts if isinstance(part, (Text, Note)))


def _numbered(transcript: Transcript, compaction: Compaction) -> Transcript:
    """With the numbers that the record speaks of; turns that were read have them already."""
    turns, first = transcript.turns, compaction.first
    if compaction.plan.nothing_to_do or all(t.index == first + n for n, t in enumerate(turns)):
        return transcript
    return replace(
        transcript, turns=tuple(replace(t, index=first + n) for n, t in enumerate(turns))
    )


def wrapped(summary: str, name: str = "") -> str:
    """The summary with what stands around it; `name` is the session's, where it is kept."""
    known = KNOWN.format(name=name) if name else ""
    words = WORDED if _WORDED.search(summary) else ""
    return f"{OPENING}\n{PREAMBLE}{known}{words}\n\n{summary}\n{CLOSING}"


def is_wrapped(text: str) -> bool:
    """Whether a text is what `wrapped` makes of a summary, and nothing more."""
    whole = text.strip()
    inner = whole.removeprefix(OPENING).removesuffix(CLOSING)
    return whole == f"{OPENING}{inner}{CLOSING}" and inner == neutral(inner)


def unwrapped(text: str) -> str:
    """The summary out of what `wrapped` made of it."""
    inner = text.strip().removeprefix(OPENING).removesuffix(CLOSING).strip()
    if not inner.startswith(PREAMBLE):
        return inner
    return inner.partition("\n")[2].strip()  # the preamble is one line


def _parts(transcript: Transcript, again: list[Repeat]) -> tuple[Part, ...]:
    turns = transcript.turns
    base = turns[0].index
    found = (parts_of(turns[one.turn - base], one.what, one.heading) for one in again)
    return tuple(_as_told(part) for parts in found for part in parts)


def _as_told(part: Part) -> Part:
    """What a client put in: unable to open or close a tag of ours. The user's words stay as they
    are, in a part of their own; and so does what they pinned."""
    if not isinstance(part, Note) or part.text.startswith(f"<{PINNED_TAG}>"):
        return part
    text = neutral(part.text)
    if text == part.text:
        return part
    return replace(part, text=text, wire=None)
