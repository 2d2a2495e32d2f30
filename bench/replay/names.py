"""Concrete names in text: paths, file names, identifiers, hashes, tickets, URLs, numbers.

Nothing of kedgeline's own extraction is used here: what measures must not share its mistakes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.model import SessionFacts, ToolCall, ToolResult, Transcript, Turn, Value
from kedgeline.model.catalogue import Verb, patch_in
from kedgeline.tokens import Exact

Kind = Literal["path", "file", "identifier", "hash", "ticket", "url", "number", "parameter"]
"""`path` has a folder in it; `file` is a base name that stands alone; `parameter` is a number that
is itself a parameter of a call, such as the line to read from: remembered, or just chosen."""

TELLING: frozenset[Kind] = frozenset({"path", "file", "url"})
"""Kinds whose names tell others beside themselves."""

Names = dict[str, Kind]

# fmt: off
SUFFIXES = frozenset((
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "env", "ex", "go", "gradle",
    "h", "hpp", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock",
    "log", "lua", "md", "mdx", "mjs", "mod", "php", "pl", "plist", "proto", "ps1", "py",
    "pyi", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql", "sum", "svelte", "svg",
    "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
))
# fmt: on
"""Endings by which a word without a folder is a file and no attribute of something."""
CLOSING = ".,;:!?*_/"
"""What prose puts behind an address."""
LEAST_IDENTIFIER = 4
"""Characters: shorter words with a capital or an underscore in them are seldom names."""
LEAST_PATH = 4
SYSTEM_FOLDERS = ("/bin/", "/dev/", "/proc/", "/usr/bin/")
"""The same on every machine: nobody has to remember them."""
MASKED_OUT = "REDACTED"
"""Stands in public transcripts in the place of names; what contains it is no name."""
# fmt: off
SETTINGS = frozenset((
    "-A", "-B", "-C", "context", "head_limit", "limit", "max_results", "mode", "model",
    "output_mode", "priority", "state", "status", "subagent_type", "task_id", "taskId", "timeout",
    "timeout_ms", "type", "yield_time_ms",
))
# fmt: on
"""Parameters that set a tool rather than name something of the work."""

_URL = re.compile(r"https?://[^\s\"'`<>()\[\]{}|\\^]{3,500}")
_PATH = re.compile(r"(?<![\w/.@+~-])(?:~|\.{1,2})?/?(?:[\w.@+-]{1,120}/){1,30}[\w.@+-]{0,120}")
_FILE = re.compile(
    r"(?<![\w/@+~-])(?<![^*]\*)(?<!^\*)[\w@+-][\w.@+-]{0,100}\.([A-Za-z][A-Za-z0-9]{0,7})(?![\w/@+-])"
)
_TICKET = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]{1,9}-\d{2,6}(?![\w-])|(?<![\w&#])#\d{2,6}(?!\w)")
_NUMBER = re.compile(r"(?<![\w.,])\d{3,30}(?!\w|[.,]\d)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,199}|[0-9][0-9a-f]{6,63}(?![A-Za-z0-9_])")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_JOINED = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]")
_GUTTER = re.compile(r"^[ ]{0,8}\d{1,7}[→\t]", re.MULTILINE)


class Finder:
    """Finds names in texts of one session; paths come out as seen from its root."""

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self._roots = tuple(f"{root}/" for root in roots)

    def names_in(self, text: str) -> Names:
        """The names as they stand in the text; the words inside of a path are not among them."""
        found: Names = {}
        text = _GUTTER.sub("", text)
        if "/" in text:
            text = _URL.sub(lambda match: _taken(found, match[0].rstrip(CLOSING), "url"), text)
            text = _PATH.sub(lambda match: self._path(found, match[0]), text)
        text = _FILE.sub(lambda match: _file(found, match), text)
        text = _TICKET.sub(lambda match: _taken(found, match[0], "ticket"), text)
        found.update(dict.fromkeys(_NUMBER.findall(text), "number"))
        found.update(_words(text))
        return found

    def _path(self, found: Names, written: str) -> str:
        """Takes a path out of the text; what is none stays."""
        path = self.path(written)
        if _is_path(path):
            return _taken(found, path, "path")
        if "/" not in path and "." in path:
            return path
        return written

    def path(self, written: str) -> str:
        """A path as seen from the root, without what prose puts around it."""
        path = written.strip().rstrip(".,:;/")
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :]
        return path.removeprefix("./")


def roots_of(transcript: Transcript) -> tuple[str, ...]:
    """The folders the session works in; one that lies below or above an earlier one is only where
    the agent went for a while."""
    found: list[str] = []
    for change in transcript.session.changes:
        root = change.value.rstrip("/") + "/"
        if change.name != "root" or root == "/":
            continue
        if not any(root.startswith(one) or one.startswith(root) for one in found):
            found.append(root)
    return tuple(root.rstrip("/") for root in found)


def implied(names: Mapping[str, Kind]) -> Names:
    """The names with what they tell beside themselves: of a path the folders above it and its base
    name, of paths and addresses the words inside."""
    found: Names = dict(names)
    for name, kind in names.items():
        if kind in TELLING:
            found.update((word, of) for word, of in _words(name).items() if word not in names)
        if kind == "path":
            found.update(_around(name))
    return found


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def strings_in(parameters: Mapping[str, Any]) -> list[str]:
    """All texts among the parameters of a call, without those that only set the tool."""
    return [text for key, value in parameters.items() if key not in SETTINGS for text in _of(value)]


def numbers_in(parameters: Mapping[str, Any]) -> Names:
    """The numbers among the parameters themselves."""
    given = (value for key, value in parameters.items() if key not in SETTINGS)
    found = (str(value) for value in given if isinstance(value, int))
    return {number: "parameter" for number in found if _NUMBER.fullmatch(number)}


def _around(path: str) -> Names:
    found: Names = {}
    folder, _, last = path.rpartition("/")
    if "." in last:
        found[last] = "file"
    while _is_path(folder):
        found[folder] = "path"
        folder = folder.rpartition("/")[0]
    return found


def _words(text: str) -> Names:
    return {word: kind for word in set(_WORD.findall(text)) if (kind := _word_kind(word))}


def _file(found: Names, match: re.Match[str]) -> str:
    return _taken(found, match[0], "file") if match[1] in SUFFIXES else match[0]


def _taken(found: Names, name: str, kind: Kind) -> str:
    """Takes a name out of the text, so that its parts are not names again."""
    if MASKED_OUT not in name:
        found[name] = kind
    return " "


def _of(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from strings_in(value)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _of(item)


def _is_path(path: str) -> bool:
    """Whether this is a path and not two words with a stroke between them."""
    if len(path) < LEAST_PATH or "/" not in path or MASKED_OUT in path:
        return False
    if path.startswith(SYSTEM_FOLDERS) or not any(map(str.isalpha, path)):
        return False
    inner = path.strip("/").count("/")
    suffix = "." in path.rpartition("/")[2].strip(".")
    return (
        inner >= 2 or (inner >= 1 and path.startswith(("/", "~", "../"))) or (inner >= 1 and suffix)
    )


@lru_cache(maxsize=65_536)
def _word_kind(word: str) -> Kind | None:
    if MASKED_OUT in word:
        return None
    if _HASH.fullmatch(word):
        return "hash"
    if len(word) >= LEAST_IDENTIFIER and _JOINED.search(word):
        return "identifier"
    return None


# Which files were changed, and how, as the edit tools and their results say it.

Action = Literal["created", "modified", "deleted", "renamed"]

REPORTED: dict[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
_HEADER = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCHED: dict[str, Action] = {
    "Add File": "created",
    "Update File": "modified",
    "Delete File": "deleted",
    "Move to": "renamed",
}


class Files(NamedTuple):
    changed: dict[str, Action]
    """What became of each file in the end; one that was created and deleted again is not there."""
    only_read: frozenset[str]


def files_of(turns: Iterable[Turn], finder: Finder, agents: Sequence[Transcript] = ()) -> Files:
    """By file tools alone, those of sub-agents included: what commands changed is not in it."""
    changed: dict[str, Action] = {}
    seen: set[str] = set()
    for turn in _with_agents(turns, agents):
        for call in turn.tool_calls:
            result = turn.result_of(call)
            if result is None or not result.success:
                continue
            for written, action in _changes(call, result, seen, finder):
                fold(changed, finder.path(written), action)
            seen.update(map(finder.path, call.paths()))
    return Files(changed, frozenset(seen - changed.keys()))


def _with_agents(turns: Iterable[Turn], agents: Sequence[Transcript]) -> Iterator[Turn]:
    """Each turn, and behind it the turns of the sub-agents it started."""
    for turn in turns:
        yield turn
        started = {call.id for call in turn.tool_calls}
        inner = [agent for agent in agents if agent.delegated_by in started]
        for agent in inner:
            rest = [one for one in agents if one is not agent]
            yield from _with_agents(agent.turns, rest)


def fold(changed: dict[str, Action], path: str, action: Action) -> None:
    """One more change of a file, on top of those before it."""
    earlier = changed.get(path)
    if earlier == "created" and action == "deleted":
        del changed[path]
    elif not (earlier in ("created", "renamed") and action == "modified"):
        changed[path] = action


def _changes(
    call: ToolCall, result: ToolResult, seen: set[str], finder: Finder
) -> Iterator[tuple[str, Action]]:
    if call.verb == "edit" and (patch := patch_in(call.parameters)):
        for kind, written in _HEADER.findall(patch):
            yield written, _PATCHED[kind]
        return
    if call.verb == "move":
        yield from ((path, "renamed") for path in call.paths()[-1:])
        return
    if call.verb not in ("write", "edit", "delete"):
        return
    for path in call.paths():
        if result.change:
            yield path, REPORTED[result.change]
        elif call.verb == "delete":
            yield path, "deleted"
        else:
            known = call.verb == "edit" or finder.path(path) in seen
            yield path, "modified" if known else "created"


# Where sessions are cut: at the compactions another system made, and where none had been made.

HORIZON = 40
"""Turns after a cut that are looked at: what is needed later depends more and more on what came in
between."""
LEAST_AFTER_BOUNDARY = 5
"""Turns after a real compaction; fewer show nothing of what the agent needed."""
SHARES = (0.4, 0.6, 0.8)
"""Of the turns of an uncompacted session: where it is cut for a fair comparison."""
LEAST_TURNS = 30
"""Of a session that is cut so: shorter ones have too little to forget."""
LEAST_AFTER_FAIR = 15

Where = Literal["boundary", "fair"]


class Cut(Value, frozen=True):
    """A point in a session."""

    where: Where
    turn: int
    """The first one after it."""
    end: int
    """The first one that is no longer looked at."""
    recorded: str = ""
    """The other system's own summary, at a boundary."""


