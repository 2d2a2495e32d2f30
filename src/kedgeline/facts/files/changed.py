"""Facts about files that were changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import join, normpath
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.files.edits import Piece, change_of, differing, pieces_of, quoted
from kedgeline.facts.files.paths import Paths, is_glob, lines_read, said, texts_before, why
from kedgeline.facts.repository.repository import Console
from kedgeline.model import FileChanged, FileRead, ToolCall, Turn
from kedgeline.outcomes import Outcome, Touch
from kedgeline.outcomes.calls import shell_line
from kedgeline.outcomes.shell.parsing import commands_in
from kedgeline.outcomes.shell.prefixes import Command, program_of, without_prefixes
from kedgeline.outcomes.touched import (
    COMPILERS,
    FORMATTERS,
    INTERPRETERS,
    reported,
    touched_by_shell,
)
from kedgeline.text.prose import cut, one_line

# The turns of the sub-agent that a call started.

DEEPEST = 3
"""Sub-agents of sub-agents that are followed; clients allow one level, some two."""
MOST_TURNS = 500
"""Turns of a sub-agent that are looked at; the longest seen have a hundred."""


def agent_turns(
    setting: Setting, outcome: Outcome, depth: int
) -> Iterator[tuple[Turn, tuple[Outcome, ...]]]:
    transcript = setting.agents.get(outcome.call.id)
    if transcript is None or depth >= DEEPEST:
        return
    for turn in transcript.turns[:MOST_TURNS]:
        yield turn, setting.outcomes(turn)


# The folder a shell call works in, where the record shows it.

STAYS = frozenset({"Bash", "execute_bash"})
"""Tools whose shell stays where a line that succeeded has gone, by their exact name: other clients
call a shell that begins anew by the same word in small letters."""
GIVEN = ("workdir", "cwd", "directory", "dir_path", "working_directory")
"""Parameters that name the folder of one call."""
RESET_WITHIN = 400
"""Characters at the end of an output in which the client says that it went back."""
_RESET = re.compile(r"^Shell cwd was reset to (/[^\n]{1,380})\s*\Z", re.MULTILINE)
_GOES = re.compile(r"\b(?:cd|pushd)\b")
_UNKNOWN = re.compile(r"[$`*?]")
_COMPLAINT = re.compile(r"\b(?:cd|pushd): ")


class WorkingFolder:
    """Follows one conversation. A sub-agent's shell begins anew with every call."""

    def __init__(self, *, stays: bool = True) -> None:
        self._stays = stays
        self._folder = ""

    def of(self, call: ToolCall) -> str:
        """Where a call's shell line begins; empty for the session's root."""
        for name in GIVEN:
            if isinstance(given := call.parameters.get(name), str) and given:
                return given
        return self._folder if call.tool in STAYS else ""

    def follow(self, outcome: Outcome) -> None:
        """See where a call has gone; to be called behind `of`."""
        if not self._stays or outcome.call.tool not in STAYS or outcome.result is None:
            return
        tail = outcome.result.output[-RESET_WITHIN:]
        if reset := _RESET.search(tail):
            self._folder = reset[1]
            return
        line = shell_line(outcome.call)
        if not outcome.success or not _GOES.search(line) or _COMPLAINT.search(tail):
            return
        if "popd" in line or outcome.call.parameters.get("run_in_background") is True:
            return
        commands = commands_in(f"{line}\n:")
        went = commands[-1].folder if commands and commands[-1].words == (":",) else ""
        if went.startswith("~"):
            self._folder = went
        elif went and not _UNKNOWN.search(went):
            self._folder = normpath(join(self._folder, went))


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

    def action(self, touch: Touch, path: str, pieces: Sequence[Piece], *, certain: bool) -> Action:
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


# Changes of files that no call of the session made.

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
        self._traces = Recent[str, tuple[str, ...]](MOST_TRACES)
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
            self._traces.put(path, tuple(sorted(telling, key=len)[-TRACE_LINES:]))

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


# What a shell command did to a file, in a few words.

RESTORED = "restored from git"
SCRIPT_MOST = 70
"""Characters of a substitution or a command that are shown."""
BY_SCRIPT = "by a script"
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i.*|--in-place.*")
_PRINTS = {"echo", "printf"}
_ENDS = re.compile(r"\\n")


class Done(NamedTuple):
    pieces: tuple[Piece, ...] = ()
    """The text that was written, where the line holds it."""
    told: str = ""
    """Said of the command itself, where it does not."""
    built: bool = False
    """A compiler made it: no part of the work."""


def done_by_shell(outcome: Outcome, touch: Touch) -> Done:
    """What the command that touched a file did, as far as its line says."""
    output = outcome.result.output if outcome.result else ""
    commands = commands_in(shell_line(outcome.call))
    for command in commands:
        if touch in tuple(touched_by_shell((command,), output)):
            return _shell_done(command, touch)
    return Done(told=BY_SCRIPT) if touch.action in ("created", "modified") else Done()


