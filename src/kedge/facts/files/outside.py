"""Changes of files that no call of the session made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.facts.files.edits import Piece
from kedge.facts.files.lines import differing, quoted
from kedge.facts.files.paths import Paths
from kedge.facts.files.ranges import lines_read
from kedge.model import FileChanged, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.shell.prefixes import program_of, without_prefixes

MOST_TRACES = 50
"""Files whose last edit is remembered."""
TRACE_LINES = 3
TRACE_LENGTH = (12, 160)
"""Characters of a line that is sure to be found again: a shorter one occurs by chance, a longer one
may be cut by the client."""
WHOLE_WITHIN = 30_000
"""Characters of an output beyond which a client may have left something off."""
BY_WHOM = "by the user, or by a command that rewrites files"
CHANGES_NOTHING = frozenset(
    {"cat", "head", "tail", "ls", "grep", "rg", "find", "wc", "echo", "pwd", "cd", "which", "tree"}
)


class Outside:
    """Knows by the client's own notes, and by an edit that a later reading no longer shows."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._traces: dict[str, tuple[str, ...]] = {}
        """Lines the last edit of a file put in, blanks left out."""
        self._ran = False
        """Whether a command ran since the user spoke that may have rewritten files."""

    def noted(self, turn: Turn) -> Iterator[FileChanged]:
        """Files of which the client says that they were changed outside; by the user, unless the
        agent itself ran something that may have done it."""
        for note in turn.notes:
            written, _, shown = note.text.partition("\n")
            path = self._paths.name(written) if note.kind == "edited" else ""
            if path:
                self._traces.pop(path, None)
                fact = self._fact(turn, path, quoted(shown, prose=True))
                yield replace(fact, by="tool", what=BY_WHOM) if self._ran else fact
        if turn.user_message:
            self._ran = False

    def changed(self, path: str, pieces: Sequence[Piece]) -> None:
        """Take an edit of a tool in."""
        self._traces.pop(path, None)
        if not pieces or pieces[-1].blind or pieces[-1].whole:
            return
        came = (_folded(line) for line in differing(pieces[-1].old, pieces[-1].new).new)
        shortest, longest = TRACE_LENGTH
        telling = [line for line in came if shortest <= len(line) <= longest]
        if len(telling) >= TRACE_LINES:
            self._traces[path] = tuple(sorted(telling, key=len)[-TRACE_LINES:])
        if len(self._traces) > MOST_TRACES:
            del self._traces[next(iter(self._traces))]

    def ran(self, outcome: Outcome) -> None:
        """A command or a sub-agent may have changed anything: nothing is certain behind it."""
        if outcome.call.verb in ("run", "delegate", "other") and not _changes_nothing(outcome):
            self.forget()
            self._ran = True

    def forget(self) -> None:
        self._traces.clear()

    def read(self, turn: Turn, outcome: Outcome, path: str) -> Iterator[FileChanged]:
        """A file that was read whole and shows nothing of the last edit."""
        lines = self._traces.get(path)
        if lines is None or outcome.result is None or lines_read(outcome, path):
            return
        output = outcome.result.output
        if outcome.call.verb != "read" or not output or len(output) > WHOLE_WITHIN:
            return
        shown = _folded(output)
        if not any(line in shown for line in lines):
            del self._traces[path]
            yield self._fact(turn, path, "the last edit is no longer in it")

    def _fact(self, turn: Turn, path: str, what: str) -> FileChanged:
        return FileChanged(
            turn=turn.index,
            by="user",
            path=path,
            action="modified",
            what=what,
            source="outside",
            scratch=self._paths.is_scratch(path),
        )


def _folded(text: str) -> str:
    return "".join(text.split())


def _changes_nothing(outcome: Outcome) -> bool:
    programs = (without_prefixes(run.words).words for run in outcome.runs)
    return bool(outcome.runs) and all(
        bool(words) and program_of(words[0]) in CHANGES_NOTHING for words in programs
    )
