"""Documents in chunks with summaries, and a catalog in which tags lead to them (seed 003). Both can
be thrown away and made again; joined, the chunks of a document are the document to the byte."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import takewhile
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.bank.briefs import brief_128, brief_512
from kedgeline.bank.entries import CHARACTERS, estimated
from kedgeline.bank.rows import FRONT_MATTER, blocks
from kedgeline.errors import BadName, BankMalformed, FileRefused, UserError
from kedgeline.files import Folder, checked, folder_below
from kedgeline.model import Value
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.text.prose import LOOKED_AT, cut, foreign, one_line

CATALOG, CHUNKS = "catalog.yml", "chunks"
"""Names of the file and of the folder in the bank."""
CHUNK_TOKENS, LEAST_TOKENS = 3_800, 16
"""Estimated tokens of a chunk."""
LARGEST, MOST_DOCUMENTS = 16 << 20, 50_000
"""Bytes of a document, and documents of a catalog."""
MADE_BY_TOOLS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"}
)
"""Folders that hold nobody's own documents."""
HEAD = "# Made by kedgeline from the documents it names. Tags lead to chunks.\n"
TINY = 8
"""A beginning of less than this part of a chunk, such as a title alone, goes with what follows."""
TITLE, TITLES_SHOWN, TAG, TAGS_OF_HEADINGS = 120, 3, 40, 4
REST = "other"
"""The tag of a chunk that has no other."""
MARKDOWN = frozenset({"md", "markdown", "mdx", "mdc"})
CODE = frozenset(
    """py pyi js jsx ts tsx mjs cjs go rs java kt scala c h cc cpp hpp cs rb php swift sh sql css
    vue json yaml yml toml ini xml html tf proto lua ex erl hs zig""".split()  # noqa: SIM905
)
"""Endings of files whose text is no prose."""

_CHUNK = re.compile(r"chunk-(\d{2,6})\.yaml")
_WORD = re.compile(r"[^\W\d_][\w-]{3,39}")
_DEFINED = re.compile(
    r"\b(?:def|class|function|func|fn|struct|interface|type|enum|impl|trait|module|CREATE TABLE)"
    r"\s+([\w.$]{1,80})"
)


# Chunks.


class Chunk(Value, frozen=True):
    text: str
    titles: tuple[tuple[str, ...], ...] = ()
    """Paths of the headings it has, the outermost first; of code, the names of what it defines."""

    @property
    def title(self) -> str:
        """The path that its headings share, and the first of those below it."""
        first, last = min(self.titles, default=()), max(self.titles, default=())
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
        shared = [one for one, _ in same]
        rest = (path[len(shared)] for path in self.titles if len(path) > len(shared))
        below = list(dict.fromkeys(rest))
        more = [f"+{len(below) - TITLES_SHOWN} more"] if len(below) > TITLES_SHOWN else []
        names = ", ".join([*below[:TITLES_SHOWN], *more])
        return " > ".join((*shared, *filter(None, [names])))


class _Part(NamedTuple):
    """What is not cut where that can be helped."""

    text: str
    depth: int = 0
    """Of the heading it is or the definition it begins with; 0 where it is neither."""
    title: str = ""


def chunks_of(name: str, text: str, tokens: int) -> list[Chunk]:
    """Sections whole where they fit, small neighbours together, large ones by their blocks."""
    limit = tokens * CHARACTERS
    parts = list(_parts(name, text))
    found: list[Chunk] = []
    waiting: list[str] = []
    titles: list[tuple[str, ...]] = []
    path: list[_Part] = []
    size = 0

    def flush() -> None:
        nonlocal size
        if waiting:
            found.append(Chunk(text="".join(waiting), titles=tuple(dict.fromkeys(titles))))
        size = 0
        waiting.clear()
        titles.clear()

    for n, part in enumerate(parts):
        if part.depth:
            path = [*(one for one in path if one.depth < part.depth), part]
            section = _section_size(parts, n)
            if size + section > limit >= section or size > limit // TINY < section // TINY:
                flush()
        elif size + len(part.text) > limit:
            flush()
        for piece in _cut(part.text, limit):
            if size + len(piece) > limit:
                flush()
            waiting.append(piece)
            titles.append(tuple(one.title for one in path))
            size += len(piece)
    flush()
    return found


