"""What a rule is, all of them, and how what was found is judged. The rules stand in files beside
this one: those of gitleaks, tokens that they do not know or know too narrowly for texts of a
session, and secrets that their shape or nothing but their surroundings give away."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from math import log2
from pkgutil import get_data
from typing import Any, NamedTuple, cast

import msgspec

MEMORY = 32 << 20
"""Bytes for the states of one expression; google-re2 starts anew when they are full."""


def compiled(pattern: bytes, *, captures: bool = True) -> Any:
    """For google-re2, byte by byte: no text is wrongly encoded."""
    return _re2().compile(pattern, _options(captures=captures))


def literals(
    short: Iterable[bytes],
    texts: Iterable[bytes] = (),
    any_case: Iterable[bytes] = (),
    *,
    left: bytes = b"",
) -> Any:
    """Any of these texts; where several begin at one place, the longest. `left`: what must stand
    before the short ones, and is a part of what is found."""
    groups = (sorted(some, key=len, reverse=True) for some in (short, texts, any_case))
    one, two, three = (b"|".join(map(_re2().escape, some)) for some in groups)
    patterns = (one and left + b"(?:" + one + b")", two, three and b"(?i:" + three + b")")
    return compiled(b"|".join(filter(None, patterns)), captures=False)


def together(patterns: Iterable[bytes]) -> Any:
    """Says in one pass which of the patterns, by number, stand somewhere in a text."""
    several = _re2().Set.SearchSet(_options(captures=False))
    for pattern in patterns:
        several.Add(pattern)
    several.Compile()
    return several


def _options(*, captures: bool) -> Any:
    chosen = _re2().Options()
    chosen.encoding = _re2().Options.Encoding.LATIN1
    chosen.max_mem = MEMORY
    chosen.never_capture = not captures
    chosen.log_errors = False
    return chosen


def _re2() -> Any:
    import re2  # type: ignore[import-untyped]  # loaded with the first text, not with kedgeline

    return re2


class Rule(NamedTuple):
    kind: str
    """In the mark that takes the secret's place: letters, digits and blanks."""
    pattern: str
    """For google-re2, over bytes. The secret is the last group that took part, or the whole; a rule
    judged `assigned` has the name in its first group."""
    prefixes: tuple[str, ...] = ()
    """Literal beginnings: the pattern is tried where one stands."""
    any_case: bool = False
    """The prefix is the name of a service, in whatever letters and also inside a longer name."""
    hint: str = ""
    """Without prefixes: a short pattern that stands wherever the long one does. All hints are
    looked for at once."""
    judge: str = "sure"
    """One of JUDGES; or `assigned`: it is judged together with the name before it, or `tail`: the
    lines before it belong to it."""
    entropy: float = 0.0
    """Bits per character that the secret has at least."""
    least: int = 0
    """Characters of the whole, where the pattern cannot count them: one that begins with a counted
    run would be slow."""


def _table(name: str) -> bytes:
    return get_data("kedgeline.redact", name) or b""


_TABLES: dict[str, Any] = tomllib.loads(_table("shapes.toml").decode())
_PART = re.compile(r"\{([a-z][a-z_0-9]*)\}")


def _filled(pattern: str) -> str:
    """A pattern of the table, with what its names stand for."""
    parts = _TABLES["parts"] | _TABLES["values"]
    return _PART.sub(lambda part: _filled(parts[part[1]]), pattern)


GAP = _filled("{gap}")
"""What stands between the lines of a key: in a file, in a diff, in JSON, in code."""


def _shaped(*, pattern: str, hint: str, **fields: Any) -> Rule:
    return Rule(pattern=_filled(pattern), hint=_filled(hint), **fields)


def _token(
    kind: str, prefixes: list[str], least: int, body: str = "[A-Za-z0-9]", entropy: float = 0
) -> Rule:
    """One of our own. Formats are as the providers publish them; least lengths are below the real
    ones, so that cut tokens are found too."""
    start = "|".join(prefix.replace(".", r"\.").replace("$", r"\$") for prefix in prefixes)
    pattern = f"(?:{start}){body}{{{least},}}"
    return Rule(kind, pattern, prefixes=tuple(prefixes), entropy=entropy)


