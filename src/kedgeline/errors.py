"""Everything kedgeline raises on purpose.

KedgelineError
├── UserError              something the caller gave is wrong; the message says what to do
│   ├── SourceUnreadable   no such file, a folder, no permission
│   ├── NotATranscript     readable, but no format knows it
│   ├── NotAMessage        a message, or something in it, that no reader understands
│   ├── SeveralSessions    one file holds many sessions and none was chosen
│   ├── FileRefused        a file that is not what it should be: a link, another's, malformed
│   ├── BadName            a product or task that must not become part of a path
│   ├── BadSettings        a setting has a value it cannot have
│   ├── UnknownName        a format, provider or vocabulary that is not registered
│   ├── BrokenPlugin       a registered format cannot be loaded, or is none
│   ├── MissingExtra       an optional package is not installed
│   ├── NoSuchSession      a session that the store does not have
│   ├── OtherSession       a file that does not continue the session, or an old copy
│   ├── NothingToUndo      no compaction of the session stands
│   ├── BankMalformed      a bank file that cannot be understood, with the line
│   └── BankChanged        a bank file that somebody changed meanwhile
├── StoreFailed            the store could not read or write: disk full, damaged, not reached
│   ├── StoreBusy          another process held it for too long
│   └── StoreDamaged       what is kept is not what was written
├── ModelFailed            a language model gave no reply
└── OutputUnwritable       the work is done and its result cannot be written: no space left"""

from __future__ import annotations

from typing import ClassVar

NAME_SHOWN = 80
"""Characters of a wrong name in a message: enough to find it, however long it is."""


class KedgelineError(Exception):
    """Root of the tree: `except KedgelineError` catches all of it and nothing else."""

    exit_code: ClassVar[int] = 1
    """What the command line exits with."""


class UserError(KedgelineError):
    exit_code = 2


class _Unusable(UserError):
    """Something that has a path or a name, and why it cannot be used."""

    exit_code = 3
    says: ClassVar[str] = "cannot use {path!r}: {why}"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(self.says.format(path=path, why=why))


class FileRefused(_Unusable): ...


class SourceUnreadable(_Unusable):
    says = "cannot read {path!r}: {why}; check the path, or pass '-' to read stdin"


class OtherSession(_Unusable):
    exit_code = 2
    says = (
        "the session {path!r} was left as it is: {why}; add the file under another name, or make "
        "the session what the file is with --force"
    )


class NotATranscript(UserError):
    exit_code = 3

    def __init__(
        self, name: str, *, found: str, expected: tuple[str, ...], skipped: tuple[str, ...] = ()
    ) -> None:
        self.name, self.found, self.expected, self.skipped = name, found, expected, skipped
        broken = f"; broken and not asked: {', '.join(skipped)}" if skipped else ""
        super().__init__(
            f"{name!r} is not a transcript kedgeline knows: found {found}; expected one of "
            f"{', '.join(expected)}{broken}; name the format with --format if detection is wrong"
        )


class NotAMessage(UserError):
    exit_code = 3

    def __init__(self, place: str, found: str, todo: str) -> None:
        """`place` is where in the given list it stands, such as `messages[3].content[1]`."""
        self.place, self.found, self.todo = place.lstrip("."), found, todo
        super().__init__(f"{self.place or 'messages'}: kedgeline cannot read {found}; {todo}")


class UnknownName(UserError):
    def __init__(self, kind: str, name: str, *, known: tuple[str, ...], more: int = 0) -> None:
        """`known` are those to name, and `more` how many others there are."""
        self.kind, self.name, self.known = kind, name, known
        others = f", or one of {more:,} others" if more else ""
        super().__init__(f"unknown {kind} {name!r}; choose one of {', '.join(known)}{others}")


class BrokenPlugin(UserError):
    def __init__(self, name: str, value: str, *, why: str) -> None:
        self.name, self.value, self.why = name, value, why
        super().__init__(
            f"{name!r} is registered as {value!r} and cannot be loaded: {why}; "
            f"repair or uninstall the package that brings it"
        )


class SeveralSessions(UserError):
    def __init__(self, name: str, *, count: int, chosen: int | None) -> None:
        self.name, self.count, self.chosen = name, count, chosen
        asked = "none was chosen" if chosen is None else f"there is no session {chosen}"
        super().__init__(
            f"{name!r} holds {count} sessions and {asked}; "
            f"choose one from 0 to {count - 1} with --session"
        )


class MissingExtra(UserError):
    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        self.install = f"pip install 'kedgeline[{extra}]'"
        super().__init__(f"{what} needs a package that is not installed; run {self.install}")


class BadName(UserError):
    def __init__(self, kind: str, name: str, why: str) -> None:
        self.kind, self.name, self.why = kind, name, why
        shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
        super().__init__(
            f"the {kind} {shown} {why}; use up to 64 letters, digits, '.', '_' and '-', "
            f"a letter or digit first"
        )


class BadSettings(UserError):
    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class ModelFailed(KedgelineError):
    def __init__(
        self,
        name: str,
        why: str,
        *,
        next_step: str,
        kind: str = "failed",
        wait: float | None = None,
    ) -> None:
        """`kind` is one of `kedgeline.model.Fallback`; `wait` how many seconds the provider asks
        for before the next try."""
        self.name, self.why, self.next_step = name, why, next_step
        self.kind, self.wait = kind, wait
        super().__init__(f"the model {name!r} gave no reply: {why}; {next_step}")

    @property
    def passes(self) -> bool:
        """Whether it may work a little later."""
        return self.kind in ("rate limited", "server error", "timed out", "disconnected")


class OutputUnwritable(KedgelineError):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot write the output: {why}; check where it goes")


# Kept sessions and the store they are in.


class NoSuchSession(UserError):
    exit_code = 3

    def __init__(self, name: str, *, known: tuple[str, ...] = ()) -> None:
        self.name, self.known = name, known
        near = f"there is {', '.join(known)}" if known else "the store has none like it"
        super().__init__(f"no session {name!r}; {near}; `kedgeline sessions` lists all")


class NothingToUndo(UserError):
    def __init__(self, session: str, *, shown_by: str = "kedgeline history") -> None:
        super().__init__(
            f"no compaction of {session!r} stands, so there is none to undo; "
            f"`{shown_by} {session}` shows what was done"
        )


class StoreFailed(KedgelineError):
    def __init__(self, place: str, why: str, *, next_step: str) -> None:
        self.place, self.why, self.next_step = place, why, next_step
        super().__init__(f"the store at {place!r} failed: {why}; {next_step}")


class StoreDamaged(StoreFailed):
    """What is kept is not what was written; what else is there can still be read."""

    def __init__(
        self, place: str, why: str, *, next_step: str = "`kedgeline fsck` says what is damaged"
    ) -> None:
        super().__init__(place, why, next_step=next_step)


class StoreBusy(StoreFailed):
    def __init__(self, place: str, seconds: float) -> None:
        why = f"another process has held it for {seconds:g} seconds"
        super().__init__(place, why, next_step="nothing was written; try again")


# The memory bank.


class BankMalformed(UserError):
    exit_code = 3

    def __init__(self, name: str, line: int, why: str) -> None:
        self.name, self.line, self.why = name, line, why
        super().__init__(f"{name}, line {line}: {why}; nothing was written, correct the file first")


class BankChanged(UserError):
    def __init__(self, name: str, why: str, *, meanwhile: bool = False) -> None:
        """`meanwhile`: somebody else wrote it between our reading and our writing."""
        self.name, self.why, self.meanwhile = name, why, meanwhile
        super().__init__(f"{name} was left as it is: {why}")
