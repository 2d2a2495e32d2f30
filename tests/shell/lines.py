"""Shell lines made up at random, with a small interpreter that knows how they go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

Tree = tuple[Any, ...]
"""`("cmd", name, ending)`, or an operator with its parts."""


@dataclass
class Case:
    tree: Tree
    pipefail: bool
    text: str = ""
    names: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        written = self._write(self.tree)
        before = "set -o pipefail; " if self.pipefail else ""
        if self.pipefail:
            self.names.insert(0, "set")
        self.text = before + written + "".join(f"\n{body}" for body in self.bodies)

    @property
    def must_decide(self) -> bool:
        """The last command of a plain line: its status is the line's, whatever stands before."""
        return self.tree[0] == ";" and self.tree[2][0] == "cmd"

    def failures(self) -> Iterator[frozenset[str]]:
        """Which commands fail: every one alone, every two, all."""
        for size in (0, 1, 2, len(self.names)):
            yield from map(frozenset, combinations(self.names, size))

    def run(self, failing: frozenset[str]) -> tuple[bool, set[str]]:
        """Whether the line succeeds, and the commands that were run and succeeded."""
        succeeded = {"set"} if self.pipefail else set()
        return self._run(self.tree, failing, succeeded), succeeded

    def _write(self, tree: Tree) -> str:
        kind = tree[0]
        if kind == "cmd":
            return self._command(tree[1])
        parts = [self._write(part) for part in tree[1:]]
        if kind == "(":
            return f"( {parts[0]} )"
        if kind == "{":
            return f"{{ {parts[0]}; }}"
        if kind == "!":
            return f"! {parts[0]}"
        if kind == "if":
            return f"if {parts[0]}; then {parts[1]}; fi"
        return f" {kind} ".join(parts)

    def _command(self, ending: str) -> str:
        name = f"c{len(self.names)}"
        self.names.append(name)
        if ending == "heredoc":
            self.bodies.append(f"{name} && rm x\nEND{name}")
            return f"{name} <<'END{name}'"
        return f"{name}{ending}"

    def _run(self, tree: Tree, failing: frozenset[str], done: set[str]) -> bool:
        self._next = iter(name for name in self.names if name != "set")
        return self._status(tree, failing, done, runs=True)

    def _status(self, tree: Tree, failing: frozenset[str], done: set[str], *, runs: bool) -> bool:
        kind = tree[0]
        if kind == "cmd":
            name = next(self._next)
            if runs and name not in failing:
                done.add(name)
            return name not in failing
        first = self._status(tree[1], failing, done, runs=runs)
        if len(tree) == 2:
            return first if kind != "!" else not first
        needed = {"&&": first, "||": not first, "if": first}.get(kind, True)
        second = self._status(tree[2], failing, done, runs=runs and needed)
        return {
            "&&": first and second,
            "||": first or second,
            "|": second and (first or not self.pipefail),
            "if": second if first else True,
        }.get(kind, second)


_COMMANDS = st.tuples(st.just("cmd"), st.sampled_from(["", "", " x", " 2>&1", " > f", "heredoc"]))


def _grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    grouped = st.tuples(st.sampled_from(["(", "{"]), inner)
    staged = _COMMANDS | grouped
    return st.one_of(
        st.tuples(st.just("&&"), inner, staged),
        st.tuples(st.just("||"), inner, staged),
        st.tuples(st.just("|"), staged, staged),
        st.tuples(st.just("if"), inner, inner),
        st.tuples(st.just("!"), _COMMANDS),
        grouped,
    )


def lines() -> st.SearchStrategy[Case]:
    """Lines of one or two statements."""
    statements = st.recursive(_COMMANDS, _grown, max_leaves=6)
    whole = statements | st.tuples(st.just(";"), statements, statements)
    return st.builds(Case, tree=whole, pipefail=st.booleans())
