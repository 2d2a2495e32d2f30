"""Names that may become part of a path, and of nothing but it."""

from __future__ import annotations

import re

from kedge.errors import BadName

DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(10)),
}
"""Names that Windows takes for devices, whatever stands behind their first point."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""All of it is ASCII, so that one name has one spelling."""


def checked(kind: str, name: str) -> str:
    """A product, task or session that may become part of a path."""
    if not _NAME.fullmatch(name):
        raise BadName(kind, name, "cannot be part of a file's name")
    if name.endswith("."):
        raise BadName(kind, name, "ends with a point, which Windows leaves out")
    if name.partition(".")[0].lower() in DEVICES:
        raise BadName(kind, name, "is the name of a device on Windows")
    return name