def _section_size(parts: list[_Part], start: int) -> int:
    size = len(parts[start].text)
    for part in parts[start + 1 :]:
        if part.depth and part.depth <= parts[start].depth:
            break
        size += len(part.text)
    return size


def _parts(name: str, text: str) -> Iterator[_Part]:
    """The blocks of Markdown; of all else, what stands between blank lines."""
    ending = _ending(name)
    if not text:
        return
    if ending not in MARKDOWN:
        for piece in re.split(r"(?<=\n\n)(?=[^\s)\]}])", text):
            defined = _DEFINED.search(piece) if ending in CODE else None
            yield _Part(piece, 1 if defined else 0, defined[1] if defined else "")
        return
    front = FRONT_MATTER.match(text)
    behind = front.end() if front else 0
    found = [one for one in blocks(text) if one.kind != "row" and one.start >= behind]
    starts = [0, *(one.start for one in found if one.start)]
    headings = {one.start: one for one in found if one.depth}
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        heading = headings.get(start)
        title = cut(one_line(heading.text), TITLE) if heading else ""
        yield _Part(text[start:end], heading.depth if heading else 0, title)


def _cut(part: str, limit: int) -> Iterator[str]:
    """By lines where it is larger than a chunk; a line that is larger is cut where it must be."""
    start = 0
    while len(part) - start > limit:
        end = part.rfind("\n", start, start + limit) + 1
        end = end if end > start else start + limit
        yield part[start:end]
        start = end
    yield part[start:]


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _prose(name: str, text: str) -> str:
    """What a summary is made of: of code, the names it defines."""
    if _ending(name) not in CODE:
        return text
    return "\n".join(f"- {one}" for one in dict.fromkeys(_DEFINED.findall(text)))


# Indexing.


class Header(Value, frozen=True):
    """The front matter of a chunk."""

    source: str
    chunk_index: int
    token_estimate: int
    hash: str
    title: str = ""
    summary_128: str = ""
    summary_512: str = ""


class Listed(Value, frozen=True):
    """A chunk as the catalog has it."""

    path: str
    """From the bank's folder."""
    summary_128: str
    tokens: int
    hash: str


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


