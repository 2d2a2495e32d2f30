"""Entries as JSON Lines: an object per line, each with the hash of the line before it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec

from kedgeline.bank.fields import as_value, clean, is_done, moment, since_epoch, stamp
from kedgeline.bank.markdown import Cutter, line_end, line_of
from kedgeline.bank.shapes import numbered
from kedgeline.bank.values import (
    DECISIONS,
    Document,
    Entry,
    NewEntry,
    Other,
    Piece,
    Reference,
    known_name,
)
from kedgeline.errors import BankMalformed

BEGINNING = "0" * 64
"""The predecessor of the first line of a file that has none to show how it names it."""
PREDECESSOR = "predecessor_hash"
SPELT = "sha256:"
"""What some files write before a hash."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task_id"),
    "at": ("ts", "timestamp", "updated_at"),
    "agent": ("source_agent", "proposer_agent", "agent"),
    "title": ("title",),
    "status": ("status",),
    "sources": ("source_chunks", "sources"),
    "summary": ("summary_128", "summary"),
}
"""What is read of a line, by the keys that files have for it."""

_OWN = {key for keys in KEYS.values() for key in keys} | {"archived", "Rationale"}
"""Keys that nobody may bring along: they would be read instead of an entry's own values."""
_OBJECT = re.compile(r"\s*\{[ \t]*(?:[\"}]|\r?$)", re.MULTILINE)
_CONFLICT = re.compile(r"<{7}|={7}|>{7}")
_HASH = re.compile(r"[0-9a-f]{64}")
_ARCHIVE = re.compile(r"[^\s./\\(),|<>:\"][^/\\(),|<>:\"\n]{0,199}")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}

Line = dict[str, object]


def recognises(text: str) -> bool:
    return _OBJECT.match(text) is not None


def read(name: str, text: str) -> Document:
    cutter, place = Cutter(text), 0
    while place < len(text):
        end = line_end(text, place)
        if text[place:end].strip():
            cutter.leave(place)
            _put(name, text, place, end, cutter)
        place = end
    return Document(name=name, shape="json_lines", pieces=cutter.all())


def entry(new: NewEntry, document: Document) -> str:
    new = clean(new)
    last = next((p for p in reversed(document.pieces) if not isinstance(p, Other)), None)
    known = _decoded(last.text) if isinstance(last, Entry) else {}
    kinds = [key for key in ("proposer_agent", "source_agent") if key in known]
    is_log = known_name(document.name.partition(".")[0]) == DECISIONS
    decides = kinds == ["proposer_agent"] if kinds else is_log
    line = _decision(new, document) if decides else _active(new)
    line = {_key_like(known, key): value for key, value in line.items()}
    further = {key: value for key, value in new.fields.items() if key not in {*line, *_OWN}}
    line = {**line, **further, PREDECESSOR: predecessor(document)}
    return json.dumps(line, ensure_ascii=False) + document.newline


def reference(reference: Reference, document: Document) -> str:
    line = {
        "archived": reference.entries,
        "first": stamp(reference.first) if reference.first else None,
        "last": stamp(reference.last) if reference.last else None,
        "summary_128": as_value(reference.summary),
        "archive": reference.archive,
        "sha256": reference.sha256,
        "end": reference.end,
    }
    return json.dumps(line, ensure_ascii=False) + document.newline


def end_of(piece: Piece) -> str:
    """What the next line must name: the hash of this one, or of the last that a reference stands
    for."""
    return (isinstance(piece, Reference) and piece.end) or line_hash(piece.text)


def named_by(entry: Entry) -> str:
    """The hash of the line before, as an entry names it; empty where it names none."""
    named = _decoded(entry.text).get(PREDECESSOR)
    return named.removeprefix(SPELT) if isinstance(named, str) else ""


def line_hash(text: str) -> str:
    """Of a line without its newline."""
    return sha256(text.rstrip("\r\n").encode()).hexdigest()


def predecessor(document: Document) -> str:
    """What the next line names: the hash of the last one, or of the last that a reference stands
    for, spelt as the file spells them."""
    pieces = [piece for piece in document.pieces if not isinstance(piece, Other)]
    if not pieces:
        return BEGINNING
    last = pieces[-1]
    named = "" if isinstance(last, Reference) else _decoded(last.text).get(PREDECESSOR)
    prefix = SPELT if isinstance(named, str) and named.startswith(SPELT) else ""
    return prefix + end_of(last)


