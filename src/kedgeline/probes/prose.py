"""Probes answered by a text in words of its own: how it tells what became of a file, how a command
ended and what was not done. Only who reads the summaries of others needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile

from kedgeline.model import Matter, Probe
from kedgeline.probes.answering import beginning
from kedgeline.text.prose import holds_plain, plain

_GONE = r"delet|remov|drop"
_MOVED = r"renam|mov(?:e|es|ed|ing)\b"
_MADE = r"creat|new\b|add(?:s|ed|ing)?\b|wr[io]t|introduc|generat|implement"
_DONE = (
    rf"{_MADE}|modif|chang|updat|edit|fix|refactor|rewr|replac|simplif|exten|clean|convert"
    r"|adjust|improv|switch|insert|import|extract|restor|correct|renumber"
)
_AT = "\0"
"""Stands for the file that is asked about."""
_QUOTED = r"[\"'`*]*"
_REACH = r"[^;]{0,200}"
"""How far behind a verb it may stand what it is about: some thirty words."""
_INSIDE = (
    rf"\b(?:{_GONE}|{_MOVED}|revert)\w*\s{_REACH}\b(?:from|in|inside|within|of)\s+{_QUOTED}{_AT}"
    rf"|^\W*{_AT}\W.*\b(?:{_GONE}|{_MOVED}|revert)\w*\s+"
    r"(?!(?:again|and|as|because|by|for|from|in|later|since|then|to|when|with)\b)[\w\"'`]"
)
"""A part of the file went or moved: of it, or in a list below it."""
_TOOK_BACK = r"revert|undid|undone|undo\b|discard|restor|roll(?:ed|s|ing)? back"


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_VERBS = {
    "created": _any_case(rf"\b(?:{_MADE})"),
    "modified": _any_case(rf"\b(?:{_DONE})|{_INSIDE}"),
    "change": _any_case(rf"\b(?:{_DONE})|{_INSIDE}"),
    "deleted": _any_case(rf"\b(?:{_GONE})"),
    "renamed": _any_case(rf"\b(?:{_MOVED})"),
}
"""How others tell what became of a file."""
_IS_INSIDE = _any_case(_INSIDE)
_STANDS: tuple[Matter, ...] = ("created", "modified", "change")
"""What is told of files that are still there, and are not as they were."""
_FILE_GONE = _any_case(
    rf"\b(?:{_GONE}|{_MOVED}|{_TOOK_BACK})\w*\s+(?:(?:the|whole|file|files)\s+)*{_QUOTED}{_AT}"
    rf"|\b(?:{_TOOK_BACK})\w*\s{_REACH}\b(?:chang|edit|modif)\w*\s+(?:to|in|of)\s+{_QUOTED}{_AT}"
    rf"|{_AT}{_QUOTED}\s+(?:was|were|is|are|has been|have been|got)\s+(?:(?:then|later|again)\s+)*"
    rf"(?:{_GONE}|{_MOVED}|{_TOOK_BACK})"
    rf"|{_AT}{_QUOTED}\s*[:(–—-]*\s*(?:{_GONE}|{_MOVED}|{_TOOK_BACK})\w*[).,;]*$"
)
"""The file itself went, or is as it was before."""
_NOT_DONE = _any_case(
    r"(?:\b(?:never|not|no longer|cannot|to be|should be|must be|will be)|n['’]t)\s+(?:\w+\s+){0,2}"
    rf"(?:{_GONE}|{_MOVED}|{_DONE}|appl|touch|made\b|done\b)"
    r"|\b(?:no|without)\s+(?:\w+\s+)?(?:chang|edit|modif)"
)

_FAILED = r"fail|broke|error"
_PASSED = r"pass|succe|clean|green|ok\b"
_ENDED = {
    "passes": _any_case(rf"\b(?:{_PASSED}|no (?:issues|errors))"),
    "FAILS": _any_case(rf"\b(?:{_FAILED})"),
}
_NONE = _any_case(
    rf"\b(?:no|0|zero|without(?: any)?)\s+(?:\w+\s+)?(?:{_FAILED})\w*|(?<!\d)0/\d+\s+fail\w*"
)
"""What says that nothing failed is no word of a failure."""
_TAKEN_BACK = {
    "passes": _any_case(
        rf"(?:\b(?:not|never|no longer)|n['’]t)\s+(?:\w+\s+){{0,2}}(?:{_PASSED})"
        rf"|\bnow\s+(?:\w+\s+){{0,3}}(?:{_FAILED})"
        r"|\b[1-9]\d*\s+(?:\w+\s+)?fail\w*\b(?!\s+(?:before|earlier|initially|previously)\b)"
    ),
    "FAILS": _any_case(
        rf"(?:\b(?:not|never|no longer|used to|previously)|n['’]t)\s+(?:\w+\s+){{0,1}}(?:{_FAILED})"
        rf"|\bnow\s+(?:all|both|everything|fully)\s+(?:\w+\s+){{0,2}}(?:{_PASSED})"
        rf"|\b(?:all|both|everything)\s+(?:\w+\s+)?now\s+(?:{_PASSED})"
        r"|\bnow\s+(?:passes|succeeds|green|clean)|\b(?:passes|passing|green|clean)\s+(?:again|now)"
    ),
}
"""A sentence that says so of a command tells of another end."""
_COUNTED = re.compile(r"(\d+) (.+) (pass|fail)ed")
_STEM = {"pass": _PASSED, "fail": "fail", "skip": "skip"}
_UNITS = ("test", "suite", "file", "spec", "assert", "example", "scenario", "package")
"""What is counted: one thing is not another."""

_NOT = r"(?:\s+not|\s+never|n['’]t)"
_CHANGES = r"\b(?:changes?|edits?|modifications?|work|files?|code|i|we|agent|user|they)"
_BETWEEN = r"(?:(?:was|were|is|are|has|have|been|yet|here|so|far|anything|of|it|this)\s+){0,3}"
"""Words that leave a sentence one of what was: may, must and to be make a rule of it."""
_ABSENT = {
    "The agent made no commit": _any_case(
        rf"\bnothing\s+{_BETWEEN}committed\b|\bnot\s+yet\s+committed\b"
        rf"|{_CHANGES}\s+(?:was|were|is|are|has|have|had|did){_NOT}\s+{_BETWEEN}commit(?:ted)?\b"
        r"|\bno\s+(?:\w+\s+)?commits?"
        r"(?=\s+(?:was|were|has|have|is|are|made|yet|so far)\b|\s*$|[.,;)])"
        r"|\b(?:is|are|all|still|left|remains?|everything)\s+uncommitted\b"
    ),
    "No test was run": _any_case(
        rf"\bno\s+(?:\w+\s+)?tests?\s+{_BETWEEN}(?:run|ran|executed)\b"
        rf"|\btests?\s+(?:was|were|has|have){_NOT}\s+{_BETWEEN}(?:run|executed)\b"
        rf"|\b(?:did|has|have|had){_NOT}\s+(?:run|executed?)\s+"
        r"(?:\w+\s+)?tests?\b|\bnever\s+ran\s+(?:\w+\s+)?tests?\b|\buntested\b"
    ),
}
"""How others tell what was not done. What must not be done is a rule, and no state."""
_FENCES = ("```", "~~~")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+")


def became(matter: Matter, path: str, lines: Sequence[str]) -> bool:
    """Whether a line that names a file, and a list below it, tell that this became of it."""
    left, named = [], re.compile(rf"(?<![\w./-]){re.escape(path)}(?![\w/]|[.-]\w)")
    for sentence in _sentences(lines):
        at = named.sub(_AT, sentence)
        if _NOT_DONE.search(at) or (matter in _STANDS and _FILE_GONE.search(at)):
            if _AT in at:
                return False
            continue
        left.append(at)
    told = " ".join(left)
    if matter in ("deleted", "renamed") and _IS_INSIDE.search(told):
        return False
    return _VERBS[matter].search(told) is not None


def ended(line: str, command: str, wanted: Sequence[str]) -> bool:
    """Whether a line that names a command tells how it ended, with its counts."""
    end = "FAILS" if "FAILS" in wanted else "passes"
    left = []
    for sentence in _sentences((line,)):
        if _TAKEN_BACK[end].search(sentence.replace(command, "")):
            if holds_plain(sentence, command):
                return False
            continue
        left.append(sentence.replace(command, ""))
    told = " ".join(left)
    return all(_says(told, one) for one in wanted)


def was_not_done(what: str, lines: Sequence[str]) -> bool:
    """Whether a line tells that something was not done that one would expect. Code that is quoted
    tells nothing of it."""
    pattern, fenced = _ABSENT[what], False
    for line in lines:
        if line.startswith(_FENCES):
            fenced = not fenced
        elif not fenced and pattern.search(line):
            return True
    return False


def _says(text: str, wanted: str) -> bool:
    if wanted in _ENDED:
        found = _ENDED[wanted]
        return found.search(_NONE.sub("", text) if wanted == "FAILS" else text) is not None
    if (counted := _COUNTED.fullmatch(wanted)) is None:
        return holds_plain(text, plain(wanted))
    count, unit, stem = int(counted[1]), counted[2], _STEM[counted[3]]
    others = "|".join(one for one in (*_UNITS, *_STEM) if one not in unit)
    number = rf"(?<![\w.,/-])(?:{count}|{count:,})"
    of = r"(?:\s*/\s*\d+|\s+(?:out\s+)?of\s+\d+)?"
    before = rf"{number}{of}\s+(?:(?!{others})[a-z-]+\s+){{0,3}}(?:{stem})"
    behind = rf"\b(?:{stem})\w*\s*[:=]\s*{number}(?![.,]?\d)"
    return re.search(f"{before}|{behind}", text, re.IGNORECASE) is not None


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    return (sentence for line in lines for sentence in _SENTENCE_END.split(line))


# Probes asked of a text in words of its own: it has no sections, and says what it says in its own
# way.

LABELS = frozenset(
    (
        "OPEN",
        "Resolved",
        "Branch",
        "HEAD",
        "Pushed",
        "Pull request",
        "Tag",
        "Edited since the last test run",
        "Edited since the last commit",
        "No test was run",
        "The agent made no commit",
    )
)
"""Our words for what is the matter with a thing: another text has its own."""
OURS_ALONE: tuple[Matter, ...] = ("edited since",)
"""Matters that no other text tells in words that could be known again."""
FILES: tuple[Matter, ...] = ("created", "modified", "deleted", "renamed", "change")
NEAR = 3
"""Lines of a list below one that names a file in which it may be told what was done to it."""
ABBREVIATED = 7
"""Characters of a commit's hash that tell it."""
LONG = 1_000
"""Characters of the user's words from which their beginning and their end tell them: nobody says a
pasted log again."""

