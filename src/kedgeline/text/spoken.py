"""The user's own words: cut into sentences, without what is pasted, and searched for cues."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any, NamedTuple, cast

from kedgeline.text.prose import NO_END

# Cues: words that say what a sentence is for.


def cues_of(package: str) -> dict[str, Any]:
    """The tables of a package's `cues.toml`; [words] are lists of regular expressions."""
    tables = tomllib.loads((get_data(package, "cues.toml") or b"").decode())

    def filled(row: str) -> str:
        return re.sub(r"\{([a-z]+)\}", lambda part: filled(tables["parts"][part[1]]), row)

    words = tables["words"].items()
    return {**tables, "words": {kind: [filled(row) for row in rows] for kind, rows in words}}


_WORDS: dict[str, list[str]] = cues_of("kedgeline.text")["words"]
_LEAD = rf"(?:(?:{'|'.join(_WORDS['leads'])})(?:[\s,!.:;—–-]+|$)){{0,3}}"


class _Late:
    """A pattern that is compiled when it is first used: an import has no words to look at."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._pattern, re.IGNORECASE), name)
        setattr(self, name, found)
        return found


def late(pattern: str) -> re.Pattern[str]:
    """A long pattern, whatever its case."""
    return cast(re.Pattern[str], _Late(pattern))


def at_beginning(rows: Iterable[str], *, ending: str = r"(?!\w)") -> re.Pattern[str]:
    """Cues that count only where a sentence begins, or behind words such as "ok"."""
    return late(rf"{_LEAD}(?P<cue>{'|'.join(rows)}){ending}")


def anywhere(rows: Iterable[str]) -> re.Pattern[str]:
    """Cues that count wherever they stand, as whole words."""
    return late(rf"(?<!\w)(?:{'|'.join(rows)})(?!\w)")


# A user's words cut into sentences, without code, quotes and pasted output.

LOOKED_AT = 2_000
"""Characters of a message in which its opening stands. What a user thinks of the work stands at
the beginning; what follows is the next request, or pasted text."""
SENTENCES = 3
"""Sentences of an opening: two are searched for cues, the third may take back what the second
says."""
SENTENCE_LENGTH = 240
"""Characters of a sentence of an opening: longer ones are pasted."""
HIDDEN = "⌑"
"""Stands where code or a quote stood: not the user's own words, and no beginning of a sentence."""
HEAD, TAIL = 48_000, 16_000
"""Characters from the beginning and from the end of a message that are cut: a user speaks before
and behind what is pasted."""
REMEMBERED = 8
"""Messages kept cut: whoever looks for rules, questions and choices cuts the same one."""
COMMAND_NAME = 120
"""Characters of a command's name."""
WRAPPED = 50
"""Characters of a line from which its end may be that of the window it was typed in."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|^[ \t]{0,3}>.*$", re.MULTILINE)
_LONG_QUOTE = re.compile(r"\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_END = re.compile(r"[.!?…。！？](?:(?<=[.!?…])(?<!\.\.)[\"'”’)\]*_`]{0,3}(?=\s)|(?<=[。！？]))")
"""The end of a sentence with its closing mark first: all other characters are passed over."""
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*•+]|\d{1,2}[.)]|#{1,6})[ \t]+")
_RUN = re.compile(rf"{HIDDEN}+")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\w)|(?<=[\w.!?:])[*_]{1,3}(?!\w)")
_SEEN = re.compile(r"[^\n]")
_PASTED = re.compile(
    r"\s*(?:"
    r"[⎿➜⏺●✓✔✗✘│├└╭╰┌─━═⠇⠙]"  # drawn by a terminal
    r"|[$%] \S|>>> "  # its prompt
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d"
    r"|\[[\w.-]{1,30}\] \S"  # [INFO], [theme]
    r"|(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b[: ]"
    r"|[\w./-]{1,60}: (?:error|warning|fatal|usage): "
    r"|[^|\n]{0,200} \| [^|\n]{0,200} \| "  # a row of a table
    r"|(?:error|warning|fatal|remote|panic|npm (?:ERR!|error)|\w{0,40}(?:Error|Exception))\b"
    r"[^:\n]{0,30}:"
    r"|at \S{1,200} ?\(?\S{1,300}:\d|File \"|Traceback \(|E {2,}\S"
    r"|--- (?:FAIL|PASS|SKIP)|(?:FAIL|PASS|FAILED|ok)\b[: \t]+\S{1,200}[/.]"
    r"|diff --git |@@ |index [0-9a-f]{7}|\+\+\+ |--- [ab]/|[+-] ?\d{1,5} "
    r"|\S{1,200}\.\w{1,5}:\d{1,6}[: )]"
    r"|[0-9a-f]{7,40} |commit [0-9a-f]{7}|(?:Author|Date): "
    r"|[{}\[\]|;<]|.{0,400}\S {8}|.{0,400}[^.\s] {4,}$"
    r")"
)
"""How lines begin, or look, that a terminal or a program wrote."""


class Sentence(NamedTuple):
    """A sentence of a user's, as it stands in the text."""

    start: int
    end: int
    plain: str
    """Without code, quotes and emphasis, on one line, with straight apostrophes: to look for cues
    in."""
    paragraph: int
    item: bool = False
    """Whether it begins an item of a list."""


