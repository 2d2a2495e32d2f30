"""Documents in chunks with summaries, a catalog in which tags lead to them, and a search that reads
as little as it can (seed 003). Chunks and catalog can be thrown away and made again."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.bank.briefs import brief_128, brief_512
from kedgeline.bank.chunks import Chunk, chunks_of, spoken
from kedgeline.bank.entries import estimated
from kedgeline.bank.markdown import FRONT_MATTER
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
TITLE, TAG, TAGS_OF_HEADINGS = 200, 40, 4
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

_CHUNK = re.compile(r"chunk-(\d{2,6})\.yaml")
_WORD = re.compile(r"[^\W\d_][\w-]{2,39}")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BARE = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z_][a-z0-9_-]*")


class _Header(Value, frozen=True):
    """The front matter of a chunk, and its line in the catalog."""

    source: str
    chunk_index: int
    token_estimate: int
    hash: str
    title: str = ""
    summary_128: str = ""
    summary_512: str = ""


class _Listed(Value, frozen=True):
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


# Indexing.


def index(
    paths: Iterable[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    root: str | PathLike[str] | None = None,
    chunk_tokens: int = CHUNK_TOKENS,
    redactor: Redactor = REDACTOR,
) -> Indexed:
    """Take documents, and folders of them, into the catalog of a bank, and bring all that is in it
    up to date. Documents lie below the root, which is the bank's parent unless it is given."""
    if chunk_tokens < LEAST_TOKENS:
        raise UserError(
            f"chunks of {chunk_tokens} tokens hold nothing; give {LEAST_TOKENS} or more"
        )
    where = Path(folder)
    base = Path(root) if root is not None else where.absolute().parent
    with folder_below(where) as place:
        assert place is not None
        kept = _kept_chunks(place)
        found, skipped = _documents(paths, base, where)
        for key in sorted({header.source for header, _ in kept.values()} - found.keys()):
            more, missing = _documents([base / key] if is_key(key) else [], base, where, known=True)
            found |= more
            skipped += missing
        made: dict[str, tuple[_Header, bytes]] = {}
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
                path = f"{CHUNKS}/{name}/{_chunk_name(number)}"
                made[path] = _headed(key, number, chunk, kept, redactor), chunk.text.encode()
                words = [one for one in _heading_tags(chunk) if redactor.clean(one) == one]
                for tag in dict.fromkeys((*own, *words)) or (REST,):
                    tags.setdefault(tag, []).append(path)
        written = _write(place, made, kept, tags)
        gone = tuple(path for path in kept if path not in made)
        _remove(place, gone)
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
    kept: Mapping[str, tuple[_Header, bytes]],
    redactor: Redactor,
) -> _Header:
    """What stands above a chunk. The summaries of a chunk with the same text stay: they are the
    same, or somebody wrote better ones."""
    digest = sha256(chunk.text.encode()).hexdigest()
    title = cut(foreign(redactor.clean(chunk.title)), TITLE)
    header = _Header(
        source=key,
        chunk_index=number,
        token_estimate=estimated(chunk.text),
        hash=digest,
        title=title,
    )
    for before, _ in kept.values():
        if (before.source, before.hash, before.title) == (key, digest, title):
            return replace(header, summary_128=before.summary_128, summary_512=before.summary_512)
    text = redactor.clean(spoken(key, chunk.text))
    name = title or key.rpartition("/")[2]
    return replace(
        header,
        summary_128=brief_128(text, title=name, sources=(key,)),
        summary_512=brief_512(text, title=name),
    )


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
    said = (unicodedata.normalize("NFKC", path[-1]).casefold() for path in chunk.titles if path)
    words = (word for title in said for word in _WORD.findall(title) if word not in STOP)
    return list(dict.fromkeys(words))[:TAGS_OF_HEADINGS]


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
        for file in _files(full, own, skipped):
            key = file.relative_to(base).as_posix()
            try:
                if key not in found and is_key(key):
                    found[key] = _text(file, key, base)
            except FileRefused as error:
                if file == full and not known:
                    raise
                skipped.append(Skipped(path=key, why=error.why))
            if len(found) > MOST_DOCUMENTS:
                raise UserError(f"more than {MOST_DOCUMENTS:,} documents; name smaller folders")
    return found, skipped


