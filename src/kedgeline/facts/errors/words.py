"""What the user's words say of work that was done, and what was tried, in a few words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname
from typing import Any

from kedgeline.facts.errors.runs import Open, Ran, Step, alike, tags_of
from kedgeline.facts.extractor import Recent
from kedgeline.facts.files.edits import pairs_in
from kedgeline.facts.files.paths import Paths
from kedgeline.facts.session import EXIT_PLAN, plain_name
from kedgeline.model import ToolCall
from kedgeline.outcomes import Outcome, Touch
from kedgeline.outcomes.calls import shell_line
from kedgeline.outcomes.telling import LONGEST, TRACED, Told
from kedgeline.text.prose import cut, one_line, sentences

WHY_SHOWN = 200
"""Characters of a reason: two sentences of a user."""
WHAT_SHOWN = 90
"""Characters of a command or a line of code: one line of a terminal."""
EDIT_WITHIN = 20_000
"""Characters of the old and of the new text of an edit that are compared."""
LOOKED_AT = 4_000
"""Characters of the user's words from which a reason is taken."""
HEARD = 800
"""Characters of the user's words in which a cue counts; behind them stands what they pasted."""

_WORK = (
    r"(?:all (?:of )?)?(?:that|this|it|those|these|everything|your(?: \w{1,12}){0,2}"
    r"|the (?:last|latest|previous)(?: \w{1,12})?|the (?:changes?|edits?))\b"
)
_UNDID = re.compile(
    r"\bI(?:[’']ve| have)? (?:just |already |had to )?(?:undid|undone|reverted|rolled back"
    rf"|backed out|discarded|undo) {_WORK}",
    re.IGNORECASE,
)
_UNDO = re.compile(
    rf"(?P<before>.{{0,24}}?)\b(?:revert|undo|roll back|back out) {_WORK}", re.IGNORECASE
)
_TO_UNDO = ("revert", "undo", "roll back", "back out")
_UNDOING = ("undid", "undone", "revert", "rolled back", "backed out", "discarded", "undo")
"""One of these stands in what they match."""
_ASKS = re.compile(
    r"(?:^|[.!?,;:—–-]|\b(?:please|pls|can you|could you|would you|you can|let[’']?s|and|then|just"
    r"|so|now|also|ok|okay|yes|yeah|no|must|need to))\s*$",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\W{0,8}(?:[\w’']{1,20}\W{1,4})?(?:stop|don[’']?t|do not|no|nope|not|instead|wrong|why"
    r"|wait|never|isn[’']?t|shouldn[’']?t|hold on|cancel|rather)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\W*(?:continue|go on|go ahead|carry on|resume|proceed|keep going|try again|retry|yes|ok)\b"
    r"\W*(?:please\W*)?$",
    re.IGNORECASE,
)
_SENDS_ON = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )\b(?:continue|go on|go ahead|carry on|resume|proceed|keep going"
    r"|try (?:it |that )?again|retry|by (?:mistake|accident)|accidental(?:ly)?"
    r"|(?:run|do) (?:it|that|them)(?: now| again)?\W*$)",
    re.IGNORECASE,
)
ON_THE_WAY = 120
"""Characters of words that send the agent on, whatever else they say."""
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,3} +(.{1,200})$", re.MULTILINE)
_TELLS = re.compile(r"print|console\.|fmt\.P|\blog|debug|dbg!|t\.Log|puts |echo ", re.IGNORECASE)
_COMMENTS = ("//", "#", "/*", "*", "--", '"""', "<!--")


def undone_by_user(words: str) -> str:
    """The sentence in which the user says to have taken work back; empty without one."""
    if not _speaks_of(_UNDOING, words):
        return ""
    return next((s for s in sentences(words[:HEARD]) if _UNDID.search(s)), "")


def asked_to_undo(words: str) -> str:
    """The sentence in which the user asks for work to be taken back; empty without one."""
    for sentence in sentences(words[:HEARD]) if _speaks_of(_TO_UNDO, words) else ():
        found = _UNDO.search(sentence)
        if found and _ASKS.search(sentence[: found.end("before")]):
            return sentence
    return ""


