"""What the agent needed after a cut, read from what it really did. For scoring only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from bench import corpus as intervals
from bench.corpus import Mean
from bench.replay.names import (
    EXACT,
    NOT_REPEATED,
    Action,
    Cut,
    Files,
    Finder,
    Kind,
    Looked,
    Names,
    Task,
    after,
    base_name,
    files_of,
    fold,
    implied,
    numbers_in,
    roots_of,
    sources_of,
    strings_in,
    task_scores,
    turn_text,
    whole,
)
from kedgeline.model import Message, Note, Text, Transcript, Turn

LEAST_WORDS = 3
"""Of a prompt that is looked for: a shorter one stands in most texts by chance."""


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
    commands: tuple[str, ...]


class Needed(NamedTuple):
    names: Names
    commands: tuple[str, ...]
    """Run before the cut and after it, to the letter."""
    request: str
    """The user's last words before the cut."""
    prompts: tuple[str, ...]
    """What the user said before the cut, from the first to the last; each once."""
    files: Files
    """As they stood at the cut."""
    by_command: frozenset[str]
    """Names that stand in commands before the cut: files that commands may have changed."""
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

    def told(self, turn: int) -> Told:
        return self._told[turn]

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
            files=files_of(turns, self.finder, self.transcript.agents),
            by_command=frozenset(implied(self._names(run))),
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
            commands=tuple(commands_of(turn)),
        )

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


def _texts(head: Iterable[Message]) -> list[str]:
    return [
        part.text for message in head for part in message.parts if isinstance(part, (Text, Note))
    ]


# What stands in a text that an agent goes on from.

_ACTION = re.compile(
    r"(?<!\bnot )\b(?:(created|new file)|(modified|updated|edited|changed)|(deleted)|(renamed))\b",
    re.IGNORECASE,
)
"""A text that says what was not modified does not say that it was."""
_ROW = re.compile(r"\s*\|[^|]+\|\s*(?:created|modified|deleted|renamed)\s*\|", re.IGNORECASE)
"""A row of a table: a file, and what became of it."""
_ACTIONS: tuple[Action, ...] = ("created", "modified", "deleted", "renamed")
ENDS = re.compile(
    r"[ \t]*$|[`'\"\])}]|[ \t]+[(\[—–→#]|[,.:](?=\s|$)|[ \t]*(?:&&|[|;])", re.MULTILINE
)
"""What may follow a command that is whole: the end of its line, what closes or explains it, or the
next command of a longer line."""
OPENERS = "`'\"([{<:$>*-→&|;"
"""What may stand before a command; nothing at all may too."""
_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"(#{1,6}) +\S")
_BRACES = re.compile(r"([\w@./-]*/|)\{([\w@.-]+(?:, ?[\w@.-]+)+)\}")
"""Files of one folder named together, as a shell would read it."""


class Line(NamedTuple):
    text: str
    names: Names
    number: int


class Standing:
    """A text taken apart: its names, line by line, and what each line is under."""

    def __init__(self, text: str, finder: Finder) -> None:
        self.text = text
        self._finder = finder
        self._flat = f" {_SPACE.sub(' ', text)} "
        written = _BRACES.sub(_spelled, text).split("\n")
        self.lines = [
            Line(line, finder.names_in(line), number) for number, line in enumerate(written)
        ]
        found: Names = {}
        for line in self.lines:
            found.update(line.names)
        self.names = implied(found)

    @cached_property
    def tokens(self) -> int:
        return EXACT.count(self.text)

    def has(self, name: str) -> bool:
        """A name to the letter; a path in full, or as seen from the root."""
        return name in self.names

    def has_file(self, path: str) -> bool:
        """The same for a file, also where its path has what is no part of most names."""
        return path in self.names or (self._is_odd(path) and _stands(path, self.text))

    def has_command(self, command: str) -> bool:
        """Whether the command stands there whole: with another flag it is another one."""
        start = self.text.find(command)
        while start >= 0:
            end = start + len(command)
            if self._begins(start) and ENDS.match(self.text, end):
                return True
            start = self.text.find(command, start + 1)
        return False

    def has_words(self, words: str) -> bool:
        """Whether these words stand there verbatim, however the lines are broken."""
        flat = _SPACE.sub(" ", words.strip())
        start = self._flat.find(flat)
        while start >= 0:
            around = self._flat[start - 1] + self._flat[start + len(flat)]
            if not re.search(r"\w", around):
                return True
            start = self._flat.find(flat, start + 1)
        return False

    def actions(self, paths: Collection[str]) -> dict[str, Action]:
        """What the text says became of these files, where it names them with an action. Where a
        table has a row for a file, that is what the text says of it."""
        rows = [line for line in self.lines if _ROW.match(line.text)]
        said = self._said(rows, paths)
        rest = [path for path in paths if path not in said]
        return {**self._said(self.lines, rest), **said}

    def _said(self, lines: Iterable[Line], paths: Collection[str]) -> dict[str, Action]:
        odd = [path for path in paths if self._is_odd(path)]
        said: dict[str, Action] = {}
        for line in lines:
            named = [name for name in line.names if name in paths]
            named += [path for path in odd if _stands(path, line.text)]
            for path in named:
                if action := self._action(line, path):
                    fold(said, path, action)
        return said

    def _is_odd(self, path: str) -> bool:
        """Whether a path is not found as a name: blanks, brackets, nothing but letters."""
        return path not in self._finder.names_in(path)

    def _action(self, line: Line, name: str) -> Action | None:
        """The action that stands nearest to a name on its line, or else in what is above."""
        place = line.text.find(base_name(name))
        end = place + len(base_name(name))
        found = [
            (max(place - match.end(), match.start() - end), match)
            for match in _ACTION.finditer(line.text)
        ]
        if found:
            return _said(min(found, key=lambda one: one[0])[1])
        for above in self._above(line):
            if match := _ACTION.search(above.text):
                return _said(match)
        return None

    def _above(self, line: Line) -> Iterator[Line]:
        """The lines it is under, the nearest first: headings, and what it is indented below."""
        depth = _depth(line.text)
        for one in reversed(self.lines[: line.number]):
            if one.text.strip() and _depth(one.text) < depth:
                depth = _depth(one.text)
                yield one

    def _begins(self, start: int) -> bool:
        """The beginning of a line, or what opens or announces a command, stands before it."""
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        return line.rstrip()[-1:] in OPENERS


