"""The rules at work: one pass over a text says which of them may find something, and only these
look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, Protocol

from kedge.redaction.contexts import ADDRESSES, GAP, HEADERS, KEYS, NAMED
from kedge.redaction.encoded import decoded, hint_and_pattern
from kedge.redaction.expressions import compiled, together
from kedge.redaction.plausible import assigned, certain, entropy, password_like, random_looking
from kedge.redaction.providers import CLOUDS, CODE_HOSTS, MODELS
from kedge.redaction.rules import BREAK, JOIN, Rule, shaped
from kedge.redaction.services import DOCUMENTS, MAIL_AND_CHAT, MONITORING, PAYMENTS
from kedge.redaction.spans import Span

SLICE = 32_768
"""Bytes looked at in one go: a rule that may find something reads no more than this for it."""
OVERLAP = 4_096
"""Bytes before and behind a slice that are looked at with it: longer than a token is."""
LONGEST = 16_384
"""Bytes by which a find that fills the overlap is followed: a private key has a few thousand."""
HINT = 128
"""Bytes before and behind a slice in which a hint may end or begin."""
NAME = 80
"""Characters of a name that are looked at: the last ones say what it is."""

PROVIDERS = (*CODE_HOSTS, *MODELS, *CLOUDS, *PAYMENTS, *MAIL_AND_CHAT, *MONITORING, *DOCUMENTS)
_ALSO_IN_BASE64 = ("-----BEGIN ", "AGE-SECRET-KEY-1", "eyJhbGciOi", "eyJ0eXAiOi")
_IN_BASE64 = hint_and_pattern((*(p for rule in PROVIDERS for p in rule.prefixes), *_ALSO_IN_BASE64))
ENCODED = shaped("secret in base64", *_IN_BASE64, "encoded")
RULES: tuple[Rule, ...] = (*PROVIDERS, *KEYS, ENCODED, *ADDRESSES, *HEADERS, *NAMED)
"""What several find is named by the first."""

_TAIL_LINES = rf"(?:[A-Za-z0-9+/=]{{16,}}{GAP}*)+[A-Za-z0-9+/=]*{GAP}*\z"
"""What stands before the last line of a private key whose first lines are cut off."""


class Finds(Protocol):
    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[Span]:
        """Secrets that begin from `first` on and before `end`; `last` is as far as is read."""


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

    @cached_property
    def _further(self) -> Any:
        """The second half of a token behind a line break."""
        return compiled(f"{BREAK}{JOIN}({self.rule.body}+)".encode())

    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[Span]:
        for match in self._pattern.finditer(data, first, last):
            if match.start() >= end:
                return
            if match.end() == last < len(data):
                longer = min(len(data), last + LONGEST)
                match = self._pattern.match(data, match.start(), longer) or match
            yield from self._judged(data, match)

    def matches(self, data: bytes) -> bool:
        return next(self.find(data, 0, len(data), len(data)), None) is not None

    def _judged(self, data: bytes, match: Any) -> Iterator[Span]:
        rule, group = self.rule, self._groups
        start, end = match.span(group)
        while start < 0:
            group -= 1
            start, end = match.span(group)
        if rule.body:
            end = self._both_halves(data, group == 1, start, end)
        elif end - start < rule.least:
            return
        if rule.judge == "tail":
            start = _before(data, start)
            kind = rule.kind if start < match.start() else ""
        else:
            kind = self._kind(data, match, start, end) if start < end else ""
        if kind:
            yield Span(start, end, kind, self.rank)

    def _both_halves(self, data: bytes, whole: bool, start: int, end: int) -> int:
        """Where a token ends that may go on behind a line break; its beginning where it is too
        short to be one."""
        rule = self.rule
        if whole and rule.length and end - start >= rule.length:
            return end
        rest = self._further.match(data, end, min(len(data), end + OVERLAP))
        if not rest:
            return end if whole else start
        second = rest.group(1)
        size = end - start + len(second)
        enough = whole or size >= rule.least + min(map(len, rule.prefixes))
        if (rule.length and size >= rule.length) or (enough and random_looking(second)):
            return int(rest.end(1))
        return end if whole else start

    def _kind(self, data: bytes, match: Any, start: int, end: int) -> str:
        """What was found, or nothing where it is no secret."""
        rule, value = self.rule, data[start:end]
        if rule.entropy and (entropy(value) < rule.entropy or b"EXAMPLE" in value):
            return ""
        if rule.judge == "random":
            return rule.kind if random_looking(value) else ""
        if rule.judge == "password":
            return rule.kind if password_like(value) or certain(value) else ""
        if rule.judge == "bearer":
            return rule.kind if random_looking(value) or certain(value) else ""
        if rule.judge == "encoded":
            return _inside(value)
        if rule.judge == "assigned":
            name = match.group(1)[-NAME:]
            quoted = data[start - 1 : start] in (b'"', b"'", b"`")
            if name == b"secret" and data[match.start() - 1 : match.start()] == b"[":
                return ""  # a mark names what it hides, not what stands behind it
            return assigned(name, value, quoted=quoted, after=data[end : end + 1])
        return rule.kind


def _before(data: bytes, end: int) -> int:
    """Where the lines of a key begin that end here."""
    first = max(0, end - LONGEST)
    lines = _tail().search(data[first:end])
    return first + lines.start() if lines else end


@cache
def _tail() -> Any:
    return compiled(_TAIL_LINES.encode())


def _inside(run: bytes) -> str:
    """The kind of a secret in a run of base64."""
    for said in decoded(run):
        for searcher in searchers().candidates(said):
            if searcher.rule.kind in _SURE_INSIDE and searcher.matches(said):
                return f"{searcher.rule.kind} in base64"
    return ""


_SURE_INSIDE = frozenset(rule.kind for rule in (*PROVIDERS, *KEYS))


class Searchers:
    """All rules, and the hints that say which of them are worth a look."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._all = tuple(Searcher(rule, rank) for rank, rule in enumerate(rules))
        self._hints = together(rule.hint.encode() for rule in rules)

    def candidates(self, data: bytes | memoryview) -> list[Searcher]:
        return [self._all[number] for number in sorted(self._hints.Match(data) or ())]

    def find(
        self, data: bytes, over: Callable[[], bool], always: tuple[Finds, ...] = ()
    ) -> tuple[list[Span], int]:
        """Secrets, and how far the text was read before the time was over. `always`: what looks at
        every slice."""
        view, position = memoryview(data), 0
        found: list[Span] = []
        before: tuple[Finds, ...] = ()
        while position < len(data):
            end = min(len(data), position + SLICE)
            first, last = max(0, position - OVERLAP), min(len(data), end + OVERLAP)
            reached = end
            if over():
                return found, position
            hinted = self.candidates(view[max(0, position - HINT) : end + HINT])
            candidates = (*always, *hinted)
            for searcher in candidates:
                if over():
                    return found, position
                start = position if searcher in before else first
                for span in searcher.find(data, start, end, last):
                    found.append(span)
                    reached = max(reached, span.end)  # what is hidden already need not be looked at
            # Another find may begin inside the one that reaches over the end: look back at it then.
            position, before = reached, candidates if reached == end else ()
        return found, position


@cache
def searchers() -> Searchers:
    return Searchers(RULES)