def _speaks_of(cues: tuple[str, ...], words: str) -> bool:
    """Whether there is anything to look for, sentence by sentence."""
    heard = one_line(words[:HEARD]).casefold()
    return any(cue in heard for cue in cues)


def against(words: str) -> bool:
    """Whether words begin by speaking against something."""
    return _AGAINST.match(words[:HEARD]) is not None


def goes_on(words: str) -> bool:
    """Whether the words only send the agent on."""
    return _GOES_ON.match(words[:HEARD]) is not None


def sends_on(words: str) -> bool:
    """Whether short words want what was stopped to go on."""
    return len(words) <= ON_THE_WAY and _SENDS_ON.search(words) is not None


def why(words: str) -> str:
    """The user's words; what they pasted, only where there are no others."""
    words = words[:LOOKED_AT]
    spoken = _BLOCK.sub(" … ", words)
    return cut(one_line(spoken if any(map(str.isalnum, spoken)) else words), WHY_SHOWN)


def attempt(call: ToolCall, paths: Paths) -> str:
    """What a call was to do; empty for one that only asks."""
    if proposes_plan(call):
        plan = call.parameters.get("plan")
        title = _HEADING.search(plan[:2_000]) if isinstance(plan, str) else None
        return f"plan “{cut(title[1].strip(), WHAT_SHOWN)}” as proposed" if title else ""
    if line := shell_line(call):
        return f"`{cut(one_line(line[: WHAT_SHOWN * 8]), WHAT_SHOWN)}`"
    if call.verb in ("edit", "write", "delete", "move"):
        return _edit(call, paths)
    if call.verb == "delegate":
        said = call.parameters.get("description")
        return f"sub-agent “{cut(one_line(said), WHAT_SHOWN)}”" if isinstance(said, str) else ""
    return "" if call.verb == "ask" else f"a call of {call.tool[:60]}"


def proposes_plan(call: ToolCall) -> bool:
    return plain_name(call) in EXIT_PLAN


def _edit(call: ToolCall, paths: Paths) -> str:
    path = paths.name(next(iter(call.paths()), ""))
    if not path:
        return ""
    pair = next(iter(replacements(call.parameters)), None)
    line = telling_line(added_lines(*pair)) if pair else ""
    return f"{call.verb} of {path}" + (f" (`{line}`)" if line else "")


