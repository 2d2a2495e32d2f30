"""Facts and summaries over a folder of sessions: are they right, are they cited, their cost."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from bench.claims import (
    ACTIONS,
    Action,
    Citations,
    FileShare,
    SectionShare,
    Source,
    added,
    file_shares,
    summed,
)
from bench.corpus import (
    MEGABYTE,
    Corpus,
    Mean,
    Origin,
    Part,
    Resampling,
    Watch,
    write_session,
)
from bench.tables import NOTHING, Table, origin_line, with_interval
from kedgeline.errors import NotATranscript, SourceUnreadable
from kedgeline.facts import Extraction, Setting, facts_of
from kedgeline.model import ToolCall, ToolResult, Transcript, Turn, Value
from kedgeline.pipeline.handoff import summarize
from kedgeline.pipeline.job import flow_of
from kedgeline.pipeline.read import read_all
from kedgeline.shell import KnownOutcomes
from kedgeline.summary import Fold, build, fit, handoff, items_of
from kedgeline.summary.sections import SECTIONS
from kedgeline.tokens import EXACT

# Shares over all sessions, with intervals: facts about files that are right, lines that hold.

JUDGED: tuple[Source, ...] = ("tool", "agent")
"""Sources whose tools report what they did."""
EVERY: Literal["all"] = "all"
"""In the place of an action or a section."""


class FileScores(Value, frozen=True):
    """How right the facts of some tools are."""

    sources: tuple[Source, ...]
    format: str
    """Empty: of all formats."""
    action: Action | Literal["all"]
    precision: Mean | None
    recall: Mean | None
    f1: Mean | None


class Counted(NamedTuple):
    """The facts about files of one session."""

    session: str
    shares: tuple[FileShare, ...]


def file_scores(sessions: Sequence[Counted]) -> Iterator[FileScores]:
    """By source and action over all formats, then both sources of each format."""
    for source in JUDGED:
        for action in (*ACTIONS, EVERY):
            yield _scores(sessions, (source,), "", action)
    for format in sorted({share.format for one in sessions for share in one.shares}):
        yield _scores(sessions, JUDGED, format, EVERY)


def supported(rows: Sequence[tuple[str, Sequence[SectionShare]]]) -> dict[str, Mean]:
    """Share of the words that turns hold, by section and of all; every row is one session."""
    drawn = Resampling(session for session, _ in rows)
    lines: dict[str, list[Part]] = {EVERY: []}
    for session, shares in rows:
        for share in shares:
            part = (session, float(share.held), share.words)
            lines[EVERY].append(part)
            lines.setdefault(share.section, []).append(part)
    found = {name: drawn.mean(parts) for name, parts in lines.items()}
    return {name: mean for name, mean in found.items() if mean is not None}


def _scores(
    sessions: Sequence[Counted],
    sources: tuple[Source, ...],
    format: str,
    action: Action | Literal["all"],
) -> FileScores:
    wanted = [
        (one.session, share)
        for one in sessions
        for share in one.shares
        if share.source in sources
        and format in ("", share.format)
        and action in (EVERY, share.action)
    ]
    drawn = Resampling(session for session, _ in wanted)
    return FileScores(
        sources=sources,
        format=format,
        action=action,
        precision=drawn.mean((one, float(share.right), share.facts) for one, share in wanted),
        recall=drawn.mean((one, float(share.right), share.reported) for one, share in wanted),
        f1=drawn.mean(_f1(wanted)),
    )


def _f1(rows: Iterable[tuple[str, FileShare]]) -> Iterator[Part]:
    """Right ones over the mean of those given and those reported."""
    for session, share in rows:
        yield session, 2.0 * share.right, share.facts + share.reported


# What facts and summaries cost: bytes a second on one core, and whether a turn costs more late.

ROUNDS = 3
"""Each in a process of its own, so that nothing is remembered from the one before; the best counts,
since other work on the machine can only slow it down."""
ROOM = 2_048
"""Tokens of the summary that is rendered: the whole hand-off."""
TURNS = 100_000
STRETCH = 1_000
"""Turns timed together."""
COMPARED = 5
"""Stretches at the beginning and at the end of which the quickest is taken."""
STEPS = ("read", "anchors", "facts", "summary")

Given = TypeVar("Given")


class Speed(Value, frozen=True):
    """Bytes of one format's files, and the seconds of each step over all of them."""

    format: str
    files: int
    megabytes: float
    turns: int
    facts: int
    seconds: dict[str, float]
    """By step: `read`, `anchors`, `facts`, `summary`."""

    def rate(self, *steps: str) -> float:
        """MB/s of these steps one after the other."""
        spent = sum(self.seconds[step] for step in steps)
        return self.megabytes / spent if spent else 0.0