def cuts_of(transcript: Transcript) -> tuple[Cut, ...]:
    """All cuts of a session, the same for the same session."""
    return (*_boundaries(transcript), *_fair(transcript))


def before(transcript: Transcript, cut: Cut) -> Transcript:
    """The session as it stood at the cut: nothing in it comes from later."""
    turns = transcript.turns[: cut.turn]
    calls = {call.id for turn in turns for call in turn.tool_calls}
    changes = tuple(one for one in transcript.session.changes if one.turn < cut.turn)
    return replace(
        transcript,
        turns=turns,
        pending=None,
        session=SessionFacts(changes=changes),
        compactions=tuple(one for one in transcript.compactions if one.turn < cut.turn),
        agents=tuple(one for one in transcript.agents if one.delegated_by in calls),
    )


def after(transcript: Transcript, cut: Cut) -> tuple[Turn, ...]:
    """The turns that show what was needed, without the summary the agent went on from."""
    turns = transcript.turns[cut.turn : cut.end]
    if not turns or cut.where != "boundary":
        return turns
    notes = tuple(note for note in turns[0].notes if note.kind != "summary")
    return (replace(turns[0], notes=notes), *turns[1:])


def _boundaries(transcript: Transcript) -> Iterator[Cut]:
    count = len(transcript.turns)
    made = {one.turn: one.summary for one in transcript.compactions if one.kind == "summary"}
    every = sorted({one.turn for one in transcript.compactions} | {count})
    for turn, summary in sorted(made.items()):
        end = min(next((one for one in every if one > turn), count), turn + HORIZON, count)
        if turn > 0 and summary.strip() and end - turn >= LEAST_AFTER_BOUNDARY:
            yield Cut(where="boundary", turn=turn, end=end, recorded=summary)


