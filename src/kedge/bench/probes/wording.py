"""Words made wrong: near misses of paths, numbers, flags, names and sentences.

Each function gives the words as they become, or none where there is nothing in them to be changed
in this way."""

from __future__ import annotations

import re
from random import Random
from string import ascii_lowercase, digits

FOLDERS = ("src", "lib", "old", "tests", "backup")
SUFFIXES = (".py", ".ts", ".md", ".json", ".txt")
"""Of files that the near miss of a path may be taken for."""
LONGEST_STEP = 9
"""A changed number is so much larger at the most: a near miss."""
LEAST_WORD = 4
"""Letters of a word that says something."""
LEAST_WORDS = 4
"""Of words that can be cut off in the middle."""

_MARKS = re.compile(r"\[t\d[^\]]*\]|\bt\d+\b")
"""Turns are no matter of the entry: where it comes from, not what it says."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(rf"(?<![\w./`-])[^\W\d_]{{{LEAST_WORD},}}(?![\w./`-])")
_FLAG = re.compile(r"(?<=\s)-{1,2}[A-Za-z][\w-]*(?:=\S+?)?(?=[\s`]|$)")
_NOT = re.compile(r"\b(?:not|never|no|without)\b ?|n't\b", re.IGNORECASE)
_QUOTED = re.compile(r'"(.*)"', re.DOTALL)


def one_letter(text: str, chance: Random) -> str | None:
    """One letter or digit of a name is another one."""
    places = [place for place, letter in enumerate(text) if letter.isalnum()]
    if not places:
        return None
    place = chance.choice(places)
    others = digits if text[place].isdigit() else ascii_lowercase
    letter = chance.choice([one for one in others if one != text[place].lower()])
    return text[:place] + letter + text[place + 1 :]


def other_letter(path: str, chance: Random) -> str | None:
    """A near miss of a path: one letter of the file's own name."""
    folder, slash, name = path.rpartition("/")
    changed = one_letter(name, chance)
    return None if changed is None else f"{folder}{slash}{changed}"


def other_folder(path: str, chance: Random) -> str | None:
    parts = path.split("/")
    places = [place for place, part in enumerate(parts[:-1]) if part.strip(".~")]
    if not places:
        return f"{chance.choice(FOLDERS)}/{path}"
    place = chance.choice(places)
    parts[place] = chance.choice([one for one in FOLDERS if one != parts[place]])
    return "/".join(parts)


def other_suffix(path: str, chance: Random) -> str | None:
    folder, slash, name = path.rpartition("/")
    stem, point, suffix = name.rpartition(".")
    kept = stem if point and stem else name
    wrong = chance.choice([one for one in SUFFIXES if one != f".{suffix}"])
    return f"{folder}{slash}{kept}{wrong}"


def other_number(text: str, chance: Random) -> str | None:
    """One number is larger by a little."""
    found = _outside_marks(_NUMBER, text)
    if not found:
        return None
    number = chance.choice(found)
    larger = int(number[0]) + chance.randint(1, LONGEST_STEP)
    return _put(text, number, f"{larger:0{len(number[0])}d}")


def other_count(text: str, chance: Random) -> str | None:
    """What a check came to: another count, or the opposite."""
    counts = list(re.finditer(r"\b\d+(?= (?:\w+ ){0,3}(?:passed|failed))", text))
    if counts:
        count = chance.choice(counts)
        return _put(text, count, str(int(count[0]) + chance.randint(1, LONGEST_STEP)))
    for word, opposite in (("`: passes", "`: FAILS"), ("`: FAILS", "`: passes")):
        if word in text:
            return text.replace(word, opposite)
    return None


def other_flag(text: str, chance: Random) -> str | None:
    """One flag of a command is another one."""
    if not (flags := list(_FLAG.finditer(text))):
        return None
    flag = chance.choice(flags)
    wrong = chance.choice([one for one in ascii_lowercase if one != flag[0].lstrip("-")[0]])
    dashes = "-" * (len(flag[0]) - len(flag[0].lstrip("-")))
    return _put(text, flag, dashes + wrong + flag[0].lstrip("-")[1:])


def no_flag(text: str, chance: Random) -> str | None:
    """One flag of a command is gone."""
    if not (flags := list(_FLAG.finditer(text))):
        return None
    flag = chance.choice(flags)
    return text[: flag.start()].rstrip() + text[flag.end() :]


def other_word(text: str, chance: Random) -> str | None:
    """One word stands in the place of another; a text of one word has a letter changed."""
    words = _outside_marks(_WORD, text)
    if not words:
        return None
    word = chance.choice(words)
    others = sorted({one[0] for one in words if one[0].lower() != word[0].lower()})
    if not others:
        changed = one_letter(word[0], chance)
        return None if changed is None else _put(text, word, changed)
    return _put(text, word, chance.choice(others))


def no_not(text: str, chance: Random) -> str | None:
    """What was forbidden is asked for."""
    found = list(_NOT.finditer(text))
    return _put(text, chance.choice(found), "") if found else None


def cut_short(text: str, chance: Random) -> str | None:
    """The second half of quoted words is gone."""
    quoted = _QUOTED.search(text)
    words = quoted[1].split() if quoted else []
    if quoted is None or len(words) < LEAST_WORDS:
        return None
    return _put(text, quoted, f'"{" ".join(words[: len(words) // 2])}"')


def quoted_words(text: str) -> str:
    """What stands between quotes in an entry, without the mark of what was cut."""
    quoted = _QUOTED.search(text)
    return quoted[1].removesuffix("…").strip() if quoted else ""


def _outside_marks(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    marks = [one.span() for one in _MARKS.finditer(text)]
    return [
        found
        for found in pattern.finditer(text)
        if not any(start <= found.start() < end for start, end in marks)
    ]


def _put(text: str, found: re.Match[str], words: str) -> str:
    return text[: found.start()] + words + text[found.end() :]
