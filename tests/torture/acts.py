"""What a worker does, step by step. A step follows from a seed and its number alone, so that
whoever looks at the store afterwards knows what must be in it."""

from __future__ import annotations

import re
from base64 import b64encode
from random import Random
from typing import Literal, NamedTuple

from kedgeline.errors import NothingToUndo
from kedgeline.model import Media, ToolCall, ToolResult, Transcript, Turn
from kedgeline.session.session import Session
from tests.turns import turn

Kind = Literal["turn", "several", "words", "large", "image", "exchange", "pin", "compact", "undo"]
KINDS: tuple[tuple[Kind, int], ...] = (
    ("turn", 45),
    ("words", 12),
    ("large", 10),
    ("several", 8),
    ("exchange", 6),
    ("image", 5),
    ("compact", 8),
    ("undo", 4),
    ("pin", 2),
)
"""Each with its weight."""
WINDOW = 2_500
"""Tokens: so few that the sessions of these checks are worth compacting."""
PER_ACT = 10
"""Marks that belong to one step."""
SHARED = "the same long output of a command that was run before\n" * 60
"""Kept once, however often it comes."""

_MARK = re.compile(r"\b[uo]\d{7}\b")


class Act(NamedTuple):
    """One step."""

    number: int
    kind: Kind


class Piece(NamedTuple):
    """Something that was said, and the mark it is known by."""

    mark: str
    text: str
    image: str = ""


def act_of(seed: int, number: int) -> Act:
    kinds, weights = zip(*KINDS, strict=True)
    return Act(number, Random(f"{seed}/{number}").choices(kinds, weights)[0])


def pieces_of(seed: int, act: Act) -> list[Piece]:
    """All that the step says, in its order."""
    if act.kind in ("compact", "undo", "pin"):
        return []
    if act.kind == "words":
        return [_user(act, 0)]
    if act.kind == "exchange":
        return [_user(act, 0), Piece(_mark("o", act, 0), f"{_mark('o', act, 0)} it is done")]
    places = range(3 if act.kind == "several" else 1)
    return [piece for place in places for piece in (_user(act, place), _output(seed, act, place))]


def do(session: Session, seed: int, act: Act, *, key: str = "") -> None:
    """Make the step."""
    if act.kind == "compact":
        session.compact()
    elif act.kind == "undo":
        try:
            session.undo()
        except NothingToUndo:
            return
    elif act.kind == "pin":
        session.pin(f"pinned words {act.number}")
    elif act.kind in ("words", "exchange"):
        said = [piece.text for piece in pieces_of(seed, act)]
        roles = ("user", "assistant")
        messages = [{"role": r, "content": t} for r, t in zip(roles, said, strict=False)]
        session.append(messages, key=key)
    else:
        session.append(turns_of(seed, act), key=key)


def turns_of(seed: int, act: Act) -> list[Turn]:
    pieces = pieces_of(seed, act)
    made = []
    for user, output in zip(pieces[::2], pieces[1::2], strict=True):
        call = _call(output)
        media = (Media(mime="image/png", data=user.image),) if user.image else ()
        made.append(turn(0, call, user=user.text, media=media, tokens=0))
    return made


def marks_in(transcript: Transcript) -> list[str]:
    """The marks of all that stands, in its order."""
    found: list[str] = []
    for each in transcript.turns:
        texts = (each.user_message, *(r.output for r in each.tool_results), each.assistant_response)
        for text in texts:
            found += _MARK.findall(text)
    if transcript.pending is not None:
        found += _MARK.findall(transcript.pending.user_message)
    return found


def changed(transcript: Transcript, pieces: list[Piece]) -> list[str]:
    """Marks of the pieces that do not stand as they were said."""
    told: set[str] = set()
    waiting = (transcript.pending,) if transcript.pending else ()
    images: set[str] = set()
    for each in (*transcript.turns, *waiting):
        told.update(result.output for result in each.tool_results)
        told.update((each.assistant_response, *each.user_message.split("\n\n")))
        images.update(media.data for media in each.media)
    return [
        piece.mark
        for piece in pieces
        if piece.text not in told or (piece.image and piece.image not in images)
    ]


def _mark(letter: str, act: Act, place: int) -> str:
    return f"{letter}{act.number * PER_ACT + place:07}"


def _user(act: Act, place: int) -> Piece:
    mark = _mark("u", act, place)
    image = ""
    if act.kind == "image":
        image = b64encode(Random(act.number % 7).randbytes(4_000)).decode("ascii")
    return Piece(mark, f"{mark} look at part {act.number} and say what is wrong", image)


def _output(seed: int, act: Act, place: int) -> Piece:
    mark = _mark("o", act, place)
    random = Random(f"{seed}/{act.number}/{place}")
    lines = 400 if act.kind == "large" else 3
    body = "\n".join(f"line {n} has the value {random.random()}" for n in range(lines))
    shared = SHARED if act.kind == "large" and act.number % 2 else ""
    return Piece(mark, f"{mark}\n{shared}{body}")


def _call(output: Piece) -> tuple[ToolCall, ToolResult]:
    name = f"call-{output.mark}"
    call = ToolCall(id=name, tool="Bash", parameters={"command": f"show {output.mark}"})
    return call, ToolResult(call_id=name, output=output.text, exit_code=0)
