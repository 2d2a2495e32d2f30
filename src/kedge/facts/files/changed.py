"""Facts about files that were changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.facts.extractor import Setting
from kedge.facts.files.agents import agent_turns
from kedge.facts.files.changes import change_of
from kedge.facts.files.edits import pieces_of
from kedge.facts.files.folders import WorkingFolder
from kedge.facts.files.known import KnownFiles
from kedge.facts.files.outside import Outside
from kedge.facts.files.paths import Paths, is_glob
from kedge.facts.files.sentences import said, texts_before
from kedge.facts.files.shell import Done, done_by_shell
from kedge.facts.repository.console import Console
from kedge.model import FileChanged, Turn
from kedge.outcomes import Outcome, Touch
from kedge.outcomes.calls import shell_line
from kedge.outcomes.touched.files import reported


class FileExtractor:
    """Gives every change of a file, in order; what of it is left in the end is not its matter."""

    def __init__(self, setting: Setting, *, depth: int = 0) -> None:
        self._setting = setting
        self._depth = depth
        self._paths = Paths(setting.root)
        self._folder = WorkingFolder(stays=depth == 0)
        self._known = KnownFiles()
        self._outside = Outside(self._paths)
        self._console = Console(self._paths)

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileChanged]:
        yield from self._outside.noted(turn)
        yield from self._undone(turn, outcomes)
        changed = self._of_turn(turn, outcomes)
        others = {fact.path for _, fact in changed}
        texts = texts_before(turn)
        for place, fact in changed:
            words = texts[place] if 0 <= place < len(texts) else ""
            yield replace(fact, said=said(words, fact, others)) if words else fact

    def _of_turn(self, turn: Turn, outcomes: Sequence[Outcome]) -> list[tuple[int, FileChanged]]:
        """Changes with the place of their call; -1 for those of a sub-agent or from outside."""
        found: list[tuple[int, FileChanged]] = []
        for place, outcome in enumerate(outcomes):
            found += [(-1, fact) for fact in self._by_agent(turn, outcome)]
            folder = self._folder.of(outcome.call) if shell_line(outcome.call) else ""
            self._folder.follow(outcome)
            self._outside.ran(outcome)
            for touch in outcome.touched:
                path = self._paths.name(touch.path, folder)
                if touch.action == "read":
                    found += [(-1, fact) for fact in self._outside.read(turn, outcome, path)]
                    self._known.see(path)
                elif change := self._fact(turn, outcome, touch, path, folder):
                    found.append((place, change))
        return found

    def _undone(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileChanged]:
        """Files whose changes the user took back by a command of the client."""
        for commit in self._console.see(turn, outcomes):
            for path, edited in commit.edits if commit.undone else ():
                self._outside.changed(path, ())
                created = self._known.undo(path, edited)
                yield FileChanged(
                    turn=turn.index,
                    by="user",
                    path=path,
                    action="deleted" if created else "modified",
                    what=f"takes back the change of t{edited}",
                    scratch=self._paths.is_scratch(path),
                    takes_back=edited,
                )

    def _fact(
        self, turn: Turn, outcome: Outcome, touch: Touch, path: str, folder: str
    ) -> FileChanged | None:
        if not path or (is_glob(path) and touch.action not in ("deleted", "renamed")):
            return None
        shell = touch.by == "shell"
        before = self._paths.name(touch.renamed_from, folder) if touch.renamed_from else ""
        done = _done(outcome, touch)
        action = self._known.action(touch, path, done.pieces, certain=_is_reported(outcome))
        change = change_of(path, done.pieces, created=action == "created")
        built = self._known.change(path, action, before, built=done.built, turn=turn.index)
        if not shell:
            self._outside.changed(path, done.pieces)
        return FileChanged(
            turn=turn.index,
            path=path,
            action=action,
            renamed_from=before,
            what=done.told or change.what,
            added=change.added,
            removed=change.removed,
            source="shell" if shell else "tool",
            scratch=built or self._paths.is_scratch(path),
        )

    def _by_agent(self, turn: Turn, outcome: Outcome) -> Iterator[FileChanged]:
        """What the sub-agent that a call started has done, whatever came of the call."""
        if outcome.call.id not in self._setting.agents:
            return
        extractor = FileExtractor(self._setting, depth=self._depth + 1)
        for own, outcomes in agent_turns(self._setting, outcome, self._depth):
            for fact in extractor.see(own, outcomes):
                self._known.change(fact.path, fact.action, fact.renamed_from)
                self._outside.forget()
                yield replace(fact, turn=turn.index, source="agent")


def _done(outcome: Outcome, touch: Touch) -> Done:
    if touch.by == "shell":
        return done_by_shell(outcome, touch)
    return Done(tuple(pieces_of(outcome.call, touch.path)))


def _is_reported(outcome: Outcome) -> bool:
    return outcome.result is not None and reported(outcome.result) is not None
