"""Targets of make files and scripts of packages: what they are for, by their names."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from kedge.outcomes.values import Purpose

TARGETS: dict[Purpose, str] = {
    "test": "test tests testing check checks spec specs e2e unit verify pytest jest vitest coverage"
    " integration smoke regression",
    "build": "build builds compile all dist bundle assemble package prebuild tsc image images jar",
    "lint": "lint linting fmt format formatting style prettier eslint ruff mypy typecheck types"
    " typing vet clippy tidy spotless ktlint detekt checkstyle rubocop",
    "install": "install setup bootstrap deps dependencies requirements",
    "deploy": "deploy release publish ship",
    "migration": "migrate migration migrations",
    "other": "clean dev start serve server run watch stop logs help docs generate gen list init"
    " version bench benchmark",
}
"""What the target of a make file or a script of a package is for, by the words of its name: the
first that is known here decides, so `test:unit`, `unit-test` and `testDebugUnitTest` are tests."""

TARGETS_TOGETHER: tuple[tuple[str, str, Purpose], ...] = (
    ("check", "types", "lint"),
    ("check", "type", "lint"),
    ("check", "format", "lint"),
    ("check", "fmt", "lint"),
    ("check", "lint", "lint"),
    ("check", "style", "lint"),
    ("type", "check", "lint"),
    ("style", "check", "lint"),
    ("test", "deps", "install"),
    ("build", "deps", "install"),
)
"""Names whose first two words say something else than the first alone."""

WEIGHTIEST: tuple[Purpose, ...] = ("deploy", "migration", "test", "build", "install", "lint")
"""Which of several targets one command is named after."""


class Wrapper(NamedTuple):
    """A program that runs what a file of the project names."""

    words: frozenset[str] = frozenset()
    """Words before the name."""
    needed: bool = False
    """Without one of them no name follows."""
    several: bool = False
    """More than one name may follow."""
    alone: Purpose = "other"
    """What it is for without a name."""


WRAPPERS: dict[str, Wrapper] = {
    "make": Wrapper(several=True, alone="build"),
    "just": Wrapper(several=True),
    "task": Wrapper(several=True),
    "rake": Wrapper(several=True),
    "invoke": Wrapper(several=True),
    "inv": Wrapper(several=True),
    "gradle": Wrapper(several=True),
    "earthly": Wrapper(several=True),
    "poe": Wrapper(),
    "npm": Wrapper(frozenset({"run", "run-script"}), needed=True),
    "pnpm": Wrapper(frozenset({"run", "run-script"})),
    "yarn": Wrapper(frozenset({"run"})),
    "bun": Wrapper(frozenset({"run"}), needed=True),
    "deno": Wrapper(frozenset({"task"}), needed=True),
    "composer": Wrapper(frozenset({"run", "run-script"})),
    "mise": Wrapper(frozenset({"run", "r"})),
    "cargo": Wrapper(frozenset({"make", "xtask"}), needed=True),
    "turbo": Wrapper(frozenset({"run"}), several=True),
    "nx": Wrapper(frozenset({"run"})),
    "lerna": Wrapper(frozenset({"run"}), needed=True),
    "rush": Wrapper(),
}

_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_PURPOSES = {word: purpose for purpose, words in TARGETS.items() for word in words.split()}


def target_purpose(name: str) -> Purpose | None:
    """What a make target or a package's script is for, by its name."""
    parts = [part.casefold() for part in _NAME_PARTS.findall(name)]
    for first, second, purpose in TARGETS_TOGETHER:
        if parts[:2] == [first, second]:
            return purpose
    return next((_PURPOSES[part] for part in parts if part in _PURPOSES), None)


def wrapped(program: str, given: list[str]) -> Purpose | None:
    """The purpose of a target or script that a command names."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    names = [name for name in given if "=" not in name and not name.isdigit()]
    if names and names[0] in wrapper.words:
        names = names[1:]
    elif wrapper.needed:
        return None
    if not names:
        return wrapper.alone
    wanted = {target_purpose(name) for name in (names if wrapper.several else names[:1])}
    return weightiest(wanted)


def weightiest(purposes: Collection[Purpose | None]) -> Purpose | None:
    """What a command with several targets is named after."""
    return next((purpose for purpose in WEIGHTIEST if purpose in purposes), None)