def _files(path: Path, bank: Path, skipped: list[Skipped]) -> Iterator[Path]:
    if not path.is_dir() or path.is_symlink():
        yield path
        return
    for place, folders, names in os.walk(path):
        here = Path(place)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in MADE_BY_TOOLS
            and not (name == CHUNKS and (here / CATALOG).exists())
        )
        for name in sorted(names):
            if not name.startswith(".") and not (name == CATALOG and here == bank):
                yield here / name


def _text(file: Path, key: str, root: Path) -> str:
    *folders, name = PurePosixPath(key).parts
    with folder_below(root, folders, largest=LARGEST) as folder:
        held = folder.read(name) if folder else None
    if held is None:
        raise FileRefused(key, "there is no such file; check the path")
    try:
        text = held.data.decode()
    except UnicodeDecodeError:
        raise FileRefused(key, "it is no UTF-8 text") from None
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


def _chunk_name(number: int) -> str:
    return f"chunk-{number:02}.yaml"


def _order(path: str) -> tuple[str, int, str]:
    folder, _, file = path.rpartition("/")
    return folder, len(file), file


def _flow(value: object) -> str:
    """A value that is the same in YAML and JSON."""
    plain = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def _loaded(name: str, text: str) -> Any:
    """YAML as words, lists and maps. Raises BankMalformed."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(text, Loader=loader)  # it builds nothing but strings, lists and maps
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise BankMalformed(name, line, f"this is no YAML: {one_line(str(error))[:120]}") from None


def read_chunk(name: str, data: bytes) -> tuple[_Header, str]:
    """The front matter and the body of a chunk."""
    text = data.decode("utf-8", "replace")
    front = FRONT_MATTER.match(text)
    said: Any = _loaded(name, front[1]) if front else {}
    try:
        known = {key: said[key] for key in _Header.__struct_fields__ if key in said}
        header = msgspec.convert(known, _Header, strict=False)
    except (TypeError, msgspec.ValidationError) as error:
        why = f"this is no front matter of a chunk ({error}); remove the file and index again"
        raise BankMalformed(name, 1, why) from None
    assert front is not None
    return header, text[front.end() :].removeprefix("\n")


def read_catalog(name: str, data: bytes) -> dict[str, list[_Listed]]:
    said = _loaded(name, data.decode("utf-8", "replace")) or {}
    try:
        return msgspec.convert(said, dict[str, list[_Listed]], strict=False)
    except msgspec.ValidationError as error:
        why = f"this is no catalog ({error}); remove it and index again"
        raise BankMalformed(name, 1, why) from None


def _kept_chunks(place: Folder) -> dict[str, tuple[_Header, bytes]]:
    """All chunks by their path, which is all that is ever replaced or removed."""
    found: dict[str, tuple[_Header, bytes]] = {}
    with place.below(CHUNKS) as chunks:
        for name in sorted(os.listdir(chunks.descriptor)) if chunks else ():
            assert chunks is not None
            with chunks.below(name) as folder:
                for file in sorted(os.listdir(folder.descriptor)) if folder else ():
                    held = folder.read(file) if folder and _CHUNK.fullmatch(file) else None
                    if held is not None:
                        path = f"{CHUNKS}/{name}/{file}"
                        found[path] = read_chunk(path, held.data)[0], held.data
    return {path: found[path] for path in sorted(found, key=_order)}


def _write(
    place: Folder,
    made: Mapping[str, tuple[_Header, bytes]],
    kept: Mapping[str, tuple[_Header, bytes]],
    tags: Mapping[str, Sequence[str]],
) -> list[str]:
    """Chunks first, then the catalog that names them; only what changed."""
    written = []
    for path, (header, body) in made.items():
        rows = [f"{key}: {_flow(getattr(header, key))}\n" for key in header.__struct_fields__]
        data = "".join(["---\n", *rows, "---\n"]).encode() + body
        if path not in kept or kept[path][1] != data:
            _, name, file = path.split("/")
            with place.below(CHUNKS, create=True) as chunks:
                assert chunks is not None
                with chunks.below(name, create=True) as folder:
                    assert folder is not None
                    folder.update(file, lambda _, data=data: data, mode=None)  # type: ignore[misc]
            written.append(path)
    lines = [HEAD]
    for tag in sorted(tags):
        lines.append(f"{tag if _BARE.fullmatch(tag) else _flow(tag)}:\n")
        for path in sorted(tags[tag], key=_order):
            header, _ = made[path]
            lines.append(f"  - path: {_flow(path)}\n    summary_128: {_flow(header.summary_128)}\n")
            lines.append(f"    tokens: {header.token_estimate}\n    hash: {_flow(header.hash)}\n")
    data = "".join(lines if tags else [HEAD, "{}\n"]).encode()
    held = place.read(CATALOG)
    if held is None or held.data != data:
        place.update(CATALOG, lambda _: data, mode=None)
        written.append(CATALOG)
    return written


def _remove(place: Folder, paths: Iterable[str]) -> None:
    """Chunks that the catalog no longer names, and their folder where nothing else is in it."""
    for path in paths:
        _, name, file = path.split("/")
        with place.below(CHUNKS) as chunks:
            assert chunks is not None
            with chunks.below(name) as folder:
                assert folder is not None
                os.unlink(file, dir_fd=folder.descriptor)
                if not os.listdir(folder.descriptor):
                    os.rmdir(name, dir_fd=chunks.descriptor)


# Finding.

Step = Literal[1, 2, 3, 4]
STEPS: tuple[Step, ...] = (1, 2, 3, 4)
WHAT: dict[Step, str] = {
    1: "summaries of 128 tokens in catalog.yml",
    2: "summaries of 512 tokens of the chunks",
    3: "whole chunks",
    4: "source files",
}
HITS, COUNTED = 10, 5
"""Hits that are shown, and times that a word counts in one text."""
LINES_SHOWN, LINE_SHOWN, WHOLE = 6, 200, 2_400
"""Lines of one hit, characters of a line, and of all that is shown of a hit."""
_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,1000})[\"“”„]")
_EDGES = ".,;:!?()[]{}<>'`*_…。、，！？：；（）「」"


class Read(Value, frozen=True):
    """What a step looked at."""

    step: Step
    what: str
    items: int
    tokens: int
    """Estimated."""


class _Hit(Value, frozen=True):
    path: str
    """Of the chunk, from the bank's folder; of the source where only that answers."""
    source: str
    lines: tuple[int, int] = (0, 0)
    """Of the source, where the chunk stands or the words do; zeros where it changed."""
    text: str = ""
    """What answered, shortened."""
    tokens: int = 0
    """Estimated, of the chunk or the source as a whole."""
    missing: tuple[str, ...] = ()
    """Words of the query that it does not have."""
    stale: str = ""
    """Why the chunk is not what the source is now."""


