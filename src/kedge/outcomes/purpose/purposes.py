"""What a command is run for, by its words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kedge.outcomes.purpose.rules import ANY, NOTHING, RULES
from kedge.outcomes.purpose.targets import target_purpose, weightiest, wrapped
from kedge.outcomes.shell.prefixes import arguments, program_of, without_prefixes
from kedge.outcomes.values import Purpose

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

    def fits(self, given: list[str], options: frozenset[str]) -> bool:
        return (
            len(given) >= len(self.arguments)
            and self.options <= options
            and all(words.fit(word) for words, word in zip(self.arguments, given, strict=False))
        )


@lru_cache(maxsize=REMEMBERED)
def purpose_of(words: tuple[str, ...]) -> Purpose:
    """What a command is for; `other` where the words do not tell."""
    plain = without_prefixes(words).words
    if not plain:
        return "other"
    found = _purpose(plain)
    if found is None and (script := _interpreted(plain)):
        plain = without_prefixes(script).words
        found = _purpose(plain) if plain else None
    if found is None and words[0] in SCRIPT_RUNNERS and words[1:2] == ("run",):
        found = target_purpose(plain[0])
    return found or "other"


def _purpose(plain: tuple[str, ...]) -> Purpose | None:
    program = _VERSION.sub("", program_of(plain[0]))
    given = arguments((program, *plain[1:]))
    options = frozenset(word.partition("=")[0] for word in plain[1:] if word.startswith("-"))
    if _only_tells(program, given, options, plain):
        return "other"
    if program in SEVERAL_GOALS:
        return weightiest({_ruled(program, [goal], options) for goal in given})
    return _ruled(program, given, options) or wrapped(program, given)


def _ruled(program: str, given: list[str], options: frozenset[str]) -> Purpose | None:
    beginning = program.partition("-")[0] + "-"
    for rule in _BY_PROGRAM.get(program) or _BY_BEGINNING.get(beginning) or []:
        if rule.fits(given, options):
            return None if _names_nothing(rule, program, given) else rule.purpose
    return None


def _only_tells(
    program: str, given: list[str], options: frozenset[str], plain: tuple[str, ...]
) -> bool:
    """Whether a command tells of itself, or of what it would do."""
    if plain[1:] in (("-h",), ("-V",), ("-v",), ("help",)):
        return True
    if "--dry-run=none" in plain:
        options -= {"--dry-run"}
    names = (ANY, program, f"{program} {given[0]}") if given else (ANY, program)
    return any(options & NOTHING.get(name, frozenset()) for name in names)


def _names_nothing(rule: _Rule, program: str, given: list[str]) -> bool:
    """`git tag` without a name lists tags."""
    return rule.purpose == "tag" and program == "git" and len(given) < 2


def _interpreted(plain: tuple[str, ...]) -> tuple[str, ...]:
    """What an interpreter runs: `python -m pytest -q` is `pytest -q`, `php artisan test` is
    `artisan test`. Nothing for code given as a word."""
    program = program_of(plain[0])
    if program not in INTERPRETERS:
        return ()
    for place, word in enumerate(plain[1:], start=1):
        if word == "-m" and program == "python":
            return plain[place + 1 :]
        if word in ("-c", "-e", "-"):
            return ()
        if not word.startswith("-") and plain[place - 1] not in ("-X", "-W", "-r", "--require"):
            return (_SCRIPT_ENDINGS.sub("", program_of(word)), *plain[place + 1 :])
    return ()


def _indexed() -> tuple[dict[str, list[_Rule]], dict[str, list[_Rule]]]:
    """The table by program, longer rows first; then what programs' names begin with."""
    exact: dict[str, list[_Rule]] = {}
    beginning: dict[str, list[_Rule]] = {}
    rows = [(row.split(), purpose) for purpose, rows in RULES.items() for row in rows]
    for words, purpose in sorted(rows, key=lambda row: -len(row[0])):
        options = frozenset(word for word in words[1:] if word.startswith("-"))
        fixed = tuple(_alternatives(word) for word in words[1:] if word not in options)
        rule = _Rule(purpose, fixed, options)
        programs = _alternatives(words[0])
        for name in programs.exact:
            exact.setdefault(name, []).append(rule)
        for name in programs.beginnings:
            beginning.setdefault(name, []).append(rule)
    return exact, beginning


def _alternatives(text: str) -> _Words:
    words = text.split("|")
    return _Words(
        frozenset(word for word in words if not word.endswith("*")),
        tuple(word[:-1] for word in words if word.endswith("*")),
    )


_BY_PROGRAM, _BY_BEGINNING = _indexed()
