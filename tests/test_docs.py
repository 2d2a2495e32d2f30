"""Docs are executed: snippets run, every command is described, tables have their places."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"])
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
FENCE = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def snippets(language: str) -> list[tuple[str, str]]:
    return [
        (f"{page.relative_to(ROOT)}:{number}", code)
        for page in PAGES
        for number, (found, code) in enumerate(FENCE.findall(page.read_text("utf-8")))
        if found == language
    ]


@pytest.mark.parametrize(("where", "code"), snippets("python"), ids=lambda value: str(value)[:40])
def test_python_snippets_run(where: str, code: str) -> None:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, result.stderr) == (0, ""), where


COMMANDS = [
    (w, line[2:])
    for w, code in snippets("console")
    for line in code.splitlines()
    if line[:2] == "$ "
]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the session that the pages speak of, compacted once."""
    from kedgeline import Session

    place = str(tmp_path_factory.mktemp("kept") / "store")
    with Session.open("harbor", place, window=32_000) as session:
        session.follow(ROOT / "examples" / "claude-code-long.jsonl")
        session.compact()
        session.pin("t12")
    return place


@pytest.mark.parametrize(("where", "command"), COMMANDS, ids=lambda value: str(value)[:60])
def test_console_snippets_run(
    where: str, command: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_STORE", kept)
    words = [
        str(p)
        for word in shlex.split(command)
        for p in (sorted(ROOT.glob(word)) if "*" in word else [word])
    ]
    program = [sys.executable, "-m", "kedgeline"] if words[0] == "kedgeline" else words[:1]
    result = subprocess.run([*program, *words[1:]], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, "Traceback" in result.stderr) == (0, False), where
    assert result.stdout.strip(), where


def test_the_command_reference_is_up_to_date() -> None:
    """Every command is described, by the same words as its help."""
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    expected = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert expected == made["reference"](), "run `make docs`"


def test_the_reference_and_the_front_page_are_up_to_date() -> None:
    """The numbers of the front page stand in the measurements, and its picture is made of them."""
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    front = (ROOT / "README.md").read_text("utf-8")
    assert front == made["front"](front), "run `make docs`"
    assert (ROOT / "docs" / "reference.md").read_text("utf-8") == made["api"].reference()
    found = made["headline"].headline()
    assert made["WINDOW"].read_text("utf-8") == made["headline"].window_picture(found)
    narrow = made["headline"].narrow_window_picture(found)
    assert made["NARROW_WINDOW"].read_text("utf-8") == narrow


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_pictures_ask_for_nothing_from_the_network(picture: Path) -> None:
    """Names of namespaces are addresses too, but nobody goes there."""
    asked = re.findall(
        r"""(?:href|src)=["'](?!#)[^"']+|url\((?!["']?#)[^)]+|@import[^;]+|<script""",
        picture.read_text("utf-8"),
    )
    assert asked == []


def test_every_page_is_in_the_navigation() -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r"([\w-]+\.md)$", config, re.MULTILINE))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert pages <= named, "put the page into `nav` of mkdocs.yml"


def test_every_command_has_json_and_help_for_everything() -> None:
    import typer.main

    from kedgeline.cli.main import app

    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    for name, command in made["commands"](typer.main.get_command(app), "kedgeline"):
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options, name
        assert command.help, name
        assert [p.name for p in command.params if not p.help and p.name != "help"] == [], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()
    ]
    assert broken == []


def test_the_readme_names_what_ci_runs() -> None:
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    targets = set(re.findall(r"make ([\w-]+)", run))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert targets == {"test", "adapters-common"}
    assert all(f"make {target}" in readme for target in targets)


def test_benchmark_tables_have_their_places() -> None:
    text = (ROOT / "docs" / "measurements.md").read_text("utf-8")
    block = re.search(
        r"<!-- bench:throughput -->\n(.*?)\n?<!-- /bench:throughput -->", text, re.DOTALL
    )
    assert block is not None
    assert "MB/s" in block[1], "run `make bench`"


def test_no_index_address_and_no_path_of_a_machine_is_committed() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT).stdout
    if not listed:
        pytest.skip("not a git checkout")
    folders = "|".join(("work", "farm", "root", "opt"))
    tools = "|".join((r"\.py" + "env/", "--(extra-)?index" + "-url", r"pypi\." + "org"))
    wrong = re.compile(rf"(?<![\w.])/({folders})/|{tools}")
    found = []
    for name in listed.splitlines():
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".json", ".jsonl", ".yml", ""}
            and path.is_file()
        ):
            text = path.read_text("utf-8", "replace")
            if name != "tests/test_docs.py" and wrong.search(text):
                found.append(name)
    assert found == []
