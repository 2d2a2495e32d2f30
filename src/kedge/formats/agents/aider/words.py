"""User lines as pieces: the user's words, commands, and what aider sent in the user's place."""

from __future__ import annotations

import re
from typing import NamedTuple

from kedge.formats.content.wrappers import said_by_user
from kedge.formats.turns.draft import Piece
from kedge.model import Note, Text

NOTHING = "<blank>"
"""What aider writes when the user sent an empty line."""

CARRY_WORDS = (("ask", "as"), ("code", "cod"), ("architect", "ar"))
"""Commands whose argument is a message to the model, and how short each may be typed."""
RUN_SHELL = (("run", "ru"), ("test", "te"), ("git", "gi"))
"""Commands that run their argument in a shell."""

REFLECTED = (
    "# Fix any errors below, if possible.",
    "I ran this command:\n\n",
)
"""How messages begin that aider sends in the user's place: lint errors, the output of a command."""
ANNOUNCEMENT = "# Announcement lines from when this session of aider was launched:"
"""What aider adds to a question about itself."""
_QUESTION = re.compile(r"[^\n]{0,500}\(Y\)es/\(N\)o[^\n]{0,80}\]: *\S{1,10}$")
"""A question of aider's that an earlier answer of the user's settled."""


class Heard(NamedTuple):
    pieces: tuple[Piece, ...]
    repeated: str = ""
    """Words of a command that aider writes once more as a message of their own."""


def heard(message: str) -> Heard:
    text = message.strip()
    if text in ("", NOTHING):
        return Heard(())
    if text.startswith("!"):
        return Heard((Note(kind="shell", text=text),))
    if text.startswith("/"):
        return _command(text)
    if text.startswith(REFLECTED) or _QUESTION.match(text):
        return Heard((Note(kind="injected", text=text),))
    words, announcement, lines = text.partition(ANNOUNCEMENT)
    pieces = said_by_user(words.strip()) if words.strip() else ()
    if announcement:
        pieces = (*pieces, Note(kind="injected", text=announcement + lines))
    return Heard(pieces)


def _command(text: str) -> Heard:
    name, _, argument = text[1:].partition(" ")
    argument = argument.strip()
    if argument and _is_one(name, CARRY_WORDS):
        return Heard((Text(text=argument),), repeated=argument)
    if argument and _is_one(name, RUN_SHELL):
        return Heard((Note(kind="shell", text=text),))
    return Heard((Note(kind="command", text=text),), repeated=argument)


def _is_one(name: str, commands: tuple[tuple[str, str], ...]) -> bool:
    return any(full.startswith(name) and name.startswith(short) for full, short in commands)