class Found(Value, frozen=True):
    query: str
    step: Step
    """Where the search stopped."""
    answered: bool
    """Whether something has all words; else the hits are those that have most of them."""
    why: str
    hits: tuple[_Hit, ...] = ()
    more: int = 0
    """Hits that are not shown."""
    read: tuple[Read, ...] = ()
    notes: tuple[str, ...] = ()


class _Item(NamedTuple):
    """What a step looks at."""

    path: str
    source: str
    text: str
    beside: str
    """What counts besides: tags, titles, names."""
    tokens: int


class _Ranked(NamedTuple):
    item: _Item
    missing: tuple[str, ...]
    weight: int


def find(
    query: str,
    folder: str | PathLike[str],
    *,
    root: str | PathLike[str] | None = None,
    redactor: Redactor = REDACTOR,
    step: Step = 1,
    most: int = HITS,
) -> Found:
    """Chunks that have all words of a query, from the first step that has any. Words may be
    phrases in quotes. A search may begin at a later step."""
    words = _words_of(query)
    where = Path(folder)
    base = Path(root) if root is not None else where.absolute().parent
    shelf = _Shelf(where, base)
    nearest: list[_Ranked] = []
    read: list[Read] = []
    at = step
    for number in STEPS[step - 1 :]:
        items = list(shelf.items(number))
        ranked = list(filter(None, (_ranked(words, item) for item in items)))
        ranked.sort(key=lambda one: (len(one.missing), -one.weight, _order(one.item.path)))
        tokens = sum(estimated(item.text) for item in items)
        read.append(Read(step=number, what=WHAT[number], items=len(items), tokens=tokens))
        if ranked and (not nearest or len(ranked[0].missing) < len(nearest[0].missing)):
            nearest, at = ranked, number
        if nearest and not nearest[0].missing:
            break
    left = min((len(one.missing) for one in nearest), default=0)
    best = [one for one in nearest if len(one.missing) == left]
    answered = bool(best) and not left
    asked = ", ".join(words)
    why = f"nothing has any of: {asked}"
    if answered:
        why = f"step {at}, {WHAT[at]}: {len(best)} with all of: {asked}"
    elif best:
        why = f"nothing has all of: {asked}; the nearest were found at step {at}, {WHAT[at]}"
    return Found(
        query=query,
        step=at if answered else STEPS[-1],
        answered=answered,
        why=why,
        hits=tuple(_hit(one, at, words, shelf, redactor) for one in best[:most]),
        more=len(best[most:]),
        read=tuple(read),
        notes=tuple(shelf.notes),
    )


