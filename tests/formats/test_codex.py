"""Codex rollouts: two streams telling one story, and outputs that carry their own exit code."""

from __future__ import annotations

from kedgeline.formats.agents.codex import FORMAT
from kedgeline.model import Text
from tests.formats.codex_rollout import (
    META,
    call,
    event,
    item,
    output,
    reasoning,
    record,
    said,
    session,
    user,
)
from tests.formats.handmade import lines, notes, read


def test_the_items_of_one_answer_are_one_turn() -> None:
    was = session(
        user("what is here?"),
        reasoning("look first"),
        said("Looking."),
        call("c1", "ls"),
        call("c2", "pwd"),
        output("c1", "a.py"),
        output("c2", "/home"),
        said("One file."),
    )
    first, second = was.turns
    assert (first.user_message, first.thinking) == ("what is here?", "look first")
    assert first.assistant_response == "Looking."
    assert [c.parameters["command"][-1] for c in first.tool_calls] == ["ls", "pwd"]
    assert [r.output for r in first.tool_results] == ["a.py", "/home"]
    assert (second.assistant_response, second.user_message) == ("One file.", "")
    assert was.log.damage == []


def test_context_that_nobody_typed_is_not_the_users() -> None:
    was = session(
        user("<environment_context>\n<cwd>/x</cwd></environment_context>"),
        user("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe kind"),
        user("<user_instructions>be brief</user_instructions>"),
        item("message", role="developer", content=[{"type": "input_text", "text": "sandboxed"}]),
        user(
            "# Context from my IDE setup:\n\n## Active file: a.py\n\n"
            "## My request for Codex:\nfix a.py\n"
        ),
        said("Fixed."),
    )
    (turn,) = was.turns
    assert turn.user_message == "fix a.py"
    assert [n.kind for n in turn.notes] == [
        "environment",
        "instructions",
        "instructions",
        "environment",
    ]
    assert "## Active file: a.py" in turn.notes[3].text
    assert [m.parts for m in turn.messages if m.role == "system"] == [(Text(text="sandboxed"),)]
    assert turn.exchange == 0


def test_instructions_and_the_system_prompt_of_the_session() -> None:
    meta = {**META, "instructions": "never push", "base_instructions": {"text": "You are Codex."}}
    was = read(FORMAT, lines([record("session_meta", **meta), user("hi"), said("Hello.")]))
    assert was.log.heads[0][0].parts == (Text(text="You are Codex."),)
    assert notes(was.turns[0], "instructions") == ["never push"]


def test_session_facts_and_their_changes() -> None:
    context = {"cwd": "/home/sam/harbor", "approval_policy": "on-request", "model": "gpt-5-codex"}
    was = session(
        user("a"),
        record("turn_context", **context),
        said("A."),
        event("thread_name_updated", thread_name="Tides"),
        user("b"),
        record("turn_context", **{**context, "cwd": "/home/sam/quay", "model": "gpt-5"}),
        said("B."),
        record("session_meta", **{**META, "id": "s-0"}),
    )
    log = was.log
    assert [(c.name, c.value, c.turn) for c in log.changes if c.name in ("root", "model")] == [
        ("root", "/home/sam/harbor", 0),
        ("model", "gpt-5-codex", 0),
        ("root", "/home/sam/quay", 1),
        ("model", "gpt-5", 1),
    ]
    assert [log.latest(n) for n in ("id", "branch", "client", "mode", "title")] == [
        "s-1",
        "tide",
        "codex 0.50.0",
        "on-request",
        "Tides",
    ]
    assert [t.model for t in was.turns] == ["gpt-5-codex", "gpt-5"]


def test_a_sandbox_is_the_mode_where_no_policy_is_named() -> None:
    was = session(
        record("turn_context", approval_policy=None, sandbox_policy={"mode": "read-only"})
    )
    assert was.log.latest("mode") == "read-only"


def test_an_earlier_compaction() -> None:
    was = session(
        user("a"), said("A."), record("compacted", message="so far: A"), user("b"), said("B.")
    )
    (compaction,) = was.log.compactions
    assert (compaction.by, compaction.turn, compaction.summary) == ("codex", 1, "so far: A")
    assert (compaction.source.first, len(was.turns)) == (3, 2)


def test_unknown_types_are_counted_and_wrong_shapes_reported() -> None:
    was = session(
        record("weather"),
        item("poem"),
        event("rainbow"),
        {"timestamp": "", "type": "response_item", "payload": 5},
        user("hi"),
        said("Hello."),
    )
    assert dict(was.log.ignored) == {"weather": 1, "response_item/poem": 1, "event_msg/rainbow": 1}
    assert [d.kind for d in was.log.damage] == ["shape"]
    assert len(was.turns) == 1


def test_what_the_summariser_wrote_is_no_answer_of_the_agent() -> None:
    was = session(
        user("a"),
        said("A."),
        user("b"),
        said("The lamp is lit."),
        record("compacted", message="Another model began.\nThe lamp is lit."),
        user("c"),
        said("C."),
    )
    assert [turn.assistant_response for turn in was.turns] == ["A.", "C."]
    assert [one.summary for one in was.log.compactions] == [
        "Another model began.\nThe lamp is lit."
    ]


def test_an_answer_that_is_no_part_of_the_summary_stands() -> None:
    was = session(user("a"), said("Lit."), record("compacted", message="The lamp was mended."))
    assert [turn.assistant_response for turn in was.turns] == ["Lit."]
