"""What a check found, and the process it runs in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

LEAST = 100
"""Acknowledged entries without which a run says nothing about what a fault does to them."""
SHOWN = 10
"""Violations of one run that are shown."""
RESULTS = Path(os.environ.get("KEDGELINE_TORTURE_RESULTS", ROOT / ".torture"))
"""Where the long runs leave their counts for the report."""


@dataclass
class Outcome:
    """Counts of one run; the seed makes it again."""

    seed: int
    cases: int = 0
    acknowledged: int = 0
    """Calls that had returned before a fault came."""
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)
    """Whatever else the run is to say."""
    began: float = field(default_factory=time.monotonic)

    def wrong(self, *found: str) -> None:
        self.violations.extend(f"seed {self.seed}, case {self.cases}: {each}" for each in found)

    def ended(self) -> Outcome:
        if self.acknowledged < LEAST:
            self.wrong(f"void: only {self.acknowledged} acknowledged, {LEAST} are needed")
        self.seconds = time.monotonic() - self.began
        return self


class Skipped(Exception):
    """The check cannot be made here; the message says why."""


def run(check: str, **options: Any) -> Outcome:
    """Run a check in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", check, json.dumps(options)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"{check} {options} ended with {done.returncode}:\n{done.stderr}")
    said = json.loads(done.stdout.splitlines()[-1])
    if "skipped" in said:
        raise Skipped(said["skipped"])
    return Outcome(**said)


def assert_sound(outcome: Outcome) -> None:
    shown = "\n".join(outcome.violations[:SHOWN])
    assert not outcome.violations, f"{len(outcome.violations)} violations:\n{shown}"


def keep(check: str, outcome: Outcome, **options: Any) -> Outcome:
    """Leave the counts of a long run for the report."""
    RESULTS.mkdir(exist_ok=True)
    told = json.dumps({"check": check, "options": options, **asdict(outcome)})
    name = sha256(json.dumps([check, options], sort_keys=True).encode()).hexdigest()[:12]
    (RESULTS / f"{check}-{name}.json").write_text(told, "utf-8")
    return outcome