def _fair(transcript: Transcript) -> Iterator[Cut]:
    """Before the first compaction of any kind the agent had its whole history."""
    limit = min([len(transcript.turns), *(one.turn for one in transcript.compactions)])
    if limit < LEAST_TURNS:
        return
    for share in SHARES:
        turn = int(limit * share)
        if limit - turn >= LEAST_AFTER_FAIR:
            yield Cut(where="fair", turn=turn, end=min(limit, turn + HORIZON))


# Turns as text, and text cut to a number of tokens.

EXACT = Exact()
FENCE = "````"
"""Around outputs: one more than what stands in most of them."""
MOST_CHARACTERS = 16
"""Of a token, when guessing how much of a text can fit."""
_PIECE = re.compile(r"[^\n]{1,200}\n?|\n")
"""A line, or a part of a long one: where a text may be cut."""

Shown = Callable[[ToolResult], str]


def whole(result: ToolResult) -> str:
    return result.output or result.error or ""


def masked(result: ToolResult) -> str:
    """One line in the place of an output."""
    return f"[output of {len(whole(result)):,} characters left out]"


def turn_text(turn: Turn, shown: Shown = whole) -> str:
    """A turn as the agent had it: words, calls with their parameters, results. Without thinking,
    which providers do not send back."""
    return _joined(_parts(turn, shown))


