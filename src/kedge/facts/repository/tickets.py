"""Tickets and pull requests that are named in words, by their shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

LOOKED_AT = 8_000
"""Characters of a message: what stands behind is pasted."""
MOST = 6
"""Tickets of one message: more of them are a pasted list."""

_NORMS = (
    "ISO UTF UCS SHA MD RFC HTTP HTTPS CVE CWE TLS SSL SSH AES RSA DES DSA ECDSA UTC GMT CET EST"
    " PST PEP IPV IEC IEEE ANSI ASCII CP KOI BASE ED ES TS JS PHP HTML CSS ECMA XML YAML JSON DIN"
    " EN BS NIST FIPS PKCS OAUTH OIDC WPA GSM LTE USB HDMI PCI DDR MP MPEG"
)
_PRODUCTS = (
    "GPT CLAUDE GEMINI LLAMA QWEN OPUS SONNET HAIKU JAVA JDK PY PYTHON NODE GO RUST ARM AMD X86"
    " RISC COVID WINDOWS"
)
_HEADINGS = (
    "STEP PHASE PART LEVEL TIER PRIORITY SECTION CHAPTER TABLE FIGURE FIG OPTION CASE ROUND WEEK"
    " DAY QUESTION ANSWER ITEM TODO NOTE LINE PAGE ROW COLUMN VERSION RELEASE SPRINT EXIT CODE"
    " ERROR STATUS PORT TEST SLIDE VOL NO RC ALPHA BETA US EU UK TOP MAX MIN INT UINT FLOAT"
)
NO_PROJECTS = frozenset(" ".join((_NORMS, _PRODUCTS, _HEADINGS)).split())
"""What stands before a dash and a number and is no project."""

_SHAPED = re.compile(
    r"(?<![\w.-])(?P<project>[A-Z][A-Z0-9]{1,9})-(?P<number>[1-9]\d{0,5})(?![\w-])(?!\.\d)"
)
_IN_BRANCH = re.compile(
    r"(?:^|[/_-])(?P<project>[A-Z][A-Z0-9]{1,9})-(?P<number>[1-9]\d{0,5})(?=$|[/_-])"
)
_NUMBERED = re.compile(
    r"\b(?P<word>prs?|mrs?|pull requests?|merge requests?|issues?|tickets?|bugs?|gh"
    r"|(?:fix|close|resolve)(?:e?[sd])?|refs?)[ :]{1,2}#(?P<number>[1-9]\d{0,6})\b",
    re.IGNORECASE,
)
_URL = re.compile(
    r"https?://[\w.-]{1,100}/[\w./~-]{1,200}?/(?P<kind>issues|pull|merge_requests)/[1-9]\d{0,6}\b"
)
_SUBJECT = re.compile(r"\(#([1-9]\d{0,6})\)")
_FENCED = re.compile(r"^ {0,3}```[^\n]*\n.*?(?:^ {0,3}```|\Z)", re.MULTILINE | re.DOTALL)
_TALKED_ABOUT = re.compile(r"\b(?:ticket|issue|story|jira|linear|task)s?\b", re.IGNORECASE)


class Ticket(NamedTuple):
    what: Literal["ticket", "pull_request"]
    name: str


def tickets_in_words(text: str) -> list[Ticket]:
    """What a person names, code blocks left out."""
    return _few(_in_words(_FENCED.sub(" ", text[:LOOKED_AT])))


def tickets_in_subject(text: str) -> list[Ticket]:
    """What the first line of a commit's message, or a title, names."""
    line = text.partition("\n")[0]
    named = (Ticket("ticket", f"#{number}") for number in _SUBJECT.findall(line))
    return _few((*_in_words(line), *named))


def tickets_in_branch(name: str) -> list[Ticket]:
    return _few(_shaped(_IN_BRANCH, name, single=True))


def _in_words(text: str) -> Iterator[Ticket]:
    for found in _URL.finditer(text):
        yield Ticket("ticket" if found["kind"] == "issues" else "pull_request", found[0])
    yield from _shaped(_SHAPED, text, single=_TALKED_ABOUT.search(text) is not None)
    for found in _NUMBERED.finditer(text):
        pull = found["word"].casefold().startswith(("pr", "mr", "pull", "merge"))
        yield Ticket("pull_request" if pull else "ticket", f"#{found['number']}")


def _shaped(pattern: re.Pattern[str], text: str, *, single: bool) -> Iterator[Ticket]:
    """Names of the shape ABC-123; those of one digit only where that is what the text is about."""
    for found in pattern.finditer(text):
        project, number = found["project"], found["number"]
        if project not in NO_PROJECTS and (single or len(number) > 1):
            yield Ticket("ticket", f"{project}-{number}")


def _few(found: Iterator[Ticket] | tuple[Ticket, ...]) -> list[Ticket]:
    return list(dict.fromkeys(found))[:MOST]
