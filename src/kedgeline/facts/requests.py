"""What the user asked for, verbatim, and whether it opens another scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Setting, of_turn
from kedgeline.model import Note, Requested, Text, Turn
from kedgeline.shell import Outcome
from kedgeline.text.spoken import (
    at_beginning,
    command_in,
    expanded_in,
    opening,
    opens_task,
    proposes,
)

# All that the user said in a turn, piece by piece, with the way it was said.

Way = Literal["prompt", "queued", "reason", "command", "plan"]

CLIENT_COMMANDS = (
    "add|add-clipboard-image|add-dir|agents|bashes|bug|chat-mode|clear|clipboard|commands|compact",
    "compress|summarize",
    "config|context|copy|copy-context|cost|diff|doctor|drop|edit|editor|ex|exit|export|feedback|git",
    "help|hooks|ide|login|logout|ls|map|map-refresh|mcp|memory|mode|model|models|multiline-mode|new",
    "output-style|paste|permissions|plan|privacy-settings|quit|read-only|release-notes|rename|reset",
    "resume|rewind|save|sessions|settings|share|skills|stats|status|statusline|tasks|terminal-setup",
    "theme|themes|think|todos|tokens|undo|unshare|upgrade|usage|vim|voice|web",
)
"""Commands that steer the client; any other one starts work of the agent's."""
FRESH_COMMANDS = frozenset({"clear", "new", "reset"})
"""Commands behind which the conversation begins anew."""
PLAN_GIVEN = "Implement the following plan:"
"""How a client begins when it gives an approved plan back as the task."""

_CLIENT = re.compile("|".join(CLIENT_COMMANDS), re.IGNORECASE)
_TYPED = re.compile(r"/([\w:.-]{1,120})(?=\s|$)")


class Utterance(NamedTuple):
    text: str
    """Verbatim; of a command, what the user typed behind its name."""
    way: Way = "prompt"
    command: str = ""
    """Name of the slash command."""
    template: str = ""
    """What the client put in the place of a command: its words, and nobody's."""

    @property
    def own(self) -> bool:
        """Whether the user wrote it: a plan that was given back is the agent's."""
        return self.way != "plan"

    @property
    def starts_work(self) -> bool:
        return bool(self.command) and _CLIENT.fullmatch(self.command) is None

    @property
    def to_agent(self) -> bool:
        """Whether it is said to the agent: what stands behind a command that steers the client is
        for that alone."""
        return not self.command or self.starts_work

    @property
    def typed(self) -> str:
        return f"/{self.command} {self.text}".strip() if self.command else self.text


@of_turn
def said_in(turn: Turn) -> Sequence[Utterance]:
    """What the user said: commands and plans, prompts and words queued, reasons for refusing a
    call. In a sub-agent's turn it is the agent that speaks."""
    if not (turn.user_message or turn.notes or turn.tool_results):
        return []
    found = [*_noted(turn.notes), *_prompted(turn)]
    found += (
        Utterance(result.reason, "reason") for result in turn.tool_results if result.reason.strip()
    )
    return [one for one in found if one.text.strip() or one.command]


def _noted(notes: tuple[Note, ...]) -> Iterator[Utterance]:
    for note in notes:
        if note.kind == "plan":
            yield Utterance(note.text, "plan")
        elif note.kind == "command":
            yield _command(note.text)


def _command(text: str) -> Utterance:
    if command := command_in(text):
        return Utterance(command.arguments, "command", command.name)
    if typed := _TYPED.match(text.strip()):
        return Utterance(text.strip()[typed.end() :].strip(), "command", typed[1])
    named = text.strip().lstrip("/")[:80]
    return Utterance("", "command", "" if named.startswith("<") else named)


def _prompted(turn: Turn) -> Iterator[Utterance]:
    if not turn.user_message:
        return
    parts = [
        part
        for message in turn.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text) and part.text
    ]
    if "\n\n".join(part.text for part in parts) != turn.user_message:
        parts = [Text(text=turn.user_message)]
    for part in parts:
        if part.text.startswith(PLAN_GIVEN):
            yield Utterance(part.text, "plan")
        elif command := expanded_in(part.text):
            yield Utterance(command.arguments, "command", command.name, part.text)
        elif (typed := _TYPED.match(part.text)) and not part.queued:
            yield Utterance(part.text[typed.end() :].strip(), "command", typed[1])
        else:
            yield Utterance(part.text, "queued" if part.queued else "prompt")


Scope = Literal["new", "same", "step"]

