"""What the agent needed after a cut, read from what it really did. For scoring only."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from kedge.bench.replay.boundaries import Cut, after
from kedge.bench.replay.files import Files, files_of
from kedge.bench.replay.names import Finder, Kind, Names, implied, numbers_in, roots_of, strings_in
from kedge.bench.replay.rendering import EXACT, turn_text, whole
from kedge.bench.replay.task import NOT_REPEATED, Looked, Task, sources_of
from kedge.model import Message, Note, Text, Transcript, Turn

MOST_FILES = 3
"""A name that stands in more files than this belongs to none of them."""
PAIRED: frozenset[Kind] = frozenset({"identifier", "hash", "ticket", "url"})
"""Kinds that can belong to a file; a number stands in too many by chance."""
LEAST_WORDS = 3
"""Of a prompt that is looked for: a shorter one stands in most texts by chance."""

_SHAPING = re.compile(
    r"(?:\s*(?:2>&1|2>/dev/null|\|\s*(?:head|tail|cat|less)(?:\s+-[\w]+)*(?:\s+\d+)?))+\s*$"
)


class Told(NamedTuple):
    """The names of one turn, by whose words they stand in."""

    shown: Names
    """By the user's words and by notes: before the agent writes."""
    written: Names
    """By the agent: its words and the parameters of its calls."""
    answered: Names
    """By results: after it."""
    looked: tuple[Looked, ...]
    """The same result by result, where its call can be made again."""
    by_file: tuple[tuple[str, frozenset[str]], ...]
    """What a call that reads or changes one file says and shows of it."""
    commands: tuple[str, ...]


class Needed(NamedTuple):
    names: Names
    commands: tuple[str, ...]
    """Run before the cut and after it, to the letter."""
    request: str
    """The user's last words before the cut."""
    prompts: tuple[str, ...]
    """What the user said before the cut, from the first to the last; each once."""
    under_way: tuple[str, ...]
    """Those of the exchange that goes on at the cut."""
    files: Files
    """As they stood at the cut."""
    by_command: frozenset[str]
    """Names that stand in commands before the cut: files that commands may have changed."""
    pairs: dict[str, frozenset[str]]
    """A needed name to the files it belongs to."""
    task: Task


