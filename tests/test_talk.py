"""A talk without code: the newest value of a matter stands, an older one never stands unmarked,
repeats and small talk take no room from what was given."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import conformance
from kedgeline.facts import facts_of
from kedgeline.model import Stated, Summary, ToolCall, ToolResult, Transcript, Turn
from kedgeline.pipeline.handoff import hand_on, is_well_formed, summarize
from kedgeline.pipeline.read import read
from kedgeline.pipeline.view import wrapped
from kedgeline.summary import entries_of, handoff

FILLERS = ("Thanks, that helps.", "haha ok", "Lovely weather over here this morning.")
MARKED = re.compile(r"(?:replaced|superseded) in t\d+")


def talk(*said: str, answer: str = "Noted.") -> Transcript:
    messages = [
        message
        for words in said
        for message in (
            {"role": "user", "content": words},
            {"role": "assistant", "content": answer},
        )
    ]
    return read(json.dumps(messages).encode())


def gone_on(text: str) -> Summary:
    """What is known of a session that goes on from nothing but a text of ours."""
    return summarize(read(json.dumps([{"role": "user", "content": wrapped(text)}]).encode()))


def count(text: str) -> int:
    return -(-len(text) // 4)


def told(summary: Summary, room: int) -> str:
    return handoff(summary, room, count)


def matter(words: str) -> str:
    found = [one for one in facts_of(talk(words)) if isinstance(one, Stated) and one.by == "user"]
    return found[0].matter if found else ""


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("My budget is 4,000", "The budget is now $5,000."),
        ("Budget: 4000", "Our budget is 5000"),
        ("The meeting is on Tuesday.", "the meeting moved to Friday"),
        ("Call me Sam.", "My name is Max."),
        ("Seat: aisle", "Seat: window"),
        ("My favourite colour is green.", "My favourite colour is blue."),
        ("NOTE: The launch deadline is 2027-03-01.", "The launch deadline is March 9"),
        ("We are in phase 2 of the move", "We are in phase 3 of the move"),
    ],
)
def test_a_later_value_of_the_same_matter_replaces_the_earlier_one(
    earlier: str, later: str
) -> None:
    assert matter(earlier)
    assert matter(earlier) == matter(later)
    text = told(summarize(talk(earlier, "haha ok", later)), 2_000)
    assert all(MARKED.search(line) for line in text.split("\n") if earlier in line)
    assert f'- "{later}" [t2]' in text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The production database is Postgres 15.", "The staging database is Postgres 16."),
        ("The meeting is on Tuesday.", "The meeting is at 9:30."),
        ("Never touch src/a.py", "Never touch src/b.py"),
        ("Fix issue 12", "Fix issue 13"),
        ("We use Postgres.", "We use Redis."),
        ("Is the budget 4000?", "The budget is 5000"),
    ],
)
def test_what_may_hold_beside_it_replaces_nothing(one: str, other: str) -> None:
    assert not summarize(talk(one, "haha ok", other, "go on")).overtaken()


def test_one_message_that_names_a_matter_again_and_again_is_a_list() -> None:
    summary = summarize(talk("Date: 2027-01-02\nDate: 2027-01-03", "ok"))
    assert not summary.overtaken()


SUBJECTS = ("budget", "hotel", "flight", "deadline", "contact")
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(SUBJECTS), st.integers(0, 3)),
        st.sampled_from(FILLERS),
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=60, deadline=None)
@given(steps, st.booleans())
def test_the_newest_value_stands_wherever_its_matter_does(
    said: list[tuple[str, int] | str], twice: bool
) -> None:
    words, latest = list[str](), dict[str, str]()
    shapes = ("My {0} is {1}.", "{0}: {1}", "The {0} is {1} now.", "our {0} is set to {1}")
    values = set[str]()
    for number, one in enumerate(said):
        if isinstance(one, str):
            words.append(one)
            continue
        value = f"VAL{number}X"
        words.append(shapes[one[1]].format(one[0], value))
        latest[one[0]] = value
        values.add(value)
    summary = summarize(talk(*words))
    if twice:
        summary = gone_on(told(summary, 400))
    for room in (60, 120, 250, 600, 2_000):
        text = told(summary, room)
        for line in text.split("\n"):
            for value in values - set(latest.values()):
                assert value not in line or MARKED.search(line), line
        for subject, value in latest.items():
            if re.search(rf"\b{subject}\b", text):
                assert value in text, (room, text)


def test_values_come_before_small_talk_and_repeats_are_told_once() -> None:
    given_first = "My budget is 4,000"
    rounds = [words for _ in range(15) for words in FILLERS]
    summary = summarize(talk(given_first, *rounds, answer="Sure, going on with that."))
    assert given_first in told(summary, 90)
    text = told(summary, 4_000)
    assert text.count(FILLERS[2]) <= 2  # asked last, and once in the Story
    assert text.count("Agent: Sure, going on with that.") == 1


def test_the_state_of_work_on_files_is_the_work() -> None:
    call = ToolCall(id="1", tool="Write", parameters={"file_path": "/r/a.py", "content": "x"})
    done = ToolResult(call_id="1", output="ok")
    turn = Turn(user_message="My budget is 4,000", tool_calls=(call,), tool_results=(done,))
    summary = summarize(Transcript(format="plain", turns=(turn,)))
    assert summary.files
    assert not summary.values_now()


def test_a_rule_behind_a_label_is_kept_with_all_of_its_line() -> None:
    words = "HARD CONSTRAINT: Only Python 3.11. No network calls from the sandbox."
    summary = summarize(talk("hello there", words))
    assert [rule.text for rule in summary.instructions] == [words]


def test_the_story_survives_a_compaction_of_its_own_text() -> None:
    remark = "The webhook retries three times before it gives up"
    summary = summarize(
        talk(remark, "what then", answer="It is put into the queue of dead letters.")
    )
    first = told(summary, 600)
    assert "queue of dead letters" in told(gone_on(first), 600)


def test_empty_sections_share_a_line_in_little_room_and_are_read_again() -> None:
    summary = summarize(talk("My budget is 4,000", "ok"))
    brief, whole = told(summary, 500), told(summary, 4_000)
    assert "The other 9 sections: N/A" in brief
    assert "The other" not in whole
    assert is_well_formed(brief)
    assert not is_well_formed(brief.replace("The other 9 sections: N/A", ""))
    assert not is_well_formed(brief.replace("## Current State\n", ""))
    assert entries_of(brief) == entries_of(whole)


def test_a_fifth_of_the_room_holds_most_of_a_talk() -> None:
    pytest.importorskip("compaction_kit")
    found = conformance.measure(watch=lambda _: None, rooms=(0.20,), seeds=(1,))
    ours = found.found[0]
    assert ours.text == "kedgeline"
    assert ours.survived >= 0.80
    assert ours.stale == 0
    assert ours.longest <= 1.0


def test_what_is_handed_on_is_accepted() -> None:
    summary = summarize(
        talk("My budget is 4,000", "haha ok", "My budget is 5,000", "Go on, please.")
    )
    assert hand_on(summary, 500, count).verdict.accepted
