"""Facts about files that were read."""

from __future__ import annotations

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.files import FileExtractor
from kedgeline.model import FileRead, ToolCall, Transcript, Turn
from tests.facts.speaking import told_by
from tests.turns import Step, bash, called, turn


def seen(*turns: Turn, setting: Setting | None = None) -> list[FileRead]:
    found = told_by(FileExtractor(setting or Setting(root="/srv/shop")), *turns)
    return [fact for fact in found if isinstance(fact, FileRead)]


def first(step: Step) -> tuple[str, str]:
    (fact,) = seen(turn(0, step))
    return fact.path, fact.lines


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        (called("Read", "x", file_path="/srv/shop/a.py"), ""),
        (called("Read", "x", file_path="a.py", offset=600, limit=60), "600-659"),
        (called("Read", "x", file_path="a.py", limit=100), "1-100"),
        (called("Read", "x", file_path="a.py", offset=600), "600-"),
        (called("read_file", "x", path="a.py", start_line=3, end_line=9), "3-9"),
        (called("read_file", "x", path="a.py", offset="3", limit=2.0), "3-4"),
        (called("str_replace_editor", "x", command="view", path="a.py", view_range=[5, 9]), "5-9"),
        (called("str_replace_editor", "x", command="view", path="a.py", view_range=[5, -1]), "5-"),
        (called("Read", "x", file_path="a.py", offset=float("nan"), limit=5), "1-5"),
        (called("Read", "x", file_path="a.py", offset=float("-inf")), ""),
        (called("Read", "x", file_path="a.py", offset=10**5_000), ""),
        (bash("cat a.py"), ""),
        (bash("sed -n '10,20p' a.py"), "10-20"),
        (bash("sed -n 10p a.py"), "10-10"),
        (bash("sed -n '10,$p' a.py"), "10-"),
        (bash("head a.py"), "1-10"),
        (bash("head -n 20 a.py"), "1-20"),
        (bash("head -50 a.py"), "1-50"),
        (bash("tail -n 5 a.py"), "last 5"),
        (bash("tail -n +7 a.py"), "7-"),
        (bash("cat a.py | head -30"), "1-30"),
        (bash("ls; cd /srv/shop && cat ./a.py"), ""),
    ],
)
def test_which_lines_were_read(step: Step, lines: str) -> None:
    assert first(step) == ("a.py", lines)


@pytest.mark.parametrize(
    "step",
    [
        called("Read", "no such file", success=False, file_path="a.py"),
        called("Grep", "a.py:1", pattern="x", path="a.py"),
        called("LS", "a.py", path="src"),
        called("read", "<path>/srv/shop/src</path>\n<type>directory</type>", filePath="src"),
        bash("ls src"),
        bash("grep -n x a.py"),
        bash("cat src/*.py"),
        bash("cat a.py > b.py"),
        called("Edit", "done", file_path="a.py", old_string="a", new_string="b"),
    ],
)
def test_what_is_no_reading(step: Step) -> None:
    assert seen(turn(0, step)) == []


def test_why_is_the_agents_sentence_before_the_call() -> None:
    step = called("Read", "x", file_path="a.py")
    (fact,) = seen(turn(3, step, says="Found it.\n\nLet me see how orders are priced:"))
    assert (fact.turn, fact.why) == (3, "Let me see how orders are priced")


def test_a_shell_that_stays_is_followed() -> None:
    facts = seen(turn(0, bash("cd web && npm test")), turn(1, bash("cat a.ts")))
    assert [fact.path for fact in facts] == ["web/a.ts"]


def test_what_a_sub_agent_read() -> None:
    inner = Transcript(format="x", turns=(turn(0, called("Read", "x", file_path="a.py")),))
    call = ToolCall(id="task", tool="Task", parameters={})
    own = Turn(index=5, tool_calls=(call,))
    facts = seen(own, setting=Setting(root="/srv/shop", agents={"task": inner}))
    assert facts == [FileRead(turn=5, path="a.py", why="by the sub-agent")]
