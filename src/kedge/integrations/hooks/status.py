"""What is known of a session between two runs, and what of it the host was given."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import SILENT
from kedge.integrations.hooks.judging import Judged

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


def judged_in(status: dict[str, Any]) -> Judged:
    found, ahead = status.get("judged"), status.get("ahead")
    known = tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
    is_print = isinstance(ahead, str) and ahead.partition(":")[0].isdecimal()
    return Judged(known, str(ahead) if is_print else "")


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
    """What is known of the last compaction, if it can be counted with: an older kedge wrote less,
    and anybody may have written anything."""
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