def speeds(folder: Path, *, rounds: int = ROUNDS) -> tuple[Speed, ...]:
    """One per format below a folder; every step the best of all rounds."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found: dict[str, Speed] = {}
    for _ in range(rounds):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            for speed in process.submit(one_round, paths).result():
                known = found.get(speed.format, speed)
                best = {step: min(speed.seconds[step], known.seconds[step]) for step in STEPS}
                found[speed.format] = replace(speed, seconds=best)
    return tuple(found[name] for name in sorted(found))


def one_round(paths: Sequence[Path]) -> list[Speed]:
    """Every session once through all steps, in this process."""
    _warm()
    tallies: dict[str, Counter[str]] = {}
    spent: dict[str, dict[str, float]] = {}
    for path in paths:
        try:
            reading, sessions = _timed(partial(read_all, path, counter=None))
        except (NotATranscript, SourceUnreadable):
            continue
        name = sessions[0].format
        tally, seconds = tallies.setdefault(name, Counter()), spent.setdefault(name, {})
        seconds["read"] = seconds.get("read", 0.0) + reading
        tally.update(files=1, bytes=path.stat().st_size)
        for transcript in sessions:
            tally.update(turns=len(transcript.turns), facts=_pass(transcript, seconds))
    return [
        Speed(
            format=name,
            files=tally["files"],
            megabytes=tally["bytes"] / MEGABYTE,
            turns=tally["turns"],
            facts=tally["facts"],
            seconds={step: spent[name].get(step, 0.0) for step in STEPS},
        )
        for name, tally in tallies.items()
    ]


def growth(turns: int = TURNS) -> float:
    """Cost of a turn at the end of a long session over its cost at the beginning, for taking the
    facts and folding them. Every turn names something new, so that what is known grows."""
    extraction, fold = Extraction(Setting(root="/home/sam/harbor")), Fold()

    def stretch(first: int) -> float:
        made = [synthetic_turn(number) for number in range(first, first + STRETCH)]
        begun = time.process_time()
        for turn in made:
            for fact in extraction.add(turn):
                fold.add(fact)
        return time.process_time() - begun

    spent = [stretch(first) for first in range(0, turns, STRETCH)]
    return min(spent[-COMPARED:]) / min(spent[:COMPARED])


def synthetic_turn(number: int) -> Turn:
    """One of a series that reads, edits, tests and fails in turn, and asks now and then."""
    path = f"/home/sam/harbor/src/berths/module_{number % 997}.py"
    name = f"assign_{number}"
    kinds: tuple[tuple[str, dict[str, object], str, bool], ...] = (
        ("Read", {"file_path": path}, f"     1→def {name}(pier):\n     2→    return pier\n", True),
        (
            "Edit",
            {"file_path": path, "old_string": f"def {name}(", "new_string": f"def {name}_fair("},
            f"The file {path} has been updated.",
            True,
        ),
        ("Bash", {"command": f"pytest tests/test_{number % 997}.py"}, _FAILED.format(name), False),
        ("Bash", {"command": f"pytest tests/test_{number % 997}.py"}, "3 passed in 0.1s", True),
    )
    tool, parameters, output, success = kinds[number % len(kinds)]
    return Turn(
        index=number,
        exchange=number // 20,
        user_message=f"Make {name} fair, please." if number % 20 == 0 else "",
        assistant_response=f"I look at {name} in {path}.",
        tool_calls=(ToolCall(id=f"call-{number}", tool=tool, parameters=parameters),),
        tool_results=(
            ToolResult(
                call_id=f"call-{number}",
                success=success,
                output=output,
                exit_code=None if tool != "Bash" else 0 if success else 1,
            ),
        ),
    )


_FAILED = "FAILED tests/test_pier.py::test_{0} - AssertionError: {0} is unfair\n1 failed in 0.1s"


def _pass(transcript: Transcript, seconds: dict[str, float]) -> int:
    """One session through all that comes behind reading; how many facts it has."""
    root, known = transcript.session.latest("root"), KnownOutcomes()
    anchors, _ = _timed(lambda: flow_of(transcript.turns, root=root, outcomes=known))
    extraction, facts = _timed(lambda: list(facts_of(transcript, known)))
    rendering, _ = _timed(lambda: handoff(build(facts), ROOM, EXACT.count))
    for step, took in (("anchors", anchors), ("facts", extraction), ("summary", rendering)):
        seconds[step] = seconds.get(step, 0.0) + took
    return len(facts)


def _timed(work: Callable[[], Given]) -> tuple[float, Given]:
    """Seconds of this process's own work, and what came of it."""
    begun = time.process_time()
    made = work()
    return time.process_time() - begun, made


