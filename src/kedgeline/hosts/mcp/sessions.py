"""What the server serves from: one store for all calls, and the session that a call is about.

Modules that sessions are made with come with the first call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from os.path import exists
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple

from kedgeline.errors import NoSuchSession, UserError
from kedgeline.files import checked
from kedgeline.redact import Redactor, secrets_in
from kedgeline.settings import Settings, load_settings, store_place, surroundings
from kedgeline.store import SessionInfo, Store
from kedgeline.store.protocol import open_store
from kedgeline.tokens import counter_named

if TYPE_CHECKING:
    from kedgeline.session.journal import Journal
    from kedgeline.session.session import Session

LOOKED_AT = 200
"""Sessions whose folder is looked at, the newest first."""
LATELY = 3_600 * 1_000_000
"""Microseconds between the last entries of two sessions that may both be under way: an hour, as
people read and think between two requests."""
NAMED = 5
"""Sessions that are named where one must be chosen."""
LEAST_PREFIX = 4
"""Characters that the beginning of a session's name must have to stand for all of it."""
CLIENT_SESSION = "CLAUDE_CODE_SESSION_ID"
"""Variable in which Claude Code tells its servers whose client they serve."""

How = Literal[
    "asked for", "--session", "of this client", "of this folder", "of a folder above", "newest"
]
"""Why a session was chosen."""


class Chosen(NamedTuple):
    session: Session
    how: How
    others: tuple[str, ...] = ()
    """Sessions of the same folder that were written to lately too."""


class Kept:
    """May be used by any number of threads: the store has a connection for each, and a session
    object is made for every call."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings | None = None,
        session: str = "",
        client_session: str = "",
        folder: Path | None = None,
        redactor: Redactor | None = None,
        place: str = "",
    ) -> None:
        """`session` is the one that is meant where a call names none, else that of the client;
        `folder` the one that the server runs in, `place` where the store is."""
        self.store, self.place, self.folder = store, place, folder or Path.cwd()
        self.settings = settings or load_settings(self.folder)
        self.default = self.named(session) if session else ""
        self.client_session = client_session
        self.redactor = redactor or Redactor(secrets_in(surroundings(), self.settings.secrets))
        self.counter = counter_named(self.settings.vocabulary)
        self.count, self.clean = self.counter.count, self.redactor.clean
        self._roots: dict[tuple[str, int], Path | None] = {}
        self._lock = Lock()

    def close(self) -> None:
        self.store.close()

    def named(self, given: str) -> str:
        """The session of a name, or of the beginning of one that no other shares."""
        if self.store.head(checked("session", given)).number:
            return given
        names = [info.name for info in self.store.sessions()]
        meant = [name for name in names if name.startswith(given)]
        if len(given) < LEAST_PREFIX or not meant:
            raise NoSuchSession(given, known=tuple(get_close_matches(given, names, n=NAMED)))
        if len(meant) > 1:
            several = ", ".join(map(repr, meant[:NAMED]))
            raise UserError(f"{len(meant)} sessions begin with {given!r}; name one: {several}")
        return meant[0]

    def chosen(self, name: str = "") -> Chosen:
        """The session that a call is about."""
        if name:
            return Chosen(self.session(self.named(name)), "asked for")
        if self.default:
            return Chosen(self.session(self.default), "--session")
        client = self.client_session
        with suppress(UserError):
            if client and self.store.head(checked("session", client)).number:
                return Chosen(self.session(client), "of this client")
        infos = self.store.sessions()
        if not infos:
            raise UserError("no session is kept yet; keep one with `kedgeline add NAME FILE`")
        return self._of_folder(infos) or Chosen(self.session(infos[0].name), "newest")

    def under_way(self, name: str = "") -> Chosen:
        """The same for what is done to the session under way: one that only happens to be the
        newest is not meant, nor one of several."""
        found = self.chosen(name)
        named = found.session.name
        if found.how == "newest":
            raise UserError(f"no session of this folder is kept; name one, {named!r} for example")
        if found.others:
            several = ", ".join(map(repr, (named, *found.others[: NAMED - 1])))
            raise UserError(
                f"{len(found.others) + 1} sessions of this folder were written to within an hour; "
                f"name one of them: {several}"
            )
        return found

    def journal(self, name: str) -> Journal:
        from kedgeline.session.journal import Journal

        return Journal(self.store, name)

    def session(self, name: str) -> Session:
        from kedgeline.session.session import Session

        return Session(
            name,
            self.store,
            window=self.settings.window,
            counter=self.counter,
            redactor=self.redactor,
            keep_secrets=self.settings.keep_secrets,
        )

    def _of_folder(self, infos: Sequence[SessionInfo]) -> Chosen | None:
        """The newest session of the folder that the server runs in, or of the nearest above."""
        newest = infos[:LOOKED_AT]
        with self._lock:  # read again only where something was written since
            self._roots = roots = {(one.name, one.entries): self._root(one) for one in newest}
        for place, folder in enumerate(around(self.folder)):
            here = [one for one in newest if roots[one.name, one.entries] == folder]
            if here:
                others = (one.name for one in here[1:] if here[0].last - one.last < LATELY)
                how: How = "of a folder above" if place else "of this folder"
                return Chosen(self.session(here[0].name), how, tuple(others))
        return None

    def _root(self, info: SessionInfo) -> Path | None:
        known = (info.name, info.entries)
        if known in self._roots:
            return self._roots[known]
        root = self.journal(info.name).about().session.latest("root")
        return _resolved(Path(root)) if root else None


def opened(place: str | None, *, session: str = "") -> Kept:
    """The store that is meant, or else the one that settings name."""
    settings = load_settings()
    place = place or store_place(settings)
    store = open_store(place, owner=settings.owner, durability=settings.durability)
    client = surroundings().get(CLIENT_SESSION, "")
    try:
        return Kept(store, settings=settings, session=session, client_session=client, place=place)
    except BaseException:
        store.close()
        raise


def around(folder: Path) -> Iterator[Path]:
    """A folder and those above it, as far as they can be of the same project: to where its
    repository begins, and never to the home folder or above, where everything is."""
    home = _resolved(Path.home())
    here = _resolved(folder)
    for place, parent in enumerate((here, *here.parents)):
        if place and home.is_relative_to(parent):
            return
        yield parent
        if exists(parent / ".git"):
            return


def _resolved(path: Path) -> Path:
    with suppress(OSError, ValueError, RuntimeError):
        return path.resolve()
    return path
