"""Edits that were made and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from kedge.facts.errors.changes import named, shown
from kedge.facts.errors.runs import Ran, Step
from kedge.facts.errors.words import added_lines, only_prints, replacements, telling_line
from kedge.facts.files.paths import Paths
from kedge.outcomes import Outcome

REMEMBERED = 64
"""Files remembered as edited, or created; the oldest goes."""
SWAPS = 128
"""Edits remembered by their texts, of which another may be the exact reverse."""
SHORTEST = 12
"""Characters of the old and the new text together: shorter ones are reversed by chance."""
_CHOOSES = frozenset({"--ours", "--theirs", "-b", "-B", "--orphan", "--merge", "-p", "--patch"})
"""Options of `git checkout` with which it undoes nothing."""


class _When(NamedTuple):
    turn: int
    exchange: int


class Edits:
    """The files changed since the last commit, and those created."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._edited: dict[str, _When] = {}
        self._created: dict[str, _When] = {}
        self._stashed: dict[str, _When] = {}
        self._swaps: dict[bytes, str] = {}
        self._back: set[str] = set()
        """What the call at hand has taken back."""

    def of_exchange(self, exchange: int) -> tuple[str, ...]:
        """Files last changed in the latest exchange before this one in which any was."""
        before = [when.exchange for when in self._edited.values() if when.exchange < exchange]
        latest = max(before, default=-1)
        return tuple(path for path, when in self._edited.items() if when.exchange == latest)

    def forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._edited.pop(path, None)
            self._created.pop(path, None)

    def add(self, outcome: Outcome, turn: int, exchange: int) -> None:
        """Take the files that a call changed; those it took back are as they were."""
        when = _When(turn, exchange)
        back, self._back = self._back, set()
        for touch in outcome.touched:
            path = self._paths.name(touch.path)
            if touch.action == "read" or not path or self._paths.is_scratch(path):
                continue
            if path in back:
                continue
            if touch.action == "deleted":
                self.forget((path,))
                continue
            _put(self._edited, path, when)
            if touch.action == "created" and touch.by == "tool" and path not in self._created:
                _put(self._created, path, when)

    def deleted(self, outcome: Outcome, exchange: int) -> Iterator[tuple[str, int]]:
        """Files that a call deletes and that an earlier exchange created, with their turns."""
        for touch in outcome.touched:
            created = self._created.get(self._paths.name(touch.path))
            if touch.action == "deleted" and created and created.exchange < exchange:
                yield self._paths.name(touch.path), created.turn

    def reversed(self, outcome: Outcome) -> Iterator[str]:
        """Edits whose exact reverse a call makes, in words."""
        if not outcome.success or outcome.call.verb != "edit":
            return
        path = self._paths.name(next(iter(outcome.call.paths()), ""))
        if not path:
            return
        if outcome.call.parameters.get("command") == "undo_edit":
            yield f"last edit of {path}, taken back"
        for old, new in replacements(outcome.call.parameters):
            if old == new or len(old) + len(new) < SHORTEST:
                continue
            tried = self._swaps.pop(_digest(path, new, old), None)
            if tried is not None:
                if tried:
                    yield tried
                continue
            added = added_lines(old, new)
            line = "" if only_prints(added) else telling_line(added)
            self._swaps[_digest(path, old, new)] = f"{path}: `{line}`, taken back" if line else ""
            if len(self._swaps) > SWAPS:
                del self._swaps[next(iter(self._swaps))]

    def undone(self, outcome: Outcome, steps: Sequence[Step]) -> Iterator[tuple[str, set[str]]]:
        """What commands of git took back, in words, with the files."""
        for step in steps:
            if step.passing and step.run.purpose in ("commit", "merge"):
                self._edited.clear()
            if step.ran.program != "git" or step.failing or not outcome.success:
                self._failed_stash(step)
                continue
            files = self._taken_back(step.ran, step.command.folder)
            if files:
                yield f"edits of {named(files)}, undone by `{shown(step.run.text)}`", files
                self.forget(files)
                self._back |= files

    def _failed_stash(self, step: Step) -> None:
        """A line that fails may have stashed before it did: it is not known then what is still
        there to be undone."""
        if step.ran.words[:2] == ("git", "stash"):
            self._stashed.clear()
            self._edited.clear()

    def _taken_back(self, ran: Ran, folder: str) -> set[str]:
        does = next((word for word in ran.words[1:] if not word.startswith("-")), "")
        given = set(ran.words[1:])
        if does == "reset":
            return set(self._edited) if "--hard" in given else set()
        if does == "stash":
            return self._stash(ran.words[2:])
        if does == "checkout" and not given & _CHOOSES:
            return self._among(ran.words[2:], folder)
        if does == "restore" and not (given & {"--staged", "-S"} and not given & {"--worktree"}):
            return self._among(ran.words[2:], folder)
        return set()

    def _stash(self, words: Sequence[str]) -> set[str]:
        """Stashed edits are undone when the stash is dropped."""
        does = words[0] if words else "push"
        if does in ("push", "save") or does.startswith("-"):
            if "--keep-index" not in words:
                self._stashed, self._edited = self._edited, {}
        elif does in ("pop", "apply"):
            self._edited.update(self._stashed)
            self._stashed = {}
        elif does in ("drop", "clear"):
            files, self._stashed = set(self._stashed), {}
            return files
        return set()

    def _among(self, words: Sequence[str], folder: str) -> set[str]:
        """The files among a command's words that were edited; all where it names all."""
        if "." in words and not folder:
            return set(self._edited)
        return {name for word in words if (name := self._paths.name(word, folder)) in self._edited}


def _put(known: dict[str, _When], path: str, when: _When) -> None:
    known.pop(path, None)
    known[path] = when
    if len(known) > REMEMBERED:
        del known[next(iter(known))]


def _digest(path: str, old: str, new: str) -> bytes:
    whole = blake2b(digest_size=12)
    for text in (path, old, new):
        data = text.encode(errors="replace")
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.digest()
