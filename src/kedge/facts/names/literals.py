"""Names that only what stands beside them makes names: ports, numbers with a unit or a meaning,
numbered issues, variables of the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kedge.facts.names.shapes import Found, is_identifier

MOST_OF_A_KIND = 40
"""Names of one kind taken from one text."""
LARGEST_PORT = 65_535
NOTE_MOST = 40
"""Characters before a name in which its meaning is looked for."""

_GIVEN = r"""[\[(]{1,2}["']([A-Z][A-Z0-9_]{2,60})["']"""
_VARIABLE = re.compile(
    rf"\$\{{([A-Z][A-Z0-9]*_[A-Z0-9_]{{1,60}})\b"
    rf"|nv{_GIVEN}|NV{_GIVEN}|env::var{_GIVEN}|environ(?:\.get)?{_GIVEN}"
    r"|process\.env\.([A-Z][A-Z0-9_]{2,60})\b"
)
"""Given to `getenv`, `Setenv`, `LookupEnv`, `ENV` and the like, or reached through them. Each way
begins with a character of its own, so that the others are passed over at once."""
_PORT = re.compile(
    r"[l10Pp](?<!\w[l10Pp])(?:"
    r"(?:(?<=l)ocalhost|(?<=1)27\.0\.0\.1|(?<=0)\.0\.0\.0):(?P<of_host>\d{2,5})\b"
    r"|(?:(?<=[Pp])ort|(?<=P)ORT)s?(?:\s+(?:is|to|on|number)|\s*[:=])?\s*[\"'`]?"
    r"(?P<named>\d{2,5})\b(?![.%\w]))"
)
"""A word of its own. Its first character stands first, as `\b` would be tried everywhere."""
_PRODUCT = re.compile(
    r"(?P<joined>[A-Za-z][\w./@-]{0,40}?)(?:@|==|>=|\"?[ ]?[:=][ ]?[\"']?[\^~]?)$"
    r"|(?P<apart>[A-Za-z]*[A-Z.][\w.-]{0,30}|go|node|npm|python|rust|ruby|java)[ ]$"
)
"""What a version is one of; a plain word before it is one of the sentence."""
_NUMBERED = re.compile(r"#[1-9]\d{1,4}\b")
"""Smaller numbers count points of the answer itself, longer ones are colours."""
_TRACKED = re.compile(
    r"(?:\b(issues?|PRs?|pull requests?|fix(?:es|ed)?|close[sd]?|resolve[sd]?|bug|ticket|MR)\s*"
    r"|\()$",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"[1-9](?<![\w.,-][1-9])[\d_,]{0,12}(?:\.\d{1,4})?[ ]?"
    r"(?:(?:ms|milliseconds?|secs?|seconds?|minutes?|mins?|hours?|days?|weeks?|[kKMG]i?B|bytes"
    r"|tokens?|characters?|chars|retries|attempts|px|percent)\b|%)"
)
_BEFORE = re.compile(r"((?:[A-Za-z][\w-]{1,30}[ ]){1,2})$")
_ASSIGNED = re.compile(
    r"[:=]\s?(\d[\d_]{1,14}(?:\.\d{1,6})?)(?![\w.:-])",
)
_ASSIGNEE = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]{3,50})[\"']?\s?:?$")


def beside_words(text: str) -> Iterator[Found]:
    yield from _ports(text)
    yield from _variables(text)
    yield from _numbered(text)
    for match in _some(_MEASURED, text):
        words = _BEFORE.search(text, max(0, match.start() - NOTE_MOST), match.start())
        if words:  # alone it says nothing
            yield Found(match[0], "number", words[1].strip())


def beside_code(text: str) -> Iterator[Found]:
    """In code a number means what it is given to, where that is no plain word."""
    yield from _ports(text)
    yield from _variables(text)
    for match in _some(_ASSIGNED, text):
        name = _ASSIGNEE.search(text, max(0, match.start() - NOTE_MOST), match.start())
        if name and is_identifier(name[1]):
            yield Found(match[1], "number", name[1])


def product_of(version: str, text: str) -> str:
    """What a version is one of, where that stands before it."""
    place = text.find(version)
    product = _PRODUCT.search(text, max(0, place - NOTE_MOST), max(0, place))
    what = (product["joined"] or product["apart"] or "").strip("/.-@") if product else ""
    return "" if what.casefold() == "version" else what


def is_numbering(version: str, line: str) -> bool:
    """Whether it is the number of a heading or of a point in a list."""
    return version[0].isdigit() and line.lstrip("#*- \t").startswith(version)


def _some(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return islice(pattern.finditer(text), MOST_OF_A_KIND)


def _variables(text: str) -> Iterator[Found]:
    if "${" in text or "nv" in text or "NV" in text:
        for match in _some(_VARIABLE, text):
            yield Found(match[match.lastindex or 0], "variable")


def _ports(text: str) -> Iterator[Found]:
    if not ("ort" in text or "PORT" in text or "t:" in text or ".0.1:" in text or ".0.0:" in text):
        return
    for match in _some(_PORT, text):
        number = match["of_host"] or match["named"]
        if int(number) <= LARGEST_PORT:
            host = match[0].partition(":")[0] if match["of_host"] else "port"
            yield Found(number, "port", host)


def _numbered(text: str) -> Iterator[Found]:
    for match in _some(_NUMBERED, text) if "#" in text else ():
        said = _TRACKED.search(text, max(0, match.start() - NOTE_MOST), match.start())
        if said:
            yield Found(match[0], "ticket", said[1] or "")
