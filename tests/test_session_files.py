"""Session files on the disk: where they lie, who may read them, and that none is half written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.errors import BadName, BadSettings, FileRefused, OutputUnwritable
from kedgeline.model import Decided, FileChanged, Summary
from kedgeline.session.exports import path_below, read_session_file, write_session_file
from kedgeline.summary import build
from tests.conftest import ROOT
from tests.traversal import RIGHT, WRONG

ONE = build([FileChanged(turn=1, path="crane.py", action="created", what="adds `Crane`")])
TWO = build([Decided(turn=1, key="k", decision="paint it red", rationale="it is seen")])
BELOW = ("products", "harbor", ".claude", "scratch")
NAME = "session-summary-T-1.md"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A root with a neighbour; nothing may come to lie in the neighbour."""
    inside, outside = tmp_path / "root", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    yield inside
    assert [path.name for path in outside.rglob("*")] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def written(root: Path, summary: Summary = ONE, **options: Any) -> Path:
    return write_session_file(root, "harbor", "T-1", summary, count=len, tokens=10_000, **options)


def read(root: Path) -> str | None:
    return read_session_file(root, "harbor", "T-1")


def test_a_fresh_task_has_none_and_reading_makes_no_folder(root: Path) -> None:
    assert read(root) is None
    assert list(root.iterdir()) == []


def test_it_lies_where_orchestrators_look_for_its_owner_alone(root: Path) -> None:
    umask = os.umask(0)
    try:
        path = written(root)
    finally:
        os.umask(umask)
    assert path == root.joinpath(*BELOW, NAME)
    modes = {
        p.relative_to(root).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in root.rglob("*")
    }
    assert modes == {
        "products": 0o700,
        "products/harbor": 0o700,
        "products/harbor/.claude": 0o700,
        "products/harbor/.claude/scratch": 0o700,
        f"products/harbor/.claude/scratch/{NAME}": 0o600,
    }


def test_what_is_read_has_no_record_and_plain_line_ends(root: Path) -> None:
    path = written(root)
    text = read(root)
    assert text is not None
    assert text.startswith("## Session Summary — T-1\n\n### Session Intent\nN/A\n")
    assert "| crane.py | created | adds `Crane` [t1] |" in text
    assert "<!--" not in text
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read(root) == text


def test_an_update_keeps_what_a_person_wrote_byte_for_byte(root: Path) -> None:
    path = written(root)
    mine = b"- caf\xe9 \xff\xfe \xed\xa0\x80 mine"
    path.write_bytes(path.read_bytes().replace(b"### Index\n", b"### Index\n" + mine + b"\n"))
    for summary in (TWO, ONE, TWO):
        written(root, summary)
        assert mine in path.read_bytes().split(b"\n")
    assert b"paint it red" in path.read_bytes()
    assert b"crane.py" not in path.read_bytes()


def test_no_name_leads_out_of_the_root(tmp_path: Path) -> None:
    """Every open, folder and rename of a run over all names is looked at by an audit hook."""
    assert len(WRONG) >= 500
    inside = tmp_path / "root"
    inside.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.traversal", str(inside)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    outcomes: dict[str, list[str]] = found["outcomes"]
    assert {name: outcomes[name] for name in WRONG} == {name: ["BadName"] * 6 for name in WRONG}
    assert {name: outcomes[name] for name in RIGHT} == {name: ["done"] * 6 for name in RIGHT}
    assert len(found["touched"]) > len(RIGHT)
    away = [path for path in found["touched"] if not Path(path).is_relative_to(inside)]
    assert away == []
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_one_short_sentence(name: str) -> None:
    with pytest.raises(BadName) as raised:
        path_below("p", name)
    said = str(raised.value)
    assert len(said) < 400
    assert said.isprintable()


@pytest.mark.parametrize(
    "template",
    [
        "{PRODUCT}.md",
        "/{TASK_ID}.md",
        "../{TASK_ID}.md",
        "a/../../{TASK_ID}.md",
        "./{TASK_ID}.md",
        "a//{TASK_ID}.md",
        "{TASK_ID}/",
        "a\\{TASK_ID}.md",
        "C:{TASK_ID}.md",
        "{TASK_ID}\0.md",
        "{FOO}/{TASK_ID}.md",
        "{TASK_ID.__class__}/{TASK_ID}.md",
    ],
)
def test_a_template_that_leads_away_is_refused(template: str) -> None:
    with pytest.raises(BadSettings, match="session_file"):
        path_below("p", "T-1", template=template)


