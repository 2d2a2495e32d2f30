"""Values as bytes: large strings apart, by their hash, so that what repeats is kept once."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

from kedge.errors import StoreFailed
from kedge.model import Value

T = TypeVar("T", bound=Value)

LARGE = 2_048
"""Characters from which on a string is kept apart. A shorter one repeated costs less than the row
it would be kept in."""
LEVEL = 3
"""Of zstandard: 4 times smaller at some 300 MB/s; higher levels save little on such text."""
LARGEST = 2 << 30
"""Bytes that one packed value may have when it is unpacked: more is not of our making."""
SHOWN = 12
"""Letters of a hash in a message."""
PLAIN, ODD = b"1", b"2"
"""First byte of what is packed: JSON, or JSON with what most readers of it refuse (half a surrogate
pair, numbers beyond 64 bits, NaN)."""
REFERENCE, TEXT = "\0@", "\0="
"""What a string begins with that stands for a blob, and one that began with NUL itself."""

Blob = Callable[[str], bytes | None]
"""The packed bytes of a hash; None where they are gone."""

_local = threading.local()
_working_out = threading.Lock()
_worked_out: set[type[Value]] = set()


class Packed(NamedTuple):
    data: bytes
    blobs: dict[str, bytes]
    """What it refers to: packed bytes by hash."""
    id: str
    """Hash of what it says."""


def packed(value: Value, *, beside: Collection[str] = ()) -> Packed:
    """A value made ready to be stored. `beside` are fields that are no part of what it says, such
    as its place among others."""
    division = _Division()
    tree = division.divided(msgspec.to_builtins(value))
    data = _encoded(tree, odd=division.odd)
    blobs = {hash: compressed(text) for hash, text in division.texts.items()}
    return Packed(compressed(data), blobs, _id(tree, beside, odd=division.odd))


def content_id(value: Value, *, beside: Collection[str] = ()) -> str:
    """The id that the value has when it is packed."""
    division = _Division()
    tree = division.divided(msgspec.to_builtins(value))
    return _id(tree, beside, odd=division.odd)


def _id(tree: dict[str, Any], beside: Collection[str], *, odd: bool) -> str:
    said = {name: inner for name, inner in tree.items() if name not in beside}
    return hash_of(_encoded(said, odd=odd))


def _encoded(tree: Any, *, odd: bool) -> bytes:
    if odd:
        return ODD + json.dumps(tree, separators=(",", ":")).encode("ascii")
    return PLAIN + msgspec.json.encode(tree)


def unpacked(data: bytes, type: type[T], blob: Blob) -> T:
    """The value again, equal to what was packed. `Damaged` where it, or a text that it refers to,
    is not what was written."""
    return _converted(data, type, lambda hash: checked_text(hash, blob(hash)))


def readable(data: bytes, type: type[T], blob: Blob) -> T:
    """The value with a mark in the place of each text that is gone or damaged: the rest of it can
    still be read. `Damaged` only where the value itself is."""

    def text(hash: str) -> str:
        try:
            return checked_text(hash, blob(hash))
        except Damaged as error:
            return f"[{error.why}; `kedge fsck` says more]"

    return _converted(data, type, text)


def _converted(data: bytes, type: type[T], text: Callable[[str], str]) -> T:
    _work_out(type)
    try:
        return msgspec.convert(_restored(tree_of(data), text), type)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Damaged(str(error)) from error


def _work_out(kind: type[Value]) -> None:
    """msgspec works a type out when it is first used. Two threads that do so at once with a type
    that refers to itself bring the process down; so one does it for all."""
    if kind not in _worked_out:
        with _working_out:
            msgspec.json.Decoder(kind)
            _worked_out.add(kind)


def tree_of(data: bytes) -> Any:
    """What packed bytes say, as plain values in which references stand for large strings."""
    raw = decompressed(data)
    if raw[:1] not in (PLAIN, ODD):
        raise Damaged("it is not packed as we pack")
    try:
        return json.loads(raw[1:]) if raw[:1] == ODD else msgspec.json.decode(raw[1:])
    except (ValueError, RecursionError) as error:
        raise Damaged(str(error)) from error


def packed_id(data: bytes, *, beside: Collection[str] = ()) -> str:
    """The id of what packed bytes say: that of the value they were made from, whatever fields its
    type has got since."""
    tree = tree_of(data)
    if not isinstance(tree, dict):
        raise Damaged("it is no value of ours")
    return _id(tree, beside, odd=decompressed(data)[:1] == ODD)


def compressed(data: bytes) -> bytes:
    return bytes(_tools().compressor.compress(data))


def decompressed(data: bytes, *, largest: int = LARGEST) -> bytes:
    import zstandard  # with the first value that is packed or unpacked

    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= largest:
            raise Damaged("its size is not believable")
        return bytes(_tools().decompressor.decompress(data))
    except zstandard.ZstdError as error:
        raise Damaged(str(error)) from error


def hash_of(text: bytes) -> str:
    return sha256(text).hexdigest()


def as_bytes(text: str) -> bytes:
    """A string as it is hashed and kept: half a surrogate pair keeps its place."""
    return text.encode("utf-8", "surrogatepass")


def checked_text(hash: str, data: bytes | None) -> str:
    """The text that a blob keeps under a hash."""
    if data is None:
        raise Damaged(f"{hash[:SHOWN]} is gone")
    raw = decompressed(data)
    if hash_of(raw) != hash:
        raise Damaged(f"{hash[:SHOWN]} is not what was written")
    return raw.decode("utf-8", "surrogatepass")


class Damaged(StoreFailed):
    """What is stored is not what was written."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "archive", f"an original is damaged: {why}", next_step="`kedge fsck` says which"
        )


