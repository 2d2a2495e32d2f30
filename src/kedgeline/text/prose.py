"""Prose made short: on one line, up to its first sentence, cut at a word; and the names in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from kedgeline.model import WRAPPERS

LOOKED_AT = 4_000
"""Characters looked at for a first sentence: a page, whatever is pasted behind it."""
PIECE = 1 << 16
"""Characters that are folded at a time: a list of all words of a text takes ten times its size."""

_BLANK = re.compile(r"\s")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()}
_UNSEEN = (
    *(0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC)),
    *range(0xE0000, 0xE0080),
)
"""Characters that nobody sees, or that turn others around: a reader would read another text.
Joiners stay, as emoji and scripts need them."""
_LEFT_OUT = {**_CONTROLS, **dict.fromkeys(_UNSEEN)}
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:[-*+>|#`]|\d{1,3}[.)] ))")
_END = re.compile(r"[.!?…。！？](?:(?<=[.!?…])(?<!\.\.)[\"'”’)\]*_`]{0,3} |(?<=[。！？]))")
"""The end of a sentence with its closing mark first: all other characters are passed over."""
NO_END = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Ms|Dr|St)\.$|^\W{0,4}\d{1,3}\.$",
    re.IGNORECASE,
)
"""A point that ends no sentence: of an abbreviation, or behind the number of a list."""
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_LETTERS = re.compile(r"[^\W_]+")
_NAME = re.compile(
    r"`([^`\n]{2,120})`"
    r"|(--[a-z][\w-]+|\b(?![a-z]++(?![\w./-]))[A-Za-z_]\w*(?:[._/-]\w+)*)"
)
"""Words in small letters alone, which most are, are passed over."""
_SHAPED = re.compile(r"[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z][A-Z_\d]{2,}")
_HEADING = re.compile(r"^ {0,3}(?:#{1,6} .*|\*\*[^*\n]{1,200}\*\*:? *)$", re.MULTILINE)
_NO_PROSE = ("```", "|", "---")
"""How code, a table or a rule begins: as with a heading, what stands behind it says more."""


def one_line(text: str) -> str:
    """Text on one line: blanks folded, control characters, colours of a terminal and what nobody
    sees left out."""
    if len(text) <= PIECE:
        return _folded(text)
    return " ".join(filter(None, map(_folded, _pieces(text))))


def _pieces(text: str) -> Iterator[str]:
    """A long text cut at blanks."""
    at = 0
    while at < len(text):
        blank = _BLANK.search(text, at + PIECE)
        end = blank.end() if blank else len(text)
        yield text[at:end]
        at = end


def _folded(text: str) -> str:
    if text.isprintable() and not (text[:1] == " " or text[-1:] == " " or "  " in text):
        return text  # of all blanks only this one is printable
    line = " ".join(text.split())
    if line.isprintable():  # most are, and taking characters out takes ten times as long
        return line
    return " ".join(_COLOUR.sub("", text).translate(_LEFT_OUT).split())


def visible(text: str) -> str:
    """Text with its lines as they are, each ended by a newline; what `one_line` leaves out is left
    out."""
    text = "\n".join(text.splitlines())
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return _COLOUR.sub("", text).translate(_LEFT_OUT)


def letters(text: str) -> str:
    """Letters and digits alone: how a quote is put together does not matter."""
    if text.isascii():  # a table is twenty times as fast
        return text.encode().translate(None, _SIGNS).decode()
    return "".join(_LETTERS.findall(text))


def cut(text: str, most: int) -> str:
    """Text of so many characters at the most, cut at a word where one ends in the second half."""
    if len(text) <= most:
        return text
    word = text.rfind(" ", most // 2, most)
    return text[: most - 1 if word < 0 else word].rstrip(" ,;:") + "…"


def names_in(text: str) -> dict[str, None]:
    """What stands in back-ticks or looks like a path, an identifier or a flag, in its order."""
    return {
        quoted or word: None
        for quoted, word in _NAME.findall(text)
        if quoted or (not (word.isalpha() and word.islower()) and _is_name(word))
    }


def _is_name(word: str) -> bool:
    """Whether a word has a sign within it that prose has not, or capitals."""
    parted = "." in word or "/" in word or "-" in word or "_" in word[1:-1]
    return parted or _SHAPED.fullmatch(word) is not None


def sentences(text: str) -> Iterator[str]:
    """The sentences a text begins with, each on one line. A point inside a word, as in a file's
    name, ends none; a paragraph and an item of a list do."""
    text = text.lstrip()[:LOOKED_AT]
    if "#" in text or "**" in text:
        text = _HEADING.sub("\n", text)
    for paragraph in _PARAGRAPH.split(text):
        line, start = one_line(paragraph), 0
        if line.startswith(_NO_PROSE):
            continue
        for end in _END.finditer(line):
            sentence = line[start : end.end()].strip()
            if not NO_END.search(sentence):
                yield sentence
                start = end.end()
        if rest := line[start:].strip():
            yield rest


_ANNOUNCES = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|now|so|right|alright|first|next|then|also|and"
    r"|hmm|wait|actually)[,.!:;\s—-]+)*(?:let me(?! know)|let's|i'll(?! wait| be)|i will(?! be)"
    r"|(?:i |we )?need to|i should|i'm going to|i am going to|time to|now i)\b",
    re.IGNORECASE,
)


def announces(sentence: str) -> bool:
    """Whether a sentence says what its speaker does next, and so nothing yet."""
    return _ANNOUNCES.match(sentence) is not None


def first_sentence(text: str) -> str:
    """Without its closing point; of a text without prose, its beginning."""
    found = next(sentences(text), "") or one_line(text.lstrip()[:LOOKED_AT]).lstrip("#`|-* ")
    return found.rstrip(" .:")


# Text of others made unable to pass for ours: tools, pages and models may write anything.

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
OURS = ("kedgeline",)
"""How tags of ours begin, blanks and dashes left out."""
CLIENTS = (
    "system-reminder|system-prompt|system-message|tool-result|tool-use|tool-call|function-result",
    "function-call|user-instruction|user-message|user-prompt|user-input|user-query|antml",
    *(tag for tag in WRAPPERS if "-" in tag or "_" in tag),
)
"""How tags begin that clients and providers put around what they say themselves; a tag of a single
word may be anybody's."""
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
_TURN = re.compile(r"\[(t\d[^\[\]\n]{0,200})\]|\[(?=t\d)")
"""The mark of a turn; what was cut may have lost its closing bracket."""
_FOREIGN_HEADING = re.compile(r"(?=#{1,6}\s)")
_SUSPECT = re.compile(rf"[{OPENING}]|\[t\d|^\\?#")
"""One of these stands in whatever must be spelt otherwise; most texts have none."""
_SPELT = re.compile(rf"(?<=[{OPENING}]){MARK}|^\\(?=#)")
_CLIENTS = tuple(re.sub("[-_]", "", "|".join(CLIENTS)).casefold().split("|"))


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
    return f"\\{line}" if _FOREIGN_HEADING.match(line) else line


