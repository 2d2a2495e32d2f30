"""Text of others made unable to pass for ours: tools, pages and models may write anything."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from kedge.sentences import one_line

MARK = "_"
"""Put behind the bracket of a tag, it is none any more; in the name of ours it also takes the place
of the dash."""
OPENING = "<＜﹤‹〈⟨❮"
CLOSING = ">＞﹥›〉⟩❯"
"""Brackets of tags, and characters that look like them."""
REMEMBERED = 4_096
"""Texts kept as they were spelt: a rendering is tried at many lengths, with the same lines."""
NAME_LENGTH = 64
"""Characters of a tag's name that are looked at; those of clients are shorter."""
OURS = ("kedge",)
"""How tags of ours begin, blanks and dashes left out."""
CLIENTS = (
    "system-reminder|system-prompt|system-message|tool-result|tool-use|tool-call|function-result",
    "function-call|user-instruction|user-message|user-prompt|user-input|command-name|command-args",
    "command-message|local-command|bash-input|bash-std|environment-context|environment-details",
    "session-context|state-snapshot|task-notification|antml",
)
"""How tags begin that clients and providers put around what they say themselves."""
ROLES = frozenset({"user", "human", "assistant", "system", "developer", "instructions"})
"""Tags that name who speaks: only without attributes and in one case, as code has others."""

_ALIKE = str.maketrans("асеіјкорѕтухһԁɡνυ", "aceijkopstyxhdgvu")
"""Letters of other alphabets that look like Latin ones."""
_TAG = re.compile(
    rf"(?P<open>[{OPENING}])(?!{MARK})(?P<lead>[^\w{OPENING}{CLOSING}]{{0,12}})"
    rf"(?P<name>[^\s/{OPENING}{CLOSING}]{{1,{NAME_LENGTH}}})"
    rf"(?P<bare>\s{{0,4}}[{CLOSING}])?"
)
_HIDING = re.compile(rf"[{OPENING}](?!{MARK})(?=[!！][-－]{{2}}|[|｜￨]\w)")
"""A comment, which a reader of Markdown does not see, and the marks of a chat template."""
_TURN = re.compile(r"\[(t\d[^\[\]\n]{0,200})\]")
_HEADING = re.compile(r"(?=#{1,6}\s)")
_SUSPECT = re.compile(rf"[{OPENING}]|\[t\d|^\\?#")
"""One of these stands in whatever must be spelt otherwise; most texts have none."""
_SPELT = re.compile(rf"(?<=[{OPENING}]){MARK}|^\\(?=#)")
_CLIENTS = tuple("|".join(CLIENTS).replace("-", "").split("|"))


def neutral(text: str) -> str:
    """The user's words: as they are, but unable to open or close a tag of ours."""
    if not any(bracket in text for bracket in OPENING):
        return text
    return _untagged(text, _is_ours)


@lru_cache(maxsize=REMEMBERED)
def foreign(text: str) -> str:
    """What a tool, a page or the agent said, for a line of ours: on this line, with nothing hidden
    in it, no tag of ours or of a client, no heading and no mark of a turn."""
    line = one_line(text)
    if not _SUSPECT.search(line):
        return line
    line = unmarked(without_tags(line))
    return f"\\{line}" if _HEADING.match(line) else line


def without_tags(text: str) -> str:
    """Without tags of ours, of clients and of roles; what they hold stands there still."""
    if not any(bracket in text for bracket in OPENING):
        return text
    return _untagged(_HIDING.sub(rf"\g<0>{MARK}", text), _speaks)


def unmarked(text: str) -> str:
    """Without marks of turns: only we say where a line comes from."""
    return _TURN.sub(r"(\1)", text)


def as_said(text: str) -> str:
    """The one form for texts that differ in nothing but what is spelt otherwise here."""
    return unmarked(_SPELT.sub("", text)) if _SUSPECT.search(text) else text


def _untagged(text: str, is_tag: Callable[[re.Match[str]], bool]) -> str:
    def spelt(tag: re.Match[str]) -> str:
        whole = tag[0]
        if not is_tag(tag):
            return whole
        name = whole[1:].replace("-", MARK) if _is_ours(tag) else whole[1:]
        return f"{whole[0]}{MARK}{name}"

    return _TAG.sub(spelt, text)


def _is_ours(tag: re.Match[str]) -> bool:
    return _folded(tag["name"]).startswith(OURS)


def _speaks(tag: re.Match[str]) -> bool:
    name = _folded(tag["name"])
    if _is_ours(tag) or name.startswith(_CLIENTS):
        return True
    plain = unicodedata.normalize("NFKC", tag["name"])
    return name in ROLES and tag["bare"] is not None and (plain.islower() or plain.isupper())


def _folded(name: str) -> str:
    """Only its letters, those that look alike as one."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return "".join(letter for letter in plain if "a" <= letter <= "z")
