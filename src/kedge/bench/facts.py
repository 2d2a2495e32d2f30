"""Facts and summaries over a folder of sessions: are they right, are they cited, their cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from kedge.bench.citations import Citations, SectionShare, added, as_shown
from kedge.bench.corpus import Corpus, Origin, Watch
from kedge.bench.facts_cost import ROUNDS, TURNS, Speed, growth, speeds
from kedge.bench.facts_files import FileShare, file_shares, summed
from kedge.bench.facts_scores import Counted, FileScores, file_scores, supported
from kedge.bench.intervals import Mean
from kedge.errors import SourceUnreadable
from kedge.model import Transcript, Value
from kedge.summarizing import summarize
from kedge.summary import fit, items_of
from kedge.summary.items import SECTIONS
from kedge.summary.markdown import INDEX
from kedge.tokens import EXACT

ROOMS = (2_048, 100_000)
"""Tokens of the summaries whose citations are followed: a hand-off, and one with room for nearly
all there is."""


class CitedShare(Value, frozen=True):
    """Citations of all summaries of one length."""

    room: int
    sections: tuple[SectionShare, ...]
    """By the turns that a reader sees."""
    names: SectionShare
    """The index once more, by the turns that are kept of each name: a line shows the newest."""
    supported: dict[str, Mean] = msgspec.field(default_factory=dict)
    """Share of the lines that hold, by section, and under `all` of all."""
    names_supported: Mean | None = None


class FactsMeasured(Value, frozen=True):
    origin: Origin
    files: tuple[FileShare, ...]
    file_scores: tuple[FileScores, ...]
    citations: tuple[CitedShare, ...]
    speeds: tuple[Speed, ...]
    growth: float
    """Cost of a turn near the end of a long session over its cost at the beginning."""
    growth_turns: int


def measure(
    folder: Path, *, rounds: int = ROUNDS, turns: int = TURNS, watch: Watch
) -> FactsMeasured:
    """Measure over every session below a folder, and one synthetic session of so many turns."""
    corpus = Corpus(folder, watch=watch, counter=None)
    counted: list[Counted] = []
    cited: dict[int, list[tuple[str, CitedShare]]] = {room: [] for room in ROOMS}
    for session in corpus:
        counted.append(Counted(session.key, tuple(file_shares(session.transcript))))
        for share in citations_of(session.transcript):
            cited[share.room].append((session.key, share))
    if not corpus.sessions:
        raise SourceUnreadable(str(folder), "no sessions there")
    watch("speed")
    taken = speeds(folder, rounds=rounds)
    watch(f"a session of {turns:,} turns")
    return FactsMeasured(
        origin=corpus.origin(),
        files=summed(share for one in counted for share in one.shares),
        file_scores=tuple(file_scores(counted)),
        citations=tuple(_cited(room, found) for room, found in cited.items()),
        speeds=taken,
        growth=growth(turns),
        growth_turns=turns,
    )


def citations_of(transcript: Transcript) -> Iterator[CitedShare]:
    """The lines of one session's summary, at every length."""
    items = items_of(summarize(transcript))
    citations = Citations(transcript)
    for room in ROOMS:
        fitted = fit(items, room, EXACT.count).items
        names = (item for item in fitted if item.section == INDEX)
        yield CitedShare(
            room=room,
            sections=tuple(added(citations.shares(as_shown(fitted))).values()),
            names=_only(citations.shares(names)),
        )


def _cited(room: int, shares: Sequence[tuple[str, CitedShare]]) -> CitedShare:
    by_section = added(one for _, share in shares for one in share.sections)
    return CitedShare(
        room=room,
        sections=tuple(by_section[name] for name in SECTIONS if name in by_section),
        names=_only(share.names for _, share in shares),
        supported=supported([(key, share.sections) for key, share in shares]),
        names_supported=supported([(key, (share.names,)) for key, share in shares]).get(INDEX),
    )


def _only(shares: Iterable[SectionShare]) -> SectionShare:
    return added(shares).get(INDEX, SectionShare(section=INDEX))