def test_another_template_is_used(root: Path) -> None:
    template = "notes/{TASK_ID}-{PRODUCT}.md"
    path = written(root, template=template)
    assert path == root / "notes" / "T-1-harbor.md"
    assert read_session_file(root, "harbor", "T-1", template=template)
    assert read(root) is None


@pytest.mark.parametrize("depth", range(len(BELOW) + 1))
@pytest.mark.parametrize("leads", ["outside", "inside", "nowhere"])
def test_a_link_at_any_place_of_the_path_is_refused(root: Path, depth: int, leads: str) -> None:
    names = (*BELOW, NAME)
    folder = root.joinpath(*names[:depth])
    folder.mkdir(parents=True, exist_ok=True)
    (root / "real").mkdir()
    last = depth == len(BELOW)
    targets = {
        "outside": root.parent / "outside" / ("secret" if last else ""),
        "inside": root / "real",
        "nowhere": root.parent / "outside" / "new",
    }
    (folder / names[depth]).symlink_to(targets[leads])
    with pytest.raises(FileRefused, match="symbolic link"):
        written(root)
    with pytest.raises(FileRefused, match="symbolic link"):
        read(root)
    assert (folder / names[depth]).is_symlink()
    assert list((root / "real").iterdir()) == []


def test_the_root_itself_may_be_reached_by_a_link(root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to(root / "real")
    written(root / "link")
    assert read(root / "real") is not None


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _second_name(path: Path) -> None:
    os.link(path.parents[5] / "outside" / "secret", path)


@pytest.mark.parametrize("plant", [_folder, _pipe, _second_name])
def test_what_is_no_plain_file_of_its_own_is_refused(root: Path, plant: Any) -> None:
    path = root.joinpath(*BELOW, NAME)
    path.parent.mkdir(parents=True)
    plant(path)
    for act in (written, read):
        with pytest.raises(FileRefused):
            act(root)
    assert [one.name for one in path.parent.iterdir()] == [NAME]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("place", [1, 4, 5])
def test_what_belongs_to_somebody_else_is_refused(root: Path, place: int) -> None:
    written(root)
    os.chown(root.joinpath(*(*BELOW, NAME)[:place]), 12_345, -1)
    for act in (written, read):
        with pytest.raises(FileRefused, match="somebody else"):
            act(root)
    os.chown(root, 12_345, -1)  # who owns the root may own what is below it
    assert read(root)


def test_a_file_in_the_way_of_a_folder_is_said(root: Path) -> None:
    (root / "products").write_text("mine")
    with pytest.raises(FileRefused, match="not a directory"):
        written(root)
    assert (root / "products").read_text() == "mine"


def test_a_root_that_is_not_there_is_said(root: Path) -> None:
    for act in (written, read):
        with pytest.raises(FileRefused, match="no such file"):
            act(root / "no")
    assert list(root.iterdir()) == []


def test_a_giant_is_not_read(root: Path) -> None:
    path = written(root)
    os.truncate(path, 17 << 20)
    with pytest.raises(FileRefused, match="too large"):
        read(root)


@pytest.mark.parametrize("step", ["fsync", "rename", "fchmod"])
def test_a_failure_on_the_way_leaves_the_old_file(
    root: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(root)
    before = path.read_bytes()

    def broken(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, broken)
        with pytest.raises(OutputUnwritable, match=r"T-1\.md': no space left on device"):
            written(root, TWO)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [NAME]


def test_the_file_is_on_the_disk_before_it_takes_the_name_and_the_folder_after(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(root)
    seen: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(descriptor: int) -> None:
        seen.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def noted_rename(*arguments: Any, **options: Any) -> None:
        seen.append("rename")
        rename(*arguments, **options)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    written(root, TWO)
    assert seen == ["file", "rename", "folder"]


def test_an_edit_that_comes_while_it_is_written_is_not_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(root)
    fsync, edits = os.fsync, ["- saved in between"]

    def edited(descriptor: int) -> None:
        if edits:
            path.write_text(path.read_text().replace("### Index\n", f"### Index\n{edits.pop()}\n"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", edited)
    written(root, TWO)
    assert "- saved in between" in path.read_text()
    assert "paint it red" in path.read_text()


def test_who_never_stops_editing_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(root)
    fsync = os.fsync

    def edited(descriptor: int) -> None:
        path.write_text(path.read_text() + "more\n")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", edited)
    with pytest.raises(FileRefused, match="try again"):
        written(root, TWO)
    assert [one.name for one in path.parent.iterdir()] == [NAME]
