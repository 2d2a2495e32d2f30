"""YAML from strangers: words, lists and maps, and nothing that a YAML file can do besides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kedge.errors import BankMalformed, MissingExtra

DEPTH = 8
"""Levels of lists and maps in each other; a catalog has three."""
NODES = 2_000_000
"""Values in one file: a catalog of a hundred thousand chunks has fewer."""

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_BARE = re.compile(r"[a-z_][a-z0-9_-]*")
_NOT_BARE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML takes for something else."""


class Node(NamedTuple):
    value: str | list[Node] | dict[str, Node]
    line: int
    """Counted from 1; of a value in a map, that of its name."""


def load(name: str, text: str) -> Node:
    """A file of one document. All scalars are strings. Raises BankMalformed with the line of what
    is broken, and of anchors, aliases, tags of types, repeated names and depths beyond reason."""
    yaml = _yaml()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(name).build(yaml.parse(text, Loader=loader))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(0, error.position)) + 1
        raise BankMalformed(
            name, line, f"a character that YAML does not allow: {error.reason}"
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BankMalformed(name, line, error.problem or "this is no YAML") from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise BankMalformed(name, 1, "this is no YAML") from error


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("the catalog of a bank", "bank") from error
    return yaml


class _Builder:
    """Values from the events of a parser, which builds nothing itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes = 0
        self._open: list[tuple[Node, str | None]] = []
        """Lists and maps that are not closed; of a map, the name that waits for its value."""
        self._root: Node | None = None

    def build(self, events: Iterator[Any]) -> Node:
        for event in events:
            kind = type(event).__name__
            line = event.start_mark.line + 1
            if kind == "AliasEvent":
                raise BankMalformed(self._name, line, "an alias; write the value out")
            if getattr(event, "anchor", None):
                raise BankMalformed(self._name, line, "an anchor; leave it out")
            if getattr(event, "tag", None):
                raise BankMalformed(self._name, line, "a tag of a type; leave it out")
            self._event(kind, event, line)
        return self._root or Node("", 1)

    def _event(self, kind: str, event: Any, line: int) -> None:
        if kind == "ScalarEvent":
            self._scalar(Node(event.value, line))
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            node = Node([] if kind.startswith("Sequence") else {}, line)
            self._put(node)
            self._open.append((node, None))
            if len(self._open) > DEPTH:
                raise BankMalformed(self._name, line, f"more than {DEPTH} levels in each other")
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            self._open.pop()
        elif kind == "DocumentStartEvent" and self._root is not None:
            raise BankMalformed(self._name, line, "a second document; keep one")

    def _scalar(self, node: Node) -> None:
        if self._open and isinstance(self._open[-1][0].value, dict) and self._open[-1][1] is None:
            holder = self._open[-1][0]
            name = str(node.value)
            assert isinstance(holder.value, dict)
            if name in holder.value:
                why = f"{name[:80]!r} is there already; keep one"
                raise BankMalformed(self._name, node.line, why)
            self._open[-1] = (holder, name)
            holder.value[name] = node  # until its value comes
        else:
            self._put(node)

    def _put(self, node: Node) -> None:
        self._nodes += 1
        if self._nodes > NODES:
            raise BankMalformed(self._name, node.line, f"more than {NODES:,} values")
        if not self._open:
            self._root = node
            return
        holder, name = self._open[-1]
        if isinstance(holder.value, list):
            holder.value.append(node)
        elif name is None:
            raise BankMalformed(self._name, node.line, "a list or map as a name; use a word")
        else:
            assert isinstance(holder.value, dict)
            holder.value[name] = node._replace(line=holder.value[name].line)
            self._open[-1] = (holder, None)


def quoted(text: str) -> str:
    """A string in double quotes, the same in YAML and JSON."""
    plain = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def name(text: str) -> str:
    """A name in a map."""
    return text if _BARE.fullmatch(text) and text not in _NOT_BARE else quoted(text)


def block(text: str) -> str:
    """A text of several lines as they are, under a name at the margin."""
    if "\n" not in text or _UNPRINTABLE.search(text) or not _clean(text):
        return quoted(text)
    lines = "\n".join(f"  {line}" for line in text.split("\n"))
    return f"|2-\n{lines}"


def _clean(text: str) -> bool:
    """Whether a text is the same after it was read as a block."""
    return not text.endswith("\n") and all(
        line and line.isprintable() and line == line.strip() for line in text.split("\n")
    )
