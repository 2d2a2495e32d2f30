"""Anthropic's messages: whose words are whose, which result answers which call, and back again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import Media, Note, Opaque, Text, Thinking, Transcript
from tests.providers import rewritten, transcript_of, written

FORMAT = load_format("anthropic")
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you "
    "how to proceed, the user said:\nuse the other port"
)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def use(call_id: str, name: str = "Bash", **parameters: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": parameters}


def result(call_id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def read(*messages: dict[str, Any]) -> Transcript:
    return transcript_of("anthropic", list(messages))


def sniff(value: Any) -> int:
    return FORMAT.sniff(FileHead(json.dumps(value).encode()))


MIXED = [
    {"role": "user", "content": "light the harbour"},
    assistant(
        {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"},
        text("Looking.", citations=None),
        use("c1", command="ls"),
        use("c2", "Read", file_path="/a.py"),
    ),
    user(result("c2", [text("print(1)")]), result("c1", is_error=False), text("and be quick")),
    assistant({"type": "redacted_thinking", "data": "AAAA"}, text("Done.")),
]


def test_a_message_that_mixes_results_and_words_is_divided_between_two_turns() -> None:
    turns = read(*MIXED).turns
    assert [t.user_message for t in turns] == ["light the harbour", "and be quick"]
    assert [r.output for r in turns[0].tool_results] == ["ok", "print(1)"]
    assert [t.exchange for t in turns] == [0, 1]
    assert turns[0].thinking == "two lamps"


def test_a_divided_message_is_one_again_when_written() -> None:
    assert rewritten("anthropic", MIXED) == MIXED


def test_words_before_a_result_keep_their_place() -> None:
    messages = [*MIXED[:2], user(text("wait"), result("c1"), text("no"), result("c2")), MIXED[3]]
    assert rewritten("anthropic", messages) == messages


def test_a_request_keeps_its_system_prompt_and_its_other_fields() -> None:
    system = [text("Be brief.", cache_control={"type": "ephemeral"}), text("No jokes.")]
    body = {"model": "m", "max_tokens": 9, "system": system, "tools": [], "messages": MIXED}
    transcript = transcript_of("anthropic", body)
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief.", "No jokes."]
    assert transcript.wire == {
        "provider": "anthropic",
        "body": {"model": "m", "max_tokens": 9, "tools": []},
    }
    assert transcript.session.latest("model") == "m"
    assert written(transcript, "anthropic").system == system
    assert written(transcript, "anthropic").messages == MIXED


@pytest.mark.parametrize("system", ["Be brief.", [], "", [text("a")]])
def test_a_system_prompt_is_written_in_the_shape_it_had(system: Any) -> None:
    body = {"system": system, "messages": MIXED}
    assert written(transcript_of("anthropic", body), "anthropic").system == system


def test_a_system_message_between_the_others_stays_there() -> None:
    messages = [MIXED[0], {"role": "system", "content": "It is late."}, MIXED[3]]
    transcript = read(*messages)
    assert transcript.turns[0].user_message == "light the harbour"
    assert written(transcript, "anthropic").messages == messages


def test_blocks_of_hosted_and_unknown_tools_are_handed_through() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}
    odd = {"type": "hologram", "beams": 3}
    transcript = read(MIXED[0], assistant(search, found, odd))
    kinds = [p.kind for p in transcript.turns[0].messages[1].parts if isinstance(p, Opaque)]
    assert kinds == ["server_tool_use", "web_search_tool_result", "hologram"]
    assert transcript.ignored == {"block/hologram": 1}
    assert written(transcript, "anthropic").messages == [MIXED[0], assistant(search, found, odd)]


def test_an_error_flag_makes_a_failure_and_its_wording_an_exit_code() -> None:
    messages = (
        MIXED[0],
        assistant(use("c1")),
        user(result("c1", "Exit code 2\nno", is_error=True)),
    )
    [failed] = read(*messages).turns[0].tool_results
    assert (failed.success, failed.exit_code, failed.error) == (False, 2, "Exit code 2\nno")
    [fine] = read(*messages[:2], user(result("c1", "Exit code 2\nno"))).turns[0].tool_results
    assert (fine.success, fine.exit_code) == (True, None)


@pytest.mark.parametrize("tool", ["Bash", "Edit", "mcp__harbour__dock"])
@pytest.mark.parametrize("failed", [True, False])
def test_nobody_refuses_a_call_by_words_in_its_result(tool: str, failed: bool) -> None:
    """In a list of messages no field of a client's own stands beside them: the tool wrote them."""
    said = result("c1", REFUSED, is_error=True, x=1) if failed else result("c1", REFUSED)
    messages = [MIXED[0], assistant(use("c1", tool)), user(said)]
    [told] = read(*messages).turns[0].tool_results
    assert (told.failed, told.refused, told.reason) == (failed, False, "")
    assert rewritten("anthropic", messages) == messages


