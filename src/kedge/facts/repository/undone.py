"""Work that the user took back by aider's `/undo`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.facts.errors.changes import named
from kedge.facts.errors.words import against, why
from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.facts.repository.console import Console, undoes
from kedge.model import DeadEnd, Note, Text, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence

ABOUT_SHOWN = 100
"""Characters of the message of a commit that was undone."""
HEARD = 800
"""Characters of the user's words in which a reason is looked for."""

_REASON = re.compile(
    r"\b(?:instead|rather|wrong|breaks|broke|because|fails|failed"
    r"|(?:do|does|did|is|was|are|were|should)(?:n[’']?t| not))\b",
    re.IGNORECASE,
)
"""What a sentence has that says why something was not to be."""
_ANEW = re.compile(r"/(?:clear|reset|exit|quit|ex|drop)\b")
"""Commands behind which another matter begins."""


class UndoExtractor:
    """Gives what was undone before a turn, as one dead end."""

    def __init__(self, setting: Setting) -> None:
        self._console = Console(Paths(setting.root))

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        undone = [one for one in self._console.see(turn, outcomes) if one.undone]
        if not undone:
            return
        first = undone[-1]  # the oldest is undone last
        about = f" “{cut(first.about, ABOUT_SHOWN)}”" if first.about else ""
        several = f" and {len(undone) - 1} more after it" if len(undone) > 1 else ""
        files = tuple(dict.fromkeys(edit.path for one in undone for edit in one.edits))
        where = f" ({named(files)})" if files else ""
        yield DeadEnd(
            turn=turn.index,
            by="user",
            what=f"commit {first.name}{about}{several}{where}, undone by the user",
            why=_reason(turn),
        )


def _reason(turn: Turn) -> str:
    """The user's words behind it, where they say why; empty where they are about something new."""
    words = _behind(turn) if turn.messages else turn.user_message
    said = first_sentence(words[:HEARD])
    return why(words) if said and (against(said) or _REASON.search(said)) else ""


def _behind(turn: Turn) -> str:
    """What the user said after the last undo, unless they began anew in between."""
    words, place, follows = "", 0, False
    parts = (part for one in turn.messages if one.role == "user" for part in one.parts)
    for part in parts:
        if isinstance(part, Note):
            if undoes(turn.notes, place):
                words, follows = "", True
            elif part.kind == "environment" or _ANEW.match(part.text):
                follows = False
            place += 1
        elif isinstance(part, Text) and follows and not words:
            words = part.text
    return words
