"""What agents really did after a host's compaction: actions until the first edit, files read again,
commands repeated; against as long a stretch of the same session before it. And how much of that the
text of each method would have told them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench.corpus import Corpus, Mean, Watch, mean_of
from bench.replay.names import EXACT, Cut, Finder, before, cuts_of, roots_of
from bench.replay.needed import Standing, commands_of
from bench.tables import with_interval
from kedgeline.model import Transcript, Turn, Value

HORIZON = 40
"""Turns on both sides, at the most."""
LEAST = 5
"""Turns on both sides of a compaction that is counted."""
HOST = "the host's own summary"

Texts = Mapping[str, Callable[[Transcript, int], str]]


class Visit(NamedTuple):
    """A stretch of a session, against all that came before it."""

    until_edit: int
    """Calls before the first edit; all of them where there is none."""
    calls: int
    edited: str
    """The first file that is edited, where it was known before."""
    files: tuple[str, ...]
    """Read again, each once."""
    reads: int
    commands: tuple[str, ...]
    """Repeated to the letter, each once."""


class Shares(Value, frozen=True):
    """Means under one name."""

    name: str
    means: tuple[Mean | None, ...]


class Outcomes(Value, frozen=True):
    compactions: int
    sessions: int
    measured: tuple[Shares, ...]
    """After a compaction, as long before it, and the difference."""
    stood: tuple[Shares, ...]
    """By method: first file edited, files read again, commands repeated."""


def visit(earlier: Sequence[Turn], stretch: Sequence[Turn]) -> Visit:
    read, edited = set[str](), set[str]()
    for turn in earlier:
        for verb, path in _files(turn):
            (read if verb == "read" else edited).add(path)
    known, run = read | edited, {command for turn in earlier for command in commands_of(turn)}
    calls = [call for turn in stretch for call in turn.tool_calls]
    edits = [n for n, call in enumerate(calls) if call.verb in ("edit", "write")]
    first = next(iter(calls[edits[0]].paths()), "") if edits else ""
    again = [path for turn in stretch for verb, path in _files(turn) if verb == "read"]
    again = [path for path in again if path in known]
    told = [command for turn in stretch for command in commands_of(turn) if command in run]
    return Visit(
        until_edit=edits[0] if edits else len(calls),
        calls=len(calls),
        edited=first if first in known else "",
        files=tuple(dict.fromkeys(again)),
        reads=len(again),
        commands=tuple(dict.fromkeys(told)),
    )


def _files(turn: Turn) -> Iterator[tuple[str, str]]:
    for call in turn.tool_calls:
        if call.verb in ("read", "edit", "write"):
            for path in call.paths()[:1]:
                yield call.verb, path


MEASURES: Mapping[str, Callable[[Visit], int]] = {
    "actions until the first edit": lambda one: one.until_edit,
    "reads of files known before": lambda one: one.reads,
    "commands repeated": lambda one: len(one.commands),
    "actions in all": lambda one: one.calls,
}


def measure(folder: Path, texts: Texts, *, watch: Watch) -> Outcomes:
    found: list[tuple[str, Visit, Visit]] = []
    stood: dict[str, list[tuple[str, Visit, Visit]]] = {}
    for session in Corpus(folder, watch=watch):
        transcript = session.transcript
        finder = Finder(roots_of(transcript))
        for cut in _cuts(transcript):
            span = min(cut.end - cut.turn, cut.turn // 2)
            turns = transcript.turns
            after = visit(turns[: cut.turn], turns[cut.turn : cut.turn + span])
            past = visit(turns[: cut.turn - span], turns[cut.turn - span : cut.turn])
            found.append((session.key, after, past))
            for method, text in _texts(transcript, cut, texts):
                kept = _kept(after, text, finder)
                stood.setdefault(method, []).append((session.key, after, kept))
    return Outcomes(
        compactions=len(found),
        sessions=len({key for key, _, _ in found}),
        measured=tuple(_measured(what, of, found) for what, of in MEASURES.items()),
        stood=tuple(_stood(method, kept) for method, kept in stood.items()),
    )


def _cuts(transcript: Transcript) -> Iterator[Cut]:
    for cut in cuts_of(transcript):
        if cut.where == "boundary" and min(cut.end - cut.turn, cut.turn // 2) >= LEAST:
            yield replace(cut, end=min(cut.end, cut.turn + HORIZON))


def _texts(transcript: Transcript, cut: Cut, texts: Texts) -> Iterator[tuple[str, str]]:
    """At the length of the host's own summary."""
    yield HOST, cut.recorded
    earlier, room = before(transcript, cut), EXACT.count(cut.recorded)
    for method, make in texts.items():
        yield method, make(earlier, room)


def _kept(one: Visit, text: str, finder: Finder) -> Visit:
    """What of a stretch stands in a text."""
    standing = Standing(text, finder)
    files = [path for path in (*one.files, one.edited) if standing.has_file(finder.path(path))]
    return one._replace(
        edited=one.edited if one.edited in files else "",
        files=tuple(path for path in one.files if path in files),
        commands=tuple(filter(standing.has_command, one.commands)),
    )


def _measured(
    what: str, of: Callable[[Visit], int], rows: Sequence[tuple[str, Visit, Visit]]
) -> Shares:
    def mean(value: Callable[[Visit, Visit], int]) -> Mean | None:
        return mean_of((key, float(value(after, past)), 1) for key, after, past in rows)

    pairs = (lambda after, past: of(after)), (lambda after, past: of(past))
    return Shares(what, (*map(mean, pairs), mean(lambda after, past: of(after) - of(past))))


def _stood(method: str, found: Sequence[tuple[str, Visit, Visit]]) -> Shares:
    things: Sequence[Callable[[Visit], Sequence[str]]] = (
        lambda one: [one.edited] if one.edited else [],
        lambda one: one.files,
        lambda one: one.commands,
    )
    means = (
        mean_of((key, float(len(of(kept))), len(of(whole))) for key, whole, kept in found)
        for of in things
    )
    return Shares(method, tuple(means))


DID = ("measure", "after a compaction", "as long before it", "difference")
STOOD = ("text at the host's length", "first file edited", "files read again", "commands repeated")


def rows(shares: Sequence[Shares], form: str) -> Iterator[tuple[str, ...]]:
    for one in shares:
        yield (one.name, *(with_interval(mean, form) for mean in one.means))
