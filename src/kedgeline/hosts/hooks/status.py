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
    if replaced := status.get("replaced"):
        if count := replaced["replaced"]:
            parts.append(f"{count} replaced")
        if why := replaced["last_left"]:
            parts.append(f"the last left to the host: {why[:FAILURE_SHOWN]}")
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
    replaced = replaced_in(folder)
    if not found and not failure and not replaced:
        return {}
    handed = places.kept(folder, places.PUT_BACK).strip()
    lines = (line.split() for line in places.kept(folder, places.REDUCED).splitlines())
    pairs = [line for line in lines if len(line) == len(("before", "after"))]
    saved = sum(int(a) - int(b) for a, b in pairs if a.isdecimal() and b.isdecimal())
    named = {"session": session, **found}
    return {
        **named,
        "put_back": handed,
        "saved_tokens": saved,
        "replaced": replaced,
        "failure": failure or None,
    }


UNANSWERED = "kedgeline did not answer in time"


def replaced_in(folder: str) -> dict[str, Any] | None:
    """Of the compactions of a session: how many were replaced, how many the host made without
    asking, how many were left to it and why, and why the last one was; None where none was."""
    replaced = own = 0
    left: dict[str, int] = {}
    before = last_left = ""
    for line in places.kept(folder, places.COMPACTIONS).splitlines():
        what, _, why = line.partition(" ")
        if before == "asked" and what in ("asked", "own"):
            what, why = ("left" if what == "own" else what), UNANSWERED
            left[why] = left.get(why, 0) + 1
        elif what == "left":
            left[why] = left.get(why, 0) + 1
        elif what == "own" and before != "left":  # else it is counted already
            own += 1
        replaced += what == "replaced"
        last_left = why if what == "left" else "" if what == "replaced" else last_left
        before = what
    if not (replaced or own or left):
        return None
    return {"replaced": replaced, "own": own, "left": left, "last_left": last_left or None}


def read_status(folder: str) -> dict[str, Any]:
    """Empty where there is none that can be read: then all is found out anew."""
    try:
        found = json.loads(places.kept_bytes(folder, places.STATUS))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
