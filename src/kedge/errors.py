"""Everything kedge raises on purpose.

KedgeError
├── UserError              something the caller gave is wrong; the message says what to do
│   ├── SourceUnreadable   no such file, a folder, no permission
│   ├── NotATranscript     readable, but no format knows it
│   ├── UnknownName        a format, provider or vocabulary that is not registered
│   ├── BrokenPlugin       a registered format cannot be loaded, or is none
│   ├── SeveralSessions    one file holds many sessions and none was chosen
│   └── BadSettings        a setting has a value it cannot have
└── OutputUnwritable       the work is done and its result cannot be written: no space left
"""

from __future__ import annotations


class KedgeError(Exception):
    """Root of the tree: `except KedgeError` catches all of it and nothing else."""

    exit_code = 1
    """What the command line exits with."""


class UserError(KedgeError):
    exit_code = 2


class SourceUnreadable(UserError):
    exit_code = 3

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"cannot read {name!r}: {why}; check the path, or pass '-' to read stdin")


class NotATranscript(UserError):
    exit_code = 3

    def __init__(
        self, name: str, *, found: str, expected: tuple[str, ...], skipped: tuple[str, ...] = ()
    ) -> None:
        self.name, self.found, self.expected, self.skipped = name, found, expected, skipped
        broken = f"; broken and not asked: {', '.join(skipped)}" if skipped else ""
        super().__init__(
            f"{name!r} is not a transcript kedge knows: found {found}; expected one of "
            f"{', '.join(expected)}{broken}; name the format with --format if detection is wrong"
        )


class UnknownName(UserError):
    def __init__(self, kind: str, name: str, *, known: tuple[str, ...]) -> None:
        self.kind, self.name, self.known = kind, name, known
        super().__init__(f"unknown {kind} {name!r}; choose one of {', '.join(known)}")


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


class BadSettings(UserError):
    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class OutputUnwritable(KedgeError):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot write the output: {why}; check where it goes")
