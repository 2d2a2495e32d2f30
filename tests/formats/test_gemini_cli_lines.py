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


HEARD = "Got it. Thanks for the additional context!"


def test_a_summary_that_begins_with_what_its_writer_thought_is_known_by_the_answer_to_it() -> None:
    """The client asks for a scratchpad before the snapshot, and keeps what it gets. What it kept of
    the messages has new ids, and is not said again."""
    thought = "<scratchpad>A was said</scratchpad>\n<state_snapshot>so far: A</state_snapshot>"
    shortened = [user([{"text": thought}], 9), said([{"text": HEARD}], 10), user("b", 11)]
    again = {"$set": {"messages": [*shortened, said("B.", 12)]}}
    was = recorded(
        user("a", 0), said("A.", 1), user("b", 2), said("", 3),
        {"$set": {"messages": shortened}}, said("B.", 4), again, user("c", 5), said("C.", 6),
    )  # fmt: skip
    assert [t.user_message for t in was.turns] == ["a", "b", "c"]
    assert [(c.turn, c.summary) for c in was.log.compactions] == [(1, thought)]


def test_a_new_list_of_messages_without_a_summary_is_no_compaction() -> None:
    listed = [user("<session_context>x</session_context>", 7), user("a", 8), said("A.", 9)]
    was = recorded({"$set": {"messages": listed}}, user("a", 0), said("A.", 1))
    assert [t.user_message for t in was.turns] == ["a"]
    assert was.log.compactions == []


def test_what_hooks_say_is_neither_said_by_the_user_nor_by_a_tool() -> None:
    """The client puts it before the words, in a part behind them, and behind an output."""
    start, prompt = "<hook_context>at start</hook_context>", "<hook_context>b &lt; c</hook_context>"
    tool = "<hook_context>of the tool</hook_context>"
    words = "say </hook_context>"
    was = recorded(
        user([{"text": f"{start}\n\n{words}"}, {"text": prompt}], 0),
        said("", 1, call(f"a.py\n\n{tool}")),
        said("Done.", 2),
    )
    first, second = was.turns
    assert first.user_message == words
    assert [r.output for r in first.tool_results] == ["a.py"]
    assert [(n.kind, n.text) for n in first.notes] == [("hook", start), ("hook", prompt)]
    assert [(n.kind, n.text) for n in second.notes] == [("hook", tool)]
    assert (second.user_message, second.exchange) == ("", 0)
