"""The real OpenCode against a server of ours: what reaches the model when it compacts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kedgeline import read
from kedgeline.model import Usage
from tests.integrations.hooks.opencode_program import (
    ANSWER,
    ANSWERS,
    FLOOD,
    HANGS,
    INK,
    RUBBISH,
    STEERING,
    WINDOW,
    OpenCode,
    texts,
)
from tests.models.server import Request, Says, Server, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main. Always run make check before a commit."
SUMMARY = "The harbour light is being mended."
MENDED = "lamp.txt"
FIRST = f"Mend the harbour light. {RULE}"
USUAL = ("--advise",)
TASK = "Count the lamps of the harbour"
RULES_BLOCK = "From kedgeline, which follows this session"
LACKING_BLOCK = "From kedgeline: what the summary of this conversation lacks"
FULL = Usage(input=WINDOW - ANSWER, output=20)
"""So full a context that OpenCode compacts by itself."""
LIGHT = Usage(input=3_000, output=20)
HALF = Usage(input=WINDOW // 2, output=20)
LINES = 6_000
"""Lines of an output that OpenCode cuts by itself."""


def calls(tool: str, **arguments: Any) -> Says:
    return Says(called=tool, tool=json.dumps(arguments), ending="tool call", usage=LIGHT)


def reply(request: Request) -> Says:
    """A file where something is to be mended, a command where something is to be printed, a
    sub-agent where something is to be counted, else words; what is told to be full is."""
    if is_titling(request):
        return Says("Lights", usage=LIGHT)
    if is_summarising(request):
        return Says(SUMMARY, usage=LIGHT)
    message, asked = request.body["messages"][-1], texts(request, "user")[-1]
    if message["role"] == "user" and asked.startswith("Mend"):
        return calls("write", filePath=MENDED, content="mended")
    if message["role"] == "user" and asked.startswith("Print"):
        return calls("bash", command=f"seq -f 'lamp %g' {LINES}", description="print them")
    if message["role"] == "user" and asked.startswith("Have"):
        return calls("task", description="count", prompt=TASK, subagent_type="general")
    if asked == TASK:
        return Says("There are seven.", usage=LIGHT)
    usage = FULL if "full" in asked else HALF if "half" in asked else LIGHT
    return Says("Mended.", usage=usage)


def is_titling(request: Request) -> bool:
    return "title generator" in texts(request, "system")[0]


def is_summarising(request: Request) -> bool:
    return "context summarization agent" in texts(request, "system")[0]


def requests(server: Server) -> list[Request]:
    """Without those for a title."""
    return [one for one in server.requests if not is_titling(one)]


def blocks(request: Request) -> list[str]:
    """What kedgeline added to the conversation, in all roles."""
    return [text for text in texts(request) if "From kedgeline" in text]


def assert_put_back(request: Request, *lacking: str) -> str:
    """Once, as words of the user, behind the summary; what was put back."""
    (block,) = blocks(request)
    assert block in texts(request, "user")
    assert (block.count(RULES_BLOCK), block.count(LACKING_BLOCK)) == (1, 1)
    assert RULE in block.partition(LACKING_BLOCK)[0]
    assert all(one in block.partition(LACKING_BLOCK)[2] for one in lacking)
    lines = [line for line in block.splitlines() if line.startswith(("- ", "| "))]
    assert len(set(lines)) == len(lines)
    assert block.count("- Now: ") <= 1
    said = texts(request)
    assert said.index(SUMMARY) == said.index(block) - 1
    return block


def assert_steered(request: Request) -> None:
    assert is_summarising(request)
    (asked,) = texts(request, "user")
    assert asked.count(STEERING) == 1
    assert RULE in asked.partition(STEERING)[2]
    assert blocks(request) == []


@contextmanager
def opened(
    home: Path, *installing: str, rule: Callable[[Request], Says] = reply, tools: bool = False
) -> Iterator[tuple[OpenCode, Server]]:
    """OpenCode with kedgeline, not started."""
    with serving(rule=rule) as server:
        yield OpenCode(home, server, *(installing or USUAL), tools=tools), server


def test_what_opencode_forgets_is_put_back_and_stands_when_it_is_started_again(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home") as (opencode, server):
        assert opencode.runs(FIRST) == "Mended."
        assert all(blocks(one) == [] for one in requests(server))
        opencode.status(lambda known: known["turns"] == 2)  # told before the process ended
        assert opencode.runs("Is it full?", "--continue") == "Mended."
        summarising, after = requests(server)[-2:]
        assert_steered(summarising)
        block = assert_put_back(after, MENDED)
        assert opencode.runs("Now the second lamp", "--session", opencode.session) == "Mended."
        assert assert_put_back(requests(server)[-1]) == block  # by another process

        with opencode.serving():
            opencode.says("Is it full again?")
            summarising, after = requests(server)[-2:]
            assert_steered(summarising)
            assert assert_put_back(after) != block
            found = opencode.status(lambda known: known["compactions"] == 2 and known["turns"] == 7)
        assert found["host"] == "opencode"
        assert found["last"]["score"] < found["last"]["score_with_put_back"]
        kept = opencode.kept / f"{opencode.session}.json"
        assert found["transcript"] == str(kept)
        assert len(read(kept).turns) == found["turns"]
        assert {path.stat().st_mode & 0o777 for path in opencode.kept.iterdir()} == {0o600}
        assert opencode.log() == ""


def test_a_compaction_that_was_asked_for_is_steered_and_made_good(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as (opencode, server), opencode.serving():
        opencode.says(FIRST)
        opencode.compact()
        assert_steered(requests(server)[-1])
        assert opencode.says("Go on") == "Mended."
        block = assert_put_back(requests(server)[-1], MENDED)
        assert texts(requests(server)[-1])[-1] == "Go on"
        opencode.says("And on")
        assert assert_put_back(requests(server)[-1]) == block
        opencode.compact()
        opencode.says("On and on")
        assert assert_put_back(requests(server)[-1]) != block


@pytest.mark.parametrize("left", [False, True], ids=["all is summarised", "the end is left"])
def test_words_that_waited_are_put_back_and_what_was_left_as_it_was_is_not(
    left: bool, tmp_path: Path
) -> None:
    """The window becomes too small between two runs: the last words are not answered yet."""
    waiting = "Paint the mast green"
    with opened(tmp_path / "home") as (opencode, server):
        with opencode.serving():
            opencode.says(f"{RULE} {'The tide is high. ' * 100}")
            opencode.says("Mend the harbour light, the lower half")
        tail = {"preserve_recent_tokens": 300} if left else {"tail_turns": 0}
        opencode.set_window(HALF.input, **tail)
        with opencode.serving():
            opencode.says(waiting)
        summarising, after = requests(server)[-2:]
        assert is_summarising(summarising)
        (block,) = blocks(after)
        rules, _, lacking = block.partition(LACKING_BLOCK)
        assert waiting in rules
        assert (waiting in texts(after, "user"), MENDED in lacking) == (left, not left)


def test_a_sub_agent_keeps_apart(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as (opencode, server), opencode.serving():
        opencode.says(f"Have the lamps counted. {RULE}")
        (child,) = [one for one in requests(server) if TASK in texts(one, "user")]
        assert RULE not in child.text
        opencode.compact()
        assert_steered(requests(server)[-1])
        opencode.says("Go on")
        block = assert_put_back(requests(server)[-1])
        assert f'"{TASK}' not in block  # it is nobody's request
        sessions = {one["session"]: one for one in opencode.kedgeline("status")["sessions"]}
        assert sessions.pop(opencode.session)["compactions"] == 1
        assert [one["compactions"] for one in sessions.values()] == [0]


@pytest.mark.parametrize("installing", [USUAL[0], "--project"])
def test_all_that_is_installed_is_found(installing: str, tmp_path: Path) -> None:
    """For the user by its path, for a project by its name."""
    home = opened(tmp_path / "home", installing, tools=True)
    with home as (opencode, server), opencode.serving():
        opencode.says(FIRST)
        first = requests(server)[0]
        tools = {tool["function"]["name"] for tool in first.body["tools"]}
        assert {"kedgeline_recall", "kedgeline_show", "kedgeline_pin"} <= tools
        assert "kedgeline-recall" in "".join(texts(first, "system"))
        opencode.status(lambda known: known["turns"] == 2)
        opencode.commands("kedgeline/recall", "the tide table")
        asked = texts(requests(server)[-1], "user")[-1]
        assert "recall" in asked
        assert "the tide table" in asked


@pytest.mark.parametrize(
    "program",
    ["", HANGS, RUBBISH, FLOOD, ANSWERS],
    ids=["missing", "hangs", "rubbish", "a flood", "wrong answers"],
)
def test_a_kedgeline_that_does_not_work_breaks_nothing(program: str, tmp_path: Path) -> None:
    with opened(tmp_path / "home", "--project", "--advise") as (
        opencode,
        server,
    ):
        opencode.use_as_kedgeline(program)
        with opencode.serving():
            assert opencode.says(FIRST) == "Mended."
            assert opencode.says("Is it full?") == "Mended."
            assert opencode.says("Print the lamps") == "Mended."
        assert opencode.runs("Go on", "--session", opencode.session) == "Mended."
        sent = requests(server)
        assert [is_summarising(one) for one in sent].count(True) == 1
        told = ("From kedgeline", INK, STEERING)
        assert not any(words in one.text for one in sent for words in told)
        assert any(f"lamp {LINES - 1}" in text for text in texts(sent[-1], "tool"))
