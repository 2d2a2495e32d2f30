"""Hand-made sessions, and the tools that serve them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from kedgeline.hosts.mcp.calls import answering
from kedgeline.hosts.mcp.sessions import Kept
from kedgeline.model import Change, SessionFacts, Transcript, Turn
from kedgeline.redact import Redactor
from kedgeline.session.session import Session
from kedgeline.settings import Settings
from kedgeline.store import Store
from kedgeline.store.sqlite import open_memory
from tests.turns import bash, edit, turn

HERE = Path("/home/ada/harbor")
"""The folder that the server of a test runs in; nothing is there."""
SECRET = "hunter2-lighthouse-4711"
"""A value that the redactor of tests knows."""
WINDOW = 3_000
SETTINGS = Settings(vocabulary="estimate", window=WINDOW)
LIMIT = 60.0
"""Seconds after which a conversation is broken."""

_fresh = count()


def harbor() -> list[Turn]:
    """A small session: a rule, a request, edits, a failing and a passing run."""
    failed = bash("pytest -q", "E   TideError: too low\n1 failed in 0.31s", exit_code=1)
    return [
        turn(0, user="Never touch the billing module. Make the pier tests pass.", says="I look."),
        turn(1, failed, says="The tide table is wrong."),
        turn(2, edit("src/tide_table.py"), says="I correct the tide table."),
        turn(3, bash("pytest -q", "12 passed in 0.29s"), says="All tests pass."),
        turn(4, user="Let's go with metres instead of feet.", says="Agreed: metres it is."),
    ]


def transcript(turns: list[Turn], root: Path = HERE) -> Transcript:
    facts = SessionFacts(changes=(Change(turn=0, name="root", value=str(root)),))
    return Transcript(format="claude-code", turns=tuple(turns), session=facts)


def memory() -> Store:
    return open_memory(f"memory:mcp-{next(_fresh)}", owner="")


def store_of(**sessions: list[Turn]) -> Store:
    """A store of sessions, the last of them written last."""
    store = memory()
    for name, turns in sessions.items():
        keep(store, name, turns)
    return store


def keep(store: Store, name: str, turns: list[Turn], root: Path = HERE) -> Session:
    session = Session(name, store, window=WINDOW)
    session.append(transcript(turns, root))
    return session


def kept_of(store: Store, **given: Any) -> Kept:
    given = {"settings": SETTINGS, "folder": HERE, **given}
    return Kept(store, redactor=Redactor([("HARBOR_KEY", SECRET)]), **given)


class Served:
    """A server, asked as its client asks."""

    def __init__(self, kept: Kept) -> None:
        self.kept, self._answer = kept, answering(kept)

    def called(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self._answer(tool, arguments)

    def given(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that must not fail."""
        result = self.called(tool, **arguments)
        assert not result["isError"], text_of(result)
        found: dict[str, Any] = result["structuredContent"]
        return found

    def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence of a call that must fail."""
        result = self.called(tool, **arguments)
        assert result["isError"]
        return text_of(result)


@contextmanager
def serving(store: Store | None = None, **given: Any) -> Iterator[Served]:
    kept = kept_of(store or store_of(harbor=harbor()), **given)
    yield Served(kept)
    kept.close()


def text_of(result: dict[str, Any]) -> str:
    (content,) = result["content"]
    return str(content["text"])
