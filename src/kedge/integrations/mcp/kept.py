"""What the server serves from: one store for all calls, and a session of it for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from os.path import exists
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

from kedge.errors import UserError
from kedge.integrations.mcp.standing import standing_summary
from kedge.integrations.mcp.watched import Check, Watched
from kedge.living.adding import Keeping
from kedge.living.journal import Journal
from kedge.model import Summary
from kedge.names import checked
from kedge.recall.originals import check_session
from kedge.redaction import Redactor, secrets_in
from kedge.session import Session
from kedge.settings import Settings, load_settings, store_place, surroundings
from kedge.store import SessionInfo, Store
from kedge.store.opening import open_store
from kedge.tokens import counter_named

LOOKED_AT = 200
"""Sessions whose folder is looked at, the newest first: one that is older is not under way."""
REMEMBERED = 4
"""Summaries that are kept ready, for as long as their sessions are as they were: several tools are
called one after the other."""

LATELY = 3_600 * 1_000_000
"""Microseconds between the last entries of two sessions that may both be under way: an hour, as
people read and think between two requests."""
NAMED = 5
"""Sessions that are named where one must be chosen."""

How = Literal["asked for", "--session", "of this folder", "of a folder above", "newest"]
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
        self._roots: dict[tuple[str, int], Path | None] = {}
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
        infos = self.store.sessions()
        if not infos:
            raise UserError("no session is kept yet; keep one with `kedge add NAME FILE`")
        return self._of_folder(infos) or Chosen(self._session(infos[0].name), "newest")

    def under_way(self, name: str = "") -> Chosen:
        """The same for what is done to the session under way, or said of it: one that only happens
        to be the newest is not meant, nor one of several."""
        found = self.chosen(name)
        named = found.session.name
        if found.how == "newest":
            raise UserError(
                f"no session of this folder is kept, so that none is under way; name one, "
                f"{named!r} for example"
            )
        if found.others:
            several = ", ".join(map(repr, (named, *found.others[: NAMED - 1])))
            raise UserError(
                f"{len(found.others) + 1} sessions of this folder were written to within an hour; "
                f"name the one that is meant: {several}"
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

    def check(self) -> None:
        """Whether the session is there that is meant where a call names none."""
        if self.default:
            check_session(self.store, self.default)

    def watched(self, name: str, check: Check) -> Session:
        """A session in which nothing is written once the check raises."""
        return self._session(name, Watched(self.store, check).as_store())

    def _session(self, name: str, store: Store | None = None) -> Session:
        check_session(self.store, checked("session", name))
        return Session(
            name,
            store or self.store,
            window=self.settings.window,
            counter=self.counter,
            redactor=self.redactor,
            keep_secrets=self.settings.keep_secrets,
        )

    def _of_folder(self, infos: Sequence[SessionInfo]) -> Chosen | None:
        """The newest session of the folder that the server runs in, or of the nearest above."""
        newest = infos[:LOOKED_AT]
        self._roots = roots = {(one.name, one.entries): self._root(one) for one in newest}
        for place, folder in enumerate(around(self.folder)):
            here = [one for one in newest if roots[one.name, one.entries] == folder]
            if here:
                others = (one.name for one in here[1:] if here[0].last - one.last < LATELY)
                how: How = "of a folder above" if place else "of this folder"
                return Chosen(self._session(here[0].name), how, tuple(others))
        return None

    def _root(self, info: SessionInfo) -> Path | None:
        """Read again only where something was written since."""
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
    try:
        kept = Kept(store, settings=settings, session=session, place=place)
        kept.check()
        return kept
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
