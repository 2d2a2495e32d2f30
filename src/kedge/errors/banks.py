"""The memory bank."""

from __future__ import annotations

from kedge.errors.roots import UserError


class NoSuchBank(UserError):
    exit_code = 3

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path!r} is no memory bank: {why}; `kedge bank init {path}` makes one, and the "
            f"setting `bank` says where yours is"
        )


class BankMalformed(UserError):
    exit_code = 3

    def __init__(self, name: str, line: int, why: str) -> None:
        self.name, self.line, self.why = name, line, why
        super().__init__(f"{name}, line {line}: {why}; nothing was written, correct the file first")


class NotTheOwner(UserError):
    def __init__(self, agent: str, owner: str) -> None:
        self.agent, self.owner = agent, owner
        who = repr(agent) if agent else "an agent without a name"
        super().__init__(
            f"only {owner!r} may compact this bank, and {who} asked; nothing was changed; ask "
            f"{owner!r}, or change the setting bank_owner"
        )


class BankLocked(UserError):
    def __init__(self, holder: str, *, until: str, place: str) -> None:
        self.holder, self.until, self.place = holder, until, place
        super().__init__(
            f"{holder!r} holds the lock of this bank until {until}; nothing was changed; wait, or "
            f"remove {place} where you know that this agent is gone"
        )


class BankChanged(UserError):
    def __init__(self, name: str, why: str, *, done: tuple[str, ...] = ()) -> None:
        """`done`: files that were replaced before it was seen; none where nothing was changed."""
        self.name, self.why, self.done = name, why, done
        super().__init__(f"{name} was left as it is: {why}")