def index(
    paths: Iterable[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    chunk_tokens: int = CHUNK_TOKENS,
    redactor: Redactor = REDACTOR,
) -> Indexed:
    """Take documents, and folders of them, into the catalog of a bank, and bring all that is in it
    up to date. Documents lie below the folder that the bank is in."""
    if chunk_tokens < LEAST_TOKENS:
        raise UserError(
            f"chunks of {chunk_tokens} tokens are too small; give {LEAST_TOKENS} or more"
        )
    where = Path(folder)
    base = where.absolute().parent
    kept = _kept_chunks(where)
    found, skipped = _documents(paths, base, where)
    for key in sorted({header.source for header, _ in kept.values()} - found.keys()):
        more, missing = _documents([base / key] if is_key(key) else [], base, where, known=True)
        found |= more
        skipped += missing
    made: dict[str, tuple[Header, bytes]] = {}
    tags: dict[str, list[str]] = {}
    notes = []
    for key, name in _folder_names(found).items():
        text = found[key]
        if redactor.found(text):
            notes.append(
                f"{key} has what looks like a secret: in its chunks too, not in its summaries"
            )
        own = _own_tags(key, text)
        for number, chunk in enumerate(chunks_of(key, text, chunk_tokens), 1):
            path = f"{CHUNKS}/{name}/chunk-{number:02}.yaml"
            made[path] = _headed(key, number, chunk, kept, redactor), chunk.text.encode()
            words = [one for one in _heading_tags(chunk) if redactor.clean(one) == one]
            for tag in dict.fromkeys((*own, *words)) or (REST,):
                tags.setdefault(tag, []).append(path)
    written = _write(where, made, kept, tags)
    gone = tuple(path for path in kept if path not in made)
    for path in gone:
        _remove(where, path)
    return Indexed(
        documents=len(found),
        chunks=len(made),
        tags=len(tags),
        written=tuple(written),
        removed=gone,
        skipped=tuple(skipped),
        notes=tuple(notes),
    )


def _headed(
    key: str,
    number: int,
    chunk: Chunk,
    kept: Mapping[str, tuple[Header, bytes]],
    redactor: Redactor,
) -> Header:
    """What stands above a chunk. The summaries of a chunk with the same text stay: they are the
    same, or somebody wrote better ones."""
    digest = sha256(chunk.text.encode()).hexdigest()
    title = cut(foreign(redactor.clean(chunk.title)), TITLE)
    header = Header(
        source=key,
        chunk_index=number,
        token_estimate=estimated(chunk.text),
        hash=digest,
        title=title,
    )
    for before, _ in kept.values():
        if (before.source, before.hash, before.title) == (key, digest, title):
            return replace(header, summary_128=before.summary_128, summary_512=before.summary_512)
    text = redactor.clean(_prose(key, chunk.text))
    name = title or key.rpartition("/")[2]
    small = brief_128(text, title=name, sources=(key,))
    return replace(header, summary_128=small, summary_512=brief_512(text, title=name))


def _own_tags(key: str, text: str) -> list[str]:
    """What a document's front matter says, and its folders."""
    front = FRONT_MATTER.match(text[:LOOKED_AT])
    try:
        said = _loaded(key, front[1]) if front else {}
    except BankMalformed:
        said = {}
    tags = said.get("tags") if isinstance(said, dict) else ()
    words = tags.split(",") if isinstance(tags, str) else tags or ()
    plain = (str(word) for word in (*words, *PurePosixPath(key).parts[:-1][-3:]))
    tagged = ("-".join(one_line(word).casefold().split())[:TAG].strip("-.") for word in plain)
    return [tag for tag in tagged if any(map(str.isalnum, tag))]


def _heading_tags(chunk: Chunk) -> list[str]:
    said = (lowered(path[-1]) for path in chunk.titles if path)
    return list(dict.fromkeys(word for one in said for word in _WORD.findall(one)))[
        :TAGS_OF_HEADINGS
    ]


def _documents(
    paths: Iterable[str | PathLike[str]], root: Path, bank: Path, *, known: bool = False
) -> tuple[dict[str, str], list[Skipped]]:
    """Texts by their path from the root. What is named must be there; what lies in a named folder
    and is no document is skipped, and so is what is gone of a catalog (`known`)."""
    found: dict[str, str] = {}
    skipped: list[Skipped] = []
    base, own = Path(os.path.abspath(root)), Path(os.path.abspath(bank))
    for path in paths:
        full = Path(os.path.abspath(path))
        if not full.is_relative_to(base):
            raise FileRefused(str(path), f"it lies outside {str(root)!r}; name files below it")
        for file in _files(full, own):
            key = file.relative_to(base).as_posix()
            try:
                if key not in found and is_key(key):
                    found[key] = _text(key, base)
            except FileRefused as error:
                if file == full and not known:
                    raise
                skipped.append(Skipped(path=key, why=error.why))
            if len(found) > MOST_DOCUMENTS:
                raise UserError(f"more than {MOST_DOCUMENTS:,} documents; name smaller folders")
    return found, skipped


def _files(path: Path, bank: Path) -> Iterator[Path]:
    if not path.is_dir() or path.is_symlink():
        yield path
        return
    for place, folders, names in os.walk(path):
        here = Path(place)
        made = {*MADE_BY_TOOLS, *([CHUNKS] if (here / CATALOG).exists() else [])}
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in made)
        for name in sorted(names):
            if name[0] != "." and not (name == CATALOG and here == bank):
                yield here / name


def _text(key: str, root: Path) -> str:
    *folders, name = PurePosixPath(key).parts
    with folder_below(root, folders, largest=LARGEST) as folder:
        held = folder.read(name) if folder else None
    if held is None:
        raise FileRefused(key, "there is no such file; check the path")
    try:
        text = held.data.decode()
    except UnicodeDecodeError:
        raise FileRefused(key, "it is not UTF-8 text") from None
    if not text or "\0" in text:
        raise FileRefused(key, "it is binary" if text else "it is empty")
    return text


def is_key(key: str) -> bool:
    """Whether a path that a file names stays below the root."""
    return key.isprintable() and not {"", ".", ".."} & set(key.split("/"))


