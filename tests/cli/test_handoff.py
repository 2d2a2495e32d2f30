"""`kedgeline handoff`, and what `kedgeline summarize` writes beside its output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import CODEX, LONG, one, ran, started

NAMES = ("--product", "harbor", "--task", "HAR-31")
WRITE = ("summarize", CODEX, "--write-session-file", "--product", "p")


def kept(root: Path, *more: str, file: str = CODEX) -> dict[str, Any]:
    return one("summarize", file, "--write-session-file", *NAMES, "--root", str(root), *more)


def block(root: Path) -> str:
    return ran("handoff", *NAMES, "--root", str(root)).out


def test_a_fresh_task_prints_nothing_and_is_no_failure(tmp_path: Path) -> None:
    done = started("handoff", *NAMES, "--root", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    path = tmp_path / "products/harbor/.claude/scratch/session-summary-HAR-31.md"
    about = {"product": "harbor", "task": "HAR-31", "file": str(path), "markdown": None}
    assert one("handoff", *NAMES, "--root", str(tmp_path)) == about
    assert list(tmp_path.iterdir()) == []


def test_what_one_session_writes_the_next_one_is_given(tmp_path: Path) -> None:
    made = kept(tmp_path)
    found = one("handoff", *NAMES, "--root", str(tmp_path))
    assert made["session_file"] == found["file"]
    told = block(tmp_path)
    assert told == found["markdown"]
    assert told.startswith("## Prior Session Context\n\n## Session Summary — HAR-31\n\n### Session")
    assert "| src/totals.rs | modified |" in told
    assert "<!--" not in told
    path = Path(made["session_file"])  # a note by hand stays
    path.write_text(path.read_text().replace("### Next Steps\n", "### Next Steps\n0. call Ines\n"))
    kept(tmp_path, "--tokens", "1k")
    assert "\n0. call Ines\n" in block(tmp_path)


def test_another_session_of_the_task_does_not_wipe_out_the_first(tmp_path: Path) -> None:
    kept(tmp_path, file=LONG)
    kept(tmp_path)
    newest, _, earlier = block(tmp_path).partition("### Earlier Session")
    assert "src/totals.rs" in newest
    assert "src/harbor/models.py" not in newest
    assert "models.py" in earlier
    assert '- User: "' in earlier.partition("#### Story")[2]


def test_the_template_is_the_root_s_own_setting(tmp_path: Path) -> None:
    (tmp_path / "kedgeline.toml").write_text("session_file = 'notes/{TASK_ID}.md'\n")
    assert kept(tmp_path)["session_file"] == str(tmp_path / "notes" / "HAR-31.md")
    assert block(tmp_path)


def test_where_things_were_written_goes_to_stderr(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"session_id": "s1", "next_steps": ["mine"]}')
    arguments = ("--write-session-file", *NAMES, "--root", str(tmp_path), "--state", str(state))
    done = ran("summarize", CODEX, *arguments)
    assert (done.code, done.out) == (0, ran("summarize", CODEX).out)
    assert [line.split()[0] for line in done.err.splitlines()] == ["wrote", "wrote"]
    document = json.loads(state.read_text())
    assert list(document) == ["session_id", "next_steps", "compression_state"]
    told = document["compression_state"]
    assert (document["next_steps"], told["compression_count"]) == (["mine"], 1)
    assert "src/totals.rs" in told["summary"]["files_modified"]
    ran("summarize", CODEX, "--state", str(state))
    assert json.loads(state.read_text()) == document


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("handoff", "--product", "../x", "--task", "a"), 2, "the product '../x' cannot be part"),
        (("handoff", "--product", "p", "--task", "nul"), 2, "the task 'nul' is the name of a"),
        (("handoff", *NAMES, "--root", "no/such"), 3, "'no/such': no such file"),
        (("summarize", CODEX, "--state", "no/such/state.json"), 3, "'no/such': no such file"),
        (("summarize", CODEX, "--state", ""), 3, "'': this is a folder"),
        (("summarize", CODEX, "--state", "plain.md"), 3, "'plain.md': a state.json holds"),
        ((*WRITE, "--task", "a/b"), 2, "the task 'a/b' cannot be part of a file's name"),
        (WRITE, 2, "needs --product and --task"),
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
    assert said in " ".join(done.err.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["plain.md"]
    assert (tmp_path / "plain.md").read_text() == "# plain"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """The whole program, as orchestrators start it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "products").symlink_to(tmp_path / "elsewhere")
    done = started(*WRITE, "--task", "T", "--root", str(tmp_path / "root"))
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.endswith(b"links are not followed; use what it points to\n")
    assert list((tmp_path / "elsewhere").iterdir()) == []