def _warm() -> None:
    """Modules and grammars are loaded with their first use, which is no cost of a session's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, 1)
        sessions = read_all(path, counter=None)
    made = (*sessions[0].turns[:3], *map(synthetic_turn, range(8)))
    turns = tuple(replace(turn, index=number) for number, turn in enumerate(made))
    _pass(replace(sessions[0], turns=turns), {})


ROOMS = (2_048, 100_000)
"""Tokens of the summaries whose citations are followed: a hand-off, and one with room for nearly
all there is."""


class CitedShare(Value, frozen=True):
    """Citations of all summaries of one length."""

    room: int
    sections: tuple[SectionShare, ...]
    """By the turns that a reader sees."""
    supported: dict[str, Mean] = msgspec.field(default_factory=dict)
    """Share of the words that the cited turns hold, by section, and under `all` of all."""


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
        sections = tuple(added(citations.shares(fitted)).values())
        yield CitedShare(room=room, sections=sections)


def _cited(room: int, shares: Sequence[tuple[str, CitedShare]]) -> CitedShare:
    by_section = added(one for _, share in shares for one in share.sections)
    return CitedShare(
        room=room,
        sections=tuple(by_section[name] for name in SECTIONS if name in by_section),
        supported=supported([(key, share.sections) for key, share in shares]),
    )


# The tables of `kedgeline bench facts`.

FILES = (
    "changed by",
    "action",
    "reported",
    "facts",
    "precision",
    "recall",
    "F1",
    "tool silent",
)
PER_SIZE = ("lines", "words held")
PER_SECTION = ("words by a sub-agent", "lines without a turn")
COST = ("measure", "value", "goal")

Cited = tuple[SectionShare, Mean | None]
"""The lines of a section, and the share of their words that is held."""

BY: dict[Source, str] = {
    "tool": "tools",
    "agent": "sub-agents' tools",
    "shell": "shell commands",
    "outside": "outside the session",
}
LEADING = "claude-code"
MEASURED = {
    "facts alone": ("facts",),
    "facts and summary, reading left out": ("facts", "summary"),
    "reading, facts and summary": ("read", "facts", "summary"),
    "reading, anchors, facts and summary": STEPS,
}
"""What is told of its sessions, and the steps of each measure."""
SPEED_GOAL = "≥ 60 MB/s"
DIGITS = ".3f"
"""Of shares: some differ from one only there."""


def tables(found: FactsMeasured) -> list[Table]:
    best = origin_line(found.origin, intervals=False)
    return [
        Table("files", FILES, file_rows(found)),
        Table("citations", citation_header(found), citation_rows(found)),
        Table("facts", COST, cost_rows(found), best),
    ]


def origin(found: FactsMeasured) -> str:
    return origin_line(found.origin)


def file_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By source and action over all formats, then the tools of each format."""
    scores = {(one.sources, one.format, one.action): one for one in found.file_scores}
    rows: list[tuple[str, ...] | None] = []
    for source, label in BY.items():
        shares = [share for share in found.files if share.source == source]
        rows += [
            _file_row(label, action, shares, scores.get(((source,), "", action)))
            for action in (*ACTIONS, EVERY)
        ]
    for format in sorted({share.format for share in found.files if share.reported}):
        shares = [s for s in found.files if s.format == format and s.source in JUDGED]
        score = scores.get((JUDGED, format, EVERY))
        rows.append(_file_row(f"tools, {format}", EVERY, shares, score))
    return [row for row in rows if row is not None]


