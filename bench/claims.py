"""What a line of a summary says that a turn can be asked for.

Paths, names in code, quoted words, commands, numbers and the longer words of prose stand in the
turn they come from. What is derived is not asked for: the words for actions and states, counts,
labels, and what comes from the record of the session rather than from a turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from posixpath import normpath
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from kedgeline.facts import facts_of
from kedgeline.model import FileChanged, Text, ToolCall, ToolResult, Transcript, Turn, Value
from kedgeline.model.summary import SectionName
from kedgeline.summary.state import Item

ClaimKind = Literal["asked", "rule", "path", "code", "quoted", "command", "number", "word"]
"""`asked` and `rule` must be the user's own words, or a rules file's; the others may stand
anywhere in a turn."""
LEAST_WORD = 5
"""Letters of a word that tells where a sentence comes from."""

_MARKS = re.compile(r"\s?\[(t\d+(?:-\d+)?(?:, t\d+(?:-\d+)?)*)\];?")
_MARK = re.compile(r"t(\d+)(?:-(\d+))?")
_LABELLED = re.compile(r'(?:Now|Asked|Asked then|Before|Said since): "(.*)"', re.DOTALL)
_RULE = re.compile(r'"(.*)"(?: \(([^()]{1,300})\))?', re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_QUOTED = re.compile(r"“([^”]+)”")
_PATH = re.compile(
    r"(?<![\w:/.@-])(?:[\w.@+~-]*/)+[\w.@+-]*\w(?::\d+)?|\b[\w-]+(?:\.\w+)*\.\w{1,5}\b"
)
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d(?![\w-])|(?<![\w.,-])\d{2,}(?![\w-])")
_WORD = re.compile(rf"[^\W\d_]{{{LEAST_WORD},}}")
_TORN = re.compile(r"\S*…")
_MORE = re.compile(r",? and \d+ more")
_CHECK = re.compile(r"(?:test|build|lint|deploy|migration): `(.+?)`: (.*)", re.DOTALL)
_COUNTS = re.compile(r"(?:FAILS, )?\d+ [\w ]{1,30} (?:passed|failed)(?:, \d+ (?:passed|failed))?")
_OUTCOME = re.compile(r"^(?:passes|FAILS|outcome unknown)(?:: |$)|^\d+ issues?\b")
_EDITED = "Edited since the last test run: "
_DERIVED = re.compile(
    r"^(?:OPEN|Resolved|Dead end|Done|Pushed|Pull request|Tag|Branch|HEAD|Commit|Sub-agent"
    r"|The (?:user|agent) asked|The agent was at|Go on with):?,? "
    r"|; no closing answer yet$"
    r"|\(in progress\)|\(planned, not run\)|Not taken: |Superseded: |by the sub-agent"
    r"|: after editing |: by (?=`)| instead$|: by reading it first$|: at the next try$"
    r"|, (?:refused|stopped|taken back)(?=: |$)|, created in t\d+ and deleted again"
    r"|, undone by the user(?=: |$)|, which the user asked to undo|part of the work on |changes to "
    r"|(?<=`) works$|” as proposed|last edit of |edit of |sub-agent (?=“)|plan approved: "
    r"|Approve the plan(?:: |\?)"
)
"""Labels and words of ours between the words of others."""
_SESSION = re.compile(
    r"(?:Mode|Plan file|Worktree|Tasks|No test was run|The agent made no commit)\b"
)


class Claim(NamedTuple):
    kind: ClaimKind
    text: str
    turns: tuple[int, ...]
    """One of them must hold it."""


def claims_of(item: Item) -> list[Claim]:
    """All that one item says, each with the turns it cites for it; none where it cites no turn."""
    turns = cited_turns(item)
    return list(_BY_SECTION.get(item.section, _told)(item, turns)) if turns else []


def cited_turns(item: Item) -> tuple[int, ...]:
    """The turns a reader sees: in the files' table those of the changes, where these are told."""
    shown = tuple(turn for marks in _MARKS.findall(item.detail) for turn in _turns(marks))
    return shown if item.section == "Files Modified" and shown else item.turns


