"""Documents into chunks with summaries, and a catalog in which tags lead to them. Both are derived:
they may be thrown away and made anew."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from kedgeline.bank.briefs import MIDDLE, SMALL, brief_128, brief_512
from kedgeline.bank.chunks import Chunk, chunks_of, is_code, spoken
from kedgeline.bank.values import estimated
from kedgeline.errors import BadName, BankMalformed, FileRefused, UserError
from kedgeline.files import Folder, checked, folder_below, unwritable
from kedgeline.model import Value
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.text.prose import cut, foreign, one_line
from kedgeline.tokens import EXACT

CATALOG, CHUNKS = "catalog.yml", "chunks"
"""Names of the file and of the folder in the catalog's place."""
CHUNK_TOKENS, LEAST_TOKENS = 3_800, 16
"""Estimated tokens of a chunk: what the field's chunks have, and what its front matter needs."""
HEADER_MOST = 1 << 16
"""Bytes of a chunk's front matter: two summaries have less than a tenth of it."""
LARGEST, MOST_DOCUMENTS, DEPTH = 16 << 20, 50_000, 32
"""Bytes of a document, documents of a catalog, and folders in each other that are looked into."""
NOT_TEXT = 20
"""One wrong byte in so many makes a file binary; a few are of an old encoding."""
MADE_BY_TOOLS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"}
)
"""Folders that hold nobody's own documents."""
MADE = "kedgeline made it from other documents"
OURS = (
    *("source", "chunk_index", "token_estimate", "hash", "title", "summary_128", "summary_512"),
    "summary",
)
"""Fields of a chunk's front matter; the last is the only summary that chunks of the field have."""
HEAD = "# Made by kedgeline from the documents it names. Tags lead to chunks.\n"
TITLE, NAME_MOST = 200, 40
"""Characters of a chunk's title and of a name before its hash."""
FROM_DOCUMENT, FROM_HEADINGS, FROM_FOLDERS, MOST_TAGS, TAG = 10, 4, 3, 256, 40
"""Tags that a document gives itself, that a chunk gets from headings and folders, that a catalog
has besides, and characters of one."""
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

_CHUNK = re.compile(r"chunk-([0-9]{2,6})\.yaml")
_END = re.compile(rb"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W\d_][\w-]{2,39}")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_BARE = re.compile(r"[a-z_][a-z0-9_-]*")
_NOT_BARE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML takes for something else."""


class Listed(Value, frozen=True):
    """A chunk as the catalog has it."""

    path: str
    """From the catalog's folder."""
    summary_128: str = ""
    tokens: int = 0
    hash: str = ""


class Skipped(Value, frozen=True):
    path: str
    why: str


class Indexed(Value, frozen=True):
    """What an index did."""

    documents: int
    chunks: int
    tags: int
    written: tuple[str, ...] = ()
    """Files that were made or changed."""
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class Header(NamedTuple):
    """The front matter of a chunk."""

    source: str = ""
    chunk_index: int = 0
    token_estimate: int = 0
    hash: str = ""
    title: str = ""
    summary_128: str = ""
    summary_512: str = ""
    further: Mapping[str, Any] = {}
    """Fields of somebody else."""
    old: bool = False
    """Whether it is of the field, and not made here."""

    @property
    def tags(self) -> tuple[str, ...]:
        return _words(self.further.get("tags"))


class Source(NamedTuple):
    key: str
    """Its path from the root, with slashes."""
    text: str
    """Bytes that are no UTF-8 as lone surrogates, so that writing it gives the same bytes."""


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
    """Tags that the document or a person gave it."""
    derived: tuple[str, ...]


