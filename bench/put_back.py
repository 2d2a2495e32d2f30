"""What hooks put back after real compactions of hosts, and what that is worth.

Each session is followed as hooks follow it: by the same worker, on the session's file as it was
before a compaction and right behind it. What comes later is not looked at."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from msgspec.structs import replace

from bench.corpus import Corpus, Origin, Watch
from bench.tables import Table, origin_line
from kedgeline.errors import SourceUnreadable
from kedgeline.hosts import places
from kedgeline.hosts.advice import exam
from kedgeline.hosts.hook import HOSTS
from kedgeline.hosts.judgement import read_text, texts_scored
from kedgeline.hosts.worker import LACKING, RULES
from kedgeline.model import EarlierCompaction, Probe, Summary, Value
from kedgeline.pipeline.handoff import summarize
from kedgeline.pipeline.read import read_all
from kedgeline.text.prose import holds_plain, plain
from kedgeline.tokens import EXACT

NAME = "bench"
ALIKE = 0.8
"""Share of a line's words in one line of the host's summary from which it says the same again."""
SAYING = 3
"""Letters from which a word says something."""
_MARKS = re.compile(r"\[t\d[^\]]*\]|\|")
_WORD = re.compile(r"[\w./-]+")


class Asked(Value, frozen=True):
    """What a host's summary answers, alone and with what was put back."""

    probes: int
    alone: float | None
    put_back: float | None
    critical_alone: int
    critical_put_back: int


class PutBack(Value, frozen=True):
    """One compaction of a host."""

    file: str
    host: str
    turn: int
    """The first one behind it."""
    asked: Asked
    """As hooks ask: what a hand-over of the size of what is put back should say."""
    asked_longer: Asked
    """What one of the length of the host's own summary should say: nothing is put back for that."""
    summary_tokens: int
    """Of the host's summary."""
    steering_tokens: int
    """Of what its summariser would have been told."""
    rules_tokens: int
    lacking_tokens: int
    lines: int
    """Of what was put back as lacking."""
    repeated: int
    """Those of them that the host's summary has as well."""


class HostPutBack(Value, frozen=True):
    """All compactions of one host."""

    host: str
    compactions: int
    sessions: int
    alone: tuple[float, float]
    put_back: tuple[float, float]
    """Median and mean of the scores."""
    longer_alone: tuple[float, float]
    longer_put_back: tuple[float, float]
    lower: int
    """Compactions whose score is lower with what is put back."""
    critical_alone: int
    critical_put_back: int
    tokens: tuple[float, int]
    """Put back, rules and what is lacking together: the median and the most."""
    repeated: float
    """Share of the lines that the host's summary has as well."""


class PutBackMeasured(Value, frozen=True):
    origin: Origin
    hosts: tuple[HostPutBack, ...]
    compactions: tuple[PutBack, ...]


def measure(folder: Path, *, watch: Watch) -> PutBackMeasured:
    """Every compaction of a host below a folder whose session grows line by line."""
    corpus, found = Corpus(folder, watch=watch, counter=None), list[PutBack]()
    for session in corpus:
        made = [one for one in session.transcript.compactions if _is_followed(one)]
        if made and session.transcript.format in HOSTS:
            found += _followed(folder / session.file, session.file, made)
    if not found:
        raise SourceUnreadable(str(folder), "no session there was compacted by a host")
    hosts = dict.fromkeys(one.host for one in found)
    return PutBackMeasured(
        origin=replace(corpus.origin(), seed=None, resamples=0),
        hosts=tuple(_host(name, [one for one in found if one.host == name]) for name in hosts),
        compactions=tuple(found),
    )


def _is_followed(one: EarlierCompaction) -> bool:
    has_text = one.kind == "summary" and bool(one.summary)
    return has_text and one.by in HOSTS and one.source.start >= 0 and not one.session


def _followed(path: Path, name: str, made: Sequence[EarlierCompaction]) -> Iterator[PutBack]:
    """All compactions of one session, in their order, with what is kept between them."""
    data = path.read_bytes()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "kedgeline" / "hooks" / NAME
        home.mkdir(parents=True, mode=places.PRIVATE)
        grown = Path(place) / path.name
        for one in made:
            grown.write_bytes(data[: one.source.start])
            _work(one.by, grown, home)
            before = {kind: _kept(home, kind) for kind in (places.STEERING, places.RULES)}
            if one.by == "claude-code":  # it is given them before its summary can be read
                places.add_line(str(home), places.GIVEN, f"{RULES} {len(before[places.RULES])}")
            known = _known(grown)
            grown.write_bytes(data[: one.source.end] + b"\n")
            last = _work(one.by, grown, home)
            lacking = _kept(home, places.LACKING)
            places.add_line(str(home), places.GIVEN, f"lacking {len(lacking)}")
            yield _measured(name, one, last, known, before, lacking)


def kept_after(path: Path, data: bytes, boundary: int, summary: int) -> tuple[str, str]:
    """The rules and what is lacking, as hooks put them back after the compaction whose boundary and
    summary are these lines of a session of Claude Code."""
    lines = data.splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "kedgeline" / "hooks" / NAME
        home.mkdir(parents=True, mode=places.PRIVATE)
        grown = Path(place) / path.name
        grown.write_bytes(b"".join(lines[:boundary]))
        _work("claude-code", grown, home)
        rules = _kept(home, places.RULES)
        places.add_line(str(home), places.GIVEN, f"{RULES} {len(rules)}")
        grown.write_bytes(b"".join(lines[: summary + 1]))
        _work("claude-code", grown, home)
        return rules, _kept(home, places.LACKING)


