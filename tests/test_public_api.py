"""The public surface is a list, and the list is true."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from types import ModuleType

import pytest

import kedge
from tests.conftest import ROOT


def public_names(module: ModuleType) -> set[str]:
    """What a package's `__init__` brings in, apart from its own submodules."""
    submodules = {name for _, name, _ in pkgutil.iter_modules(module.__path__)}
    return {name for name in vars(module) if not name.startswith("_")} - submodules


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers by their value: 512 before 2048."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def packages() -> list[str]:
    found = [
        name
        for _, name, is_package in pkgutil.walk_packages(kedge.__path__, "kedge.")
        if is_package
    ]
    return ["kedge", *found]


@pytest.mark.parametrize("name", packages())
def test_all_is_sorted_and_equals_what_exists(name: str) -> None:
    module = importlib.import_module(name)
    if name == "kedge":
        assert set(kedge.__all__) == set(kedge._HOMES)
        assert [n for n in kedge.__all__ if not hasattr(kedge, n)] == []
        assert kedge.__all__ == sorted(kedge.__all__, key=lambda n: (n[0].islower(), n))
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
    tree = ast.parse((ROOT / "src" / "kedge" / "__init__.py").read_text("utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == kedge._HOMES


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        _ = kedge.nowhere
    assert {"read", "compact"} <= set(dir(kedge))


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [name for name in kedge.__all__ if f"`{name}" not in reference] == []


def test_the_package_is_typed() -> None:
    assert (ROOT / "src" / "kedge" / "py.typed").exists()
