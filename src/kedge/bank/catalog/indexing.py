"""Documents into chunks and a catalog. Both are derived: they may be thrown away and made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from kedge.bank.catalog import tags
from kedge.bank.catalog.describing import header_of
from kedge.bank.catalog.files import Header, catalog_file, chunk_file, digest
from kedge.bank.catalog.keeping import (
    chunk_name,
    kept_catalog,
    kept_chunks,
    order,
    path_of,
    remove_chunks,
    write_catalog,
    write_chunk,
)
from kedge.bank.catalog.kinds import chunks_of
from kedge.bank.catalog.sources import Source, is_key, source_names, sources, to_bytes
from kedge.bank.catalog.values import CATALOG, CHUNK_TOKENS, Chunk, Indexed, Listed, Skipped
from kedge.errors import BankMalformed, FileRefused, UserError
from kedge.guarded_files import Folder, folder_below
from kedge.redaction import REDACTOR, Redactor

LEAST_TOKENS = 16
"""Of a chunk: below, its front matter would be all that is left."""


def index(
    paths: Iterable[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    root: str | PathLike[str] | None = None,
    chunk_tokens: int = CHUNK_TOKENS,
    redactor: Redactor = REDACTOR,
    anew: bool = False,
) -> Indexed:
    """Take documents, and folders of them, into the catalog in a folder, and bring all that is in
    it up to date. Documents lie below the root, which is the folder's parent unless it is given.
    `anew` makes summaries again that are there already."""
    if chunk_tokens < LEAST_TOKENS:
        raise UserError(
            f"chunks of {chunk_tokens} tokens hold nothing; give {LEAST_TOKENS} or more"
        )
    where = Path(folder)
    base = Path(root) if root is not None else where.absolute().parent
    with folder_below(where) as place:
        assert place is not None
        work = _Index(place, chunk_tokens, redactor, anew=anew)
        work.take([Path(path) for path in paths], base)
        return work.finish()


class _Taken(NamedTuple):
    """A chunk of a document that is up to date."""

    path: str
    header: Header
    given: tuple[str, ...]
    derived: tuple[str, ...]


class _Index:
    def __init__(self, place: Folder, tokens: int, redactor: Redactor, *, anew: bool) -> None:
        self._place, self._tokens, self._redactor, self._anew = place, tokens, redactor, anew
        self._catalog = kept_catalog(place)
        self._kept = kept_chunks(place)
        self._heads: dict[str, dict[str, Header]] = {}
        for files in self._kept.values():
            for file, kept in files.items():
                self._heads.setdefault(kept.header.source, {}).setdefault(file, kept.header)
        self._taken: list[_Taken] = []
        self._written: list[str] = []
        self._skipped: list[Skipped] = []
        self._notes: list[str] = []
        self._keys: set[str] = set()

    def take(self, paths: list[Path], root: Path) -> None:
        """Read all documents before the first chunk is written."""
        found: dict[str, Source] = {}
        for one in sources(paths, root, self._place):
            if isinstance(one, Skipped):
                self._skipped.append(one)
            else:
                found[one.key] = one
        self._known(found, root)
        self._keys = set(found)
        for key, name in source_names(found, self._others()).items():
            self._document(found[key], name)

    def _others(self) -> set[str]:
        """Names that chunks of the field have, of documents that are not taken here."""
        return {
            name
            for name, files in self._kept.items()
            if any(one.header.old and one.header.source not in self._keys for one in files.values())
        }

    def _known(self, found: dict[str, Source], root: Path) -> None:
        """Documents that are in the catalog already, where they are still there."""
        kept = [one for files in self._kept.values() for one in files.values()]
        keys = {one.header.source for one in kept if not one.header.old} - set(found)
        for key in sorted(keys):
            if not is_key(key):
                self._notes.append(f"{key[:200]!r} is no path below the root; its chunks go")
                continue
            try:
                for one in sources([root / key], root, self._place):
                    if isinstance(one, Skipped):
                        self._skipped.append(one)
                    elif one.key == key:
                        found[key] = one
            except FileRefused as error:
                self._skipped.append(Skipped(path=key, why=error.why))

    def _document(self, source: Source, name: str) -> None:
        redactor, secrets = self._redactor, len(self._redactor.found(source.text))
        if secrets:
            what = (
                "what looks like a secret" if secrets == 1 else f"what looks like {secrets} secrets"
            )
            self._notes.append(f"{source.key} has {what}: in its chunks too, not in its summaries")
        chunks = chunks_of(source.key, source.text, self._tokens)
        said = self._own_tags(source)
        folders = tags.folder_tags(source.key)
        counted = Counter(tags.heading_words(chunks))
        before = self._kept.get(name, {})
        earlier = _earlier(chunks, self._heads.get(source.key, {}))
        for number, chunk in enumerate(chunks, 1):
            old = earlier[number - 1]
            header = header_of(
                source.key, number, chunk, _bare(old) if self._anew else old, redactor
            )
            path = path_of(name, chunk_name(number))
            data = chunk_file(header, to_bytes(chunk.text))
            there = before.get(chunk_name(number))
            if there is None or there.data != data:
                write_chunk(self._place, name, chunk_name(number), data)
                self._written.append(path)
            given = (*said, *(old.tags if old else ()))
            derived = (*folders, *tags.heading_tags(chunk, counted))
            clean = tuple(tag for tag in derived if redactor.clean(tag) == tag)
            self._taken.append(_Taken(path, header, given, clean))

    def _own_tags(self, source: Source) -> tuple[str, ...]:
        try:
            return tags.own_tags(source.key, source.text)
        except BankMalformed as error:
            why = f"{source.key}, line {error.line}: {error.why}; its tags are not used"
            self._notes.append(why)
            return ()

    def finish(self) -> Indexed:
        """The catalog next, and only then what it no longer names."""
        listed = self._listed()
        if write_catalog(self._place, catalog_file(listed)):
            self._written.append(CATALOG)
        return Indexed(
            documents=len(self._keys),
            chunks=len(self._taken),
            tags=len(listed),
            written=tuple(self._written),
            removed=tuple(self._removed()),
            skipped=tuple(self._skipped),
            notes=tuple(self._notes),
        )

    def _listed(self) -> dict[str, list[Listed]]:
        of = tags.chosen(
            {one.path: one.given for one in self._taken},
            {one.path: one.derived for one in self._taken},
        )
        rows: dict[str, list[Listed]] = {}
        for one in self._taken:
            head = one.header
            listed = Listed(
                path=one.path,
                summary_128=head.summary_128,
                tokens=head.token_estimate,
                hash=head.hash,
            )
            for tag in of[one.path]:
                rows.setdefault(tag, []).append(listed)
        self._keep_foreign(rows)
        return {tag: sorted(rows[tag], key=lambda one: order(one.path)) for tag in rows}

    def _keep_foreign(self, rows: dict[str, list[Listed]]) -> None:
        """Chunks of the field that the catalog names stay in it: nobody here can make them anew."""
        ours = {
            path_of(name, file)
            for name, files in self._kept.items()
            for file, kept in files.items()
            if self._is_ours(kept.header)
        } | {one.path for one in self._taken}
        for tag, listed in self._catalog.items():
            foreign = [one for one in listed if one.path not in ours and not _made_here(one)]
            if foreign:
                rows.setdefault(tag, []).extend(foreign)

    def _is_ours(self, header: Header) -> bool:
        return not header.old or header.source in self._keys

    def _removed(self) -> list[str]:
        there = {one.path for one in self._taken}
        removed: list[str] = []
        for name, files in self._kept.items():
            gone = [
                file
                for file, kept in files.items()
                if path_of(name, file) not in there and self._is_ours(kept.header)
            ]
            if gone:
                remove_chunks(self._place, name, gone)
                removed.extend(path_of(name, file) for file in gone)
        return removed


def _made_here(listed: Listed) -> bool:
    """Whether the catalog has it in our form, and so its chunk was ours and is gone."""
    return bool(listed.hash)


def _bare(header: Header | None) -> Header | None:
    return header._replace(summary_128="", summary_512="") if header else None


def _earlier(chunks: list[Chunk], heads: dict[str, Header]) -> list[Header | None]:
    """The front matter that each chunk had: that of the same text, wherever it stood; else that
    of the same place, unless its text went elsewhere."""
    by_hash: dict[str, dict[str, None]] = {}
    for file, head in heads.items():
        by_hash.setdefault(head.hash, {})[file] = None
    left = dict(heads)
    found: list[Header | None] = []
    for number, chunk in enumerate(chunks, 1):
        same = by_hash.get(digest(to_bytes(chunk.text)), {})
        file = chunk_name(number)
        file = file if file in same else next(iter(same), "")
        same.pop(file, None)
        found.append(left.pop(file, None))
    return [head or left.get(chunk_name(number)) for number, head in enumerate(found, 1)]