class _Index:
    def __init__(self, place: Folder, tokens: int, redactor: Redactor, *, anew: bool) -> None:
        self._place, self._tokens, self._redactor, self._anew = place, tokens, redactor, anew
        held = place.read(CATALOG)
        self._catalog = read_catalog(CATALOG, held.data) if held else {}
        self._kept = _kept_chunks(place)
        self._taken: list[_Taken] = []
        self._written: list[str] = []
        self._skipped: list[Skipped] = []
        self._notes: list[str] = []
        self._found: dict[str, Source] = {}

    def take(self, paths: list[Path], root: Path) -> None:
        """Read all documents before the first chunk is written."""
        self._read(paths, root)
        kept = {head.source for head, _ in self._kept.values() if not head.old}
        for key in sorted(kept - set(self._found)):
            if not is_key(key):
                self._notes.append(f"{key[:200]!r} is no path below the root; its chunks go")
                continue
            try:  # in the catalog already, where it is still there
                self._read([root / key], root)
            except FileRefused as error:
                self._skipped.append(Skipped(path=key, why=error.why))
        others = {p.split("/")[1] for p, (head, _) in self._kept.items() if not self._is_ours(head)}
        for key, name in _source_names(self._found, others).items():
            self._document(self._found[key], name)

    def _read(self, paths: list[Path], root: Path) -> None:
        for one in _sources(paths, root, self._place):
            if isinstance(one, Skipped):
                self._skipped.append(one)
            else:
                self._found[one.key] = one

    def _document(self, source: Source, name: str) -> None:
        redactor = self._redactor
        if secrets := len(redactor.found(source.text)):
            what = "a secret" if secrets == 1 else f"{secrets} secrets"
            self._notes.append(
                f"{source.key} has what looks like {what}: in its chunks too, not in its summaries"
            )
        chunks = chunks_of(source.key, source.text, self._tokens)
        said, folders = self._own_tags(source), tuple(_tags(PurePosixPath(source.key).parts[:-1]))
        counts = Counter(word for chunk in chunks for word in _heading_words(chunk))
        earlier = _earlier(chunks, [h for h, _ in self._kept.values() if h.source == source.key])
        for number, (chunk, old) in enumerate(zip(chunks, earlier, strict=True), 1):
            header = _header_of(source.key, number, chunk, old, redactor, anew=self._anew)
            path = f"{CHUNKS}/{name}/{chunk_name(number)}"
            data = chunk_file(header, to_bytes(chunk.text))
            if self._kept.get(path, (None, b""))[1] != data:
                _write_chunk(self._place, name, chunk_name(number), data)
                self._written.append(path)
            here = list(dict.fromkeys(_heading_words(chunk)))
            main = sorted(here, key=lambda word: (-counts[word], here.index(word)))
            derived = (*folders[-FROM_FOLDERS:], *main[:FROM_HEADINGS])
            clean = tuple(tag for tag in derived if redactor.clean(tag) == tag)
            self._taken.append(_Taken(path, header, (*said, *(old.tags if old else ())), clean))

    def _own_tags(self, source: Source) -> tuple[str, ...]:
        """What a document's front matter says."""
        front = _FRONT.match(source.text[:HEADER_MOST])
        if not front:
            return ()
        try:
            said = _loaded(source.key, front[1])
        except BankMalformed as error:
            why = f"{source.key}, line {error.line + 1}: {error.why}; its tags are not used"
            self._notes.append(why)
            return ()
        if not isinstance(said, dict):
            self._notes.append(f"{source.key}: its front matter is no map; its tags are not used")
            return ()
        keys = ("tags", "keywords", "category")
        return tuple(_tags(w for key in keys for w in _words(said.get(key))))[:FROM_DOCUMENT]

    def finish(self) -> Indexed:
        """The catalog next, and only then what it no longer names."""
        listed = self._listed()
        data = catalog_file(listed)
        held = self._place.read(CATALOG)
        if held is None or held.data != data:
            self._place.update(CATALOG, lambda _: data, mode=None)
            self._written.append(CATALOG)
        there = {one.path for one in self._taken}
        gone = [p for p, (h, _) in self._kept.items() if p not in there and self._is_ours(h)]
        _remove_chunks(self._place, gone)
        return Indexed(
            documents=len(self._found),
            chunks=len(self._taken),
            tags=len(listed),
            written=tuple(self._written),
            removed=tuple(gone),
            skipped=tuple(self._skipped),
            notes=tuple(self._notes),
        )

    def _listed(self) -> dict[str, list[Listed]]:
        """The chunks under each tag: all tags that were given, of the others those that most chunks
        have. Chunks of the field that the catalog names stay in it: nobody can make them anew."""
        counts = Counter(tag for one in self._taken for tag in dict.fromkeys(one.derived))
        usual = set(sorted(counts, key=lambda tag: (-counts[tag], tag))[:MOST_TAGS])
        rows: dict[str, list[Listed]] = {}
        for path, head, given, derived in self._taken:
            row = Listed(
                path=path, summary_128=head.summary_128, tokens=head.token_estimate, hash=head.hash
            )
            tags = dict.fromkeys((*_tags(given), *(tag for tag in derived if tag in usual)))
            for tag in tags or (REST,):
                rows.setdefault(tag, []).append(row)
        ours = {path for path, (head, _) in self._kept.items() if self._is_ours(head)}
        ours |= {one.path for one in self._taken}
        for tag, listed in self._catalog.items():
            if theirs := [one for one in listed if one.path not in ours and not one.hash]:
                rows.setdefault(tag, []).extend(theirs)
        return {tag: sorted(rows[tag], key=lambda one: order(one.path)) for tag in rows}

    def _is_ours(self, header: Header) -> bool:
        return not header.old or header.source in self._found


