"""What the server serves from: one store for all calls, and a session of it for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

from kedge.errors import UserError
from kedge.integrations.mcp.standing import standing_summary
from kedge.living.adding import Keeping
from kedge.living.journal import Journal
from kedge.model import Summary
from kedge.names import checked
from kedge.recall.originals import check_session
from kedge.redaction import Redactor, secrets_in
from kedge.session import Session
from kedge.settings import Settings, load_settings, store_place, surroundings
from kedge.store import Store
from kedge.store.opening import open_store
from kedge.tokens import counter_named

LOOKED_AT = 200
"""Sessions whose folder is looked at, the newest first: one that is older is not under way."""
REMEMBERED = 4
"""Summaries that are kept ready, for as long as their sessions are as they were: several tools are
called one after the other."""

How = Literal["asked for", "--session", "of this folder", "newest"]
"""Why a session was chosen."""


class Chosen(NamedTuple):
    session: Session
    how: How


class Kept:
    """May be used by any number of threads: the store has a connection for each, and a session
    object is made for every call."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings | None = None,
        session: str = "",
        folder: Path | None = None,
        redactor: Redactor | None = None,
        place: str = "",
    ) -> None:
        """`session` is the one that is meant where a call names none, `folder` the one that the
        server runs in, `place` where the store is. Whoever opened the store closes it."""
        self.store, self.place, self.folder = store, place, folder or Path.cwd()
        self.settings = settings or load_settings(self.folder)
        self.default = checked("session", session) if session else ""
        self.redactor = redactor or Redactor(secrets_in(surroundings(), self.settings.secrets))
        self.counter = counter_named(self.settings.vocabulary)
        self._summaries: dict[tuple[str, str], Summary] = {}
        self._lock = Lock()

    @property
    def count(self) -> Callable[[str], int]:
        return self.counter.count

    def chosen(self, name: str = "") -> Chosen:
        """The session that a call is about."""
        if name:
            return Chosen(self._session(name), "asked for")
        if self.default:
            return Chosen(self._session(self.default), "--session")
        names = [info.name for info in self.store.sessions()]
        if not names:
            raise UserError("no session is kept yet; keep one with `kedge add NAME FILE`")
        here = self._of_folder(names[:LOOKED_AT])
        if here:
            return Chosen(self._session(here), "of this folder")
        return Chosen(self._session(names[0]), "newest")

    def to_change(self, name: str = "") -> Chosen:
        """The same for a call that changes the session: one that only happens to be the newest is
        not meant."""
        found = self.chosen(name)
        if found.how == "newest":
            raise UserError(
                f"no session of this folder is kept, so that none is changed; name one, "
                f"{found.session.name!r} for example"
            )
        return found

    def summary(self, name: str) -> Summary:
        """All that is known of a session as it stands."""
        journal = self.journal(name)
        key = (name, journal.head().chain)
        with self._lock:
            known = self._summaries.get(key)
        if known is None:
            keeping = Keeping(self.counter, self.redactor, self.settings.keep_secrets)
            known = standing_summary(journal, keeping.cleaned, window=self.settings.window)
            with self._lock:
                self._summaries[key] = known
                while len(self._summaries) > REMEMBERED:
                    del self._summaries[next(iter(self._summaries))]
        return known

    def journal(self, name: str) -> Journal:
        return Journal(self.store, name)

    def clean(self, text: str) -> str:
        return self.redactor.clean(text)

    def _session(self, name: str) -> Session:
        check_session(self.store, checked("session", name))
        return Session(
            name,
            self.store,
            window=self.settings.window,
            counter=self.counter,
            redactor=self.redactor,
            keep_secrets=self.settings.keep_secrets,
        )

    def _of_folder(self, names: list[str]) -> str:
        """The first session whose root is the folder that the server runs in."""
        here = _resolved(str(self.folder))
        for name in names:
            root = self.journal(name).about().session.latest("root")
            if root and _resolved(root) == here:
                return name
        return ""


def opened(place: str | None, *, session: str = "") -> Kept:
    """The store that is meant, or else the one that settings name."""
    settings = load_settings()
    place = place or store_place(settings)
    store = open_store(place, owner=settings.owner, durability=settings.durability)
    try:
        return Kept(store, settings=settings, session=session, place=place)
    except BaseException:
        store.close()
        raise


def _resolved(path: str) -> str:
    with suppress(OSError, ValueError, RuntimeError):
        return str(Path(path).resolve())
    return path