def replacements(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Old and new texts of an edit."""
    return [(piece.old, piece.new) for piece in pairs_in(parameters)]


def telling_line(lines: Sequence[str]) -> str:
    """The first of the lines that an edit adds, of code where there is any."""
    code = (line for line in lines if not line.startswith(_COMMENTS))
    line = next(code, lines[0] if lines else "")
    return cut(one_line(line).replace("`", "'"), WHAT_SHOWN)


def only_prints(lines: Sequence[str]) -> bool:
    """Whether all that an edit adds prints something: put in to be taken out again."""
    code = [line for line in lines if not line.startswith(_COMMENTS)]
    return bool(code) and all(_TELLS.search(line) for line in code)


def added_lines(old: str, new: str) -> list[str]:
    """The lines that an edit adds and that say something."""
    before = {*map(str.strip, old[:EDIT_WITHIN].splitlines())}
    lines = map(str.strip, new[:EDIT_WITHIN].splitlines())
    return [line for line in lines if line not in before and any(map(str.isalnum, line))]


# What makes two errors the same one, and where an error says it is.

KEY_LENGTH = 200
"""Characters of a key: a message and a path."""
MOST_PLACES = 8
"""Places named with one error; a compiler may repeat it at every call site."""

_VARIABLE = re.compile(
    r"(?P<address>\b(?:https?|ssh)://\S{1,300})"
    r"|(?P<scratch>(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'\":,;)\]]{1,300})"
    r"|(?P<time>\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\.\d{1,9})?\b)"
    r"|(?P<hexadecimal>\b0x[0-9a-fA-F]{1,32}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,30}\b"
    r"|\b(?=[a-f]{0,40}\d)[0-9a-f]{7,64}\b)"
    r"|(?P<number>(?<![\w.])[-+]?\d{1,18}(?:\.\d{1,18}){0,4}(?:ms|s|m|h|%|kB|KB|MB|GB)?(?![\w]))"
)
"""What differs from one time to the next. Digits within names stay: `TS2304`, `utf8`."""
_TYPECHECK = " (typecheck)"
"""What a linter puts behind the compiler's own message."""
_QUOTES = str.maketrans(dict.fromkeys('`"“”‘’´', "'"))
_PLACE = re.compile(r"(?<![\w/.])((?:[A-Za-z]:)?[\w.@+/\\-]{1,300}\.[A-Za-z]\w{0,7}):(\d{1,7})\b")
_ON_LINE = re.compile(r"\bin (\S{1,300}\.\w{1,8}) on line (\d{1,7})\b")


def key_of(line: str, root: str) -> str:
    """The line without what changes from one time to the next."""
    text = one_line(line[:LONGEST]).translate(_QUOTES)
    if text.endswith(_TYPECHECK):
        text = text.removesuffix(_TYPECHECK)
        text = text[:-1] if text.endswith(")") and text.count("(") < text.count(")") else text
    if root:
        text = text.replace(f"{root.rstrip('/')}/", "")
    return cut(_VARIABLE.sub(_folded, text), KEY_LENGTH)


def _folded(found: re.Match[str]) -> str:
    return found[0] if found.lastgroup == "address" else "#"


def places_of(told: Told, paths: Paths, folder: str) -> tuple[str, ...]:
    """`file:line`, seen from the root; as written where the folder is not known."""
    written: Iterable[str] = told.places
    if not told.places and not TRACED.search(told.line):
        pairs = (*_PLACE.findall(told.line), *_ON_LINE.findall(told.line))
        written = (f"{file}:{line}" for file, line in pairs if "//" not in file)
    seen = (_seen_from_root(place, paths, folder) for place in written)
    return tuple(dict.fromkeys(place for place in seen if place))[:MOST_PLACES]


def _seen_from_root(place: str, paths: Paths, folder: str) -> str:
    file, _, line = place.rpartition(":")
    name = paths.name(file, folder)
    led_out = file.startswith("..") and (name.startswith(("/", "..")) or not folder)
    return "" if led_out or not name else f"{name}:{line}"


# Requests that ask the same of the same thing, at another address.

CLIENTS = frozenset({"gh", "glab", "hub"})
"""Programs that send requests, and fail where the answer is an error."""
_IDENTIFIER = re.compile(
    r"\d{5,20}|[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
"""Numbers of five digits, hashes and the like: shorter ones meet by chance."""
_METHOD = ("-X", "--method")
_SENDS = frozenset({"-f", "-F", "--field", "--raw-field", "--input"})
"""Options with which something is sent: the same address without them only shows what is there."""


def same_request(passing: Ran, failed: Ran) -> bool:
    """Whether two requests name the same thing by its identifier, end alike, and both send
    something or both do not."""
    if failed.program not in CLIENTS or passing.words[:2] != failed.words[:2]:
        return False
    if _manner(passing) != _manner(failed):
        return False
    asked = set(_things(failed))
    return any(thing in asked for thing in _things(passing))


def _things(ran: Ran) -> Iterator[tuple[str, str]]:
    """Each identifier in an address, with the last part of that."""
    for word in ran.words[2:]:
        parts = word.partition("?")[0].rstrip("/").split("/")
        if len(parts) > 1 and not word.startswith("-"):
            yield from ((part, parts[-1]) for part in parts if _IDENTIFIER.fullmatch(part))


def _manner(ran: Ran) -> tuple[str, bool]:
    """The method where it is given, and whether something is sent."""
    pairs = zip(ran.words, ran.words[1:], strict=False)
    method = next((word for option, word in pairs if option in _METHOD), "")
    return method, any(word.partition("=")[0] in _SENDS for word in ran.words)


# Go packages that a run shows to have been built, whatever came of their tests.

PACKAGE_RUN = re.compile(
    r"^(?:\[[\w:.@/-]{1,60}\] )?(?:ok|FAIL)[ \t]{1,8}(\S{1,300})[ \t]{1,8}"
    r"(?:\(cached\)|[\d.]{1,12}s)",
    re.MULTILINE,
)
"""A package whose tests took some time; one that was not built has `[build failed]` there."""
_EXCLUDED = re.compile(r"\bpackage (\S{1,300}): build constraints exclude all Go files")
_LINTED = re.compile(r" \((?!typecheck\))[a-z][\w-]{1,30}\)$")
_ELSEWHERE = re.compile(r"\bGO(?:OS|ARCH|FLAGS|EXPERIMENT)=")
"""Built for another machine, or with other options, than tests are run with."""


def shows_built(packages: frozenset[str], now: Ran, failed: Ran, error: Open) -> bool:
    """Whether tests were run of the package that could not be built before."""
    if excluded := _EXCLUDED.search(error.line):
        return excluded[1] in packages
    if error.kind != "compiler" or _LINTED.search(error.line) or _ELSEWHERE.search(error.about):
        return False
    with_go = {now.program, failed.program} == {"go"} and not tags_of(failed) - tags_of(now)
    if not with_go and not alike(now, failed):  # a task that runs the tests, run again
        return False
    folders = {dirname(place.rpartition(":")[0]) for place in error.places}
    return bool(folders) and all(
        any(f"/{package}".endswith(f"/{folder}") for package in packages) for folder in folders
    )


# What was done since an error: the files changed, and the installations made.

REMEMBERED = 64
"""Files remembered, the latest: few errors take more to mend."""
NAMED = 3
"""Files named as the ones that mended an error; the others are counted."""
COMMAND_SHOWN = 80
"""Characters of a command in what mended an error: one line of a terminal."""


class Changes:
    def __init__(self, paths: Paths) -> None:
        self.count = 0
        """All changes so far."""
        self._paths = paths
        self._files = Recent[str, int](REMEMBERED)
        self._installed = ("", 0)

    def add(self, outcome: Outcome, steps: Sequence[Step]) -> None:
        """Take what a call changed, but not what its commands printed into files."""
        self._put(touch for touch in outcome.touched if not _printed(touch))
        if any(step.passing and step.run.purpose == "install" for step in steps):
            self.count += 1
            self._installed = (shown(shell_line(outcome.call)), self.count)

    def add_printed(self, outcome: Outcome) -> None:
        """Take those too, when it is told what the call has shown to be past."""
        self._put(touch for touch in outcome.touched if _printed(touch))

    def _put(self, touched: Iterable[Touch]) -> None:
        for touch in touched:
            name = self._paths.name(touch.path)
            if touch.action == "read" or not name or self._paths.is_scratch(name):
                continue
            self.count += 1
            self._files.put(name, self.count)

    def since(self, count: int) -> tuple[str, ...]:
        """Files changed after so many changes."""
        return tuple(path for path, last in self._files.items() if last > count)

    def how(self, count: int) -> str:
        """What was done after so many changes, in a few words; empty where nothing was."""
        if files := self.since(count):
            return f"after editing {named(files)}"
        command, last = self._installed
        return f"by `{command}`" if last > count else ""

    def how_in(self, count: int, text: str) -> str:
        """The same, only of files that a text names."""
        files = [path for path in self.since(count) if basename(path.rstrip("/")) in text]
        return f"after editing {named(files)}" if files else ""


def _printed(touch: Touch) -> bool:
    return touch.by == "shell" and touch.action == "created"


def named(paths: Iterable[str]) -> str:
    """Base names, each once; the last ones first, as they were nearest to the success."""
    names = tuple(dict.fromkeys(basename(path.rstrip("/")) for path in reversed(tuple(paths))))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def shown(command: str) -> str:
    return cut(one_line(command[: COMMAND_SHOWN * 8]), COMMAND_SHOWN)
