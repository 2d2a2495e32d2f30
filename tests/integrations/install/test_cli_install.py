"""`kedgeline install` and `kedgeline uninstall` as people and programs use them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kedgeline.hosts.install import HOSTS
from tests.conftest import ROOT
from tests.line import Line

NAMES = [host.name for host in HOSTS]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with what somebody has there, and a project that is no repository yet."""
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".claude", home / ".codex", project):
        folder.mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{\n  "model": "opus"\n}\n')
    (home / ".claude.json").write_text('{"userID": "x", "mcpServers": {}}')
    (home / ".codex" / "config.toml").write_text('# mine\nmodel = "gpt"\n')
    (project / "opencode.jsonc").write_text('{\n  "mcp": { // mine\n  },\n}\n')
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return home


def tree(folder: Path) -> dict[str, bytes]:
    def paths() -> Iterator[tuple[str, bytes]]:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()

    return dict(paths())


@pytest.mark.parametrize("where", [(), ("--project",)], ids=["user", "project"])
@pytest.mark.parametrize("host", NAMES)
def test_all_is_put_in_once_and_taken_out_to_the_byte(
    kedgeline: Line, tmp_path: Path, host: str, where: tuple[str, ...]
) -> None:
    before = tree(tmp_path)
    dry = kedgeline.one("install", host, *where, "--dry-run")
    assert dry["dry_run"] is True
    assert all(change["diff"] for change in dry["changes"])
    assert tree(tmp_path) == before
    made = kedgeline.one("install", host, *where)
    assert {change["action"] for change in made["changes"]} <= {"created", "changed"}
    assert made["next"]
    after = tree(tmp_path)
    again = kedgeline.one("install", host, *where)
    assert {change["action"] for change in again["changes"]} == {"unchanged"}
    assert tree(tmp_path) == after
    kedgeline("uninstall", host, *where, "--dry-run")
    assert tree(tmp_path) == after
    kedgeline("uninstall", host, *where)
    assert tree(tmp_path) == before
    gone = kedgeline.one("uninstall", host, *where)
    assert {change["action"] for change in gone["changes"]} == {"unchanged"}


def test_a_person_reads_what_was_done_to_which_file(kedgeline: Line, home: Path) -> None:
    said = kedgeline("install", "claude-code").stdout.decode()
    assert "Claude Code, for you, in all projects:" in said
    assert f"{home}/.claude/settings.json: 8 hooks added, status line added" in said
    assert f"as it was before: {home}/.claude/settings.json.kedgeline-backup" in said
    assert "next: start a new session" in said
    assert b"nothing to do" in kedgeline("install", "claude-code").stdout
    assert b"trust the new hooks" in kedgeline("install", "codex").stdout


def test_outputs_are_reduced_where_it_is_asked_for_and_as_long_as_it_is(
    kedgeline: Line, home: Path
) -> None:
    path = home / ".claude" / "settings.json"
    for words, expected in (
        ((), False),
        (("--reduce-outputs",), True),
        ((), True),
        (("--no-reduce-outputs",), False),
    ):
        kedgeline("install", "claude-code", *words)
        assert ("PostToolUse" in json.loads(path.read_text())["hooks"]) is expected, words
    plugin = home / ".config" / "opencode" / "plugins" / "kedgeline.ts"
    for words, expected in (((), False), (("--reduce-outputs",), True), ((), True)):
        kedgeline("install", "opencode", *words)
        assert ("REDUCE_OUTPUTS: boolean = true" in plugin.read_text()) is expected, words


def test_one_file_that_cannot_be_merged_keeps_all_from_being_written(
    kedgeline: Line, home: Path, tmp_path: Path
) -> None:
    (home / ".claude.json").write_text('{"mcpServers": [}')
    before = tree(tmp_path)
    said = kedgeline("install", "claude-code", code=3).stderr.decode()
    assert said.count("\n") == 1
    assert ".claude.json': line 1:" in said
    assert tree(tmp_path) == before


def test_files_that_a_person_changed_or_wrote_stay(kedgeline: Line, home: Path) -> None:
    mine = home / ".claude" / "commands" / "kedgeline" / "pin.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("my own")
    kedgeline("install", "claude-code")
    report = mine.with_name("report.md")
    report.write_text(f"{report.read_text()}and more\n")
    for command in ("install", "uninstall"):
        changes = kedgeline.one(command, "claude-code")["changes"]
        left = {Path(one["file"]).name for one in changes if one["action"] == "left"}
        assert left == {"pin.md", "report.md"}
    assert mine.read_text() == "my own"
    assert not mine.with_name("recall.md").exists()


def test_what_would_not_work_is_said(
    kedgeline: Line, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".claude" / "settings.json"
    path.write_text('{"disableAllHooks": true, "enabledPlugins": {"kedgeline@kedgeline": true},}')
    monkeypatch.setattr("kedgeline.hosts.install.find_spec", lambda _: None)
    report = kedgeline.one("install", "claude-code")
    said = "\n".join(report["warnings"])
    assert "`disableAllHooks` is set" in said
    assert "reads plain JSON and ignores all of" in said
    assert "the plugin of kedgeline is enabled too" in said
    assert "pip install 'kedgeline[mcp]'" in said
    assert not any(change["file"].endswith(".claude.json") for change in report["changes"])
    monkeypatch.setenv("PATH", "")
    second = "\n".join(kedgeline.one("install", "claude-code", "--project")["warnings"])
    assert "is installed for you in all projects too" in second
    assert "not on the PATH" in second
    (home / ".codex" / "hooks.json").write_bytes(b"\xef\xbb\xbf{}")
    assert "mark of byte order" in kedgeline.one("install", "codex")["warnings"][-1]


def test_a_server_goes_also_where_it_could_not_be_started_any_more(
    kedgeline: Line, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kedgeline("install", "claude-code")
    assert "kedgeline" in (home / ".claude.json").read_text()
    monkeypatch.setattr("kedgeline.hosts.install.find_spec", lambda _: None)
    kedgeline("uninstall", "claude-code")
    assert "kedgeline" not in (home / ".claude.json").read_text()


def test_for_a_project_kedgeline_is_called_by_its_name(kedgeline: Line, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir()
    (project / "src").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project / "src")
        report = kedgeline.one("install", "claude-code", "--project")
    assert report["project"] == str(project)
    made = json.loads((project / ".claude" / "settings.json").read_text())
    assert made["hooks"]["Stop"][0]["hooks"][0]["command"] == "kedgeline"
    assert "statusLine" not in made  # it would take the place of everybody's own


def test_a_difference_shows_no_secret(kedgeline: Line, home: Path) -> None:
    key = "sk-ant-api03-" + "abcdefghij" * 4
    (home / ".claude" / "settings.json").write_text(f'{{\n  "env": {{"K": "{key}"}}\n}}\n')
    shown = kedgeline("install", "claude-code", "--dry-run").stdout.decode()
    assert '+  "hooks": {' in shown
    assert key not in shown
    assert key in (home / ".claude" / "settings.json").read_text()


def test_an_unknown_host_is_refused(kedgeline: Line) -> None:
    assert b"unknown host 'cursor'" in kedgeline("install", "cursor", code=2).stderr


def test_json_keys_are_documented(kedgeline: Line) -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8").partition("`kedgeline install --json`")[2]
    section = page.partition("\n## ")[0]
    report = kedgeline.one("install", "claude-code")
    for key in (*report, *report["changes"][0]):
        assert f"`{key}`" in section, key