def _public(*, prefixes: list[str], service: str = "", value: str = "", **fields: Any) -> Rule:
    """One of gitleaks'. That of a service finds a value of its shape behind the service's name."""
    if service:
        pattern = f"(?i){service}{_filled('{connected}')}({value}){_filled('{end}')}"
        fields |= {"pattern": pattern, "judge": "random", "any_case": True}
    return Rule(prefixes=tuple(prefixes), **fields)


@cache
def all_rules() -> tuple[Rule, ...]:
    """What several find is named by the first."""

    def lines(name: str) -> list[Any]:
        return [msgspec.json.decode(line) for line in _table(name).splitlines()]

    _head, *public = lines("gitleaks.jsonl")
    return (
        *(_token(**fields) for fields in lines("tokens.jsonl")),
        *(_shaped(**fields) for fields in _TABLES["shapes"]),
        *(_public(**fields) for fields in public),
        *(_shaped(**fields) for fields in _TABLES["surroundings"]),
    )


# Whether what stands in a secret's place is one: chance and words are told apart here.

LEAST = 8
"""Characters of a secret that nothing but its surroundings give away."""
MOST = 4096
"""Characters of such a secret; what is longer is a document."""
MEASURED = 256
"""Characters that are looked at: chance shows within these."""
FEW = 5
"""Different characters, from which on a text is worth measuring."""
RANDOM_BITS = 2.8
"""Bits per character. Words of eight letters have fewer, and so has what repeats itself."""
RANDOM_SWITCHES, LETTERS_SWITCHES = 0.2, 0.35
"""Changes between small letters, capitals and digits per character: about 0.5 in a token made by
chance, below 0.2 in names of several words. The second is for texts without a digit."""
LAST_SWITCHES_WITH_DIGITS, LAST_SWITCHES = 0.25, 0.18
"""The same in the last part of a secret that is wrapped."""
CERTAIN = 16
"""Characters from which on what stands in a secret's own place is one, whatever words are in it."""
PIECE = 12
"""Characters of a piece between dashes and underscores that is longer than a word."""
SHORT_COOKIE = 6


@cache
def expression(pattern: bytes) -> Any:
    return compiled(pattern)


@cache
def _values(names: str) -> Any:
    """Any of several patterns for values, by their names."""
    patterns = (_filled(_TABLES["values"][name]) for name in names.split())
    return compiled("|".join(patterns).encode())


def has(text: bytes, names: str) -> bool:
    """Whether a short text matches one of the patterns for values that are named."""
    return _values(names).search(text) is not None


def entropy(text: bytes) -> float:
    """Bits per byte."""
    looked = text[:MEASURED]
    size = len(looked)
    if len(set(looked)) < FEW:  # what repeats itself is told quickly
        return 0.0
    return -sum(n / size * log2(n / size) for n in Counter(looked).values())


_CLASSES = (
    bytes(3 if chr(c).isdigit() else 1 if chr(c).islower() else 2 for c in range(128))
    + b"\x01" * 128
)
_SIGNS = bytes(c for c in range(128) if not chr(c).isalnum())


def _switches(kinds: bytes) -> float:
    return sum(map(int.__ne__, kinds, kinds[1:])) / len(kinds)


def random_looking(text: bytes) -> bool:
    """Made by chance rather than out of words."""
    kinds = text[:MEASURED].translate(_CLASSES, _SIGNS)
    if len(kinds) < LEAST or not kinds.strip(b"\x03"):
        return False
    least = RANDOM_SWITCHES if 3 in kinds else LETTERS_SWITCHES
    return _switches(kinds) >= least and entropy(text) >= RANDOM_BITS


def token_like(text: bytes) -> bool:
    """Made by chance, and neither an example nor code."""
    return random_looking(text) and not has(text, "placeholder reference hashed")


def further(text: bytes) -> bool:
    """Whether what stands in the next line goes on with a secret: its last part may be too short to
    look like chance, but words have no digits before letters and few capitals inside."""
    kinds = text.translate(_CLASSES, _SIGNS)
    if len(kinds) < LEAST:
        return False
    if b"\x03\x01" in kinds or b"\x03\x02" in kinds or not kinds.strip(b"\x03"):
        return True
    return _switches(kinds) >= (LAST_SWITCHES_WITH_DIGITS if 3 in kinds else LAST_SWITCHES)


