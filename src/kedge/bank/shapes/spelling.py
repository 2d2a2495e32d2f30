"""What agents want to write down, spelt so that it cannot break the file it goes into."""

from __future__ import annotations

import re
import unicodedata

import msgspec

from kedge.bank.shapes.date_headings import names_a_date
from kedge.bank.shapes.fields import without_fields
from kedge.bank.shapes.footers import RULE, before_comments
from kedge.bank.shapes.markdown import SECTION_LEVELS, Hidden, Mark, Trouble, walk
from kedge.bank.shapes.times import aware
from kedge.bank.values import NewEntry
from kedge.foreign import foreign, unmarked, without_tags
from kedge.sentences import cut, first_sentence

FIELD_NAME_LENGTH = 40
"""Characters of the name of a field; those in use have up to twelve."""
TITLE_LENGTH = 120
"""Characters of a title that is made from the text: a line."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
_JOINERS = "\u200c\u200d"
"""Nobody sees them, and emoji and scripts need them."""
_UNDERLINE = re.compile(r"(?<=\S\n)(?=(?:={3,}|-{4,})[ \t]*$)", re.MULTILINE)
"""Makes a heading of the line above, and where that is one, of what it is spelt as."""
_NO_NAME = re.compile(r"[*:|\\]+")


def clean(new: NewEntry) -> NewEntry:
    """With every value on one line, and nothing in it that could pass for something of ours. What
    is read back of an entry is this."""
    return msgspec.structs.replace(
        new,
        agent=as_value(new.agent),
        at=aware(new.at),
        text=multiline(new.text),
        title=as_value(new.title),
        id=as_value(new.id),
        status=as_value(new.status),
        sources=tuple(filter(None, (as_value(source) for source in new.sources))),
        summary=as_value(new.summary),
        fields={
            name: multiline(value) for key, value in new.fields.items() if (name := _name(key))
        },
    )


def as_value(text: str) -> str:
    """Text of others for one line of ours."""
    return foreign(_plain(text))


def titled(new: NewEntry) -> NewEntry:
    """With a title, for shapes whose entries need one."""
    if new.title:
        return new
    said = cut(first_sentence(new.text), TITLE_LENGTH) if new.text else new.summary
    return msgspec.structs.replace(new, title=foreign(said))


def multiline(text: str) -> str:
    """Text of several lines without what nobody sees, tags of ours and marks of turns."""
    text = _LINE_ENDS.sub("\n", text)
    lines = [_plain(line).rstrip() for line in text.split("\n")]
    return unmarked(without_tags("\n".join(lines))).strip("\n")


def as_body(text: str) -> str:
    """Text for the body of an entry: nothing in it begins or ends one, and no line is a field. A
    code block that is left open gets closed."""
    parts: list[str] = []
    place, closing = 0, ""

    def shown(end: int) -> None:
        said = RULE.sub(r"\\\g<0>", without_fields(text[place:end]))
        parts.append(_UNDERLINE.sub("\\\\", said))

    found_all = list(walk(text))
    comments = before_comments(text, [x for x in found_all if isinstance(x, Hidden)], len(text))
    for found in found_all:
        if isinstance(found, Mark) and found.level > SECTION_LEVELS and not names_a_date(found):
            continue
        if isinstance(found, Hidden):
            shown(found.start)
            parts.append("\\" if found.start >= comments else "")
            parts.append(text[found.start : found.end])
            place = found.end
        elif isinstance(found, Trouble) and found.closing:
            closing = f"\n{found.closing}"
            shown(found.start)
            parts.append(text[found.start :])
            place = len(text)
        else:
            sign = found.sign if isinstance(found, Mark) else found.start
            shown(sign)
            parts.append("\\")
            place = sign
    shown(len(text))
    return "".join(parts) + closing


def _name(text: str) -> str:
    return cut(_NO_NAME.sub(" ", as_value(text)).strip(), FIELD_NAME_LENGTH)


def _plain(text: str) -> str:
    """Without control characters, halves of characters and what turns others around."""
    if text.isprintable():
        return text
    return "".join(filter(_stays, _COLOUR.sub("", text)))


def _stays(character: str) -> bool:
    if character in _JOINERS or character.isspace():
        return character not in "\x1f"
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs")
