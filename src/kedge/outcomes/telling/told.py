"""What a line of an output tells of an error."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

LONGEST = 1_000
"""Characters of a line looked at; longer ones are data."""
TRACED = re.compile(
    r"node_modules|site-packages|dist-packages|/lib/python\d|/usr/lib/|<frozen|<string>|<stdin>"
    r"|node:internal|internal/modules|/libexec/|/go/pkg/mod/"
)
"""Places in libraries: an error comes through them, but was not made there."""


class Told(NamedTuple):
    line: str
    """As it stands in the output; of a test, its name and its message."""
    kind: Literal["test", "compiler", "raised", "other"]
    places: tuple[str, ...] = ()
    """`file:line`, as written."""
    name: str = ""
    """Of the test that failed."""
