"""Here-documents taken out of a shell line before it is parsed.

The grammar loses commands behind two here-documents of one line, and behind one with a pipe; a
plain `< name` in their place it reads well. Bodies may also be long, and are text in any case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_LINE = 1 << 20
"""Characters of a line looked at for here-documents; the rest of a longer one is left off."""

MARK = re.compile(r"kedge-here-document-(\d{1,6})-")
"""What stands for a here-document; a name no file has."""

_SIGN = re.compile(
    r"""\\. | ['"()\n] | \$\(\( | \$\( | \$' | <<< | <<-?[ \t]*(?=[\w'"\\.]) | (?<![^\s;&|(])\#""",
    re.VERBOSE | re.DOTALL,
)
"""All that can open or close something outside double quotes."""
_QUOTED_SIGN = re.compile(r"""\\.|"|\$\(\(|\$\(""", re.DOTALL)
"""The same inside them."""
_DELIMITER = re.compile(r"""(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|<>()'"\\])+""")
_QUOTES = str.maketrans("", "", "'\"\\")


class Heredoc(NamedTuple):
    opening: str
    """As written: `<<'EOF'`."""
    body: str


class Stripped(NamedTuple):
    line: str
    """With a mark in the place of every here-document."""
    heredocs: tuple[Heredoc, ...]
    whole: bool
    """False when the end was left off."""


def without_heredocs(line: str) -> Stripped:
    whole = len(line) <= LONGEST_LINE
    line = line[:LONGEST_LINE]
    if "<<" not in line:
        return Stripped(line, (), whole)
    scan = _Scan(line)
    scan.run()
    return Stripped("".join(scan.kept), tuple(scan.heredocs), whole)


class _Scan:
    """One pass over a line. What is open stands on a stack: `"` a string, `(` a parenthesis or a
    command substitution, `#` an arithmetic expression, in which `<<` shifts."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.position = 0
        self.copied = 0
        self.kept: list[str] = []
        self.open: list[str] = []
        self.awaited: list[tuple[str, str]] = []
        """Opening and delimiter of the here-documents whose bodies begin on the next line."""
        self.heredocs: list[Heredoc] = []

    def run(self) -> None:
        while self.position < len(self.line):
            inside = bool(self.open) and self.open[-1] == '"'
            found = (_QUOTED_SIGN if inside else _SIGN).search(self.line, self.position)
            if found is None:
                break
            self.position = found.end()
            self._take(found[0], found.start())
        self._keep(len(self.line))

    def _take(self, sign: str, start: int) -> None:
        if sign in _OPENS:
            self.open.append(_OPENS[sign])
        elif sign == '"':
            self._close_or_open('"')
        elif sign == ")":
            self._close()
        elif sign == "'":
            self._skip_to("'")
        elif sign == "$'":
            self._skip_escaped()
        elif sign == "#":
            self._skip_to("\n", keep=True)
        elif sign == "\n" and self.awaited:
            self._bodies()
        elif sign.startswith("<<") and sign != "<<<" and "#" not in self.open:
            self._await(start)

    def _close_or_open(self, sign: str) -> None:
        if self.open and self.open[-1] == sign:
            self.open.pop()
        else:
            self.open.append(sign)

    def _close(self) -> None:
        if not self.open or self.open[-1] == '"':
            return
        if self.open.pop() == "#" and self.line.startswith(")", self.position):
            self.position += 1

    def _skip_to(self, sign: str, *, keep: bool = False) -> None:
        end = self.line.find(sign, self.position)
        after = end if keep else end + 1
        self.position = after if end >= 0 else len(self.line)

    def _skip_escaped(self) -> None:
        end = _ESCAPED_END.match(self.line, self.position)
        self.position = end.end() if end else len(self.line)

    def _await(self, start: int) -> None:
        found = _DELIMITER.match(self.line, self.position)
        if found is None:
            return
        self._keep(start)
        self.copied = self.position = found.end()
        number = len(self.heredocs) + len(self.awaited)
        self.kept.append(f"< kedge-here-document-{number}-")
        self.awaited.append((self.line[start : found.end()], found[0].translate(_QUOTES)))

    def _bodies(self) -> None:
        """The bodies that begin here, one behind the other."""
        self._keep(self.position)
        for place, (opening, delimiter) in enumerate(self.awaited):
            if place and self.line.startswith("\n", self.position):
                self.position += 1
            tabs = r"\t*" if opening.startswith("<<-") else ""
            last = re.compile(rf"^{tabs}{re.escape(delimiter)}(?:$|(?=\)))", re.MULTILINE)
            end = last.search(self.line, self.position)
            stop = end.start() if end else len(self.line)
            body = self.line[self.position : stop]
            if tabs:
                body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
            self.heredocs.append(Heredoc(opening, body))
            self.position = end.end() if end else stop
        self.awaited.clear()
        self.copied = self.position

    def _keep(self, end: int) -> None:
        self.kept.append(self.line[self.copied : end])
        self.copied = end


_OPENS = {"(": "(", "$(": "(", "$((": "#"}
_ESCAPED_END = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
