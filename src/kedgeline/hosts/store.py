"""A session of a host, opened as its user has set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from kedgeline.errors import BadSettings
from kedgeline.hosts import places
from kedgeline.redact import Redactor, secrets_in
from kedgeline.session.session import Session
from kedgeline.settings import Settings, load_settings, store_place, surroundings
from kedgeline.store.protocol import Store, open_store
from kedgeline.tokens import counter_named

SAFE = {"KEDGELINE_KEEP_SECRETS": "false"}
"""What a setting that cannot be read is taken for, where its default would tell more."""


@contextmanager
def opened_store() -> Iterator[tuple[Store, dict[str, Any]]]:
    """The user's store, and how a session keeps things in it."""
    settings = own_settings()
    place, owner = store_place(settings), settings.owner
    with closing(open_store(place, owner=owner, durability=settings.durability)) as store:
        yield (
            store,
            {
                "counter": counter_named(settings.vocabulary),
                "redactor": Redactor(secrets_in(surroundings(), settings.secrets)),
                "keep_secrets": settings.keep_secrets,
            },
        )


@contextmanager
def opened_session(name: str) -> Iterator[Session]:
    with opened_store() as (store, keeping):
        yield Session(name, store, window=own_settings().window, **keeping)


def own_settings() -> Settings:
    """The user's own. Files of the folder that a host works in are not asked: a project that was
    merely looked at must not decide where the conversation goes."""
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
