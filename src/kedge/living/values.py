"""What a session writes down beside its turns."""

from __future__ import annotations

from kedge.model import Compaction, Value
from kedge.planning import History


class Recorded(Value, frozen=True):
    """A compaction as it is kept, with what decides when the next one comes."""

    compaction: Compaction
    history: History = History()
    """As it was when the compaction was made."""
    turns: int = 0
    """How many turns stood then."""
    tokens: int = 0
    """Of these turns."""
    leads: int = 0
    """Tokens of what stands for the folded turns, what is said again included."""
    folded: int = 0
    """Number of the entry of the last folded turn: while it stands, so does the record."""
    chain: str = ""
    """Hash over all entries up to that one: what exactly the summary stands for."""
    provider: str = ""
    """Whose rules the cut keeps."""
    masked: tuple[tuple[int, int], ...] = ()
    """Kept turns with outputs that are replaced, each with the number of its entry then: another
    turn in that place has outputs of its own."""


class Attempt(Value, frozen=True):
    """A compaction that changed nothing."""

    why: str
    history: History = History()
    turns: int = 0
    tokens: int = 0


class Pin(Value, frozen=True):
    """What the user wants kept word for word: a text of theirs, or a turn."""

    text: str = ""
    turn: int = -1
    number: int = 0
    """Of its entry; names the pin."""
    entry: int = 0
    """Number of the entry of the turn: the words that are meant, also when a rewind gave their
    place to others. 0 in pins of words, and in old ones: then whatever has the place is meant."""


class Forked(Value, frozen=True):
    """Where a session comes from."""

    session: str
    number: int
    """Of the last entry that was taken over."""
    turns: int
