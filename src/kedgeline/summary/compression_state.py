"""The summary as the `compression_state` of a session/state.json (Context Protocol 2.0), and back
(seed 000)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from kedgeline.errors import FileRefused
from kedgeline.model.summary import Entry, SectionName, Summary
from kedgeline.summary.files import changes, files
from kedgeline.summary.listing import NO_REASON, WHO
from kedgeline.summary.sections import items_of
from kedgeline.summary.state import FIRST, OPEN, Item
from kedgeline.text.prose import neutral, unmarked, without_tags

KEY = "compression_state"
ACTIONS = ("created", "modified", "deleted", "renamed")
"""A list of changes begins with one of them, unless the file was only modified."""
BETWEEN = "; "
"""Between the changes of one file, and the parts of a state."""
SESSION = "session"
"""Key of the mark of the session that a state is of; where there is none, anybody wrote it."""
_LATER = re.compile(r'\n(?:Scope|Now): "')
"""In an intent: what is said anew each time."""


def compression_state(
    summary: Summary,
    *,
    count: int,
    at: datetime | None = None,
    probe_score: float | None = None,
) -> dict[str, Any]:
    """What a state.json holds under `compression_state`. A time without a zone is in UTC."""
    items = items_of(summary)
    shown = [item._replace(text=_spelt(item.text)) for item in items]
    blocking = [i.text for i in shown if i.section == "Blockers / Open Questions"]
    blocking += [i.text for i in shown if i.section == "Error Context" and i.tier in (OPEN, FIRST)]
    state = [i.text for i in shown if i.section == "Current State" and i.tier <= FIRST]
    return {
        "summary": {
            "session_intent": _intent(summary),
            "files_modified": _files(summary, items),
            "decisions_made": _decisions(summary),
            "current_state": BETWEEN.join(state),
            "blockers": blocking,
            "next_steps": [i.text for i in shown if i.section == "Next Steps"],
        },
        "compression_count": count,
        "last_compressed_at": _time(at),
        "probe_score": probe_score,
    }


def updated(document: object, state: dict[str, Any], *, name: str = "state.json") -> dict[str, Any]:
    """The document with this state; its other keys as they are, in their order."""
    return {**_object(document, name), KEY: state}


def count_of(document: object, *, name: str = "state.json") -> int:
    """Compressions so far. Its place is beside the summary; some wrote it into the summary."""
    state = _mapping(_object(document, name).get(KEY))
    for place in (state, _mapping(state.get("summary"))):
        count = place.get("compression_count")
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            return count
    return 0


def extended(summary: Summary, document: object, *, name: str = "state.json") -> Summary:
    """A summary with all that a document tells: files and decisions are added to, the intent stays,
    and the state, blockers and steps are replaced where newer ones are known."""
    earlier = loaded(document, name=name).carried
    return replace(summary, carried=(*earlier, *summary.carried))


def mark_of(summary: Summary, session: str = "") -> str:
    """Which session a summary is of: by its id, else by its first request; empty where neither is
    known."""
    first = summary.requests[:1] if not summary.carried else ()
    known = session or "".join(request.text for request in first)
    return blake2b(known.encode("utf-8", "replace"), digest_size=6).hexdigest() if known else ""


def loaded(document: object, *, name: str = "state.json") -> Summary:
    """What a document tells, entry by entry; parts that are missing or of another shape tell
    nothing. To be merged with newer facts."""
    state = _mapping(_object(document, name).get(KEY))
    told = _mapping(state.get("summary"))
    entries = [
        *_carried("Session Intent", map(_opening, _texts(told.get("session_intent")))),
        *_carried_files(told.get("files_modified")),
        *_carried_decisions(told.get("decisions_made")),
        *_carried("Current State", _texts(told.get("current_state") or state.get("last_summary"))),
        *_carried("Blockers / Open Questions", _texts(told.get("blockers"))),
        *_carried("Next Steps", _texts(told.get("next_steps"))),
    ]
    return Summary(carried=tuple(entries))


def _intent(summary: Summary) -> str:
    """The first request, or what an earlier text said it was; how the scope began, and the current
    request, where these are others."""
    asked = summary.asked
    told = [entry.text for entry in summary.carried if entry.section == "Session Intent"]
    told = told or [request.text.strip() for request in asked[:1]]
    opened = [request for request in asked if request.scope == "new"][-1:]
    for label, one in (*(("Scope", one) for one in opened), *(("Now", one) for one in asked[-1:])):
        words = one.text.strip()
        if not any(words in line for line in told):
            told.append(f'{label}: "{words}"')
    return neutral("\n".join(told))


def _files(summary: Summary, items: Sequence[Item]) -> dict[str, list[str]]:
    """Every change of every file, those that an earlier text told first."""
    carried = {e.text: e for e in summary.carried if e.section == "Files Modified"}
    events = summary.files_now()
    now = {item.text for item in files(summary)}
    found: dict[str, list[str]] = {}
    for item in items:
        if item.section != "Files Modified":
            continue
        before = carried.get(item.text)
        told = before.detail.split(BETWEEN) if before and before.detail else []
        newer = map(_spelt, changes(events[item.text])) if item.text in now else ()
        told += [part for change in newer for part in change.split(BETWEEN)]
        action = item.action
        if before is not None and before.action == "created" and action == "modified":
            action = "created"
        named = [action] if action in ACTIONS and (action != "modified" or not told) else []
        found[item.text] = list(dict.fromkeys([*named, *told]))
    return found


def _decisions(summary: Summary) -> list[dict[str, str]]:
    """In the order they were made; one that was replaced names what replaced it."""
    rules = {rule.text for rule in summary.instructions}
    found: dict[str, dict[str, str]] = {}
    for entry in summary.carried:
        if entry.section == "Decisions Made":
            found[_key(entry.text)] = {"decision": entry.text, "rationale": entry.detail}
    for made in summary.decisions_now():
        latest = made[-1]
        if latest.decision in rules:
            continue  # it is a rule, and stands among the instructions
        for one in made:
            not_taken = f"not taken: {one.rejected}" if one.rejected else ""
            why = BETWEEN.join(part for part in (one.rationale or NO_REASON, not_taken) if part)
            told = {"decision": WHO[one.by] + _spelt(one.decision), "rationale": _spelt(why)}
            if one.decision != latest.decision:
                told["superseded_by"] = _spelt(latest.decision)
            found[_key(told["decision"])] = told
    return list(found.values())


def _spelt(text: str) -> str:
    """What others said, unable to pass for ours where the state is put before an agent."""
    return unmarked(without_tags(text))


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _time(at: datetime | None) -> str | None:
    if at is None:
        return None
    known = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return known.isoformat(timespec="seconds").replace("+00:00", "Z")


def _opening(intent: str) -> str:
    return _LATER.split(intent, maxsplit=1)[0]


def _carried(section: SectionName, texts: Iterable[str]) -> Iterator[Entry]:
    return (Entry(section=section, text=text) for text in texts)


def _carried_files(told: object) -> Iterator[Entry]:
    """By path; a plain list of paths says nothing of what changed."""
    listed = told if isinstance(told, Mapping) else dict.fromkeys(_texts(told))
    for path, changed in listed.items():
        action, *rest = _texts(changed) or ["modified"]
        if action not in ACTIONS:
            action, rest = "modified", [action, *rest]
        if isinstance(path, str) and path.strip():
            detail = BETWEEN.join(rest)
            yield Entry(section="Files Modified", text=path, action=action, detail=detail)


def _carried_decisions(told: object) -> Iterator[Entry]:
    for one in told if isinstance(told, Sequence) and not isinstance(told, str) else ():
        parts = _mapping(one) or {"decision": one}
        for decision in _texts(parts.get("decision"))[:1]:
            why = BETWEEN.join(_texts(parts.get("rationale")))
            if later := _texts(parts.get("superseded_by")):
                why = BETWEEN.join(part for part in (why, f"superseded by: {later[0]}") if part)
            yield Entry(section="Decisions Made", text=decision, detail=why)


def _texts(told: object) -> list[str]:
    """The texts of a list, or of a text alone; blank ones tell nothing."""
    listed = [told] if isinstance(told, str) else told if isinstance(told, Sequence) else ()
    return [text for text in listed if isinstance(text, str) and text.strip()]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def no_state(name: str, found: str) -> FileRefused:
    why = f"a state.json holds a JSON object, and this is {found}"
    return FileRefused(name, f"{why}; name the right file, or move this one away")


def _object(document: object, name: str) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise no_state(name, _KINDS.get(type(document), type(document).__name__))
    return document


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