def without_tags(text: str) -> str:
    """Without tags of ours, of clients and of roles; what they hold stands there still."""
    if not any(bracket in text for bracket in OPENING):
        return text
    return _untagged(_HIDING.sub(rf"\g<0>{MARK}", text), _speaks)


def unmarked(text: str) -> str:
    """Without marks of turns: only we say where a line comes from."""
    return _TURN.sub(lambda mark: f"({mark[1]})" if mark[1] else "(", text)


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
    return _foreign_folded(tag["name"]).startswith(OURS)


def _speaks(tag: re.Match[str]) -> bool:
    name = _foreign_folded(tag["name"])
    if _is_ours(tag) or name.startswith(_CLIENTS):
        return True
    plain = unicodedata.normalize("NFKC", tag["name"])
    return name in ROLES and tag["bare"] is not None and (plain.islower() or plain.isupper())


def _foreign_folded(name: str) -> str:
    """Only its letters, those that look alike as one."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return "".join(letter for letter in plain if "a" <= letter <= "z")


# Whether words stand in a text: to the letter, and not as a part of other words.

_MATCHING_TAG = re.compile(r"(< ?/? ?kedgeline)[-_](?=summary)", re.IGNORECASE)
"""In a summary the tag around it is spelt in another way."""


def plain(text: str) -> str:
    """Text in the form in which texts are compared: on one line."""
    line = as_said(one_line(text))
    return _MATCHING_TAG.sub(r"\1-", line) if "<" in line else line


def holds(text: str, part: str) -> bool:
    """Whether a part stands in a text. `src/a.py` does not stand in `lib/src/a.pyi`, nor 12 in
    112: what is nearly right is wrong."""
    return holds_plain(plain(text), plain(part))


def holds_plain(whole: str, wanted: str) -> bool:
    """The same for texts that are plain already."""
    if not wanted:
        return False
    start = whole.find(wanted)
    while start >= 0:
        if _apart(whole, start, start + len(wanted)):
            return True
        start = whole.find(wanted, start + 1)
    return False


def _apart(whole: str, start: int, end: int) -> bool:
    """Whether what stands between two places is no part of a longer word, path or number."""
    first, last = whole[start], whole[end - 1]
    before, after = whole[max(0, start - 2) : start], whole[end : end + 2]
    if _of_word(first) and before and (_of_word(before[-1]) or _joins(before[-1], before[:-1])):
        return False
    return not (_of_word(last) and after and (_of_word(after[0]) or _leads_on(after, last)))


def _joins(sign: str, before: str) -> bool:
    """Whether a sign in front belongs to the word behind it: -12, .env, --force, a/b, 1,200."""
    return sign in "-./\\@$" or (sign == "," and before.isdigit())


def _leads_on(after: str, edge: str) -> bool:
    """Whether a word goes on behind a sign: a.py, well-known, a/b, 1,200; the end of a sentence
    ends it."""
    sign, beyond = after[0], after[1:]
    if sign in "/\\":
        return True
    if sign == ",":
        return edge.isdigit() and beyond.isdigit()
    return sign in ".-@" and bool(beyond) and _of_word(beyond)


def _of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
