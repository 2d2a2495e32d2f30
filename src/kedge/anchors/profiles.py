"""How sure detectors are, by name. A profile overrides what a detector says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.errors import UnknownName

THRESHOLD = 0.9
"""BR-001: an anchor counts from this confidence on. Applied to every detector."""

PROFILES: dict[str, Mapping[str, float]] = {
    "standard": {},
    "literal": {"successful-search": 0.85, "command-milestone": 0.88},
}
"""`literal` has the constants of the seed: with the threshold of 0.9 those two stay silent."""


def profile_named(name: str) -> Mapping[str, float]:
    if name not in PROFILES:
        raise UnknownName("profile", name, known=tuple(PROFILES))
    return PROFILES[name]
