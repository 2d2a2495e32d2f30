"""A session as files: exported as lines and imported again, and files that orchestrators keep.

An export has one header; each large text before the first entry that refers to it; the entries in
order; the end. `packed` is what the store keeps, byte for byte: the chain is over these bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn

import msgspec
from msgspec.structs import asdict, replace

from kedgeline.errors import (
    BadSettings,
    FileRefused,
    NoSuchSession,
    OutputUnwritable,
    SourceUnreadable,
    StoreDamaged,
    UserError,
)
from kedgeline.files import checked, folder_below
from kedgeline.model import Summary, Transcript, Turn, Value
from kedgeline.redact import Redactor
from kedgeline.session.archive import (
    SPOKEN,
    Blob,
    Clean,
    Damaged,
    as_it_is,
    checked_text,
    decompressed,
    packed,
    passages_of,
    unpacked,
)
from kedgeline.session.checking import SAYS, Audit
from kedgeline.session.deciding import Growing
from kedgeline.session.journal import PLACED, Recorded
from kedgeline.settings import SESSION_FILE
from kedgeline.store import Entry, Head, Kind, Passage, Store, Writing
from kedgeline.store.protocol import chain_of, linked
from kedgeline.summary import entries_of, session_file
from kedgeline.summary.compression_state import (
    KEY,
    SESSION,
    compression_state,
    count_of,
    extended,
    mark_of,
    no_state,
    updated,
)
from kedgeline.summary.levels import Count
from kedgeline.summary.markdown import rewritten, taken_up, without_record
from kedgeline.tokens import EXACT

FORMAT, VERSION = "kedgeline-session", 2
LONGEST_HEADER = 1 << 16
"""Bytes of the first line: what is no export is refused by it, before more is read."""
LONGEST_LINE = 1 << 30
LARGEST_DATA = 1 << 27
"""Bytes that the data of an imported entry may unpack to. Large texts are never in it."""

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""What every store can keep."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", omit_defaults=True):
    """The first field of a line says what it is."""


class _Header(_Line, frozen=True, tag="header"):
    format: str
    version: int
    session: str
    entries: int
    redacted: bool = False
    """Whether secrets were left out. Then ids and chains were made anew."""


class TextLine(_Line, frozen=True, tag="text"):
    hash: str
    packed: bytes


class EntryLine(_Line, frozen=True, tag="entry"):
    number: Whole
    kind: Kind
    chain: str
    at: Whole = 0
    thread: str = ""
    index: Whole = -1
    tokens: Whole = 0
    id: str = ""
    key: str = ""
    blobs: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    packed: bytes = b""

    def entry(self) -> Entry:
        fields = asdict(self)
        return Entry(data=fields.pop("packed"), **fields)


class _End(_Line, frozen=True, tag="end"):
    entries: int
    chain: str
    """Of the last entry."""
    hash: str
    """SHA-256 over all lines before this one."""


AnyLine = _Header | TextLine | EntryLine | _End
Watch = Callable[[int, int], None]
"""Gets how many entries are done, and how many there are."""


# Entries without the secrets in them.


class Redaction:
    """Sees the entries of a session in order. Of an entry that is changed, the ids of the messages
    it absorbed are left out: they are hashes of what was said, and a short secret could be
    guessed."""

    def __init__(self, cleaning: Redactor) -> None:
        self._cleaning, self._head = cleaning, Head()
        self._chains: dict[int, str] = {}
        """Of the turns, by their numbers: the record of a compaction names one."""
        self._threads: dict[str, str] = {}
        """The cleaned names of sub-agents: two must not become one."""

    def cleaned(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        """The next entry without secrets, with its number and chain; and the texts it refers to,
        where these are others than before."""
        entry = replace(entry, thread=self._thread(entry.thread))
        if self._cleaning.clean(entry.key) != entry.key:
            entry = replace(entry, key="")
        entry, texts = self._without_secrets(entry, blob)
        made = linked(entry, self._head)
        self._head = Head(number=made.number, chain=made.chain)
        if made.kind == "turn":
            self._chains[made.number] = made.chain
        return made, texts

    def _without_secrets(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        expected = SAYS.get(entry.kind)
        if expected is None:
            return entry, None
        was = unpacked(entry.data, expected, blob)
        now = self._value(was)
        if isinstance(now, Recorded):
            now = replace(now, chain=self._chains.get(now.folded, ""))
        if isinstance(now, (Turn, Transcript)) and now.agent != entry.thread:
            now = replace(now, agent=entry.thread)
        if now == was:
            return entry, None
        made = packed(now, beside=PLACED if entry.kind in SPOKEN else ())
        said = () if entry.kind in SPOKEN else entry.said
        anew = replace(entry, data=made.data, id=made.id, blobs=tuple(made.blobs), said=said)
        return anew, made.blobs

    def _value(self, value: Value) -> Value:
        if isinstance(value, Turn):
            return self._cleaning.turn(value)
        return msgspec.convert(self._tree(msgspec.to_builtins(value)), type(value))

    def _tree(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._cleaning.clean(value)
        if isinstance(value, dict):
            return {key: self._tree(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._tree(inner) for inner in value]
        return value

    def _thread(self, name: str) -> str:
        if name not in self._threads:
            cleaned, taken = self._cleaning.clean(name), {*self._threads.values()}
            same = sum(1 for one in taken if one.startswith(cleaned)) if cleaned != name else 0
            self._threads[name] = f"{cleaned} {same + 1}" if same else cleaned
        return self._threads[name]


# Exporting.


class ExportReport(Value, frozen=True):
    session: str
    entries: int
    texts: int
    """Large texts, each written once."""
    bytes: int
    redacted: bool


def export_session(
    store: Store,
    name: str,
    target: BinaryIO,
    *,
    cleaning: Redactor | None = None,
    watch: Watch | None = None,
) -> ExportReport:
    """Write a session as it is now. Originals are exported as they are, secrets included, unless
    `cleaning` takes these out. `Damaged` where something is not what was written: an export is
    whole or there is none."""
    head = store.head(checked("session", name))
    if not head.number:
        raise NoSuchSession(name)
    written: set[str] = set()
    size, chain, hashed = 0, "", sha256()

    def write(line: _Line) -> None:
        nonlocal size
        data = json.dumps(msgspec.to_builtins(line)).encode("ascii") + b"\n"
        if len(data) > LONGEST_LINE:
            raise OutputUnwritable(f"a line would be longer than {LONGEST_LINE:,} bytes")
        target.write(data)
        hashed.update(data)
        size += len(data)

    redaction = Redaction(cleaning) if cleaning is not None else None
    header = _Header(format=FORMAT, version=VERSION, session=name, entries=head.number)
    write(replace(header, redacted=redaction is not None))
    for entry in _checked_entries(store, name, head):
        blobs: dict[str, bytes] | None = None
        if redaction is not None:
            entry, blobs = redaction.cleaned(entry, store.blob)
        for hash in entry.blobs:
            if hash not in written:
                written.add(hash)
                data = store.blob(hash) if blobs is None else blobs[hash]
                checked_text(hash, data)
                write(TextLine(hash=hash, packed=data or b""))
        fields = asdict(entry)
        write(EntryLine(packed=fields.pop("data"), **fields))
        chain = entry.chain
        if watch is not None:
            watch(entry.number, head.number)
    write(_End(entries=head.number, chain=chain, hash=hashed.hexdigest()))
    return ExportReport(
        session=name,
        entries=head.number,
        texts=len(written),
        bytes=size,
        redacted=redaction is not None,
    )


def _checked_entries(store: Store, name: str, head: Head) -> Iterator[Entry]:
    """The entries up to a head, each compared with its chain."""
    before = Head()
    for entry in store.entries(name):
        if entry.number != before.number + 1:
            break
        if entry.chain != chain_of(entry, before.chain):
            raise Damaged(f"entry {entry.number} of {name} breaks its chain")
        yield entry
        before = Head(number=entry.number, chain=entry.chain)
        if entry.number == head.number:
            return
    raise Damaged(f"entry {before.number + 1} of {name} is gone")


# Importing: a session as a whole or not at all.


class ImportReport(Value, frozen=True):
    session: str
    """The name it has here."""
    origin: str
    """The name it had."""
    entries: int
    texts: int
    redacted: bool


def import_session(
    store: Store,
    source: BinaryIO,
    *,
    name: str | None = None,
    clean: Clean = as_it_is,
    cleaning: Redactor | None = None,
    label: str = "<file>",
    watch: Watch | None = None,
) -> ImportReport:
    """Import an exported session, under its own name or another. All hashes, ids, chains and
    references are checked; what is wrong raises `FileRefused`, and nothing is changed.

    `clean` takes secrets out of the index of words, `cleaning` out of all of it: ids and chains are
    made anew then. `label` names the source in messages."""
    lines = _Lines(source, label)
    header = lines.header()
    session = checked("session", header.session if name is None else name)
    with store.writing(session) as writing:
        if writing.head(session).number:
            raise UserError(f"there already is a session {session!r}; choose another name")
        importing = _Importing(lines, writing, clean, cleaning)
        for line in lines:
            if isinstance(line, TextLine):
                importing.text(line)
            elif isinstance(line, EntryLine):
                importing.entry(line)
                if watch is not None:
                    watch(line.number, header.entries)
            elif isinstance(line, _End):
                importing.end(line, header)
                break
        lines.refuse_more()
        audit = Audit(writing, session)
        for entry in writing.entries(session):
            for fault in audit.faults(entry):
                lines.refuse(f"its entry {entry.number}: {fault}")
    return ImportReport(
        session=session,
        origin=header.session,
        entries=header.entries,
        texts=importing.texts,
        redacted=header.redacted or cleaning is not None,
    )


class _Lines:
    """The lines of a file, none longer than it may be."""

    def __init__(self, source: BinaryIO, label: str) -> None:
        self._source, self._label = source, label
        self._number, self._hash = 0, sha256()

    def refuse(self, why: str) -> NoReturn:
        raise FileRefused(self._label, f"{why}; nothing was changed")

    def header(self) -> _Header:
        data = self._read(LONGEST_HEADER + 1)
        self._number = 1
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            self.refuse("it is not an exported session")
        if (version := found.get("version")) != VERSION:
            older = isinstance(version, int) and version < VERSION
            step = "export it again with this one" if older else "upgrade kedgeline"
            another = f"{'an older' if older else 'a newer'} kedgeline wrote it"
            self.refuse(f"{another} (version {version}, this one reads {VERSION}); {step}")
        header = self._line(data)
        assert isinstance(header, _Header)
        return header

    def __iter__(self) -> Iterator[AnyLine]:
        while True:
            before, data = self._hash.hexdigest(), self._read(LONGEST_LINE + 1)
            self._number += 1
            line = self._line(data)
            if isinstance(line, _End) and line.hash != before:
                self.refuse("its lines were changed")
            yield line

    def _line(self, data: bytes) -> AnyLine:
        if len(data) > LONGEST_LINE:
            self.refuse(f"its line {self._number} is too long")
        if not data.endswith(b"\n"):
            self.refuse(f"it breaks off in line {self._number}")
        try:
            found: AnyLine = msgspec.convert(json.loads(data), AnyLine)
        except (ValueError, RecursionError) as error:
            self.refuse(f"its line {self._number} cannot be read: {error}")
        return found

    def refuse_more(self) -> None:
        if self._read(1):
            self.refuse("something follows behind its end")

    def _read(self, most: int) -> bytes:
        try:
            data = self._source.readline(most)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise SourceUnreadable(self._label, why.lower()) from error
        self._hash.update(data)
        return data


class _Importing:
    """Writes line by line, and checks what cannot be checked afterwards."""

    def __init__(
        self, lines: _Lines, writing: Writing, clean: Clean, cleaning: Redactor | None
    ) -> None:
        self._refuse, self._writing, self._clean = lines.refuse, writing, clean
        self._redaction = Redaction(cleaning) if cleaning is not None else None
        self._head, self._growing = Head(), Growing()
        self._keys: set[str] = set()
        self._texts: set[str] = set()
        self._held: dict[str, bytes] = {}
        """Texts for the next entry."""
        self._withheld: dict[str, bytes] = {}
        """Texts with a secret: they are not written, and later entries may refer to them."""

    @property
    def texts(self) -> int:
        return len(self._texts)

    def text(self, line: TextLine) -> None:
        if line.hash in self._texts:
            self._refuse(f"the text {line.hash[:12]!r} is in it twice")
        self._texts.add(line.hash)
        self._held[line.hash] = line.packed

    def entry(self, line: EntryLine) -> None:
        entry, where = line.entry(), f"its entry {line.number}"
        if entry != linked(entry, self._head):
            self._refuse(f"{where} is not the next, or was changed")
        self._head = Head(number=entry.number, chain=entry.chain)
        if not self._held.keys() <= set(entry.blobs) <= self._texts:
            self._refuse(f"{where} does not refer to the texts before it, or to others")
        if entry.key and entry.key in self._keys:
            self._refuse(f"{where} repeats a key")
        self._keys.add(entry.key)
        try:
            if entry.data:
                decompressed(entry.data, largest=LARGEST_DATA)
            for hash, data in self._held.items():
                checked_text(hash, data)
            self._write(entry)
        except StoreDamaged as error:
            self._refuse(f"{where} cannot be read: {error.why}")
        self._held = {}

    def _write(self, entry: Entry) -> None:
        blobs: dict[str, bytes] = self._held
        if self._redaction is not None:
            entry, others = self._redaction.cleaned(entry, self._blob)
            if others is not None:
                self._withheld |= {hash: blobs[hash] for hash in blobs if hash not in others}
                blobs = others
        passages: tuple[Passage, ...] = ()
        if entry.kind in SPOKEN:
            turn = unpacked(entry.data, Turn, lambda hash: blobs.get(hash) or self._blob(hash))
            passages = tuple(passages_of(turn, self._clean))
        before = self._growing.instead_of(entry)
        self._writing.add(entry, blobs=blobs, passages=passages, instead_of=before)

    def _blob(self, hash: str) -> bytes | None:
        here = self._held.get(hash) or self._withheld.get(hash)
        return here or self._writing.blob(hash)

    def end(self, line: _End, header: _Header) -> None:
        if self._held:
            self._refuse("a text in it belongs to no entry")
        counted = (self._head.number, self._head.chain)
        if not self._head.number or (line.entries, line.chain) != counted:
            self._refuse(f"it has {self._head.number} entries, and says otherwise")
        if header.entries != line.entries:
            self._refuse("its first and last line differ in the number of entries")


# Session files that orchestrators keep beside a task, and the state in a state.json.

TOKENS = 2_048
"""Tokens of a session file, where none are given: the largest named level. What a person wrote into
it comes on top."""
CONTEXT = "## Prior Session Context"
"""Heading of the block for a sub-agent's prompt (seed 002)."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_OTHERS = {b"[": "a list", b'"': "a text", b"n": "null", b"t": "true", b"f": "false"}
"""What JSON is that is no object, by its first character; else it is a number."""


