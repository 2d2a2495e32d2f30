"""Exports changed by somebody who knows how they are made."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from kedgeline.errors import FileRefused
from kedgeline.session.archive import compressed, decompressed, hash_of, packed_id
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.journal import PLACED
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store, open_store
from kedgeline.store.protocol import chain_of
from tests.checking.planting import session_in
from tests.turns import turn

Lines = list[dict[str, Any]]
Change = Callable[[Lines], object]


def exported(store: Store, name: str = "demo", **given: Any) -> bytes:
    target = BytesIO()
    report = export_session(store, name, target, **given)
    assert report.bytes == len(target.getvalue())
    return target.getvalue()


def an_export() -> bytes:
    store = open_store("memory:")
    session_in(store)
    return exported(store)


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


def parsed() -> Lines:
    """Header, the text of the first output, and the entries of four turns and three of pins."""
    return [json.loads(line) for line in EXPORT.splitlines()]


def sealed(changed: Lines) -> bytes:
    """Lines as they are, with a right end: whoever changes a file can make that too."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in changed[:-1])
    return body + json.dumps({**changed[-1], "hash": hash_of(body)}).encode() + b"\n"


def rechained(changed: Lines) -> bytes:
    """The same for the chain."""
    before = ""
    for line in changed:
        if line["line"] == "entry":
            fields = {name: line[name] for name in line if name in Entry.__struct_fields__}
            fields |= {"data": base64.b64decode(line.get("packed", ""))}
            fields |= {name: tuple(line.get(name, ())) for name in ("blobs", "said")}
            line["chain"] = before = chain_of(Entry(**fields), before)
    changed[-1]["chain"] = before
    return sealed(changed)


def unpacked_text(line: dict[str, Any]) -> bytes:
    return decompressed(base64.b64decode(line["packed"]))


def packed_anew(line: dict[str, Any], **fields: Any) -> None:
    """An entry that says something else."""
    data = {**json.loads(unpacked_text(line)[1:]), **fields}
    made = compressed(b"1" + json.dumps(data).encode())
    line["packed"] = base64.b64encode(made).decode()
    line["id"] = packed_id(made, beside=PLACED)
