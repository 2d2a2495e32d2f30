"""`kedgeline bench facts`: what facts cost, the tables, the command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from bench import facts as bench
from bench import facts as facts_cost
from bench.claims import FileShare, SectionShare
from bench.corpus import Mean, Origin, mean_of, write_session
from bench.facts import (
    Counted,
    Speed,
    citation_header,
    citation_rows,
    cost_rows,
    file_rows,
    file_scores,
    growth,
    one_round,
    speeds,
    supported,
    synthetic_turn,
)
from kedgeline.cli.main import app
from kedgeline.errors import SourceUnreadable
from kedgeline.facts import facts_of
from kedgeline.model import AnyFact, Transcript
from kedgeline.model.summary import SectionName
from kedgeline.summary import Fold


def folder_of(path: Path) -> Path:
    write_session(path / "one.jsonl", 1)
    (path / "no-session.txt").write_text("tides", "utf-8")
    return path


def test_every_step_is_timed_and_every_file_counted(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (speed,) = one_round(sorted(folder.iterdir()))
    assert (speed.format, speed.files, speed.turns) == ("claude-code", 1, 200)
    assert speed.megabytes == (folder / "one.jsonl").stat().st_size / 1_000_000
    assert speed.facts > speed.turns
    assert all(speed.seconds[step] > 0 for step in facts_cost.STEPS)


def test_a_rate_is_of_all_its_steps() -> None:
    speed = made(claude=True).speeds[0]
    assert speed.rate("facts") == pytest.approx(5)
    assert speed.rate("facts", "summary") == pytest.approx(2.5)
    assert speed.rate("read", "facts", "summary") == pytest.approx(2)


def test_the_best_of_all_rounds_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter((3.0, 1.0, 2.0))

    class Process:
        def __init__(self, *given: Any, **named: Any) -> None: ...
        def __enter__(self) -> Process:
            return self

        def __exit__(self, *given: Any) -> None: ...
        def submit(self, work: Any, paths: Any) -> Process:
            return self

        def result(self) -> list[Speed]:
            seconds = dict.fromkeys(facts_cost.STEPS, next(taken))
            return [replace(made(claude=True).speeds[0], seconds=seconds)]

    monkeypatch.setattr(facts_cost, "ProcessPoolExecutor", Process)
    (speed,) = speeds(tmp_path)
    assert set(speed.seconds.values()) == {1.0}


class Clock(Fold):
    """A fold by whose work time passes: for every fact the same, or as long as there are facts."""

    now = 0
    grows = False

    def __init__(self) -> None:
        super().__init__()
        self.known = 0

    def add(self, fact: AnyFact) -> None:
        super().add(fact)
        self.known += 1
        Clock.now += self.known if Clock.grows else 1

    @staticmethod
    def process_time() -> float:
        return float(Clock.now)


@pytest.mark.parametrize("grows", [False, True])
def test_a_turn_that_costs_more_late_shows(monkeypatch: pytest.MonkeyPatch, grows: bool) -> None:
    monkeypatch.setattr(facts_cost, "STRETCH", 20)
    monkeypatch.setattr(facts_cost, "Fold", Clock)
    monkeypatch.setattr(facts_cost, "time", Clock)
    monkeypatch.setattr(Clock, "grows", grows)
    assert (growth(400) > 5) is grows


def test_the_synthetic_turns_go_on_naming_new_things() -> None:
    turns = tuple(synthetic_turn(number) for number in range(40))
    told = [
        [str(fact) for fact in facts_of(Transcript(format="plain", turns=part))]
        for part in (turns[:20], turns)
    ]
    names = [{name for line in one for name in re.findall(r"assign_\d+", line)} for one in told]
    assert [one.index for one in turns] == list(range(40))
    assert len(names[1]) > 1.5 * len(names[0])


ORIGIN = Origin(
    version="9.9", fingerprint="beef" * 16, files=3, sessions=4, seed=1, resamples=1_000
)


def mean(value: float) -> Mean:
    return Mean(mean=value, low=value, high=value, over=8)


def alone(*shares: str) -> list[str]:
    """Of one session: an interval without width."""
    return [f"{share} ({share}–{share})" for share in shares]


def made(*, claude: bool = False) -> bench.FactsMeasured:
    seconds = {"read": 0.5, "anchors": 1.5, "facts": 0.4, "summary": 0.4}
    speed = Speed(
        format="claude-code" if claude else "plain",
        files=3,
        megabytes=2.0,
        turns=30,
        facts=300,
        seconds={**seconds, "read": 0.2},
    )
    share = FileShare(
        format="plain",
        source="tool",
        action="created",
        blind=False,
        reported=4,
        facts=5,
        right=3,
        unjudged=2,
    )
    shell = FileShare(format="plain", source="shell", action="deleted", blind=False, facts=7)
    cited = tuple(
        bench.CitedShare(
            room=room,
            sections=(
                SectionShare(
                    section="Commands",
                    lines=lines,
                    supported=3,
                    by_agents=1,
                    unchecked=2,
                    missed={"path": 1},
                ),
            ),
            supported={"Commands": mean(3 / lines), "all": mean(3 / lines)},
        )
        for room, lines in ((2_048, 4), (100_000, 6))
    )
    blind = replace(share, blind=True, right=1)
    return bench.FactsMeasured(
        origin=ORIGIN,
        files=(share, blind, shell),
        file_scores=tuple(file_scores([Counted("a 0", (share, blind, shell))])),
        citations=cited,
        speeds=(speed,),
        growth=1.04,
        growth_turns=100_000,
    )


def test_the_table_of_files_has_precision_recall_and_what_is_only_counted() -> None:
    rows = file_rows(made())
    judged = ("4", "5", *alone("0.600", "0.750", "0.667", "0.222"), "2")
    counted = ("–", "7", "–", "–", "–", "–", "–")
    assert rows == [
        ("tools", "created", *judged),
        ("tools", "all", *judged),
        ("shell commands", "deleted", *counted),
        ("shell commands", "all", *counted),
        ("tools, plain", "all", *judged),
    ]


def test_the_table_of_citations_has_a_row_per_section_and_a_column_per_size() -> None:
    found = made()
    small, large = alone("0.750", "0.500")
    cells = ("4", small, "6", large, "1", "2", "path 1")
    assert citation_rows(found) == [("Commands", *cells), ("all", *cells)]
    assert len(citation_header(found)) == len(cells) + 1


def test_a_section_that_only_the_larger_summary_has_is_there() -> None:
    found = made()
    small = replace(found.citations[0], sections=(), supported={})
    rows = citation_rows(replace(found, citations=(small, found.citations[1])))
    assert rows[0] == ("Commands", "0", "–", "6", *alone("0.500"), "1", "2", "path 1")


def counted(session: str, *, facts: int, right: int, format: str = "plain") -> Counted:
    given = FileShare(
        format=format,
        source="tool",
        action="created",
        blind=False,
        reported=4,
        facts=facts,
        right=right,
    )
    shell = FileShare(format=format, source="shell", action="created", blind=False, facts=9)
    return Counted(session, (given, replace(given, blind=True, right=0), shell))


def test_scores_of_files_are_over_all_sessions_and_have_intervals() -> None:
    sessions = [
        counted("a 0", facts=4, right=4),
        counted("b 0", facts=8, right=2),
        counted("c 0", facts=2, right=2, format="pi"),
    ]
    scores = {(one.sources, one.format, one.action): one for one in file_scores(sessions)}
    every = scores[("tool",), "", "all"]
    assert every.precision == mean_of([("a", 4.0, 4), ("b", 2.0, 8), ("c", 2.0, 2)])
    assert every.recall == mean_of([("a", 4.0, 4), ("b", 2.0, 4), ("c", 2.0, 4)])
    assert every.f1 == mean_of([("a", 8.0, 8), ("b", 4.0, 12), ("c", 4.0, 6)])
    assert every.f1_blind is not None
    assert every.f1_blind.mean == 0
    assert every.precision is not None
    assert every.precision.low < every.precision.mean < every.precision.high
    assert scores[("tool",), "", "created"].f1 == every.f1
    assert scores[("tool",), "", "deleted"].f1 is None
    assert scores[("tool", "agent"), "pi", "all"].recall == mean_of([("c", 2.0, 4)])


def test_lines_that_hold_are_counted_by_section_and_in_all() -> None:
    def share(lines: int, held: int, section: SectionName = "Commands") -> SectionShare:
        return SectionShare(section=section, lines=lines, supported=held)

    found = supported(
        [("a", [share(4, 4), share(2, 0, "Index")]), ("b", [share(6, 3)]), ("c", [share(0, 0)])]
    )
    assert (found["Commands"].mean, found["Commands"].over) == (0.7, 10)
    assert found["Commands"].low < 0.7 < found["Commands"].high
    assert (found["Index"].mean, found["all"].over) == (0, 12)
    assert found["all"].mean == pytest.approx(7 / 12)


def test_only_claude_code_has_a_goal_for_speed() -> None:
    assert [row[2] for row in cost_rows(made(claude=True))][-2:] == ["≥ 60 MB/s", "about 1 ×"]
    assert [row[2] for row in cost_rows(made())] == ["", "about 1 ×"]


def quiet(what: str) -> None:
    return


def test_a_folder_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_cost, "STRETCH", 10)
    found = bench.measure(folder_of(tmp_path), rounds=1, turns=100, watch=quiet)
    assert [cited.room for cited in found.citations] == list(bench.ROOMS)
    assert [speed.files for speed in found.speeds] == [1]
    assert found.growth > 0
    assert (found.origin.files, found.origin.sessions) == (1, 1)
    for cited in found.citations:
        lines = sum(share.lines for share in cited.sections)
        held = sum(share.supported for share in cited.sections)
        assert (cited.supported["all"].mean, cited.supported["all"].over) == (held / lines, lines)


def test_a_folder_without_sessions_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no sessions"):
        bench.measure(tmp_path, watch=quiet)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "page.md"
    names = ("files", "citations", "facts")
    blocks = (f"<!-- bench:{name} -->\n<!-- /bench:{name} -->" for name in names)
    page.write_text("\n\n".join(blocks), "utf-8")
    return page


def test_the_command_writes_its_three_tables(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "measure", lambda folder, *, watch: made(claude=True))
    command = ["bench", "facts", str(tmp_path), "--json", "--write", str(page)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert msgspec.json.decode(result.stdout)["growth"] == 1.04
    text = page.read_text("utf-8")
    assert re.search(r"bench:files -->\n\| changed by .*?\n<!-- /", text, re.DOTALL)
    assert re.search(r"bench:citations -->\n\| section .*?\| Commands ", text, re.DOTALL)
    assert re.search(r"bench:facts -->\n\| measure .*?1\.04 × \| about 1 ×", text, re.DOTALL)
    assert text.count(ORIGIN.fingerprint) == 3
    assert text.count("seed 1") == 2
