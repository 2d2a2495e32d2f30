"""Standing rules, verbatim: from the user's words, and from rules files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.said.rules import Place, asks_for_work, is_question, is_rule, points_back
from kedge.facts.said.spoken import Said, said_in
from kedge.facts.said.taken_back import Standing
from kedge.model import InstructionGiven, Note, Turn
from kedge.outcomes import Outcome
from kedge.spoken import Sentence, spoken

SHORT = 280
"""Characters of prose up to which a message is short: three sentences."""
TYPED = 8_000
"""Characters up to which a message may have been typed. In a longer one most is pasted, and the
user speaks at both ends."""
ENDS = 1_500
"""Characters at each end of such a message."""
MOST_RULES = 12
"""Rules taken from one message; a text with more is a document, and stands among the requests."""
MOST_LINES = 16
"""Lines taken from one rules file. The file itself is put before the agent again."""
INTRODUCED = 1_200
"""Characters of a list or an example that a rule introduces."""
LINE = 400
"""Characters of a line of a rules file: a longer one explains."""
FILES = 16
"""Rules files remembered, so that one that is given again says nothing twice."""

_POINTS_BACK = re.compile(
    r"(?:and |so |then )?(?:it|that|this|they|these|those|such|same|should|shouldn'?t|must|mustn'?t"
    r"|needs?)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says nothing without the one before: with a word that stands for it,
or without a subject."""
_TAKES_BACK = re.compile(r"(?:but|except|unless|otherwise)\b", re.IGNORECASE)
"""The same, where the one before says something."""
_GOES_ON = re.compile(
    r"(?:otherwise|because|unless|except|e\.g|i\.e|for example|this (?:is|way)|that way|or else"
    r"|the reason|so that)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_NAMED = re.compile(r"([\w.-]{1,80}\.(?:mdc?|txt|toml|ya?ml|cursorrules))\b|\.cursorrules\b")
_NAMED_IN = 400
"""Characters from the beginning of a rules file in which its name is looked for."""


class InstructionExtractor:
    def __init__(self, setting: Setting) -> None:
        self._answered = False
        """Whether there is anything yet that the user could correct."""
        self._files: dict[int, None] = {}
        self._standing = Standing()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[InstructionGiven]:
        found: list[InstructionGiven] = []
        if turn.agent:
            return found
        for note in turn.notes:
            if note.kind == "instructions" and self._is_new(note.text):
                found += _of_file(note, turn.index)
        for said in said_in(turn):
            found += self._rules(said, turn.index)
        self._answered = self._answered or bool(turn.assistant_response or turn.tool_calls)
        return found

    def _rules(self, said: Said, turn: int) -> Iterator[InstructionGiven]:
        if not said.own or not said.to_agent:
            return
        correcting = self._answered or said.way in ("queued", "reason")
        self._standing.next_message()
        texts = rules_in(said.text, correcting=correcting)
        for text, ended in self._taken_back(said.text, texts):
            yield InstructionGiven(turn=turn, by="user", text=text, replaces=ended, lasts=False)
            self._standing.end(ended)
            texts = [one for one in texts if one != text]
        for text in texts:
            replaced = self._standing.replaced_by(text)
            yield InstructionGiven(turn=turn, by="user", text=text, replaces=replaced)
            self._standing.end(replaced)
            self._standing.give(text, said.text)
        if not texts:
            yield from self._valued(said.text, turn)

    def _taken_back(self, words: str, texts: list[str]) -> Iterator[tuple[str, str]]:
        """The words that take back the rule before them, with that rule."""
        first = next(iter(spoken(words[:TYPED])), None)
        ended = self._standing.undone_by(first.plain) if first else ""
        if first and ended:
            text = words[first.start : first.end]
            yield next((one for one in texts if text in one), text), ended

    def _valued(self, words: str, turn: int) -> Iterator[InstructionGiven]:
        """Words that are no rule by themselves, but give another value than one did."""
        for sentence in spoken(words) if len(words) <= SHORT else ():
            text = words[sentence.start : sentence.end]
            if not is_question(sentence.plain) and (ended := self._standing.valued_by(text)):
                yield InstructionGiven(turn=turn, by="user", text=text, replaces=ended)
                self._standing.end(ended)
                self._standing.give(text, words)

    def _is_new(self, text: str) -> bool:
        key = hash(text)
        if key in self._files:
            return False
        self._files[key] = None
        if len(self._files) > FILES:
            del self._files[next(iter(self._files))]
        return True


def rules_in(words: str, *, correcting: bool) -> list[str]:
    """The rules in a user's words, each as it stands there, in order, none twice."""
    sentences = spoken(words)
    if len(words) > TYPED:
        last = len(words) - ENDS
        sentences = [one for one in sentences if one.end <= ENDS or one.start >= last]
    short = sum(len(one.plain) for one in sentences) <= SHORT
    asked = any(asks_for_work(one.plain) for one in sentences)
    where = Place(correcting=correcting, short=short, asked=asked)
    spans = list[tuple[int, int]]()
    for place, sentence in enumerate(sentences):
        if is_rule(sentence.plain, where):
            first, last = _first(sentences, place), _last(sentences, place)
            if spans and _adjoins(sentences, spans[-1][1], first):
                first = spans.pop()[0]
            spans.append((first, last))
    texts = (_text(words, sentences[first], sentences[last]) for first, last in spans)
    return list(dict.fromkeys(texts))[:MOST_RULES]


def _text(words: str, first: Sentence, last: Sentence) -> str:
    """From one sentence to another, with the list or example that the last one introduces."""
    end = last.end
    if words[:end].endswith(":"):
        begin = end + len(words) - end - len(words[end:].lstrip())
        closing = "\n```" if words.startswith("```", begin) else "\n\n"
        found = words.find(closing, begin, begin + INTRODUCED)
        stop = found + len(closing) if found >= 0 else min(len(words), begin + INTRODUCED)
        end = stop if found >= 0 or stop == len(words) else end
    return words[first.start : end].rstrip()


def _first(sentences: Sequence[Sentence], place: int) -> int:
    """With the sentence before, where this one points back to it, or all of the paragraph."""
    sentence = sentences[place]
    if points_back(sentence.plain):
        return next(i for i, one in enumerate(sentences) if one.paragraph == sentence.paragraph)
    before = sentences[place - 1].plain if place else ""
    joined = _POINTS_BACK.match(sentence.plain) or (
        _TAKES_BACK.match(sentence.plain) and not is_question(before)
    )
    return place - 1 if before and joined else place


def _last(sentences: Sequence[Sentence], place: int) -> int:
    """With the sentences behind that give the reason."""
    last = place
    for following in sentences[place + 1 :]:
        same = following.paragraph == sentences[place].paragraph
        if not same or not _GOES_ON.match(following.plain):
            break
        last += 1
    return last


def _adjoins(sentences: Sequence[Sentence], last: int, first: int) -> bool:
    """Whether a rule goes on from the one before: items of a list stand alone."""
    if first <= last:
        return True
    same = sentences[last].paragraph == sentences[first].paragraph
    return same and first == last + 1 and not sentences[first].item


def _of_file(note: Note, turn: int) -> Iterator[InstructionGiven]:
    """The lines that say a rule most surely."""
    named = _NAMED.search(note.text[:_NAMED_IN])
    source = named[0] if named else "instructions"
    lines: dict[str, None] = {}
    for sentence in spoken(note.text):
        if is_rule(sentence.plain):
            lines[_line(note.text, sentence)] = None
    for line in [line for line in lines if len(line) <= LINE][:MOST_LINES]:
        yield InstructionGiven(turn=turn, by="user", text=line, source=source)


def _line(text: str, sentence: Sentence) -> str:
    start = text.rfind("\n", 0, sentence.start) + 1
    end = text.find("\n", sentence.end)
    line = text[start : len(text) if end < 0 else end]
    item = _ITEM.match(line)
    return line[item.end() if item else 0 :].strip()