def _depth(line: str) -> int:
    """Of an indentation; headings come before all of them, by their levels."""
    heading = _HEADING.match(line)
    return len(heading[1]) - 7 if heading else len(line) - len(line.lstrip())


def _spelled(match: re.Match[str]) -> str:
    return " ".join(f"{match[1]}{name}" for name in match[2].replace(" ", "").split(","))


def _stands(path: str, text: str) -> bool:
    return path in text and bool(re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", text))


def _said(match: re.Match[str]) -> Action:
    return _ACTIONS[(match.lastindex or 1) - 1]


# Scores of one text at one cut, and their means over cuts with intervals.

MEASURES = (
    *("tokens", "names", "commands", "request", "prompts", "files", "files_f1"),
    *("fetched_tokens", "task_tokens", "task_ratio"),
)
BEGINNING = 8
"""Words of a prompt: by then nearly all prompts of a session differ."""

Scores = dict[str, float]
"""By measure; one that has nothing to measure at a cut is not there."""


def scores_of(standing: Standing, needed: Needed) -> Scores:
    """How much of what was needed stands in a text."""
    found: Scores = {}
    names = [name for name, kind in needed.names.items() if kind != "parameter"]
    _share(found, "names", map(standing.has, names))
    _share(found, "commands", map(standing.has_command, needed.commands))
    if needed.request:
        found["request"] = float(standing.has_words(needed.request))
    _share(found, "prompts", (standing.has_words(beginning(one)) for one in needed.prompts))
    found.update(_files(standing, needed))
    lost = (name for name in names if not standing.has(name))
    return {**found, **task_scores(needed.task, standing.tokens, lost)}


def beginning(prompt: str) -> str:
    return " ".join(prompt.split()[:BEGINNING])


def means(rows: Sequence[tuple[str, Scores]]) -> dict[str, Mean]:
    """The mean of each measure over cuts, each given with its session."""
    return intervals.means(rows, MEASURES)


def _share(found: Scores, measure: str, kept: Iterable[bool]) -> None:
    marks = list(kept)
    if marks:
        found[measure] = sum(marks) / len(marks)


def _is_right(path: str, action: str, needed: Needed) -> bool:
    """Whether a file became that. One that file tools only modified may have been created by a
    command that names it: then nobody can tell."""
    became = needed.files.changed.get(path)
    made = became == "modified" and action == "created" and path in needed.by_command
    return became == action or made


def _files(standing: Standing, needed: Needed) -> Scores:
    """Changed files that stand in the text, and what it says became of them.

    A file that no file tool touched is left out, and so is one that was only read but stands in a
    command: the command may have changed it."""
    changed, only_read = needed.files
    if not changed:
        return {}
    judged = changed.keys() | (only_read - needed.by_command)
    said = standing.actions(judged)
    right = sum(_is_right(path, action, needed) for path, action in said.items())
    return {
        "files": sum(map(standing.has_file, changed)) / len(changed),
        "files_f1": 2 * right / (len(said) + len(changed)),
    }
