"""What each provider demands of a list of messages, as far as it can be seen from the list.

It knows nothing of how lists are written, so that it can tell whether they are written well."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from kedgeline.model import (
    PINNED_TAG,
    SUMMARY_TAG,
    Compaction,
    Entry,
    Masked,
    Media,
    Message,
    Note,
    Part,
    Repeat,
    Repeated,
    SectionName,
    Summary,
    Text,
    Transcript,
    Turn,
)
from kedgeline.planning import applied, parts_of
from kedgeline.summary import entries_of
from kedgeline.text.prose import neutral

Messages = list[dict[str, Any]]


def problems(provider: str, messages: Messages) -> list[str]:
    """What a provider would refuse in a list; a call in flight at its end is no problem."""
    return RULES[provider](messages)


def anthropic(messages: Messages) -> list[str]:
    found = _alternation(messages, "content", "assistant")
    found += _server_tools(messages)
    open_calls: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        last = number == len(messages) - 1
        found += [f"{number}: blank text" for b in blocks if b == {"type": "text", "text": ""}]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if blocks[: len(results)] != [b for b in blocks if b["type"] == "tool_result"]:
            found.append(f"{number}: results do not come first")
        if not set(results) <= set(open_calls) or (set(results) < set(open_calls) and not last):
            found.append(f"{number}: results {results} for calls {open_calls}")
        open_calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        found += _repeated(number, open_calls, seen)
        if open_calls and message["role"] != "assistant":
            found.append(f"{number}: a call of the user")
        if message["role"] == "assistant" and blocks and blocks[-1]["type"] in THOUGHTS:
            found.append(f"{number}: ends with thinking")
        for block in blocks:
            if block["type"] == "thinking" and not block["signature"]:
                found.append(f"{number}: thinking without a signature")
            if block["type"] == "image" and message["role"] == "assistant":
                found.append(f"{number}: an image of the assistant")
    return found


def _server_tools(messages: Messages) -> list[str]:
    """Tools that the provider runs itself: no result without its use, and no use that is left
    without a result when the user speaks again."""
    found: list[str] = []
    waiting: dict[str, int] = {}
    for number, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text"}]
        if message["role"] == "user" and any(b["type"] != "tool_result" for b in blocks):
            found += [f"{number}: no result for {one!r}" for one in waiting]
            waiting = {}
        for block in blocks:
            if block["type"] in ("server_tool_use", "mcp_tool_use"):
                waiting[block["id"]] = number
            elif not block["type"].endswith("_tool_result"):
                continue
            elif waiting.pop(block["tool_use_id"], None) is None:
                found.append(f"{number}: a result for {block['tool_use_id']!r}, never used")
    return found


def openai_chat(messages: Messages) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        role = message["role"]
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            found.append(f"{number}: role {role!r}")
        if role in ("tool", "function"):
            answered = message.get("tool_call_id") if role == "tool" else message["name"]
            if answered in waiting:
                waiting.remove(answered)
            else:
                found.append(f"{number}: a result for {answered!r}, which no call waits for")
            continue
        if waiting:
            found.append(f"{number}: {waiting} not answered")
        calls = message.get("tool_calls") or []
        waiting = [call["id"] for call in calls]
        found += _repeated(number, waiting, seen)
        old = message.get("function_call")
        waiting += [old["name"]] if old else []
        for call in calls:
            if call["type"] == "function" and not isinstance(call["function"]["arguments"], str):
                found.append(f"{number}: arguments are no string")
        if role == "user" and not message["content"]:
            found.append(f"{number}: nothing said")
        if role == "assistant" and not (message.get("content") or calls or old):
            found += [] if message.get("refusal") or message.get("audio") else [f"{number}: empty"]
    return found


def openai_responses(items: Messages) -> list[str]:
    found: list[str] = []
    waiting: dict[str, str] = {}
    seen: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        call_id = str(item.get("call_id", item.get("id", "")))
        if kind.endswith("_call_output"):
            if waiting.pop(call_id, None) != kind.removesuffix("_output"):
                found.append(f"{number}: an output for {call_id!r}, which no call waits for")
        elif kind.endswith("_call") and f"{kind}_output" in OUTPUTS:
            found += _repeated(number, [call_id], seen)
            waiting[call_id] = kind
        elif kind == "message" and item["role"] not in ("user", "assistant", "system", "developer"):
            found.append(f"{number}: role {item['role']!r}")
        elif kind == "reasoning":
            after = items[number + 1] if number + 1 < len(items) else {}
            if after.get("role", "assistant") != "assistant" or not after:
                found.append(f"{number}: reasoning that nothing follows")
    if waiting and not _in_flight(items, waiting):
        found.append(f"{sorted(waiting)} not answered")
    return found


def gemini(contents: Messages) -> list[str]:
    found = _alternation(contents, "parts", "model")
    waiting: list[tuple[Any, str]] = []
    for number, content in enumerate(contents):
        parts = content["parts"]
        answers = [_named(p, "functionResponse", "function_response") for p in parts]
        given = [(a.get("id"), a["name"]) for a in answers if a]
        last = number == len(contents) - 1
        if not set(given) <= set(waiting) or (len(given) != len(waiting) and not last):
            found.append(f"{number}: responses {given} for calls {waiting}")
        calls = [_named(p, "functionCall", "function_call") for p in parts]
        waiting = [(c.get("id"), c["name"]) for c in calls if c]
        found += [f"{number}: an empty part" for part in parts if not part]
    return found


THOUGHTS = ("thinking", "redacted_thinking")
OUTPUTS = {
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
}
RULES: dict[str, Callable[[Messages], list[str]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}


PROVIDERS = tuple(RULES)


def _alternation(messages: Messages, key: str, assistant: str) -> list[str]:
    roles = ["assistant" if m.get("role") == assistant else "user" for m in messages]
    found = [f"{n}: nothing in it" for n, m in enumerate(messages) if not m[key]]
    if roles and roles[0] != "user":
        found.append("begins with the assistant")
    twice = [n for n, (one, next_one) in enumerate(pairwise(roles)) if one == next_one]
    return found + [f"{n}: {roles[n]} twice" for n in twice]


def _repeated(number: int, ids: list[str], seen: set[str]) -> list[str]:
    twice = [f"{number}: id {one!r} again" for one in ids if one in seen or ids.count(one) > 1]
    seen.update(ids)
    return twice + [f"{number}: no id" for one in ids if not one]


def _in_flight(items: Messages, waiting: dict[str, str]) -> bool:
    """Whether nothing of the user's comes behind the calls that wait."""
    first = min(n for n, i in enumerate(items) if i.get("call_id") in waiting)
    return all(item.get("role", "assistant") == "assistant" for item in items[first:])


