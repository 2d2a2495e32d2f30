"""Stores by where they are: a folder, or an address whose scheme names one. Shipped ones register
like a third party's, in the entry-point group `kedge.stores`."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike, fspath

from kedge.plugins import load
from kedge.store.protocol import Store
from kedge.store.values import Durability

GROUP = "kedge.stores"
FOLDER = "sqlite"
"""The store of a plain path."""
Open = Callable[..., Store]
"""Takes the place, and by name `owner` and `durability`."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{1,31}):(?!\\)")
"""Two letters at least: C: is a drive."""


def open_store(
    place: str | PathLike[str], *, owner: str = "", durability: Durability = "durable"
) -> Store:
    """The store at a folder, which is made where it is missing, or at an address such as
    `postgresql://host/name`. All it shows and takes is the owner's."""
    named = fspath(place)
    scheme = _SCHEME.match(named)
    name = {"postgres": "postgresql"}.get(scheme[1], scheme[1]) if scheme else FOLDER
    opening: Open = load(GROUP, "store", name, needs=())
    return opening(named, owner=owner, durability=durability)
