"""Writes into a Markdown file which secrets get through redaction, how many lines of real sessions
it touches wrongly, and how fast it is:
`python -m tests.redact.leak_report docs/measurements.md FOLDER`"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from time import process_time
from typing import NamedTuple

from bench.tables import write_block
from kedgeline.errors import KedgelineError
from kedgeline.model import Turn
from kedgeline.pipeline.read import stream
from kedgeline.redact import REDACTOR
from tests.redact.places import Trial, leaks, marked, unmarked
from tests.redact.seeds import PREFIXED, UNMARKED

BLOCK, TIMES, ROUNDS = "secrets", 8, 5
MARKED = "with a provider's prefix or shape"


class Leaks(NamedTuple):
    """Cases and leaks, by whether the secret is marked, its kind and its place."""

    cases: Counter[tuple[bool, str, str]]
    leaked: Counter[tuple[bool, str, str]]

    def leaked_marked(self) -> dict[tuple[str, str], int]:
        return {case[1:]: count for case, count in self.leaked.items() if case[0]}

    def share(self) -> float:
        return self.leaked.total() / self.cases.total()

    def share_unmarked(self) -> float:
        cases = sum(count for case, count in self.cases.items() if not case[0])
        return sum(count for case, count in self.leaked.items() if not case[0]) / cases

    def by(self, column: int) -> Iterator[tuple[bool, str, int, int]]:
        """Cases and leaks of a kind (1) or a place (2)."""
        for key in dict.fromkeys((case[0], case[column]) for case in self.cases):
            counts = (
                sum(n for case, n in some.items() if (case[0], case[column]) == key)
                for some in (self.cases, self.leaked)
            )
            yield *key, *counts  # type: ignore[misc]


def leaks_of(trials: Iterable[Trial], clean: Callable[[str], str]) -> Leaks:
    found = Leaks(Counter(), Counter())
    for trial in trials:
        case = (trial.marked, trial.kind, trial.place)
        found.cases[case] += 1
        if leaks(trial, clean(trial.text)):
            found.leaked[case] += 1
    return found


class Touched(NamedTuple):
    lines: int
    touched: int
    megabytes: float
    rate: float
    """Megabytes of text in a second of the processor, whole turns at once."""


def false_positives(paths: Iterable[Path], *, rounds: int = 1) -> Touched:
    """Lines of tool results, requests and answers in which something is found."""
    turns = [turn for path in paths for turn in readable(path)]
    texts = [text for turn in turns for text in said(turn)]
    lines = sum(text.count("\n") + 1 for text in texts)
    touched = sum(
        len({text.count("\n", 0, secret.start) for secret in REDACTOR.found(text)})
        for text in texts
    )
    seconds = min(redacting(turns) for _ in range(rounds))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    return Touched(lines, touched, size, size / seconds)


def readable(path: Path) -> list[Turn]:
    try:
        return list(stream(path))
    except (KedgelineError, UnicodeDecodeError):
        return []


def said(turn: Turn) -> set[str]:
    texts = {turn.user_message, turn.assistant_response, *(r.output for r in turn.tool_results)}
    return texts - {""}


def redacting(turns: list[Turn]) -> float:
    start = process_time()
    for turn in turns:
        REDACTOR.turn(turn)
    return process_time() - start


def tables(found: Leaks, touched: Touched) -> str:
    cases, leaked = found.cases.total(), found.leaked.total()
    kinds, places = list(found.by(1)), list(found.by(2))
    lines = ["| secrets | kinds | places | cases | leaks | share | goal |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    groups = (
        (True, MARKED, PREFIXED, "0"),
        (False, "behind a name or in their place", UNMARKED, ""),
    )
    for mark, name, of, goal in groups:
        count, wrong = (sum(row[n] for row in kinds if row[0] is mark) for n in (2, 3))
        where = sum(row[0] is mark for row in places)
        lines.append(
            f"| {name} | {len(of)} | {where} | {count:,} | {wrong:,} | {wrong / count:.2%} "
            f"| {goal} |"
        )
    every = len({row[1] for row in kinds})
    lines.append(f"| all | {every} | | {cases:,} | {leaked:,} | {leaked / cases:.2%} | ≤ 1 % |")
    for column, rows in (("kind", kinds), ("place", places)):
        lines += ["", f"| {column} | prefix | cases | leaks |", "|---|---|--:|--:|"]
        lines += [
            f"| {name} | {'yes' if mark else 'no'} | {count:,} | {wrong:,} |"
            for mark, name, count, wrong in sorted(
                rows, key=lambda row: (-row[3], not row[0], row[1])
            )
            if column == "place" or wrong or not mark
        ]
    lines += [
        "",
        "Kinds with a prefix that are not in the table had no leak: "
        + ", ".join(sorted(row[1] for row in kinds if row[0] and not row[3]))
        + ".",
        "",
        "| lines of real sessions | touched | per 1,000 lines | goal | text | speed, whole turns |",
        "|--:|--:|--:|--:|--:|--:|",
        f"| {touched.lines:,} | {touched.touched:,} "
        f"| {touched.touched / touched.lines * 1_000:.3f} | ≤ 1 "
        f"| {touched.megabytes:.1f} MB | {touched.rate:.1f} MB/s |",
    ]
    return "\n".join(lines)


def every_trial() -> Iterator[Trial]:
    for seed in range(TIMES):
        rng = Random(seed)
        yield from marked(rng)
        yield from unmarked(rng)


if __name__ == "__main__":
    sessions = sorted(path for path in Path(sys.argv[2]).glob("*/*") if path.is_file())
    found = leaks_of(every_trial(), REDACTOR.clean)
    write_block(Path(sys.argv[1]), BLOCK, tables(found, false_positives(sessions, rounds=ROUNDS)))
