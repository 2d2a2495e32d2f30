"""Whether the turns that the lines of a summary cite hold what the lines say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from kedge.bench.claims import Claim, claims_of
from kedge.model import Text, Transcript, Turn, Value
from kedge.model.summary import SectionName
from kedge.summary import parse, render
from kedge.summary.items import Item
from kedge.summary.markdown import INDEX

Held = Literal["turn", "agent", "nowhere"]
"""By the cited turn itself, or only by the sub-agent that it started."""
SPOKEN = ("command", "shell", "plan")
"""Kinds of notes that are the user's doing: commands they ran, a plan they approved."""

_COMMAND = re.compile(r"<command-name>/?")
_TAG = re.compile(r"</?command-[a-z]{1,40}>")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()}


class SectionShare(Value, frozen=True):
    """The lines of one section that can be checked, and how many are held up."""

    section: SectionName
    lines: int = 0
    supported: int = 0
    """Those whose every part stands in a turn they cite, or in the sub-agent that it started."""
    by_agents: int = 0
    """Those among them that need the sub-agent's own turns."""
    unchecked: int = 0
    """Lines without a citation, or with nothing that is not derived."""
    missed: dict[str, int] = msgspec.field(default_factory=dict)
    """Parts that stand in none of the turns, by kind."""


class Miss(NamedTuple):
    item: Item
    claim: Claim


class Citations:
    """The turns of one session, asked for what they hold."""

    def __init__(self, transcript: Transcript) -> None:
        pending = (transcript.pending,) if transcript.pending else ()
        self._turns = {turn.index: Evidence(turn) for turn in (*transcript.turns, *pending)}
        self._agents: dict[str, list[Evidence]] = {}
        for agent in transcript.agents:
            found = [Evidence(turn) for turn in agent.turns]
            self._agents.setdefault(agent.delegated_by, []).extend(found)

    def held(self, claim: Claim) -> Held:
        cited = [self._turns[turn] for turn in claim.turns if turn in self._turns]
        if any(evidence.holds(claim) for evidence in cited):
            return "turn"
        inside = (one for evidence in cited for one in self._started(evidence, set()))
        return "agent" if any(evidence.holds(claim) for evidence in inside) else "nowhere"

    def unsupported(self, items: Iterable[Item]) -> Iterator[Miss]:
        """Every part of a line that none of its turns holds."""
        for item in items:
            for claim in claims_of(item):
                if self.held(claim) == "nowhere":
                    yield Miss(item, claim)

    def shares(self, items: Iterable[Item]) -> Iterator[SectionShare]:
        """One share per line."""
        for item in items:
            held = [(claim.kind, self.held(claim)) for claim in claims_of(item)]
            if not held:
                yield SectionShare(section=item.section, unchecked=1)
                continue
            missed = Counter(str(kind) for kind, where in held if where == "nowhere")
            yield SectionShare(
                section=item.section,
                lines=1,
                supported=not missed,
                by_agents=not missed and any(where == "agent" for _, where in held),
                missed=dict(missed),
            )

    def _started(self, evidence: Evidence, seen: set[str]) -> Iterator[Evidence]:
        """The turns of the sub-agents a turn started, and of theirs."""
        for call in evidence.turn.tool_calls:
            if call.id in self._agents and call.id not in seen:
                seen.add(call.id)
                for inner in self._agents[call.id]:
                    yield inner
                    yield from self._started(inner, seen)


