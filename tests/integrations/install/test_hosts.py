"""What each host is given, and the plugins that are made of it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
import yaml

from kedgeline.hosts import claude_code, codex
from kedgeline.hosts import shared as launch
from kedgeline.hosts.extensions import GEMINI_CLI, OPENCODE
from kedgeline.hosts.install import HOSTS, at_root, host_named, is_ours, main, marked, plugins
from kedgeline.hosts.shared import COMMANDS, NAME, SKILL, Host, Launch, OwnFile, installed
from tests.conftest import ROOT
from tests.integrations.install.wanted import LAUNCH, place

PLUGINS = ROOT / "plugins"
SKILL_WORDS, COMMAND_WORDS, CONTEXT_WORDS = 250, 80, 50
"""Words of each text at the most: an agent pays for them in every session."""
ODD = Launch(("/home/a b/kedgeline",))


def test_the_plugins_are_what_the_description_makes(tmp_path: Path) -> None:
    found = {
        path.relative_to(PLUGINS).as_posix(): path.read_text("utf-8")
        for path in PLUGINS.rglob("*")
        if path.is_file() and "ai-sdk" not in path.parts  # a package of its own, for TypeScript
    }
    assert found == plugins(), "run `python -m kedgeline.hosts.install plugins`"
    main(tmp_path / "plugins")
    written = tmp_path / "plugins" / "README.md"
    assert written.read_bytes() == (PLUGINS / "README.md").read_bytes()
    for name in at_root():
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_every_file_of_a_plugin_is_well_formed(host: Host) -> None:
    for name, text in host.plugin().items():
        if name.endswith(".json"):
            assert json.loads(text), name
        elif name.endswith(".toml"):
            assert set(tomllib.loads(text)) == {"description", "prompt"}
        elif text.startswith("---\n"):
            assert yaml.safe_load(text.split("---\n")[1])["description"], name
        assert "ARGUMENTS" not in text.replace("$ARGUMENTS", ""), name
        assert text.endswith("\n"), name


def test_hooks_have_the_shape_and_the_units_of_their_host() -> None:
    claude = claude_code.HOST.hooks(LAUNCH)
    assert " ".join(claude) == (
        "SessionStart UserPromptSubmit PostToolBatch Stop SubagentStop PreCompact "
        "PostCompact SessionEnd"
    )
    (handler,) = claude["Stop"]["hooks"]
    assert handler == {
        "type": "command",
        "command": LAUNCH.words[0],
        "args": ["hook", "--host=claude-code"],
        "timeout": 10,
    }
    assert "compact" in claude["SessionStart"]["matcher"].split("|")
    line = codex.HOST.hooks(ODD)["Stop"]["hooks"][0]["command"]
    assert line == "'/home/a b/kedgeline' hook --host=codex"
    assert codex.HOST.hooks(ODD)["SessionEnd"]["hooks"][0]["timeout"] == codex.END_SECONDS
    gemini = GEMINI_CLI.hooks(ODD)
    assert list(gemini) == ["BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"]
    assert gemini["BeforeAgent"]["hooks"][0]["timeout"] == 10_000
    assert "matcher" not in gemini["AfterTool"]  # all tools


def test_the_plugin_of_opencode_is_filled_in() -> None:
    (text, *_) = (one.text for one in OPENCODE.own_files(Path(), place(replacing=False, room=9)))
    assert "REPLACING: string[] = []" in text
    assert "ROOM = 9" in text
    assert f'["{LAUNCH.words[0]}", "hook", "--host=opencode"]' in text


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_what_is_installed_names_this_kedgeline_wherever_it_starts_it(host: Host) -> None:
    odd = place()._replace(launch=ODD)
    for piece in host.pieces(odd):
        if isinstance(piece, OwnFile):
            assert "`kedgeline " not in piece.text, piece.path
        else:
            assert ODD.words[0] in str(piece), piece.path
        assert odd.home in piece.path.parents


def test_texts_earn_their_tokens_and_name_only_commands_that_there_are() -> None:
    from kedgeline.cli.main import app

    assert len(SKILL.body.split()) <= SKILL_WORDS
    assert len(plugins()["gemini-cli/KEDGELINE.md"].split()) <= CONTEXT_WORDS
    known = {info.name for info in app.registered_commands}
    for command in COMMANDS:
        assert len(command.body.split()) <= COMMAND_WORDS, command.name
        assert ("ARGUMENTS" in command.body) == bool(command.argument), command.name
        assert command.allowed in known
    text = "".join((SKILL.body, *(command.body for command in COMMANDS)))
    assert {part.split()[0].strip("`;") for part in text.split("`kedgeline ")[1:]} <= known


@pytest.mark.parametrize(
    ("variable", "host", "expected"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "/etc/x"),
        ("CODEX_HOME", "codex", "/etc/x"),
        ("GEMINI_CLI_HOME", "gemini-cli", "/etc/x/.gemini"),
        ("XDG_CONFIG_HOME", "opencode", "/etc/x/opencode"),
        ("HERMES_HOME", "hermes", "/etc/x"),
        ("PI_CODING_AGENT_DIR", "pi", "/etc/x"),
    ],
)
def test_the_variables_of_hosts_are_respected(variable: str, host: str, expected: str) -> None:
    moved = place()._replace(environment={variable: "/etc/x"})
    assert host_named(host).root(moved) == Path(expected)
    for piece in host_named(host).pieces(moved):
        assert piece.path.is_relative_to("/etc/x")
    assert host_named(host).root(place()).is_relative_to("/home/ada")


def test_kedgeline_is_started_by_a_path_that_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "venv" / "bin" / NAME
    own.parent.mkdir(parents=True)
    monkeypatch.setattr(launch.sys, "executable", str(own.with_name("python")))
    assert installed("") == Launch((str(own.with_name("python")), "-P", "-m", NAME))
    own.touch(mode=0o755)
    assert installed("") == Launch((str(own),))
    link = tmp_path / "local" / NAME
    link.parent.mkdir()
    link.symlink_to(own)
    assert installed(str(link.parent)) == Launch((str(link),))
    other = tmp_path / "other" / NAME
    other.parent.mkdir()
    other.touch(mode=0o755)
    assert installed(os.pathsep.join((str(other.parent), str(link.parent)))) == Launch((str(own),))


def test_a_mark_has_the_form_that_its_file_allows() -> None:
    files = [one for one in GEMINI_CLI.pieces(place()) if isinstance(one, OwnFile)]
    for file in files:
        text = marked(file, file.text)
        assert text.count(" kedgeline install ") == 1
        assert is_ours(file, text)
        assert is_ours(file, text.replace("\n", "\r\n"))
        assert not is_ours(file, f"{text}more\n")
        assert is_ours(file, file.text, [file.text])
        assert not is_ours(file, f"{file.text}more\n", [file.text])
    about = json.loads(marked(files[0], files[0].text))
    assert about.pop("written").startswith("by kedgeline install ")
    assert about == json.loads(files[0].text)