def password_like(text: bytes) -> bool:
    """What a person might have chosen: more than one word, and not the name of something."""
    if len(text) > MOST or has(text, "placeholder reference hashed numbers dotted path"):
        return False
    kinds = set(text.translate(_CLASSES, _SIGNS))
    signs = set(text) & set(_SIGNS) - set(b"-_./: ")
    chosen = len(kinds) + bool(signs) > 1 and bool(3 in kinds or signs)
    return chosen or random_looking(text)


def session_cookie(pair: bytes) -> bool:
    """Whether a name and a value of a cookie let somebody in."""
    name, _, value = pair.strip().partition(b"=")
    stands_for_none = not has(value, "placeholder reference hashed")
    if has(name, "session") and len(value) >= SHORT_COOKIE and stands_for_none:
        return has(value, "mixed") or random_looking(value)
    return random_looking(value)


_NOT_CERTAIN = "stands_for reference hashed numbers dotted path"


def certain(text: bytes) -> bool:
    """Long, in one piece and with digits among its letters: in a place that is for secrets alone,
    it need not look like chance."""
    one_piece = re.fullmatch(rb"[A-Za-z0-9+/_~=-]+", text)
    version = re.search(rb"(?i)v[0-9]", text)
    if not CERTAIN <= len(text) <= MOST or not one_piece or version or has(text, _NOT_CERTAIN):
        return False
    pieces = text.replace(b"-", b"_").split(b"_")
    return any(len(piece) >= PIECE and has(piece, "mixed") for piece in pieces)


JUDGES: dict[str, Callable[[bytes], bool]] = {
    "sure": lambda value: True,
    "random": random_looking,
    "token": token_like,
    "password": lambda value: password_like(value) or certain(value),
    "bearer": lambda value: random_looking(value) or certain(value),
    "pair": lambda value: password_like(value.partition(b":")[2]),
    "cookies": lambda value: any(map(session_cookie, value.split(b";"))),
}


def _words(name: bytes) -> bytes:
    """A name in small letters, its words apart."""
    return cast(bytes, expression(rb"([a-z0-9])([A-Z])").sub(rb"\1_\2", name).lower())


@lru_cache(maxsize=4096)
def secret_name(name: bytes) -> str:
    """What a name says about the value behind it: password, token, key, secret; or nothing."""
    low = _words(name)
    if has(low, "not_secret_name"):
        return ""
    if has(low, "password_name"):
        return "password"
    if low.endswith(b"pass") or (b"pass" in low and b"key" not in low):  # bypass, compass
        return ""
    if b"key" in low and b"secret" not in low:
        in_environment = re.fullmatch(rb"[A-Z0-9_]*_KEY", name)
        return "key" if has(low, "key_name") or in_environment else ""
    return "token" if b"token" in low or low.endswith(b"auth") else "secret"


def assigned(name: bytes, value: bytes, *, quoted: bool, after: bytes) -> str:
    """What a value behind a name is, or nothing where it is no secret. `after` is what follows."""
    kind = secret_name(name)
    if not kind or not LEAST <= len(value) <= MOST or b" " in value:
        return ""
    # `pass` is what test runners write before a name; a bracket behind it calls something.
    if not quoted and (name.lower() == b"pass" or after in (b"(", b"[", b"{")):
        return ""
    if _in_its_own_place(name, value, quoted=quoted):
        return kind
    if kind == "password":
        apart = quoted or has(value, "chosen") or random_looking(value)
        return kind if apart and password_like(value) else ""
    none = (
        "placeholder reference hashed" if quoted else "placeholder reference hashed dotted letters"
    )
    if not random_looking(value) or has(value, none):
        return ""
    path = b"/" in value and has(value, "path")
    return "" if path and not random_looking(value.rpartition(b"/")[2]) else kind


def _in_its_own_place(name: bytes, value: bytes, *, quoted: bool) -> bool:
    """Whether a name is for a secret alone, and what stands behind it must be one. Without
    quotation marks and behind an ordinary name, it could be the name of a type."""
    low = _words(name)
    shouted = re.fullmatch(rb"[A-Z0-9_]+", name)
    twice = re.search(rb"[0-9][A-Za-z]+[0-9]", value)
    if not has(low, "own_place") or not (quoted or shouted or twice):
        return False
    if has(low, "password_name") and len(value) >= CERTAIN and has(value, "ends_in_digits"):
        return not has(value, _NOT_CERTAIN) and not re.search(rb"(?i)v[0-9]", value)
    return certain(value)
