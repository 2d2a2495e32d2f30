"""Tokens per task: what is carried, what is fetched again, what no result held."""

from __future__ import annotations

from msgspec.structs import replace

from bench.replay.names import EXACT, Cut, Source, Task, task_scores, turn_text
from bench.replay.needed import Session
from kedgeline.model import Transcript, Turn
from tests.turns import bash, called, edit, turn

LONG = "The tide table of the north pier was read again. " * 30
USED = turn(0, says="assign_berth, moor_vessel and src/north/pier.py.")


def task(*earlier: Turn, later: tuple[Turn, ...] = (USED,)) -> Task:
    turns = tuple(replace(one, index=index) for index, one in enumerate((*earlier, *later)))
    session = Session(Transcript(format="plain", turns=turns))
    return session.needed(Cut(where="fair", turn=len(earlier), end=len(turns))).task


def test_a_source_is_the_smallest_result_that_held_the_name() -> None:
    short, long = "def assign_berth", f"assign_berth {LONG}"
    for first, second, place in ((short, long, 0), (long, short, 1), (short, short, 1)):
        found = task(turn(0, bash("a", first)), turn(0, bash("b", second)))
        assert found.sources["assign_berth"] == Source(place, 0, EXACT.count(short))


def test_a_call_that_changes_something_is_not_made_again_to_look() -> None:
    call, result = edit("/home/sam/harbor/x.py")
    changed = turn(0, (call, replace(result, output="assign_berth")))
    assert task(changed).sources == {}
    asked = turn(0, called("AskUserQuestion", "assign_berth", question="Which?"))
    assert task(asked).sources == {}
    failed = turn(0, bash("make", "assign_berth", exit_code=2))
    assert set(task(failed).sources) == {"assign_berth"}


def test_nothing_after_the_cut_is_a_source() -> None:
    said = turn(0, user="See assign_berth.")
    later = (USED, turn(0, bash("a", "assign_berth")))
    assert task(said, later=later).sources == {}


def test_the_history_is_the_text_of_all_turns_before_the_cut() -> None:
    earlier = turn(0, bash("a", LONG), user="Go."), turn(1, says="Then.")
    found = task(*earlier, later=(turn(0), turn(0), turn(0)))
    assert found.history == sum(EXACT.count(turn_text(one)) for one in earlier)
    assert found.steps == 3


def test_a_name_is_needed_at_the_step_that_writes_it_first() -> None:
    shown = turn(0, bash("a", "assign_berth moor_vessel"))
    later = (turn(0), turn(0, says="moor_vessel"), turn(0, says="moor_vessel, assign_berth"))
    assert task(shown, later=later).needed_at == {"moor_vessel": 1, "assign_berth": 2}


SMALL, LARGE = Source(0, 0, 10), Source(1, 0, 500)
PLANNED = Task(
    steps=20,
    history=1_000,
    needed_at={"a": 4, "b": 9, "c": 19, "only said": 2},
    sources={"a": SMALL, "b": LARGE, "c": LARGE},
)


def test_what_is_carried_and_what_is_fetched_again_count_at_every_step() -> None:
    assert task_scores(PLANNED, 30, ["a"]) == {
        "task_tokens": 30 * 20 + 10 * 16,
        "fetched_tokens": 10,
        "task_ratio": 760 / 20_000,
    }


def test_a_result_that_held_several_lost_names_is_fetched_once_for_the_first_of_them() -> None:
    for lost in (["b", "c"], ["c", "b"]):
        found = task_scores(PLANNED, 0, lost)
        assert (found["fetched_tokens"], found["task_tokens"]) == (500, 500 * 11)
