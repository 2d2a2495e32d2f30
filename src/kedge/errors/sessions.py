"""Kept sessions and the store they are in."""

from __future__ import annotations

from kedge.errors.roots import KedgeError, UserError


class NoSuchSession(UserError):
    exit_code = 3

    def __init__(self, name: str, *, known: tuple[str, ...] = ()) -> None:
        self.name, self.known = name, known
        near = f"there is {', '.join(known)}" if known else "the store has none like it"
        super().__init__(f"no session {name!r}; {near}; `kedge sessions` lists all")


class SessionExists(UserError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is a session {name!r} already; choose another name")


class NothingToUndo(UserError):
    def __init__(self, session: str, *, shown_by: str = "kedge history") -> None:
        self.session = session
        super().__init__(
            f"no compaction of {session!r} stands, so there is none to undo; "
            f"`{shown_by} {session}` shows what was done"
        )


class NoSuchTurn(UserError):
    def __init__(self, session: str, what: str, *, turns: int) -> None:
        self.session, self.what, self.turns = session, what, turns
        last = f"its last turn is t{turns - 1}" if turns else "it has no turns"
        super().__init__(f"the session {session!r} has no {what}; {last}")


class NothingToPin(UserError):
    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"there are no words to pin in {session!r}; give some, or a turn such as t12"
        )


class OtherSession(UserError):
    def __init__(self, session: str, why: str) -> None:
        self.session, self.why = session, why
        super().__init__(
            f"the session {session!r} was left as it is: {why}; add the file under another name, "
            f"or make the session what the file is with --force"
        )


class NotAnExport(UserError):
    exit_code = 3

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name!r} cannot be imported: {why}; nothing was changed")


class StoreTooNew(UserError):
    def __init__(self, place: str, *, found: int, known: int) -> None:
        self.place, self.found, self.known = place, found, known
        super().__init__(
            f"the store at {place!r} has schema {found}, and this kedge knows schemas up to "
            f"{known}; upgrade kedge: nothing was changed"
        )


class StoreFailed(KedgeError):
    def __init__(self, place: str, why: str, *, next_step: str) -> None:
        self.place, self.why, self.next_step = place, why, next_step
        super().__init__(f"the store at {place!r} failed: {why}; {next_step}")


class StoreBusy(StoreFailed):
    def __init__(self, place: str, seconds: float) -> None:
        super().__init__(
            place,
            f"another process has held it for {seconds:g} seconds",
            next_step="nothing was written; try again",
        )
