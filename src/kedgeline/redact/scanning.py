"""The rules at work, in time that is linear in the text. Prefixes of tokens are looked for all at
once, and each rule is tried where one of its own stands; one more pass says which of the other
rules may find something. What is wrapped over lines is joined, what is encoded is decoded, and
both are looked at in the same way."""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple, Protocol

from kedgeline.redact.rules import (
    GAP,
    JUDGES,
    Rule,
    all_rules,
    assigned,
    compiled,
    entropy,
    expression,
    further,
    literals,
    together,
)

SLICE = 32_768
"""Bytes looked at in one go: a rule that may find something reads no more than this for it."""
OVERLAP = 4_096
"""Bytes before and behind a slice that are looked at with it: longer than a token is."""
LONGEST = 16_384
"""Bytes by which a find that fills the overlap is followed: a private key has a few thousand."""
HINT = 128
"""Bytes before and behind a slice in which a hint may end or begin."""
TOKEN = 1_024
"""Bytes of a token by which it is judged."""
NAME = 80
"""Characters of a name that are looked at: the last ones say what it is."""
DEPTH = 3
"""Times that a text is joined or decoded out of another: base64 of base64, wrapped."""
SHORT = 5
"""Characters of a prefix that may stand inside a word, or in base64 by chance."""
LINES = 8
"""Lines that are looked at for a secret that begins inside what is joined."""
BEFORE = 160
"""Bytes before a wrapped value that may name it."""


class SecretSpan(NamedTuple):
    """A secret, in bytes."""

    start: int
    end: int
    kind: str
    rank: int
    """Where several find the same, the lowest names it."""


class Finds(Protocol):
    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[SecretSpan]:
        """Secrets that begin from `first` on and before `end`; `last` is as far as is read."""


_LEFT = (
    rb"(?:\A[_-]?|[^0-9A-Za-z_-]|[^0-9A-Za-z][_-]|\\[nrtbf]|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}"
    rb"|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)"
)
"""What may stand before a token with a short prefix: nothing that goes on in base64. Escapes that
are written out end in a letter or digit."""
_TAIL_LINES = rf"(?:[A-Za-z0-9+/=]{{16,}}{GAP}*)+[A-Za-z0-9+/=]*{GAP}*\z".encode()
"""What stands before the last line of a private key whose first lines are cut off."""


class Searcher:
    """One rule, made ready when it is first needed."""

    def __init__(self, rule: Rule, rank: int) -> None:
        self.rule, self.rank = rule, rank

    @cached_property
    def _pattern(self) -> Any:
        return compiled(self.rule.pattern.encode())

    @cached_property
    def _groups(self) -> int:
        return int(self._pattern.groups)

    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[SecretSpan]:
        for match in self._pattern.finditer(data, first, last):
            if match.start() >= end:
                return
            yield from self._judged(data, self._whole(data, match, last))

    def at(self, data: bytes, start: int) -> SecretSpan | None:
        """The secret that begins here. It is judged by its beginning, and followed to its end: what
        begins often and goes far is not read as often."""
        end = min(len(data), start + TOKEN)
        match = self._pattern.match(data, start, end)
        if match and match.end() == end < len(data) and next(self._judged(data, match), None):
            match = self._pattern.match(data, start, min(len(data), start + LONGEST))
        return next(self._judged(data, match), None) if match else None

    def _whole(self, data: bytes, match: Any, last: int) -> Any:
        if match.end() == last < len(data):
            longer = min(len(data), last + LONGEST)
            match = self._pattern.match(data, match.start(), longer) or match
        return match

    def _judged(self, data: bytes, match: Any) -> Iterator[SecretSpan]:
        rule, group = self.rule, self._groups
        start, end = match.span(group)
        while start < 0:
            group -= 1
            start, end = match.span(group)
        if end - start < rule.least:
            return
        if rule.judge == "tail":
            start = _before(data, start)
            kind = rule.kind if start < match.start() else ""
        else:
            kind = self._kind(data, match, start, end) if start < end else ""
        if kind:
            yield SecretSpan(start, end, kind, self.rank)

    def _kind(self, data: bytes, match: Any, start: int, end: int) -> str:
        """What was found, or nothing where it is no secret."""
        rule, value = self.rule, data[start:end]
        if rule.entropy and (entropy(value) < rule.entropy or b"EXAMPLE" in value):
            return ""
        if rule.judge == "assigned":
            name = match.group(1)[-NAME:]
            quoted = data[start - 1 : start] in (b'"', b"'", b"`")
            if name == b"secret" and data[match.start() - 1 : match.start()] == b"[":
                return ""  # a mark names what it hides, not what stands behind it
            return assigned(name, value, quoted=quoted, after=data[end : end + 1])
        return rule.kind if JUDGES[rule.judge](value) else ""