class _Division:
    """Walks a tree of plain values and puts large strings aside."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.odd = False

    def divided(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            for key in value:
                self.odd = self.odd or not _is_encodable(key)
            return {key: self.divided(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.divided(inner) for inner in value]
        if isinstance(value, float):
            self.odd = self.odd or not math.isfinite(value)
        elif isinstance(value, int):
            self.odd = self.odd or not -(1 << 63) <= value < 1 << 64
        return value

    def _text(self, text: str) -> str:
        if len(text) >= LARGE:
            raw = as_bytes(text)
            hash = hash_of(raw)
            self.texts[hash] = raw
            return REFERENCE + hash
        self.odd = self.odd or not _is_encodable(text)
        return TEXT + text if text.startswith("\0") else text


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _restored(tree: Any, text: Callable[[str], str]) -> Any:
    """The tree with each text in its place. It is changed where it stands: the record of a long
    session has some hundred thousand values, and few of them are references."""
    top = [tree]
    left: list[Any] = [top]
    while left:
        values = left.pop()
        places = values.items() if isinstance(values, dict) else enumerate(values)
        for place, inner in places:
            if isinstance(inner, str):
                if inner.startswith("\0"):
                    values[place] = _said(inner, text)
            elif isinstance(inner, (dict, list)):
                left.append(inner)
    return top[0]


def _said(value: str, text: Callable[[str], str]) -> str:
    if value.startswith(TEXT):
        return value.removeprefix(TEXT)
    return text(value.removeprefix(REFERENCE))


def references(data: bytes) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The hashes that packed bytes refer to, each with the path of fields that leads to it."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), tree_of(data))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, place), inner) for place, inner in enumerate(value))
        elif isinstance(value, str) and value.startswith(REFERENCE):
            yield path, value.removeprefix(REFERENCE)


class _Tools:
    def __init__(self) -> None:
        import zstandard

        # With a checksum: a flipped bit is not taken for another text.
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


def _tools() -> _Tools:
    """Those of this thread: they must not be shared."""
    found: _Tools | None = getattr(_local, "tools", None)
    if found is None:
        found = _local.tools = _Tools()
    return found