def _work(host: str, path: Path, home: Path) -> dict[str, Any]:
    """What the worker of the hooks knows of the last compaction."""
    place = str(home.parent.parent.parent)
    environment = {"XDG_STATE_HOME": place, "KEDGELINE_STORE": f"{place}/store"}
    worker = "kedgeline.hosts.worker"
    command = [sys.executable, "-m", worker, NAME, host, str(path), str(home)]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    try:
        status = json.loads((home / places.STATUS).read_bytes())
    except OSError:
        log = (home.parent / "log").read_text("utf-8", "replace")
        raise SourceUnreadable(str(path), f"the worker of the hooks failed: {log}") from None
    last = status.get("last")
    return last if isinstance(last, dict) else {}


def _kept(home: Path, name: str) -> str:
    return places.kept(str(home), name)


def _measured(
    name: str,
    one: EarlierCompaction,
    last: dict[str, Any],
    known: _Known,
    before: dict[str, str],
    lacking: str,
) -> PutBack:
    text = known.from_root(read_text(one.summary))
    tokens, everything = last["tokens"], max(last["scores"], key=len)
    lines = [line for line in map(_words, lacking.split("\n")[1:]) if line]
    given = (before[places.RULES], lacking)
    return PutBack(
        file=name,
        host=one.by,
        turn=one.turn,
        asked=Asked(
            probes=len(exam(known.summary)),
            alone=last["scores"][""],
            put_back=last["scores"][everything],
            critical_alone=last["critical"][""],
            critical_put_back=last["critical"][everything],
        ),
        asked_longer=_asked(exam(known.summary, EXACT.count(text)), text, given),
        summary_tokens=last["summary_tokens"],
        steering_tokens=EXACT.count(before[places.STEERING]),
        rules_tokens=tokens.get(RULES, 0),
        lacking_tokens=tokens.get(LACKING, 0),
        lines=len(lines),
        repeated=sum(_is_repeated(line, text) for line in lines),
    )


def _asked(probes: Sequence[Probe], text: str, given: Sequence[str]) -> Asked:
    alone, with_it = texts_scored((text,), probes), texts_scored((text, *given), probes)
    return Asked(
        probes=len(probes),
        alone=alone.score,
        put_back=with_it.score,
        critical_alone=alone.critical,
        critical_put_back=with_it.critical,
    )


class _Known(NamedTuple):
    """What there was to know right before a compaction."""

    summary: Summary
    root: str

    def from_root(self, text: str) -> str:
        """Paths as the facts have them."""
        return text.replace(f"{self.root.rstrip('/')}/", "") if self.root else text


def _known(path: Path) -> _Known:
    transcript = read_all(path, counter=None)[0]
    return _Known(summarize(transcript), transcript.session.latest("root"))


def _words(line: str) -> str:
    """What a line says: no heading, no marks, no frame of a table."""
    if line.startswith(("## ", "| File |")) or set(line) <= set("|- "):
        return ""
    return plain(_MARKS.sub(" ", re.sub(r"^(?:-|\d+\.) ", "", line)))


def _is_repeated(line: str, text: str) -> bool:
    """Whether a text has this line, or one of its lines most of the words."""
    if holds_plain(plain(text), line):
        return True
    words = {word for word in _WORD.findall(line.lower()) if len(word) >= SAYING}
    there = (set(_WORD.findall(one.lower())) for one in text.split("\n"))
    return bool(words) and any(len(words & one) >= ALIKE * len(words) for one in there)


def _host(name: str, every: Sequence[PutBack]) -> HostPutBack:
    tokens = [one.rules_tokens + one.lacking_tokens for one in every]
    lower = sum((one.asked.put_back or 0) < (one.asked.alone or 0) for one in every)
    lines = sum(one.lines for one in every)
    return HostPutBack(
        host=name,
        compactions=len(every),
        sessions=len({one.file for one in every}),
        alone=_middle(one.asked.alone for one in every),
        put_back=_middle(one.asked.put_back for one in every),
        longer_alone=_middle(one.asked_longer.alone for one in every),
        longer_put_back=_middle(one.asked_longer.put_back for one in every),
        lower=lower,
        critical_alone=sum(one.asked.critical_alone for one in every),
        critical_put_back=sum(one.asked.critical_put_back for one in every),
        tokens=(median(tokens), max(tokens)),
        repeated=sum(one.repeated for one in every) / lines if lines else 0.0,
    )


def _middle(scores: Iterable[float | None]) -> tuple[float, float]:
    """Median and mean; 1 where nothing could be asked."""
    known = [1.0 if one is None else one for one in scores]
    return median(known), fmean(known)


HEADER = (
    "host",
    "compactions",
    "score of its summary, median (mean)",
    "with what is put back",
    "critical failures, before → after",
    "lower than before",
    "put back, tokens: median, most",
    "lines its summary has too",
    "asked for its length: before → after",
)
GOALS = ("goal", "", "", "≥ 0.90", "→ 0", "0", "≤ 1,500", "", "")


def tables(found: PutBackMeasured) -> list[Table]:
    return [Table("put-back", HEADER, [*map(_row, found.hosts), GOALS])]


def origin(found: PutBackMeasured) -> str:
    return origin_line(found.origin)


def _row(one: HostPutBack) -> tuple[str, ...]:
    return (
        one.host,
        f"{one.compactions} in {one.sessions} sessions",
        f"{one.alone[0]:.2f} ({one.alone[1]:.2f})",
        f"{one.put_back[0]:.2f} ({one.put_back[1]:.2f})",
        f"{one.critical_alone} → {one.critical_put_back}",
        str(one.lower),
        f"{one.tokens[0]:,.0f}, {one.tokens[1]:,}",
        f"{one.repeated:.0%}",
        f"{one.longer_alone[0]:.2f} → {one.longer_put_back[0]:.2f}",
    )
