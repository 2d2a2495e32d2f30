"""`kedgeline handoff`, `kedgeline todos`, and what `kedgeline summarize` writes beside its
output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from kedgeline.cli.main import app
from kedgeline.errors import KedgelineError
from tests.claude import Records, text, use
from tests.conftest import EXAMPLES
from tests.test_cli import kedgeline

LONG = str(EXAMPLES / "claude-code-long.jsonl")
CODEX = str(EXAMPLES / "codex.jsonl")
NAMES = ("--product", "harbor", "--task", "HAR-31")


class Done(NamedTuple):
    code: int
    out: str
    err: str


def ran(*arguments: str) -> Done:
    """A command in this process, which is faster than one of its own."""
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    if isinstance(done.exception, KedgelineError):
        return Done(done.exception.exit_code, done.stdout, str(done.exception))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def rows(*arguments: str) -> list[dict[str, Any]]:
    done = ran(*arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def one(*arguments: str) -> dict[str, Any]:
    (found,) = rows(*arguments)
    return found


def kept(tmp_path: Path, *more: str, file: str = CODEX) -> dict[str, Any]:
    arguments = ("--write-session-file", *NAMES, "--root", str(tmp_path), *more)
    return one("summarize", file, *arguments)


def test_a_fresh_task_prints_nothing_and_is_no_failure(tmp_path: Path) -> None:
    done = kedgeline("handoff", *NAMES, "--root", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    found = one("handoff", *NAMES, "--root", str(tmp_path))
    path = tmp_path / "products/harbor/.claude/scratch/session-summary-HAR-31.md"
    assert found == {
        "product": "harbor",
        "task": "HAR-31",
        "file": str(path),
        "markdown": None,
    }
    assert list(tmp_path.iterdir()) == []


def test_what_one_session_writes_the_next_one_is_given(tmp_path: Path) -> None:
    written = kept(tmp_path)
    found = one("handoff", *NAMES, "--root", str(tmp_path))
    assert written["session_file"] == found["file"]
    block = ran("handoff", *NAMES, "--root", str(tmp_path)).out
    assert block == found["markdown"]
    assert block.startswith(
        "## Prior Session Context\n\n## Session Summary — HAR-31\n\n### Session"
    )
    assert "| src/totals.rs | modified |" in block
    assert "<!--" not in block
    assert block.endswith("\n")


def test_a_note_by_hand_reaches_the_next_session(tmp_path: Path) -> None:
    path = Path(kept(tmp_path)["session_file"])
    path.write_text(path.read_text().replace("### Next Steps\n", "### Next Steps\n0. call Ines\n"))
    kept(tmp_path, "--tokens", "1k")
    assert "\n0. call Ines\n" in ran("handoff", *NAMES, "--root", str(tmp_path)).out


def test_another_session_of_the_task_does_not_wipe_out_the_first(tmp_path: Path) -> None:
    kept(tmp_path, file=LONG)
    kept(tmp_path)
    block = one("handoff", *NAMES, "--root", str(tmp_path))["markdown"]
    newest, _, earlier = block.partition("### Earlier Session")
    assert "src/totals.rs" in newest
    assert "src/harbor/models.py" not in newest
    assert "models.py" in earlier
    assert '- User: "' in earlier.partition("#### Story")[2]


def test_the_template_is_the_root_s_own_setting(tmp_path: Path) -> None:
    (tmp_path / "kedgeline.toml").write_text("session_file = 'notes/{TASK_ID}.md'\n")
    assert kept(tmp_path)["session_file"] == str(tmp_path / "notes" / "HAR-31.md")
    assert one("handoff", *NAMES, "--root", str(tmp_path))["markdown"]


def test_where_things_were_written_goes_to_stderr(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"session_id": "s1", "next_steps": ["mine"]}')
    arguments = ("--write-session-file", *NAMES, "--root", str(tmp_path), "--state", str(state))
    done = ran("summarize", CODEX, *arguments)
    assert (done.code, done.out) == (0, ran("summarize", CODEX).out)
    assert [line.split()[0] for line in done.err.splitlines()] == ["wrote", "wrote"]
    document = json.loads(state.read_text())
    assert list(document) == ["session_id", "next_steps", "compression_state"]
    assert document["next_steps"] == ["mine"]
    told = document["compression_state"]
    assert told["compression_count"] == 1
    assert "src/totals.rs" in told["summary"]["files_modified"]
    ran("summarize", CODEX, "--state", str(state))
    assert json.loads(state.read_text()) == document


WRITE = ("summarize", CODEX, "--write-session-file", "--product", "p")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("handoff", "--product", "../x", "--task", "a"), 2, "the product '../x' cannot be part"),
        (("handoff", "--product", "p", "--task", "nul"), 2, "the task 'nul' is the name of a"),
        (("handoff", *NAMES, "--root", "no/such"), 3, "cannot use 'no/such': no such file"),
        (("summarize", CODEX, "--state", "no/such/state.json"), 3, "cannot use 'no/such'"),
        (("summarize", CODEX, "--state", ""), 3, "cannot use '': it names a folder"),
        (("summarize", CODEX, "--state", "plain.md"), 3, "cannot use 'plain.md': a state.json"),
        ((*WRITE, "--task", "a/b"), 2, "the task 'a/b' cannot be part of a file's name"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    arguments: tuple[str, ...],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "plain.md").write_text("# plain")
    monkeypatch.chdir(tmp_path)
    done = ran(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(said)
    assert "\n" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["plain.md"]
    assert (tmp_path / "plain.md").read_text() == "# plain"


def test_a_session_file_needs_its_names() -> None:
    done = ran(*WRITE)
    assert done.code == 2
    assert "needs --product and --task" in done.err


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """The whole program, as orchestrators start it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "products").symlink_to(tmp_path / "elsewhere")
    done = kedgeline(*WRITE, "--task", "T", "--root", str(tmp_path / "root"))
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"kedgeline: ")
    assert done.stderr.endswith(b"links are not followed; put what it names there\n")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.fixture
