"""Tables, pages, and what they were measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from bench import compaction, throughput
from bench import pictures as drawing
from bench.corpus import Origin, fingerprint, write_session
from bench.replay import measuring
from bench.tables import markdown_table, origin_line, write_block
from kedgeline.cli.main import app
from kedgeline.errors import BadSettings, MissingExtra, SourceUnreadable
from tests.bench.measured import replay

ORIGIN = Origin(
    version="9.9", fingerprint="beef" * 16, files=4, sessions=5, seed=1, resamples=1_000
)


def quiet(what: str) -> None:
    return


def test_the_origin_names_version_sessions_draws_and_the_corpus() -> None:
    line = origin_line(ORIGIN)
    for part in (
        "kedgeline 9.9",
        "5 sessions in 4 files",
        "1,000 resamples",
        "seed 1",
        "beef" * 16,
    ):
        assert part in line
    assert "no seed" in origin_line(ORIGIN, intervals=False)
    assert "beef" * 16 in origin_line(ORIGIN, intervals=False)


def test_a_table_goes_into_its_place_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- bench:one -->\nold\n<!-- /bench:one -->\nz\n", "utf-8")
    write_block(page, "one", markdown_table(("what", "value"), [("x \\d", "1")]))
    assert page.read_text("utf-8") == (
        "a\n<!-- bench:one -->\n| what | value |\n| --- | --: |\n| x \\d | 1 |\n"
        "<!-- /bench:one -->\nz\n"
    )
    with pytest.raises(BadSettings, match="bench:two"):
        write_block(page, "two", "")


def test_a_folder_without_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no sessions"):
        compaction.measure(tmp_path, large=1, watch=quiet)


def invoked(*arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def page_with(path: Path, *names: str) -> Path:
    blocks = (f"<!-- bench:{name} -->\n<!-- /bench:{name} -->" for name in names)
    path.write_text("\n".join(blocks), "utf-8")
    return path


def test_speeds_are_written_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "one.jsonl", 1)
    monkeypatch.setattr(throughput, "_large", lambda size: (1, 1, 1.0, 1.0))
    monkeypatch.setattr(throughput, "child", lambda arguments: (1.0, 1.0))
    page = page_with(tmp_path / "page.md", "throughput")
    command = ("throughput", str(tmp_path), "--rounds", "1")
    out, _ = invoked(*command, "--json", "--write", str(page))
    origin = msgspec.json.decode(out)["origin"]
    assert (origin["files"], origin["seed"]) == (1, None)
    assert origin["fingerprint"] == fingerprint(tmp_path, [tmp_path / "one.jsonl"])
    assert origin["fingerprint"] in page.read_text("utf-8")
    _, told = invoked(*command)
    assert origin["fingerprint"] in told.replace("\n", "")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(corpus: Path, **given: Any) -> measuring.Replay:
        return replay()

    monkeypatch.setattr(measuring, "measure", measure)


def test_pictures_are_drawn_into_a_folder(tmp_path: Path, measured: None) -> None:
    invoked("replay", str(tmp_path), "--json", "--pictures", str(tmp_path / "drawn"))
    found = sorted((tmp_path / "drawn").iterdir())
    assert len(found) == 3
    assert all(path.read_text("utf-8").startswith("<svg") for path in found)


def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, measured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "PACKAGE", "no_such_package_there")
    _, told = invoked("replay", str(tmp_path), "--json", "--pictures", str(tmp_path / "drawn"))
    assert " ".join(told.split()) == f"no pictures: {MissingExtra('drawing plots', 'plots')}"