def opening(words: str) -> tuple[str, ...]:
    """The first sentences, plain."""
    return _opening(words[:LOOKED_AT])


@lru_cache(maxsize=REMEMBERED)
def _opening(words: str) -> tuple[str, ...]:
    text = _CODE.sub(HIDDEN, words.replace("’", "'"))
    text = _QUOTED.sub(HIDDEN, text)
    sentences = (part.strip() for part in _SENTENCE_END.split(text))
    return tuple(part[:SENTENCE_LENGTH] for part in sentences if part)[:SENTENCES]


def quoted_words(words: str, most: int) -> str:
    """The user's words for a description: on one line, cut."""
    line = " ".join(words[: most * 4].split())
    return f'"{line}"' if len(line) <= most else f'"{line[: most - 1].rstrip()}…"'


def spoken(words: str) -> list[Sentence]:
    """All sentences the user wrote: none of code, of quotes alone, or of pasted output."""
    if len(words) <= HEAD + TAIL:
        return list(_remembered(words))
    behind = len(words) - TAIL
    tail = words[behind:]
    if words.count("```", 0, behind) % 2:
        behind, tail = behind + _behind_fence(tail), tail[_behind_fence(tail) :]
    return [*_sentences(words[:HEAD], 0), *_sentences(tail, behind)]


@lru_cache(maxsize=REMEMBERED)
def _remembered(words: str) -> tuple[Sentence, ...]:
    return tuple(_sentences(words, 0))


def _behind_fence(text: str) -> int:
    fence = text.find("```")
    return len(text) if fence < 0 else fence + 3


class _Line(NamedTuple):
    start: int
    text: str


def _sentences(words: str, offset: int) -> Iterator[Sentence]:
    text = _masked(words)
    for number, paragraph in enumerate(_paragraphs(text)):
        for start, end in _joined(paragraph):
            yield from _cut(text, start, end, offset, number)


def _masked(words: str) -> str:
    """Of the same length, so that places stay."""
    text = words.replace("’", "'")
    for pattern in (_CODE, _LONG_QUOTE, _QUOTED):
        text = pattern.sub(lambda found: _SEEN.sub(HIDDEN, found[0]), text)
    return text


def _paragraphs(text: str) -> Iterator[list[_Line]]:
    """Lines between blank ones, without pasted ones. Where most lines are pasted all are, except
    the first of the message: there the user says what the rest is."""
    place, lines = 0, list[_Line]()
    for line in (*text.splitlines(keepends=True), "\n"):
        if line.strip():
            lines.append(_Line(place, line.rstrip("\r\n")))
        elif lines:
            yield _typed(lines)
            lines = []
        place += len(line)


def _typed(lines: list[_Line]) -> list[_Line]:
    typed = [line for line in lines if not _PASTED.match(line.text)]
    if 2 * len(typed) > len(lines):
        return typed
    return [line for line in typed[:1] if line.start == 0]


