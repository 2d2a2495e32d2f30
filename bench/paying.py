"""What the estimate of paying rests on: how long sessions go on, how fast they grow, and what is
read again after a compaction."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.corpus import Corpus, Mean, Origin, Watch, mean_of
from bench.tables import Table, origin_line, with_interval
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Transcript, Turn, Value
from kedgeline.planning.policy import remaining_after
from kedgeline.tokens import EXACT

AFTER = (5, 10, 20, 30, 50, 75, 100, 150)
"""Turns after which it is counted how many more come; beyond the last there are too few sessions to
count."""
HORIZON = 40
"""Turns around a compaction in which files that are read again are counted: as many as
`kedgeline bench replay` looks at."""
LEAST_AFTER = 5
"""Turns on both sides of a compaction that is counted: fewer show nothing."""
LEAST_TURNS = 20
"""Of a session whose growth is counted: shorter ones are mostly their first request."""


class Remaining(Value, frozen=True):
    """Turns that come after so many."""

    after: int
    sessions: int
    """That have come so far."""
    lower: float
    """A quarter of them end within so many turns."""
    median: float
    mean: Mean | None
    taken: int
    """What the estimate takes."""


class Again(Value, frozen=True):
    """Files read again around the compactions that another system made."""

    compactions: int
    folded: float
    """Tokens, in the mean."""
    read_after: Mean | None
    """Share of the folded tokens that was read again within the horizon."""
    read_before: Mean | None
    """The same in as many turns before it, of what had been read before these."""
    calls_after: float
    calls_before: float
    """Reads of such files, in the mean of the compactions."""


class Paying(Value, frozen=True):
    origin: Origin
    remaining: tuple[Remaining, ...]
    growth: float
    """Tokens a turn adds: the median of the means of the sessions."""
    again: Again


class _Reads(NamedTuple):
    session: str
    folded: int
    after: int
    calls_after: int
    before: int
    calls_before: int


def measure(folder: Path, *, watch: Watch) -> Paying:
    """Measure over every session below a folder."""
    corpus = Corpus(folder, watch=watch)
    lengths: list[tuple[str, int]] = []
    growth: list[float] = []
    reads: list[_Reads] = []
    for session in corpus:
        transcript = session.transcript
        turns = transcript.turns
        lengths.append((session.key, len(turns)))
        if len(turns) >= LEAST_TURNS:
            growth.append(sum(turn.tokens for turn in turns) / len(turns))
        reads.extend(_reads(session.key, transcript))
    if not lengths:
        raise SourceUnreadable(str(folder), "no sessions there")
    return Paying(
        origin=corpus.origin(),
        remaining=tuple(_remaining(lengths)),
        growth=statistics.median(growth) if growth else 0.0,
        again=_again(reads),
    )


def _remaining(lengths: Sequence[tuple[str, int]]) -> Iterator[Remaining]:
    for after in AFTER:
        more = [(session, count - after) for session, count in lengths if count > after]
        if more:
            ordered = sorted(count for _, count in more)
            yield Remaining(
                after=after,
                sessions=len(more),
                lower=ordered[len(ordered) // 4],
                median=statistics.median(ordered),
                mean=mean_of((session, float(count), 1) for session, count in more),
                taken=remaining_after(after),
            )


def _reads(session: str, transcript: Transcript) -> Iterator[_Reads]:
    """At each compaction with turns enough around it."""
    turns = transcript.turns
    made = sorted({one.turn for one in transcript.compactions if one.kind == "summary"})
    edges = [0, *made, len(turns)]
    for begin, cut, end in zip(edges, edges[1:], edges[2:], strict=False):
        span = min(HORIZON, end - cut, cut - begin)
        if span < LEAST_AFTER:
            continue
        folded = turns[begin:cut]
        after, calls_after = _read_again(folded, turns[cut : cut + span])
        before, calls_before = _read_again(folded[:-span], folded[-span:])
        tokens = sum(turn.tokens for turn in folded)
        yield _Reads(session, tokens, after, calls_after, before, calls_before)


def _read_again(earlier: Sequence[Turn], later: Sequence[Turn]) -> tuple[int, int]:
    """Tokens and number of the reads of files that had been read earlier."""
    known = {path for turn in earlier for path, _ in _read(turn)}
    found = [output for turn in later for path, output in _read(turn) if path in known]
    return sum(map(EXACT.count, found)), len(found)


def _read(turn: Turn) -> Iterator[tuple[str, str]]:
    """Files that were read, with what came of it."""
    for call in turn.tool_calls:
        result = turn.result_of(call)
        if call.verb == "read" and result is not None and result.success:
            for path in call.paths()[:1]:
                yield path, result.output


def _again(reads: Sequence[_Reads]) -> Again:
    count = len(reads)
    return Again(
        compactions=count,
        folded=sum(one.folded for one in reads) / count if count else 0.0,
        read_after=mean_of((one.session, float(one.after), one.folded) for one in reads),
        read_before=mean_of((one.session, float(one.before), one.folded) for one in reads),
        calls_after=sum(one.calls_after for one in reads) / count if count else 0.0,
        calls_before=sum(one.calls_before for one in reads) / count if count else 0.0,
    )


TURNS = ("after turn", "sessions that go on", "a quarter ends within", "median", "mean", "taken")
AGAIN = ("measure", "value")


def tables(found: Paying) -> list[Table]:
    return [
        Table("paying-turns", TURNS, _turn_rows(found)),
        Table("paying-again", AGAIN, _again_rows(found)),
    ]


def origin(found: Paying) -> str:
    return origin_line(found.origin)


def _turn_rows(found: Paying) -> list[tuple[str, ...]]:
    return [
        (
            f"{one.after:,}",
            f"{one.sessions:,}",
            f"{one.lower:,.0f}",
            f"{one.median:,.0f}",
            with_interval(one.mean, ".0f"),
            f"{one.taken:,}",
        )
        for one in found.remaining
    ]


def _again_rows(found: Paying) -> list[tuple[str, str]]:
    again = found.again
    return [
        ("compactions of another system", f"{again.compactions:,}"),
        ("tokens folded, in the mean", f"{again.folded:,.0f}"),
        (
            f"of these read again in the next {HORIZON} turns",
            with_interval(again.read_after, ".1%"),
        ),
        ("the same in as many turns before", with_interval(again.read_before, ".1%")),
        (
            "reads of such files, after and before",
            f"{again.calls_after:.1f} and {again.calls_before:.1f}",
        ),
        ("tokens a turn adds, median of the sessions", f"{found.growth:,.0f}"),
    ]
