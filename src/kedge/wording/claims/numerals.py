"""Quantities in a text: digits with their separators and units, and number words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_NUMBER = re.compile(
    r"(?P<digits>\d(?<![A-Za-z0-9]\d)(?<!\d[.,]\d)\d*(?:[,_]\d{3})*(?:\.\d+)*)"
    r"(?:(?P<unit>[%％])|[ \u00a0\u202f-]?(?P<name>[A-Za-z]{1,12})(?![A-Za-z0-9_])|(?![A-Za-z0-9]))"
)
"""Not in the middle of a name or of a hash; in scripts without blanks letters stand beside it."""
_UNITS: dict[str, str] = {
    **dict.fromkeys(("%", "％", "percent", "prozent"), "percent"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "msec"), "milliseconds"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sekunden"), "seconds"),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunden"), "hours"),
    **dict.fromkeys(("day", "days", "tage", "tagen"), "days"),
    **dict.fromkeys(("kb", "kib", "kilobytes"), "kilobytes"),
    **dict.fromkeys(("mb", "mib", "megabytes"), "megabytes"),
    **dict.fromkeys(("gb", "gib", "gigabytes"), "gigabytes"),
}
_TIMES = frozenset({"milliseconds", "seconds", "minutes", "hours", "days"})
_SIZES = frozenset({"kilobytes", "megabytes", "gigabytes"})
_SMALL = (
    ("zero", "null"),
    (),
    ("two", "zwei", "deux", "dos"),
    ("three", "drei", "trois", "tres"),
    ("four", "vier", "quatre", "cuatro"),
    ("five", "fünf", "cinq", "cinco"),
    ("six", "sechs", "seis"),
    ("seven", "sieben", "sept", "siete"),
    ("eight", "huit", "ocho"),
    ("nine", "neun", "neuf", "nueve"),
    ("ten", "zehn", "diez"),
    ("eleven", "onze"),
    ("twelve", "zwölf", "douze", "doce"),
)
_LARGE = {
    "dozen": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
}
WORDS: dict[str, str] = {
    **{word: str(value) for value, words in enumerate(_SMALL) for word in words if word != "null"},
    **{word: str(value) for word, value in _LARGE.items()},
    **dict.fromkeys(("dozens", "hundreds", "thousands", "millions"), ""),
}
"""Number words with their digits; none for those that name no number."""
_LABELLED = re.compile(
    r"\b(?:requests?|issues?|tickets?|tasks?|steps?|phases?|parts?|sections?|lines?|ports?|turns?"
    r"|versions?|numbers?|commits?|to|and) \d{1,6}\b"
)
"""A number that names something and counts nothing: pull request 57 waits, tasks 3 to 9 remain."""
_COUNTED = re.compile(
    rf"(?<![\w.,:/-])(\d{{1,3}}|{'|'.join(word for word, its in WORDS.items() if its)})"
    r"\s+([^\W\d_]{4,}s)\b"
)
SPELT: dict[str, tuple[str, ...]] = {
    digits: tuple(word for word, its in WORDS.items() if its == digits)
    for digits in set(WORDS.values()) - {""}
}
"""The same the other way around."""


class Quantity(NamedTuple):
    digits: str
    unit: str = ""


def quantities(text: str) -> Iterator[Quantity]:
    """All that is written in digits. A number inside a word or another number is none."""
    return (_quantity(*found) for found in set(_NUMBER.findall(text)))


def _quantity(digits: str, sign: str, name: str) -> Quantity:
    whole = digits.replace(",", "").replace("_", "")
    if not whole.isascii():
        whole = "".join(str(unicodedata.decimal(one, one)) for one in whole)
    if "." not in whole:
        whole = whole.lstrip("0") or "0"
    return Quantity(whole, _UNITS.get((sign or name).casefold(), ""))


def number_words(text: str) -> Iterator[str]:
    return (word for word in re.findall(r"[^\W\d_]+", text.casefold()) if word in WORDS)


def counted(text: str) -> Iterator[tuple[str, str]]:
    """Small numbers with the word behind them: how many of what."""
    for number, noun in _COUNTED.findall(_LABELLED.sub("…", text.casefold())):
        digits = WORDS.get(number, "") if number.isalpha() else number.lstrip("0")
        if digits:
            yield digits, noun


def rivals(unit: str) -> frozenset[str]:
    """Units of the same dimension."""
    return next((one - {unit} for one in (_TIMES, _SIZES) if unit in one), frozenset())
