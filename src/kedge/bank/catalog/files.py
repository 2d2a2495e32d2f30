"""A chunk and the catalog as files: written in one form, read in that and in older ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from kedge.bank.catalog.safe_yaml import Node, block, load, name, quoted
from kedge.bank.catalog.values import Listed
from kedge.errors import BankMalformed

HEADER_MOST = 1 << 16
"""Bytes of a chunk's front matter: two summaries have less than a tenth of it."""
OURS = (
    "source",
    "chunk_index",
    "token_estimate",
    "hash",
    "title",
    "summary_128",
    "summary_512",
)
"""Fields of a chunk's front matter, in their order."""
OLD = "summary"
"""The only summary that chunks of the field have."""
HEAD = "# Made by kedge from the documents it names. Tags lead to chunks.\n"

_ROW = ("  - path: ", "    summary_128: ", "    tokens: ", "    hash: ")


class Header(NamedTuple):
    source: str = ""
    chunk_index: int = 0
    token_estimate: int = 0
    hash: str = ""
    title: str = ""
    summary_128: str = ""
    summary_512: str = ""
    further: str = ""
    """Lines of somebody else, as they are."""
    tags: tuple[str, ...] = ()
    """What somebody wrote under `tags`."""
    old: bool = False
    """Whether it is of the field, and not made here."""


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def chunk_file(header: Header, body: bytes) -> bytes:
    rows = [
        f"source: {quoted(header.source)}",
        f"chunk_index: {header.chunk_index}",
        f"token_estimate: {header.token_estimate}",
        f"hash: {quoted(header.hash)}",
        f"title: {quoted(header.title)}",
        f"summary_128: {quoted(header.summary_128)}",
        f"summary_512: {block(header.summary_512)}",
    ]
    head = "\n".join(["---", *rows]) + "\n" + header.further
    return head.encode() + b"---\n" + body


def read_chunk(file: str, data: bytes) -> tuple[Header, bytes]:
    """The front matter and the body of a chunk."""
    first = data.find(b"\n") + 1
    if data[:first].rstrip() != b"---":
        raise BankMalformed(file, 1, "a chunk begins with a line of three dashes")
    end = re.compile(rb"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE).search(data, first, HEADER_MOST)
    if end is None:
        raise BankMalformed(file, 1, "the front matter has no end; close it with three dashes")
    try:
        text = data[first : end.start()].decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, first + error.start) + 1
        raise BankMalformed(file, line, "the front matter is not UTF-8") from error
    return _header(file, text), data[end.end() :]


def _header(file: str, text: str) -> Header:
    node = _loaded(file, text)
    if not isinstance(node.value, dict):
        raise BankMalformed(file, node.line + 1, "the front matter is no map of names to values")
    fields = node.value
    said = {key: _word(file, fields[key]) for key in (*OURS, OLD) if key in fields}
    old = "summary_128" not in said
    numbers = {key: _number(file, fields, key) for key in ("chunk_index", "token_estimate")}
    return Header(
        source=said.get("source", ""),
        **numbers,
        hash=said.get("hash", ""),
        title=said.get("title", ""),
        summary_128=said.get("summary_128", said.get(OLD, "")),
        summary_512=said.get("summary_512", ""),
        further=_further(text, fields),
        tags=words(fields.get("tags")),
        old=old,
    )


def _loaded(file: str, text: str) -> Node:
    """Lines are counted from the line of dashes above."""
    try:
        return load(file, text)
    except BankMalformed as error:
        raise BankMalformed(file, error.line + 1, error.why) from error


def _further(text: str, fields: dict[str, Node]) -> str:
    """The lines of names that are not ours, and comments wherever they stand."""
    lines = text.splitlines(keepends=True) if "\r" not in text else text.split("\n")
    lines = [line.rstrip("\r\n") + "\n" for line in lines]
    starts = {fields[key].line: key for key in fields}
    kept, theirs = [], False
    for number, line in enumerate(lines, 1):
        if number in starts:
            theirs = starts[number] not in (*OURS, OLD)
        if (theirs and line.strip()) or line.startswith("#"):
            kept.append(line)
    return "".join(kept)


def _word(file: str, node: Node) -> str:
    if not isinstance(node.value, str):
        raise BankMalformed(file, node.line + 1, "expected a word here, not a list or map")
    return node.value


