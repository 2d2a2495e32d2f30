"""What is known of a session between two runs, what of it the host was given, and the line that
`kedgeline statusline` says of it. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from kedgeline.hosts.hooks import places
from kedgeline.hosts.hooks.events import SILENT, claim_standard, named, say

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
        return "kedgeline"


def line_for(told: dict[str, Any]) -> str:
    """Context used, the last compaction and its score, what was put back, what was saved."""
    parts = ["kedgeline"]
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


RULES, LACKING = "rules", "lacking"
"""What can be given, as the lines of what was given name it."""


class Given(NamedTuple):
    """What the host was handed for one compaction."""

    kinds: frozenset[str]
    since: int
    """The line from which on it stands."""


def read_status(folder: str) -> dict[str, Any]:
    """Empty where there is none that can be read: then all is found out anew."""
    try:
        found = json.loads(Path(folder, places.STATUS).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def given_for_new(folder: str, host: str, seen: int) -> Given:
    """What was given for a compaction that is looked at now: since the lines of the one before,
    hosts that are given the rules before their summary can be read were given them."""
    lines = _lines(folder)
    start = seen if 0 <= seen <= len(lines) else 0
    rules = [n for n in range(start, len(lines)) if lines[n] == RULES]
    if host in SILENT or not rules:
        return Given(frozenset(), len(lines))
    return Given(frozenset((RULES,)), rules[-1])


def given_since(folder: str, since: int) -> Given:
    """All that was given for a compaction from this line on, up to the rules of the next one."""
    lines = _lines(folder)[since:]
    later = lines.index(RULES, 1) if RULES in lines[1:] else len(lines)
    return Given(frozenset(lines[:later]), since)


def whole(last: object) -> dict[str, Any] | None:
    """What is known of the last compaction, if it can be counted with: an older kedgeline wrote
    less, and anybody may have written anything."""
    if not isinstance(last, dict):
        return None
    kinds = {"tokens": dict, "scores": dict, "given_from": int, "rules_owed": bool, "place": str}
    is_whole = all(isinstance(last.get(key), kind) for key, kind in kinds.items())
    return last if is_whole and _counts(last["tokens"]) and "" in last["scores"] else None


def _counts(tokens: dict[str, Any]) -> bool:
    return set(tokens) <= {RULES, LACKING} and all(isinstance(one, int) for one in tokens.values())


def seen_lines(folder: str) -> int:
    return len(_lines(folder))


def is_cleared(folder: str, since: float) -> bool:
    """Whether the user began anew after this time: what was before is not told then."""
    try:
        return os.stat(os.path.join(folder, places.CLEARED)).st_mtime >= since
    except OSError:
        return False


def count_given(last: dict[str, Any], kinds: frozenset[str]) -> None:
    """Put down what was put back, and what only lies ready."""
    tokens, scores = last["tokens"], last["scores"]
    given = kinds & set(tokens)
    owed = {LACKING, RULES} if last["rules_owed"] else {LACKING}
    last["put_back_tokens"] = sum(tokens[one] for one in given)
    last["prepared_tokens"] = sum(tokens[one] for one in (owed & set(tokens)) - given)
    last["score_with_put_back"] = scores[combined(given)]


def combined(kinds: frozenset[str]) -> str:
    """The name of a score: of what the host wrote with these beside it."""
    return " ".join(one for one in (RULES, LACKING) if one in kinds)


def _lines(folder: str) -> list[str]:
    try:
        text = Path(folder, places.GIVEN).read_text("utf-8", "replace")
    except OSError:
        return []
    return [line.split()[0] for line in text.splitlines() if line.strip()]
