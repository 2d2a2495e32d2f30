"""What facts and summaries cost: bytes a second on one core, and whether a turn costs more late."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from kedge.bench.processes import MEGABYTE
from kedge.bench.synthetic import write_session
from kedge.errors import NotATranscript, SourceUnreadable
from kedge.facts import facts_of
from kedge.facts.extraction import Extraction
from kedge.facts.extractor import Setting
from kedge.flow import flow_of
from kedge.model import ToolCall, ToolResult, Transcript, Turn, Value
from kedge.outcomes import Known
from kedge.reading import read_all
from kedge.summary import Fold, build, handoff
from kedge.tokens import EXACT

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
    root, known = transcript.session.latest("root"), Known()
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
