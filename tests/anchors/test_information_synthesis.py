"""Looking in several places, changing nothing, and saying what was found."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.anchors.detectors.talk import InformationSynthesis
from kedgeline.model import Note, Turn
from tests.anchors.watching import found_by, memory_after
from tests.turns import bash, called, edit, turn

REPORT = (
    "The login is slow because every request reads the whole session table.\n\n"
    "## Where\n\n- `auth.py` loads all sessions\n- `store.py` has no index\n- `web.py` calls both\n"
    "\n## What would help\n\nAn index on the session id, and one query instead of two. "
    "Both are small changes, and neither touches the format of what is stored."
)
SHORT = "It is slow."


def read(path: str, **fields: Any) -> Any:
    return called("Read", "def f(): ...", file_path=path, **fields)


def looked(*steps: Any, answer: str = REPORT, **fields: Any) -> str:
    """What is found where the agent took these steps, each a turn, and closed with an answer."""
    turns = [
        turn(n, step, **({"user": "why slow?"} if n == 0 else {})) for n, step in enumerate(steps)
    ]
    turns.append(turn(len(steps), says=answer, **fields))
    return found_by(InformationSynthesis(), *turns).get(len(steps), "")


FILES = (read("auth.py"), read("store.py"), read("web.py"))


def test_findings_from_several_places_are_reported():
    assert looked(*FILES) == (
        "Findings reported from 3 sources: The login is slow because every request reads the whole"
        " session table."
    )


def test_reads_searches_pages_and_look_ups_are_places():
    assert looked(
        called("Grep", "auth.py:3", pattern="session"),
        called("WebFetch", "a page", url="https://example.org"),
        called("get_session_details", "{}", session="s1"),
        called("mcp__crm__listCustomers", "[]"),
        called("calculate", "12", expression="3*4"),
    ).startswith("Findings reported from 5 sources: ")


def test_the_shell_is_a_way_to_look():
    looks = (bash("cat auth.py"), bash("git log -3 | head"), bash("cd src && grep -rn login ."))

    assert looked(*looks).startswith("Findings reported from 3 sources: ")
    assert looked(*looks[:2], bash("cd src && make")) == ""
    assert looked(*looks[:2], bash("cd src")) == ""


def test_the_same_place_counts_once():
    assert looked(read("auth.py"), read("auth.py"), read("auth.py")) == ""


def test_what_failed_was_not_looked_at():
    assert looked(read("auth.py"), read("store.py"), read("web.py", success=False)) == ""


@pytest.mark.parametrize(
    "step",
    [
        edit("auth.py"),
        called("update_session", "ok", session="s1"),
        called("mcp__crm__send-mail", "sent"),
        bash("git commit -m fix", "[main 1a2b3c4] fix"),
        bash("git add auth.py"),
    ],
)
def test_an_exchange_that_changed_something_is_no_report(step: Any):
    assert looked(*FILES, step) == ""


@pytest.mark.parametrize(
    "answer",
    [
        SHORT,
        "Could you please provide the session id, so that I can look further? " * 8,
        "To go on I have a few questions:\n\n- Which database?\n- Which version?\n- Who logs in?\n"
        + "- Where does it run, and since when has it been slow for everybody who uses it?\n" * 6,
        "I'm sorry, I could not open the log. " + REPORT,
        "Unfortunately nothing in these files explains it. " + REPORT,
    ],
)
def test_a_question_a_failure_or_a_short_word_is_no_report(answer: str):
    assert looked(*FILES, answer=answer) == ""


def test_a_report_may_end_with_an_offer():
    assert looked(*FILES, answer=f"{REPORT}\n\nWould you like me to add the index?") != ""


def test_a_table_or_list_may_be_shorter():
    rows = "".join(f"| f{number}.py | reads the session table |\n" for number in range(6))

    assert looked(*FILES, answer=f"| file | what |\n|---|---|\n{rows}") != ""
    assert looked(*FILES, answer="They read the session table. " * 8) == ""


def test_code_is_not_prose():
    code = "```python\n" + "x = 1\n" * 200 + "```"

    assert looked(*FILES, answer=f"This is the file:\n\n{code}") == ""


def test_places_of_an_earlier_request_do_not_count():
    turns = (
        *(turn(n, step, user="why?" if n == 0 else "") for n, step in enumerate(FILES)),
        turn(3, user="and the colours?", exchange=1, says=REPORT),
    )

    assert found_by(InformationSynthesis(), *turns) == {}


def test_another_agents_report_is_enough():
    explored = called("Task", "The login reads all sessions. " * 20, prompt="look", description="x")

    assert looked(explored).startswith("Findings reported from another agent: The login is slow")


def test_agents_in_the_background_are_waited_for():
    started = [
        called("Task", "launched", prompt=name, run_in_background=True) for name in ("a", "b")
    ]
    back = [Note(kind="notification", text=f"agent {name} completed") for name in ("a", "b")]

    found = found_by(
        InformationSynthesis(),
        turn(0, *started, user="review it"),
        turn(1, says=REPORT),
        turn(2, says=REPORT, notes=(back[0],)),
        turn(3, says=REPORT, notes=(back[1],)),
    )

    assert list(found) == [3]


PLAIN = REPORT + "\n\nAll of this can be done in a day, and none of it can wait for the release."


def chat(*pairs: tuple[str, str]) -> dict[int, str]:
    """A conversation without calls."""
    turns = [turn(n, user=user, exchange=n, says=says) for n, (user, says) in enumerate(pairs)]
    return found_by(InformationSynthesis(), *turns)


def test_an_answer_the_user_takes_up_concludes_a_matter():
    found = chat(("why slow?", PLAIN), ("ok, create a ticket with these points", "Here it is."))

    assert found == {
        1: "Answer taken up: The login is slow because every request reads the whole session table."
    }


@pytest.mark.parametrize(
    "words",
    [
        "no, that is wrong",
        "why would it read all of them?",
        "you left out the cache",
        "are you sure",
    ],
)
def test_an_answer_the_user_objects_to_does_not(words: str):
    assert chat(("why slow?", PLAIN), (words, "Fine.")) == {}


def test_an_answer_that_sums_up_concludes_at_once():
    summed_up = f"{PLAIN}\n\n## Summary\n\nAdd an index."

    assert list(chat(("why slow?", summed_up))) == [0]
    assert chat(("why slow?", f"{PLAIN}\n\nA summary of it would be long.")) == {}


def test_an_export_of_a_whole_run_is_judged_by_its_last_section():
    """SpecStory writes the steps of a run into one answer: tool use as details, code, rules."""
    steps = (
        "<details>\n<summary>Searched</summary>\n| a | b |\n</details>\n\n---\n\n"
        + "```\nx\n```\n" * 9
    )

    assert list(chat(("why?", f"{steps}\n---\n\n{PLAIN}"), ("ok, write it down", "Done."))) == [1]
    assert chat(("why?", f"{steps}\n---\n\nCancelled"), ("ok, write it down", "Done.")) == {}


def test_a_chat_of_long_answers_is_not_all_conclusions():
    pairs = [("go on", PLAIN) for _ in range(100)]

    assert 15 <= len(chat(*pairs)) <= 20


def test_once_tools_are_used_talk_alone_concludes_nothing():
    turns = (
        turn(0, read("a.py"), user="look"),
        turn(1, says=PLAIN),
        turn(2, user="ok, write it down", exchange=1, says=PLAIN),
        turn(3, user="ok, make it shorter", exchange=2, says=f"{PLAIN}\n\n## Summary\n\nx"),
    )

    assert found_by(InformationSynthesis(), *turns) == {}


def test_memory_does_not_grow():
    def make(index: int) -> Turn:
        step = called("Grep", "x", pattern=f"{index}" * 300)
        return turn(index, step, says="y" * 500, exchange=index // 2_000)

    small = memory_after(InformationSynthesis(), 500, make)
    assert memory_after(InformationSynthesis(), 5_000, make) <= small * 1.1