def _joined(lines: list[_Line]) -> Iterator[tuple[int, int]]:
    """Where a line that was only wrapped is one with the next."""
    start = end = -1
    for number, line in enumerate(lines):
        if number and _goes_on(lines[number - 1], line):
            end = line.start + len(line.text)
            continue
        if start >= 0:
            yield start, end
        start, end = line.start, line.start + len(line.text)
    if start >= 0:
        yield start, end


def _goes_on(before: _Line, line: _Line) -> bool:
    adjacent = before.start + len(before.text) + 2 >= line.start
    ended = before.text.rstrip()[-1:] in ".!?:;…"
    return (
        adjacent
        and not ended
        and len(before.text) >= WRAPPED
        and not _ITEM.match(line.text)
        and line.text.lstrip()[:1].islower()
    )


def _cut(text: str, start: int, end: int, offset: int, paragraph: int) -> Iterator[Sentence]:
    found = _ITEM.match(text, start, end)
    item, begin = found is not None, found.end() if found else start
    for stop in (*(match.end() for match in _END.finditer(text, begin, end)), end):
        part = text[begin:stop]
        if stop != end and NO_END.search(part.strip()):
            continue
        plain = _EMPHASIS.sub("", _RUN.sub(HIDDEN, " ".join(part.split())))
        if plain.strip(f"{HIDDEN} .,:;"):
            first = begin + len(part) - len(part.lstrip())
            last = stop - len(part) + len(part.rstrip())
            yield Sentence(offset + first, offset + last, plain, paragraph, item)
            item = False
        begin = stop


class SlashCommand(NamedTuple):
    name: str
    """Without its slash."""
    arguments: str
    """As the user typed them."""


EXPANDED = {
    "review": r"You are a code reviewer\. Your job is to review code changes and provide actionable"
    r" feedback\.\n\n---\n\nInput: (?P<arguments>.{0,4000}?)\n\n---\n",
    "init": r"Create or update `AGENTS\.md` for this repository\.\n\nThe goal is a compact "
    r".{0,400}?\(honor these\):\n(?P<arguments>.{0,4000}?)\n\n## How to investigate\n",
}
"""How the texts begin that OpenCode puts in the place of a command which the user ran."""


def expanded_in(text: str) -> SlashCommand | None:
    """The command that a client expanded into a text."""
    for name, template in EXPANDED.items():
        if found := re.match(template, text, re.DOTALL):
            return SlashCommand(name, found["arguments"].strip())
    return None


def command_in(note: str) -> SlashCommand | None:
    """The command in a note; None where there is none in tags.

    The tags also hold what files say of the command: its message before or behind the name, its
    contents at the end. Neither can be taken for arguments: these stand last before the contents,
    and behind the name."""
    tags = note.partition("<command-contents>")[0]
    before, closed, behind = tags.rpartition("</command-name>")
    name = before.rpartition("<command-name>")[2].strip().removeprefix("/")
    if not closed or not 0 < len(name) <= COMMAND_NAME or set(name) & set("< \t\n"):
        return None
    _, opened, rest = behind.rpartition("<command-args>")
    arguments, ended, _ = rest.rpartition("</command-args>")
    return SlashCommand(name, arguments.strip() if opened and ended else "")


# What a user opens, and what an answer proposes, by the words it is said in.

_SHIFT = at_beginning(_WORDS["shifts"])
_ASKED_FOR = anywhere(("can|could|would|couldn't|shouldn't",))
_PROPOSAL = anywhere(_WORDS["proposals"])


def opens_task(words: str) -> bool:
    """Whether one of the first two sentences opens a task; the first often speaks of the last."""
    return any(
        _SHIFT.match(sentence) and (not sentence.endswith("?") or _ASKED_FOR.search(sentence))
        for sentence in opening(words)[:2]
    )


def proposes(answer: str) -> bool:
    """Whether an answer, or the end of one, proposes something or asks for approval."""
    return _PROPOSAL.search(answer) is not None
