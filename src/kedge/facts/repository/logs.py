"""What a plain log of the current branch shows: its newest commit, and those behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kedge.facts.repository.calls import Call, Line
from kedge.facts.repository.outputs import ABOUT_SHOWN, Seen
from kedge.sentences import cut, one_line

SHOW_COMMITS = frozenset({"log", "show", "reflog", "shortlog", "rev-list", "cherry", "blame"})
"""What prints commits: beside another one, a log's lines are not known to be its own."""
MOST_OLDER = 50
"""Commits of one log that are looked at."""
HARMLESS = re.compile(
    r"--(?:oneline|decorate|no-decorate|graph|stat|shortstat|numstat|name-only|name-status|no-color"
    r"|color|abbrev-commit|abbrev|date|patch|no-patch|no-pager|max-count|format|pretty|first-parent"
    r"|show-signature|summary)(?:=.*)?|-p|-n\d*|-\d{1,6}|-s|-u|-U\d+",
    re.DOTALL,
)
"""Options that leave out none of the newest commits."""
_CURRENT = re.compile(r"HEAD|@|(?!\S{0,200}\.{3})\S{1,200}\.\.(?:HEAD)?")
"""Of the current branch, or what it has that another one has not, which may be nothing."""
_KEEPS_FIRST = frozenset({"head", "cat", "less", "more"})
_ONE_LINE = re.compile(
    r"^[*|/\\ ]{0,12}(?P<hash>[0-9a-f]{7,40}) "
    r"(?:\((?P<refs>(?:HEAD|tag: |origin/)[^)\n]{0,300})\) )?(?P<subject>\S[^\n]{0,500})$",
    re.MULTILINE,
)
_WHOLE = re.compile(
    r"^(?:[*|] ){0,4}commit (?P<hash>[0-9a-f]{7,40})(?: \((?P<refs>[^)\n]{0,300})\))?\n"
    r"(?:[^\n]{0,300}\n){1,6}?\s{0,8}\n(?:[*| ]{0,8})    (?P<subject>\S[^\n]{0,500})$",
    re.MULTILINE,
)
_TWO_LINES = re.compile(r"^(?P<hash>[0-9a-f]{7,40})\n(?P<subject>\S[^\n]{0,500})$", re.MULTILINE)
_FORMATS = (
    (re.compile(r"(?:format:|tformat:)?%[hH] %s"), _ONE_LINE),
    (re.compile(r"(?:format:|tformat:)?%[hH]%n%[Bs]"), _TWO_LINES),
    (re.compile("oneline"), _ONE_LINE),
    (re.compile("medium|full|fuller|short|"), _WHOLE),
)
"""How a log is written by the format it is given."""
_REFS = re.compile(r"HEAD -> ([^\s,)]{1,250})")


def newest_in(line: Line) -> Iterator[Seen]:
    """The head, and the branch where the log names it; nothing for a log of a file, of another
    branch, or one that leaves commits out."""
    found = next(_lines_of(line), None)
    if found is None:
        return
    refs = found.groupdict().get("refs") or ""
    if (branch := _REFS.search(refs)) is not None:
        yield Seen("current", branch[1])
    yield Seen("head", found["hash"], cut(one_line(found["subject"]), ABOUT_SHOWN))


def older_in(line: Line) -> Iterator[Seen]:
    """The commits behind the head, the newest first, where nothing else of the line prints any."""
    if len(_showing(line)) == 1:
        for found in islice(_lines_of(line), 1, MOST_OLDER):
            yield Seen("commit", found["hash"], cut(one_line(found["subject"]), ABOUT_SHOWN))


def _lines_of(line: Line) -> Iterator[re.Match[str]]:
    """Where commits stand in the output, beginning with the newest. The first of several commands
    that print some comes first, unless it may have printed none."""
    showing = _showing(line)
    if not showing or not _is_plain(showing[0]):
        return
    if len(showing) > 1 and (showing[0].filed or any(".." in word for word in showing[0].words)):
        return
    pattern = _ONE_LINE if showing[0].has("--oneline") else _pattern(showing[0])
    if pattern is not None:
        yield from pattern.finditer(line.text)


def _showing(line: Line) -> list[Call]:
    return [call for call in line.calls if call.program == "git" and call.name in SHOW_COMMITS]


def _is_plain(call: Call) -> bool:
    if call.name != "log" or not call.done or call.inside or not set(call.into) <= _KEEPS_FIRST:
        return False
    behind = list(call.words[call.words.index("log") + 1 :])
    while behind:
        word = behind.pop(0)
        if word in ("-n", "--max-count", "--format", "--pretty") and behind:
            behind.pop(0)
        elif not (HARMLESS if word.startswith("-") else _CURRENT).fullmatch(word):
            return False
    return True


def _pattern(call: Call) -> re.Pattern[str] | None:
    given = call.value("--format", "--pretty")
    return next((lines for shape, lines in _FORMATS if shape.fullmatch(given)), None)