def _before(data: bytes, end: int) -> int:
    """Where the lines of a key begin that end here."""
    first = max(0, end - LONGEST)
    lines = expression(_TAIL_LINES).search(data[first:end])
    return first + lines.start() if lines else end


_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _digits(wanted: Callable[[int], bool]) -> str:
    """Digits of base64, also in the alphabet for addresses, by their values."""
    every = "".join(chr(c) for value, c in enumerate(_ALPHABET) if wanted(value))
    return "[" + every.replace("+", "+_") + ("-]" if "/" in every else "]")


_TEXT_IN_BASE64 = (
    f"(?:{_digits(lambda v: 8 <= v < 32 or v in (0, 2))}{_digits(lambda v: not v & 8)}"
    f"{_digits(lambda v: not v & 2)}[A-Za-z0-9+/_-]){{5,}}[A-Za-z0-9+/_-]*={{0,2}}"
)
"""Groups that stand for three bytes of ASCII, or of UTF-16 as PowerShell takes it: their highest
bits are 0. Other texts hardly ever have five in a row."""
_TEXT_IN_HEX = "[2-7][0-9A-Fa-f](?: ?[2-7][0-9A-Fa-f]){9,}(?: ?[0-9A-Fa-f]{2})*"
_ESCAPE = r"(?:%|\\(?:x|u00))([0-9A-Fa-f]{2})"
_ESCAPED = (
    r"[A-Za-z0-9_.~-]*(?:(?:%(?:2[DdEe]|5[Ff])|\\(?:x|u00)[2-7][0-9A-Fa-f])[A-Za-z0-9_.~-]*)+"
)
"""With escapes for letters, digits and signs that need none."""
_RUN, _DIGIT, _NAME = "[A-Za-z0-9+/_=.~%:-]", "[A-Za-z0-9+/_=~%-]", "[A-Za-z0-9_.~%:-]"
_JOINT = r"""["'] ?[+.&]? ?["']|\xe2\x80[\x8b-\x8d]|\xc2\xad"""
"""Between two strings in code that are put together, and signs that nobody sees."""
_BREAK = rf"""(?:[\r"'\\ \t+]*(?:\n|\\n)[ \t+>|"'#*]*|{_JOINT})"""
"""The end of a line inside a value that is wrapped, continued or concatenated, and what stands
before the rest of it: indentation, a quotation mark, the sign of a diff."""
_LINE_END = re.compile(rb"\\n|\n|" + _JOINT.encode())
_BEHIND_LINES = b"\r\"'\\ \t"
_BEFORE_LINES = re.compile(rb"""[ \t>|"'#*\\]*""")
_IN_A_DIFF = re.compile(rb"""[ \t>|"'#*\\+]*""")
_ADDED = (b"' +", b"'+", b'" +', b'"+')
"""Two strings in code, at the end of the first one's line."""
_WRAPPED = (
    f"(?:{_DIGIT}{{8,}}{_BREAK}{_DIGIT}{{8,}}|{_NAME}{{8,}}{_BREAK}{_NAME}{{8,}}"
    f"|{_NAME}{{12,}}{_BREAK}{_NAME}{{4,}}|{_NAME}{_BREAK}{_NAME}{{12,}}){_RUN}*(?:{_BREAK}{_RUN}+)*"
)
"""Enough on both sides of a break, or much on one. Most lines of a text end in a short word, and
paths have slashes and dots: these are not both in what is wrapped."""
_ENCODED = f"{_ESCAPED}|{_TEXT_IN_HEX}|{_TEXT_IN_BASE64}"
_DIGITS, _CAPITALS = b"0123456789", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HEX = re.compile(_TEXT_IN_HEX.encode())
APART = b"\n\x00\n"
"""Between texts that are looked at as one: nothing goes over it."""
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


ENCODINGS = (" in base64", " in hex", " escaped")


def plain_kind(kind: str) -> str:
    """A kind without how it was encoded."""
    for ending in ENCODINGS:
        kind = kind.removesuffix(ending)
    return kind


