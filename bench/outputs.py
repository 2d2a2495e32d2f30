"""Which outputs of tools are needed again, and whether it could have been told beforehand.

A session is cut at several places. An output is needed again where the agent writes a name that it
had known, before anything shows it again, and no smaller or newer output held that name. What is
measured of an output is known at the cut; whether it tells those that are needed from the others is
measured on sessions that the weights were not fitted on: of two outputs before one cut, one needed
and one not, how often the needed one comes first (the area under the curve, AUC)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import NamedTuple

from bench.corpus import Corpus, Mean, Origin, Watch, mean_of
from bench.fit import FOLDS, LEAST_AFTER, LEAST_TURNS, Row, fitted
from bench.replay.names import EXACT, HORIZON, SHARES, Cut, Looked, Names, whole
from bench.replay.needed import Session
from bench.tables import Table, origin_line, with_interval
from kedgeline.errors import SourceUnreadable
from kedgeline.model import ToolCall, Turn, Value
from kedgeline.planning.masking import LEAST_SAVING, maskable
from kedgeline.summary.story import HALF_LIFE

VERBS = ("read", "search", "run")
"""Kinds of calls that are told apart; all others are one."""
SIGNALS = (
    *("size", "recent", "current", "failed", "again", "edited", "names", "used", "shown"),
    *VERBS,
)
TRIED: Mapping[str, tuple[str, ...]] = {
    "size alone": ("size",),
    "age alone": ("recent",),
    "size, age and kind of call": ("size", "recent", "current", *VERBS),
    "all signals": SIGNALS,
}


class Output(NamedTuple):
    shown: Looked
    call: ToolCall
    tokens: int

    @property
    def turn(self) -> int:
        return self.shown.turn


class Sample(NamedTuple):
    session: str
    rows: tuple[Row, ...]
    masked: tuple[bool, ...]
    """By the rules that are in use."""

    @property
    def fold(self) -> int:
        return sum(self.session.encode()) % FOLDS


class Told(Value, frozen=True):
    by: str
    auc: Mean


class Outputs(Value, frozen=True):
    origin: Origin
    sessions: int
    cuts: int
    outputs: int
    needed: int
    told: tuple[Told, ...]
    masked: Mean
    """Share of outputs that the rules in use would mask."""
    masked_needed: Mean
    """The same of those that are needed again."""
    weights: dict[str, float]


def measure(folder: Path, *, watch: Watch) -> Outputs:
    corpus = Corpus(folder, watch=watch, counter=None)
    samples = [sample for one in corpus for sample in samples_of(one.key, Session(one.transcript))]
    if not samples:
        raise SourceUnreadable(str(folder), "no session there has outputs that are needed again")
    told = []
    for by, names in TRIED.items():
        watch(by)
        told.append(Told(by=by, auc=_auc(samples, names)))
    return Outputs(
        origin=corpus.origin(),
        sessions=len({one.session for one in samples}),
        cuts=len(samples),
        outputs=sum(len(one.rows) for one in samples),
        needed=sum(row.used for one in samples for row in one.rows),
        told=tuple(told),
        masked=_masked(samples, needed=False),
        masked_needed=_masked(samples, needed=True),
        weights=fitted((one.rows for one in samples), SIGNALS),
    )


def samples_of(key: str, session: Session) -> Iterator[Sample]:
    turns = session.transcript.turns
    if len(turns) < LEAST_TURNS:
        return
    for share in SHARES:
        turn = int(len(turns) * share)
        cut = Cut(where="fair", turn=turn, end=min(len(turns), turn + HORIZON))
        if cut.end - cut.turn < LEAST_AFTER:
            continue
        sources = session.needed(cut).task.sources.values()
        needed = {(one.turn, one.number) for one in sources}
        outputs = list(_outputs(session, turns[:turn]))
        rows = tuple(
            Row(signals, (one.turn, one.shown.number) in needed)
            for one, signals in zip(
                outputs, signals_of(outputs, turns[:turn], session), strict=True
            )
        )
        if any(row.used for row in rows) and not all(row.used for row in rows):
            gone = _masked_by_rules(turns[:turn])
            masked = tuple((one.turn, one.call.id) in gone for one in outputs)
            yield Sample(key, rows, masked)


def _outputs(session: Session, turns: Sequence[Turn]) -> Iterator[Output]:
    """Those that could be masked to some effect, and that somebody may ask for again."""
    for turn in turns:
        calls = {call.id: call for call in turn.tool_calls}
        for shown in session.told(turn.index).looked:
            call, tokens = calls.get(shown.result.call_id), EXACT.count(whole(shown.result))
            if call is not None and tokens >= LEAST_SAVING:
                yield Output(shown, call, tokens)


def _masked_by_rules(turns: Sequence[Turn]) -> set[tuple[int, str]]:
    found = maskable(turns, count=EXACT.count, task_from=_task_from(turns))
    return {(one.turn, one.call_id) for one in found}


def _task_from(turns: Sequence[Turn]) -> int:
    return next((one.index for one in turns if one.exchange == turns[-1].exchange), 0)


def signals_of(
    outputs: Sequence[Output], turns: Sequence[Turn], session: Session
) -> list[dict[str, float]]:
    """What is known of each output at the cut."""
    task, last = _task_from(turns), turns[-1].index
    later = _Later()
    found: list[dict[str, float]] = []
    behind = [*outputs]
    for turn in reversed(turns):
        here = []
        while behind and behind[-1].turn == turn.index:
            one = behind.pop()
            names = one.shown.names
            here.append(one)
            found.append(
                {
                    "size": log2(one.tokens),
                    "recent": 0.5 ** ((last - one.turn) / HALF_LIFE),
                    "current": float(one.turn >= task),
                    "failed": float(one.shown.result.failed),
                    "again": float(_same(one.call) in later.calls),
                    "edited": float(not later.edited.isdisjoint(one.call.paths())),
                    "names": log2(1 + len(names)),
                    "used": log2(1 + len(names.keys() & later.written)),
                    "shown": len(names.keys() & later.shown) / len(names) if names else 1.0,
                    **{verb: float(one.call.verb == verb) for verb in VERBS},
                }
            )
        later.take(turn, here, session.told(turn.index).written)
    return found[::-1]


class _Later:
    """What came behind a turn, up to the cut."""

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.edited: set[str] = set()
        self.written: set[str] = set()
        self.shown: set[str] = set()

    def take(self, turn: Turn, outputs: Sequence[Output], written: Names) -> None:
        self.written.update(written)
        for one in outputs:
            self.calls.add(_same(one.call))
            self.shown.update(one.shown.names)
        for call in turn.tool_calls:
            if call.verb in ("edit", "write"):
                self.edited.update(call.paths())


def _same(call: ToolCall) -> str:
    """Equal for calls of one tool with the same parameters."""
    return repr((call.tool, sorted(call.parameters.items())))


def _auc(samples: Sequence[Sample], names: Sequence[str]) -> Mean:
    """With weights of other sessions."""
    parts = []
    for fold in range(FOLDS):
        weights = fitted((_only(one.rows, names) for one in samples if one.fold != fold), names)
        for one in samples:
            if one.fold == fold:
                first, pairs = _pairs([(_score(row, weights), row.used) for row in one.rows])
                parts.append((one.session, first, pairs))
    found = mean_of(parts)
    assert found is not None
    return found


def _only(rows: Sequence[Row], names: Collection[str]) -> list[Row]:
    return [
        Row({name: much for name, much in row.signals.items() if name in names}, row.used)
        for row in rows
    ]


def _score(row: Row, weights: Mapping[str, float]) -> float:
    return sum(weight * row.signals[name] for name, weight in weights.items())


def _pairs(scored: Sequence[tuple[float, bool]]) -> tuple[float, int]:
    """Of pairs of one that is needed and one that is not: in how many the needed one comes first,
    and how many there are. Equal ones count half."""
    needed = [score for score, used in scored if used]
    others = [score for score, used in scored if not used]
    first = sum((one > other) + (one == other) / 2 for one in needed for other in others)
    return first, len(needed) * len(others)


def _masked(samples: Sequence[Sample], *, needed: bool) -> Mean:
    parts = [
        (one.session, float(masked), 1)
        for one in samples
        for row, masked in zip(one.rows, one.masked, strict=True)
        if row.used or not needed
    ]
    found = mean_of(parts)
    assert found is not None
    return found


TOLD = ("told by", "AUC")
WEIGHTS = ("signal", "weight")


def tables(found: Outputs) -> list[Table]:
    return [
        Table("outputs-weights", WEIGHTS, _weight_rows(found), ""),
        Table("outputs", TOLD, _told_rows(found)),
    ]


def _told_rows(found: Outputs) -> Iterator[tuple[str, ...]]:
    for one in found.told:
        yield one.by, with_interval(one.auc)


def _weight_rows(found: Outputs) -> Iterator[tuple[str, ...]]:
    for name, weight in found.weights.items():
        yield name, f"{weight:.2f}"


def origin(found: Outputs) -> str:
    return (
        f"{found.outputs:,} outputs before {found.cuts} cuts of {found.sessions} sessions, "
        f"{found.needed:,} of them needed again. The rules in use would mask "
        f"{with_interval(found.masked)} of all and {with_interval(found.masked_needed)} of those. "
        f"{origin_line(found.origin)}"
    )
