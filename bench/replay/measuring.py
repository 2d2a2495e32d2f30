"""The replay over a folder of sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.corpus import RESAMPLES, SEED, Mean, Watch, files_below, fingerprint
from bench.replay.methods import Given, Method, methods
from bench.replay.names import EXACT, Cut, Where, before, cuts_of, task_scores
from bench.replay.needed import Needed, Scores, Session, Standing, means, scores_of
from kedgeline.errors import NotATranscript, SourceUnreadable
from kedgeline.model import Transcript, Value
from kedgeline.pipeline.read import read_all

BUDGETS = (2_048, 4_096)
"""Tokens: the longest level of a summary, and twice that."""
OWN = 0
"""In the place of a budget: the length of the other system's own summary."""
UNLIMITED = -1
"""In the place of a budget: none."""
LEAST_RATIO = 2
"""A session that is less than so many times the budget needs no compaction to it."""
NOTHING_TO_CUT = "no session there was compacted, or is long enough to be cut"
NOTHING_TO_COMPARE = "no cut there is one that the chosen methods can be compared at"


class Scored(Value, frozen=True):
    """One method at one cut."""

    method: str
    budget: int
    """0: as much as the other system's own summary has; -1: no limit."""
    tokens: int
    """What the text came to."""
    scores: Scores


class CutScores(Value, frozen=True):
    file: str
    """Below the folder."""
    session: int
    """Which, where a file holds several."""
    where: Where
    turn: int
    """The first one after the cut."""
    turns_after: int
    methods: tuple[Scored, ...]


class MethodMeans(Value, frozen=True):
    method: str
    tokens: float
    """Mean of what the texts came to."""
    means: dict[str, Mean]


class Group(Value, frozen=True):
    """Cuts of one sort, compacted to one size."""

    where: Where
    budget: int
    cuts: int
    sessions: int
    methods: tuple[MethodMeans, ...]


class Replay(Value, frozen=True):
    fingerprint: str
    """SHA-256 over the names and sizes of all files of the folder."""
    files: int
    """That are sessions."""
    sessions: int
    seed: int
    resamples: int
    groups: tuple[Group, ...]
    cuts: tuple[CutScores, ...]


def measure(
    folder: Path,
    *,
    budgets: Sequence[int] = BUDGETS,
    watch: Watch,
    compared: Sequence[Method] | None = None,
    places: Sequence[Where] = ("boundary", "fair"),
) -> Replay:
    """Cut every session below a folder, compact it by every method, score what stands there."""
    paths = files_below(folder)
    files = sessions = 0
    cuts: list[CutScores] = []
    used = methods() if compared is None else compared
    for path in paths:
        watch(path.name)
        try:
            transcripts = read_all(path)
        except (NotATranscript, SourceUnreadable):
            continue
        files, sessions = files + 1, sessions + len(transcripts)
        name = path.relative_to(folder).as_posix()
        for number, transcript in enumerate(transcripts):
            at = [cut for cut in cuts_of(transcript) if cut.where in places]
            cuts += _session(name, number, transcript, at, budgets, used)
    if not cuts:
        raise SourceUnreadable(str(folder), NOTHING_TO_CUT)
    if not any(cut.methods for cut in cuts):
        raise SourceUnreadable(str(folder), NOTHING_TO_COMPARE)
    watch("intervals")
    return Replay(
        fingerprint=fingerprint(folder, paths),
        files=files,
        sessions=sessions,
        seed=SEED,
        resamples=RESAMPLES,
        groups=tuple(_groups(cuts)),
        cuts=tuple(cuts),
    )


def _session(
    file: str,
    number: int,
    transcript: Transcript,
    cuts: Sequence[Cut],
    budgets: Sequence[int],
    compared: Sequence[Method],
) -> Iterator[CutScores]:
    if not cuts:
        return
    session = Session(transcript)
    for cut in cuts:
        needed = session.needed(cut)
        yield CutScores(
            file=file,
            session=number,
            where=cut.where,
            turn=cut.turn,
            turns_after=cut.end - cut.turn,
            methods=tuple(_scored(session, cut, needed, budgets, compared)),
        )


def _scored(
    session: Session,
    cut: Cut,
    needed: Needed,
    budgets: Sequence[int],
    compared: Sequence[Method],
) -> Iterator[Scored]:
    """Every method at every budget for which there is something to compact."""
    earlier = before(session.transcript, cut)
    total = sum(turn.tokens for turn in earlier.turns)
    own = EXACT.count(cut.recorded)
    for budget in (UNLIMITED, *((OWN,) if own else ()), *budgets):
        tokens = {UNLIMITED: min(budgets), OWN: own}.get(budget, budget)
        rooms = {UNLIMITED: ("none",), OWN: ("recorded", "budget")}.get(budget, ("budget",))
        if total < LEAST_RATIO * tokens:
            rooms = tuple(room for room in rooms if room == "recorded")
        for method in compared:
            if method.room in rooms:
                text = method.text(Given(earlier, tokens, cut.recorded))
                yield _one(method.name, budget, text, session, needed)


def _one(method: str, budget: int, text: str | None, session: Session, needed: Needed) -> Scored:
    if text is None:
        tokens = needed.task.history
        return Scored(
            method=method,
            budget=budget,
            tokens=tokens,
            scores=task_scores(needed.task, tokens, lost=()),
        )
    standing = Standing(text, session.finder)
    return Scored(
        method=method,
        budget=budget,
        tokens=standing.tokens,
        scores=scores_of(standing, needed),
    )


def _groups(cuts: Sequence[CutScores]) -> Iterator[Group]:
    rows: defaultdict[tuple[Where, int], defaultdict[str, list[tuple[str, Scored]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cut in cuts:
        for one in cut.methods:
            rows[cut.where, one.budget][one.method].append((f"{cut.file} {cut.session}", one))
    for (where, budget), by_method in sorted(rows.items()):
        every = max(by_method.values(), key=len)
        yield Group(
            where=where,
            budget=budget,
            cuts=len(every),
            sessions=len({session for session, _ in every}),
            methods=tuple(
                MethodMeans(
                    method=method,
                    tokens=sum(one.tokens for _, one in found) / len(found),
                    means=means(
                        [(session, {**one.scores, "tokens": one.tokens}) for session, one in found]
                    ),
                )
                for method, found in by_method.items()
            ),
        )