def test_injected_text_is_not_the_users() -> None:
    reminder = "<system-reminder>be careful</system-reminder>"
    turn = read(user(text(f"go\n{reminder}")), MIXED[3]).turns[0]
    assert turn.user_message == "go"
    assert [note.text for note in turn.notes] == [reminder]


def test_the_summary_of_an_earlier_compaction_is_a_note_and_is_reported() -> None:
    summary = "This session is being continued from a previous conversation. Summary: lamps."
    transcript = read({"role": "user", "content": summary}, MIXED[3])
    assert transcript.turns[0].user_message == ""
    assert [(c.by, c.summary) for c in transcript.compactions] == [("claude-code", summary)]


def test_a_compaction_block_is_reported_and_handed_through() -> None:
    block = {"type": "compaction", "content": "lamps"}
    messages = [MIXED[0], assistant(block, text("On."))]
    transcript = read(*messages)
    assert [(c.by, c.summary) for c in transcript.compactions] == [("anthropic", "lamps")]
    assert written(transcript, "anthropic").messages == messages


def test_media_are_known_whatever_their_source() -> None:
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    note = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
    }
    messages = [user(text("see"), png, note), MIXED[3]]
    transcript = read(*messages)
    assert transcript.turns[0].media[0] == Media(kind="image", mime="image/png", data="AA")
    assert (transcript.turns[0].media[1].mime, transcript.turns[0].media[1].data) == (
        "text/plain",
        "aGk=",
    )
    assert written(transcript, "anthropic").messages == messages


def test_a_changed_result_is_written_changed_and_keeps_its_unknown_fields() -> None:
    """Masking an output must not be undone by what was kept for writing back."""
    transcript = read(MIXED[0], assistant(use("c1")), user(result("c1", [text("long")], x=1)))
    turn = transcript.turns[0]
    masked = replace(turn, tool_results=(replace(turn.tool_results[0], output="[masked]"),))
    messages = written(replace(transcript, turns=(masked,)), "anthropic").messages
    assert messages[2] == user({**result("c1", "[masked]"), "x": 1})


def test_a_changed_text_is_written_changed() -> None:
    transcript = read(user(text("go <system-reminder>a</system-reminder>")), MIXED[3])
    turn = transcript.turns[0]
    [first, *rest] = turn.messages
    words = replace(first, parts=(replace(first.parts[0], text="stop"), *first.parts[1:]))
    changed = replace(turn, messages=(words, *rest))
    messages = written(replace(transcript, turns=(changed,)), "anthropic").messages
    assert messages[0] == user(text("stop"), text("<system-reminder>a</system-reminder>"))


