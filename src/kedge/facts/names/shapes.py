"""Names by their shape alone: one word of a text at a time, whatever stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from kedge.facts.names.words import (
    ALSO_ATTRIBUTES,
    FILES_ENDING_SO,
    FOLDERS,
    GENERATED,
    NO_TICKETS,
    PLAIN,
    ROOTS,
    STANDARD,
    SUFFIXES,
    WELL_KNOWN,
)

NameKind = Literal[
    "symbol",
    "file",
    "flag",
    "variable",
    "port",
    "version",
    "hash",
    "ticket",
    "url",
    "number",
    "call_site",
]
LEAST = 4
"""Characters: shorter words with a capital or an underscore in them are seldom names."""
MOST = 80
"""Characters of an identifier; longer ones are keys, encoded data or generated."""
LONGEST = 300
"""Characters of any name; what is longer is data."""
KEPT = 40_000
"""Words kept, about 6 MB: more than a long session has."""
KEPT_LONGEST = 80
"""Longer words seldom come again."""
IDENTIFIERS = 8_192
"""Words of which it is remembered whether they are identifiers, for those that are no words of a
text: what is declared, what numbers are given to."""
RANDOM_FROM = 16
"""Characters from which a word is held to be random when it changes its case too often."""
CHARACTERS_A_CHANGE = 2.5
"""In words of people a hump of camel case has three characters and more on the average."""

SEPARATORS = "\"'`<>(){}|\\^,;*!?"
"""What parts words beside blanks."""
WORD = re.compile(rf"[^\s{re.escape(SEPARATORS)}]+")
"""What a text falls into before names are looked for."""
JOINED_WORD = re.compile(r"\b[A-Za-z_.][a-z.]{0,99}+[_A-Z0-9][\w.]*+", re.ASCII)
"""Of these only the ones that may be identifiers: for long texts, twice as fast."""
ESCAPE = re.compile(r"\\[ntr]")
"""In the strings of code; the letter is no part of the word behind it."""

_TOKEN = re.compile(r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)*+", re.ASCII)
"""An identifier with what it is reached through."""
_SHAPE = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_CHANGE = re.compile(r"(?<=[a-z])[A-Z]|(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_HEXADECIMAL = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_URL = re.compile(r"https?://[^\[\]#]{3,300}")
_EXAMPLE = re.compile(r"https?://(?:www\.)?(?:example\.\w{2,3}|schemas?\.|json-schema\.org|\$)")
_FLAG = re.compile(r"--[a-z][a-z0-9-]{2,40}")
_VARIABLE = re.compile(r"(?P<used>\$)?([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})(?(used)|=)")
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w.@+\-\[\]]{1,120}/){1,30}[\w.@+\-\[\]]{0,120}")
_FILE = re.compile(r"\.?[\w@+-][\w.@+-]{0,100}\.[A-Za-z][A-Za-z0-9]{0,7}")
_PLACE = re.compile(r"(.{3,280}?\.\w{1,8}):(\d{1,7})(?:[:-]\d{1,7})?:?")
_VERSION = re.compile(
    r"(?:v?\d{1,4}\.\d{1,4}\.\d{1,5}(?:-[A-Za-z][\w.]{1,20})?|v\d{1,3}\.\d{1,4}|go1\.\d{1,3})"
)
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}")
_TICKET = re.compile(r"([A-Z]{2}[A-Z0-9]{0,8})-\d{1,6}")
_VERB_AND_NOUN = re.compile(r"[A-Z][a-z]{2,12}-[A-Z]\w{2,40}")
"""A command of PowerShell, which every model knows."""
_MODULE = re.compile(r"[\w-]{1,60}(?:\.[\w-]{1,60}){0,3}\.(?:com|org|io|net|dev|ai|in|sh)/")
"""How the path of a module begins, which is no file of the work."""
_SUBSTITUTION = re.compile(r"\d{0,6}s/[^/]{0,120}/[^/]{0,120}(?:/[a-z]{0,3})?")
"""What is given to sed."""
_MASK = "REDACTED"
"""Stands in public transcripts in the place of names."""
_SYSTEM = ("/bin/", "/dev/", "/proc/", "/usr/bin/", "/etc/", "/sys/")
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)(?:/|$)")
_TEMPORARY_OF_USERS = "/AppData/Local/Temp/"


class Found(NamedTuple):
    name: str
    kind: NameKind
    note: str = ""
    """What it means, where that stands beside it."""
    place: str = ""
    """The line, where it is written behind a file."""


class Words(dict[str, tuple[Found, ...]]):
    """The names in each word of a text; most words have none. What is known of a word is kept,
    for texts repeat themselves, and forgotten all at once when it is too much."""

    def __missing__(self, word: str) -> tuple[Found, ...]:
        names = _names(word)
        if len(word) <= KEPT_LONGEST:
            if len(self) >= KEPT:
                self.clear()
            self[word] = names
        return names


def separated(text: str) -> str:
    """A text in which only blanks part words: behind it `split` gives what `WORD` finds, and for
    all but a line of it four times as fast."""
    for separator in SEPARATORS:
        if separator in text:
            text = text.replace(separator, " ")
    return text


def is_temporary(path: str) -> bool:
    if path.startswith("/") and _TEMPORARY.match(path):
        return True
    return _TEMPORARY_OF_USERS in path


@lru_cache(maxsize=IDENTIFIERS)
def is_identifier(word: str) -> bool:
    """Whether a word is an identifier by its shape alone: joined by case or by underscores."""
    return (
        LEAST <= len(word) <= MOST
        and _SHAPE.search(word) is not None
        and word not in WELL_KNOWN
        and not word.startswith(GENERATED)
        and not _is_random(word)
    )


def is_declared_name(word: str) -> bool:
    """Whether a word that a text declares is worth a name: a plain one may be, too."""
    if _SHAPE.search(word):
        return is_identifier(word)
    return LEAST <= len(word) <= MOST and word.casefold() not in PLAIN


def _names(word: str) -> tuple[Found, ...]:
    if word.isalpha() and word[1:].islower():  # a plain word, as most are
        return ()
    if len(word) < LEAST or len(word) > LONGEST or _MASK in word:
        return ()
    if "://" in word:
        return tuple(_urls(word))
    if word.startswith("-"):
        return _of_flag(word)
    if variable := _VARIABLE.match(word):
        name = Found(variable[2], "variable")
        return (name,) if variable["used"] else (name, *_names(word[variable.end() :]))
    bare = word.strip("[]=&%@#:$+").rstrip(".-")
    if "/" in bare or "." in bare:
        named = _file(bare) or _version(bare)
        if named is not None:
            return (named,)
    elif _HASH.fullmatch(bare):
        return (Found(bare, "hash"),)
    elif ticket := _TICKET.fullmatch(bare):
        return () if ticket[1] in NO_TICKETS else (Found(bare, "ticket"),)
    return () if _VERB_AND_NOUN.fullmatch(bare) else tuple(_identifiers(bare))


def _of_flag(word: str) -> tuple[Found, ...]:
    """The flag, and what is given to it."""
    flag = _FLAG.match(word)
    value = word.partition("=")[2]
    return ((Found(flag[0], "flag"),) if flag else ()) + (_names(value) if value else ())


def _urls(word: str) -> Iterator[Found]:
    url = _URL.search(word)
    if url and not _EXAMPLE.match(url[0]):
        yield Found(url[0].rstrip(".:_/&="), "url")


def _file(word: str) -> Found | None:
    placed = _PLACE.fullmatch(word)
    path, line = (placed[1], placed[2]) if placed else (word, "")
    if "/" in path:
        matched = _PATH.match(path)
        is_file = matched is not None and matched.end() == len(path) and _is_path(path)
    else:
        is_file = _FILE.fullmatch(path) is not None and _is_file_name(path)
    if not is_file:
        return None
    if _MODULE.match(path):
        return Found(path, "symbol")
    if path.startswith("/") and path.split("/")[1] not in ROOTS:
        path = path.lstrip("/")  # from the root, or behind something that was left out
    return Found(path, "file", place=line)


def _is_file_name(name: str) -> bool:
    suffix = name.rpartition(".")[2]
    if suffix in ALSO_ATTRIBUTES and name not in FILES_ENDING_SO:
        return name.startswith(".")
    return suffix.lower() in SUFFIXES and name not in WELL_KNOWN


def _is_path(path: str) -> bool:
    """Whether this is a path of the work, and not two words with a stroke between them."""
    if path.startswith((*_SYSTEM, "...")) or is_temporary(path) or _SUBSTITUTION.fullmatch(path):
        return False
    parts = path.strip("/").split("/")
    last = parts[-1].strip(".").rpartition(".")
    if last[1] and last[2].lower() in SUFFIXES:
        return True
    if path.startswith("/"):
        return parts[0] in ROOTS and len(parts) >= 2
    if path.startswith(("~/", "../", "./")):
        return any(map(str.isalpha, path))
    joined = any(not part.isalpha() or part in FOLDERS for part in parts[:2])
    return len(parts) >= 3 and joined and any(map(str.isalpha, path))


def _version(word: str) -> Found | None:
    bare = word.rpartition("@")[2].lstrip("^~=<>")
    return Found(bare, "version") if _VERSION.fullmatch(bare) else None


def _identifiers(word: str) -> Iterator[Found]:
    """What is reached through a module of a standard library is none."""
    for token in _TOKEN.findall(word):
        parts = token.split(".")
        if len(parts) > 1 and (parts[0] in STANDARD or parts[-1] in SUFFIXES):
            continue
        yield from (Found(part, "symbol") for part in parts if is_identifier(part))


def _is_random(word: str) -> bool:
    if _HEXADECIMAL.fullmatch(word):
        return True
    return len(word) >= RANDOM_FROM and len(_CHANGE.findall(word)) * CHARACTERS_A_CHANGE > len(word)


WORDS = Words()
