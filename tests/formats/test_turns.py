"""Turns: which call started which sub-agent, in whatever order files are read; what rewinds take
back."""

from __future__ import annotations

from functools import partial
from itertools import permutations

from kedgeline.formats.log import PROMPTS_KEPT, Line, Links, Log, remember
from kedgeline.formats.turns import Assembler
from kedgeline.model import Text, ToolCall, ToolResult, Turn, Usage
from kedgeline.pipeline.read import read
from tests.claude import Records, text, use

# Links.


def test_what_is_known_does_not_depend_on_what_is_read_first() -> None:
    for order in permutations(range(5)):
        links = Links()
        read = (
            partial(links.asked, "c1", "Look.", "01"),
            partial(links.asked, "c2", "Look.", "02"),
            partial(links.begun, "a", "Look.\n", "03"),
            partial(links.begun, "b", " Look.", "04"),
            partial(links.told, "b", "c1"),
        )
        for number in order:
            read[number]()
        assert links.all() == {"b": "c1", "a": "c2"}


def test_words_that_are_not_the_prompt_link_nothing() -> None:
    links = Links()
    links.asked("c1", "Look.", "01")
    links.asked("c2", "", "01")
    links.begun("a", "Look there.", "02")
    links.begun("b", "", "02")
    assert links.all() == {}


def test_memory_does_not_grow_with_what_is_never_linked() -> None:
    links = Links()
    for number in range(PROMPTS_KEPT * 2):
        links.asked(f"c{number}", f"Look {number}.")
        links.begun(f"a{number}", f"Look {number}.")
    assert len(links.all()) == PROMPTS_KEPT
    known: dict[str, int] = {}
    for number, key in enumerate("abcad"):
        remember(known, key, number, most=3)
    assert known == {"b": 1, "c": 2, "d": 4}, "the oldest goes, and a known key makes no room"


def test_a_file_beside_the_sessions_own_speaks_for_sub_agents_alone() -> None:
    log = Log()
    log.fact("id", "s1", turn=0)
    log.lengths[0, ""] = 4
    other = log.beside("agent-a.jsonl")
    other.fact("id", "a", turn=0)
    other.lengths |= {(0, ""): 9, (0, "a"): 2}
    other.pending |= {(0, ""): Turn(index=9), (0, "a"): Turn(index=2, agent="a")}
    other.broken("shape", Line(3), "odd")
    other.links.told("a", "c1")
    log.take_in(other)
    assert log.latest("id") == "s1"
    assert log.lengths == {(0, ""): 4, (0, "a"): 2}
    assert list(log.pending) == [(0, "a")]
    assert [one.file for one in log.damage] == ["agent-a.jsonl"]
    assert log.delegated_by == {"a": "c1"}


# Rewinds.


LINE = Line(0)


def said(assembler: Assembler, number: int, *calls: str) -> list[Turn]:
    assembler.user(LINE, [Text(text=f"ask {number}")])
    pieces = [Text(text=f"say {number}"), *(ToolCall(id=call, tool="Bash") for call in calls)]
    assembler.assistant(LINE, pieces, message_id=f"m{number}", usage=Usage(output=number))
    return list(assembler.ready())


def test_a_call_that_was_taken_back_lacks_no_result_and_leaves_no_error() -> None:
    log = Log()
    assembler = Assembler(log)
    said(assembler, 1, "c1")
    assembler.results(LINE, [ToolResult(call_id="c1", success=False)])
    said(assembler, 2, "c2")
    assembler.go_back(0, -1)
    said(assembler, 3)
    given = list(assembler.finish())
    assert given[-1].message_id == "m3"
    assert not given[-1].previous_error
    assert not log.damage


def test_a_rewind_behind_an_unanswered_call_loses_no_turn_that_stands() -> None:
    """Turns behind a call without a result wait for it; a rewind dropped them all."""
    records = Records()
    records.user("one")
    records.assistant("m0", text("a"), use("interrupted"))
    records.user("two")
    fork = records.assistant("m1", text("b"))
    records.user("three")
    records.assistant("m2", text("c"))
    records.user("three, but better", parent=fork)
    records.assistant("m3", text("d"))
    turns = read(b"".join(records.lines)).turns
    assert [(turn.index, turn.message_id) for turn in turns] == [(0, "m0"), (1, "m1"), (2, "m3")]


def test_going_back_to_a_branch_still_finds_its_turns() -> None:
    records = Records()
    records.user("one")
    fork = records.assistant("m0", text("a"))
    records.user("two")
    left = records.assistant("m1", text("b"))
    records.user("another two", parent=fork)
    records.assistant("m2", text("c"))
    records.user("three", parent=left)
    records.assistant("m3", text("d"))
    turns, _ = records.read()
    standing: list[Turn] = []
    for turn in turns:
        del standing[turn.index :]
        standing.append(turn)
    assert [turn.message_id for turn in standing] == ["m0", "m1", "m3"]
    assert {turn.message_id for turn in turns} == {"m0", "m1", "m2", "m3"}
