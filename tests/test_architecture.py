"""What holds the house together: layers, sizes, names, and an import that does nothing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src" / "kedgeline"
FILES = sorted(SOURCE.rglob("*.py"))
FILE_LINES, FUNCTION_LINES = 700, 60
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "base"}
INPUT_OUTPUT = {
    "os",
    "io",
    "pathlib",
    "socket",
    "sqlite3",
    "subprocess",
    "shutil",
    "tempfile",
    "sys",
}


def layers() -> dict[str, tuple[str, set[str]]]:
    """The LAYERS table of ARCHITECTURE.md: unit to its layer and the units it may import."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = text.partition("<!-- layers -->")[2].partition("<!-- /layers -->")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if "|" in line
    ]
    found = {}
    for unit, layer, may_import in rows[2:]:
        found[unit.strip("`")] = (layer, set(re.findall(r"`(\w+)`", may_import)))
    return found


LAYERS = layers()


def unit_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "kedgeline"


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def violations(unit: str, source: str) -> list[str]:
    """Imports of a unit's source that the table does not allow."""
    allowed = LAYERS[unit][1] | {unit}
    units = {
        unit_of(name) for name in imports(ast.parse(source)) if name.split(".")[0] == "kedgeline"
    }
    return sorted(units - allowed)


def unit_of_file(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return "kedgeline" if first in ("__init__.py", "__main__.py") else first.removesuffix(".py")


def test_every_unit_is_in_the_table_and_every_row_exists() -> None:
    assert {unit_of_file(path) for path in FILES} == set(LAYERS)


def test_imports_point_down() -> None:
    found = {
        str(path.relative_to(SOURCE)): wrong
        for path in FILES
        if (wrong := violations(unit_of_file(path), path.read_text("utf-8")))
    }
    assert found == {}


def test_an_import_that_points_up_is_seen() -> None:
    assert violations("formats", "from kedgeline.tokens import Exact") == ["tokens"]
    assert violations("model", "def f():\n    import kedgeline.pipeline.read") == ["pipeline"]


def test_every_step_of_the_walks_is_one_jump_away() -> None:
    """A file that a walk names is there, and a name is defined in one of the files before it."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    walks = text.partition("Four walks")[2].partition("## The units")[0].split("\n- ")[1:]
    assert len(walks) == 4
    for walk in walks:
        words = re.findall(r"`([\w/.]+)`", walk)
        files = [SOURCE / word for word in words if word.endswith(".py")]
        told = "".join(path.read_text("utf-8") for path in files)
        names = [word for word in words if word.isidentifier()]
        missing = [
            name for name in names if not re.search(rf"(?:def|class|import|,) {name}\b", told)
        ]
        assert (missing, len(names) > 2) == ([], True), walk


def test_the_table_has_no_cycle() -> None:
    order: list[str] = []
    left = {unit: set(allowed) - {unit} for unit, (_, allowed) in LAYERS.items()}
    while left:
        ready = [unit for unit, allowed in left.items() if allowed <= set(order)]
        assert ready, f"a cycle among {sorted(left)}"
        order.extend(ready)
        left = {unit: allowed for unit, allowed in left.items() if unit not in ready}


def test_stages_and_values_do_no_input_or_output() -> None:
    for path in FILES:
        if LAYERS[unit_of_file(path)][0] not in ("stage", "instrument", "values"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        assert {name.split(".")[0] for name in imports(tree)} & INPUT_OUTPUT == set(), path
        calls = {
            n.func.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        assert calls & {"open", "print", "input"} == set(), path


def test_files_and_functions_stay_readable() -> None:
    large = []
    folders = ("src", "bench", "tests", "examples", "docs")
    for path in (found for folder in folders for found in (ROOT / folder).rglob("*.py")):
        text = path.read_text("utf-8")
        if (lines := text.count("\n")) > FILE_LINES:
            large.append(f"{path.relative_to(ROOT)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > FUNCTION_LINES:
                    large.append(
                        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines"
                    )
    assert large == []


def test_no_drawer_modules() -> None:
    assert [p for p in FILES if p.stem in DRAWERS or p.parent.name in DRAWERS] == []


def test_no_broad_except_outside_faces() -> None:
    broad = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ExceptHandler) and LAYERS[unit_of_file(path)][0] != "face":
                names = (
                    {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
                    if node.type
                    else {"all"}
                )
                if names & {"all", "Exception", "BaseException"}:
                    broad.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert broad == []


IMPORT_PROBE = """
import sys, json
opened = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])
    elif event in ("socket.connect", "subprocess.Popen", "os.mkdir", "os.remove", "os.rename"):
        opened.append(event)
sys.addaudithook(watch)
import kedgeline
bare = len(sys.modules)
for name in kedgeline.__all__:
    getattr(kedgeline, name)
print(json.dumps({"modules": sorted(sys.modules), "opened": opened, "bare": bare}))
"""

ALLOWED = {"kedgeline", "msgspec", "typing_extensions"}
"""Third-party packages that `import kedgeline` may load; msgspec takes the last where it finds
it."""
BARE_BUDGET, MODULE_BUDGET = 80, 590
"""Modules loaded by `import kedgeline`, and when every public name has been used, the
interpreter's own included; 68 and 544 when this was written. Time is noisy, the number of modules
is not."""
HEAVY = {
    "rich",
    "typer",
    "splintr",
    "tree_sitter",
    "asyncio",
    "email",
    "importlib.metadata",
    "http",
    "ssl",
    "sqlite3",
}


@pytest.fixture(scope="module")
def imported() -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_PROBE], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_importing_kedgeline_loads_nothing_optional(imported: dict[str, Any]) -> None:
    standard = sys.stdlib_module_names | {"__main__", "_virtualenv", "sitecustomize"}
    third = {name.split(".")[0] for name in imported["modules"]} - standard
    assert {name for name in third if not name.startswith(("_", "__editable__"))} <= ALLOWED
    assert HEAVY & set(imported["modules"]) == set()


def test_importing_kedgeline_stays_within_its_budget(imported: dict[str, Any]) -> None:
    assert imported["bare"] <= BARE_BUDGET
    assert len(imported["modules"]) <= MODULE_BUDGET


def test_a_session_loads_neither_the_bank_nor_the_economy() -> None:
    """What runs at every step of an agent must not wait for what it does not need."""
    code = "import sys, kedgeline; kedgeline.Session; print('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = result.stdout.split()
    assert "kedgeline.session.session" in loaded
    assert [
        name for name in loaded if name.startswith(("kedgeline.bank", "kedgeline.economy"))
    ] == []
    assert [name for name in loaded if name.startswith("opentelemetry")] == []
    models = (
        "kedgeline.models",
        "kedgeline.pipeline.asking",
        "kedgeline.pipeline.judging",
        "kedgeline.pipeline.words",
        "pydantic",
        "openai",
        "anthropic",
    )
    assert [name for name in loaded if name.startswith(models)] == []


def test_importing_kedgeline_reads_only_code(imported: dict[str, Any]) -> None:
    """And the tables that stand beside it, in its own package."""
    code = (".py", ".pyc", ".so", ".pth")
    tables = {str(path) for path in (ROOT / "src").rglob("*.toml")}
    other = [name for name in imported["opened"] if not name.endswith(code) and name not in tables]
    assert [name for name in other if "__pycache__" not in name] == []
