"""A shell line as the simple commands it runs, by a real grammar.

Commands in subshells, groups, loops and branches count. What stands in strings, here-documents,
comments and command substitutions is text. `bash -c "…"` and `eval` are looked into, one level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from kedgeline.shell.prefixes import (
    MARK,
    Command,
    Heredoc,
    Joint,
    Redirect,
    in_folder,
    usual_program,
    without_heredocs,
    without_prefixes,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node

LONGEST_LINE = 16_384
"""Bytes of a line that are parsed, here-documents not counted; the rest is left off. Lines of
agents seldom have 2,000, and the parser's time grows with the square for some kinds of garbage."""
REMEMBERED = 512
"""Lines kept parsed: several stages ask about the same one, one after the other."""
LONGEST_REMEMBERED = 4_096
"""Longer lines are parsed again when asked for, so that what is remembered stays within 2 MB."""
DEEPEST = 40
"""Levels of nesting followed; real lines have fewer than ten, and garbage may have thousands."""
MOST_COMMANDS = 500
"""Commands taken from one line; no one writes more of them."""

SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "powershell", "pwsh"}
_TAKES_SCRIPT = re.compile(r"-[a-z]*c|-[Cc]ommand")
_ASCII = bytes(code if code < 0x80 else ord("x") for code in range(0x100))
"""To the shell all other characters are letters. The parser must not see them: its scanner looks
them up in a table of 256 entries and can crash the process (tree-sitter-bash issue 337)."""


def commands_in(line: str) -> tuple[Command, ...]:
    """Every simple command of a line, in order. Never raises, whatever the text."""
    return (_parsed if len(line) <= LONGEST_REMEMBERED else _parsed.__wrapped__)(line)


def script_in(words: Sequence[str]) -> str:
    """The script that a command gives to a shell: `bash -lc SCRIPT`, `eval WORDS`; else empty."""
    program = usual_program(words[0]) if words else ""
    if program == "eval":
        return " ".join(words[1:])
    if program in SHELLS:
        for option, script in pairwise(words[1:]):
            if not option.startswith("-"):
                break
            if _TAKES_SCRIPT.fullmatch(option):
                return script
    return ""


@lru_cache(maxsize=REMEMBERED)
def _parsed(line: str) -> tuple[Command, ...]:
    return tuple(inner for command in _top(line) for inner in _looked_into(command))


def _top(line: str) -> list[Command]:
    """The commands of a line; a script given to a shell is still a word."""
    from tree_sitter import Parser

    stripped = without_heredocs(line.replace("\0", " "))
    data = stripped.line.encode(errors="replace")
    whole = stripped.whole and len(data) <= LONGEST_LINE
    data = data[:LONGEST_LINE]
    walk = _Walk(_Source(data, stripped.heredocs))
    tree = Parser(_language()).parse(data.translate(_ASCII))
    walk.sequence(tree.root_node, _Way(decides=whole))
    if walk.full:  # those that were left off may have decided
        return [replace(command, decides=False) for command in walk.found]
    return walk.found


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _looked_into(command: Command) -> list[Command]:
    """The commands of the script that a command gives to a shell; else the command itself."""
    if not command.words:
        return [command]
    plain, remote = without_prefixes(command.words)
    script = script_in(plain)
    inside = _top(script) if script else []
    if not inside:
        return [replace(command, remote=remote)]
    shown = [
        replace(
            one,
            joint=one.joint if place else command.joint,
            decides=command.decides and one.decides,
            piped=command.piped or one.piped,
            background=command.background or one.background,
            inside=command.inside or one.inside,
            folder=in_folder(command.folder, one.folder) if one.folder else command.folder,
            remote=remote,
        )
        for place, one in enumerate(inside)
    ]
    shown[-1] = replace(shown[-1], redirects=(*shown[-1].redirects, *command.redirects))
    return shown


# Words of a command as the program gets them: quotes and escapes taken off.

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r'\\(["\\$`\n])')
_ANSI_ESCAPE = re.compile(r"\\([abefnrtv\\'\"?])")
_ANSI = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_GAP = re.compile(r"(?P<between>(?:\s|\\\n)+)|(?:\\.|[^\s\\])+|\\", re.DOTALL)
_PRINTED = re.compile(r"\$\(\s*cat\s*<\s*" + MARK.pattern + r"\s*\)")
"""`$(cat <<EOF …)`: the here-document itself."""
_REDIRECTED = re.compile(r"< " + MARK.pattern)

