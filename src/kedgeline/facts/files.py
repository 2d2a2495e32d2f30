"""Files: what was read of them, and what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.facts.edits import Replacement, change_of, quoted_line, replacements_of
from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.git_output import Console
from kedgeline.facts.paths import (
    Paths,
    WorkingFolder,
    is_glob,
    is_scratch,
    lines_read,
    said_of,
    texts_before,
    why,
)
from kedgeline.facts.steps import only_looks
from kedgeline.model import FileChanged, FileRead, Turn
from kedgeline.shell import Outcome, Touch
from kedgeline.shell.calls import shell_line
from kedgeline.shell.parsing import commands_in
from kedgeline.shell.prefixes import Command
from kedgeline.shell.touched import (
    COMPILERS,
    FORMATTERS,
    INTERPRETERS,
    reported,
    touched_by_shell,
)
from kedgeline.text.prose import cut, one_line

# Which files a session has seen: what tells creating from changing.

MOST_KNOWN = 400
"""Files remembered, those used last: a file seen longer ago is seldom written whole again."""

Action = Literal["created", "modified", "deleted", "renamed"]


class KnownFiles:
    def __init__(self) -> None:
        self._there = Recent[str, bool](MOST_KNOWN)
        """Files that are there, and whether a compiler made them."""
        self._created = Recent[str, int](MOST_KNOWN)
        """Files that the session created, and in which turn."""

    def see(self, path: str) -> None:
        if path:
            self._there.put(path, self._there.get(path, False))

    def action(
        self, touch: Touch, path: str, pieces: Sequence[Replacement], *, certain: bool
    ) -> Action:
        """What was done to a file; `certain` where the tool says so itself. Else a file that was
        seen is changed, and one that was not is created, if nothing in it was replaced."""
        if touch.action == "deleted" or touch.action == "renamed":
            return touch.action
        if touch.action == "created" and certain:
            return "created"
        if path in self._there or certain:
            return "modified"
        fills = bool(pieces) and not (pieces[0].old or pieces[0].blind)
        return "created" if fills or touch.action == "created" else "modified"

    def change(
        self, path: str, action: Action, before: str = "", *, built: bool = False, turn: int = -1
    ) -> bool:
        """Take a change in; whether a compiler had made the file."""
        if action == "created":
            self._created.put(path, turn)
        earlier = self._there.pop(path, False)
        if action == "renamed":
            earlier = self._there.pop(before, earlier)
        built = built or earlier
        if action != "deleted":
            self._there.put(path, built)
        return built

    def undo(self, path: str, turn: int) -> bool:
        """Take in that the changes of a turn are no more; whether the file was created there."""
        created = self._created.get(path) == turn
        if created:
            del self._created[path]
            self._there.pop(path, None)
        return created


# What a shell command did to a file, in a few words.

RESTORED = "restored from git"
SCRIPT_MOST = 70
"""Characters of a substitution or a command that are shown."""
BY_SCRIPT = "by a script"
_PRINTS = {"echo", "printf"}
_ENDS = re.compile(r"\\n")


class _Done(NamedTuple):
    pieces: tuple[Replacement, ...] = ()
    """The text that was written, where the line holds it."""
    told: str = ""
    """Said of the command itself, where it does not."""
    built: bool = False
    """A compiler made it: no part of the work."""


def done_by_shell(outcome: Outcome, touch: Touch) -> _Done:
    """What the command that touched a file did, as far as its line says."""
    output = outcome.result.output if outcome.result else ""
    commands = commands_in(shell_line(outcome.call))
    for command in commands:
        if touch in tuple(touched_by_shell((command,), output)):
            return _shell_done(command, touch)
    return _Done(told=BY_SCRIPT) if touch.action in ("created", "modified") else _Done()


def _shell_done(command: Command, touch: Touch) -> _Done:
    if touch.action in ("deleted", "renamed"):
        return _Done()
    program, words = command.program, command.plain
    writes = [redirect for redirect in command.redirects if ">" in redirect.operator]
    if writes and any(touch.path.endswith(redirect.target.lstrip("./")) for redirect in writes):
        return _written(command, whole=">>" not in writes[0].operator)
    if program == "tee" and command.heredoc:
        return _Done((Replacement("", command.heredoc, whole=touch.action == "created"),))
    if program in COMPILERS:
        return _Done(told="built", built=True)
    if program in FORMATTERS:
        return _Done(told=f"formatted by {program}")
    if program == "git" and not {"--ours", "--theirs"}.intersection(words):
        return _Done(told=RESTORED)
    line = cut(one_line(" ".join(words)), SCRIPT_MOST)
    return _Done(told=BY_SCRIPT if program in INTERPRETERS or not line else f"by `{line}`")


def _written(command: Command, *, whole: bool) -> _Done:
    """A file written by a redirection."""
    text = command.heredoc
    if command.program in _PRINTS:
        text = _ENDS.sub("\n", " ".join(w for w in command.plain[1:] if not w.startswith("-")))
    if text and "$(" not in text:
        return _Done((Replacement("", text, whole=whole, blind=not whole),))
    words = " ".join(command.plain)
    return _Done(told=f"output of `{cut(one_line(words), SCRIPT_MOST)}`" if words else "")


# What was read.

BY_AGENT = "by the sub-agent"
_LISTING = ("<path>", "<type>directory</type>")
"""How a client that lists a folder through its reading tool begins and goes on."""
HEAD = 500
"""Characters of an output in which it would."""


def _lists(outcome: Outcome) -> bool:
    output = outcome.result.output[:HEAD] if outcome.result else ""
    return output.startswith(_LISTING[0]) and _LISTING[1] in output


# What was changed.

BY_WHOM = "by the user, or by a command that rewrites files"


class FileExtractor:
    """Gives every change of a file, in order, and every file that was read, with the lines where it
    was not read whole; what of a change is left in the end is not its matter."""

    def __init__(self, setting: Setting, *, inside: bool = False) -> None:
        self._setting = setting
        self._inside = inside
        """In a sub-agent's turns, whose own sub-agents are among them."""
        self._paths = Paths(setting.root, setting.checkouts)
        self._folder = WorkingFolder(stays=not inside)
        self._known = KnownFiles()
        self._console = Console(self._paths)
        self._ran = False
        """Whether a command ran since the user spoke that may have rewritten files."""
        self._committed = -1
        """The turn of the last commit."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileChanged | FileRead]:
        yield from self._noted(turn)
        yield from self._undone(turn, outcomes)
        texts = texts_before(turn)
        changed: list[tuple[str, FileChanged]] = []
        read: list[FileRead] = []
        for place, outcome in enumerate(outcomes):
            words = texts[place] if place < len(texts) else ""
            for fact in (*self._by_agent(turn, outcome), *self._of_call(turn, outcome, words)):
                if isinstance(fact, FileRead):
                    read.append(fact)
                else:
                    changed.append(("" if fact.source == "agent" else words, fact))
        others = {fact.path for _, fact in changed}
        for words, fact in changed:
            yield replace(fact, said=said_of(words, fact.path, others)) if words else fact
        yield from read

    def _noted(self, turn: Turn) -> Iterator[FileChanged]:
        """Files of which the client says that they were changed outside; by the user, unless the
        agent itself ran something that may have done it."""
        for note in turn.notes:
            written, _, shown = note.text.partition("\n")
            path = self._paths.name(written) if note.kind == "edited" else ""
            if path:
                yield FileChanged(
                    turn=turn.index,
                    by="tool" if self._ran else "user",
                    path=path,
                    action="modified",
                    what=BY_WHOM if self._ran else quoted_line(shown, prose=True),
                    source="outside",
                    scratch=is_scratch(path),
                )
        if turn.user_message:
            self._ran = False

    def _undone(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileChanged]:
        """Files whose changes the user took back by a command of the client."""
        for commit in self._console.see(turn, outcomes):
            for path, edited in commit.edits if commit.undone else ():
                created = self._known.undo(path, edited)
                yield FileChanged(
                    turn=turn.index,
                    by="user",
                    path=path,
                    action="deleted" if created else "modified",
                    what=f"takes back the change of t{edited}",
                    scratch=is_scratch(path),
                    takes_back=edited,
                )

    def _of_call(
        self, turn: Turn, outcome: Outcome, words: str
    ) -> Iterator[FileChanged | FileRead]:
        line = shell_line(outcome.call)
        folder = self._folder.of(outcome.call) if line else ""
        self._folder.follow(outcome)
        runs = outcome.call.verb in ("run", "delegate", "other")
        self._ran = self._ran or (runs and not only_looks(line))
        if any(run.purpose == "commit" and run.success for run in outcome.runs):
            self._committed = turn.index
        for touch in outcome.touched:
            path = self._paths.name(touch.path, folder)
            if touch.action == "read":
                self._known.see(path)
                if path and not is_glob(path) and not _lists(outcome):
                    lines = lines_read(outcome, touch.path)
                    yield FileRead(turn=turn.index, path=path, lines=lines, why=why(words))
            elif change := self._fact(turn, outcome, touch, path, folder):
                yield change

    def _fact(
        self, turn: Turn, outcome: Outcome, touch: Touch, path: str, folder: str
    ) -> FileChanged | None:
        if not path or (is_glob(path) and touch.action not in ("deleted", "renamed")):
            return None
        shell = touch.by == "shell"
        before = self._paths.name(touch.renamed_from, folder) if touch.renamed_from else ""
        if shell:
            done = done_by_shell(outcome, touch)
        else:
            done = _Done(tuple(replacements_of(outcome.call, touch.path)))
        certain = outcome.result is not None and reported(outcome.result) is not None
        action = self._known.action(touch, path, done.pieces, certain=certain)
        around = outcome.result.around if outcome.result is not None else ""
        change = change_of(path, done.pieces, created=action == "created", around=around)
        built = self._known.change(path, action, before, built=done.built, turn=turn.index)
        restored = done.told == RESTORED
        return FileChanged(
            turn=turn.index,
            path=path,
            action=action,
            renamed_from=before,
            what=done.told or change.what,
            added=change.added,
            removed=change.removed,
            source="shell" if shell else "tool",
            scratch=built or is_scratch(path),
            restores=restored,
            committed=self._committed if restored else -1,
        )

    def _by_agent(self, turn: Turn, outcome: Outcome) -> Iterator[FileChanged | FileRead]:
        """What the sub-agent that a call started has done, whatever came of the call."""
        if self._inside or outcome.call.id not in self._setting.agents:
            return
        inner = FileExtractor(self._setting, inside=True)
        for own, results in agent_turns(self._setting, outcome):
            for fact in inner.see(own, results):
                if isinstance(fact, FileRead):
                    yield replace(fact, turn=turn.index, why=BY_AGENT)
                else:
                    self._known.change(fact.path, fact.action, fact.renamed_from)
                    yield replace(fact, turn=turn.index, source="agent")