def _number(file: str, fields: dict[str, Node], key: str) -> int:
    if key not in fields:
        return 0
    return number(file, fields[key], offset=1)


def number(file: str, node: Node, *, offset: int = 0) -> int:
    if not isinstance(node.value, str) or not re.fullmatch(r"[0-9]{1,12}", node.value):
        raise BankMalformed(file, node.line + offset, "expected a number here")
    return int(node.value)


def words(node: Node | None) -> tuple[str, ...]:
    """A list of words, or words with commas between them."""
    if node is None:
        return ()
    if isinstance(node.value, str):
        return tuple(word.strip() for word in node.value.split(",") if word.strip())
    return tuple(
        row.value for row in node.value if isinstance(row, Node) and isinstance(row.value, str)
    )


def catalog_file(tags: dict[str, list[Listed]]) -> bytes:
    rows = [HEAD]
    for tag in sorted(tags):
        rows.append(f"{name(tag)}:\n")
        rows.extend(_row(listed) for listed in tags[tag])
    return "".join(rows if tags else [HEAD, "{}\n"]).encode()


def _row(listed: Listed) -> str:
    values = (quoted(listed.path), quoted(listed.summary_128), listed.tokens, quoted(listed.hash))
    return "".join(f"{head}{value}\n" for head, value in zip(_ROW, values, strict=True))


def read_catalog(file: str, data: bytes) -> dict[str, list[Listed]]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BankMalformed(file, line, "it is not UTF-8") from error
    quick = _as_written(text)
    return _read_any(file, text) if quick is None else quick


def _as_written(text: str) -> dict[str, list[Listed]] | None:
    """What `catalog_file` wrote, without a parser of YAML; nothing where it is anything else."""
    lines = text.split("\n")
    if f"{lines[0]}\n" != HEAD or lines.pop():
        return None
    tags: dict[str, list[Listed]] = {}
    rows: list[Listed] = []
    place = 1
    try:
        while place < len(lines):
            if tags and lines[place].startswith(_ROW[0]):
                rows.append(_row_as_written(lines[place : place + len(_ROW)]))
                place += len(_ROW)
            else:
                tag = _tag_as_written(lines[place])
                rows = tags[tag] = [] if tag not in tags else _refuse()
                place += 1
    except (msgspec.MsgspecError, ValueError):
        return None
    return tags


def _row_as_written(lines: list[str]) -> Listed:
    for head, line in zip(_ROW, lines, strict=True):
        if not line.startswith(head):
            _refuse()
    path, summary, tokens, sha256 = (
        msgspec.json.decode(line[len(head) :]) for head, line in zip(_ROW, lines, strict=True)
    )
    if not (isinstance(path, str) and isinstance(summary, str) and isinstance(sha256, str)):
        _refuse()
    if type(tokens) is not int or tokens < 0:
        _refuse()
    return Listed(path=path, summary_128=summary, tokens=tokens, hash=sha256)


def _tag_as_written(line: str) -> str:
    written = line.removesuffix(":")
    tag = msgspec.json.decode(written, type=str) if written.startswith('"') else written
    return tag if line.endswith(":") and name(tag) == written else _refuse()


def _refuse() -> Any:
    raise ValueError


def _read_any(file: str, text: str) -> dict[str, list[Listed]]:
    node = load(file, text)
    if node.value == "":
        return {}
    if not isinstance(node.value, dict):
        raise BankMalformed(file, node.line, "a catalog is a map of tags to chunks")
    return {tag: list(_rows(file, tag, rows)) for tag, rows in node.value.items()}


def _rows(file: str, tag: str, rows: Node) -> Iterable[Listed]:
    if not isinstance(rows.value, list):
        if rows.value == "":
            return
        raise BankMalformed(file, rows.line, f"expected a list of chunks under {tag[:80]!r}")
    for row in rows.value:
        if isinstance(row.value, str):
            yield Listed(path=row.value)
        elif isinstance(row.value, dict) and "path" in row.value:
            said = {
                key: node.value for key, node in row.value.items() if isinstance(node.value, str)
            }
            tokens = number(file, row.value["tokens"]) if "tokens" in row.value else 0
            yield Listed(
                path=said.get("path", ""),
                summary_128=said.get("summary_128", ""),
                tokens=tokens,
                hash=said.get("hash", ""),
            )
        else:
            raise BankMalformed(file, row.line, "expected a path, or a map that has one")
