"""Documents in which one value after the other has a type nobody expects."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

ODD_VALUES: tuple[Any, ...] = (None, 7, -1.5, True, "", "odd", [], {}, [None, [], "x"], {"x": [1]})


def with_odd_values(document: Any) -> Iterator[bytes]:
    """The document once for every place and odd value."""
    for path in _paths(document):
        for odd in ODD_VALUES:
            changed = copy.deepcopy(document)
            if not path:
                changed = odd
            else:
                inner = changed
                for step in path[:-1]:
                    inner = inner[step]
                inner[path[-1]] = odd
            yield json.dumps(changed).encode()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _paths(item, (*path, number))
