"""`kedgeline bench probes`: what is measured, what is compared, the tables, the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from bench.corpus import Mean, Session
from bench.probes import measuring as report
from bench.probes.measuring import (
    PUBLISHED,
    ProbesMeasured,
    at_boundaries,
    by_probes_alone,
    compared,
    measure,
    subject,
    without_roots,
)
from bench.probes.mutations import Noticed, proved
from kedgeline.cli.main import app
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Change, EarlierCompaction, Probe, SessionFacts, Transcript, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.handoff import asked, summarize, verify
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.read import read_all
from kedgeline.pipeline.view import wrapped
from kedgeline.probes.criteria import TARGETS
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


def test_a_session_that_fits_is_not_compacted() -> None:
    assert [one.window for one in proved(session(), (*SMALL, 900_000))] == [*SMALL]
    assert list(proved(session(), (900_000,))) == []
    talk = tuple(counted(turn(number, user=f"Ask {number}.", says=LINES)) for number in range(20))
    full = sum(one.tokens for one in talk)
    spoken = Transcript(format="plain", turns=talk)  # there is nothing to mask
    assert [one.window for one in proved(spoken, (full + 1,))] == [full + 1], "no room to answer"


def test_facts_are_found_once_for_all_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.probes import mutations as compacting

    calls: list[int] = []
    original = compacting.facts_of

    def counting(of: Transcript) -> object:
        calls.append(1)
        return original(of)

    monkeypatch.setattr(compacting, "facts_of", counting)
    monkeypatch.setattr("kedgeline.pipeline.job.facts_of", lambda of: pytest.fail("found again"))
    assert len(list(proved(session(), SMALL))) == 2
    assert calls == [1]


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


def test_a_row_says_what_became_of_one_session(measured: ProbesMeasured) -> None:
    found = measured
    (row,) = found.sessions
    (one,) = proved(transcript(), (WINDOW,))
    assert (row.file, row.session, row.window) == (COMPACTED, 0, WINDOW)
    assert (row.first_score, row.score) == (one.first.score, one.verdict.score)
    assert row.probes == len(one.verdict.answers)
    assert (row.anew_probes, row.anew_score) == (len(one.anew.answers), one.anew.score)
    assert (row.first_tokens, row.tokens) == (one.first_tokens, one.made.summary_tokens)
    assert row.failed_first >= row.repaired > 0
    assert row.dimensions.keys() <= set(TARGETS)
    assert row.dimensions["completeness"] > row.first_dimensions["completeness"]


def test_windows_are_summed_up(measured: ProbesMeasured) -> None:
    small, large = measured.windows
    (row,) = measured.sessions
    assert (small.window, small.sessions, large.sessions) == (WINDOW, 1, 0)
    assert (large.score, large.freed) == (None, None)
    assert small.score is not None
    assert small.repaired is not None
    assert (small.probes, small.score.mean) == (row.probes, row.score)
    assert small.repaired.mean == row.repaired / row.failed_first
    assert small.anew_score is not None
    assert (small.anew_probes, small.anew_score.mean) == (row.anew_probes, row.anew_score)


def test_dimensions_stand_beside_targets_and_what_was_published(measured: ProbesMeasured) -> None:
    found = {one.dimension: one for one in measured.dimensions}
    assert list(found) == list(TARGETS)
    assert [(one.target, one.published) for one in found.values()] == [
        (TARGETS[name], PUBLISHED[name]) for name in TARGETS
    ]
    (row,) = measured.sessions
    for name, one in found.items():
        assert one.repaired is None or one.repaired.mean == row.dimensions[name]


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


def test_a_subject_is_named_wherever_it_stands() -> None:
    state = summarize(session())
    probes = [one for one in asked(state, 2_000) if one.matter == "modified"]
    told = "We looked into " + " and ".join(one.expected[0] for one in probes[1:])
    found = compared(state, told, probes)
    assert (found.score, found.named) == (0, (len(probes) - 1) / len(probes))


@pytest.mark.parametrize(
    ("expected", "thing"),
    [
        (("Branch", "tides"), "tides"),
        (("HEAD", "a1b2c3d"), "a1b2c3d"),
        (("OPEN", "ValueError: no tide"), "ValueError: no tide"),
        (("Edited since the last commit", "src/moon.py"), "src/moon.py"),
        (("Edited since the last commit",), ""),
        (("The agent made no commit",), ""),
        (("No test was run",), ""),
        (("5 of 5",), ""),
        (("Mode: plan",), "plan"),
        (("Plan file: docs/plan.md",), "docs/plan.md"),
        (("Worktree: tides-two",), "tides-two"),
        (("mark 5 of 5 buoys",), "mark 5 of 5 buoys"),
    ],
)
def test_our_own_words_are_no_subject(expected: tuple[str, ...], thing: str) -> None:
    probe = Probe(
        type="continuation",
        matter="session",
        question="?",
        expected=expected,
        section="Current State",
        turn=1,
    )
    assert subject(probe) == thing
    assert compared(summarize(session()), "", [probe]).named == (0 if thing else None)


def test_paths_are_seen_from_the_folder_of_the_session() -> None:
    text = "/home/ada/tides/src/a.py and /home/ada/tides/old/b.py, not /home/ada/moon/c.py"
    expected = "src/a.py and b.py, not /home/ada/moon/c.py"
    assert without_roots(text, ("/home/ada/tides", "/home/ada/tides/old")) == expected


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


def test_every_row_has_a_cell_for_every_column(measured: ProbesMeasured) -> None:
    made = list(report.tables(measured))
    assert [table.name for table in made] == ["probes", "probe-dimensions", "probe-mutations"]
    for table in made:
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert {len(row) for row in table.narrow_rows} == {len(table.narrow_header)}
        assert max(map(len, table.narrow_header)) < 16
    windows, dimensions, mutations = made
    assert [row[0] for row in windows.rows] == ["8,000"], "what no session is too long for"
    assert [row[0] for row in dimensions.rows[:2]] == ["accuracy", "context awareness"]
    assert dimensions.rows[0][1:3] == ("4.0", "4.04")
    sorts = ["deleted, not counted", "deleted, counted as left out", "made wrong", "all"]
    assert [row[0] for row in mutations.rows[-4:]] == sorts
    assert "1 real cuts of 1 sessions." in dimensions.origin
    assert "60 cases in 1 accepted summaries." in mutations.origin


def test_columns_hold_what_their_headings_say(measured: ProbesMeasured) -> None:
    def mean(value: float) -> Mean:
        return Mean(mean=value, low=value, high=value, over=1)

    first, repaired, recorded, ours = map(mean, (1.0, 2.0, 3.0, 4.0))
    one = replace(
        measured.dimensions[0], first=first, repaired=repaired, recorded=recorded, kedgeline=ours
    )
    found = replace(measured, dimensions=(one,))
    assert report.dimension_rows(found, report.bare)[0][3:] == ("1.00", "2.00", "3.00", "4.00")
    window = replace(
        measured.windows[0],
        first_score=first,
        score=repaired,
        anew_score=recorded,
        first_tokens=recorded,
        tokens=ours,
    )
    (row,) = report.window_rows(replace(measured, windows=(window,)), report.bare)
    assert (*row[3:6], *row[9:11]) == ("1.00", "2.00", "3.00", "3", "4")
    noticed = Noticed(
        kind="all",
        cases=9,
        by_probes=first,
        noticed=repaired,
        asked=1,
        asked_by_probes=recorded,
        critical=2,
        critical_by_probes=3,
        critical_noticed=4,
        elsewhere=5,
        elsewhere_noticed=6,
    )
    assert measured.mutations is not None
    checked = replace(measured.mutations, kinds=(noticed,))
    (row,) = report.mutation_rows(replace(measured, mutations=checked), report.bare)
    assert row == ("all", "9", "100%", "200%", "1", "300%", "2", "3", "4", "5", "6")


def test_narrow_columns_are_those_of_the_wide_table() -> None:
    def wide(header: Sequence[str], narrow: dict[str, int]) -> list[str]:
        return [header[place] for place in narrow.values()]

    assert wide(report.WINDOWS, report.NARROW_WINDOWS)[2:] == [
        "score, first rendering",
        "score, after repair",
        "score, asked anew for its room",
        "failed probes repaired",
        "accepted",
        "critical failures left",
        "tokens, after repair",
        "context freed",
    ]
    assert wide(report.REPORT_MUTATIONS, report.NARROW_MUTATIONS) == [
        "entries of",
        "cases",
        "by probes or checksum",
        "asked about",
        "of these by probes",
        "critical",
        "of these by probes",
        "by probes or checksum",
    ]


def test_tables_without_intervals_do_not_speak_of_them(measured: ProbesMeasured) -> None:
    told = report.on_screen(measured)
    assert f"seed {measured.origin.seed}. Corpus: sha256 `{measured.origin.fingerprint}`" in told
    assert "1 sessions in 1 files" in told
    assert "brackets" not in told
    assert all(
        "(" not in cell
        for table in report.tables(measured)
        for row in table.narrow_rows
        for cell in row[1:]
    )


def test_paths_of_a_recorded_summary_count_from_the_folder_of_the_session() -> None:
    turns = tuple(turn(n, edit(f"/home/ada/tides/src/m{n}.py")) for n in range(8))
    told = "created or modified: /home/ada/tides/src/m0.py"
    made = Transcript(
        format="plain",
        turns=turns,
        session=SessionFacts(changes=(Change(turn=0, name="root", value="/home/ada/tides"),)),
        compactions=(EarlierCompaction(turn=2, by="other", kind="summary", summary=told),),
    )
    (found,) = at_boundaries(Session("a", 0, made))
    assert found.recorded.named is not None
    assert found.recorded.named > 0


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