def write_session_file(
    root: str | Path,
    product: str,
    task: str,
    summary: Summary,
    *,
    tokens: int = TOKENS,
    count: Count = EXACT.count,
    session: str = "",
    template: str = SESSION_FILE,
) -> Path:
    """Write or update the session file of a task; what a person changed in it stays, and what one
    that others wrote says becomes part of it. The session's id tells whether what it holds is from
    an earlier session, which is then kept beside."""
    names = path_below(product, task, template=template)

    def change(before: bytes | None) -> bytes:
        text = "" if before is None else before.decode("utf-8", "surrogateescape")
        taken = taken_up(text)
        whole = replace(summary, carried=(*entries_of(taken.sections), *summary.carried))
        made = session_file(whole, tokens, count, task=task)
        fresh = made.encode("utf-8", "replace").decode()
        if taken.is_new:  # what is no section of ours stands behind all of them
            last = [line for line in fresh.split("\n") if line.startswith("### ")][-1]
            text = f"{last}\n{taken.rest}" if taken.rest else ""
        written = rewritten(fresh, text or None, session=session) + taken.line()
        return written.encode("utf-8", "surrogateescape")

    with folder_below(Path(root), names[:-1], create=True) as folder:
        if folder is not None:
            folder.update(names[-1], change)
    return Path(root, *names)


