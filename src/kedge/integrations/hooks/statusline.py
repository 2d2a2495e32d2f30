"""`kedge statusline`: one line about a session for a host. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import claim_standard, say
from kedge.integrations.hooks.events import named

LARGEST = 1_000_000
"""Bytes of what a host tells: it is a page at the most."""


def main() -> NoReturn:
    """Read what the host tells of itself, print a line, end with 0."""
    try:
        claim_standard()
        say(_line() + "\n")
    except OSError:
        places.log("status line: the host does not listen")
    finally:
        os._exit(0)


def _line() -> str:
    try:
        told = json.loads(sys.stdin.buffer.read(LARGEST))
        return line_for(told if isinstance(told, dict) else {})
    except Exception as error:  # noqa: BLE001 (a host shows whatever is printed)
        places.log(f"status line: {type(error).__name__}: {error}")
        return "kedge"


def line_for(told: dict[str, Any]) -> str:
    """Context used, the last compaction and its score, what was put back, what was saved."""
    parts = ["kedge"]
    window = told.get("context_window")
    used = window.get("used_percentage") if isinstance(window, dict) else None
    session = told.get("session_id")
    status = status_of(named(session)) if isinstance(session, str) and session else {}
    if not isinstance(used, int | float):
        used = _used(status)
    if used is not None:
        parts.append(f"{used:.0f}% used")
    if count := status.get("compactions"):
        parts.append(f"{count} compaction{'s' if count > 1 else ''}")
    last = status.get("last")
    if isinstance(last, dict):
        parts.extend(_last(last))
    if saved := status.get("saved_tokens"):
        parts.append(f"{saved:,} saved on outputs")
    return " · ".join(parts)


def status_of(session: str) -> dict[str, Any]:
    """What the worker wrote down of a session, and what was handed to its host; empty where nothing
    is known."""
    folder = os.path.join(places.home(), session)
    try:
        found = json.loads(places.kept(folder, places.STATUS) or "{}")
    except ValueError:
        return {}
    if not isinstance(found, dict) or not found:
        return {}
    handed = places.kept(folder, places.PUT_BACK).strip()
    return {**found, "put_back": handed, "saved_tokens": _saved(folder)}


def _saved(folder: str) -> int:
    """Tokens that outputs would have taken which were made shorter as they came in."""
    lines = (line.split() for line in places.kept(folder, places.REDUCED).splitlines())
    pairs = (line for line in lines if len(line) == len(("before", "after")))
    return sum(int(a) - int(b) for a, b in pairs if a.isdecimal() and b.isdecimal())


def _used(status: dict[str, Any]) -> float | None:
    tokens, window = status.get("context_tokens"), status.get("window")
    return 100 * tokens / window if isinstance(tokens, int) and window else None


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