def _shell_done(command: Command, touch: Touch) -> Done:
    if touch.action in ("deleted", "renamed"):
        return Done()
    program, words = command.program, command.plain
    writes = [redirect for redirect in command.redirects if ">" in redirect.operator]
    if writes and any(touch.path.endswith(redirect.target.lstrip("./")) for redirect in writes):
        return _written(command, whole=">>" not in writes[0].operator)
    if program == "tee" and command.heredoc:
        return Done((Piece("", command.heredoc, whole=touch.action == "created"),))
    if program in COMPILERS:
        return Done(told="built", built=True)
    if program in FORMATTERS:
        return Done(told=f"formatted by {program}")
    if program in INTERPRETERS:
        return Done(told=BY_SCRIPT)
    return Done(told=_TOLD[program](words) if program in _TOLD else "")


def _written(command: Command, *, whole: bool) -> Done:
    """A file written by a redirection."""
    text = command.heredoc
    if command.program in _PRINTS:
        text = _ENDS.sub("\n", " ".join(w for w in command.plain[1:] if not w.startswith("-")))
    if text and "$(" not in text:
        return Done((Piece("", text, whole=whole, blind=not whole),))
    words = " ".join(command.plain)
    return Done(told=f"output of `{cut(one_line(words), SCRIPT_MOST)}`" if words else "")


def _substituted(words: Sequence[str]) -> str:
    """`sed -i` and `perl -i`: the script."""
    rest = [word for word in words[1:] if word and not _IN_PLACE.fullmatch(word)]
    scripts = [word for word in rest if not word.startswith("-")]
    return f"`{cut(one_line(scripts[0]), SCRIPT_MOST)}`" if scripts else ""


def _restored(words: Sequence[str]) -> str:
    for side in ("--ours", "--theirs"):
        if side in words:
            return f"taken from git ({side})"
    return RESTORED


def _copied(words: Sequence[str]) -> str:
    given = [word for word in words[1:] if not word.startswith("-")]
    return f"copy of {cut(given[0], SCRIPT_MOST)}" if len(given) == 2 else "copied"


def _downloaded(words: Sequence[str]) -> str:
    address = next((word for word in words if "://" in word), "")
    return f"downloaded from {cut(address, SCRIPT_MOST)}" if address else "downloaded"


_TOLD = {
    "sed": _substituted,
    "gsed": _substituted,
    "perl": _substituted,
    "git": _restored,
    "cp": _copied,
    "curl": _downloaded,
    "wget": _downloaded,
}


# Facts about files that were read.

BY_AGENT = "by the sub-agent"
_LISTING = ("<path>", "<type>directory</type>")
"""How a client that lists a folder through its reading tool begins and goes on."""
HEAD = 500
"""Characters of an output in which it would."""


class ReadExtractor:
    """Gives every file that was read, with the lines where it was not read whole."""

    def __init__(self, setting: Setting, *, depth: int = 0) -> None:
        self._setting = setting
        self._depth = depth
        self._paths = Paths(setting.root)
        self._folder = WorkingFolder(stays=depth == 0)

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileRead]:
        texts = texts_before(turn)
        for place, outcome in enumerate(outcomes):
            yield from self._by_agent(turn, outcome)
            folder = self._folder.of(outcome.call) if shell_line(outcome.call) else ""
            self._folder.follow(outcome)
            for touch in outcome.touched:
                path = self._paths.name(touch.path, folder)
                if touch.action != "read" or not path or is_glob(path) or _is_listing(outcome):
                    continue
                yield FileRead(
                    turn=turn.index,
                    path=path,
                    lines=lines_read(outcome, touch.path),
                    why=why(texts[place]) if place < len(texts) else "",
                )

    def _by_agent(self, turn: Turn, outcome: Outcome) -> Iterator[FileRead]:
        if outcome.call.id not in self._setting.agents:
            return
        extractor = ReadExtractor(self._setting, depth=self._depth + 1)
        for own, outcomes in agent_turns(self._setting, outcome, self._depth):
            for fact in extractor.see(own, outcomes):
                yield replace(fact, turn=turn.index, why=BY_AGENT)


def _is_listing(outcome: Outcome) -> bool:
    output = outcome.result.output[:HEAD] if outcome.result else ""
    return output.startswith(_LISTING[0]) and _LISTING[1] in output


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
        self._committed = -1
        """The turn of the last commit."""

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
            if any(run.purpose == "commit" and run.success for run in outcome.runs):
                self._committed = turn.index
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
        if shell:
            done = done_by_shell(outcome, touch)
        else:
            done = Done(tuple(pieces_of(outcome.call, touch.path)))
        certain = outcome.result is not None and reported(outcome.result) is not None
        action = self._known.action(touch, path, done.pieces, certain=certain)
        change = change_of(path, done.pieces, created=action == "created")
        built = self._known.change(path, action, before, built=done.built, turn=turn.index)
        if not shell:
            self._outside.changed(path, done.pieces)
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
            scratch=built or self._paths.is_scratch(path),
            restores=restored,
            committed=self._committed if restored else -1,
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
