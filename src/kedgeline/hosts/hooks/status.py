"""What is known of a session between two runs, and the line that `kedgeline statusline` says of it.
Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

from kedgeline.hosts.hooks import places
from kedgeline.hosts.hooks.entry import claim_standard, named, say

LARGEST = 1_000_000
"""Bytes of what a host tells: it is a page at the most."""
FAILURE_SHOWN = 80
"""Characters of a failure that a status line has room for."""


def main() -> NoReturn:
    """Read what the host tells of itself, print a line, end with 0."""
    try:
        claim_standard()
        try:
            told = json.loads(sys.stdin.buffer.read(LARGEST))
            line = line_for(told if isinstance(told, dict) else {})
        except Exception as error:  # noqa: BLE001 (a host shows whatever is printed)
            places.log(f"status line: {type(error).__name__}: {error}")
            line = "kedgeline"
        say(f"{line}\n")
    except OSError:
        places.log("status line: the host does not listen")
    finally:
        os._exit(0)


def line_for(told: dict[str, Any]) -> str:
    """Context used, the last compaction and its score, what was put back, what was saved; or what
    keeps kedgeline from working."""
    window, session = told.get("context_window"), told.get("session_id")
    status = status_of(named(session)) if isinstance(session, str) and session else {}
    if failure := status.get("failure"):
        return f"kedgeline FAILED: {failure[:FAILURE_SHOWN]} · run `kedgeline doctor`"
    used = window.get("used_percentage") if isinstance(window, dict) else None
    if not isinstance(used, int | float):
        tokens, size = status.get("context_tokens"), status.get("window")
        used = 100 * tokens / size if isinstance(tokens, int) and size else None
    parts = ["kedgeline"]
    if used is not None:
        parts.append(f"{used:.0f}% used")
    if count := status.get("compactions"):
        parts.append(f"{count} compaction{'s' if count > 1 else ''}")
    last = status.get("last")
    parts.extend(_last(last) if isinstance(last, dict) else ())
    if saved := status.get("saved_tokens"):
        parts.append(f"{saved:,} saved on outputs")
    return " · ".join(parts)


def _last(last: dict[str, Any]) -> list[str]:
    parts = []
    score, after = last.get("score"), last.get("score_with_put_back")
    if isinstance(score, int | float):
        with_us = f" → {after:.2f}" if isinstance(after, int | float) else ""
        parts.append(f"probes {score:.2f}{with_us}")
    if put_back := last.get("put_back_tokens"):
        parts.append(f"{put_back:,} tokens put back")
    before, left = last.get("tokens_before"), last.get("tokens_after")
    if isinstance(before, int) and isinstance(left, int) and before > left:
        parts.append(f"{before - left:,} freed")
    return parts


def status_of(session: str) -> dict[str, Any]:
    """What the worker wrote down of a session, and what was handed to its host; empty where nothing
    is known."""
    folder = os.path.join(places.home(), session)
    found, failure = read_status(folder), places.kept(folder, places.FAILURE).strip()
    if not found and not failure:
        return {}
    handed = places.kept(folder, places.PUT_BACK).strip()
    lines = (line.split() for line in places.kept(folder, places.REDUCED).splitlines())
    pairs = [line for line in lines if len(line) == len(("before", "after"))]
    saved = sum(int(a) - int(b) for a, b in pairs if a.isdecimal() and b.isdecimal())
    named = {"session": session, **found}
    return {**named, "put_back": handed, "saved_tokens": saved, "failure": failure or None}


def read_status(folder: str) -> dict[str, Any]:
    """Empty where there is none that can be read: then all is found out anew."""
    try:
        found = json.loads(places.kept_bytes(folder, places.STATUS))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
