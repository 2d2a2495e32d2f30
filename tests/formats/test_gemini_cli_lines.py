"""Gemini CLI chats as lines: messages that grow, rewinds, and histories the client shortened."""

from __future__ import annotations

from tests.formats.gemini_chat import call, recorded, said, user


def test_a_message_that_is_written_again_as_it_grows_counts_once() -> None:
    was = recorded(
        user("go"),
        {"$set": {"lastUpdated": "2026-01-01T00:00:01.000Z"}},
        said("On it.", 1),
        {"$set": {"summary": "Tides"}},
        said("On it.", 1, {**call(), "status": "executing", "result": None}),
        said("On it.", 1, call("a.py")),
        said("Done.", 2),
    )
    assert [t.assistant_response for t in was.turns] == ["On it.", "Done."]
    assert [r.output for r in was.turns[0].tool_results] == ["a.py"]
    assert (was.turns[0].source.first, was.turns[0].source.last) == (1, 6)
    assert was.log.latest("title") == "Tides"
    assert was.log.damage == []


def test_a_message_that_comes_again_later_is_not_said_twice() -> None:
    was = recorded(user("a", 0), said("A.", 1, call()), user("b", 2), said("A.", 1, call()))
    assert [t.assistant_response for t in was.turns] == ["A."]
    assert [d.kind for d in was.log.damage] == ["duplicate"]


def test_a_rewind_takes_back_a_message_and_what_followed() -> None:
    was = recorded(
        user("a", 0), said("A.", 1),
        user("wrong", 2), said("W.", 3), said("X.", 4),
        {"$rewindTo": "m2"},
        user("right", 5), said("R.", 6),
    )  # fmt: skip
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("a", 0), ("right", 1)]
    assert was.log.rewound == 2


def test_a_rewind_to_the_last_words_takes_back_only_these() -> None:
    was = recorded(
        user("a", 0),
        said("A.", 1),
        user("wrong", 2),
        {"$rewindTo": "m2"},
        user("b", 3),
        said("B.", 4),
    )
    assert [t.user_message for t in was.standing()] == ["a", "b"]


def test_a_rewind_to_nowhere_begins_anew() -> None:
    was = recorded(user("a", 0), said("A.", 1), {"$rewindTo": "gone"}, user("b", 2), said("B.", 3))
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("b", 0)]


def test_a_new_list_of_messages_adds_only_its_summary() -> None:
    """The client writes its shortened history as metadata; what it leaves out still happened."""
    snapshot = "<state_snapshot>so far: A</state_snapshot>"
    shortened = [user(snapshot, 9), said("A.", 1)]
    was = recorded(
        user("a", 0), said("A.", 1), {"$set": {"messages": shortened}}, user("b", 2), said("B.", 3)
    )
    assert [(t.user_message, t.assistant_response) for t in was.turns] == [("a", "A."), ("b", "B.")]
    assert [(c.turn, c.summary) for c in was.log.compactions] == [(1, snapshot)]
