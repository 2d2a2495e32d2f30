"""A session of a host, opened as its user has set and brought up to date with its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.errors import BadSettings, OtherSession, UserError
from kedge.integrations.hooks import places
from kedge.integrations.hooks.parents import is_ready
from kedge.keeping_up import UpToDate, brought_up_to_date, move_to, turn_at

if TYPE_CHECKING:
    from kedge.session import Session
    from kedge.settings import Settings

SAFE = {"KEDGE_KEEP_SECRETS": "false"}
"""What a setting that cannot be read is taken for, where its default would tell more."""


@contextmanager
def opened_session(name: str) -> Iterator[Session]:
    from kedge.redaction import Redactor, secrets_in
    from kedge.session import Session
    from kedge.settings import store_place, surroundings
    from kedge.store.opening import open_store
    from kedge.tokens import counter_named

    settings = own_settings()
    store = open_store(store_place(settings), owner=settings.owner, durability=settings.durability)
    try:
        yield Session(
            name,
            store,
            window=settings.window,
            counter=counter_named(settings.vocabulary),
            redactor=Redactor(secrets_in(surroundings(), settings.secrets)),
            keep_secrets=settings.keep_secrets,
        )
    finally:
        store.close()


def own_settings() -> Settings:
    """The user's own. Files of the folder that a host works in are not asked: a project that was
    merely looked at must not decide where the conversation goes."""
    from kedge.settings import Settings, load_settings, surroundings

    environment = surroundings()
    while True:
        try:
            return load_settings(environment=environment, files=False)
        except BadSettings as error:
            places.log(f"{error.where} cannot be read and is left out")
            wrong = [one for one in environment if one == error.where]
            if not wrong:
                return Settings()
            safe = SAFE.get(wrong[0])
            if safe is None or environment[wrong[0]] == safe:
                del environment[wrong[0]]
            else:
                environment[wrong[0]] = safe


def own_file(session: Session, told: str, remembered: str) -> Path | None:
    """The file to follow: what the host names, or what was followed before where the host names a
    file that is not this session's. None where there is none yet."""
    path = Path(told)
    if not told or not path.exists():
        return None
    if told == remembered:
        return path
    if _speaks_a_sub_agent(path):
        places.log(f"{session.name}: {path.name} is not followed: only a sub-agent speaks in it")
        return Path(remembered) if remembered and Path(remembered).exists() else None
    if turn_at(session, 0) is None:
        return path if is_ready(session, path) else None
    try:
        move_to(session, path)
    except OtherSession as error:
        places.log(f"{session.name}: {path.name} is not followed: {error.why}")
        return Path(remembered) if remembered and Path(remembered).exists() else None
    return path


def _speaks_a_sub_agent(path: Path) -> bool:
    """Whether a sub-agent speaks in a file and nobody else does."""
    from kedge.reading import stream

    try:
        reading = stream(path)
        for turn in reading:
            if not turn.agent:
                return False
    except UserError:
        return False  # what it is shows when it is followed
    speaking = {agent for _, agent in (*reading.log.lengths, *reading.log.pending)}
    has_main = any(not agent for _, agent in reading.log.pending)
    return bool(speaking - {""}) and not has_main


def followed(session: Session, path: Path, folder: str) -> UpToDate:
    """The session as its file is now, at the cost of what is new where that can be kept."""
    done = _followed(session, path, places.kept_bytes(folder, places.TAIL))
    if session.keeping.originals:
        places.keep(folder, places.TAIL, done.put_away)
    else:
        # What reading goes on from holds the last turns as they were said, secrets and all. Where
        # these may not be kept, neither may it: the file is read anew each time.
        places.forget(folder, places.TAIL)
    return done


def _followed(session: Session, path: Path, put_away: bytes) -> UpToDate:
    if not put_away:
        return brought_up_to_date(session, path)
    try:
        return brought_up_to_date(session, path, put_away)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 (what was put away may be wrong in any way)
        places.log(f"{session.name} is read anew: {type(error).__name__}")
        return brought_up_to_date(session, path)