class Evidence:
    """All text of one turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def holds(self, claim: Claim) -> bool:
        if claim.kind == "rule":
            return any(claim.text in text for text in (*self.user, *self.rules))
        text = flattened(claim.text)
        if claim.kind == "asked":
            return _stands(text, flattened("\n".join(self.user)))
        if claim.kind == "word":
            return text.casefold() in self.small
        if claim.kind == "number":
            return _has_number(text, self.whole)
        if claim.kind == "path":
            return _has_path(text, self.whole)
        return _stands(text, self.whole) or (claim.kind == "code" and self._composed(text))

    @cached_property
    def whole(self) -> str:
        return flattened("\n".join(_texts(self.turn)))

    @cached_property
    def small(self) -> str:
        return self.whole.casefold()

    @cached_property
    def user(self) -> tuple[str, ...]:
        """What the user said, and what stands for it."""
        parts = (part for message in self.turn.messages for part in message.parts)
        queued = (part.text for part in parts if isinstance(part, Text) and part.queued)
        noted = (
            _TAG.sub(" ", _COMMAND.sub(" /", note.text))
            for note in self.turn.notes
            if note.kind in SPOKEN
        )
        return (*self.turn.user_words(), *queued, *noted)

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(note.text for note in self.turn.notes if note.kind == "instructions")

    def _composed(self, code: str) -> bool:
        """Code that is put together: a member with its class before it, a tool with its path, and
        code that has quotes in the place of the marks that would end it."""
        words = code.split(" ")
        if len(words) == 2 and any(call.tool == words[0] for call in self.turn.tool_calls):
            return _has_path(words[1], self.whole)
        parts = [part for part in code.split(".") if part]
        if len(words) == 1 and len(parts) > 1:
            return all(part in self.whole for part in parts)
        return "'" in code and _stands(code, self.whole.replace("`", "'"))


def as_shown(items: Sequence[Item]) -> list[Item]:
    """The items with the turns that a reader sees: names of one topic share a line, and its
    turns."""
    there, _ = parse(render(items))
    lines = {(one.topic, one.text): one.turns for one in there if one.section == INDEX}
    return [
        item._replace(turns=lines.get((item.topic, item.text), item.turns))
        if item.section == INDEX
        else item
        for item in items
    ]


def flattened(text: str) -> str:
    """Blanks made one, colours and control characters left out: as lines of a summary are."""
    return " ".join(_COLOUR.sub("", text).translate(_CONTROLS).split())


def added(shares: Iterable[SectionShare]) -> dict[SectionName, SectionShare]:
    """One share per section."""
    found: dict[SectionName, SectionShare] = {}
    for share in shares:
        known = found.get(share.section, SectionShare(section=share.section))
        found[share.section] = SectionShare(
            section=share.section,
            lines=known.lines + share.lines,
            supported=known.supported + share.supported,
            by_agents=known.by_agents + share.by_agents,
            unchecked=known.unchecked + share.unchecked,
            missed=dict(Counter(known.missed) + Counter(share.missed)),
        )
    return found


def _texts(turn: Turn) -> Iterator[str]:
    """Words, calls with all that was given to them, results, notes."""
    yield from (turn.user_message, turn.assistant_response, turn.thinking)
    yield from (note.text for note in turn.notes)
    for call in turn.tool_calls:
        yield call.tool
        yield from _strings(call.parameters)
    for result in turn.tool_results:
        yield from (result.output, result.error or "", result.reason)
    for message in turn.messages:
        yield from (part.text for part in message.parts if isinstance(part, Text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        if all(isinstance(inner, str) for inner in value):
            yield " ".join(value)
        for inner in value:
            yield from _strings(inner)
    elif value is not None:
        yield str(value)


def _stands(text: str, whole: str) -> bool:
    """Verbatim; of a text that was cut, what is left of it."""
    return all(part.strip() in whole for part in text.split("…"))


def _has_number(text: str, whole: str) -> bool:
    number = re.escape(text)
    return re.search(rf"(?<!\d){number}(?!\d)", whole) is not None


def _has_path(text: str, whole: str) -> bool:
    """A path as it is, or its end: a command may have run in a folder of its own."""
    path, _, line = text.partition(":")
    name = path.rstrip("/").rpartition("/")[2]
    if line.isdigit() and not _has_number(line, whole):
        return False
    return path in whole or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", whole) is not None