class _Shelf:
    """The catalog, chunks and sources as they are now."""

    def __init__(self, bank: Path, root: Path) -> None:
        self._bank, self._root = bank, root
        self.notes: list[str] = []
        data = self._data(bank, CATALOG)
        if data is None:
            raise UserError(
                f"{str(bank)!r} has no {CATALOG}; `kedgeline bank index PATH` makes one"
            )
        self._rows: dict[str, tuple[_Listed, list[str]]] = {}
        for tag, listed in read_catalog(CATALOG, data).items():
            for row in listed:
                self._rows.setdefault(row.path, (row, []))[1].append(tag)

    def items(self, step: Step) -> Iterator[_Item]:
        sources: dict[str, None] = {}
        for path, (row, tags) in self._rows.items():
            beside = f"{' '.join(tags)} {path}"
            if step == 1:
                yield _Item(path, "", row.summary_128, beside, row.tokens)
            elif chunk := self.chunk(path):
                header, body = chunk
                sources[header.source] = None
                text = header.summary_512 if step == 2 else body
                beside = f"{beside} {header.title} {header.summary_128} {header.source}"
                if step < 4:
                    yield _Item(path, header.source, text, beside, row.tokens)
        for key in sources if step == 4 else ():
            if (whole := self.source(key)) is not None:
                yield _Item(key, key, whole, "", estimated(whole))

    def chunk(self, path: str) -> tuple[_Header, str] | None:
        data = self._data(self._bank, path)
        if data is None:
            note = f"{path} is named by the catalog and not there; index again"
            self.notes = [*dict.fromkeys((*self.notes, note))]
        return None if data is None else read_chunk(path, data)

    def source(self, key: str) -> str | None:
        data = self._data(self._root, key)
        return None if data is None else data.decode("utf-8", "replace")

    def _data(self, root: Path, path: str) -> bytes | None:
        if not is_key(path):
            self.notes.append(f"{path[:200]!r} leads out of the folder and is not read")
            return None
        *folders, name = PurePosixPath(path).parts
        try:
            with folder_below(root, folders) as folder:
                held = folder.read(name) if folder else None
        except FileRefused as error:
            self.notes.append(str(error))
            return None
        return held.data if held else None


