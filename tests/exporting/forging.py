"""Exports changed by somebody who knows how they are made."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

import msgspec
import pytest

from kedgeline.errors import FileRefused
from kedgeline.session.archive import compressed, hash_of, packed_id
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.journal import PLACED
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store
from kedgeline.store.protocol import open_store
from kedgeline.store.values import chain_of
from tests.checking.planting import session_in
from tests.turns import turn

Lines = list[dict[str, Any]]


def an_export() -> bytes:
    store = open_store("memory:")
    session_in(store)
    target = BytesIO()
    export_session(store, "demo", target)
    return target.getvalue()


EXPORT = an_export()


def refused(data: bytes, store: Store | None = None, **given: Any) -> str:
    """Why; the store has what it had."""
    store = store or open_store("memory:")
    Session("there", store).append(turn(0, says="Was there before."))
    before = (list(store.sessions()), list(store.entries("there")), dict(store.loose()))
    with pytest.raises(FileRefused) as error:
        import_session(store, BytesIO(data), **given)
    assert (list(store.sessions()), list(store.entries("there")), dict(store.loose())) == before
    assert str(error.value).endswith("; nothing was changed")
    assert "\n" not in str(error.value)
    return error.value.why.removesuffix("; nothing was changed")


def sealed(changed: Lines) -> bytes:
    """Lines as they are, with a right end: whoever changes a file can make that too."""
    body = unsealed(changed[:-1])
    return body + unsealed([{**changed[-1], "hash": hash_of(body)}])


def unsealed(changed: Lines) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in changed)


def parsed() -> Lines:
    return [msgspec.json.decode(line) for line in EXPORT.splitlines()]


def rechained(changed: Lines) -> bytes:
    """The same for the chain."""
    before = ""
    for number, line in enumerate(changed):
        if line["line"] == "entry":
            line = {**line, "packed": base64.b64decode(line.get("packed", ""))}
            fields = {name: line[name] for name in line if name in Entry.__struct_fields__}
            fields |= {"data": line["packed"], "blobs": tuple(line.get("blobs", ()))}
            before = chain_of(Entry(**fields), before)
            changed[number]["chain"] = before
    changed[-1]["chain"] = before
    return sealed(changed)


def packed_anew(lines: Lines, number: int, **fields: Any) -> None:
    line = lines[number]
    data = {**line["data"], **fields}
    raw = b"1" + msgspec.json.encode(data)
    line["data"], line["packed"] = data, base64.b64encode(compressed(raw)).decode()
    line["id"] = packed_id(compressed(raw), beside=PLACED)
