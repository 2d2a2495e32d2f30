"""Every text of a turn is searched, in passages that know where they stand."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.model import Media, Note, ToolCall, ToolResult, Turn
from kedgeline.session import archive as cutting
from kedgeline.session.archive import OVERLAP, REPEATED, SIZE, field_text, passages_of, text_pieces
from kedgeline.store import Passage
from tests.turns import bash, called, turn

SECRET = re.compile(r"key-[a-z]{10,}|-----BEGIN.*?END-----", re.DOTALL)


def clean(text: str) -> str:
    return SECRET.sub("[left out]", text)


def told(turn: Turn) -> dict[str, Passage]:
    """The first passage of each text."""
    found: dict[str, Passage] = {}
    for passage in passages_of(turn):
        found.setdefault(passage.field, passage)
    return found


def test_every_text_has_a_name_and_a_speaker() -> None:
    call, result = bash("pytest -q", "1 failed", exit_code=1)
    refused = ToolResult(call_id="r", success=False, refused=True, reason="not on a Friday")
    given_turn = turn(
        3,
        (call, result),
        (ToolCall(id="r", tool="Bash", parameters={"command": "deploy"}), refused),
        user="please fix it",
        says="I will",
        thinking="where is it",
        notes=(Note(kind="environment", text="linux"), Note(kind="shell", text="ls -la")),
    )
    found = told(given_turn)
    assert {name: passage.who for name, passage in found.items()} == {
        "user": "user",
        "note:0": "client",
        "note:1": "client",
        "thinking": "agent",
        "answer": "agent",
        "call:0": "agent",
        "call:1": "agent",
        "result:0": "tool",
        "reason:1": "user",
    }
    assert all(field_text(given_turn, name) == one.text for name, one in found.items())
    assert {name for name, one in found.items() if one.error} == {"call:0", "result:0"}
    assert [found[name].command for name in ("call:0", "result:0", "note:1", "reason:1")] == [
        "pytest -q",
        "pytest -q",
        "ls -la",
        "deploy",
    ]


def test_a_call_is_written_as_a_person_would() -> None:
    call = ToolCall(
        id="1",
        tool="Edit",
        parameters={
            "file_path": "src/a.py",
            "old_string": "a\nb",
            "all": True,
            "edits": [{"from": "x", "to": None}],
        },
    )
    one = told(Turn(tool_calls=(call,)))["call:0"]
    assert one.text == (
        "Edit\nfile_path: src/a.py\nold_string: \na\nb\nall: true\n"
        "edits.0.from: x\nedits.0.to: null"
    )
    assert one.files == "src/a.py"


def test_a_command_in_words_is_one_line() -> None:
    call = ToolCall(id="1", tool="shell", parameters={"command": ["bash", "-lc", "make test"]})
    one = told(Turn(tool_calls=(call,)))["call:0"]
    assert (one.text, one.command) == ("shell\ncommand: bash -lc make test", "bash -lc make test")


def test_parameters_that_are_nested_deeply_do_no_harm() -> None:
    value: object = "at the bottom"
    for _ in range(20_000):
        value = [value]
    call = ToolCall(id="1", tool="x", parameters={"deep": value})
    assert "at the bottom" in field_text(Turn(tool_calls=(call,)), "call:0")


def test_an_error_that_repeats_the_output_is_indexed_once() -> None:
    same = ToolResult(call_id="1", success=False, output="boom\n", error="boom")
    other = ToolResult(call_id="2", success=False, output="", error="timed out")
    assert set(told(Turn(tool_results=(same, other)))) == {"result:0", "error:1"}


def test_pictures_are_not_in_the_index() -> None:
    data = "iVBORw0KGgo" * 1_000
    line = f'{{"type": "image", "data": "{data}", "caption": "the harbour"}}'
    shown = turn(0, called("Shot", line), media=(Media(data=data),))
    texts = [passage for passage in passages_of(shown) if passage.field == "result:0"]
    assert not any("iVBORw0KGgoiVBORw0KGgo" in passage.text for passage in passages_of(shown))
    assert [(one.start, one.text) for one in texts] == [
        (0, line[: line.index(data)]),
        (line.index(data) + len(data), line[line.index(data) + len(data) :]),
    ]


@pytest.mark.parametrize(
    "field",
    ["", "user:0", "note", "note:", "note:7", "result:-1", "result:x", "call:²", "messages"],
)
def test_a_text_that_is_not_there_is_empty(field: str) -> None:
    assert field_text(turn(0, bash("ls", "a")), field) == ""


def test_files_and_command_of_a_large_call_stand_whole_once() -> None:
    """A patch of many files with a long output must not cost their product."""
    paths = [f"src/module_{number}.py" for number in range(500)]
    patch = "*** Begin Patch\n" + "\n".join(f"*** Update File: {path}" for path in paths)
    call = ToolCall(id="1", tool="apply_patch", parameters={"input": patch})
    result = ToolResult(call_id="1", output="done and done again\n" * 1_000)
    found = [
        passage
        for passage in passages_of(Turn(tool_calls=(call,), tool_results=(result,)))
        if passage.field == "result:0"
    ]
    assert found[0].files.splitlines() == paths
    assert all(0 < len(passage.files) <= REPEATED for passage in found[1:])
    assert set(found[1].files.splitlines()) < set(paths)


TEXTS = st.text(
    st.sampled_from("ab \n\t,ü你好\u0308\r") | st.characters(codec="utf-8"), max_size=300
).map(lambda text: text * 20)


@given(TEXTS)
def test_passages_hold_all_of_a_text_in_its_order(text: str) -> None:
    covered = 0
    for start, piece in text_pieces(text):
        assert piece == text[start : start + len(piece)]
        assert len(piece) <= SIZE
        assert cutting._DATA.sub("", text[covered:start]).strip() == ""
        assert start + len(piece) > covered
        covered = start + len(piece)
    assert cutting._DATA.sub("", text[covered:]).strip() == ""


@settings(max_examples=30)
@given(st.lists(st.integers(1, 20), min_size=200, max_size=400), st.sampled_from(" \n"))
def test_words_side_by_side_stand_together_in_some_passage(sizes: list[int], between: str) -> None:
    """Over line ends, and where a long line is cut."""
    text = between.join(f"{number:x}".ljust(size, "z") for number, size in enumerate(sizes))
    found = list(text_pieces(text))
    for place in range(0, len(text) - OVERLAP // 2, 7):
        near = text[place : place + OVERLAP // 2]
        assert any(near in piece for _, piece in found), near


def test_a_line_stands_whole_in_a_passage() -> None:
    lines = [f"line {number} " + "x" * (number % 900) for number in range(400)]
    found = [piece for _, piece in text_pieces("\n".join(lines))]
    assert all(any(line in piece for piece in found) for line in lines)
    assert all(piece.endswith("\n") for piece in found[:-1])


def test_secrets_are_in_no_passage_and_in_no_column() -> None:
    secret = "key-abcdefghijklmnop"
    command = f"curl -H {secret} /tmp/{secret}"
    shown = turn(
        0,
        (
            ToolCall(id="1", tool="Bash", parameters={"command": command, "path": secret}),
            ToolResult(call_id="1", output=f"{'x' * 1_830} {secret} went"),
        ),
        called("Read", "text", file_path=f"src/{secret}.py"),
        user=f"my key is {secret}",
    )
    for passage in passages_of(shown, clean):
        assert secret not in passage.text + passage.files + passage.command
        assert "abcdefghij" not in passage.text


def test_a_secret_longer_than_a_passage_leaves_nothing_behind() -> None:
    """Cleaned passage by passage, the middle of a private key would pass for text."""
    key = "-----BEGIN\n" + "MIIEpAIBAAKCAQEA\n" * 400 + "END-----"
    text = "before it\n" * 300 + key + "\nright behind it\n" + "and so on\n" * 300
    found = passages_of(turn(0, user=text), clean)
    assert not any("MIIE" in passage.text for passage in found)
    one_by_one = [clean(piece) for _, piece in text_pieces(text)]
    assert any("MIIE" in piece for piece in one_by_one), "the planted bug"


def test_a_large_output_is_not_copied_many_times() -> None:
    """T-M1: memory stays bounded by the text itself."""
    shown = turn(0, called("Bash", "a line of output that says something\n" * 300_000))
    tracemalloc.start()
    count = sum(1 for _ in passages_of(shown))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 5_000
    assert peak < 1_000_000
