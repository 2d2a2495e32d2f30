"""What the server serves from: one store for all calls, and a session of it for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from os.path import exists
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal, NamedTuple, cast

from kedgeline.errors import NothingToPin, UserError
from kedgeline.facts import facts_of
from kedgeline.files import checked
from kedgeline.model import Summary
from kedgeline.pipeline.view import earlier_summary, told
from kedgeline.redaction import Redactor, secrets_in
from kedgeline.session.archive import check_session
from kedgeline.session.deciding import Clean, Region, for_compaction, pin_of
from kedgeline.session.journal import Journal, Keeping
from kedgeline.session.session import Session
from kedgeline.settings import Settings, load_settings, store_place, surroundings
from kedgeline.store import SessionInfo, Store, Writing
from kedgeline.store.protocol import open_store
from kedgeline.summary import merged
from kedgeline.text.prose import LOOKED_AT as LONGEST_PARAGRAPH
from kedgeline.text.prose import plain, sentences, visible
from kedgeline.tokens import counter_named

# The summary of a living session as it stands: what was folded, and what came since.


def standing_summary(journal: Journal, clean: Clean, *, window: int) -> Summary:
    """What the compaction that stands knows, with the facts of all turns since. Nothing is written,
    and no more is loaded than for a compaction into a window of so many tokens."""
    standing = journal.recorded()
    done = standing.record.compaction if standing else None
    region = for_compaction(journal, done, window=window, clean=clean)
    first = region.previous.plan.cut if region.previous else 0
    since = (fact for fact in facts_of(region.transcript) if fact.turn >= first)
    waiting = region.transcript.pending
    last = waiting.index if waiting is not None else journal.count() - 1
    return merged(_earlier(region), since, through=last)


def _earlier(region: Region) -> Summary:
    if region.previous is None:
        return earlier_summary(region.transcript)
    return region.previous.state or told(region.previous.summary)


# A store in which nothing is written any more once nobody waits for it.

Check = Callable[[], None]
"""Raises once nobody waits."""


class Abandoned(BaseException):
    """Nobody waits for the compaction: it ends, and nothing is written. It is no failure of the
    model, which would leave a compaction without its words."""


class Waited:
    """Whether somebody still waits for what a thread does: threads cannot be stopped."""

    def __init__(self) -> None:
        self._over = Event()

    def end(self) -> None:
        self._over.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def check(self) -> None:
        if self._over.is_set():
            raise Abandoned


class Watched:
    """Another store, but for what is written in it."""

    def __init__(self, store: Store, check: Check) -> None:
        self._store, self._check = store, check

    def as_store(self) -> Store:
        return cast(Store, self)

    @contextmanager
    def writing(self, session: str) -> Iterator[Writing]:
        """What was added in a block is only there if somebody still waits at its end."""
        with self._store.writing(session) as writing:
            yield writing
            self._check()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


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
            raise UserError("no session is kept yet; keep one with `kedgeline add NAME FILE`")
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


# What an agent may pin: only what the user wrote, and nothing that means less than was written.

CLOSING = ".。"
"""Ends a sentence; whoever quotes one may leave it out. Not so a mark that makes it a question."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def pinnable(journal: Journal, session: str, what: str) -> str:
    """The mark of a turn in which the user spoke, or whole sentences of a message of the user's:
    `push to main` out of `Never push to main` would say the contrary. All else is refused. What is
    pinned is said to be the user's from then on, and a page may ask an agent to pin anything."""
    pin = pin_of(journal, session, what)
    if pin.turn >= 0:
        place = journal.place(pin.turn)
        if place is None or not journal.turn(place).user_words():
            raise UserError(f"the user said nothing in t{pin.turn}; {_themself(session)}")
        return what
    words = visible(what)
    if not (wanted := plain(words)):
        raise NothingToPin(session)
    if not any(says(message, wanted) for message in _messages(journal)):
        raise UserError(
            "these are no whole sentences of a message of the user's in this session; give them "
            f"as they stand there, or the mark of the turn; {_themself(session)}"
        )
    return words


def says(message: str, wanted: str) -> bool:
    """Whether words, which are plain already, are whole sentences of a message, one behind the
    other."""
    wanted = wanted.rstrip(CLOSING)
    pieces = list(_pieces(message))
    text = " ".join(pieces)
    if not wanted or wanted not in text:
        return False
    starts = list(accumulate((len(piece) + 1 for piece in pieces), initial=0))
    ends = {
        start + len(piece.rstrip(CLOSING)) for start, piece in zip(starts, pieces, strict=False)
    }
    return any(
        start + len(wanted) in ends and text.startswith(wanted, start)
        for start, before in zip(starts, ("", *pieces), strict=True)
        if not before.endswith(":")  # what follows is understood only together with it
    )


def _themself(session: str) -> str:
    return f"other words are pinned by the user: `kedgeline pin {session} WORDS`"


def _messages(journal: Journal) -> Iterator[str]:
    """What the user wrote, the newest first: that is what is pinned most of the time."""
    waiting = journal.pending()
    if waiting is not None:
        yield from waiting.user_words()
    for place in reversed(journal.places()):
        yield from journal.turn(place).user_words()


def _pieces(message: str) -> Iterator[str]:
    """Sentences, each in plain form. Items of a list belong to what stands before them, and a
    paragraph too long to be looked at, a heading or a piece of code stays whole."""
    for paragraph in _BLANK_LINE.split(message):
        line = plain(paragraph)
        found = list(sentences(line)) if len(line) <= LONGEST_PARAGRAPH else []
        yield from found if " ".join(found) == line else [line] if line else []
