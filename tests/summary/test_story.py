"""The Story: as much of what was said and done as there is room for, in its order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.model import Answered, AnyFact, Called, Requested, Stated
from kedgeline.summary import build, fit, handoff, items_of, merged, parse, story_of
from kedgeline.summary.state import Item
from kedgeline.summary.story import Worth

WORDS = (
    "The lock is stale because nobody removes it.",
    "Let me look at the tests.",
    "I changed `free` in src/lock.py to release it.",
    "All 14 tests pass.",
    "Option A keeps the file, option B drops it.",
)
wheres = st.sampled_from(("answer", "narration", "thought", "report"))
said = st.builds(
    Stated,
    turn=st.integers(0, 40),
    by=st.just("agent"),
    text=st.sampled_from(WORDS),
    where=wheres,
    head=st.sampled_from(("", "Findings", "What I did:")),
    place=st.integers(0, 9),
)
done = st.builds(
    Called,
    turn=st.integers(0, 40),
    kind=st.sampled_from(("run", "edit", "read", "search", "other")),
    what=st.sampled_from(("ran `make test`", "edited", "read")),
    path=st.sampled_from(("", "src/lock.py", "tests/lock.py")),
    came=st.sampled_from(("", "14 passed in 0.3s", "line\n" * 60)),
    place=st.integers(10_000, 10_009),
)
asked = st.builds(
    Requested,
    turn=st.integers(0, 40),
    by=st.just("user"),
    text=st.sampled_from(("Fix the lock", "yes", "Now the docs, " * 40)),
    scope=st.sampled_from(("new", "same", "step")),
)
histories = st.lists(st.one_of(said, done, asked), max_size=60).map(
    lambda found: sorted(found, key=lambda one: one.turn)
)


def count(text: str) -> int:
    return len(text) // 4


def story(found: list[AnyFact], room: int) -> list[Item]:
    state = build(found)
    fitted = fit(items_of(state), room, count, story=story_of(state))
    return [item for item in fitted.items if item.section == "Story"]


@settings(max_examples=60)
@given(histories, st.integers(200, 1_500), st.integers(0, 1_500))
def test_what_a_smaller_room_tells_a_larger_one_tells(
    found: list[AnyFact], room: int, more: int
) -> None:
    small, large = story(found, room), story(found, room + more)
    turns = {(turn, item.text.partition(": ")[0]) for item in large for turn in item.turns}
    assert {(turn, i.text.partition(": ")[0]) for i in small for turn in i.turns} <= turns


@settings(max_examples=60)
@given(histories)
def test_with_room_for_all_everything_is_told_in_the_order_of_turns(found: list[AnyFact]) -> None:
    state = build(found)
    told = fit(items_of(state), 1 << 40, count, story=story_of(state)).items
    turns = [item.turns[0] for item in told if item.section == "Story"]
    assert turns == sorted(turns)
    whole = "\n".join(item.text for item in told)  # what a section quotes the Story leaves to it
    for fact in found:
        if isinstance(fact, Stated):
            assert fact.text in whole
        elif isinstance(fact, Called):
            assert fact.what in whole


@settings(max_examples=60)
@given(histories, st.integers(200, 3_000))
def test_the_room_is_kept_and_the_text_reads_back(found: list[AnyFact], room: int) -> None:
    state = build(found)
    text = handoff(state, room, count)
    items, _ = parse(text)
    assert count(text) <= room or all(item.section != "Story" for item in items)
    assert [i.text for i in items if i.section == "Story"] == [i.text for i in story(found, room)]


@settings(max_examples=40)
@given(histories, st.integers(0, 40), st.integers(300, 1_500))
def test_folding_in_two_steps_tells_the_same(found: list[AnyFact], cut: int, room: int) -> None:
    early = [fact for fact in found if fact.turn <= cut]
    late = [fact for fact in found if fact.turn > cut]
    twice = merged(build(early, through=cut), late, through=40)
    once = build(found, through=40)
    assert handoff(twice, room, count) == handoff(once, room, count)


def test_the_story_leaves_to_a_section_what_that_quotes_of_the_turn() -> None:
    """A closing answer stood in the state and once more in the Story; an equal one of another turn
    is told there still."""
    closing = "The lock is freed by `reset` in every case now."
    found = [Stated(turn=turn, by="agent", text=closing, where="answer") for turn in (2, 5)]
    answered = Answered(turn=5, text=closing, whole=closing)
    state = build([*found, answered], through=5)
    fitted = fit(items_of(state), 1_000, count, story=story_of(state))
    told = [(item.section, item.turns) for item in fitted.items if closing in item.text]
    assert ("Current State", (5,)) in told
    assert ("Story", (5,)) not in told


def test_a_call_that_the_user_refused_outlives_those_that_ran() -> None:
    runs = [
        Called(turn=n, kind="run", what=f"ran `check part-{n} of the harbour`", place=1)
        for n in range(40)
    ]
    refused = Called(turn=3, kind="run", what="ran `deploy --force`", state="refused", place=2)
    told = story([*runs, refused], 300)
    assert any("deploy --force" in item.text and "(refused)" in item.text for item in told)
    assert len(told) < len(runs)


def test_the_room_is_used() -> None:
    found: list[AnyFact] = [Requested(turn=0, by="user", text="Explain the lock", scope="new")]
    found += [
        Stated(turn=n, by="agent", text=f"Part {n} of `lock{n}` waits for {n} ms.", where="answer")
        for n in range(400)
    ]
    state = build(found)
    for room in (600, 2_000, 4_000):
        assert 0.95 * room <= count(handoff(state, room, count)) <= room


def test_an_announcement_gives_way_to_a_finding() -> None:
    found: list[AnyFact] = [
        Requested(turn=0, by="user", text="Why does it hang?", scope="new"),
        Stated(turn=1, by="agent", text="Let me check the lock file next.", where="narration"),
        Stated(
            turn=2,
            by="agent",
            text="It hangs because `free` is never called after a crash.",
            where="answer",
        ),
        *(
            Stated(turn=n, by="agent", text=f"Now let me look at part {n}.", where="narration")
            for n in range(3, 30)
        ),
    ]
    told = " ".join(item.text for item in story(found, 180))
    assert "never called after a crash" in told
    assert "check the lock file" not in told


def test_what_was_pending_when_another_system_wrote_its_summary_gives_way() -> None:
    def earlier(head: str) -> Stated:
        text = "Run the linter on `crane.go` before the release"
        return Stated(turn=0, by="agent", text=text, where="summary", head=head)

    pending, decided = (earlier(head) for head in ("7. Pending Tasks:", "4. Problem Solving:"))
    worth = Worth(build([pending, decided]))
    assert worth.of(pending) < worth.of(decided) / 2


def test_a_statement_of_a_list_is_told_with_its_head_once() -> None:
    found: list[AnyFact] = [
        Stated(turn=1, by="agent", text=f"cause {n} is `c{n}`", where="answer", head="Causes:")
        for n in range(3)
    ]
    (line,) = story(found, 1 << 40)
    assert line.text.count("Causes:") == 1
    assert line.text.endswith("cause 0 is `c0` · cause 1 is `c1` · cause 2 is `c2`")
