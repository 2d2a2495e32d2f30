"""The front matter of a chunk: its title and its two summaries, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.bank.briefs import MIDDLE, SMALL, brief_128, brief_512
from kedge.bank.catalog.files import Header, digest
from kedge.bank.catalog.kinds import is_code
from kedge.bank.catalog.sources import to_bytes
from kedge.bank.catalog.splitting import title_of
from kedge.bank.catalog.values import Chunk, estimated
from kedge.foreign import foreign
from kedge.redaction import Redactor
from kedge.sentences import cut
from kedge.tokens import EXACT

TITLE = 200
"""Characters of a chunk's title."""
DEFINED = 60
"""Definitions of a chunk of code that its summary is made from."""

_DEFINED = re.compile(
    r"\s{0,12}(?:(?:export|default|public|private|protected|internal|static|async|abstract|final"
    r"|pub(?:\(\w{1,20}\))?)\s+){0,5}"
    r"(?:def|class|function|func|fn|struct|interface|type|enum|impl|trait|module|CREATE TABLE)"
    r"\s+([\w.$]{1,80})"
)
_COMMENT = re.compile(r"\s*(?:#|//+|--|;;|/?\*+)(?:[!/]|\s|$)\s*(.*)")
_DOCSTRING = re.compile(r"\s*[rRuU]?(?:\"\"\"|''')(.*)")


def header_of(
    key: str, index: int, chunk: Chunk, before: Header | None, redactor: Redactor
) -> Header:
    """What stands above a chunk. A summary that is there for the same chunk stays: it is the same,
    or somebody wrote a better one."""
    title = cut(foreign(redactor.clean(title_of(chunk))), TITLE)
    made = Header(
        source=key,
        chunk_index=index,
        token_estimate=estimated(chunk.text),
        hash=digest(to_bytes(chunk.text)),
        title=title,
        further=before.further if before else "",
    )
    if before and _stays(before, made):
        return made._replace(summary_128=before.summary_128, summary_512=before.summary_512)
    text = redactor.clean(_prose(key, chunk)).encode("utf-8", "replace").decode()
    name = title or key.rpartition("/")[2]
    return made._replace(
        summary_128=brief_128(text, title=name, sources=(key,)),
        summary_512=brief_512(text, title=name),
    )


def _stays(before: Header, made: Header) -> bool:
    same = (before.hash, before.title, before.source) == (made.hash, made.title, made.source)
    return (
        same
        and bool(before.summary_128 and before.summary_512)
        and EXACT.count(before.summary_128) <= SMALL
        and EXACT.count(before.summary_512) <= MIDDLE
    )


def _prose(key: str, chunk: Chunk) -> str:
    """What a summary is made from: of code, what its comments say and the names it defines."""
    if is_code(key):
        return "\n".join(_spoken(chunk.text))
    return "" if chunk.inside else chunk.text


def _spoken(text: str) -> Iterator[str]:
    quoted = False
    names: list[str] = []
    for line in text.split("\n"):
        short = line[:400]
        if quoted:
            quoted = '"""' not in short and "'''" not in short
            yield short.strip().strip("\"'")
        elif found := _DOCSTRING.match(short):
            quoted = '"""' not in found[1] and "'''" not in found[1]
            yield found[1].strip("\"' ")
        elif comment := _COMMENT.match(short):
            yield comment[1].rstrip("*/ ")
        elif (name := _DEFINED.match(short)) and len(names) < DEFINED:
            names.append(name[1])
            yield ""
        elif not short.strip():
            yield ""
    yield ""
    yield from (f"- {name}" for name in dict.fromkeys(names))
