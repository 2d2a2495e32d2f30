"""`kedgeline bench facts`: what facts cost, the tables, the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import facts as bench
from bench import facts as facts_cost
from bench.claims import FileShare, SectionShare
from bench.corpus import Mean, Origin, mean_of, write_session
from bench.facts import (
    Counted,
    file_scores,
    supported,
)
from kedgeline.errors import SourceUnreadable
from kedgeline.model.summary import SectionName


def folder_of(path: Path) -> Path:
    write_session(path / "one.jsonl", 1)
    (path / "no-session.txt").write_text("tides", "utf-8")
    return path


ORIGIN = Origin(
    version="9.9", fingerprint="beef" * 16, files=3, sessions=4, seed=1, resamples=1_000
)


def mean(value: float) -> Mean:
    return Mean(mean=value, low=value, high=value, over=8)


def alone(*shares: str) -> list[str]:
    """Of one session: an interval without width."""
    return [f"{share} ({share}–{share})" for share in shares]


def counted(session: str, *, facts: int, right: int, format: str = "plain") -> Counted:
    given = FileShare(
        format=format,
        source="tool",
        action="created",
        reported=4,
        facts=facts,
        right=right,
    )
    shell = FileShare(format=format, source="shell", action="created", facts=9)
    return Counted(session, (given, shell))


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
    assert every.precision is not None
    assert every.precision.low < every.precision.mean < every.precision.high
    assert scores[("tool",), "", "created"].f1 == every.f1
    assert scores[("tool",), "", "deleted"].f1 is None
    assert scores[("tool", "agent"), "pi", "all"].recall == mean_of([("c", 2.0, 4)])


def test_words_that_are_held_are_counted_by_section_and_in_all() -> None:
    def share(lines: int, held: int, section: SectionName = "Commands") -> SectionShare:
        return SectionShare(section=section, lines=1, words=lines, held=held)

    found = supported(
        [("a", [share(4, 4), share(2, 0, "Index")]), ("b", [share(6, 3)]), ("c", [share(0, 0)])]
    )
    assert (found["Commands"].mean, found["Commands"].over) == (0.7, 10)
    assert found["Commands"].low < 0.7 < found["Commands"].high
    assert (found["Index"].mean, found["all"].over) == (0, 12)
    assert found["all"].mean == pytest.approx(7 / 12)


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
        words = sum(share.words for share in cited.sections)
        held = sum(share.held for share in cited.sections)
        assert (cited.supported["all"].mean, cited.supported["all"].over) == (held / words, words)


def test_a_folder_without_sessions_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no sessions"):
        bench.measure(tmp_path, watch=quiet)