def read_session_file(
    root: str | Path, product: str, task: str, *, template: str = SESSION_FILE
) -> str | None:
    """What the session file of a task says; nothing for a fresh task."""
    names = path_below(product, task, template=template)
    with folder_below(Path(root), names[:-1]) as folder:
        held = folder.read(names[-1]) if folder is not None else None
    if held is None:
        return None
    return without_record(held.data.decode("utf-8-sig", "replace")).replace("\r\n", "\n")


def prior_context(text: str) -> str:
    """The block for the prompt of a sub-agent that goes on with a task."""
    return f"{CONTEXT}\n\n{text}"


def path_below(product: str, task: str, *, template: str = SESSION_FILE) -> tuple[str, ...]:
    """The names that lead from the root to a session file. No name leaves here unchecked."""
    given = {"{PRODUCT}": checked("product", product), "{TASK_ID}": checked("task", task)}
    if "{TASK_ID}" not in template:
        raise BadSettings("session_file", "{TASK_ID} must be in it, or tasks would share a file")
    names = tuple(
        re.sub(r"\{PRODUCT\}|\{TASK_ID\}", lambda found: given[found[0]], name)
        for name in template.split("/")
    )
    if any(name in ("", ".", "..") or re.search(r'[\x00-\x1f\\:*?"<>|{}]', name) for name in names):
        raise BadSettings("session_file", f"{template!r} must lead to a file below the root")
    return names


