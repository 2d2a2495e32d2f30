"""The replay over a folder of sessions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kedge.bench.replay.baselines import RECORDED, Method, methods
from kedge.bench.replay.boundaries import Cut, Where, before, cuts_of
from kedge.bench.replay.needed import Needed, Session
from kedge.bench.replay.rendering import EXACT
from kedge.bench.replay.scoring import RESAMPLES, SEED, Mean, Scores, means, scores_of
from kedge.bench.replay.standing import Standing
from kedge.errors import NotATranscript, SourceUnreadable
from kedge.model import Transcript, Value
from kedge.reading import read_all

BUDGETS = (2_048, 4_096)
"""Tokens: the longest level of a summary, and twice that."""
OWN = 0
"""In the place of a budget: the length of the other system's own summary."""
LEAST_RATIO = 2
"""A session that is less than so many times the budget needs no compaction to it."""
NOTHING_TO_CUT = "no session there was compacted, or is long enough to be cut"

Watch = Callable[[str], None]


class Scored(Value, frozen=True):
    """One method at one cut."""

    method: str
    budget: int
    """0: as much as the other system's own summary has."""
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
    needed: dict[str, int]
    """How many things were needed, by kind."""
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
    compared: Mapping[str, Method] | None = None,
) -> Replay:
    """Cut every session below a folder, compact it by every method, score what stands there."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = sessions = 0
    cuts: list[CutScores] = []
    chosen = methods() if compared is None else compared
    for path in paths:
        watch(path.name)
        try:
            transcripts = read_all(path)
        except (NotATranscript, SourceUnreadable):
            continue
        files, sessions = files + 1, sessions + len(transcripts)
        name = path.relative_to(folder).as_posix()
        for number, transcript in enumerate(transcripts):
            cuts += _session(name, number, transcript, budgets, chosen)
    if not cuts:
        raise SourceUnreadable(str(folder), NOTHING_TO_CUT)
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


def fingerprint(folder: Path, paths: Sequence[Path]) -> str:
    listed = sorted((path.relative_to(folder).as_posix(), path.stat().st_size) for path in paths)
    text = "".join(f"{name}\0{size}\n" for name, size in listed)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _session(
    file: str,
    number: int,
    transcript: Transcript,
    budgets: Sequence[int],
    chosen: Mapping[str, Method],
) -> Iterator[CutScores]:
    cuts = cuts_of(transcript)
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
            needed=_counts(needed),
            methods=tuple(_scored(session, cut, needed, budgets, chosen)),
        )


def _scored(
    session: Session,
    cut: Cut,
    needed: Needed,
    budgets: Sequence[int],
    chosen: Mapping[str, Method],
) -> Iterator[Scored]:
    """Every method at every budget for which there is something to compact."""
    earlier = before(session.transcript, cut)
    own = EXACT.count(cut.recorded)
    if own:
        yield _one(RECORDED, OWN, cut.recorded, session, needed)
    for budget in (*((OWN,) if own else ()), *budgets):
        tokens = budget or own
        if sum(turn.tokens for turn in earlier.turns) < LEAST_RATIO * tokens:
            continue
        for name, method in chosen.items():
            yield _one(name, budget, method(earlier, tokens), session, needed)


def _one(method: str, budget: int, text: str, session: Session, needed: Needed) -> Scored:
    standing = Standing(text, session.finder)
    return Scored(
        method=method,
        budget=budget,
        tokens=EXACT.count(text),
        scores=scores_of(standing, needed),
    )


def _counts(needed: Needed) -> dict[str, int]:
    found: defaultdict[str, int] = defaultdict(int)
    for kind in needed.names.values():
        found[kind] += 1
    found["commands"] = len(needed.commands)
    found["pairs"] = len(needed.pairs)
    found["files"] = len(needed.files.changed)
    return dict(found)


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
                    means=means([(session, one.scores) for session, one in found]),
                )
                for method, found in by_method.items()
            ),
        )