def _earlier(chunks: list[Chunk], heads: Sequence[Header]) -> list[Header | None]:
    """The front matter that each chunk had: that of the same text, wherever it stood; else that of
    the same place, unless its text went elsewhere."""
    left = list(heads)
    found: list[Header | None] = []
    for number, chunk in enumerate(chunks, 1):
        sha = digest(to_bytes(chunk.text))
        same = [head for head in left if head.hash == sha]
        head = next((one for one in same if one.chunk_index == number), same[0] if same else None)
        if head:
            left.remove(head)
        found.append(head)
    places = {head.chunk_index: head for head in left}
    return [head or places.get(number) for number, head in enumerate(found, 1)]


# Chunks and the catalog as files


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def chunk_name(number: int) -> str:
    return f"chunk-{number:02}.yaml"


def order(path: str) -> tuple[str, int, str]:
    """Chunks of a document in their order, whatever the number of digits."""
    folder, _, file = path.rpartition("/")
    return folder, len(file), file


def _flow(value: Any) -> str:
    """A value that is the same in YAML and JSON."""
    plain = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def _name(text: str) -> str:
    return text if _BARE.fullmatch(text) and text not in _NOT_BARE else _flow(text)


def _loaded(name: str, text: str) -> Any:
    """YAML of strangers: words, lists and maps, all scalars as strings. Raises BankMalformed."""
    import yaml  # a hundred milliseconds, and few commands need it

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(text, Loader=loader)  # it builds nothing but strings, lists and maps
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BankMalformed(name, line, error.problem or "this is no YAML") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BankMalformed(name, 1, f"this is no YAML: {str(error)[:80]}") from error


def _words(value: Any) -> tuple[str, ...]:
    """A list of words, or words with commas between them."""
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    return tuple(one for one in value or () if isinstance(one, str) and one)


def chunk_file(header: Header, body: bytes) -> bytes:
    ours = {name: getattr(header, name) for name in OURS[:-1]}
    rows = [f"{name}: {_flow(value)}\n" for name, value in ours.items()]
    rows += [f"{_name(name)}: {_flow(value)}\n" for name, value in header.further.items()]
    return "".join(["---\n", *rows, "---\n"]).encode() + body


