"""The methods that are compared, and the replay over a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from kedge.bench.replay.baselines import RECORDED, methods, ranked_names
from kedge.bench.replay.measuring import OWN, Replay, fingerprint, measure
from kedge.bench.replay.rendering import EXACT, head, newest, oldest, tail, turn_text
from kedge.bench.replay.report import HEADER, replay_markdown, replay_rows
from kedge.errors import SourceUnreadable
from kedge.model import Source, Transcript, Turn
from tests.claude import Records, text, use
from tests.turns import bash, edit, turn

LONG = "The tide table of the north pier was read again. " * 30


def quiet(what: str) -> None:
    return


def before(count: int = 40, *, asked: str = "Make all piers fair.") -> Transcript:
    """A session; its last turn thinks about what comes next."""
    turns = [
        turn(
            n,
            bash(f"make pier{n}", LONG),
            says=f"Step {n}.",
            tokens=400,
            source=Source(first=n, last=n),
        )
        for n in range(1, count - 1)
    ]
    first = turn(0, edit("/home/sam/harbor/src/first.py"), user=asked, tokens=400)
    last = turn(
        count - 1, says="Next.", thinking="What now?", source=Source(first=count, last=count)
    )
    return Transcript(format="plain", turns=(first, *turns, last))


@pytest.mark.parametrize("name", [name for name in methods() if name != "kedge, rebuilt"])
@pytest.mark.parametrize("tokens", [300, 2_048])
def test_every_method_keeps_the_budget(name: str, tokens: int) -> None:
    made = methods()[name](before(), tokens)
    assert 0 < EXACT.count(made) <= tokens


def test_the_last_turns_are_the_newest_that_fit() -> None:
    made = methods()["last turns"](before(), 1_000)
    assert "make pier38" in made
    assert "make pier30" not in made


def test_masking_leaves_outputs_out_and_reaches_further_back() -> None:
    made = methods()["masking"](before(), 1_000)
    assert LONG[:40] not in made
    assert "make pier30" in made


def test_head_and_tail_has_both_ends() -> None:
    made = methods()["head and tail"](before(), 1_500)
    assert "src/first.py" in made
    assert "make pier38" in made
    assert "make pier20" not in made


def test_the_newest_turns_stand_in_their_order() -> None:
    made = newest(before().turns, 1_000)
    assert made.index("Step 37.") < made.index("Step 38.")


def test_names_are_ranked_by_how_often_and_how_lately_they_were_said() -> None:
    turns = (
        turn(0, says="old_name"),
        turn(1, says="old_name"),
        *(turn(n) for n in range(2, 80)),
        turn(80, bash("ls", "shown_name")),
        turn(81, bash("ls", "shown_name"), says="once_name"),
        turn(82, says="often_name"),
        turn(83, says="often_name"),
    )
    ranked = ranked_names(Transcript(format="plain", turns=turns))
    assert ranked == ["often_name", "once_name", "old_name", "shown_name"]


def test_kedge_folds_everything_and_the_rebuilt_context_says_the_request_again() -> None:
    ways = methods()
    made = ways["kedge, rebuilt"](before(), 600)
    assert "Make all piers fair." in made
    assert ways["kedge"](before(), 600).strip() in made
    assert "## t" not in made
    ends_with_a_call = replace(before(), turns=before().turns[:-1])
    assert "## t" not in ways["kedge, rebuilt"](ends_with_a_call, 600)


def test_what_is_said_again_takes_no_room_from_the_summary() -> None:
    short, long = before(), before(asked="Make all piers fair. " * 60)
    sizes = [EXACT.count(methods()["kedge"](one, 400)) for one in (short, long)]
    assert sizes[1] > 0.9 * sizes[0]


@pytest.mark.parametrize("name", methods())
def test_a_method_remembers_no_other_session_and_no_other_budget(name: str) -> None:
    sessions = before(), before(30, asked="Moor her.")
    used = methods()[name]
    for session in sessions:
        for tokens in (300, 900):
            assert used(session, tokens) == methods()[name](session, tokens)


def test_a_giant_line_is_cut_and_not_lost() -> None:
    giant = [Turn(assistant_response="x1 " * 20_000 + "the end")]
    assert newest(giant, 200).endswith("the end\n")
    assert oldest(giant, 200).startswith("## t0\nx1 x1")
    assert EXACT.count(newest(giant, 200)) <= 200
    assert head("", 5) == tail("", 5) == ""


def test_a_turn_as_text_has_the_command_on_a_line_of_its_own() -> None:
    assert "\ncommand: make pier\n" in turn_text(turn(0, bash("make pier", "done")))


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
    assert [(group.where, group.budget, group.cuts) for group in found.groups] == [
        ("boundary", OWN, 1),
        ("boundary", 256, 1),
        ("fair", 256, 2),
    ]
    assert [one.method for one in found.groups[0].methods] == [RECORDED, *methods()]
    assert [one.method for one in found.groups[2].methods] == [*methods()]


def test_a_session_that_nearly_fits_is_not_compacted(folder: Path) -> None:
    found = measure(folder, budgets=(100_000,), watch=quiet)
    assert [(group.where, group.budget) for group in found.groups] == [("boundary", OWN)]


def test_the_recorded_summary_is_scored_at_its_own_length(found: Replay) -> None:
    recorded, *others = found.groups[0].methods
    assert recorded.tokens == EXACT.count(SUMMARY)
    assert recorded.means["names"].mean == 1.0
    assert recorded.means["commands"].mean == 1.0
    assert all(one.tokens <= recorded.tokens for one in others if one.method != "kedge, rebuilt")


def test_methods_see_nothing_of_what_comes_after_the_cut(folder: Path) -> None:
    seen: list[Transcript] = []

    def spy(session: Transcript, tokens: int) -> str:
        seen.append(session)
        return ""

    measure(folder, budgets=(256,), watch=quiet, compared={"spy": spy})
    lengths = sorted(len(one.turns) for one in seen)
    assert lengths == [24, 25, 25, 36]
    assert all(b"make pier59" not in msgspec.json.encode(one) for one in seen)


def test_the_table_and_the_markdown_name_their_origin(found: Replay) -> None:
    rows = replay_rows(found)
    assert {len(row) for row in rows} == {len(HEADER)}
    written = replay_markdown(found)
    assert found.fingerprint in written
    assert f"seed {found.seed}" in written


def test_the_same_folder_gives_the_same_numbers(found: Replay, folder: Path) -> None:
    assert measure(folder, budgets=(256,), watch=quiet) == found


def test_the_fingerprint_changes_with_names_and_sizes(tmp_path: Path) -> None:
    def print_of() -> str:
        return fingerprint(tmp_path, sorted(tmp_path.rglob("*")))

    (tmp_path / "a").write_text("one")
    first = print_of()
    (tmp_path / "a").write_text("three")
    second = print_of()
    (tmp_path / "a").rename(tmp_path / "b")
    assert len({first, second, print_of()}) == 3


def test_a_folder_with_nothing_to_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="long enough to be cut"):
        measure(tmp_path, watch=quiet)


def test_the_command_writes_json_and_tables(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Numbers\n<!-- bench:replay -->\n<!-- /bench:replay -->\n")
    command = [sys.executable, "-m", "kedge", "bench", "replay", str(folder)]
    options = ["--json", "--tokens", "256", "--write", str(page)]
    done = subprocess.run([*command, *options], capture_output=True, check=True)
    made = json.loads(done.stdout)
    assert set(made) == set(Replay.__struct_fields__)
    assert {one["budget"] for one in made["groups"]} == {OWN, 256}
    assert "| recorded summary | real, own length |" in page.read_text()