class Session:
    """A session with the names of each of its turns, found once for all its cuts."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        roots = roots_of(transcript)
        self.finder = Finder(roots)
        self._told = [self._of(turn) for turn in transcript.turns]
        self._sizes: dict[tuple[int, int], int] = {}
        """Tokens of results, as far as they were asked for."""
        sizes = (EXACT.count(turn_text(turn)) for turn in transcript.turns)
        self._history = [0, *accumulate(sizes)]
        """Tokens of the turns before each turn."""
        self._always = implied(self._names((*roots, *_texts(transcript.head))))
        """Never out of the agent's sight: the system prompt, and where it works."""

    def needed(self, cut: Cut) -> Needed:
        earlier, turns = self._told[: cut.turn], self.transcript.turns[: cut.turn]
        later = [self._of(turn) for turn in after(self.transcript, cut)[:1]]
        later += self._told[cut.turn + 1 : cut.end]
        known: Names = {}
        for told in earlier:
            for names in (told.shown, told.written, told.answered):
                known.update(names)
        wanted = list(_needed(later, implied(known), self._always))
        names = {name: kind for name, kind, _ in wanted}
        run = {command for told in earlier for command in told.commands}
        again = dict.fromkeys(command for told in later for command in told.commands)
        said = (turn.user_message.strip() for turn in reversed(turns))
        return Needed(
            names=names,
            commands=tuple(command for command in again if command in run),
            request=next(filter(None, said), ""),
            prompts=prompts_of(turns),
            under_way=prompts_of(turn for turn in turns if turn.exchange == turns[-1].exchange),
            files=files_of(turns, self.finder, self.transcript.agents),
            by_command=frozenset(implied(self._names(run))),
            pairs=_pairs(names, earlier),
            task=self._task(cut, {name: step for name, _, step in wanted}, known),
        )

    def _task(self, cut: Cut, needed_at: dict[str, int], known: Names) -> Task:
        results = (one for told in self._told[: cut.turn] for one in told.looked)
        return Task(
            steps=cut.end - cut.turn,
            history=self._history[cut.turn],
            needed_at=needed_at,
            sources=sources_of(needed_at, known, results, self._size),
        )

    def _size(self, one: Looked) -> int:
        place = one.turn, one.number
        if place not in self._sizes:
            self._sizes[place] = EXACT.count(whole(one.result))
        return self._sizes[place]

    def _of(self, turn: Turn) -> Told:
        notes = (note.text for note in turn.notes)
        said = [text for call in turn.tool_calls for text in strings_in(call.parameters)]
        numbers: Names = {}
        for call in turn.tool_calls:
            numbers.update(numbers_in(call.parameters))
        results = [self._names((whole(result),)) for result in turn.tool_results]
        answered: Names = {}
        for names in results:
            answered.update(names)
        verbs = {call.id: call.verb for call in turn.tool_calls}
        return Told(
            shown=self._names((*turn.user_words(), *notes)),
            written={**numbers, **self._names((turn.assistant_response, *said))},
            answered=answered,
            looked=tuple(
                Looked(turn.index, number, result, results[number])
                for number, result in enumerate(turn.tool_results)
                if verbs.get(result.call_id) not in NOT_REPEATED
            ),
            by_file=tuple(self._by_file(turn)),
            commands=tuple(commands_of(turn)),
        )

    def _by_file(self, turn: Turn) -> Iterator[tuple[str, frozenset[str]]]:
        for call in turn.tool_calls:
            result, paths = turn.result_of(call), call.paths()
            if len(paths) != 1 or call.verb not in ("read", "write", "edit"):
                continue
            if result is not None and result.success:
                names = self._names((*strings_in(call.parameters), result.output))
                found = (name for name, kind in names.items() if kind in PAIRED)
                yield self.finder.path(paths[0]), frozenset(found)

    def _names(self, texts: Iterable[str]) -> Names:
        found: Names = {}
        for text in texts:
            found.update(self.finder.names_in(text))
        return found


def commands_of(turn: Turn) -> Iterator[str]:
    """The command lines a turn ran, whole."""
    for call in turn.tool_calls:
        if call.verb == "run" and (command := command_in(call.parameters).strip()):
            yield command


def prompts_of(turns: Iterable[Turn]) -> tuple[str, ...]:
    """What the user said in these turns, words that would stand anywhere left out; each once."""
    said = (turn.user_message.strip() for turn in turns)
    return tuple(dict.fromkeys(text for text in said if len(text.split()) >= LEAST_WORDS))


def command_in(parameters: Mapping[str, Any]) -> str:
    """The command line of a call; of a shell given as a list, what it is told to run."""
    given = next((parameters[key] for key in ("command", "cmd") if key in parameters), "")
    if isinstance(given, str):
        return given
    words = [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def bare(command: str) -> str:
    """A command without what only shapes its output."""
    return _SHAPING.sub("", command).strip() or command


def _needed(
    later: Sequence[Told], known: Mapping[str, Kind], always: Mapping[str, Kind]
) -> Iterator[tuple[str, Kind, int]]:
    """Names the agent wrote that it had known, before anything showed them to it again, and at
    which step."""
    shown = set(always)
    for step, told in enumerate(later):
        shown.update(implied(told.shown))
        for name, kind in sorted(told.written.items()):
            if name in known and name not in shown:
                yield name, kind, step
        shown.update(implied(told.written))
        shown.update(implied(told.answered))


def _pairs(names: Mapping[str, Kind], earlier: Iterable[Told]) -> dict[str, frozenset[str]]:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for told in earlier:
        for path, found in told.by_file:
            for name in found & names.keys():
                files[name].add(path)
    return {name: frozenset(of) for name, of in files.items() if len(of) <= MOST_FILES}


def _texts(head: Iterable[Message]) -> list[str]:
    return [
        part.text for message in head for part in message.parts if isinstance(part, (Text, Note))
    ]
