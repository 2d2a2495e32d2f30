"""Which call started which sub-agent, in whatever order the files of a session are read."""

from __future__ import annotations

from functools import partial
from itertools import permutations

from kedgeline.formats.log import PROMPTS_KEPT, Line, Links, Log, remember
from kedgeline.model import Turn


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
