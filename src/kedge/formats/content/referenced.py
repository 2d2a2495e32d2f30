"""Files that Gemini CLI puts behind the user's words where these name them with an `@`.

Markers stand around the files, in one text or each in a part of its own. A file may hold a marker
too: the last one of a message ends its files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.formats.content.wrappers import said_by_user
from kedge.formats.turns.draft import Piece
from kedge.model import Note

_BEGIN = re.compile(r"^--- Content from referenced files ---[ \t\r]*$", re.MULTILINE)
_END = re.compile(r"^--- End of content ---[ \t\r]*$", re.MULTILINE)

Cut = tuple[int, int]
"""Where the files begin and end in one text; the same number twice where it holds none."""
NOTHING: Cut = (0, 0)


def cuts(texts: Sequence[str]) -> list[Cut]:
    """The files in each text of one message."""
    begin = next(((n, m.start()) for n, t in enumerate(texts) if (m := _BEGIN.search(t))), None)
    if begin is None:
        return [NOTHING] * len(texts)
    ends = [(n, m.end()) for n, t in enumerate(texts) for m in _END.finditer(t)]
    end = max(((n, at) for n, at in ends if (n, at) > begin), default=(len(texts), 0))
    return [
        _widened(text, begin[1] if n == begin[0] else 0, end[1] if n == end[0] else len(text))
        if begin[0] <= n <= end[0]
        else NOTHING
        for n, text in enumerate(texts)
    ]


def said_around(text: str, cut: Cut) -> tuple[Piece, ...]:
    """One user text as pieces, the files in it a note."""
    start, end = cut
    if start == end:
        return said_by_user(text)
    before = said_by_user(text[:start].rstrip()) if start else ()
    after = said_by_user(text[end:].lstrip()) if end < len(text) else ()
    return (*before, Note(kind="injected", text=text[start:end]), *after)


def _widened(text: str, start: int, end: int) -> Cut:
    """The cut, without leaving blanks on either side."""
    return (
        start if text[:start].strip() else 0,
        end if text[end:].strip() else len(text),
    )