def write_state(
    path: str | Path,
    summary: Summary,
    *,
    at: datetime | None = None,
    probe_score: float | None = None,
    session: str = "",
) -> dict[str, Any]:
    """Extend `compression_state` in a state.json, and leave all else in it as it is. The same
    summary again is no further compression and changes nothing. The state of another session, which
    the session's id tells or its first request, is refused."""
    target = Path(path)
    if target.name in ("", ".."):
        raise FileRefused(str(path), "this is a folder; name the state.json in it")
    written: dict[str, Any] = {}

    def change(before: bytes | None) -> bytes:
        document = _read(before, str(path))
        known = _known(document, str(path))
        old = known.get(KEY)
        held = old.get(SESSION) if isinstance(old, dict) else None
        mark = mark_of(summary, session) or held
        if held and held != mark:
            raise FileRefused(
                str(path),
                f"it holds the state of another session; name another, or take {KEY} out",
            )
        state = compression_state(
            extended(summary, known), count=count_of(known), at=at, probe_score=probe_score
        )
        state |= {SESSION: mark} if mark else {}
        if isinstance(old, dict) and old.get("summary") == state["summary"]:
            state |= {"last_compressed_at": old.get("last_compressed_at")}
            state |= {"probe_score": old.get("probe_score") if probe_score is None else probe_score}
        else:
            state["compression_count"] += 1
        written.update(state)
        if before and state == old:
            return before
        return msgspec.json.format(msgspec.json.encode(updated(document, state)), indent=2) + b"\n"

    with folder_below(target.parent) as folder:
        if folder is not None:
            folder.update(target.name, change, mode=None)
    return written


def _read(data: bytes | None, name: str) -> dict[str, Any]:
    """The document with the values of its keys as they are spelt, so that nothing else changes."""
    if data is None:
        return {}
    bare = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return msgspec.json.decode(bare, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise no_state(name, _OTHERS.get(bare.lstrip()[:1], "a number")) from None
    except (msgspec.DecodeError, RecursionError):
        raise no_state(name, "no JSON") from None


def _known(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The part of a document that is ours, read."""
    try:
        return {KEY: msgspec.json.decode(document[KEY])} if KEY in document else {}
    except (msgspec.DecodeError, RecursionError):
        raise no_state(name, f"no JSON under {KEY}") from None