_LABEL = re.compile(r"(?:Mode|Plan file|Worktree): ")
"""Our words in front of a thing."""
_COUNT = re.compile(r"\d+ of \d+")
"""What we count ourselves."""
_PUBLISHED = re.compile(r"\b(?:push|PR\b|pull request|tag)", re.IGNORECASE)
_POINT = re.compile(r"\s*[-*•] ")
_PLUMBING = re.compile(r"(?:\s+2>(?:&1|/dev/null)|\s+\|\s+(?:head|tail|grep|cat|tee)\b[^|]*)+$")
"""What is put behind a command to see less of what it says: another text leaves it out."""


class Prose:
    """A text whose sentences are looked through for what a probe is about."""

    def __init__(self, text: str) -> None:
        text = text.replace("\\|", "|")  # in a table a bar is written in this way
        self._raw = text.split("\n")
        self._lines = [plain(line) for line in self._raw]
        self._whole = plain(text)

    def tells(self, probe: Probe) -> bool:
        """Whether what is asked for stands there, in whatever words of its own."""
        if probe.matter == "absence":
            return was_not_done(probe.key or probe.expected[0], self._lines)
        about = subject(probe)
        if not about or probe.matter in OURS_ALONE:
            return False
        return _READ.get(probe.matter, Prose._has)(self, probe, plain(about))

    def _has(self, probe: Probe, about: str) -> bool:
        return holds_plain(self._whole, about)

    def _quotes(self, probe: Probe, about: str) -> bool:
        if len(about) <= LONG:  # within a sentence it begins with a small letter
            begun = {about, about[:1].lower() + about[1:], about[:1].upper() + about[1:]}
            return any(holds_plain(self._whole, one) for one in begun)
        return self._has(probe, beginning(about)) and self._has(probe, _ending(about))

    def _begins(self, probe: Probe, about: str) -> bool:
        return self._has(probe, beginning(about))

    def _runs(self, probe: Probe, about: str) -> bool:
        return self._has(probe, bare(about))

    def _knows(self, probe: Probe, about: str) -> bool:
        return about[:ABBREVIATED] in self._whole

    def _did(self, probe: Probe, about: str) -> bool:
        return any(became(probe.matter, about, lines) for lines in self._around(about))

    def _ended(self, probe: Probe, about: str) -> bool:
        """A command and how it ended, with its counts where there are any."""
        command, wanted = bare(about), probe.expected[1:]
        return any(ended(line, command, wanted) for line in self._with(command))

    def _published(self, probe: Probe, about: str) -> bool:
        return any(_PUBLISHED.search(line.replace(about, "")) for line in self._with(about))

    def _reported(self, probe: Probe, about: str) -> bool:
        """All of it in one line: a paragraph, or an item of a list."""
        wanted = [plain(part) for part in probe.expected]
        return any(all(holds_plain(line, part) for part in wanted) for line in self._with(about))

    def _with(self, part: str) -> Iterator[str]:
        return (line for line in self._lines if holds_plain(line, part))

    def _around(self, path: str) -> Iterator[tuple[str, ...]]:
        """Lines that name a path, each with the list below it."""
        for number, line in enumerate(self._lines):
            if holds_plain(line, path):
                behind = takewhile(partial(_is_below, self._raw[number]), self._raw[number + 1 :])
                yield line, *map(plain, islice(behind, NEAR))


