"""The public surface is a list, and the list is true."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import kedgeline
from tests.conftest import ROOT


def public_names(module: ModuleType) -> set[str]:
    """What a package's `__init__` defines or takes from its own modules; what it needs from
    elsewhere to do so is not offered."""
    assert module.__file__ is not None
    names: set[str] = set()
    for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            if node.module == module.__name__ or (node.module or "").startswith(
                f"{module.__name__}."
            ):
                names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers by their value: 512 before 2048."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def packages() -> list[str]:
    found = [
        name
        for _, name, is_package in pkgutil.walk_packages(kedgeline.__path__, "kedgeline.")
        if is_package
    ]
    return ["kedgeline", *found]


@pytest.mark.parametrize("name", packages())
def test_all_is_sorted_and_equals_what_exists(name: str) -> None:
    module = importlib.import_module(name)
    if name == "kedgeline":
        assert set(kedgeline.__all__) == set(kedgeline._HOMES)
        assert [n for n in kedgeline.__all__ if not hasattr(kedgeline, n)] == []
        assert kedgeline.__all__ == sorted(kedgeline.__all__, key=lambda n: (n[0].islower(), n))
        return
    if not hasattr(module, "__all__"):
        assert public_names(module) == set()
        return
    existing = public_names(module) | {n for n in module.__all__ if hasattr(module, n)}
    assert set(module.__all__) == existing
    assert module.__all__ == sorted(
        module.__all__,
        key=lambda n: (not n.isupper(), n.islower() or n[0].islower(), _natural(n)),
    )


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    """Names are imported for them, and looked up in a table when used: both say the same."""
    tree = ast.parse((ROOT / "src" / "kedgeline" / "__init__.py").read_text("utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: f"{node.module}:{alias.name}" if alias.asname else node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == kedgeline._HOMES


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        _ = kedgeline.nowhere
    assert {"read", "compact"} <= set(dir(kedgeline))


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [name for name in kedgeline.__all__ if f"`{name}" not in reference] == []


def test_the_package_is_typed() -> None:
    assert (ROOT / "src" / "kedgeline" / "py.typed").exists()
