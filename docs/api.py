"""docs/reference.md: the public names of the library, from their signatures and docstrings."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

import kedgeline

INTRODUCTION = """# Public names

Written by `make docs` from the code. Everything here is imported from `kedgeline`;
[the library](library.md) shows how it goes together.
"""
GROUPS = {
    "Functions": lambda made: not inspect.isclass(made),
    "Values": lambda made: inspect.isclass(made) and _fields(made) != [],
    "Objects and errors": lambda made: inspect.isclass(made) and _fields(made) == [],
}
LONG = 80
"""Characters of a signature that stand on one line."""


def reference() -> str:
    parts = [INTRODUCTION]
    names = {name: getattr(kedgeline, name) for name in kedgeline.__all__}
    for title, belongs in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_section(name, made) for name, made in names.items() if belongs(made)]
    return "\n".join(parts)


def _section(name: str, made: Any) -> str:
    lines = [f"### {name}\n"]
    if not inspect.isclass(made):
        lines += [_signature(name, made), ""]
    if told := _told(made):
        lines += [told, ""]
    if inspect.isclass(made):
        if fields := _fields(made):
            described = _described(made)
            lines += ["| field | type | |", "|---|---|---|"]
            lines += [f"| `{one}` | `{kind}` | {described.get(one, '')} |" for one, kind in fields]
            lines.append("")
        lines += _members(made)
    return "\n".join(lines)


def _members(made: type) -> Iterator[str]:
    """What it can do: its own public methods and properties."""
    for name, member in vars(made).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_") or not (
            inspect.isfunction(function) or isinstance(member, property)
        ):
            continue
        if isinstance(member, property):
            yield f"- `.{name}`: {_one_line(_told(member)) or 'see its type.'}"
        else:
            shown = _inline(f".{name}", function)
            told = _one_line(_told(function))
            yield f"- `{shown}`{f': {told}' if told else ''}"
    yield ""


def _told(made: Any) -> str:
    """Its own docstring; none that it was given by what it is made from."""
    told = vars(made).get("__doc__") if inspect.isclass(made) else made.__doc__
    if not told or str(told).startswith(f"{getattr(made, '__name__', '')}("):
        return ""
    return inspect.cleandoc(told)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _signature(name: str, made: Any) -> str:
    shown = _inline(name, made)
    if len(shown) > LONG:
        parameters, back = _written(made)
        inner = "".join(f"    {one},\n" for one in parameters)
        shown = f"{name}(\n{inner}){back}"
    return f"```py\n{shown}\n```"


def _inline(name: str, made: Any) -> str:
    parameters, back = _written(made)
    return f"{name}({', '.join(parameters)}){back}"


def _written(made: Any) -> tuple[list[str], str]:
    """Parameters and what comes back, as the code has them: defaults by their names."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(made)))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    shown = [_parameter(one, default) for one, default in zip(plain, defaults, strict=True)]
    if plain and plain[0].arg in ("self", "cls"):
        del shown[0]
    if given.vararg:
        shown.append(f"*{ast.unparse(given.vararg)}")
    elif given.kwonlyargs:
        shown.append("*")
    shown += map(_parameter, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        shown.append(f"**{ast.unparse(given.kwarg)}")
    return shown, f" -> {ast.unparse(node.returns)}" if node.returns else ""


def _parameter(given: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(given) + (f" = {ast.unparse(default)}" if default else "")


def _fields(made: type) -> list[tuple[str, str]]:
    """Names of the fields, and their types as they are written."""
    if issubclass(made, msgspec.Struct):
        names: tuple[str, ...] = made.__struct_fields__
    elif dataclasses.is_dataclass(made):
        names = tuple(field.name for field in dataclasses.fields(made))
    else:
        names = getattr(made, "_fields", ())
    kinds: dict[str, Any] = {}
    for base in reversed(made.__mro__):
        kinds.update(vars(base).get("__annotations__", {}))
    return [(name, str(kinds.get(name, "")).replace("|", "\\|")) for name in names]


def _described(made: type) -> dict[str, str]:
    """The strings that stand under fields."""
    found: dict[str, str] = {}
    for base in reversed(made.__mro__):
        if not base.__module__.startswith("kedgeline"):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        for field, text in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                told = _one_line(str(text.value.value))
                found[ast.unparse(field.target)] = told.replace("|", "\\|")
    return found
