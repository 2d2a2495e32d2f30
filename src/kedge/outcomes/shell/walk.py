"""From the syntax tree of a shell line to its simple commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kedge.outcomes.shell.command import Command, Joint, Redirect, in_folder
from kedge.outcomes.shell.lists import DEEPEST, STATEMENTS, Link, Stage, is_plain, links_of
from kedge.outcomes.shell.words import Source

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_COMMANDS = 500
"""Commands taken from one line; no one writes more of them."""
BODIES = {"do_group", "elif_clause", "else_clause", "case_item"}
"""Parts of a branch or loop that hold statements."""
ASSIGNMENTS = {"variable_assignment", "variable_assignments"}
BUILT_IN = {"test_command", "declaration_command", "unset_command"}
"""Commands the grammar has kinds of their own for."""
_ERREXIT = re.compile(r"-[a-zA-Z]*e[a-zA-Z]*")


class Way(NamedTuple):
    """How a statement is run."""

    decides: bool
    joint: Joint = ""
    piped: bool = False
    background: bool = False
    inside: bool = False
    depth: int = 0

    def uncertain(self) -> Way:
        """Inside a branch or loop: a statement there may not run, or run and fail unseen."""
        return self._replace(decides=False, joint="", inside=True, depth=self.depth + 1)


class Walk:
    """Collects the commands of one line, in the order in which they are written."""

    def __init__(self, source: Source) -> None:
        self.found: list[Command] = []
        self._source = source
        self._folder = ""
        self._before = ""
        """The folder that `cd -` leads to."""
        self._errexit = False
        self._pipefail = False

    @property
    def full(self) -> bool:
        return len(self.found) >= MOST_COMMANDS

    def sequence(self, node: Node, way: Way) -> None:
        """Statements one after the other: a program, a group, a subshell."""
        if way.depth > DEEPEST:
            return
        statements: list[tuple[Node, bool]] = []
        for child in node.children:
            if child.type in STATEMENTS:
                statements.append((child, False))
            elif child.type == "&" and statements:
                statements[-1] = (statements[-1][0], True)
        joint = way.joint
        for place, (statement, background) in enumerate(statements):
            last = place == len(statements) - 1
            stops = self._errexit and way.depth == 0 and is_plain(statement)
            own = Way(
                decides=way.decides and not background and (last or stops),
                joint=joint,
                piped=way.piped,
                background=way.background or background,
                inside=way.inside,
                depth=way.depth + 1,
            )
            self._statement(statement, own)
            joint = "&" if background else ";"

    def _statement(self, node: Node, way: Way) -> None:
        """A list: `a && b || c`. Behind the last `||` every pipeline decides, before it none."""
        links = links_of(node, way.depth)
        alternatives = [place for place, link in enumerate(links) if link.joint == "||"]
        first = alternatives[-1] + 1 if alternatives else 0
        for place, link in enumerate(links):
            joint = link.joint if place else way.joint
            self._pipeline(link, way._replace(decides=way.decides and place >= first, joint=joint))

    def _pipeline(self, link: Link, way: Way) -> None:
        folder = self._folder
        first = link.stages[0].node
        if first is not None and first.type == "negated_command":
            way = way._replace(decides=False)
        for place, stage in enumerate(link.stages):
            last = place == len(link.stages) - 1
            own = Way(
                decides=way.decides and (last or self._pipefail),
                joint="|" if place else way.joint,
                piped=way.piped or not last,
                background=way.background,
                inside=way.inside,
                depth=way.depth,
            )
            self._stage(stage, own)
        if len(link.stages) > 1:
            self._folder = folder

    def _stage(self, stage: Stage, way: Way) -> None:
        if self.full:
            return
        before = len(self.found)
        if stage.node is not None:
            self._enter(stage.node, way)
        if not stage.redirects:
            return
        redirects, heredoc, further = self._redirected(stage.redirects)
        if not redirects and not heredoc and not further:
            return
        if len(self.found) == before:
            self._add(way, tuple(further))
            further = []
        last = self.found[-1]
        self.found[-1] = replace(
            last,
            words=(*last.words, *further),
            redirects=(*last.redirects, *redirects),
            heredoc=last.heredoc + heredoc,
        )

    def _enter(self, node: Node, way: Way) -> None:
        if way.depth > DEEPEST or self.full:
            return
        kind = node.type
        if kind == "command":
            self._command(node, way)
        elif kind in BUILT_IN:
            self._add(way, tuple(self._source.text(node).split()))
        elif kind == "compound_statement":
            self.sequence(node, way)
        elif kind == "subshell":
            folder = self._folder
            self.sequence(node, way)
            self._folder = folder
        elif kind in ASSIGNMENTS:
            self._add(way)
        else:
            folder = self._folder
            self._bodies(node, way.uncertain())
            self._folder = folder

    def _bodies(self, node: Node, way: Way) -> None:
        """Branches, loops, functions, `! command`, and what the grammar could not read."""
        if way.depth > DEEPEST:
            return
        for child in node.children:
            if child.type in STATEMENTS:
                self._statement(child, way)
                way = way._replace(joint=";")
            elif child.type in BODIES:
                self._bodies(child, way.uncertain())

    def _command(self, node: Node, way: Way) -> None:
        words = self._source.words(node)
        inside = [child for child in node.children if child.type == "file_redirect"]
        redirects, heredoc, further = self._redirected(inside)
        words.extend(further)
        if not words and not redirects:
            return
        self._add(way, tuple(words), tuple(redirects), heredoc)
        self._note(words, way)

    def _add(
        self,
        way: Way,
        words: tuple[str, ...] = (),
        redirects: tuple[Redirect, ...] = (),
        heredoc: str = "",
    ) -> None:
        self.found.append(
            Command(
                words=words,
                joint=way.joint,
                decides=way.decides,
                piped=way.piped,
                background=way.background,
                inside=way.inside,
                redirects=redirects,
                heredoc=heredoc,
                folder=self._folder,
            )
        )

    def _note(self, words: Sequence[str], way: Way) -> None:
        """What a command changes for those behind it."""
        if words[:1] == ["set"]:
            self._errexit = self._errexit or _sets(words, "errexit")
            self._pipefail = self._pipefail or "pipefail" in words
            if "+e" in words:
                self._errexit = False
        elif words[:1] in (["cd"], ["pushd"]) and not way.background:
            targets = [word for word in words[1:] if word == "-" or not word.startswith("-")]
            target = targets[0] if targets else "~"
            led = self._before if target == "-" else in_folder(self._folder, target)
            self._before, self._folder = self._folder, led

    def _redirected(self, nodes: Sequence[Node]) -> tuple[list[Redirect], str, list[str]]:
        """Redirections, the text of here-documents, and words the grammar took for targets: in
        `cat > a b` the second is an argument."""
        redirects: list[Redirect] = []
        heredoc: list[str] = []
        further: list[str] = []
        for node in nodes:
            operator, targets = _parts(node)
            words = [self._source.word(target) for target in targets]
            if not words or (operator in (">&", "<&") and words[0].isdigit()):
                further.extend(words[1:])
                continue
            body = self._source.body(words[0])
            if body is None:
                redirects.append(Redirect(operator=operator, target=words[0]))
            else:
                heredoc.append(body)
            further.extend(words[1:])
        return redirects, "".join(heredoc), further


def _sets(words: Sequence[str], option: str) -> bool:
    return option in words or any(_ERREXIT.fullmatch(word) for word in words[1:])


def _parts(redirect: Node) -> tuple[str, list[Node]]:
    """The operator of a redirection, and the words behind it."""
    operator = ""
    targets = []
    for child in redirect.children:
        if not child.is_named:
            operator = child.type
        elif child.type not in ("file_descriptor", "ERROR"):
            targets.append(child)
    return operator, targets