_NO_WORDS = {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"}
"""What stands among the words of a command and is none of them."""
_COMPOSED = {"string": 1, "translated_string": 2, "concatenation": 0, "command_name": 0}
"""Words of several pieces, with the length of what opens them."""


class _Source:
    """A line without its here-documents, as the parser has it."""

    def __init__(self, data: bytes, heredocs: Sequence[Heredoc]) -> None:
        self._data = data
        self._heredocs = heredocs

    def body(self, target: str) -> str | None:
        """The body of the here-document a redirection's target stands for."""
        mark = MARK.fullmatch(target)
        return None if mark is None else self._heredoc(mark[1]).body

    def text(self, node: Node) -> str:
        """A node as written, its here-documents by how they open."""
        written = self._between(node.start_byte, node.end_byte)
        return _REDIRECTED.sub(lambda mark: self._heredoc(mark[1]).opening, written)

    def words(self, command: Node) -> list[str]:
        """The words of a command.

        The grammar leaves out a lone `-` and some escapes: what stands between two of its nodes is
        looked at too, and belongs to a word where no space is between them.
        """
        pieces: list[str | None] = []  # None parts two words
        position = command.start_byte
        for child in command.children:
            if child.start_byte > position:
                left_out = self._between(position, child.start_byte)
                gaps = _GAP.finditer(left_out)
                pieces += (None if gap["between"] else _unescaped(gap[0]) for gap in gaps)
            pieces.append(None if child.type in _NO_WORDS else self.word(child))
            position = child.end_byte
        words: list[str] = []
        for before, piece in pairwise((None, *pieces)):
            if piece is not None and before is not None:
                words[-1] += piece
            elif piece is not None:
                words.append(piece)
        return words

    def word(self, node: Node) -> str:
        kind = node.type
        written = self._between(node.start_byte, node.end_byte)
        if kind == "raw_string":
            return written[1:-1]
        if kind == "ansi_c_string":
            return _ANSI_ESCAPE.sub(lambda found: _ANSI.get(found[1], found[1]), written[2:-1])
        if kind in _COMPOSED:
            return self._composed(node)
        if kind == "command_substitution" and (printed := _PRINTED.fullmatch(written)):
            return self._heredoc(printed[1]).body.rstrip("\n")
        if kind.endswith(("substitution", "expansion")):
            return self.text(node)
        return _unescaped(written)

    def _composed(self, node: Node) -> str:
        """A string, or pieces without a space between them."""
        opening = _COMPOSED[node.type]
        start, end = node.start_byte + opening, node.end_byte - bool(opening)
        kept: list[str] = []
        for child in node.children:
            if child.type in ('"', "$", "string_content") or child.start_byte < start:
                continue
            kept.append(_unescaped(self._between(start, child.start_byte), string=opening > 0))
            kept.append(self.word(child))
            start = child.end_byte
        return "".join((*kept, _unescaped(self._between(start, end), string=opening > 0)))

    def _between(self, start: int, end: int) -> str:
        return self._data[start:end].decode(errors="replace") if end > start else ""

    def _heredoc(self, number: str) -> Heredoc:
        place = int(number)
        return self._heredocs[place] if place < len(self._heredocs) else Heredoc("<<", "")


def _unescaped(text: str, *, string: bool = False) -> str:
    if "\\" not in text:
        return text
    escape = _QUOTED_ESCAPE if string else _ESCAPE
    return escape.sub(lambda found: found[1].replace("\n", ""), text)


# From the syntax tree of a shell line to its simple commands.

_STATEMENTS = {
    *("command", "list", "pipeline", "redirected_statement", "subshell", "compound_statement"),
    *("negated_command", "test_command", "declaration_command", "unset_command"),
    *("variable_assignment", "variable_assignments", "if_statement", "for_statement"),
    *("c_style_for_statement", "while_statement", "case_statement", "function_definition"),
    "ERROR",
}
_BODIES = {"do_group", "elif_clause", "else_clause", "case_item"}
"""Parts of a branch or loop that hold statements."""
_BUILT_IN = {"test_command", "declaration_command", "unset_command"}
"""Commands the grammar has kinds of their own for."""
_ERREXIT = re.compile(r"-[a-zA-Z]*e[a-zA-Z]*")


class _Stage(NamedTuple):
    """One part of a pipeline, with what is redirected."""

    node: Node | None
    redirects: list[Node]


class _Link(NamedTuple):
    """One pipeline of a list, with what joins it to the one before."""

    joint: Joint
    stages: list[_Stage]


def _links(node: Node, depth: int) -> list[_Link]:
    """A statement as the pipelines of a list.

    The grammar nests lists to the left, and puts a redirection of the last command around the whole
    list: both are undone here, without recursion, for a list may have thousands of members.
    """
    later: list[list[Node]] = []
    first: Node | None = node
    while first is not None and first.type in ("list", "redirected_statement"):
        children = first.children
        begins = 1 if children and children[0].type in _STATEMENTS else 0
        later.append(children[begins:])
        first = children[0] if begins else None
    links = _piped(first, depth)
    for children in reversed(later):
        joint: Joint = ""
        for child in children:
            if child.type in ("&&", "||"):
                joint = cast("Joint", child.type)
            elif child.type in ("file_redirect", "heredoc_redirect"):
                links[-1].stages[-1].redirects.append(child)
            elif child.type in _STATEMENTS and depth < DEEPEST:
                begun, *rest = _links(child, depth + 1)
                links += [_Link(joint, begun.stages), *rest]
    return links


def _piped(node: Node | None, depth: int) -> list[_Link]:
    """A pipeline as one link, mostly: in `a && b 2>&1 | c` the grammar puts the list into the
    pipeline, though only `b` feeds `c`."""
    if node is None or node.type != "pipeline" or depth >= DEEPEST:
        return [_Link("", [_Stage(node, [])])]
    links: list[_Link] = []
    for child in node.children:
        if child.type in _STATEMENTS:
            begun, *rest = _links(child, depth + 1)
            if links:
                links[-1].stages.extend(begun.stages)
                links.extend(rest)
            else:
                links = [begun, *rest]
    return links or [_Link("", [_Stage(None, [])])]


def _is_plain(statement: Node) -> bool:
    """Whether `set -e` ends the line when this statement fails: not so for lists and groups."""
    links = _links(statement, 0)
    node = links[0].stages[-1].node
    return len(links) == 1 and node is not None and node.type == "command"


class _Way(NamedTuple):
    """How a statement is run."""

    decides: bool
    joint: Joint = ""
    piped: bool = False
    background: bool = False
    inside: bool = False
    depth: int = 0


class _Walk:
    """Collects the commands of one line, in the order in which they are written."""

    def __init__(self, source: _Source) -> None:
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

    def sequence(self, node: Node, way: _Way) -> None:
        """Statements one after the other: a program, a group, a subshell."""
        statements: list[tuple[Node, bool]] = []
        for child in node.children:
            if child.type in _STATEMENTS:
                statements.append((child, False))
            elif child.type == "&" and statements:
                statements[-1] = (statements[-1][0], True)
        joint = way.joint
        for place, (statement, background) in enumerate(statements, start=1):
            stops = self._errexit and way.depth == 0 and _is_plain(statement)
            own = way._replace(
                decides=way.decides and not background and (place == len(statements) or stops),
                joint=joint,
                background=way.background or background,
                depth=way.depth + 1,
            )
            self._statement(statement, own)
            joint = "&" if background else ";"

    def _statement(self, node: Node, way: _Way) -> None:
        """A list: `a && b || c`. Behind the last `||` every pipeline decides, before it none."""
        links = _links(node, way.depth)
        first = max((place for place, link in enumerate(links) if link.joint == "||"), default=-1)
        for place, link in enumerate(links):
            joint = link.joint if place else way.joint
            self._pipeline(link, way._replace(decides=way.decides and place > first, joint=joint))

    def _pipeline(self, link: _Link, way: _Way) -> None:
        folder = self._folder
        first = link.stages[0].node
        decides = way.decides and not (first is not None and first.type == "negated_command")
        for place, stage in enumerate(link.stages, start=1):
            last = place == len(link.stages)
            own = way._replace(
                decides=decides and (last or self._pipefail),
                joint="|" if place > 1 else way.joint,
                piped=way.piped or not last,
            )
            self._stage(stage, own)
        if len(link.stages) > 1:
            self._folder = folder

    def _stage(self, stage: _Stage, way: _Way) -> None:
        before = len(self.found)
        if stage.node is not None:
            self._enter(stage.node, way)
        if self.full or not stage.redirects:
            return
        redirects, heredoc, further = self._redirected(stage.redirects)
        if not redirects and not heredoc and not further:
            return
        if len(self.found) == before:
            self._add(way)
        last = self.found[-1]
        self.found[-1] = replace(
            last,
            words=(*last.words, *further),
            redirects=(*last.redirects, *redirects),
            heredoc=last.heredoc + heredoc,
        )

    def _enter(self, node: Node, way: _Way) -> None:
        if way.depth > DEEPEST or self.full:
            return
        folder, kind = self._folder, node.type
        if kind == "command":
            self._command(node, way)
        elif kind in _BUILT_IN:
            self._add(way, self._source.text(node).split())
        elif kind in ("compound_statement", "subshell"):
            self.sequence(node, way)
            self._folder = folder if kind == "subshell" else self._folder
        elif kind in ("variable_assignment", "variable_assignments"):
            self._add(way)
        else:
            self._bodies(node, way)
            self._folder = folder

    def _bodies(self, node: Node, way: _Way) -> None:
        """Branches, loops, functions, `! command`, and what the grammar could not read: a statement
        there may not run, or run and fail unseen."""
        way = way._replace(decides=False, joint="", inside=True, depth=way.depth + 1)
        for child in node.children if way.depth <= DEEPEST else ():
            if child.type in _STATEMENTS:
                self._statement(child, way)
                way = way._replace(joint=";")
            elif child.type in _BODIES:
                self._bodies(child, way)

    def _command(self, node: Node, way: _Way) -> None:
        inside = [child for child in node.children if child.type == "file_redirect"]
        redirects, heredoc, further = self._redirected(inside)
        words = [*self._source.words(node), *further]
        if words or redirects:
            self._add(way, words, redirects, heredoc)
            self._note(words, way)

    def _add(
        self,
        way: _Way,
        words: Sequence[str] = (),
        redirects: Sequence[Redirect] = (),
        heredoc: str = "",
    ) -> None:
        self.found.append(
            Command(
                words=tuple(words),
                joint=way.joint,
                decides=way.decides,
                piped=way.piped,
                background=way.background,
                inside=way.inside,
                redirects=tuple(redirects),
                heredoc=heredoc,
                folder=self._folder,
            )
        )

    def _note(self, words: Sequence[str], way: _Way) -> None:
        """What a command changes for those behind it."""
        if words[:1] == ["set"]:
            exits = "errexit" in words or any(map(_ERREXIT.fullmatch, words[1:]))
            self._errexit = (self._errexit or exits) and "+e" not in words
            self._pipefail = self._pipefail or "pipefail" in words
        elif words[:1] in (["cd"], ["pushd"]) and not way.background:
            targets = (word for word in words[1:] if word == "-" or not word.startswith("-"))
            target = next(targets, "~")
            led = self._before if target == "-" else in_folder(self._folder, target)
            self._before, self._folder = self._folder, led

    def _redirected(self, nodes: Sequence[Node]) -> tuple[list[Redirect], str, list[str]]:
        """Redirections, the text of here-documents, and words the grammar took for targets: in
        `cat > a b` the second is an argument."""
        redirects: list[Redirect] = []
        heredoc, further = "", list[str]()
        for node in nodes:
            parts = [
                part for part in node.children if part.type not in ("file_descriptor", "ERROR")
            ]
            operator = next((part.type for part in parts if not part.is_named), "")
            words = [self._source.word(part) for part in parts if part.is_named]
            further += words[1:]
            if not words or (operator in (">&", "<&") and words[0].isdigit()):
                continue
            body = self._source.body(words[0])
            if body is None:
                redirects.append(Redirect(operator=operator, target=words[0]))
            else:
                heredoc += body
        return redirects, heredoc, further
