"""What aider's console says of commits: it commits edits by itself, and `/undo` takes them back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.facts.files.paths import Paths
from kedge.model import Note, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.evidence import shown_part
from kedge.sentences import cut, one_line

ABOUT_SHOWN = 200
"""Characters of a message's first line; longer ones are cut."""
MOST_COMMITS = 200
"""Commits remembered with their edits: `/undo` goes back one by one, and seldom ten."""
MOST_WAITING = 200
"""Edits remembered that no commit has taken."""
EDITS = "edit_block"
"""The tool by which an edit of aider's is known; others have one of this name."""

_HASH = r"[0-9a-f]{7,40}"
_AIDER = re.compile(r"^(?:\$ )?(?:\S{0,300}/)?aider(?: |$)|^Aider v\d", re.MULTILINE)
"""How its console begins: with the command line, and with the version."""
_APPLIED = re.compile(r"^Applied edit to \S", re.MULTILINE)
_COMMITS = re.compile(
    r"^(?P<before>Committing [^\n]{1,2000} before applying edits)"
    rf"|^Commit (?P<name>{_HASH}) (?!was reset )(?P<about>\S[^\n]{{0,500}})",
    re.MULTILINE,
)
"""A commit; and the announcement of one that holds what was changed before the answer."""
_UNDO = re.compile(r"/u(?:n(?:do?)?)?(?:\s|$)")
_UNDONE = re.compile(
    rf"^Removed: (?P<removed>{_HASH}) (?P<about>[^\n]{{0,500}})"
    rf"|^(?:The above commit|Commit) `?(?P<reset>{_HASH})`? was reset and removed from git",
    re.MULTILINE,
)
_NOW_AT = re.compile(
    rf"^(?:HEAD is|Now at): {{1,4}}(?P<name>{_HASH})(?: (?P<about>[^\n]{{1,500}}))?", re.MULTILINE
)


class Edit(NamedTuple):
    path: str
    turn: int


class Commit(NamedTuple):
    name: str
    """Its hash."""
    about: str = ""
    edits: tuple[Edit, ...] = ()
    """Those of the session that it holds."""
    undone: bool = False
    head: tuple[str, str] = ("", "")
    """Of one that was undone: the hash and the message of the newest commit behind it, where that
    is said."""


class Console:
    """Sees the turns in order, and knows which edits a commit holds. It says nothing of sessions
    that are not aider's."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._aiders = False
        self._waiting: dict[Edit, None] = {}
        self._commits: dict[str, Commit] = {}

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> tuple[Commit, ...]:
        """The commits that were made and undone, in order: before the answer, and behind it."""
        return (*self._noted(turn.notes), *self._behind(turn.index, outcomes))

    def _noted(self, notes: Sequence[Note]) -> Iterator[Commit]:
        for place, note in enumerate(notes):
            if note.kind == "environment" and not self._aiders:
                self._aiders = _AIDER.search(shown_part(note.text)) is not None
            if undoes(notes, place):
                yield from self._undone(note.text)
            elif self._aiders and note.kind in ("environment", "injected", "command_output"):
                yield from self._made(note.text)

    def _behind(self, turn: int, outcomes: Sequence[Outcome]) -> Iterator[Commit]:
        """What the console says behind an answer stands in the results of its edits."""
        edits = [one for one in outcomes if one.call.tool == EDITS and one.success and one.result]
        said = "\n".join(shown_part(one.result.output) for one in edits if one.result)
        if not edits or _APPLIED.search(said) is None:
            return
        self._aiders = True
        for path in (path for one in edits for path in one.changed):
            if name := self._paths.name(path):
                self._waiting[Edit(name, turn)] = None
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        yield from self._made(said, turn)

    def _made(self, text: str, turn: int | None = None) -> Iterator[Commit]:
        """The commits of a text; `turn` where it follows the edits of this turn."""
        earlier = False
        for found in _COMMITS.finditer(shown_part(text)):
            if found["before"]:
                earlier = True
                continue
            held = tuple(one for one in self._waiting if not (earlier and one.turn == turn))
            earlier = False
            for one in held:
                del self._waiting[one]
            commit = Commit(found["name"], cut(one_line(found["about"]), ABOUT_SHOWN), held)
            self._commits[commit.name] = commit
            if len(self._commits) > MOST_COMMITS:
                del self._commits[next(iter(self._commits))]
            yield commit

    def _undone(self, text: str) -> Iterator[Commit]:
        for found in _UNDONE.finditer(shown_part(text)):
            name = found["removed"] or found["reset"]
            known = self._commits.pop(self._in_full(name), Commit(name))
            at = _NOW_AT.search(text, found.end())
            head = (at["name"], cut(one_line(at["about"] or ""), ABOUT_SHOWN)) if at else ("", "")
            about = known.about or cut(one_line(found["about"] or ""), ABOUT_SHOWN)
            yield known._replace(about=about, undone=True, head=head)

    def _in_full(self, name: str) -> str:
        """A commit by the name it is known by: some versions print the whole hash of one that
        they undo."""
        same = (one for one in self._commits if one.startswith(name) or name.startswith(one))
        return next(same, name)


def undoes(notes: Sequence[Note], place: int) -> bool:
    """Whether a note is what aider's `/undo` printed."""
    before = notes[place - 1] if place else None
    return (
        notes[place].kind == "command_output"
        and before is not None
        and before.kind == "command"
        and _UNDO.match(before.text) is not None
    )
