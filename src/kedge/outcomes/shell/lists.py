"""Statements of a shell line as pipelines of a list, out of the grammar's nesting."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from kedge.outcomes.shell.command import Joint

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 40
"""Levels of nesting followed; real lines have fewer than ten, and garbage may have thousands."""

STATEMENTS = {
    "command",
    "list",
    "pipeline",
    "redirected_statement",
    "subshell",
    "compound_statement",
    "negated_command",
    "test_command",
    "declaration_command",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "if_statement",
    "for_statement",
    "c_style_for_statement",
    "while_statement",
    "case_statement",
    "function_definition",
    "ERROR",
}


class Stage(NamedTuple):
    """One part of a pipeline, with what is redirected."""

    node: Node | None
    redirects: list[Node]


class Link(NamedTuple):
    """One pipeline of a list, with what joins it to the one before."""

    joint: Joint
    stages: list[Stage]


def links_of(node: Node, depth: int) -> list[Link]:
    """A statement as the pipelines of a list.

    The grammar nests lists to the left, and puts a redirection of the last command around the whole
    list: both are undone here, without recursion, for a list may have thousands of members.
    """
    later: list[list[Node]] = []
    first: Node | None = node
    while first is not None and first.type in ("list", "redirected_statement"):
        children = first.children
        begins = 1 if children and children[0].type in STATEMENTS else 0
        later.append(children[begins:])
        first = children[0] if begins else None
    links = _stages(first, depth)
    for children in reversed(later):
        joint: Joint = ""
        for child in children:
            if child.type in ("&&", "||"):
                joint = cast("Joint", child.type)
            elif child.type in ("file_redirect", "heredoc_redirect"):
                links[-1].stages[-1].redirects.append(child)
            elif child.type in STATEMENTS and depth < DEEPEST:
                begun, *rest = links_of(child, depth + 1)
                links += [Link(joint, begun.stages), *rest]
    return links


def _stages(node: Node | None, depth: int) -> list[Link]:
    """A pipeline as one link, mostly: in `a && b 2>&1 | c` the grammar puts the list into the
    pipeline, though only `b` feeds `c`."""
    if node is None or node.type != "pipeline" or depth >= DEEPEST:
        return [Link("", [Stage(node, [])])]
    links: list[Link] = []
    for child in node.children:
        if child.type in STATEMENTS:
            begun, *rest = links_of(child, depth + 1)
            if links:
                links[-1].stages.extend(begun.stages)
                links.extend(rest)
            else:
                links = [begun, *rest]
    return links or [Link("", [Stage(None, [])])]


def is_plain(statement: Node) -> bool:
    """Whether `set -e` ends the line when this statement fails: not so for lists and groups."""
    links = links_of(statement, 0)
    node = links[0].stages[-1].node
    return len(links) == 1 and node is not None and node.type == "command"
