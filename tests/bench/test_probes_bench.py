"""`kedgeline bench probes`: what is measured, what is compared, the tables, the command."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from bench.corpus import Session
from bench.probes import measuring as report
from bench.probes.measuring import (
    ProbesMeasured,
    at_boundaries,
    by_probes_alone,
    compared,
    measure,
)
from bench.probes.mutations import proved
from kedgeline.cli.main import app
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Transcript, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.handoff import asked, summarize, verify
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.read import read_all
from kedgeline.pipeline.view import wrapped
from kedgeline.summary import handoff
from kedgeline.tokens import EXACT, tokens_of
from tests.conftest import EXAMPLES
from tests.turns import bash, called, edit, turn

COMPACTED = "claude-code-compacted.jsonl"
WINDOW = 8_000
SMALL = (4_000, 6_000)
"""Windows in which masking alone does not make room for `session`."""
LINES = "\n".join(f"{number}\tthe tide stands at {number} feet" for number in range(120))


@cache
def transcript() -> Transcript:
    return read_all(EXAMPLES / COMPACTED)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With one session in it."""
    made = tmp_path_factory.mktemp("sessions")
    shutil.copy(EXAMPLES / COMPACTED, made)
    (made / "no-session.txt").write_text("tides", "utf-8")
    return made


@pytest.fixture(scope="module")
def measured(folder: Path) -> ProbesMeasured:
    return measure(folder, windows=(WINDOW, 900_000), mutations=60, watch=lambda what: None)


def session() -> Transcript:
    """Too long for a small window."""
    turns = [turn(0, user="Never push to main. Write the tide tables.", says="Yes.")]
    for number in range(1, 40, 2):
        path = f"src/tides/port_{number}.py"
        turns.append(turn(number, called("Read", LINES, file_path=path)))
        turns.append(turn(number + 1, edit(path), bash("pytest -q", "4 passed")))
    return Transcript(format="plain", turns=tuple(map(counted, turns)))


def counted(one: Turn) -> Turn:
    return replace(one, tokens=tokens_of(one, EXACT).total)


def test_what_is_measured_is_what_a_compaction_does() -> None:
    (one,) = proved(session(), SMALL[:1])
    made = compact(session(), budget_for(session(), SMALL[0]))
    assert (one.made.summary, one.verdict) == (made.summary, made.verdict)
    assert one.verdict.failed_first == len(one.first.failed)
    assert one.first_tokens <= made.plan.summary_room


def test_a_repaired_text_is_asked_anew_what_its_new_room_demands() -> None:
    (one,) = proved(transcript(), (WINDOW,))
    assert one.made.state is not None
    room = one.made.plan.summary_room - EXACT.count(wrapped(""))
    probes = asked(one.made.state, room, standing=one.standing)
    assert tuple(answer.probe for answer in one.anew.answers) == probes
    assert len(probes) >= len(one.verdict.answers), "it has more room than before"
    told = verify(
        one.made.state, one.made.summary, probes, standing=one.standing, beside=one.beside
    )
    assert one.verdict.score is not None
    assert one.anew.score == told.score


def test_only_a_summary_that_was_accepted_is_good() -> None:
    (one,) = proved(session(), SMALL[:1])
    good = one.good("a 0")
    assert good is not None
    assert verify(
        good.state, good.text, good.probes, standing=good.standing, beside=good.beside
    ).accepted
    assert good.beside, "the request stands beside it"
    worse = replace(one.verdict, strays=("a line that no fact holds",))
    assert one._replace(verdict=worse).good("a 0") is None


def test_the_recorded_summary_is_asked_what_ours_is_asked(measured: ProbesMeasured) -> None:
    (found,) = at_boundaries(Session(COMPACTED, 0, transcript()))
    assert found.probes > 10
    assert found.recorded.score is not None
    assert found.kedgeline.score is not None
    assert 0 < found.recorded.score < found.kedgeline.score
    assert found.recorded.named is not None
    assert found.recorded.named >= found.recorded.score
    assert 0 < found.kedgeline.tokens <= found.recorded.tokens + 60  # the request goes beyond
    assert measured.boundaries == (found,)


def test_the_form_of_a_text_is_no_matter_where_another_system_is_compared() -> None:
    state = summarize(session())
    text, probes = handoff(state, 2_000, EXACT.count), asked(state, 2_000)
    verdict = verify(state, text, probes)
    bare = "\n".join(line for line in text.split("\n") if not line.startswith("## "))
    assert by_probes_alone(verdict.quality)["instruction_following"] == 5.0
    assert by_probes_alone(verify(state, bare, probes).quality)["instruction_following"] == 5.0
    assert compared(state, "", probes).score == 0
    assert by_probes_alone(None) == {}


def test_a_folder_without_sessions_or_with_short_ones_only_says_so(
    tmp_path: Path, folder: Path
) -> None:
    with pytest.raises(SourceUnreadable, match="no sessions there"):
        measure(tmp_path, watch=lambda what: None)
    with pytest.raises(SourceUnreadable, match="--window"):
        measure(folder, windows=(900_000,), watch=lambda what: None)


def test_the_mutation_check_can_be_left_out(folder: Path) -> None:
    found = measure(folder, windows=(WINDOW,), mutations=0, watch=lambda what: None)
    assert found.mutations is None
    assert [table.name for table in report.tables(found)] == ["probes", "probe-dimensions"]


def test_the_command_writes_tables_and_json(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    names = ("probes", "probe-dimensions", "probe-mutations")
    page.write_text("".join(f"<!-- bench:{n} -->\n<!-- /bench:{n} -->\n" for n in names), "utf-8")
    asked = ["bench", "probes", str(folder), "--window", "8k", "--mutations", "20", "--seed", "4"]
    done = CliRunner().invoke(app, [*asked, "--write", str(page), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["origin"]["seed"], found["mutations"]["seed"]) == (4, 4)
    assert len(found["origin"]["fingerprint"]) == 64
    assert len(found["mutations"]["cases"]) == 20
    assert [row["file"] for row in found["sessions"]] == [COMPACTED]
    text = page.read_text("utf-8")
    assert text.count("seed 4") == 3
    assert "| 8,000 | 1 |" in text
    assert "| instruction following | 4.0 | 4.99 |" in text
