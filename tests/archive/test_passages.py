"""Every text of a turn is searched, in passages that know where they stand."""

from __future__ import annotations

import re
import tracemalloc

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