def _lines(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a wrapped value, from one line each; the first with what stands before it."""
    first = max(0, start - BEFORE)
    before = data[first:start]
    escaped = before.rfind(b"\\n") + 2 if b"\\n" in before else 0
    start = first + max(before.rfind(b"\n") + 1, escaped)
    signs = _IN_A_DIFF if data[start : start + 1] == b"+" else _BEFORE_LINES
    while start < end:
        found = _LINE_END.search(data, start, end)
        stop, following = found.span() if found else (end, end)
        line = data[start:stop]
        if found:
            line = line.rstrip(_BEHIND_LINES)
            line = line[:-1].rstrip(_BEHIND_LINES) if line.endswith(_ADDED) else line
        yield start, start + len(line)
        start = signs.match(data, following, end).end()  # type: ignore[union-attr]


def _by_chance(run: bytes) -> bool:
    """Whether a secret may be in a run at all: words and names have few digits and capitals."""
    return (
        len(run.translate(None, _DIGITS)) < len(run)
        or len(run) - len(run.translate(None, _CAPITALS)) > 5
    )


class Viewed(NamedTuple):
    """A text that was joined or decoded, and where in the data it came from."""

    text: bytes
    parts: list[tuple[int, int]]
    encoding: str = ""
    """How it was decoded; nothing where lines were joined."""

    @classmethod
    def of(cls, data: bytes, start: int, end: int) -> Viewed:
        run = data[start:end]
        if _LINE_END.search(run):
            parts = list(_lines(data, start, end))
            return cls(b"".join(data[first:last] for first, last in parts), parts)
        if b"%" in run or b"\\" in run:
            plain = re.sub(_ESCAPE.encode(), lambda one: bytes.fromhex(one[1].decode()), run)
            return cls(plain, [(start, end)], ENCODINGS[2])
        if _HEX.fullmatch(run):
            return cls(bytes.fromhex(run.decode()), [(start, end)], ENCODINGS[1])
        run = run.rstrip(b"=").translate(_TO_STANDARD)
        run = run[: len(run) - 1] if len(run) % 4 == 1 else run
        text = b64decode(run + b"=" * (-len(run) % 4)).replace(b"\0", b"")
        return cls(text, [(start, end)], ENCODINGS[0])

    def span(
        self, data: bytes, found: SecretSpan, find: Callable[[bytes], Iterable[SecretSpan]]
    ) -> SecretSpan | None:
        """A secret of the text as it stands in the data; nothing where it is in one line, and is
        found without joining. A last line that may be something else belongs to it only if there
        is no secret without it."""
        if self.encoding:
            (start, end), kind = self.parts[0], plain_kind(found.kind) + self.encoding
            return found._replace(start=start, end=end, kind=kind)
        starts = list(accumulate((last - first for first, last in self.parts), initial=0))
        first, last = bisect_right(starts, found.start) - 1, bisect_left(starts, found.end) - 1
        end = found.end
        while last > first and not (
            further(self.text[starts[last] : end]) or self._surely_wrapped(data, last)
        ):
            if not any(one.start == found.start for one in find(self.text[: starts[last]])):
                break
            end, last = starts[last], last - 1
        if last <= first:
            return None
        start = self.parts[first][0] + found.start - starts[first]
        return found._replace(start=start, end=self.parts[last][0] + end - starts[last])

    def _surely_wrapped(self, data: bytes, line: int) -> bool:
        """Whether a line goes on with the one before: a backslash or quotation marks say so, or all
        lines before it are of one width."""
        gap = data[self.parts[line - 1][1] : self.parts[line][0]]
        if gap.startswith((b"\\\n", b"\\\r\n", b"\\\\n", b"\xe2", b"\xc2")):
            return True
        if sum(map(gap.count, (b"'", b'"'))) > 1:
            return True
        return line > 1 and len({end - start for start, end in self.parts[:line]}) == 1


def _same(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


class Scanner:
    """All rules, and what says which of them are worth a look."""

    def __init__(self, rules: tuple[Rule, ...], *, depth: int = DEPTH) -> None:
        self._depth = depth
        searchers = [Searcher(rule, rank) for rank, rule in enumerate(rules)]
        self._hinted = [searcher for searcher in searchers if not searcher.rule.prefixes]
        exact: dict[bytes, list[Searcher]] = defaultdict(list)
        self._services: dict[bytes, list[Searcher]] = defaultdict(list)
        for searcher in searchers:
            known = self._services if searcher.rule.any_case else exact
            for text in searcher.rule.prefixes:
                known[text.encode()].append(searcher)
        self._tokens = {
            prefix: {
                one: None for other, some in exact.items() for one in some if _same(prefix, other)
            }
            for prefix in exact
        }
        """By a prefix, those of its own, of shorter and of longer ones."""
        long = {prefix for prefix in exact if len(prefix) > SHORT} or {b"\x00" * 64}
        self._prefixes = literals({*exact} - long, long, self._services, left=_LEFT)
        self._hints = together(searcher.rule.hint.encode() for searcher in self._hinted)
        self._viewed = [compiled(each.encode(), captures=False) for each in (_WRAPPED, _ENCODED)]

    def find(
        self, data: bytes, over: Callable[[], bool], always: tuple[Finds, ...] = (), depth: int = 0
    ) -> tuple[list[SecretSpan], int]:
        """Secrets, and how far the text was read before the time was over. `always`: what looks at
        every slice."""
        view, position = memoryview(data), 0
        found: list[SecretSpan] = []
        before: tuple[Finds, ...] = ()
        back = False
        while position < len(data):
            end = min(len(data), position + SLICE)
            first, last = max(0, position - OVERLAP), min(len(data), end + OVERLAP)
            look_from = first if back else position
            spans = list(self._prefixed(data, look_from, end, last))
            hints = sorted(self._hints.Match(view[max(0, position - HINT) : end + HINT]) or ())
            looking = (*always, *(self._hinted[number] for number in hints))
            for searcher in looking:
                if over():
                    return found, position
                start = position if searcher in before else first
                spans.extend(searcher.find(data, start, end, last))
            if depth < self._depth:
                spans.extend(self._views(data, look_from, end, last, over, always, depth))
            if over():
                return found, position
            found += spans
            reached = max([end, *(span.end for span in spans)])  # what is hidden need not be read
            # Another find may begin inside the one that reaches over the end: look back at it then.
            back = reached > end
            position, before = reached, () if back else looking
        return found, position

    def _prefixed(self, data: bytes, first: int, end: int, last: int) -> Iterator[SecretSpan]:
        stop = min(last, end + HINT)
        while match := self._prefixes.search(data, first, stop):
            start, first = match.span()
            if start >= end:
                return
            text = match.group()
            while text not in self._tokens and text.lower() not in self._services:
                start, text = start + 1, text[1:]  # what stands on the left of a short one
            for searcher in self._tokens.get(text) or self._services[text.lower()]:
                if span := searcher.at(data, start):
                    first = max(first, span.end)
                    yield span

    def _views(
        self,
        data: bytes,
        first: int,
        end: int,
        last: int,
        over: Callable[[], bool],
        always: tuple[Finds, ...],
        depth: int,
    ) -> Iterator[SecretSpan]:
        """Secrets of what is joined or decoded. All of it is looked at as one text."""

        def find(text: bytes) -> list[SecretSpan]:
            return self.find(text, over, always, depth + 1)[0]

        views, starts, size = [], [], 0
        for match in chain(*(pattern.finditer(data, first, last) for pattern in self._viewed)):
            if match.start() < end and self._may_hold(match.group()):
                for view in self._begun(Viewed.of(data, *match.span()), data):
                    views.append(view)
                    starts.append(size)
                    size += len(view.text) + len(APART)
        for span in find(APART.join(view.text for view in views)) if views else ():
            number = bisect_right(starts, span.start) - 1
            inside = span._replace(
                start=span.start - starts[number],
                end=min(span.end - starts[number], len(views[number].text)),
            )
            if placed := views[number].span(data, inside, find):
                yield placed

    def _may_hold(self, run: bytes) -> bool:
        return _by_chance(run) or self._prefixes.search(run) is not None

    def _begun(self, view: Viewed, data: bytes) -> Iterator[Viewed]:
        """What is joined; and again from each line on with which a secret may begin, as behind the
        last word of the line before it would be none, and without the lines behind its second, of
        which the same is true. In a block of one width none begins."""
        yield view
        parts, width = view.parts, 0
        for number, (start, end) in enumerate(parts[:-1] if len(parts) > 2 else ()):
            line, before, width = data[start:end], width, end - start
            new = _by_chance(line) and width != before
            if new or self._prefixes.match(line[:HINT]):
                for lines in {2, LINES if number else 2}:
                    later = parts[number : number + lines]
                    yield Viewed(b"".join(data[first:last] for first, last in later), later)


@cache
def scanner() -> Scanner:
    return Scanner(all_rules())


def merged_spans(spans: Iterable[SecretSpan], data: bytes) -> list[SecretSpan]:
    """In order, those that overlap as one, and no character cut."""
    found: list[SecretSpan] = []
    for span in sorted(spans):
        start, end = _whole(span.start, span.end, data)
        if found and start < found[-1].end:
            last = found.pop()
            first = min(last, span, key=lambda one: one.rank)
            found.append(SecretSpan(last.start, max(last.end, end), first.kind, first.rank))
        else:
            found.append(SecretSpan(start, end, span.kind, span.rank))
    return found


def outside(spans: Iterable[SecretSpan], marks: list[tuple[int, int]]) -> Iterator[SecretSpan]:
    """What of the spans is not in a mark. Both are in order."""
    number = 0
    for span in spans:
        start = span.start
        while number < len(marks) and marks[number][1] <= start:
            number += 1
        here = number
        while here < len(marks) and marks[here][0] < span.end:
            if start < marks[here][0]:
                yield span._replace(start=start, end=marks[here][0])
            start = max(start, marks[here][1])
            here += 1
        if start < span.end:
            yield span._replace(start=start)


def _whole(start: int, end: int, data: bytes) -> tuple[int, int]:
    """A character beyond ASCII has several bytes: none is left alone."""
    start = character(data, start)
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def character(data: bytes, position: int) -> int:
    """Where the character begins in which a position is."""
    while 0 < position < len(data) and data[position] & 0xC0 == 0x80:
        position -= 1
    return position
