"""Tags of chunks: what a document says of itself, its folders, the main words of its headings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from kedge.bank.catalog.files import words
from kedge.bank.catalog.safe_yaml import load
from kedge.bank.catalog.values import Chunk
from kedge.errors import BankMalformed
from kedge.sentences import one_line

FROM_DOCUMENT = 10
"""Tags that a document may give itself."""
FROM_HEADINGS = 4
"""Words of its headings that become tags of a chunk."""
FROM_FOLDERS = 3
"""Folders that become tags, the innermost."""
MOST = 256
"""Tags of a catalog, those that documents give themselves apart: a list that can still be read."""
TAG = 40
"""Characters of a tag."""
HEAD_MOST = 1 << 14
"""Characters of a document's front matter."""
REST = "other"
"""The tag of a chunk that has no other."""
STOP = frozenset(
    """about above after again also and any are been before being below between both but can
    does each for from further had has have how into its more most not now off once only other our
    out over own same should some such than that the their them then there these they this those
    through too under until use used using very was were what when where which while who why will
    with you your new all get set via per yes""".split()  # noqa: SIM905
)
"""Words that lead nowhere."""

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W\d_][\w-]{2,39}")


def own_tags(name: str, text: str) -> tuple[str, ...]:
    """What its front matter says. Raises BankMalformed where that is broken."""
    front = _FRONT.match(text[:HEAD_MOST])
    if not front:
        return ()
    try:
        node = load(name, front[1])
    except BankMalformed as error:  # lines are counted from the line of dashes above
        raise BankMalformed(name, error.line + 1, error.why) from error
    if not isinstance(node.value, dict):
        raise BankMalformed(name, 2, "the front matter is no map of names to values")
    said = [word for key in ("tags", "keywords", "category") for word in words(node.value.get(key))]
    return tuple(_tags(said))[:FROM_DOCUMENT]


def folder_tags(key: str) -> tuple[str, ...]:
    return tuple(_tags(PurePosixPath(key).parts[:-1]))[-FROM_FOLDERS:]


def heading_tags(chunk: Chunk, all_chunks: Counter[str]) -> tuple[str, ...]:
    """The words of its headings that its document has most often in headings."""
    here = list(dict.fromkeys(heading_words([chunk])))
    order = sorted(here, key=lambda word: (-all_chunks[word], here.index(word)))
    return tuple(order[:FROM_HEADINGS])


def heading_words(chunks: Iterable[Chunk]) -> Iterator[str]:
    for chunk in chunks:
        for path in chunk.titles:
            if path:
                plain = unicodedata.normalize("NFKC", path[-1]).casefold()
                yield from (word for word in _WORD.findall(plain) if word not in STOP)


def _tags(said: Iterable[str]) -> Iterator[str]:
    found = (
        "-".join(one_line(unicodedata.normalize("NFKC", word)).casefold().split())[:TAG].strip("-.")
        for word in said
    )
    return iter(dict.fromkeys(tag for tag in found if any(c.isalnum() for c in tag)))


def chosen(
    given: Mapping[str, Sequence[str]], derived: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The tags of each chunk: all that were given; of the others those that most chunks have."""
    counts = Counter(tag for tags in derived.values() for tag in dict.fromkeys(tags))
    kept = set(sorted(counts, key=lambda tag: (-counts[tag], tag))[:MOST])
    return {
        path: tuple(
            dict.fromkeys((*_tags(given[path]), *(tag for tag in derived[path] if tag in kept)))
        )
        or (REST,)
        for path in given
    }