def _folder_names(keys: Iterable[str]) -> dict[str, str]:
    """A folder's name for each document, safe on every system: its path with points for slashes,
    without what it ends with; with a hash where it is not safe or another has that name."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in sorted(keys):
        path = PurePosixPath(key)
        plain = ".".join([*path.parts[:-1], path.stem])
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("._-")
        try:
            is_safe = name == plain and bool(checked("source", name))
        except BadName:
            is_safe = False
        if not is_safe or name.casefold() in taken:
            digest = sha256(key.encode()).hexdigest()[:12]
            name = f"{name[:40].replace('.', '-') or 's'}-{digest}"
        taken.add(name.casefold())
        names[key] = name
    return names


# The files.


def chunk_order(path: str) -> tuple[str, int, str]:
    folder, _, file = path.rpartition("/")
    return folder, len(file), file


def _loaded(name: str, text: str) -> Any:
    """YAML as words, lists and maps. Raises BankMalformed."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(text, Loader=loader)  # it builds nothing but strings, lists and maps
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise BankMalformed(name, line, f"this is not YAML: {one_line(str(error))[:120]}") from None


def _dumped(value: Any) -> str:
    import yaml

    plain, dumper = msgspec.to_builtins(value), getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(plain, Dumper=dumper, width=2**30, allow_unicode=True, sort_keys=False))


def read_chunk(name: str, data: bytes) -> tuple[Header, str]:
    """The front matter and the body of a chunk."""
    text = data.decode("utf-8", "replace")
    front = FRONT_MATTER.match(text)
    said: Any = _loaded(name, front[1]) if front else {}
    try:
        known = {key: said[key] for key in Header.__struct_fields__ if key in said}
        header = msgspec.convert(known, Header, strict=False)
    except (TypeError, msgspec.ValidationError) as error:
        why = f"this is not the front matter of a chunk ({error}); remove the file and index again"
        raise BankMalformed(name, 1, why) from None
    assert front is not None
    return header, text[front.end() :].removeprefix("\n")


def read_catalog(name: str, data: bytes) -> dict[str, list[Listed]]:
    said = _loaded(name, data.decode("utf-8", "replace")) or {}
    try:
        return msgspec.convert(said, dict[str, list[Listed]], strict=False)
    except msgspec.ValidationError as error:
        why = f"this is not a catalog ({error}); remove it and index again"
        raise BankMalformed(name, 1, why) from None


def _listed_in(folder: Folder | None) -> list[str]:
    return sorted(os.listdir(folder.descriptor)) if folder else []


def _kept_chunks(where: Path) -> dict[str, tuple[Header, bytes]]:
    """All chunks by their path, which is all that is ever replaced or removed."""
    found: dict[str, tuple[Header, bytes]] = {}
    with folder_below(where, [CHUNKS]) as chunks:
        names = _listed_in(chunks)
    for name in names:
        with folder_below(where, [CHUNKS, name]) as folder:
            for file in filter(_CHUNK.fullmatch, _listed_in(folder)):
                if folder and (held := folder.read(file)):
                    path = f"{CHUNKS}/{name}/{file}"
                    found[path] = read_chunk(path, held.data)[0], held.data
    return {path: found[path] for path in sorted(found, key=chunk_order)}


def _write(
    where: Path,
    made: Mapping[str, tuple[Header, bytes]],
    kept: Mapping[str, tuple[Header, bytes]],
    tags: Mapping[str, Sequence[str]],
) -> list[str]:
    """Chunks first, then the catalog that names them; only what changed."""
    files = {
        path: f"---\n{_dumped(header)}---\n".encode() + body
        for path, (header, body) in made.items()
    }
    rows = {
        tag: [
            Listed(
                path=path,
                summary_128=made[path][0].summary_128,
                tokens=made[path][0].token_estimate,
                hash=made[path][0].hash,
            )
            for path in sorted(tags[tag], key=chunk_order)
        ]
        for tag in sorted(tags)
    }
    files[CATALOG] = f"{HEAD}{_dumped(rows)}".encode()
    written = []
    for path, data in files.items():
        *folders, file = path.split("/")
        if path not in kept or kept[path][1] != data:
            with folder_below(where, folders, create=True) as folder:
                assert folder is not None
                held = folder.read(file)
                if held is None or held.data != data:
                    folder.update(file, lambda _, data=data: data, mode=None)  # type: ignore[misc]
                    written.append(path)
    return written


def _remove(where: Path, path: str) -> None:
    """A chunk that the catalog no longer names, and its folder where nothing else is in it."""
    _, name, file = path.split("/")
    with folder_below(where, [CHUNKS, name]) as folder:
        assert folder is not None
        os.unlink(file, dir_fd=folder.descriptor)
        is_empty = not _listed_in(folder)
    with folder_below(where, [CHUNKS]) as chunks:
        if is_empty and chunks:
            os.rmdir(name, dir_fd=chunks.descriptor)


def lowered(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
