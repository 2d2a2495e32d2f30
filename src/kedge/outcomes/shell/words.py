"""Words of a shell command as the program gets them: quotes and escapes taken off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kedge.outcomes.shell.heredocs import MARK, Heredoc

if TYPE_CHECKING:
    from tree_sitter import Node

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