def prose(text: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """What a text of several sources says: code, quotes, paths, numbers, longer words."""
    rest = _MORE.sub(" ", _DERIVED.sub(_kept, text))
    yield from _marked(rest, turns)
    rest = _TORN.sub(" ", _CODE.sub(" ", _QUOTED.sub(" ", rest)))
    yield from (Claim("path", found, turns) for found in _PATH.findall(rest))
    rest = _PATH.sub(" ", rest)
    yield from (Claim("number", found, turns) for found in _NUMBER.findall(rest))
    yield from (Claim("word", found, turns) for found in _WORD.findall(rest))


def _marked(text: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """What stands in quotes, and what stands as code outside of them."""
    yield from (Claim("quoted", found, turns) for found in _QUOTED.findall(text))
    yield from (Claim("code", found, turns) for found in _CODE.findall(_QUOTED.sub(" ", text)))


def _kept(ours: re.Match[str]) -> str:
    """In the place of words of ours: the quote they close, or nothing."""
    return "” " if ours[0].startswith("”") else " "


def _told(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    yield from prose(item.text, turns)


def _asked(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = _LABELLED.fullmatch(item.text)
    yield Claim("asked", found[1] if found else item.text, turns)


def _rules(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = _RULE.fullmatch(item.text)
    yield Claim("rule", found[1] if found else item.text, turns)


def _changed(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    """The path may stand in any of the turns; what changed, in those behind it."""
    yield Claim("path", item.text, turns)
    start = 0
    for marks in _MARKS.finditer(item.detail):
        yield from _change(item.detail[start : marks.start()], _turns(marks[1]))
        start = marks.end()
    yield from _change(item.detail[start:], item.turns)


def _change(detail: str, turns: tuple[int, ...]) -> Iterator[Claim]:
    """Only what is quoted: the words around it say what kind of change it was."""
    yield from _marked(detail, turns)
    before = re.search(r"(?:renamed from|copy of) ([^\s;]+)", detail)
    if before and not before[1].endswith("…"):
        yield Claim("path", before[1], turns)


def _read(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    """Of a span of lines the first: the last may be computed from how many were asked for."""
    yield Claim("path", item.text, turns)
    spans = re.match(r"lines ((?:(?:last )?\d+-?\d*(?:, )?)+)(?:; |$)", item.detail)
    if spans:
        yield from (
            Claim("number", first, turns) for first in re.findall(r"(\d+)(?:-\d+)?", spans[1])
        )
    yield from prose(item.detail[spans.end() if spans else 0 :], turns)


def _state(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    if _SESSION.match(item.text):
        return
    if item.text.startswith(_EDITED):
        listed = _MORE.sub("", item.text.removeprefix(_EDITED)).split(", ")
        yield from (Claim("path", path, turns) for path in listed)
    elif check := _CHECK.fullmatch(item.text):
        yield Claim("command", check[1], turns)
        yield from prose(_OUTCOME.sub("", _COUNTS.sub("", check[2])), turns)
    else:
        yield from prose(item.text, turns)


def _command(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    found = re.match(r"`(.+)`(?: \([^()`]*\))?$", item.text, re.DOTALL)
    yield Claim("command", found[1] if found else item.text, turns)


def _name(item: Item, turns: tuple[int, ...]) -> Iterator[Claim]:
    name = item.text.strip("`")
    yield Claim("path" if "/" in name and "://" not in name else "code", name, turns)


def _turns(marks: str) -> tuple[int, ...]:
    spans = ((int(first), int(last or first)) for first, last in _MARK.findall(marks))
    return tuple(turn for first, last in spans for turn in range(first, last + 1))


_BY_SECTION: dict[SectionName, Callable[[Item, tuple[int, ...]], Iterator[Claim]]] = {
    "Session Intent": _asked,
    "Standing Instructions": _rules,
    "Files Modified": _changed,
    "Files Read (Not Modified)": _read,
    "Current State": _state,
    "Commands": _command,
    "Index": _name,
}


# Whether the turns that the lines of a summary cite hold what the lines say.

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
    """Words, calls with all that was given to them, results with the lines of a file that enclose
    an edit, notes."""
    yield from (turn.user_message, turn.assistant_response, turn.thinking)
    yield from (note.text for note in turn.notes)
    for call in turn.tool_calls:
        yield call.tool
        yield from _strings(call.parameters)
    for result in turn.tool_results:
        yield from (result.output, result.error or "", result.reason, result.around)
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


# Facts about changed files against what the edit tools themselves reported.

Action = Literal["created", "modified", "deleted", "renamed"]
Source = Literal["tool", "agent", "shell", "outside"]
ACTIONS: tuple[Action, ...] = get_args(Action)
SOURCES: tuple[Source, ...] = get_args(Source)
EDITS = ("write", "edit", "delete", "move")
"""Verbs of tools that change files."""
PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "filename")
CHANGES: Mapping[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
HEADERS: Mapping[str, Action] = {
    "Add": "created",
    "Update": "modified",
    "Delete": "deleted",
    "Move": "renamed",
}
ELSEWHERE = -1
"""Turn of what a sub-agent did that no call of the session is known to have started."""

_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete|Move)(?: File| to): (.+)$", re.MULTILINE)
_CREATED = re.compile(r"File created successfully at|Successfully created and wrote to new file")
_UPDATED = re.compile(
    r"The file .{1,400}? has been updated|Successfully (?:overwrote file|replaced text in)"
)
"""How clients that keep no flag word it at the beginning of a result."""


class Change(NamedTuple):
    source: Source
    turn: int
    path: str
    """As the call writes it."""
    action: Action | None
    """None where the tool does not report what it did."""


class FileShare(Value, frozen=True):
    """Facts of one kind, and how many of them are right."""

    format: str
    source: Source
    action: Action
    reported: int = 0
    """Changes that tools report."""
    facts: int = 0
    """Facts that can be held against a report; of other sources, all."""
    right: int = 0
    unjudged: int = 0
    """Facts about calls that worked and report nothing."""


def file_shares(transcript: Transcript) -> Iterator[FileShare]:
    """All shares of one session."""
    facts = [fact for fact in facts_of(transcript) if isinstance(fact, FileChanged)]
    yield from _shares(transcript.format, reported_in(transcript), facts, Names(transcript))


def summed(shares: Iterable[FileShare]) -> tuple[FileShare, ...]:
    """One share per format, source and action."""
    found: dict[tuple[str, Source, Action], FileShare] = {}
    for share in shares:
        key = (share.format, share.source, share.action)
        found[key] = _both(found[key], share) if key in found else share
    return tuple(found[key] for key in sorted(found))


def reported_in(
    transcript: Transcript, *, turn: int | None = None, seen: set[str] | None = None
) -> Iterator[Change]:
    """What the edit tools of a session and of its sub-agents report. A sub-agent's changes stand at
    the turn that started it."""
    inside = turn is not None
    agents = {one.delegated_by: one for one in transcript.agents if one.delegated_by}
    started = seen if seen is not None else set()
    for own in transcript.turns:
        for call in own.tool_calls:
            at = own.index if turn is None else turn
            for path, action in reported_by(call, own.result_of(call)):
                yield Change("agent" if inside else "tool", at, path, action)
            if call.id in agents and call.id not in started:
                started.add(call.id)
                part = replace(agents[call.id], agents=transcript.agents)
                yield from reported_in(part, turn=at, seen=started)
    if inside:
        return
    for agent in transcript.agents:
        if agent.delegated_by not in started:
            yield from reported_in(replace(agent, agents=()), turn=ELSEWHERE, seen=started)


def reported_by(call: ToolCall, result: ToolResult | None) -> Iterator[tuple[str, Action | None]]:
    """The files one call of an edit tool changed, with what the tool says it did."""
    if call.verb not in EDITS or result is None or not result.success:
        return
    patches = [text for text in _words_in(call) if "*** Begin Patch" in text]
    if patches:
        headers = _HEADER.findall(patches[0])
        for place, (kind, path) in enumerate(headers):
            moved = place + 1 < len(headers) and headers[place + 1][0] == "Move"
            if not moved:
                yield path.strip(), HEADERS[kind]
        return
    path = next((call.parameters[key] for key in PATHS if key in call.parameters), None)
    if isinstance(path, str) and path:
        yield path, _reported(result)


class Names:
    """The names a file of one session may have in its facts: as written, or from a root."""

    def __init__(self, transcript: Transcript) -> None:
        changes = transcript.session.changes
        roots = [change.value for change in changes if change.name == "root"]
        self._roots = tuple(dict.fromkeys(normpath(root) for root in roots if root))

    def of(self, written: str) -> set[str]:
        path = normpath(written.strip().replace("\\", "/"))
        below = (root for root in self._roots if path.startswith(f"{root}/"))
        return {path, *(path[len(root) + 1 :] for root in below)}


def _shares(
    format: str,
    changes: Iterable[Change],
    facts: Iterable[FileChanged],
    names: Names,
) -> Iterator[FileShare]:
    """Each report takes one fact of its turn, path and action; calls that report nothing take one
    each out of the count."""
    left = Counter((fact.source, fact.turn, fact.path, fact.action) for fact in facts)
    tally: Counter[tuple[Source, Action, str]] = Counter()
    for change in sorted(changes, key=lambda one: one.action is None):
        keys = [
            (change.source, change.turn, name, action)
            for name in names.of(change.path)
            for action in ((change.action,) if change.action else ACTIONS)
        ]
        found = next((key for key in keys if left[key]), None)
        if change.action:
            tally[change.source, change.action, "reported"] += 1
        if found:
            left[found] -= 1
            tally[found[0], found[3], "right" if change.action else "unjudged"] += 1
            tally[found[0], found[3], "facts"] += change.action is not None
    for (source, _, _, action), count in left.items():
        tally[source, action, "facts"] += count
    for source in SOURCES:
        for action in ACTIONS:
            counts = {
                name: tally[source, action, name]
                for name in ("reported", "facts", "right", "unjudged")
            }
            if any(counts.values()):
                yield FileShare(format=format, source=source, action=action, **counts)


def _both(one: FileShare, other: FileShare) -> FileShare:
    return replace(
        one,
        reported=one.reported + other.reported,
        facts=one.facts + other.facts,
        right=one.right + other.right,
        unjudged=one.unjudged + other.unjudged,
    )


def _reported(result: ToolResult) -> Action | None:
    if result.change:
        return CHANGES[result.change]
    if _CREATED.match(result.output):
        return "created"
    return "modified" if _UPDATED.match(result.output) else None


def _words_in(call: ToolCall) -> Iterator[str]:
    for value in call.parameters.values():
        parts = value if isinstance(value, list | tuple) else (value,)
        yield from (part for part in parts if isinstance(part, str))
