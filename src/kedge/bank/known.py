"""What the entries of a bank file say already, in whatever spelling."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from kedge.bank.values import ARCHIVE, Document, Entry
from kedge.sentences import sentences

OTHER_FIELDS = frozenset(
    (
        *("context", "rationale", "alternatives", "consequences", "sources", "source", "files"),
        *("status", "agent", "date", "id"),
    )
)
"""Names of fields that do not tell what was decided or reached: what was not taken stands there."""
TELLING = frozenset(("decision", "title", "text"))
"""Those that do."""

_FIELD = re.compile(r"^\W*([A-Za-z][\w ]{0,39}?)\W{0,4}:(?:\*\*)?(?:\s|$)(.*)")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")
_KEPT = ("L", "N", "M")
"""Categories of characters that words are made of."""


def key_of(text: str) -> str:
    """The same for texts that differ in nothing but blanks, case, signs and what nobody sees."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    if lowered.isascii():
        return "".join(filter(str.isalnum, lowered)) or lowered.strip()
    kept = (char for char in lowered if unicodedata.category(char)[0] in _KEPT)
    return "".join(kept) or lowered.strip()


class Known:
    """The entries of a file and of its archive, newest first."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._entries = [entry for document in documents for entry in _of(document)]
        self._said = [set(filter(None, _units(entry))) for entry in self._entries]
        self._texts = [key_of(_said(entry.text)) for entry in self._entries]
        self._added: set[str] = set()
        self._taken: set[int] = set()

    def take(self, texts: Iterable[str]) -> None:
        """Entries that say one of these are what they are: nobody has edited them."""
        keys = {key_of(text) for text in texts}
        self._taken.update(place for place, said in enumerate(self._said) if keys & said)

    def newest(self, texts: Sequence[str]) -> Entry | None:
        """The newest entry that says one of them."""
        keys = {key_of(text) for text in texts}
        found = (n for n, said in enumerate(self._said) if keys & said)
        return next((self._entries[place] for place in found), None)

    def has_latest(self, texts: Sequence[str]) -> bool:
        """Whether, of all choices of one matter, the last one is what the newest entry says."""
        keys = {key_of(text) for text in texts}
        newest = next((said for said in self._said if keys & said), set())
        return key_of(texts[-1]) in newest

    def edited(self, source: str) -> Entry | None:
        """An entry that comes from a source and says something else than we know of it: somebody
        has edited it since. It is found once."""
        for place, entry in enumerate(self._entries):
            if place not in self._taken and source in entry.sources:
                self._taken.add(place)
                return entry
        return None

    def has_source(self, source: str) -> bool:
        return any(source in entry.sources for entry in self._entries)

    def holds(self, text: str) -> bool:
        """Whether an entry has all of a long text."""
        key = key_of(text)
        return any(key in held for held in self._texts)

    def done(self, text: str) -> bool:
        """Whether an entry says that this was reached."""
        key = key_of(text)
        reached = zip(self._entries, self._said, strict=True)
        return key in self._added or any(key in said for entry, said in reached if entry.done)

    def mentions(self, name: str) -> bool:
        """Whether an entry has this name in it; a hash in any length."""
        if _HASH.fullmatch(name):
            hashes = (found for entry in self._entries for found in _HASH.findall(entry.text))
            return any(one.startswith(name) or name.startswith(one) for one in hashes)
        whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")
        return any(whole.search(entry.text) for entry in self._entries)

    def add(self, text: str) -> None:
        self._added.add(key_of(text))


def _of(document: Document) -> list[Entry]:
    """Newest first. An archive that is not read as entries is one, of what was reached."""
    entries = document.by_age()
    if entries or not document.name.rpartition(".")[0].endswith(ARCHIVE):
        return entries
    return [Entry(text=document.text, line=1, done=True)]


def _said(text: str) -> str:
    """A text without its spelling: JSON writes a new line otherwise."""
    values = _strings(text) if text.lstrip().startswith("{") else {}
    return "\n".join(values.values()) or text


def _units(entry: Entry) -> Iterator[str]:
    """Everything an entry says as a whole: its title, its lines, its sentences, the fields that
    tell what it is about. A part of a sentence may say the contrary."""
    yield key_of(entry.title)
    if entry.title.endswith(")"):  # what it is called elsewhere: (commit 0123abc)
        yield key_of(entry.title.rpartition(" (")[0])
    yield from map(key_of, _lines(entry.text))


def _lines(text: str) -> Iterator[str]:
    if text.lstrip().startswith("{"):
        yield from _values(text)
        return
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field is None:
            yield line
            yield from sentences(line)
            yield from (cell for cell in line.split("|") if "|" in line and cell.strip())
        elif field[1].casefold().strip() not in OTHER_FIELDS:
            yield line
            yield field[2]


def _values(text: str) -> Iterator[str]:
    """Of a line of JSON. Where nothing else tells what was decided, the rationale does."""
    told = _strings(text)
    if not TELLING & told.keys():
        yield told.get("rationale", "")
    yield from (value for name, value in told.items() if name not in OTHER_FIELDS)


def _strings(text: str) -> dict[str, str]:
    """The values of a line of JSON that are texts, by their names in small letters."""
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    return {
        name.casefold(): value
        for name, value in (said.items() if isinstance(said, dict) else ())
        if isinstance(value, str)
    }
