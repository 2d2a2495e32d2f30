"""T-S2: no name leads out of the store (memanto#792, hermes#54852, codex-supermemory#38)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.traversal import RIGHT, WRONG

NAMED = ("append", "pin", "fork", "import")
"""What makes a session of the name: a wrong one is refused before anything is written."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    folder = tmp_path_factory.mktemp("traversal")
    done = subprocess.run(
        [sys.executable, "-m", "tests.session_traversal", str(folder / "root")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stderr == ""
    return json.loads(done.stdout), folder


def test_five_thousand_cases_and_none_opens_anything_outside(
    found: tuple[dict[str, object], Path],
) -> None:
    told, folder = found
    outcomes = told["outcomes"]
    assert isinstance(outcomes, dict)
    assert sum(len(one) for one in outcomes.values()) >= 5_000
    touched = told["touched"]
    assert isinstance(touched, list)
    inside = str(folder / "root")
    modules = (".py", ".pyc", ".so")  # what Python loads late
    ours = (inside, "/proc/", str(ROOT / "src" / "kedgeline"))  # its own tables are read late too
    away = [
        path
        for path in touched
        if "/" in path and not path.startswith(ours) and not path.endswith(modules)
    ]
    assert away == []
    assert [path.name for path in folder.iterdir()] == ["root"]
    assert {path.name.partition("-")[0] for path in (folder / "root").iterdir()} == {"kedgeline.db"}


@pytest.mark.parametrize("act", NAMED)
def test_a_wrong_name_is_refused_and_a_right_one_is_not(
    act: str, found: tuple[dict[str, object], Path]
) -> None:
    outcomes = found[0]["outcomes"]
    assert isinstance(outcomes, dict)
    assert {outcomes[act][name] for name in WRONG} == {"BadName"}
    assert {outcomes[act][name] for name in RIGHT} <= {"done"}


def test_all_that_was_made_is_private(found: tuple[dict[str, object], Path]) -> None:
    root = found[1] / "root"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(os.lstat(path).st_mode) for path in root.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_what_is_watched_is_seen(tmp_path: Path) -> None:
    """The hook would see a path that leads out: a name that is not checked is planted."""
    planted = (
        "import sys; from pathlib import Path\n"
        "import kedgeline.files, kedgeline.store.sqlite, tests.session_traversal as watch\n"
        "def act(name):\n"
        "    open(Path(sys.argv[1]) / name, 'wb').close()\n"
        "watch.acts = lambda root: {'append': act}\n"
        "watch.WRONG, watch.RIGHT = ['../planted'], []\n"
        "Path(sys.argv[1]).mkdir()\n"
        "print(watch.watched(Path(sys.argv[1]))['touched'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", planted, str(tmp_path / "root")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert "../planted" in done.stdout, done.stderr
