"""Where a name is used: the hits of a search whose pattern is that name, grouped by file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.facts.names.shapes import is_identifier
from kedge.facts.names.words import words
from kedge.model import ToolCall
from kedge.outcomes import Outcome

OUTPUT_WITHIN = 60_000
"""Characters of a search's result that are looked at: some hundred hits."""
MOST_HITS = 400
"""Beyond these a result is a listing, and nobody goes through it one by one."""
MOST_LINES = 40
"""Lines given for one file."""
PATTERN_WITHIN = 400
MOST_SOUGHT = 3
"""Names taken from one pattern; one with more is a net thrown out, not a question."""

SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})
VALUED = words(
    "-A -B -C -m -f -g -t -T --include --exclude --exclude-dir --glob --type --max-count --context "
    "--after-context --before-context --color --colour"
)
"""Options of searchers whose value is the next word, when it is not joined by `=`."""

_HIT = re.compile(
    r"""^(?:(?P<path>(?:[A-Za-z]:)?[^\s:*?"<>|][^:*?"<>|\n]{0,300}+):)?
    [ \t]{0,8}(?:Line[ ]|L)?(?P<line>\d{1,7})[:|](?P<text>[^\n]{0,2000})$""",
    re.VERBOSE,
)
_HEADING = re.compile(r"^(?:File:[ ])?(?P<path>[^\s:*?\"<>|][^:*?\"<>|\n]{0,300}):?$")
_WORD = re.compile(r"[A-Za-z_]\w{2,79}")
_FILE_LIKE = re.compile(r"[^\s]{1,300}\.\w{1,10}$|[^\s]{0,300}/[^\s]{1,120}$")


class Hit(NamedTuple):
    path: str
    """As printed; empty where the result does not name the file."""
    line: int
    text: str


class Site(NamedTuple):
    """One file in which a name occurs."""

    path: str
    lines: tuple[int, ...]


def pattern_of(outcome: Outcome) -> str:
    """What a call searches for in the content of files; empty when it does not."""
    if outcome.call.verb == "search":
        return _given(outcome.call)
    for run in outcome.runs:
        words = run.words[1:] if run.words[:2] == ("git", "grep") else run.words
        if words and (words[0].rpartition("/")[2] in SEARCHERS or words[0] == "grep"):
            return _pattern_among(words[1:])
    return ""


def sought_in(pattern: str) -> tuple[str, ...]:
    """The names a pattern asks for; none when it asks for many."""
    found = _WORD.findall(pattern[:PATTERN_WITHIN])
    names = tuple(dict.fromkeys(word for word in found if is_identifier(word)))
    return names if len(names) <= MOST_SOUGHT else ()


def hits_in(output: str) -> list[Hit]:
    """The hits a search printed, in the ways of grep, ripgrep and agents' own tools; none where
    there are too many."""
    found: list[Hit] = []
    heading, above = "", list[str]()
    for line in output[:OUTPUT_WITHIN].splitlines():
        if (":" in line or "|" in line) and (match := _HIT.match(line)):
            path = match["path"]
            if not path:
                heading, above = _heading(above) or heading, []
                path = heading
            if not path.isdigit():  # a time of day is no hit
                found.append(Hit(path, int(match["line"]), match["text"]))
        else:
            above.append(line)
    return found if len(found) <= MOST_HITS else []


def _heading(lines: Sequence[str]) -> str:
    """The last of some lines that names a file. Looked for only where hits do not name theirs."""
    for line in reversed(lines):
        if (above := _HEADING.match(line)) and _FILE_LIKE.match(above["path"]):
            return above["path"]
    return ""


def sites_of(name: str, hits: Sequence[Hit], searched: str = "") -> Iterator[Site]:
    """The files in which hits show the name as a word of its own, in their order, each with all
    its lines. `searched` is the file that was searched, where the result does not name any."""
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    by_file: dict[str, list[int]] = {}
    for hit in hits:
        path = hit.path or searched
        if path and name in hit.text and whole.search(hit.text):
            lines = by_file.setdefault(path, [])
            if hit.line not in lines:
                lines.append(hit.line)
    for path, lines in by_file.items():
        yield Site(path, tuple(lines[:MOST_LINES]))


def _given(call: ToolCall) -> str:
    for key in ("pattern", "query", "search_term", "regex"):
        if isinstance(value := call.parameters.get(key), str):
            return value
    return ""


def _pattern_among(words: Sequence[str]) -> str:
    """The first word of a searcher that is neither an option nor the value of one."""
    skips = False
    for place, word in enumerate(words):
        if skips:
            skips = False
        elif word in ("-e", "--regexp", "--"):
            return words[place + 1] if place + 1 < len(words) else ""
        elif word.startswith("-") and len(word) > 1:
            skips = word in VALUED
        else:
            return word
    return ""