def read_chunk(file: str, data: bytes) -> tuple[Header, bytes]:
    """The front matter and the body of a chunk."""
    first = data.find(b"\n") + 1
    if data[:first].rstrip() != b"---":
        raise BankMalformed(file, 1, "a chunk begins with a line of three dashes")
    end = _END.search(data, first, HEADER_MOST)
    if end is None:
        raise BankMalformed(file, 1, "the front matter has no end; close it with three dashes")
    try:
        fields = _loaded(file, data[first : end.start()].decode())
        if not isinstance(fields, dict):
            raise BankMalformed(file, 2, "the front matter is no map of names to values")
        said = {key: _word(file, fields[key]) for key in OURS if key in fields}
        numbers = [int(said.get(k, "0")) for k in ("chunk_index", "token_estimate")]
    except ValueError as error:
        raise BankMalformed(file, 2, "the front matter is no UTF-8, or has no number") from error
    header = Header(
        source=said.get("source", ""),
        chunk_index=numbers[0],
        token_estimate=numbers[1],
        hash=said.get("hash", ""),
        title=said.get("title", ""),
        summary_128=said.get("summary_128", said.get("summary", "")),
        summary_512=said.get("summary_512", ""),
        further={key: value for key, value in fields.items() if key not in OURS},
        old="summary_128" not in said,
    )
    return header, data[end.end() :]


