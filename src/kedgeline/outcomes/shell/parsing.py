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

from kedgeline.outcomes.shell.prefixes import (
    MARK,
    Command,
    Heredoc,
    Joint,
    Redirect,
    in_folder,
    program_of,
    without_heredocs,
    without_prefixes,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node

__all__ = ["Command", "Redirect", "commands_in", "script_in"]


# Words of a shell command as the program gets them: quotes and escapes taken off.

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r'\\(["\\$`\n])')
_ANSI_ESCAPE = re.compile(r"\\([abefnrtv\\'\"?])")
_ANSI = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_GAP = re.compile(r"(?P<between>(?:\s|\\\n)+)|(?:\\.|[^\s\\])+|\\", re.DOTALL)
_PRINTED = re.compile(r"\$\(\s*cat\s*<\s*" + MARK.pattern + r"\s*\)")
"""`$(cat <<EOF …)`: the here-document itself."""
_REDIRECTED = re.compile(r"< " + MARK.pattern)

NO_WORDS = {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"}
"""What stands among the words of a command and is none of them."""


class Source:
    """A line without its here-documents, as the parser has it."""

    def __init__(self, data: bytes, heredocs: Sequence[Heredoc]) -> None:
        self._data = data
        self._text = data.decode() if data.isascii() else ""
        """The same, where places in bytes are places in characters."""
        self._heredocs = heredocs

    def body(self, target: str) -> str | None:
        """The body of the here-document a redirection's target stands for."""
        mark = MARK.fullmatch(target)
        return None if mark is None else self._heredoc(mark[1]).body

    def text(self, node: Node) -> str:
        """A node as written, its here-documents by how they open."""
        written = self._between(node.start_byte, node.end_byte)
        if not self._heredocs:
            return written
        return _REDIRECTED.sub(lambda mark: self._heredoc(mark[1]).opening, written)

    def words(self, command: Node) -> list[str]:
        """The words of a command.

        The grammar leaves out a lone `-` and some escapes: what stands between two of its nodes is
        looked at too, and belongs to a word where no space is between them.
        """
        words: list[str] = []
        open_word = False
        position = command.start_byte
        for child in command.children:
            if child.start_byte > position:
                open_word = self._fill(words, open_word, position, child.start_byte)
            position = child.end_byte
            if child.type in NO_WORDS:
                open_word = False
                continue
            _put(words, self.word(child), glued=open_word)
            open_word = True
        return words

    def word(self, node: Node) -> str:
        kind = node.type
        if kind == "raw_string":
            return self._between(node.start_byte + 1, node.end_byte - 1)
        if kind == "ansi_c_string":
            inside = self._between(node.start_byte + 2, node.end_byte - 1)
            return _ANSI_ESCAPE.sub(lambda found: _ANSI.get(found[1], found[1]), inside)
        if kind in _COMPOSED:
            return self._pieces(node)
        if kind == "command_substitution":
            return self._substitution(node)
        if kind in ("expansion", "simple_expansion", "process_substitution"):
            return self.text(node)
        written = self._between(node.start_byte, node.end_byte)
        return _unescaped(written) if "\\" in written else written

    def _pieces(self, node: Node) -> str:
        """A string, or pieces without a space between them."""
        kind = node.type
        string = kind in ("string", "translated_string")
        start = node.start_byte + (0 if not string else 2 if kind != "string" else 1)
        end = node.end_byte - string
        kept: list[str] = []
        for child in node.children:
            if child.type in ('"', "$", "string_content") or child.start_byte < start:
                continue
            kept.append(_plain(self._between(start, child.start_byte), string=string))
            kept.append(self.word(child))
            start = child.end_byte
        kept.append(_plain(self._between(start, end), string=string))
        return "".join(kept)

    def _substitution(self, node: Node) -> str:
        written = self._between(node.start_byte, node.end_byte)
        if self._heredocs and (printed := _PRINTED.fullmatch(written)):
            return self._heredoc(printed[1]).body.rstrip("\n")
        return self.text(node)

    def _fill(self, words: list[str], open_word: bool, start: int, end: int) -> bool:
        """Take what the grammar left out; whether a word is still open behind it."""
        left_out = self._between(start, end)
        if left_out == " ":
            return False
        for found in _GAP.finditer(left_out):
            if found["between"] is None:
                _put(words, _unescaped(found[0]), glued=open_word)
            open_word = found["between"] is None
        return open_word

    def _between(self, start: int, end: int) -> str:
        if end <= start:
            return ""
        return self._text[start:end] or self._data[start:end].decode(errors="replace")

    def _heredoc(self, number: str) -> Heredoc:
        place = int(number)
        return self._heredocs[place] if place < len(self._heredocs) else Heredoc("<<", "")


_COMPOSED = {"string", "translated_string", "concatenation", "command_name"}


def _put(words: list[str], text: str, *, glued: bool) -> None:
    if glued and words:
        words[-1] += text
    else:
        words.append(text)


def _plain(text: str, *, string: bool) -> str:
    if "\\" not in text:
        return text
    if string:
        return _QUOTED_ESCAPE.sub(lambda found: found[1].replace("\n", ""), text)
    return _unescaped(text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: found[1].replace("\n", ""), text)


# Statements of a shell line as pipelines of a list, out of the grammar's nesting.

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


# From the syntax tree of a shell line to its simple commands.

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
            own = way._replace(
                decides=way.decides and not background and (last or stops),
                joint=joint,
                background=way.background or background,
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
            own = way._replace(
                decides=way.decides and (last or self._pipefail),
                joint="|" if place else way.joint,
                piped=way.piped or not last,
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
            exits = "errexit" in words or any(map(_ERREXIT.fullmatch, words[1:]))
            self._errexit = self._errexit or exits
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


LONGEST_LINE = 16_384
"""Bytes of a line that are parsed, here-documents not counted; the rest is left off. Lines of
agents seldom have 2,000, and the parser's time grows with the square for some kinds of garbage."""
REMEMBERED = 512
"""Lines kept parsed: several stages ask about the same one, one after the other."""
LONGEST_REMEMBERED = 4_096
"""Longer lines are parsed again when asked for, so that what is remembered stays within 2 MB."""

SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "powershell", "pwsh"}
_ASCII = bytes(code if code < 0x80 else ord("x") for code in range(0x100))
"""To the shell all other characters are letters. The parser must not see them: its scanner looks
them up in a table of 256 entries and can crash the process (tree-sitter-bash issue 337)."""
_TAKES_SCRIPT = re.compile(r"-[a-z]*c|-[Cc]ommand")


def commands_in(line: str) -> tuple[Command, ...]:
    """Every simple command of a line, in order. Never raises, whatever the text."""
    return (_parsed if len(line) <= LONGEST_REMEMBERED else _parsed.__wrapped__)(line)


def script_in(words: Sequence[str]) -> str:
    """The script that a command gives to a shell: `bash -lc SCRIPT`, `eval WORDS`; else empty."""
    if not words:
        return ""
    program = program_of(words[0])
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
    walk = Walk(Source(data, stripped.heredocs))
    tree = Parser(_language()).parse(data.translate(_ASCII))
    walk.sequence(tree.root_node, Way(decides=whole))
    if walk.full:  # those that were left off may have decided
        return [replace(command, decides=False) for command in walk.found]
    return walk.found


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


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