_READ: dict[Matter, Callable[[Prose, Probe, str], bool]] = {
    **dict.fromkeys(FILES, Prose._did),
    "request": Prose._quotes,
    "rule": Prose._quotes,
    "decision": Prose._begins,
    "question": Prose._begins,
    "command": Prose._runs,
    "head": Prose._knows,
    "commit": Prose._knows,
    "check": Prose._ended,
    "published": Prose._published,
    "finding": Prose._reported,
}
"""How each matter is looked for; all others to the letter."""


def subject(probe: Probe) -> str:
    """What a probe is about: the first that is expected and no word of ours; empty where all
    are."""
    things = (part for part in probe.expected if part not in LABELS and not _COUNT.fullmatch(part))
    return _LABEL.sub("", next(things, ""), count=1)


def bare(command: str) -> str:
    """A command without what is put behind it to see less of what it says."""
    return _PLUMBING.sub("", command)


def _is_below(above: str, line: str) -> bool:
    """Whether a line belongs to a list below another: it is moved in, or begins one."""
    depth, moved = (len(one) - len(one.lstrip()) for one in (above, line))
    return moved > depth or bool(_POINT.match(line) and not _POINT.match(above))


def _ending(text: str) -> str:
    """The last words, as `beginning` gives the first."""
    return beginning(text[::-1])[::-1]
