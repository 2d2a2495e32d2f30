"""Whether what stands in a secret's place is one: chance and words are told apart here."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from math import log2
from typing import Any, cast

from kedgeline.redaction.rules import ABROAD, compiled

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
RANDOM_SWITCHES = 0.2
"""Changes between small letters, capitals and digits per character: about 0.5 in a token made by
chance, below 0.2 in names of several words."""
LETTERS_SWITCHES = 0.35
"""The same where there is no digit."""
LAST_SWITCHES, LAST_SWITCHES_WITH_DIGITS = 0.18, 0.25
"""The same in the last part of a secret that is wrapped."""

STANDS_FOR = (
    rb"(?i)example|sample|dummy|fake|mock|placeholder|change[-_ ]?me|replace|insert|your|redact"
    rb"|mask|hidden|withheld|todo|xxx|\*\*\*|\.\.\.|\xe2\x80\xa6|123456|abcdef|abc123|qwerty|foobar"
    rb"|lorem|undefined"
    rb"|(?:^|[^a-z])(?:test|demo|foo|bar|baz|my|some|any|the|old|new|dev|local|nil)(?:[^a-z]|$)"
)
"""Words of what stands for something else."""
PLACEHOLDER = (
    STANDS_FOR + rb"|passw(?:or)?d|secret|token|api[-_]?key|default|null|none|localhost|noreply"
    rb"|process\.|os\.|env|config|settings"
)
"""Words of examples and of code."""
REFERENCE = (
    rb"\A(?:[$<{(\[]|[%@&*#!]+[A-Za-z_.]*\z)|\$\{|\$\(|\{\{|%\(|<%|\}\}|\]\[|=>|->|::|\(\)|&&|\|\|"
    rb"|\[\^?[A-Za-z0-9_]-[A-Za-z0-9]|\\[wdsAzZb]|\.\*|\(\?"
)
"""Begins as a variable, a template, a pointer or a comment does, or holds one; or is a pattern."""
CERTAIN = 16
"""Characters from which on what stands in a secret's own place is one, whatever words are in it."""
ONE_PIECE = rb"\A[A-Za-z0-9+/_~=-]+\z"
MIXED = rb"[A-Za-z][0-9]+[A-Za-z]|[A-Z][0-9]+[a-z0-9+/=]|[0-9][A-Za-z]+[0-9]"
"""Digits among letters. Names of things have theirs at the end."""
ENDS_IN_DIGITS = rb"\A[A-Za-z]+[0-9]+[!?.*]?\z"
"""As people make a password out of words."""
VERSION = rb"(?i)v[0-9]"
PIECE = 12
"""Characters of a piece between dashes and underscores that is longer than a word."""
OWN_PLACE = rb"(?:[_-](?:token|key|secret)|passw(?:or)?d|passphrase)\z"
"""Ends of names that hold nothing but the secret."""
TWICE = rb"[0-9][A-Za-z]+[0-9]"
SHOUTED = rb"\A[A-Z0-9_]+\z"
"""A variable of the environment, or a constant."""
CHOSEN = rb"[0-9!@#$%^*?~]"
"""In a password, even where no quotation marks set it off from code."""
LETTERS = rb"\A[^0-9]{1,20}\z"
"""Without quotation marks, what has no digit and is no longer could be the name of a type."""
DOTTED = rb"\A[A-Za-z_][\w-]*(?:[.:/][A-Za-z_][\w-]*)+\z"
PATH = rb"(?i)\A(?:(?:~|\.{1,2}|[a-z]:)?[/\\]|[a-z]+://)"
SESSION = rb"(?i)sid|sess|auth|token|jwt|csrf|xsrf|login|remember|secret|key"
SHORT_COOKIE = 6
NUMBERS = rb"\A[\d\s.,:/TZ+_-]+\z"
HASHED = rb"(?i)\A(?:(?:sha(?:1|256|384|512)|md5|blake\w*)[-:=]|\$2[aby]\$|\$argon2|\$6\$)"

NOT_SECRET = (
    rb"(?:^|[_.-])(?:public|primary|foreign|cache|sort|partition|row|object|unique|index|map|hot|dict"
    rb"|query|group|registry|idempotency|translation|i18n|lookup|dedup\w*|composite|natural|range"
    rb"|hash|json|data|state|storage|event|field|column|config|setting|message|route|react|list"
    rb"|item|sub|super|host|known|page|next|prev\w*|continuation|cursor|resume|sync|start|stop|eos"
    rb"|bos|pad|sep|cls|mask|unk|begin\w*|end\w*|special|max|min|total|input|output|prompt"
    rb"|completion|cached|num|count|per|first|last|feature|s3|file|blob|bucket|tag|label|sitemap"
    rb"|trace|etag|commit|version|build|artifact|short|cut|metric|job|by|for|of|with|on|has|is|no"
    rb"|to|the|an?)[_.-]?(?:key|token)s?\z"
)
"""Names of keys and tokens that are none to hide: of tables, caches, pages, vocabularies."""
PASSWORD = (
    rb"passw(?:or)?d|passwd|passphrase|passcode|pwd|(?:^|[_.-])(?:pass|pw)(?:[_.-]|\z)|(?i:"
    + ABROAD.encode()
    + rb")"
)
KEY_NAMES = (
    rb"(?:api|access|secret|private|auth\w*|sign\w*|encrypt\w*|decrypt\w*|master|service"
    rb"|account|app|application|client|shared|license|deploy|admin|subscription|webhook|session"
    rb"|server|ssh|hmac|jwt|crypto|cipher|aes|rsa|kms|write|ingest|project|merchant|consumer|user"
    rb"|maps|bot|security|root|vault|sas|ssl|tls|ecdsa|integration|bearer|partner)"
    rb"[_.-]?(?:[a-z0-9]{1,12}[_.-]?)?key"
)
ENVIRONMENT_KEY = rb"\A[A-Z0-9_]*_KEY\z"
HUMP = rb"([a-z0-9])([A-Z])"
"""Where a new word begins in camelCase."""