def citation_header(found: FactsMeasured) -> tuple[str, ...]:
    sizes = [f"{what} in {cited.room:,} tokens" for cited in found.citations for what in PER_SIZE]
    return ("section", *sizes, *PER_SECTION)


def citation_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By section, in the order in which they are printed, and all of them as a reader sees them.
    What is said of one size only is said of the largest."""
    rows: list[tuple[str, list[Cited]]] = []
    for name in SECTIONS:
        empty = SectionShare(section=name)
        there = [
            (next((one for one in cited.sections if one.section == name), empty), cited)
            for cited in found.citations
        ]
        if any(share != empty for share, _ in there):
            rows.append((name, [(share, cited.supported.get(name)) for share, cited in there]))
    rows.append((EVERY, [(_total(one), one.supported.get(EVERY)) for one in found.citations]))
    return [_citation_row(label, cited) for label, cited in rows]


def cost_rows(found: FactsMeasured) -> list[tuple[str, str, str]]:
    """Claude Code's sessions, for which there is a goal, step by step; the others in a row each."""
    rows: list[tuple[str, str, str]] = []
    for speed in sorted(found.speeds, key=lambda one: (one.format != LEADING, one.format)):
        rows.extend(_cost_rows(speed) if speed.format == LEADING else [_cost_row(speed)])
    measure = (
        f"facts and their folding: cost of a turn near turn {found.growth_turns:,} over its cost "
        "at the beginning"
    )
    return [*rows, (measure, f"{found.growth:.2f} ×", "about 1 ×")]


def _file_row(
    label: str, action: str, shares: Iterable[FileShare], scores: FileScores | None
) -> tuple[str, ...] | None:
    """None where there is nothing; without scores the facts are only counted."""
    counts: Counter[str] = Counter()
    for share in shares:
        if action in (EVERY, share.action):
            counts.update(reported=share.reported, facts=share.facts, unjudged=share.unjudged)
    if not counts.total():
        return None
    facts = f"{counts['facts']:,}"
    if scores is None:
        return (label, action, NOTHING, facts, *(NOTHING,) * len(FILES[4:]))
    means = (scores.precision, scores.recall, scores.f1)
    shown = (with_interval(mean, DIGITS) for mean in means)
    return (label, action, f"{counts['reported']:,}", facts, *shown, f"{counts['unjudged']:,}")


def _citation_row(label: str, cited: Sequence[Cited]) -> tuple[str, ...]:
    sizes = [(f"{share.lines:,}", with_interval(mean, DIGITS)) for share, mean in cited]
    largest = cited[-1][0]
    return (
        label,
        *(cell for cells in sizes for cell in cells),
        f"{largest.by_agents:,}",
        f"{largest.unchecked:,}",
    )


def _total(cited: CitedShare) -> SectionShare:
    """Of all sections together."""
    one = next(iter(SECTIONS))
    alike = (replace(share, section=one) for share in cited.sections)
    return added(alike).get(one, SectionShare(section=one))


def _cost_rows(speed: Speed) -> Iterator[tuple[str, str, str]]:
    held = f"{_held(speed)}, {speed.turns:,} turns, {speed.facts:,} facts"
    yield f"sessions of {speed.format}", held, ""
    for label, names in MEASURED.items():
        yield label, f"{speed.rate(*names):,.1f} MB/s", SPEED_GOAL if names == STEPS else ""


def _cost_row(speed: Speed) -> tuple[str, str, str]:
    return f"the same, {speed.format}: {_held(speed)}", f"{speed.rate(*STEPS):,.1f} MB/s", ""


def _held(speed: Speed) -> str:
    return f"{speed.files:,} files, {speed.megabytes:,.1f} MB"