WORK = 2
"""Calls that succeeded in a scope from which there is work to turn away from."""
TALK = 1_200
"""The same in characters of answers, for conversations without calls."""
MESSAGE = 1_500
"""Characters of a message, beyond which it is pasted text rather than a change of direction."""
ANSWER = 12
"""Words of an answer to a question; with more, it asks for something."""
TAIL = 700
"""Characters from the end of an answer in which it asks or proposes."""
BRIEF = 3
"""Words up to which anything but a question or an order answers what was asked."""
ON_THE_WAY = (
    # English
    "yes|yep|yeah|yup|y|no|nope|n|ok|okay|sure|alright|fine|great|good|nice|cool|perfect|awesome",
    "excellent|thanks|thank|you|thx|cheers|please|pls|continue|proceed|resume|go|going|on|ahead|next",
    "do|it|that|this|so|let's|lets|carry|keep|now|and|then|again|just|looks?|lgtm|all|exactly|right",
    "correct|agreed|done|works?|worked|ship|hi|hello|hey|hm+|mh+|ah|oh|wow|i|like|love|sounds|for|me",
    "to|with|the|these|them|first|second|both|either|option|approach|plan|one|much|very|my|dude|man",
    "try|retry|stop|wait|ready|implement|them|approved|makes|sense|what|is|are|remaining|more|few",
    "ha(?:ha)*|lol|your|help|helping|bye|goodbye|day|a|have|lot|many|assistance|time",
    # German, French, Spanish, Chinese, Japanese, Russian
    "weiter|ja|gut|bitte|danke|oui|merci|continuez|si|sí|sigue|continúa|gracias|继续|好|好的|是|谢谢",
    "はい|続けて|да|продолжай|дальше|спасибо",
)
"""Words that alone ask for nothing new: they agree, thank, choose, or say to go on."""
ASKS = (
    # English
    r"(?:can|could|would|will) (?:you|we)|(?:let's|lets|let us)|please|help me",
    r"we (?:need|should|have to|must)|i(?:'d| would) like|i (?:do )?(?:want|need)",
    "add|address|analy[sz]e|bring|build|change|check|clean|configure|create|delete|deploy|design",
    "document|explain|extend|find|fix|generate|give|implement|install|investigate|look|make|move",
    "port|prepare|refactor|remove|rename|replace|review|run|set up|show|start|summari[sz]e|tell",
    "test|update|write",
)
"""How a sentence begins that asks for something to be done."""
_ON_THE_WAY = re.compile("|".join(ON_THE_WAY))
_SPOKEN = re.compile(r"\w{2}")
_THANKS = re.compile(r"\b(?:thanks|thank you|thx|appreciate|goodbye|bye)\b", re.IGNORECASE)
THANKED = 20
"""Words of a message that thanks, and asks for nothing."""
_BARE = re.compile(r"/[\w:-]{0,40}\s*$")
"""The name of a command and nothing else. Where words follow before anybody answered, or the same
command again, it was given up."""
_CHOSEN = re.compile(r"(?:#?\d{1,2}|[a-e])(?:\W|$)", re.IGNORECASE)
_ASKS = at_beginning(ASKS)
_ANSWERS = at_beginning(
    ("no|nope|neither|either|both|option|the (?:first|second|third|last|former|latter)",)
)


class RequestExtractor:
    def __init__(self, setting: Setting) -> None:
        self._begun = False
        """Whether there is a scope yet."""
        self._session = 0
        self._command = ""
        """The slash command that opened it."""
        self._bare = False
        """Whether that stood alone, and nothing was said since."""
        self._calls = 0
        self._talk = 0
        self._tail = ""
        """The end of the last answer."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[Requested]:
        if turn.agent:
            return ()
        self._begun = self._begun and turn.session == self._session
        self._session = turn.session
        found: list[Requested] = []
        heard = said_in(turn)
        for place, said in enumerate(heard):
            given_up = bool(_BARE.match(said.typed)) and any(
                one.way == "prompt" or (one.command and one.command == said.command)
                for one in heard[place + 1 :]
            )
            found += self._heard(said, turn.index, given_up=given_up)
        self._calls += sum(outcome.success for outcome in outcomes)
        self._talk += len(turn.assistant_response)
        if turn.assistant_response:
            self._tail = turn.assistant_response[-TAIL:].replace("’", "'")
        return found

    def _heard(self, said: Utterance, turn: int, *, given_up: bool) -> Iterable[Requested]:
        if not said.to_agent:
            self._begun = self._begun and said.command.casefold() not in FRESH_COMMANDS
            return ()
        if said.way == "reason":
            return ()
        scope: Scope = "step" if given_up else self._scope(said)
        if scope == "new":
            self._calls = self._talk = 0
            self._begun = True
        self._bare = scope == "new" and bool(said.command) and not said.text.strip()
        by: Literal["user", "agent"] = "user" if said.own else "agent"
        queued = said.way == "queued"
        return (Requested(turn=turn, by=by, text=said.typed, scope=scope, queued=queued),)

    def _scope(self, said: Utterance) -> Scope:
        if said.way == "plan" or said.starts_work:
            again = said.command and said.command == self._command
            completed = self._bare and bool(said.text.strip())
            self._command = said.command
            same = again and not completed and self._begun and not self._worked
            return "same" if same else "new"
        if said.way != "queued" and self._on_the_way(said.text):
            return "step"
        if not self._begun:
            return "new"
        if said.way == "queued" or len(said.text) > MESSAGE or not self._worked:
            return "same"
        return "new" if opens_task(said.text) else "same"

    @property
    def _worked(self) -> bool:
        return self._calls >= WORK or self._talk >= TALK

    def _on_the_way(self, words: str) -> bool:
        """Whether words only agree, thank, or answer what was asked."""
        if self._begun and _only_thanks(words):
            return True
        first = words.split(maxsplit=ANSWER + 1)[: ANSWER + 1]
        spoken = [word.strip(".,!?;:…\"'()").casefold() for word in first]
        if len(spoken) > ANSWER:
            return False
        if all(_ON_THE_WAY.fullmatch(word) or not _SPOKEN.search(word) for word in spoken):
            return True
        if words.rstrip().endswith("?") or not (
            self._tail.rstrip().endswith("?") or proposes(self._tail)
        ):
            return False
        answers = _CHOSEN.match(words) or _ANSWERS.match(words)
        return bool(answers) or (len(spoken) <= BRIEF and not _ASKS.match(words))


def _only_thanks(words: str) -> bool:
    if "?" in words or len(words.split(maxsplit=THANKED)) > THANKED or not _THANKS.search(words):
        return False
    return not any(_ASKS.match(one) or _CHOSEN.match(one) for one in opening(words))