def _word(file: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BankMalformed(file, 2, "expected a word here, not a list or map")
    return value


def catalog_file(tags: Mapping[str, Sequence[Listed]]) -> bytes:
    rows = [HEAD]
    for tag in sorted(tags):
        rows.append(f"{_name(tag)}:\n")
        for one in tags[tag]:
            rows.append(f"  - path: {_flow(one.path)}\n    summary_128: {_flow(one.summary_128)}\n")
            rows.append(f"    tokens: {one.tokens}\n    hash: {_flow(one.hash)}\n")
    return "".join(rows if tags else [HEAD, "{}\n"]).encode()


def read_catalog(file: str, data: bytes) -> dict[str, list[Listed]]:
    try:
        said = _loaded(file, data.decode()) or {}
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BankMalformed(file, line, "it is not UTF-8") from error
    if not isinstance(said, dict):
        raise BankMalformed(file, 1, "a catalog is a map of tags to chunks")
    return {
        str(tag): [_row(file, str(tag), row) for row in rows or ()] for tag, rows in said.items()
    }


def _row(file: str, tag: str, row: Any) -> Listed:
    if isinstance(row, str):
        return Listed(path=row)
    if not isinstance(row, dict) or not isinstance(row.get("path"), str):
        why = f"expected a list of paths, or of maps that have one, under {tag[:80]!r}"
        raise BankMalformed(file, 1, why)
    said = {
        key: row[key] for key in ("path", "summary_128", "hash") if isinstance(row.get(key), str)
    }
    tokens = row.get("tokens", "0")
    return Listed(**said, tokens=int(tokens) if str(tokens).isdecimal() else 0)


def _kept_chunks(place: Folder) -> dict[str, tuple[Header, bytes]]:
    """All chunks by their path, which is all that we ever replace or remove."""
    found: dict[str, tuple[Header, bytes]] = {}
    with place.below(CHUNKS) as chunks:
        for name in sorted(os.listdir(chunks.descriptor)) if chunks else ():
            assert chunks is not None
            mode = os.lstat(name, dir_fd=chunks.descriptor).st_mode
            if stat.S_ISLNK(mode):
                why = "it is a symbolic link, and links are not followed; move it away"
                raise FileRefused(str(chunks.path / name), why)
            if not stat.S_ISDIR(mode):
                continue
            with chunks.below(name) as folder:
                for file in sorted(os.listdir(folder.descriptor)) if folder else ():
                    held = folder.read(file) if folder and _CHUNK.fullmatch(file) else None
                    if held is not None:
                        path = f"{CHUNKS}/{name}/{file}"
                        found[path] = (read_chunk(path, held.data)[0], held.data)
    return {path: found[path] for path in sorted(found, key=order)}


def _write_chunk(place: Folder, name: str, file: str, data: bytes) -> None:
    with place.below(CHUNKS, create=True) as chunks:
        assert chunks is not None
        with chunks.below(name, create=True) as folder:
            assert folder is not None
            folder.update(file, lambda _: data, mode=None)


def _remove_chunks(place: Folder, paths: Sequence[str]) -> None:
    """The files, and their folder where nothing else is in it."""
    with place.below(CHUNKS) as chunks:
        for path in paths if chunks else ():
            assert chunks is not None
            _, name, file = path.split("/")
            with chunks.below(name) as folder:
                if folder is None:
                    continue
                try:
                    os.unlink(file, dir_fd=folder.descriptor)
                    if not os.listdir(folder.descriptor):
                        os.rmdir(name, dir_fd=chunks.descriptor)
                except OSError as error:
                    raise unwritable(folder.path, error) from error


# What a chunk is about


def _header_of(
    key: str, number: int, chunk: Chunk, before: Header | None, redactor: Redactor, *, anew: bool
) -> Header:
    """What stands above a chunk. A summary that is there for the same chunk stays: it is the same,
    or somebody wrote a better one."""
    title = cut(foreign(redactor.clean(chunk.title)), TITLE)
    made = Header(
        source=key,
        chunk_index=number,
        token_estimate=estimated(chunk.text),
        hash=digest(to_bytes(chunk.text)),
        title=title,
        further=before.further if before else {},
    )
    if (
        before
        and not anew
        and (before.hash, before.title, before.source) == (made.hash, made.title, made.source)
        and 0 < EXACT.count(before.summary_128) <= SMALL
        and 0 < EXACT.count(before.summary_512) <= MIDDLE
    ):
        return made._replace(summary_128=before.summary_128, summary_512=before.summary_512)
    prose = "\n".join(spoken(chunk.text)) if is_code(key) else "" if chunk.inside else chunk.text
    text = redactor.clean(prose).encode("utf-8", "replace").decode()
    name = title or key.rpartition("/")[2]
    return made._replace(
        summary_128=brief_128(text, title=name, sources=(key,)),
        summary_512=brief_512(text, title=name),
    )


def _heading_words(chunk: Chunk) -> Iterator[str]:
    for path in filter(None, chunk.titles):
        plain = unicodedata.normalize("NFKC", path[-1]).casefold()
        yield from (word for word in _WORD.findall(plain) if word not in STOP)


def _tags(said: Iterable[str]) -> Iterator[str]:
    plain = (one_line(unicodedata.normalize("NFKC", word)).casefold().split() for word in said)
    found = ("-".join(words)[:TAG].strip("-.") for words in plain)
    return iter(dict.fromkeys(tag for tag in found if any(c.isalnum() for c in tag)))


# Documents below a root, read without following a link


def is_key(key: str) -> bool:
    """Whether a path that a file names stays below the root."""
    return key.isprintable() and not {"", ".", ".."} & set(key.split("/"))


def _key_of(path: Path, root: Path) -> str:
    full = Path(os.path.abspath(path))
    for base, inner in (
        (Path(os.path.abspath(root)), full),
        (root.resolve(), full.parent.resolve() / full.name),
    ):
        if inner.is_relative_to(base):
            return inner.relative_to(base).as_posix()
    raise FileRefused(str(path), f"it lies outside {str(root)!r}; name files below it")


def _sources(paths: Iterable[Path], root: Path, place: Folder) -> Iterator[Source | Skipped]:
    """Each document once, in the order of the paths. What is named must be there; what lies in a
    named folder and is no document is skipped."""
    own = os.fstat(place.descriptor)
    seen: set[str] = set()
    for path in paths:
        key = _key_of(path, root)
        parts = () if key == "." else PurePosixPath(key).parts
        for found in _below(root, parts, own):
            name = found.key if isinstance(found, Source) else found.path
            if name not in seen:
                seen.add(name)
                yield found
            if len(seen) > MOST_DOCUMENTS:
                raise UserError(f"more than {MOST_DOCUMENTS:,} documents; name smaller folders")


def _below(root: Path, parts: tuple[str, ...], own: os.stat_result) -> Iterator[Source | Skipped]:
    """What a path names: a document, or the folder they lie in."""
    key = "/".join(parts)
    with ExitStack() as opened:
        folder = opened.enter_context(folder_below(root, parts[:-1], largest=LARGEST))
        if folder is None:
            raise FileRefused(key, "there is no such file; check the path")
        if _is_made(root, parts):
            yield Skipped(path=_shown(key), why=MADE)
            return
        if parts:
            try:
                mode = os.lstat(parts[-1], dir_fd=folder.descriptor).st_mode
            except (OSError, ValueError) as error:
                path = str(folder.path / parts[-1])
                raise FileRefused(path, "it cannot be found; check the path") from error
            if not stat.S_ISDIR(mode):
                yield _document(folder, parts[-1], key)
                return
            folder, key = opened.enter_context(folder.below(parts[-1])), f"{key}/"
        if folder is not None:
            yield from _walked(folder, key, own, 0)


def _is_made(root: Path, parts: tuple[str, ...]) -> bool:
    """Whether it is a catalog, or lies among the chunks beside one."""
    for place, part in enumerate(parts):
        if part == CHUNKS or (part == CATALOG and place == len(parts) - 1):
            with folder_below(root, parts[:place]) as folder:
                if folder is not None and _has_catalog(folder):
                    return True
    return False


def _has_catalog(folder: Folder) -> bool:
    """Whether a catalog of ours lies here, however large it is."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(CATALOG, flags, dir_fd=folder.descriptor), "rb") as file:
            return file.read(len(HEAD)) == HEAD.encode()
    except OSError:
        return False


def _walked(
    folder: Folder, above: str, own: os.stat_result, depth: int
) -> Iterator[Source | Skipped]:
    is_own = os.path.samestat(os.fstat(folder.descriptor), own)
    made = is_own or _has_catalog(folder)
    with os.scandir(folder.descriptor) as entries:
        rows = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in rows:
        key, why = f"{above}{name}", ""
        if made and name in (CATALOG, CHUNKS):
            if is_own:
                continue
            why = MADE  # of another bank: catalogs would take in each other without end
        if why := why or _why_not(name, is_folder=is_folder, depth=depth):
            yield Skipped(path=_shown(key), why=why)
            continue
        with ExitStack() as opened:
            try:
                inner = opened.enter_context(folder.below(name)) if is_folder else None
                if not is_folder:
                    yield _document(folder, name, key)
            except FileRefused as error:
                yield Skipped(path=_shown(key), why=error.why)
                continue
            if inner is not None:
                yield from _walked(inner, f"{key}/", own, depth + 1)


def _why_not(name: str, *, is_folder: bool, depth: int) -> str:
    if name.startswith("."):
        return "it is hidden; name it to have it"
    if is_folder and name in MADE_BY_TOOLS:
        return "tools made what is in it; name it to have it"
    return f"it lies more than {DEPTH} folders deep" if is_folder and depth >= DEPTH else ""


def _document(folder: Folder, name: str, key: str) -> Source | Skipped:
    if _shown(key) != key:
        return Skipped(path=_shown(key), why="its name is no UTF-8 or has a control character")
    held = folder.read(name)
    if held is None or not held.data:
        return Skipped(path=key, why="it is gone" if held is None else "it is empty")
    text = to_text(held.data)
    wrong = 0 if text.isprintable() else len(re.findall("[\udc80-\udcff]", text))
    if b"\0" in held.data or wrong * NOT_TEXT > len(held.data):
        return Skipped(path=key, why="it is binary")
    return Source(key, text)


def _shown(key: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in key)


def _source_names(keys: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """A folder's name for each document, safe on every system: its path with points for slashes,
    without what it ends with; with a hash where another has that name already."""
    names: dict[str, str] = {}
    taken = {name.casefold() for name in others}
    for key in sorted(keys):
        path = PurePosixPath(key)
        plain = ".".join([*path.parts[:-1], path.stem])
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).lstrip("._-").rstrip(".")
        try:
            fine = name == plain and bool(checked("source", name))
        except BadName:
            fine = False
        if not fine or name.casefold() in taken:
            # the points of a long name may make a device of it; dashes do not
            short = name[:NAME_MOST].replace(".", "-") or "s"
            name = checked("source", f"{short}-{sha256(to_bytes(key)).hexdigest()[:12]}")
        taken.add(name.casefold())
        names[key] = name
    return names
