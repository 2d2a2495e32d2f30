"""Installations of whole hosts: where files are, whose they are, and what else runs kedgeline."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from kedgeline.errors import FileRefused
from kedgeline.hosts.install import BACKUP, Report, host_named, install, uninstall
from kedgeline.hosts.shared import Launch, Place
from tests.conftest import ROOT
from tests.integrations.install.wanted import place

MOVED = Launch(("/usr/lib/new/kedgeline",))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    home = tmp_path / "home"
    home.mkdir()
    return home


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def left(report: Report) -> set[str]:
    return {Path(change.file).name for change in report.changes if change.action == "left"}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_edits_of_an_extension_stay_and_are_named(here: Path) -> None:
    gemini, root = host_named("gemini-cli"), here / ".gemini" / "extensions" / "kedgeline"
    install(gemini, place(here))
    assert left(install(gemini, place(here)._replace(launch=MOVED))) == set()
    manifest, context = root / "gemini-extension.json", root / "KEDGELINE.md"
    assert json.loads(manifest.read_text())["mcpServers"]["kedgeline"]["command"] == MOVED.words[0]
    manifest.write_text(manifest.read_text().replace('"version"', '"excludeTools": [], "version"'))
    context.write_text(f"{context.read_text()}mine\n")
    kept = manifest.read_text(), context.read_text()
    for run in (install, uninstall):
        assert left(run(gemini, place(here))) == {"gemini-extension.json", "KEDGELINE.md"}
        assert (manifest.read_text(), context.read_text()) == kept


def test_an_extension_that_the_host_installed_is_left_to_it(here: Path) -> None:
    root = here / ".gemini" / "extensions" / "kedgeline"
    shutil.copytree(ROOT / "plugins" / "gemini-cli", root)
    put(root / ".gemini-extension-install.json", "{}")
    before = files(here)
    for run in (install, uninstall):
        with pytest.raises(
            FileRefused, match="`gemini extensions uninstall kedgeline` takes it out"
        ):
            run(host_named("gemini-cli"), place(here))
    assert files(here) == before


@pytest.mark.parametrize(
    ("name", "folder"),
    [("opencode", ".config/opencode"), ("gemini-cli", ".gemini/extensions/kedgeline")],
)
def test_a_plugin_that_was_copied_is_ours(here: Path, name: str, folder: str) -> None:
    shutil.copytree(ROOT / "plugins" / name, here / folder)
    host = host_named(name)
    assert left(install(host, place(here))) == set()
    assert {c.action for c in install(host, place(here)).changes} == {"unchanged"}
    uninstall(host, place(here))
    assert files(here) == set()
    shutil.rmtree(here / folder, ignore_errors=True)
    shutil.copytree(ROOT / "plugins" / name, here / folder)
    uninstall(host, place(here))
    assert files(here) == set()


def test_reduced_outputs_outlive_another_path_of_kedgeline(here: Path) -> None:
    host, plugin = (
        host_named("opencode"),
        here / ".config" / "opencode" / "plugins" / "kedgeline.ts",
    )
    for launch, reduce, expected in (
        (place().launch, None, "false"),
        (MOVED, True, "true"),
        (place().launch, None, "true"),
        (MOVED, False, "false"),
        (place().launch, None, "false"),
    ):
        install(host, place(here)._replace(launch=launch), reduce=reduce)
        assert f"REDUCE_OUTPUTS: boolean = {expected}" in plugin.read_text()
        assert launch.words[0] in plugin.read_text()


def test_a_server_is_found_in_whichever_file_it_is(here: Path) -> None:
    host, root = host_named("opencode"), here / ".config" / "opencode"
    install(host, place(here))
    newer = put(root / "opencode.jsonc", '{\n  // mine\n  "theme": "x"\n}\n')
    before = newer.read_text()
    install(host, place(here)._replace(launch=MOVED))
    assert newer.read_text() == before
    assert MOVED.words[0] in (root / "opencode.json").read_text()
    twice = put(newer, (root / "opencode.json").read_text())
    install(host, place(here))
    assert "kedgeline" in twice.read_text()
    assert not (root / "opencode.json").exists()
    put(root / "opencode.json", twice.read_text())
    uninstall(host, place(here))
    assert files(here) == set()


def test_a_home_that_is_a_repository_is_no_project(here: Path) -> None:
    (here / ".git").mkdir()
    settings = put(here / ".claude" / "settings.json", "{}")
    claude = host_named("claude-code")
    install(claude, place(here))
    kept = settings.read_text()
    for run in (install, uninstall):
        with pytest.raises(FileRefused, match="leave out --project"):
            run(claude, place(here, project=here))
    assert settings.read_text() == kept
    link = here.parent / "link"
    link.symlink_to(here)
    with pytest.raises(FileRefused, match="leave out --project"):
        install(claude, place(here, project=link))


def test_a_form_that_a_host_does_not_know_is_brought_up_to_date(here: Path) -> None:
    entry = {"type": "command", "command": "/old/kedgeline", "args": ["hook", "--host=codex"]}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}})
    hooks = put(here / ".codex" / "hooks.json", text)
    codex = host_named("codex")
    install(codex, place(here))
    (handler,) = json.loads(hooks.read_text())["hooks"]["Stop"][0]["hooks"]
    expected = f"{place().launch.words[0]} hook --host=codex"
    assert handler == {"type": "command", "command": expected, "timeout": 10}
    uninstall(codex, place(here))
    assert not hooks.exists()


def codex_warnings(here: Path, text: str) -> tuple[Report, Report]:
    put(here / ".codex" / "config.toml", text)
    codex = host_named("codex")
    return install(codex, place(here)), uninstall(codex, place(here))


@pytest.mark.parametrize("enabled", [True, False])
def test_the_plugin_of_codex_is_seen(here: Path, enabled: bool) -> None:
    text = f'[plugins."kedgeline@kedgeline"]\nenabled = {str(enabled).lower()}\n'
    made, _ = codex_warnings(here, text)
    said = [one for one in made.warnings if "the plugin of kedgeline is enabled too" in one]
    assert bool(said) is enabled


def in_project(tmp_path: Path, name: str, home: Path) -> tuple[Any, Place, Path]:
    project = tmp_path / "project"
    project.mkdir()
    return host_named(name), place(home, project=project), project


def test_in_a_project_no_copy_can_be_committed(here: Path, tmp_path: Path) -> None:
    host, where, project = in_project(tmp_path, "claude-code", here)
    text = '{"hooks": {  }}'
    settings = put(project / ".claude" / "settings.json", text)
    (change, *_) = install(host, where).changes
    assert not any(BACKUP in name for name in files(project))
    assert change.backup is not None
    assert Path(change.backup).is_relative_to(here / ".local" / "state" / "kedgeline")
    assert Path(change.backup).read_text() == text
    assert stat.S_IMODE(Path(change.backup).stat().st_mode) == 0o600
    assert uninstall(host, where).changes[0].backup is None
    assert settings.read_text() == text
    assert files(here) == set()


def test_folders_in_a_project_are_for_all_who_share_it(here: Path, tmp_path: Path) -> None:
    host, where, project = in_project(tmp_path, "gemini-cli", here)
    install(host, where)
    found = [(path.stat().st_mode, path) for path in (project / ".gemini").rglob("*")]
    modes = {stat.S_IMODE(mode): path.is_dir() for mode, path in found}
    assert modes == {0o755: True, 0o644: False}
    install(host, place(here))
    assert stat.S_IMODE((here / ".gemini" / "extensions").stat().st_mode) == 0o700