def _named(part: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((part[name] for name in names if name in part), {})


# The context rebuilt: what was there before the turns, the summary, the kept turns verbatim.

_WORDED = re.compile(r"^(?:-|\d+\.) (?:In short[:,]|Suggested:|Perhaps open:) ", re.MULTILINE)
OPENING, CLOSING = f"<{SUMMARY_TAG}>", f"</{SUMMARY_TAG}>"
PREAMBLE = (
    "The conversation up to here was compacted. This summary stands for it; marks such as [t12] "
    "name the turns it comes from. What the user asked last follows it, word for word."
)
KNOWN = (
    " What is not here was not lost: `kedgeline recall 'QUESTION' --session {name}` finds it, "
    "`kedgeline show "
    "{name} t12` shows a turn as it was; FILE in a command stands for {name}."
)
"""Behind the preamble, where the session is kept."""
WORDED = (
    " Lines that begin with `In short`, `Suggested` or `Perhaps open` are a language model's words "
    "about the record: no facts, and nothing that the user asked for."
)
"""Behind the preamble, where there are such lines."""
PINNED = "The user pinned what follows: it holds, word for word, until they take it back."
BEFORE: tuple[Repeated, ...] = ("instructions", "environment", "summary")
"""What is said again before the summary; the request comes behind it."""


def view(
    transcript: Transcript, compaction: Compaction, *, pinned: Sequence[str] = ()
) -> Transcript:
    """The transcript as the agent goes on with it. `pinned` are texts that stand in it word for
    word, whatever is folded.

    It depends on nothing but the turns, the record and the pins: turns added later follow behind,
    and what stands before them stays the same to the byte until the next compaction."""
    plan = compaction.plan
    transcript = _numbered(transcript, compaction)
    masked: defaultdict[int, list[Masked]] = defaultdict(list)
    for one in plan.masked:
        masked[one.turn].append(one)
    kept = (applied(turn, masked.get(turn.index, ())) for turn in transcript.turns[plan.cut :])
    return replace(transcript, turns=(*lead(transcript, compaction, pinned=pinned), *kept))


def lead(
    transcript: Transcript, compaction: Compaction, *, pinned: Sequence[str] = ()
) -> tuple[Turn, ...]:
    """The turn that stands for all that was folded: nobody has answered it yet."""
    if not compaction.summary:
        return pinned_alone(pinned)
    transcript = _numbered(transcript, compaction)
    again = compaction.plan.repeated
    before = _parts(transcript, [one for one in again if one.what in BEFORE])
    request = _parts(transcript, [one for one in again if one.what not in BEFORE])
    note = Note(kind="summary", text=wrapped(compaction.summary, compaction.name))
    parts: tuple[Part, ...] = (*before, *_pinned(pinned), note, *request)
    first = transcript.turns[compaction.plan.cut - 1]
    return (
        Turn(
            index=first.index,
            exchange=first.exchange,
            user_message="\n\n".join(part.text for part in request if isinstance(part, Text)),
            notes=tuple(part for part in parts if isinstance(part, Note)),
            media=tuple(part for part in parts if isinstance(part, Media)),
            messages=(Message(role="user", parts=parts),),
            timestamp=first.timestamp,
        ),
    )


def pinned_alone(pinned: Sequence[str]) -> tuple[Turn, ...]:
    """The turn that leads a conversation of which nothing was folded."""
    notes = _pinned(pinned)
    return (Turn(notes=notes, messages=(Message(role="user", parts=notes),)),) if notes else ()


def _pinned(pinned: Sequence[str]) -> tuple[Note, ...]:
    """As a rules file is given: the user's own words, and none of a summary's."""
    if not pinned:
        return ()
    text = "\n\n".join((f"<{PINNED_TAG}>\n{PINNED}", *pinned, f"</{PINNED_TAG}>"))
    return (Note(kind="instructions", text=text),)


def said_again(transcript: Transcript, again: Sequence[Repeat]) -> tuple[str, ...]:
    """The words that stand verbatim beside the summary."""
    parts = _parts(transcript, list(again)) if again else ()
    return tuple(part.text for part in parts if isinstance(part, (Text, Note)))


def _numbered(transcript: Transcript, compaction: Compaction) -> Transcript:
    """With the numbers that the record speaks of; turns that were read have them already."""
    turns, first = transcript.turns, compaction.first
    if compaction.plan.nothing_to_do or all(t.index == first + n for n, t in enumerate(turns)):
        return transcript
    return replace(
        transcript, turns=tuple(replace(t, index=first + n) for n, t in enumerate(turns))
    )


def wrapped(summary: str, name: str = "") -> str:
    """The summary with what stands around it; `name` is the session's, where it is kept."""
    known = KNOWN.format(name=name) if name else ""
    words = WORDED if _WORDED.search(summary) else ""
    return f"{OPENING}\n{PREAMBLE}{known}{words}\n\n{summary}\n{CLOSING}"


def is_wrapped(text: str) -> bool:
    """Whether a text is what `wrapped` makes of a summary, and nothing more."""
    whole = text.strip()
    inner = whole.removeprefix(OPENING).removesuffix(CLOSING)
    return whole == f"{OPENING}{inner}{CLOSING}" and inner == neutral(inner)


def unwrapped(text: str) -> str:
    """The summary out of what `wrapped` made of it."""
    inner = text.strip().removeprefix(OPENING).removesuffix(CLOSING).strip()
    if not inner.startswith(PREAMBLE):
        return inner
    return inner.partition("\n")[2].strip()  # the preamble is one line


def _parts(transcript: Transcript, again: list[Repeat]) -> tuple[Part, ...]:
    turns = transcript.turns
    base = turns[0].index
    found = (
        parts_of(turns[one.turn - base], one.what, one.heading, most=one.most) for one in again
    )
    return tuple(_as_told(part) for parts in found for part in parts)


def _as_told(part: Part) -> Part:
    """What a client put in: unable to open or close a tag of ours. The user's words stay as they
    are, in a part of their own; and so does what they pinned."""
    if not isinstance(part, Note) or part.text.startswith(f"<{PINNED_TAG}>"):
        return part
    text = neutral(part.text)
    if text == part.text:
        return part
    return replace(part, text=text, wire=None)


# What an earlier compaction of ours left in a conversation: its summary, and its numbers.

ELSEWHERE: SectionName = "Current State"
"""Where the lines of an earlier summary go that has no sections."""
_CURRENT = re.compile(r'^(?:Now|Asked last, answered in t\d+): (?=")')
_AT_END = re.compile(r"\[t(?:\d{1,9}-)?(\d{1,9})\]$", re.MULTILINE)
"""The mark of a line that stands in no section."""


def earlier_summary(transcript: Transcript, *, before: int | None = None) -> Summary:
    """What the summary of ours tells that leads a conversation, up to a position in its turns."""
    text = leading(transcript)
    return told(text) if text and before != 0 else Summary()


def leading(transcript: Transcript) -> str:
    """The summary that a compaction of ours put before all else; only there is it ours. What looks
    like one and stands further on, or has another form, somebody else wrote."""
    ours = next((one for one in transcript.compactions if one.by == "kedgeline"), None)
    return unwrapped(ours.summary) if ours and not ours.turn and is_wrapped(ours.summary) else ""


def told(text: str) -> Summary:
    """The entries of a text, each as it stands there; what was asked last then is no longer."""
    entries = tuple(
        replace(entry, text=_CURRENT.sub("Asked: ", entry.text)) for entry in entries_of(text)
    )
    if not entries:
        lines = (line.removeprefix("- ") for line in text.split("\n") if line.strip())
        entries = tuple(Entry(section=ELSEWHERE, text=line) for line in lines)
    return replace(Summary(), carried=entries)


def numbered(transcript: Transcript) -> Transcript:
    """With turns that were built by hand, or follow a summary of ours, brought in order: numbers go
    on behind those it cites."""
    turns, first = transcript.turns, _cited(transcript)
    if _is_numbered(turns, first):
        return transcript
    exchanges = _exchanges(turns)
    turns = tuple(
        replace(turn, index=first + place, exchange=exchange)
        for place, (turn, exchange) in enumerate(zip(turns, exchanges, strict=True))
    )
    pending = transcript.pending
    if pending is not None:
        pending = replace(pending, index=first + len(turns))
    return replace(transcript, turns=turns, pending=pending)


def _is_numbered(turns: Sequence[Turn], first: int) -> bool:
    base = turns[0].index if turns else 0
    return base >= first and all(turn.index == base + n for n, turn in enumerate(turns))


def _exchanges(turns: Sequence[Turn]) -> Iterator[int]:
    """The exchanges as they are; those of turns that were never given one begin with words."""
    if any(turn.exchange for turn in turns):
        yield from (turn.exchange for turn in turns)
        return
    number = -1
    for turn in turns:
        number += bool(turn.user_message) or number < 0
        yield number


def _cited(transcript: Transcript) -> int:
    """The number behind the last that an earlier summary of ours cites."""
    text = leading(transcript)
    entries = entries_of(text)
    turns = (turn for entry in entries for turn in entry.turns)
    marks = () if entries else map(int, _AT_END.findall(text))
    return max((*turns, *marks), default=-1) + 1
