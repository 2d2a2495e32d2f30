"""What the caller gave is wrong: a file, a name, a setting, a package that is missing."""

from __future__ import annotations

from kedge.errors.roots import UserError

NAME_SHOWN = 80
"""Characters of a wrong name in a message: enough to find it, however long it is."""


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
        self.install = f"pip install 'kedge[{extra}]'"
        super().__init__(f"{what} needs a package that is not installed; run {self.install}")


class BadName(UserError):
    def __init__(self, kind: str, name: str, why: str) -> None:
        self.kind, self.name, self.why = kind, name, why
        shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
        super().__init__(
            f"the {kind} {shown} {why}; use up to 64 letters, digits, '.', '_' and '-', "
            f"a letter or digit first"
        )


class FileRefused(UserError):
    exit_code = 3

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path!r} is left alone: {why}")


class NotAState(UserError):
    exit_code = 3

    def __init__(self, name: str, *, found: str) -> None:
        self.name, self.found = name, found
        super().__init__(
            f"{name!r} is not a state.json: expected a JSON object, found {found}; "
            f"name the right file, or move this one away"
        )


class NotAClaim(UserError):
    exit_code = 3

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path!r} is left alone: {why}")


class NotAPacket(UserError):
    exit_code = 3

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name!r} is no delegation packet: {why}; correct it, or load without it")


class BadSettings(UserError):
    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")
