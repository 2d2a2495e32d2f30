"""Plain conversations, and every way in which a file can hold a list of messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kedgeline.formats.log import Log
from kedgeline.formats.registry import FileHead, load_format
from kedgeline.pipeline.read import read, read_all
from tests.formats.handmade import told_of

FORMAT = load_format("plain")
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "light the harbour"},
    {"role": "assistant", "content": "Done."},
]


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(TALK).encode(),
        json.dumps(TALK, indent=2).encode(),
        lines(*TALK),
        b"\n" + lines(*TALK),
        lines({"messages": TALK}),
        json.dumps({"id": 1, "conversation": TALK}, indent=1).encode(),
        json.dumps([{"conversations": TALK}]).encode(),
        b"\xef\xbb\xbf" + json.dumps(TALK).encode(),
        lines(
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "light the harbour"},
            {"from": "gpt", "value": "Done."},
        ),
    ],
)
def test_a_list_is_found_wherever_it_stands(data: bytes) -> None:
    assert FORMAT.sniff(FileHead(data)) == 1
    transcript = read(data, format="plain")
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief."]
    [turn] = transcript.turns
    assert (turn.user_message, turn.assistant_response) == ("light the harbour", "Done.")
    assert transcript.damage == ()


def test_lines_know_where_they_stand_in_the_file() -> None:
    data = lines(*TALK)
    source = read(data, format="plain").turns[0].source
    assert (source.first, source.last) == (1, 2)
    assert data[source.start : source.end] == lines(*TALK[1:])


def test_a_line_may_hold_a_whole_conversation() -> None:
    other = [{"role": "user", "content": "and now?"}, {"role": "bot", "content": "Still lit."}]
    data = lines({"messages": TALK}, {"messages": other, "id": 2}, {"id": 3})
    first, second = read_all(data, format="plain")
    assert [t.assistant_response for t in (*first.turns, *second.turns)] == ["Done.", "Still lit."]
    assert [t.session for t in (*first.turns, *second.turns)] == [0, 1]
    assert [d.kind for d in first.damage] == ["shape"]
    assert first.wire is None


def test_lines_are_not_held() -> None:
    """A turn comes out while the lines behind it have not been asked for."""
    asked = 0

    def endless() -> Iterator[bytes]:
        nonlocal asked
        while True:
            asked += 1
            yield lines(TALK[1 + asked % 2])

    turns = FORMAT.read(endless(), Log())
    assert next(turns).assistant_response == "Done."
    assert asked < 20


def test_a_torn_first_line_does_not_hide_the_others() -> None:
    transcript = read(b'{"role": "sys\n' + lines(*TALK[1:]), format="plain")
    assert told_of(transcript) == ["0.0 > light the harbour | Done.", "torn 0"]


def test_a_document_that_is_cut_off_gives_what_is_whole() -> None:
    data = json.dumps(TALK).encode()[:-12]
    assert told_of(read(data, format="plain")) == [".. > light the harbour", "torn 0"]


@pytest.mark.parametrize(
    ("role", "told"),
    [
        *((role, [".. > light the harbour⏎⏎On."]) for role in ("user", "human", "Human")),
        *(
            (role, ["0.0 > light the harbour | On."])
            for role in ("assistant", "ai", "bot", "model", "gpt")
        ),
        ("tool", [".. {injected: On.} | > light the harbour"]),
        ("narrator", [".. {injected: On.} | > light the harbour", "ignored role/narrator 1"]),
    ],
)
def test_who_speaks_in_a_role(role: str, told: list[str]) -> None:
    """The output of a tool is nobody's words."""
    data = lines(TALK[1], {"role": role, "content": "On."})
    assert told_of(read(data, format="plain")) == told


def test_injected_text_is_not_the_users() -> None:
    data = lines({"role": "user", "content": "<environment_context>x</environment_context>"})
    told = [".. {environment: <environment_context>x</environment_context>}"]
    assert told_of(read(data, format="plain")) == told


@pytest.mark.parametrize("value", [None, 5, "text", [], {}, [5], [[]], {"messages": 5}, [{}]])
def test_anything_else_is_read_without_raising(value: Any) -> None:
    data = json.dumps(value).encode()
    assert FORMAT.sniff(FileHead(data)) == 0
    assert read(data, format="plain").turns == ()


def test_objects_on_lines_of_their_own_do_not_make_a_document_lines() -> None:
    """The last item of a list stands alone on its line where a person laid out the request."""
    data = b"""{
  "max_tokens": 9,
  "system": "Be brief.",
  "tools": [
    {"name": "look"}
  ],
  "messages": [
    {"role": "user", "content": "light the harbour"},
    {"role": "assistant", "content": "Done."}
  ]
}"""
    transcript = read(data)
    assert transcript.format == "anthropic"
    assert [turn.user_message for turn in transcript.turns] == ["light the harbour"]


def test_the_words_of_messages_in_typed_parts() -> None:
    """Vercel's messages were claimed and read as no turn at all, with no damage."""
    step, tool = {"type": "step-start"}, {"type": "tool-look", "output": "delete it all"}
    words = [{"type": "text", "text": text} for text in ("On.", "Done.")]
    data = lines(
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "light it"}]},
        {"id": "2", "role": "assistant", "parts": [step, words[0], tool, words[1]]},
    )
    assert told_of(read(data)) == [
        *("0.0 > light it | On.⏎⏎Done.", "ignored part/step-start 1", "ignored part/tool-look 1"),
    ]