def _put(name: str, text: str, place: int, end: int, cutter: Cutter) -> None:
    line = _checked(name, text, place, end)
    if "archived" in line:
        if reference := _reference(line):
            cutter.put_reference(reference, end)
        else:
            cutter.leave(end)
        return
    at = _first(line, "at")
    time = moment(at) if isinstance(at, str) else since_epoch(at)
    if at is not None and time is None:
        raise BankMalformed(name, line_of(text, place), f"{str(at)[:40]!r} is no time")
    sources = _first(line, "sources")
    listed: Sequence[object] = sources if isinstance(sources, list) else (sources,)
    body, number = cutter.take(end)
    status = _text(line, "status")
    cutter.put(
        Entry(
            text=body,
            line=number,
            id=_text(line, "id"),
            at=time,
            agent=_text(line, "agent"),
            title=_text(line, "title"),
            status=status,
            done=is_done(status),
            sources=tuple(source for source in listed if isinstance(source, str) and source),
            summary=_text(line, "summary"),
        )
    )


def _checked(name: str, text: str, place: int, end: int) -> Line:
    """The object in a line. Raises BankMalformed where there is none."""
    line = text[place:end].strip()
    try:
        return msgspec.json.decode(line, type=Line)
    except msgspec.ValidationError:
        why = "this line is JSON and no object that can be read"
    except msgspec.DecodeError as error:
        why = f"this line is no JSON object ({error})"
        if _CONFLICT.match(line):
            why = "a merge conflict was left here"
    except RecursionError:
        why = "this line is nested too deeply"
    raise BankMalformed(name, line_of(text, place), why)


def _decoded(text: str) -> Line:
    return msgspec.json.decode(text.strip(), type=Line)


def _first(line: Line, field: str) -> object:
    return next((line[key] for key in KEYS[field] if line.get(key) is not None), None)


def _text(line: Line, field: str) -> str:
    value = _first(line, field)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _reference(line: Line) -> Reference | None:
    """None where something in it cannot be: such a line is somebody else's."""
    count, archive, digest = line["archived"], line.get("archive"), line.get("sha256")
    end, summary = line.get("end") or "", line.get("summary_128") or ""
    times = [line.get(key) for key in ("first", "last")]
    first, last = (moment(time) if isinstance(time, str) else None for time in times)
    right = (
        isinstance(count, int) and not isinstance(count, bool) and count >= 0,
        isinstance(archive, str) and _ARCHIVE.fullmatch(archive),
        isinstance(digest, str) and _HASH.fullmatch(digest),
        isinstance(end, str) and isinstance(summary, str),
        [first is None, last is None] == [time is None for time in times],
    )
    if not all(right):
        return None
    return Reference(
        archive=str(archive),
        sha256=str(digest),
        entries=int(str(count)),
        summary=str(summary),
        first=first,
        last=last,
        end=str(end),
    )


def _active(new: NewEntry) -> Line:
    line: Line = {"id": new.id} if new.id else {}
    line |= {
        "ts": stamp(new.at),
        "source_agent": new.agent,
        "source_chunks": list(new.sources),
        "summary_128": new.summary,
    }
    rationale = new.fields.get("Rationale", "")
    return line | _given(title=new.title, status=new.status, text=new.text, rationale=rationale)


def _decision(new: NewEntry, document: Document) -> Line:
    new = numbered(new, document)
    rationale = new.fields.get("Rationale") or new.text
    passed = _TRUTH.get(new.fields.get("tests_passed", "").lower())
    line: Line = {
        "id": new.id,
        "ts": stamp(new.at),
        "proposer_agent": new.agent,
        "rationale": rationale,
        "diff_hash": new.fields.get("diff_hash"),
        "tests_passed": passed,
    }
    text = new.text if new.text != rationale else ""
    return line | _given(
        title=new.title,
        status=new.status,
        source_chunks=list(new.sources),
        summary_128=new.summary,
        text=text,
    )


def _given(**values: object) -> Line:
    return {key: value for key, value in values.items() if value}


def _key_like(known: Line, key: str) -> str:
    """The key that the line before has for the same thing."""
    for keys in KEYS.values():
        if key in keys and key not in known:
            return next((other for other in keys if other in known), key)
    return key
