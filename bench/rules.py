"""Standing rules among labelled messages of users: how many are found, and what is wrongly taken.

`rules.json` holds no words: of each message the beginning of the SHA-256 of its text, and where in
it a rule stands. A place that only one reader calls a rule counts neither way. Where the sessions
are not there, nothing can be measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from bench.corpus import Corpus, Watch, fingerprint
from kedgeline.facts import facts_of
from kedgeline.model import InstructionGiven, Transcript, Turn, Value

LABELS = Path(__file__).with_name("rules.json")
DIGITS = 24
"""Of the hash: enough to tell a message from all others."""
HEADER = (
    *("Messages", "Readers", "Seen", "Rules", "Found", "Taken wrongly", "Disputed"),
    *("Recall", "Precision"),
)

Span = tuple[int, int]


class Labels(Value, frozen=True):
    """A draw of messages."""

    name: str
    readers: str
    none: tuple[str, ...]
    """Hashes of messages without any rule."""
    rules: dict[str, tuple[Span, ...]]
    """Where rules stand, by the hash of the message."""
    disputed: dict[str, tuple[Span, ...]]
    """Where some would say that one stands."""


class Scored(Value, frozen=True):
    name: str
    readers: str
    messages: int
    seen: int
    """Messages that are among the sessions."""
    rules: int
    found: int
    wrong: int
    disputed: int
    """Messages about which readers do not agree, or that one could not decide."""

    @property
    def recall(self) -> float:
        return self.found / self.rules if self.rules else 1.0

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.wrong) if self.found + self.wrong else 1.0


class Rules(Value, frozen=True):
    version: str
    fingerprint: str
    draws: tuple[Scored, ...]


def measure(folder: Path, *, watch: Watch, labels: Path = LABELS) -> Rules:
    said: dict[str, str] = {}
    for session in Corpus(folder, watch=watch, counter=None):
        pending = session.transcript.pending
        for turn in (*session.transcript.turns, *((pending,) if pending else ())):
            if turn.user_message and not turn.agent:
                said[hashed(turn.user_message)] = turn.user_message
    draws = msgspec.json.decode(labels.read_bytes(), type=tuple[Labels, ...])
    scored = tuple(_scored(draw, said) for draw in draws)
    return Rules(version=version("kedgeline"), fingerprint=fingerprint(folder), draws=scored)


def hashed(message: str) -> str:
    return hashlib.sha256(message.encode(errors="surrogatepass")).hexdigest()[:DIGITS]


def _scored(draw: Labels, said: dict[str, str]) -> Scored:
    every = {*draw.none, *draw.rules, *draw.disputed}
    seen = every & said.keys()
    rules = found = wrong = 0
    for key in seen:
        sure, disputed = draw.rules.get(key, ()), draw.disputed.get(key, ())
        taken = list(_taken(said[key]))
        rules += len(sure)
        found += sum(_touches(span, taken) for span in sure)
        wrong += sum(not _touches(span, (*sure, *disputed)) for span in taken)
    return Scored(
        name=draw.name,
        readers=draw.readers,
        messages=len(every),
        seen=len(seen),
        rules=rules,
        found=found,
        wrong=wrong,
        disputed=len(draw.disputed),
    )


def _taken(message: str) -> Iterator[Span]:
    """Where rules are found in a message that stands alone."""
    turn = Turn(index=0, user_message=message, assistant_response="ok")
    for fact in facts_of(Transcript(format="message", turns=(turn,))):
        if isinstance(fact, InstructionGiven) and fact.lasts:
            start = message.find(fact.text)
            yield start, start + len(fact.text)


def _touches(span: Span, others: Sequence[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def rows(found: Rules) -> Iterator[tuple[str, ...]]:
    for one in found.draws:
        yield (
            one.name,
            one.readers,
            f"{one.seen} of {one.messages}",
            str(one.rules),
            str(one.found),
            str(one.wrong),
            str(one.disputed),
            f"{one.recall:.2f}",
            f"{one.precision:.2f}",
        )


def origin(found: Rules) -> str:
    return f"kedgeline {found.version}. Corpus: sha256 `{found.fingerprint}`."
