"""Names in the texts of a turn: words, commands, code, and what tools show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from posixpath import basename, dirname

from kedge.facts.files.paths import Paths, is_glob
from kedge.facts.files.symbols import is_prose
from kedge.facts.names.declarations import declared_in
from kedge.facts.names.literals import beside_code, beside_words, is_numbering, product_of
from kedge.facts.names.shapes import (
    ESCAPE,
    JOINED_WORD,
    WORD,
    WORDS,
    Found,
    NameKind,
    is_temporary,
    separated,
)
from kedge.facts.names.sightings import Sightings, Source
from kedge.facts.names.words import STANDARD
from kedge.outcomes import Run

PROSE_WITHIN = 24_000
"""Characters of words that are looked at: a long plan."""
CODE_WITHIN = 48_000
"""Characters of an edit or a written file: a thousand lines."""
SHOWN_WITHIN = 12_000
"""Characters of what a read shows; most reads are shorter."""
MOST_SHOWN = 120
"""Names taken from one read beside what it declares, those that occur most."""
SHORT_HASH = 16
"""Characters of an id that somebody types; longer ones are checksums."""

_MARKED = re.compile(r"`([^`\n]{2,120})`")
_QUOTED = re.compile(r"[\"'`]([\w@+~./-]{4,120})[\"'`]")
"""In code: a file, a module or an id."""
_REACHED = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,3}")
"""A name with what it is reached through, as `session.State`."""
_FROM_HERE = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".css", ".scss")
_DATA: frozenset[NameKind] = frozenset({"hash", "ticket"})
"""What looks like these in code is made up for a test, or a value of something."""


def names_in(text: str) -> list[tuple[Found, int]]:
    """The names of a text by their shape, with how often they occur."""
    if "\\" in text:
        text = ESCAPE.sub(" ", text)
    counts = Counter(separated(text).split())
    named = zip(map(WORDS.__getitem__, counts), counts.values(), strict=True)
    return [(found, count) for names, count in named if names for found in names]


def found_in(text: str) -> list[Found]:
    """The names of a text by their shape, each once."""
    if "\\" in text:
        text = ESCAPE.sub(" ", text)
    words = dict.fromkeys(separated(text).split())
    return [*chain.from_iterable(map(WORDS.__getitem__, words))]


def listed_symbols(line: str) -> dict[str, None]:
    """Only the identifiers of one line."""
    names = chain.from_iterable(map(WORDS.__getitem__, JOINED_WORD.findall(line)))
    return {found.name: None for found in names if found.kind == "symbol"}


def _program(flag: str, runs: Sequence[Run]) -> str:
    return next((run.words[0] for run in runs if any(w.startswith(flag) for w in run.words)), "")


def symbols_in(text: str) -> dict[str, int]:
    """Only the identifiers of a text, with how often they occur."""
    counts: dict[str, int] = {}
    words = Counter(JOINED_WORD.findall(text))
    for names, count in zip(map(WORDS.__getitem__, words), words.values(), strict=True):
        for found in names:
            if found.kind == "symbol":
                counts[found.name] = counts.get(found.name, 0) + count
    return counts


class Texts:
    """Puts the names of texts among the sightings of a turn."""

    def __init__(self, sightings: Sightings, paths: Paths) -> None:
        self._sightings, self._paths = sightings, paths

    def words(self, text: str, source: Source) -> None:
        """Of the user, of the agent, of a plan. A name belongs to the file that stands on its
        line, where it is the only one there."""
        text = text[:PROSE_WITHIN]
        for found in beside_words(text):
            often_loose = found.kind == "number" and source == "said"
            rank: Source = "mentioned" if often_loose else source
            self._sightings.add(found.name, found.kind, rank, note=found.note)
        spaced = separated(text).splitlines()
        for line, words in zip(text.splitlines(), spaced, strict=True):
            names = [*chain.from_iterable(map(WORDS.__getitem__, words.split()))]
            if not names:
                continue
            files = {found.name for found in names if found.kind == "file"}
            topic = self._paths.name(*files) if len(files) == 1 else ""
            if "." not in basename(topic):
                topic = ""
            for found in names:
                if found.kind != "version":
                    self._found(found, source, topic)
                elif not is_numbering(found.name, line):
                    self._found(found, source, topic, note=product_of(found.name, line))
        if "`" in text:
            self._marked(text)

    def command(self, line: str, runs: Sequence[Run] = ()) -> None:
        """A flag belongs to the program it is given to."""
        text = line[:PROSE_WITHIN]
        for found in beside_words(text):
            self._sightings.add(found.name, found.kind, "command", note=found.note)
        for found, count in names_in(text):
            topic = _program(found.name, runs) if found.kind == "flag" else ""
            self._found(found, "command", topic, count)

    def code(self, text: str, path: str, source: Source, *, declares: bool) -> None:
        """What an edit puts into a file, or takes out of it. Prose declares nothing."""
        text = text[:CODE_WITHIN]
        for name in declared_in(text) if declares and not is_prose(path) else ():
            self._sightings.add(name, "symbol", "declared", topic=path)
        for found, count in names_in(text):
            if found.kind == "file":
                self._imported(found.name, path)
            elif found.kind not in _DATA:
                note = product_of(found.name, text) if found.kind == "version" else ""
                self._found(found, source, path, count, note)
        for found in beside_code(text):
            self._sightings.add(found.name, found.kind, source, topic=path, note=found.note)

    def shown(self, text: str, path: str) -> None:
        """What a read shows of a file."""
        text = text[:SHOWN_WITHIN]
        add = self._sightings.add
        for name, line in declared_in(text).items():
            add(name, "symbol", "shown_declared", topic=path, place=line)
        counts = symbols_in(text)
        for name in sorted(counts, key=counts.__getitem__, reverse=True)[:MOST_SHOWN]:
            add(name, "symbol", "shown", topic=path, count=counts[name])
        for word in dict.fromkeys(_QUOTED.findall(text)):
            for found in WORDS[word]:
                self._quoted(found, path)

    def _quoted(self, found: Found, path: str) -> None:
        """What a file names in quotes beside its identifiers."""
        if found.kind == "file":
            self.file(found.name, "shown")
        elif found.kind == "hash" and len(found.name) <= SHORT_HASH:
            self._sightings.add(found.name, "hash", "shown", topic=path)
        elif found.kind == "symbol" and "/" in found.name:  # a module
            self._sightings.add(found.name, "symbol", "shown", topic=path)

    def files(self, text: str, source: Source) -> None:
        """Only the files that a text names."""
        for found in found_in(text):
            if found.kind == "file":
                self.file(found.name, source)

    def file(
        self, written: str, source: Source, *, place: str = "", note: str = "", folder: str = ""
    ) -> None:
        path = self._paths.name(written, folder).rstrip("/")
        if path and not is_temporary(path) and not is_glob(path):
            self._sightings.add(path, "file", source, place=place, note=note)

    def _found(
        self, found: Found, source: Source, topic: str = "", count: int = 1, note: str = ""
    ) -> None:
        if found.kind == "file":
            self.file(found.name, source, place=found.place)
        else:
            add = self._sightings.add
            add(found.name, found.kind, source, topic=topic, note=note, count=count)

    def _imported(self, written: str, path: str) -> None:
        """A file that code names; some languages name it from where they stand."""
        is_relative = written.startswith(("./", "../"))
        from_here = is_relative and path.endswith(_FROM_HERE)
        if from_here or not is_relative:
            self.file(written, "mentioned", folder=dirname(path) if from_here else "")

    def _marked(self, text: str) -> None:
        for marked in _MARKED.findall(text):
            names = [found for word in WORD.findall(marked) for found in WORDS[word]]
            for found in names:
                if found.kind == "symbol":
                    self._sightings.add(found.name, "symbol", "marked")
            reached = marked.removesuffix("()")
            through = reached.partition(".")[0]
            if not names and through not in STANDARD and _REACHED.fullmatch(reached):
                self._sightings.add(reached, "symbol", "marked")
