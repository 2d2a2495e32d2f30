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
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
FILE_LINES, FUNCTION_LINES = 700, 60
SMALL, SINGLE = 120, 27
"""A module of fewer lines is merged into its only importer; and so many modules have a single
importer in the same folder. Issue 21 wants 20; `python -m tests.test_architecture` prints them."""
SMALL_ONES = {"kedgeline.facts.extraction"}
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "base"}
INPUT_OUTPUT = {
    *("os", "io", "pathlib", "socket", "sqlite3"),
    *("subprocess", "shutil", "tempfile", "sys"),
}
IMPURE = {"open", "print", "input"}


def layers() -> dict[str, tuple[str, set[str]]]:
    """The LAYERS table of ARCHITECTURE.md: unit to its layer and the units it may import."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = text.partition("<!-- layers -->")[2].partition("<!-- /layers -->")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if "|" in line][2:]
    return {
        unit.strip(" `"): (layer.strip(), set(re.findall(r"`(\w+)`", may_import)))
        for unit, layer, may_import in rows
    }


LAYERS = layers()


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules, and what may be one: names that are imported from a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(unit: str, tree: ast.AST) -> list[str]:
    """Imports of a unit's source that the table does not allow."""
    ours = (name.split(".") for name in imports(tree) if name.split(".")[0] == "kedgeline")
    units = {parts[1] for parts in ours if len(parts) > 1}
    return sorted((units & set(LAYERS)) - LAYERS[unit][1] - {unit})


def unit_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return "kedgeline" if first in ("__init__.py", "__main__.py") else first.removesuffix(".py")


def layer_of(path: Path) -> str:
    return LAYERS[unit_of(path)][0]


def test_every_unit_is_in_the_table_and_every_row_exists() -> None:
    assert {unit_of(path) for path in TREES} == set(LAYERS)


def test_imports_point_down() -> None:
    found = {str(path): violations(unit_of(path), tree) for path, tree in TREES.items()}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    for unit, code, up in (
        ("formats", "from kedgeline.tokens import Exact", "tokens"),
        ("model", "def f():\n    import kedgeline.pipeline.read", "pipeline"),
        ("model", "from kedgeline import pipeline", "pipeline"),
    ):
        assert violations(unit, ast.parse(code)) == [up]


def test_the_table_has_no_cycle() -> None:
    order: set[str] = set()
    left = {unit: allowed - {unit} for unit, (_, allowed) in LAYERS.items()}
    while left:
        ready = {unit for unit, allowed in left.items() if allowed <= order}
        assert ready, f"a cycle among {sorted(left)}"
        order |= ready
        left = {unit: allowed for unit, allowed in left.items() if unit not in ready}


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
        defined = r"(?:def|class|import|,) {}\b"
        missing = [name for name in names if not re.search(defined.format(name), told)]
        assert (missing, len(names) > 2) == ([], True), walk


def test_stages_and_values_do_no_input_or_output() -> None:
    for path, tree in TREES.items():
        if layer_of(path) in ("stage", "instrument", "values"):
            assert {name.split(".")[0] for name in imports(tree)} & INPUT_OUTPUT == set(), path
            calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
            assert {one.id for one in calls if isinstance(one, ast.Name)} & IMPURE == set(), path


def test_files_and_functions_stay_readable() -> None:
    large = []
    folders = ("src", "bench", "tests", "examples", "docs")
    for path in (found for folder in folders for found in (ROOT / folder).rglob("*.py")):
        text = path.read_text("utf-8")
        if (lines := text.count("\n")) > FILE_LINES:
            large.append(f"{path}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > FUNCTION_LINES:
                    large.append(f"{path}:{node.lineno} {node.name}: {length} lines")
    assert large == []


def single_importers() -> dict[str, tuple[str, int]]:
    """Modules that one module imports, which lies in the same folder; with it, and their lines."""
    modules = {}
    for path in TREES:
        parts = ("kedgeline", *path.relative_to(SOURCE).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for one in {*imports(TREES[path])} & {*modules} - {name}:
            importers[one].add(name)
    found = {}
    for name, path in modules.items():
        folders = {modules[one].parent for one in importers[name]}
        if len(importers[name]) == 1 and folders == {path.parent} and path.stem != "__init__":
            lines = path.read_text("utf-8").count("\n")
            found[name] = (importers[name].pop(), lines)
    return found


def test_a_small_module_with_one_importer_is_a_part_of_it() -> None:
    found = single_importers()
    small = {name for name, (_, lines) in found.items() if lines < SMALL}
    assert small - SMALL_ONES == set()
    assert len(found) <= SINGLE


def test_no_drawer_modules() -> None:
    assert [p for p in TREES if p.stem in DRAWERS or p.parent.name in DRAWERS] == []


def test_no_broad_except_outside_faces() -> None:
    broad = []
    for path, tree in TREES.items():
        handlers = (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))
        for handler in handlers if layer_of(path) != "face" else ():
            named = ast.walk(handler.type) if handler.type else ()
            names = {one.id for one in named if isinstance(one, ast.Name)}
            if handler.type is None or names & {"Exception", "BaseException"}:
                broad.append(f"{path}:{handler.lineno}")
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
    *("rich", "typer", "splintr", "tree_sitter", "asyncio"),
    *("email", "importlib.metadata", "http", "ssl", "sqlite3"),
}
LATER = (
    *("kedgeline.bank", "kedgeline.economy", "kedgeline.models", "kedgeline.pipeline.asking"),
    *("kedgeline.pipeline.judging", "kedgeline.pipeline.words"),
    *("opentelemetry", "pydantic", "openai", "anthropic"),
)
"""What a session does not load before it needs it."""


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def imported() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_python(IMPORT_PROBE))
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
    loaded = run_python("import sys, kedgeline; kedgeline.Session; print(*sys.modules)").split()
    assert "kedgeline.session.session" in loaded
    assert [name for name in loaded if name.startswith(LATER)] == []


def test_importing_kedgeline_reads_only_code(imported: dict[str, Any]) -> None:
    """And the tables that stand beside it, in its own package."""
    code = (".py", ".pyc", ".so", ".pth")
    tables = {str(path) for path in (ROOT / "src").rglob("*.toml")}
    other = [name for name in imported["opened"] if not name.endswith(code) and name not in tables]
    assert [name for name in other if "__pycache__" not in name] == []


if __name__ == "__main__":
    for name, (importer, lines) in sorted(single_importers().items()):
        sys.stdout.write(f"{lines:>4}  {name}, imported by {importer}\n")
