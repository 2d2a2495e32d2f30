"""Who wrote a line of a chat history: the user, the console, or the assistant.

There is no delimiter around the assistant. But aider ends every line it writes for the user or the
console with two spaces, and a Markdown heading or quotation of the assistant's seldom does. Where a
session keeps these ends, they decide; an editor may have stripped them, and web pages are edited by
hand.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["start", "user", "console", "text", "page", "skip"]

USER, CONSOLE = "####", ">"
START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
PAGE = '<div class="chat-transcript"'
"""How a chat begins inside a web page; what stands outside such sections is not part of it."""
EDIT_BEGIN = re.compile(r"<{5,9} (?:SEARCH|ORIGINAL)\s*$")
EDIT_MIDDLE = re.compile(r"={5,9}\s*$")
EDIT_END = re.compile(r">{5,9} (?:REPLACE|UPDATED)\s*$")
_FENCE = re.compile(r"\s*(?:(`{3,})[^`]*|<(source|code|pre|codeblock|sourcecode)>\w*\s*)$")

_LINE_END = "  "
_MESSAGE_END = re.compile(r"\S  $")
_AFTER_ANSWER = re.compile(
    r"> (?:\^C|Tokens: |Applied edit to |Unexpected error|(?:The LLM|GPT) did not conform)"
)
"""Console lines that show that an answer is over, although a fence or an edit in it is still open:
the user had interrupted it."""
_MODE_LINE = re.compile(r"-\*- .* -\*-\s*$")


def fence_opened(text: str) -> str:
    """What closes the fence that a line opens; empty when it opens none.

    Where the files in the chat hold backticks, aider has the assistant use tags.
    """
    found = _FENCE.match(text)
    if found is None:
        return ""
    return found[1] or f"</{found[2]}>"


def fence_closed(text: str, fence: str) -> bool:
    """Whether a line closes the fence: with the same tag, or with as many backticks or more."""
    text = text.strip()
    return text == fence or (text.startswith(fence) and not text.strip("`"))


class Scanner:
    """Looks at the lines one after the other."""

    def __init__(self) -> None:
        self._fence = ""
        """What closes the fence that is open; empty outside of one."""
        self._editing = False
        self._in_message = False
        """Inside a console message of several lines, of which only the first is marked."""
        self._strict: bool | None = None
        """Whether this session keeps its line ends; unknown until its first marked line."""
        self._page: Literal["", "outside", "inside"] = ""
        self._before: Kind = "skip"
        """Who wrote the last line that was not blank."""
        self._blank_before = True
        self._begun = False

    def kind(self, text: str) -> Kind:
        found = self._kind(text)
        blank = not text.strip()
        if not blank:
            self._begun = True
            self._before = found
        self._blank_before = blank
        return found

    def _kind(self, text: str) -> Kind:
        if START.match(text):
            self._close()
            self._strict = None
            return "start"
        if outside := self._outside(text):
            return outside
        if self._in_message:
            return self._message(text)
        if text.startswith(USER + " ") or text == USER:
            return self._user(text)
        if text.startswith(CONSOLE + " ") or text == CONSOLE:
            return self._console(text)
        return self._text(text)

    def _outside(self, text: str) -> Kind | None:
        """Lines of a web page around the chats, and an editor's mode line."""
        if not self._begun and text.strip() == "---":
            self._page = "outside"
        if text.startswith(PAGE) and (self._page or not self._enclosed):
            self._close()
            self._page, self._strict = "inside", False
            return "page"
        if self._page == "inside" and text.strip() == "</div>" and not self._enclosed:
            self._page = "outside"
            return "skip"
        if self._page == "outside" or (not self._begun and _MODE_LINE.match(text)):
            return "skip"
        return None

    def _user(self, text: str) -> Kind:
        marked = text.endswith(_LINE_END)
        self._decide(marked)
        continues = self._before == "user" and not self._blank_before
        if self._enclosed:
            accepted = marked and (self._blank_before or continues)
        else:
            accepted = marked or continues or not self._strict
        if not accepted:
            return self._text(text)
        self._close()
        return "user"

    def _console(self, text: str) -> Kind:
        marked = text.endswith(_LINE_END)
        self._decide(marked)
        if self._enclosed:
            if not (marked and _AFTER_ANSWER.match(text)):
                return self._text(text)
        elif self._strict and not marked:
            if self._before not in ("user", "console", "start"):
                return self._text(text)
            self._in_message = True
            return "console"
        self._close()
        return "console"

    def _message(self, text: str) -> Kind:
        if text.startswith(USER + " ") and text.endswith(_LINE_END) and self._blank_before:
            return self._user(text)
        if _MESSAGE_END.search(text):
            self._in_message = False
        return "console"

    def _text(self, text: str) -> Kind:
        if self._editing:
            self._editing = not EDIT_END.match(text)
        elif EDIT_BEGIN.match(text):
            self._editing = True
        elif not self._fence:
            self._fence = fence_opened(text)
        elif fence_closed(text, self._fence):
            self._fence = ""
        return "text"

    def _decide(self, marked: bool) -> None:
        if self._strict is None and not self._enclosed:
            self._strict = marked

    @property
    def _enclosed(self) -> bool:
        return bool(self._fence) or self._editing

    def _close(self) -> None:
        self._fence, self._editing, self._in_message = "", False, False