def newest(turns: Sequence[Turn], tokens: int, shown: Shown = whole) -> str:
    """The text of the newest turns that fit; of the first that does not, as much of its end."""
    return _filled((turn_text(turn, shown) for turn in reversed(turns)), tokens, tail)


def oldest(turns: Sequence[Turn], tokens: int, shown: Shown = whole) -> str:
    """The text of the oldest turns that fit; of the first that does not, as much as fits."""
    return _filled((turn_text(turn, shown) for turn in turns), tokens, head)


def head(text: str, tokens: int) -> str:
    """The first lines that have no more than so many tokens."""
    pieces = _PIECE.findall(text[: tokens * MOST_CHARACTERS])
    return "".join(pieces[: _most(pieces, tokens)])


def tail(text: str, tokens: int) -> str:
    """The last lines that have no more than so many tokens."""
    pieces = _PIECE.findall(text[max(0, len(text) - tokens * MOST_CHARACTERS) :])
    taken = _most(pieces[::-1], tokens)
    return "".join(pieces[len(pieces) - taken :])


def _filled(texts: Iterable[str], tokens: int, cut: Callable[[str, int], str]) -> str:
    """Texts one after the other until the tokens are spent; `cut` takes what fits of the last."""
    taken: list[str] = []
    left = tokens
    for text in texts:
        size = EXACT.count(text) if len(text) <= left * MOST_CHARACTERS else left + 1
        if size > left:
            taken.append(cut(text, left))
            break
        taken.append(text)
        left -= size
    whole_text = "".join(reversed(taken) if cut is tail else taken)
    return whole_text if EXACT.count(whole_text) <= tokens else cut(whole_text, tokens)


