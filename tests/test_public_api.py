"""The public surface is a list, and the list is true."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from types import ModuleType

import pytest

import kedge
from tests.conftest import ROOT


def public_names(module: ModuleType) -> set[str]:
    """What a package's `__init__` brings in, apart from its own submodules."""
    submodules = {name for _, name, _ in pkgutil.iter_modules(module.__path__)}
    return {name for name in vars(module) if not name.startswith("_")} - submodules


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
    if not hasattr(module, "__all__"):
        assert public_names(module) == set()
        return
    existing = public_names(module) | {n for n in module.__all__ if hasattr(module, n)}
    assert set(module.__all__) == existing
    assert module.__all__ == sorted(
        module.__all__, key=lambda n: (not n.isupper(), n.islower() or n[0].islower(), n)
    )


def test_init_holds_imports_and_all_and_nothing_else() -> None:
    tree = ast.parse((ROOT / "src" / "kedge" / "__init__.py").read_text("utf-8"))
    kinds = [type(node).__name__ for node in tree.body]
    assert kinds[0] == "Expr"
    assert set(kinds[1:-1]) == {"ImportFrom"}
    assert kinds[-1] == "Assign"


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [name for name in kedge.__all__ if f"`{name}" not in reference] == []


def test_the_package_is_typed() -> None:
    assert (ROOT / "src" / "kedge" / "py.typed").exists()
