"""The replay over a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bench.replay.measuring import OWN, UNLIMITED, Replay, measure
from bench.replay.methods import RECORDED, Given, Method, chosen, methods
from bench.replay.names import EXACT
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Transcript
from tests.claude import Records, text, use

LONG = "The tide table of the north pier was read again. " * 30


def quiet(what: str) -> None:
    return


def names(*rooms: str) -> list[str]:
    return [one.name for one in methods() if one.room in rooms]


def write_session(path: Path, *, compacted: int = 0, turns: int = 60) -> None:
    """A session of an agent that looks at piers; `compacted` says before which turn."""
    made = Records()
    made.user("Make assign_berth in src/pier.py fair.")
    for number in range(turns):
        if compacted and number == compacted:
            made.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
            made.user(SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        says = "Now assign_berth." if number == compacted + 2 else f"Step {number}."
        command = "make lint" if number % 10 == 0 else f"make pier{number}"
        made.assistant(f"m{number}", text(says), use(f"c{number}", command=command))
        made.result(f"c{number}", LONG)
    path.write_bytes(b"".join(made.lines))


SUMMARY = f"This session is being continued. assign_berth: src/pier.py; run `make lint`. {LONG}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sessions")
    write_session(made / "whole.jsonl")
    write_session(made / "compacted.jsonl", compacted=25)
    (made / "notes.txt").write_text("no session")
    return made


@pytest.fixture(scope="module")
def found(folder: Path) -> Replay:
    return measure(folder, budgets=(256,), watch=quiet)


def test_a_folder_is_replayed_at_boundaries_and_fair_cuts(found: Replay) -> None:
    assert (found.files, found.sessions) == (2, 2)
    listed = [[one.method for one in group.methods] for group in found.groups]
    assert [(group.where, group.budget, group.cuts) for group in found.groups] == [
        ("boundary", UNLIMITED, 1),
        ("boundary", OWN, 1),
        ("boundary", 256, 1),
        ("fair", UNLIMITED, 2),
        ("fair", 256, 2),
    ]
    assert listed[0] == listed[3] == names("none")
    assert listed[1] == [RECORDED, *names("budget")]
    assert listed[2] == listed[4] == names("budget")


def test_the_recorded_summary_is_scored_at_its_own_length(found: Replay) -> None:
    recorded, *others = found.groups[1].methods
    assert recorded.tokens == recorded.means["tokens"].mean == EXACT.count(SUMMARY)
    assert recorded.means["names"].mean == 1.0
    assert recorded.means["commands"].mean == 1.0
    assert all(
        one.tokens <= recorded.tokens for one in others if one.method != "kedgeline, rebuilt"
    )


def test_methods_see_nothing_of_what_comes_after_the_cut(folder: Path) -> None:
    seen: list[Transcript] = []

    def spy(given: Given) -> str:
        seen.append(given.session)
        return ""

    measure(folder, budgets=(256,), watch=quiet, compared=[Method("spy", "budget", spy)])
    lengths = sorted(len(one.turns) for one in seen)
    assert lengths == [24, 25, 25, 36]
    assert all(b"make pier59" not in msgspec.json.encode(one) for one in seen)


def test_no_compaction_carries_everything_and_loses_nothing(found: Replay) -> None:
    whole = {
        cut.turn: one.scores
        for cut in found.cuts
        for one in cut.methods
        if one.method == "no compaction"
    }
    assert set(whole) == {cut.turn for cut in found.cuts}
    for cut in found.cuts:
        scores = whole[cut.turn]
        assert (scores["task_ratio"], scores["fetched_tokens"]) == (1.0, 0.0)
        carried = scores["task_tokens"] / cut.turns_after
        assert carried > cut.turn * EXACT.count(LONG)


def test_methods_that_find_no_cut_of_theirs_are_refused(tmp_path: Path) -> None:
    write_session(tmp_path / "whole.jsonl")
    with pytest.raises(SourceUnreadable, match="chosen methods"):
        measure(tmp_path, budgets=(256,), watch=quiet, compared=chosen([RECORDED]))


def test_a_folder_with_nothing_to_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="long enough to be cut"):
        measure(tmp_path, watch=quiet)


COMMAND = [sys.executable, "-m", "kedgeline", "bench", "replay"]


def test_the_command_writes_json_and_tables(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Numbers\n<!-- bench:replay -->\n<!-- /bench:replay -->\n")
    chosen = ["--method", RECORDED, "--method", "masking"]
    options = ["--json", "--tokens", "256", "--write", str(page), *chosen]
    done = subprocess.run([*COMMAND, str(folder), *options], capture_output=True, check=True)
    made = json.loads(done.stdout)
    assert set(made) == set(Replay.__struct_fields__)
    assert {one["budget"] for one in made["groups"]} == {OWN, 256}
    listed = {one["method"] for group in made["groups"] for one in group["methods"]}
    assert listed == {RECORDED, "masking"}
    assert page.read_text().count("| recorded summary | real, own length |") == 1