def _most(pieces: Sequence[str], tokens: int) -> int:
    """How many of these pieces fit; alone they hardly ever have fewer tokens than together."""
    for number, piece in enumerate(pieces):
        tokens -= EXACT.count(piece)
        if tokens < 0:
            return number
    return len(pieces)


def _parts(turn: Turn, shown: Shown) -> Iterator[str]:
    yield f"## t{turn.index}"
    yield from _heard(turn)
    yield turn.assistant_response
    for call in turn.tool_calls:
        yield from _called(call)
        if result := turn.result_of(call):
            yield _fenced(shown(result))


def _heard(turn: Turn) -> Iterator[str]:
    if turn.user_message:
        yield f"User: {turn.user_message}"
    yield from (note.text for note in turn.notes)


def _called(call: ToolCall) -> Iterator[str]:
    yield f"### {' '.join((call.tool, *call.paths()))}"
    parameters: Mapping[str, Any] = call.parameters
    for name, value in parameters.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield f"{name}: {text}"


def _fenced(output: str) -> str:
    return f"{FENCE}\n{output}\n{FENCE}"


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part) + "\n"


# What a task costs in tokens: what is carried at every step, and what is fetched again.

NOT_REPEATED: frozenset[Verb] = frozenset({"write", "edit", "delete", "move", "todo", "ask"})
"""Calls that nobody makes again to be shown something."""


class Source(NamedTuple):
    """The tool result that shows a name again at the least price."""

    turn: int
    number: int
    """Which of the turn's."""
    tokens: int


class Looked(NamedTuple):
    """The names in one result of a call that can be made again."""

    turn: int
    number: int
    """Which of the turn's."""
    result: ToolResult
    names: Names


class Task(NamedTuple):
    steps: int
    """Turns after the cut that are looked at: at each of them a model reads what is carried."""
    history: int
    """Tokens of all turns before the cut."""
    needed_at: dict[str, int]
    """Needed names to the step that needs them first, counted from 0."""
    sources: dict[str, Source]
    """By needed name; one that no result held is not there."""


def sources_of(
    names: Iterable[str],
    known: Mapping[str, Kind],
    results: Iterable[Looked],
    tokens: Callable[[Looked], int],
) -> dict[str, Source]:
    """For each name the smallest result that held it, the newest of equal ones.

    It is the same one whatever else is lost: to lose more never costs less."""
    tells = _tells(frozenset(names), known)
    found: dict[str, Source] = {}
    for one in results:
        held = {name for written in one.names.keys() & tells.keys() for name in tells[written]}
        if not held:
            continue
        source = Source(one.turn, one.number, tokens(one))
        for name in held:
            if name not in found or source.tokens <= found[name].tokens:
                found[name] = source
    return found


def task_scores(task: Task, carried: int, lost: Iterable[str]) -> dict[str, float]:
    """What a task costs from a text of so many tokens, in which these needed names do not stand.

    What comes in after the cut is carried too; it is the same for all methods and left out. What is
    fetched again stays: paid for once, a text that keeps nothing would come out cheapest."""
    fetched: dict[Source, int] = {}
    for name in lost:
        if source := task.sources.get(name):
            step = task.needed_at[name]
            fetched[source] = min(step, fetched.get(source, step))
    staying = sum(source.tokens * (task.steps - step) for source, step in fetched.items())
    tokens = carried * task.steps + staying
    found: dict[str, float] = {
        "task_tokens": tokens,
        "fetched_tokens": sum(source.tokens for source in fetched),
    }
    if whole := task.history * task.steps:
        found["task_ratio"] = tokens / whole
    return found


def _tells(names: frozenset[str], known: Mapping[str, Kind]) -> Mapping[str, set[str]]:
    """A name as it is written to the needed names it tells: itself, and what a path implies."""
    tells: defaultdict[str, set[str]] = defaultdict(set)
    for written, kind in known.items():
        if kind in TELLING:
            tells[written] |= names & implied({written: kind}).keys()
        elif written in names:
            tells[written].add(written)
    return tells
