"""Session files that orchestrators keep beside a task, and the state in a state.json."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kedgeline.errors import BadSettings, FileRefused
from kedgeline.files import checked, folder_below
from kedgeline.model import Summary
from kedgeline.settings import SESSION_FILE
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

TOKENS = 2_048
"""Tokens of a session file, where none are given: the largest named level. What a person wrote into
it comes on top."""
CONTEXT = "## Prior Session Context"
"""Heading of the block for a sub-agent's prompt (seed 002)."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_OTHERS = {b"[": "a list", b'"': "a text", b"n": "null", b"t": "true", b"f": "false"}
"""What JSON is that is no object, by its first character; else it is a number."""
_INDENT = re.compile(rb'\s{0,100}\{(?:\r?\n)([ \t]{1,16})"')


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
        raise FileRefused(str(path), "it names a folder; name the state.json in it")
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
        return before if before and state == old else _written(updated(document, state), before)

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


def _written(document: dict[str, Any], before: bytes | None) -> bytes:
    """As the file was written: with its indent, or on one line."""
    found = _INDENT.match((before or b'{\n  "').removeprefix(BYTE_ORDER_MARK))
    if found is None:
        return msgspec.json.encode(document) + b"\n"
    indent = found[1]
    state = msgspec.json.format(msgspec.json.encode(document[KEY]), indent=len(indent))
    if indent.startswith(b"\t"):
        state = re.sub(rb"(?m)^ +", lambda blanks: b"\t" * len(blanks[0]), state)
    state = state.replace(b"\n", b"\n" + indent)
    rows = (
        indent + msgspec.json.encode(key) + b": " + (state if key == KEY else bytes(value))
        for key, value in document.items()
    )
    return b"{\n" + b",\n".join(rows) + b"\n}\n"
