"""What a session consists of, counted."""

from __future__ import annotations

import json
from typing import Any

import kedgeline
from kedgeline.pipeline.stats import Stats
from kedgeline.tokens import Counter
from tests.claude import Records, text, use


class Letters:
    """One token a character, so that expected numbers can be read off."""

    name, exact = "o200k", True

    def count(self, text: str) -> int:
        return len(text)


def counted(data: bytes | Records, counter: Counter | None = None, largest: int = 5) -> Stats:
    source = data if isinstance(data, bytes) else b"".join(data.lines)
    return kedgeline.stats_of(kedgeline.stream(source), counter or Letters(), largest=largest)


def chat(*messages: tuple[str, str], **body: Any) -> dict[str, Any]:
    return {**body, "messages": [{"role": role, "content": words} for role, words in messages]}


def dialogue(number: int) -> dict[str, Any]:
    arguments = json.dumps({"command": f"look {number}"})
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {
        "task_id": number,
        "traj": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "x" * 3_000},
            {"role": "user", "content": f"more {number}?"},
        ],
    }


def test_equal_outputs_of_two_sessions_are_ranked() -> None:
    """Outputs of one size in the same turn of two sessions were compared with each other."""
    found = counted(json.dumps([dialogue(0), dialogue(1)]).encode())
    assert [output.tokens for output in found.largest_outputs] == [3_000, 3_000]
    assert {output.about for output in found.largest_outputs} == {"look 0", "look 1"}


def test_no_largest_outputs_are_named_where_none_are_wanted() -> None:
    data = json.dumps([dialogue(0)]).encode()
    assert counted(data, largest=0).largest_outputs == ()
    assert counted(data, largest=-1).largest_outputs == ()


def test_unanswered_words_of_every_session_are_reported_and_counted() -> None:
    found = counted(json.dumps([dialogue(0), dialogue(1)]).encode())
    assert found.pending == "more 0?\n\nmore 1?"
    assert (found.sessions, found.user_messages) == (2, 4)
    assert found.tokens.user == 2 * len("a" + "more 0?")


def test_a_prompt_in_two_blocks_is_one_message() -> None:
    records = Records()
    records.user([text("look at this"), text("and that")])
    records.assistant("m1", text("done"))
    records.user([text("one more"), text("thing")])
    assert counted(records).user_messages == 2


def test_an_output_is_as_large_as_it_counts() -> None:
    """A picture in a `data:` URL counted as text among the largest outputs, but not in the sum."""
    url = "data:image/png;base64," + "A" * 4_000
    records = Records()
    records.user("look")
    records.assistant("m1", use("c1", command="shot"))
    records.result("c1", json.dumps({"url": url}))
    found = counted(records)
    assert [output.tokens for output in found.largest_outputs] == [found.tokens.tool_output]
    assert found.tokens.tool_output == len('{"url": ""}')
    assert found.tokens.media > 0


def test_system_prompts_count() -> None:
    data = chat(("system", "be brief"), ("user", "hi"), ("assistant", "ho"), ("system", "now"))
    data["messages"] += [{"role": "user", "content": "so?"}, {"role": "assistant", "content": "."}]
    found = counted(json.dumps(data).encode())
    assert found.tokens.system + found.tokens.notes == len("be brief" + "now")
    assert found.tokens.system >= len("be brief")
    assert found.tokens.total == len("be brief" + "hi" + "ho" + "now" + "so?" + ".")