def _ranked(words: Mapping[str, re.Pattern[str]], item: _Item) -> _Ranked | None:
    """An item with at least one of the words."""
    beside, inside = _lowered(item.beside), _lowered(item.text)
    missing, weight = [], 0
    for word, pattern in words.items():
        times = len(pattern.findall(inside)[:COUNTED]) + 2 * len(pattern.findall(beside)[:COUNTED])
        weight += times
        missing += [] if times else [word]
    return _Ranked(item, tuple(missing), weight) if weight else None


def _hit(
    one: _Ranked,
    step: Step,
    words: Mapping[str, re.Pattern[str]],
    shelf: _Shelf,
    redactor: Redactor,
) -> _Hit:
    item = one.item
    source, lines, stale = item.source, (1, 0), ""
    if step < 4:
        source, lines, stale = _standing(shelf, item.path)
    text = item.text
    if step >= 3:
        lines, text = _lines_shown(words, text, lines[0])
    return _Hit(
        path=item.path,
        source=source,
        lines=lines,
        text=cut("\n".join(foreign(redactor.clean(line)) for line in text.split("\n")), WHOLE),
        tokens=item.tokens,
        missing=one.missing,
        stale=stale,
    )


def _standing(shelf: _Shelf, path: str) -> tuple[str, tuple[int, int], str]:
    """The source of a chunk, the lines where it stands there, and why it is not what the source is
    now."""
    chunk = shelf.chunk(path)
    if chunk is None:
        return "", (0, 0), "the chunk is gone"
    header, body = chunk
    now = shelf.source(header.source)
    if now is None:
        return header.source, (0, 0), "the source is gone"
    start = now.find(body)
    if start < 0:
        return header.source, (0, 0), "the source changed since"
    line = now.count("\n", 0, start) + 1
    return header.source, (line, line + body.rstrip("\n").count("\n")), ""


def _lowered(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _words_of(query: str) -> dict[str, re.Pattern[str]]:
    """Phrases in quotes and words; a word with points or slashes in it is one."""
    phrases = [" ".join(phrase.split()) for phrase in _QUOTED.findall(query)]
    bare = [word.strip(_EDGES) for word in _QUOTED.sub(" ", query).split()]
    said = [word for word in dict.fromkeys((*phrases, *bare)) if any(map(str.isalnum, word))]
    if not said:
        raise UserError("there are no words to look for; name some, or a phrase in quotes")
    return {word: _pattern(_lowered(word)) for word in said}


def _pattern(word: str) -> re.Pattern[str]:
    """A word as a whole, or with the s of a plural; a phrase over the end of a line. Scripts that
    put no blanks between words have no edges."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    before = r"(?<![a-z0-9_])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"s?(?![a-z0-9_])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.compile(f"{before}{inner}{after}")


def _lines_shown(
    words: Mapping[str, re.Pattern[str]], text: str, first: int
) -> tuple[tuple[int, int], str]:
    """Where the words stand, from the first line to the last, and these lines with their numbers.
    `first` is the number of the text's first line; 0 where it is not known."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), first):
        places = [found.start() for one in words.values() if (found := one.search(_lowered(line)))]
        if places:
            start = max(0, min(places) - LINE_SHOWN // 2) if len(line) > LINE_SHOWN else 0
            rows.append((number, cut("…" * bool(start) + line[start:].strip(), LINE_SHOWN)))
    if not rows:  # a phrase over the end of a line, or words of the title
        last = first + text.rstrip("\n").count("\n")
        return (first, last) if first else (0, 0), cut(one_line(text[:LOOKED_AT]), LINE_SHOWN)
    told = [f"{number}: {line}" if first else line for number, line in rows[:LINES_SHOWN]]
    if len(rows) > LINES_SHOWN:
        told.append(f"+{len(rows) - LINES_SHOWN} more lines")
    return (rows[0][0], rows[-1][0]) if first else (0, 0), "\n".join(told)
