"""Facts and summaries over a folder of sessions: are they right, are they cited, their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kedge.bench.citations import Citations, SectionShare, added, as_shown
from kedge.bench.facts_cost import ROUNDS, TURNS, Speed, growth, speeds
from kedge.bench.facts_files import FileShare, file_shares, summed
from kedge.errors import NotATranscript, SourceUnreadable
from kedge.model import Transcript, Value
from kedge.reading import read_all
from kedge.summarizing import summarize
from kedge.summary import fit, items_of
from kedge.summary.items import SECTIONS
from kedge.summary.markdown import INDEX
from kedge.tokens import EXACT

ROOMS = (2_048, 100_000)
"""Tokens of the summaries whose citations are followed: a hand-off, and one with room for nearly
all there is."""

Watch = Callable[[str], None]


class CitedShare(Value, frozen=True):
    """Citations of all summaries of one length."""

    room: int
    sections: tuple[SectionShare, ...]
    """By the turns that a reader sees."""
    names: SectionShare
    """The index once more, by the turns that are kept of each name: a line shows the newest."""


class FactsMeasured(Value, frozen=True):
    files: tuple[FileShare, ...]
    citations: tuple[CitedShare, ...]
    speeds: tuple[Speed, ...]
    growth: float
    """Cost of a turn near the end of a long session over its cost at the beginning."""
    growth_turns: int


def measure(
    folder: Path, *, rounds: int = ROUNDS, turns: int = TURNS, watch: Watch
) -> FactsMeasured:
    """Measure over every session below a folder, and one synthetic session of so many turns."""
    shares: list[FileShare] = []
    cited: dict[int, list[CitedShare]] = {room: [] for room in ROOMS}
    for name, transcript in sessions_below(folder):
        watch(name)
        shares.extend(file_shares(transcript))
        for share in citations_of(transcript):
            cited[share.room].append(share)
    if not shares and not any(cited.values()):
        raise SourceUnreadable(str(folder), "no sessions there")
    watch("speed")
    taken = speeds(folder, rounds=rounds)
    watch(f"a session of {turns:,} turns")
    return FactsMeasured(
        files=summed(shares),
        citations=tuple(_cited(room, found) for room, found in cited.items()),
        speeds=taken,
        growth=growth(turns),
        growth_turns=turns,
    )


def sessions_below(folder: Path) -> Iterator[tuple[str, Transcript]]:
    """Every session with turns in a folder, with the name of its file."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            sessions = read_all(path, counter=None)
        except (NotATranscript, SourceUnreadable):
            continue
        yield from ((path.name, transcript) for transcript in sessions if transcript.turns)


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


def _cited(room: int, shares: list[CitedShare]) -> CitedShare:
    by_section = added(one for share in shares for one in share.sections)
    return CitedShare(
        room=room,
        sections=tuple(by_section[name] for name in SECTIONS if name in by_section),
        names=_only(share.names for share in shares),
    )


def _only(shares: Iterable[SectionShare]) -> SectionShare:
    return added(shares).get(INDEX, SectionShare(section=INDEX))
