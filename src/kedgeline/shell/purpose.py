"""What a command is run for, by its words."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from kedgeline.shell.evidence import Purpose
from kedgeline.shell.prefixes import TABLES, usual_program, without_prefixes, words_given

WEIGHTIEST: tuple[Purpose, ...] = ("deploy", "migration", "test", "build", "install", "lint")
"""Which of several targets one command is named after."""
REMEMBERED = 2_048
"""Commands whose purpose is kept; the same ones are run again and again."""
INTERPRETERS = {"python", "node", "php", "ruby", "perl"}
"""Programs whose first argument is the program that counts."""
SEVERAL_GOALS = {"mvn", "sbt", "lein"}
"""Programs that take goals one after the other: `mvn clean verify`."""
SCRIPT_RUNNERS = {"hatch", "pdm", "rye"}
"""What stands behind their `run` may be a script of the project."""
_SCRIPT_ENDINGS = re.compile(r"\.(?:[cm]?js|phar|rb)$")
_VERSION = re.compile(r"(?<=.)@[\w.^~-]+$")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


class Wrapper(NamedTuple):
    """A program that runs what a file of the project names."""

    words: tuple[str, ...] = ()
    """Words before the name."""
    needed: bool = False
    """Without one of them no name follows."""
    several: bool = False
    """More than one name may follow."""
    alone: Purpose = "other"
    """What it is for without a name."""


_SEVERAL = ("just", "task", "rake", "invoke", "inv", "gradle", "earthly")
_SCRIPTS = ("run", "run-script")
WRAPPERS: dict[str, Wrapper] = {
    "make": Wrapper(several=True, alone="build"),
    **dict.fromkeys(_SEVERAL, Wrapper(several=True)),
    **dict.fromkeys(("poe", "rush"), Wrapper()),
    **dict.fromkeys(("pnpm", "yarn", "composer", "nx"), Wrapper(_SCRIPTS)),
    **dict.fromkeys(("npm", "bun", "lerna"), Wrapper(_SCRIPTS, needed=True)),
    "deno": Wrapper(("task",), needed=True),
    "mise": Wrapper(("run", "r")),
    "cargo": Wrapper(("make", "xtask"), needed=True),
    "turbo": Wrapper(("run",), several=True),
}

TELLS = {name: frozenset(options.split()) for name, options in TABLES["tells"].items()}
_TARGETS: dict[str, Purpose] = {
    word: purpose for purpose, words in TABLES["targets"].items() for word in words.split()
}
_TOGETHER: dict[str, Purpose] = {
    two: purpose for purpose, pairs in TABLES["targets_together"].items() for two in pairs
}


class _Words(NamedTuple):
    """Alternatives for one word."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]

    def fit(self, word: str) -> bool:
        return word in self.exact or (bool(self.beginnings) and word.startswith(self.beginnings))


class _Rule(NamedTuple):
    purpose: Purpose
    arguments: tuple[_Words, ...]
    options: frozenset[str]


def _alternatives(text: str) -> _Words:
    words = text.split("|")
    return _Words(
        frozenset(word for word in words if not word.endswith("*")),
        tuple(word[:-1] for word in words if word.endswith("*")),
    )


def _indexed() -> tuple[dict[str, list[_Rule]], dict[str, list[_Rule]]]:
    """The table by program, longer rows first; then what programs' names begin with."""
    exact: dict[str, list[_Rule]] = {}
    beginning: dict[str, list[_Rule]] = {}
    rows = [(row.split(), purpose) for purpose, rows in TABLES["purposes"].items() for row in rows]
    for words, purpose in sorted(rows, key=lambda row: -len(row[0])):
        options = frozenset(word for word in words[1:] if word.startswith("-"))
        fixed = tuple(_alternatives(word) for word in words[1:] if word not in options)
        programs = _alternatives(words[0])
        for known, names in ((exact, programs.exact), (beginning, programs.beginnings)):
            for name in names:
                known.setdefault(name, []).append(_Rule(purpose, fixed, options))
    return exact, beginning


_BY_PROGRAM, _BY_BEGINNING = _indexed()
PROGRAMS = frozenset({*_BY_PROGRAM, *WRAPPERS})
"""Programs that are known to be run for something."""


@lru_cache(maxsize=REMEMBERED)
def purpose_of(words: tuple[str, ...]) -> Purpose:
    """What a command is for; `other` where the words do not tell."""
    plain = without_prefixes(words).words
    found = _purpose(plain)
    if found is None and (script := _interpreted(plain)):
        plain = without_prefixes(script).words
        found = _purpose(plain)
    if found is None and plain and words[0] in SCRIPT_RUNNERS and words[1:2] == ("run",):
        found = target_purpose(plain[0])
    return found or "other"


def target_purpose(name: str) -> Purpose | None:
    """What a make target or a package's script is for, by its name."""
    parts = [part.casefold() for part in _NAME_PARTS.findall(name)]
    if together := _TOGETHER.get(" ".join(parts[:2])):
        return together
    return next((_TARGETS[part] for part in parts if part in _TARGETS), None)


def _purpose(plain: tuple[str, ...]) -> Purpose | None:
    if not plain:
        return None
    program = _VERSION.sub("", usual_program(plain[0]))
    given = words_given((program, *plain[1:]))
    options = frozenset(word.partition("=")[0] for word in plain[1:] if word.startswith("-"))
    if _only_tells(program, given, options, plain):
        return "other"
    if program in SEVERAL_GOALS:
        return _weightiest({_ruled(program, [goal], options) for goal in given})
    return _ruled(program, given, options) or _wrapped(program, given)


def _ruled(program: str, given: list[str], options: frozenset[str]) -> Purpose | None:
    beginning = program.partition("-")[0] + "-"
    for rule in _BY_PROGRAM.get(program) or _BY_BEGINNING.get(beginning) or []:
        enough = len(given) >= len(rule.arguments) and rule.options <= options
        if enough and all(map(_Words.fit, rule.arguments, given)):
            lists_tags = rule.purpose == "tag" and program == "git" and len(given) < 2
            return None if lists_tags else rule.purpose
    return None


def _wrapped(program: str, given: list[str]) -> Purpose | None:
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
    return _weightiest({target_purpose(name) for name in names[: None if wrapper.several else 1]})


def _weightiest(purposes: Collection[Purpose | None]) -> Purpose | None:
    return next((purpose for purpose in WEIGHTIEST if purpose in purposes), None)


def _only_tells(
    program: str, given: list[str], options: frozenset[str], plain: tuple[str, ...]
) -> bool:
    """Whether a command tells of itself, or of what it would do."""
    if plain[1:] in (("-h",), ("-V",), ("-v",), ("help",)):
        return True
    if "--dry-run=none" in plain:
        options -= {"--dry-run"}
    names = ("*", program, " ".join((program, *given[:1])))
    return any(options & TELLS.get(name, frozenset()) for name in names)


def _interpreted(plain: tuple[str, ...]) -> tuple[str, ...]:
    """What an interpreter runs: `python -m pytest -q` is `pytest -q`, `php artisan test` is
    `artisan test`. Nothing for code given as a word."""
    program = usual_program(plain[0]) if plain else ""
    if program not in INTERPRETERS:
        return ()
    for place, word in enumerate(plain[1:], start=1):
        if word == "-m" and program == "python":
            return plain[place + 1 :]
        if word in ("-c", "-e", "-"):
            return ()
        if not word.startswith("-") and plain[place - 1] not in ("-X", "-W", "-r", "--require"):
            return (_SCRIPT_ENDINGS.sub("", usual_program(word)), *plain[place + 1 :])
    return ()