def test_a_change_leaves_the_blocks_beside_it_as_they_were() -> None:
    beside = text("go <system-reminder>a</system-reminder> on", x=1)
    transcript = read(user(beside, text("quick")), MIXED[3])
    turn = transcript.turns[0]
    [first, *rest] = turn.messages
    words = replace(first, parts=(*first.parts[:-1], replace(first.parts[-1], text="slow")))
    changed = replace(turn, messages=(words, *rest))
    messages = written(replace(transcript, turns=(changed,)), "anthropic").messages
    assert messages[0] == user(beside, text("slow"))


def test_the_last_call_may_be_in_flight() -> None:
    transcript = read(MIXED[0], assistant(use("c1")))
    assert transcript.damage == ()
    assert written(transcript, "anthropic").messages == [MIXED[0], assistant(use("c1"))]


def test_a_message_with_nothing_in_it_is_dropped_from_a_list_that_was_cut() -> None:
    messages = [MIXED[0], MIXED[3], user(), assistant(text("Yes.")), {**MIXED[0]}]
    transcript = read(*messages)
    assert written(transcript, "anthropic").messages == messages
    cut = written(replace(transcript, turns=transcript.turns[1:]), "anthropic").messages
    assert [m["role"] for m in cut] == ["user", "assistant", "user"]
    assert all(m["content"] for m in cut)


def test_an_answer_with_model_and_usage_fills_the_turn() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7}
    answer = {**assistant(text("Done.")), "id": "m1", "model": "claude", "usage": usage}
    turn = read(MIXED[0], answer).turns[0]
    assert turn.usage is not None
    assert (turn.message_id, turn.model, turn.usage.context) == ("m1", "claude", 10)


def test_values_of_wrong_types_are_read_and_written_back() -> None:
    messages: list[Any] = [
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user"},
        {"role": None, "content": "who"},
        assistant("bare", 7, None, {"type": "text", "text": None}, {"type": "tool_use"}),
        user({"type": "tool_result"}, result("c1", {"a": 1}), {"type": "image"}),
        {"content": "x", "role": ["user"]},
    ]
    assert rewritten("anthropic", messages) == messages


def test_what_is_no_message_is_reported() -> None:
    transcript = transcript_of("anthropic", [MIXED[0], "stray", MIXED[3]])
    assert [(d.kind, d.line) for d in transcript.damage] == [("shape", 1)]
    assert written(transcript, "anthropic").messages == [MIXED[0], MIXED[3]]


def test_thinking_is_kept_whole() -> None:
    parts = read(*MIXED).turns[0].messages[1].parts
    assert parts[0] == Thinking(text="two lamps", signature="c2ln")
    hidden = read(*MIXED).turns[1].messages[1].parts[0]
    assert isinstance(hidden, Thinking)
    assert hidden.signature == "AAAA"


@pytest.mark.parametrize(
    ("value", "strength"),
    [
        (MIXED, 3),
        ([user(result("c"))], 3),
        ({"system": "s", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}, 3),
        ([user({"type": "image", "source": {"type": "url", "url": "u"}})], 3),
        ([user(text("x")), assistant(text("y"))], 2),
        ([{"role": "user", "content": "x"}], 0),
        ([user(text("x"), {"type": "image_url", "image_url": {"url": "u"}})], 0),
        ([user(text("x")), {"role": "tool", "content": "y"}], 0),
        ({"info": {}, "messages": MIXED}, 0),
        ({"history": MIXED, "trajectory": []}, 0),
        ({"sessionId": "s", "projectHash": "p", "messages": MIXED}, 0),
        ([{"task_id": 0, "traj": MIXED}], 0),
        ({"type": "user", "uuid": "u", "message": MIXED[0]}, 0),
        ("text", 0),
        ([], 0),
    ],
)
def test_sniffing(value: Any, strength: int) -> None:
    assert sniff(value) == strength


def test_notes_and_words_of_one_block_have_their_places() -> None:
    parts = read(user(text("go <system-reminder>a</system-reminder>"))).pending
    assert parts is not None
    assert [type(part) for part in parts.messages[0].parts] == [Text, Note]