def session(tmp_path: Path) -> str:
    def listed(call: str, *statuses: str) -> Any:
        items = [
            {"content": f"step {n}", "status": status, "activeForm": "x"}
            for n, status in enumerate(statuses)
        ]
        return use(call, "TodoWrite", todos=items)

    records = Records()
    records.user("build a crane")
    records.assistant("m1", text("I plan."), listed("c1", "pending", "pending", "pending"))
    records.result("c1", "Todos have been modified successfully")
    records.assistant("m2", listed("c2", "completed", "in_progress", "pending"))
    records.result("c2", "Todos have been modified successfully")
    records.assistant("m3", text("Done so far."))
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(records.lines))
    return str(path)


def test_todos_stand_as_they_do_at_the_end(session: str) -> None:
    assert rows("todos", session) == [
        {
            "text": f"step {place}",
            "status": status,
            "source": "todos",
            "place": place,
            "turn": turn,
            "since": 0,
        }
        for place, (status, turn) in enumerate(
            [("completed", 1), ("in_progress", 1), ("pending", 0)]
        )
    ]
    shown = ran("todos", session).out
    assert [line.split()[:3] for line in shown.splitlines()[1:4]] == [
        ["✓", "step", "0"],
        ["▶", "step", "1"],
        ["○", "step", "2"],
    ]
    assert shown.splitlines()[-1] == "todos: 1 of 3 completed"


def test_steps_of_a_plan_do_not_stand_beside_the_list_the_agent_keeps() -> None:
    found = rows("todos", LONG)
    assert {row["source"] for row in found} == {"todos", "plan"}
    shown = ran("todos", LONG).out
    planned = sum(row["source"] == "plan" for row in found)
    assert f"{planned} planned steps are not shown" in shown
    assert " plan " not in shown.splitlines()[2]


def test_a_session_without_todos_says_so(tmp_path: Path) -> None:
    records = Records()
    records.user("hello")
    records.assistant("m1", text("hello"))
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(records.lines))
    assert ran("todos", str(path)).out == "no todos\n"
    assert rows("todos", str(path)) == []
