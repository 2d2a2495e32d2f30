"""The summary as the `compression_state` of a session/state.json (Context Protocol 2.0), and back
(seed 000)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kedge.errors import NotAState
from kedge.foreign import neutral, unmarked, without_tags
from kedge.model.summary import Entry, SectionName, Summary
from kedge.summary.items import FIRST, OPEN, Item
from kedge.summary.sections import items_of
from kedge.summary.sections.decisions import WHO
from kedge.summary.sections.files import changes, files

KEY = "compression_state"
ACTIONS = ("created", "modified", "deleted", "renamed")
"""A list of changes begins with one of them, unless the file was only modified."""
BETWEEN = "; "
"""Between the changes of one file, and the parts of a state."""


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


def loaded(document: object, *, name: str = "state.json") -> Summary:
    """What a document tells, entry by entry; parts that are missing or of another shape tell
    nothing. To be merged with newer facts."""
    state = _mapping(_object(document, name).get(KEY))
    told = _mapping(state.get("summary"))
    entries = [
        *_carried("Session Intent", _texts(told.get("session_intent"))),
        *_carried_files(told.get("files_modified")),
        *_carried_decisions(told.get("decisions_made")),
        *_carried("Current State", _texts(told.get("current_state") or state.get("last_summary"))),
        *_carried("Blockers / Open Questions", _texts(told.get("blockers"))),
        *_carried("Next Steps", _texts(told.get("next_steps"))),
    ]
    return Summary(carried=tuple(entries))


def _intent(summary: Summary) -> str:
    """The request that opened the scope, or what an earlier text said it was; then the current
    request, where that is another one."""
    asked = [request for request in summary.requests if request.scope != "step"]
    opened = [request for request in asked if request.scope == "new"][-1:]
    told = [entry.text for entry in summary.carried if entry.section == "Session Intent"]
    if opened or not told:
        told = [request.text.strip() for request in opened or asked[:1]]
    current = asked[-1].text.strip() if asked else ""
    if current and current not in told:
        told.append(f'Now: "{current}"')
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
        told += map(_spelt, changes(events[item.text])) if item.text in now else ()
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
            why = BETWEEN.join(part for part in (one.rationale, not_taken) if part)
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


def _carried(section: SectionName, texts: Sequence[str]) -> Iterator[Entry]:
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


def _object(document: object, name: str) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise NotAState(name, found=_KINDS.get(type(document), type(document).__name__))
    return document


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