_NO_TOKEN = b"|".join((PLACEHOLDER, REFERENCE, HASHED))
_NO_BARE_TOKEN = b"|".join((PLACEHOLDER, REFERENCE, HASHED, DOTTED, LETTERS))
_NO_PASSWORD = b"|".join((PLACEHOLDER, REFERENCE, HASHED, NUMBERS, DOTTED, PATH))
_NO_CERTAIN = b"|".join((STANDS_FOR, REFERENCE, HASHED, NUMBERS, DOTTED, PATH, VERSION))


@cache
def expression(pattern: bytes) -> Any:
    return compiled(pattern)


def has(pattern: bytes, text: bytes) -> bool:
    """Whether a short text matches somewhere."""
    return expression(pattern).search(text) is not None


def _words(name: bytes) -> bytes:
    """A name in small letters, its words apart."""
    return cast(bytes, expression(HUMP).sub(rb"\1_\2", name).lower())


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


def random_looking(text: bytes) -> bool:
    """Made by chance rather than out of words."""
    looked = text[:MEASURED]
    kinds = looked.translate(_CLASSES, _SIGNS)
    if len(kinds) < LEAST or not kinds.strip(b"\x03"):
        return False
    switches = sum(map(int.__ne__, kinds, kinds[1:])) / len(kinds)
    if switches < (RANDOM_SWITCHES if 3 in kinds else LETTERS_SWITCHES):
        return False
    return entropy(text) >= RANDOM_BITS


def token_like(text: bytes) -> bool:
    """Made by chance, and neither an example nor code."""
    return random_looking(text) and not has(_NO_TOKEN, text)


def further(text: bytes) -> bool:
    """Whether what stands in the next line goes on with a secret: its last part may be too short to
    look like chance, but words have no digits before letters and few capitals inside."""
    kinds = text.translate(_CLASSES, _SIGNS)
    if len(kinds) < LEAST:
        return False
    if b"\x03\x01" in kinds or b"\x03\x02" in kinds or not kinds.strip(b"\x03"):
        return True
    switches = sum(map(int.__ne__, kinds, kinds[1:])) / len(kinds)
    return switches >= (LAST_SWITCHES_WITH_DIGITS if 3 in kinds else LAST_SWITCHES)


def password_like(text: bytes) -> bool:
    """What a person might have chosen: more than one word, and not the name of something."""
    if len(text) > MOST or has(_NO_PASSWORD, text):
        return False
    kinds = set(text.translate(_CLASSES, _SIGNS))
    signs = set(text) & set(_SIGNS) - set(b"-_./: ")
    return len(kinds) + bool(signs) > 1 and bool(3 in kinds or signs)


def session_cookie(pair: bytes) -> bool:
    """Whether a name and a value of a cookie let somebody in."""
    name, _, value = pair.strip().partition(b"=")
    if has(SESSION, name) and len(value) >= SHORT_COOKIE and not has(_NO_TOKEN, value):
        return has(MIXED, value) or random_looking(value)
    return random_looking(value)


def certain(text: bytes) -> bool:
    """Long, in one piece and with digits among its letters: in a place that is for secrets alone,
    it need not look like chance."""
    if not CERTAIN <= len(text) <= MOST or not has(ONE_PIECE, text) or has(_NO_CERTAIN, text):
        return False
    pieces = text.replace(b"-", b"_").split(b"_")
    return any(len(piece) >= PIECE and has(MIXED, piece) for piece in pieces)


@lru_cache(maxsize=4096)
def secret_name(name: bytes) -> str:
    """What a name says about the value behind it: password, token, key, secret; or nothing."""
    low = _words(name)
    if has(NOT_SECRET, low):
        return ""
    if has(PASSWORD, low):
        return "password"
    if low.endswith(b"pass") or (b"pass" in low and b"key" not in low):  # bypass, compass
        return ""
    if b"key" in low and b"secret" not in low:
        return "key" if has(KEY_NAMES, low) or has(ENVIRONMENT_KEY, name) else ""
    return "token" if b"token" in low or low.endswith(b"auth") else "secret"


def assigned(name: bytes, value: bytes, *, quoted: bool, after: bytes) -> str:
    """What a value behind a name is, or nothing where it is no secret. `after` is what follows."""
    kind = secret_name(name)
    if not kind or not LEAST <= len(value) <= MOST or b" " in value:
        return ""
    if not quoted and name.lower() == b"pass":  # what test runners write before a name
        return ""
    if not quoted and after in (b"(", b"[", b"{"):
        return ""
    if _in_its_own_place(name, value, quoted=quoted):
        return kind
    if kind == "password":
        return kind if password_like(value) and (quoted or has(CHOSEN, value)) else ""
    if not random_looking(value) or has(_NO_TOKEN if quoted else _NO_BARE_TOKEN, value):
        return ""
    if b"/" in value and has(PATH, value) and not random_looking(value.rpartition(b"/")[2]):
        return ""
    return kind


def _in_its_own_place(name: bytes, value: bytes, *, quoted: bool) -> bool:
    """Whether a name is for a secret alone, and what stands behind it must be one. Without
    quotation marks and behind an ordinary name, it could be the name of a type."""
    low = _words(name)
    if not has(OWN_PLACE, low) or not (quoted or has(SHOUTED, name) or has(TWICE, value)):
        return False
    if has(PASSWORD, low) and len(value) >= CERTAIN and has(ENDS_IN_DIGITS, value):
        return not has(_NO_CERTAIN, value)
    return certain(value)
