"""Counting tokens: exact where a vocabulary is bundled, estimated by a table elsewhere, and as
reported where the provider says; and what of it the next request would send."""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from kedgeline.errors import UnknownName
from kedgeline.model import EarlierCompaction, Media, Message, Note, Text, Transcript, Turn, Value

if TYPE_CHECKING:
    import splintr


from importlib.util import find_spec

# Counting tokens of text: exactly with a bundled vocabulary, or by estimate.

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Vocabularies that are public and come with the tokenizer, so that counts are exact and offline.
"""

PIECE = 1 << 18
"""Characters that are counted at a time: a list of all tokens of a text takes ten times its size.
"""

BYTES_PER_ID = 4
_SPECIAL = "<|"
"""How the names of special tokens begin."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEAM = re.compile("\n(?=[A-Za-z])")
"""A line end before a letter: no vocabulary has a token that goes over it."""


class Counter(Protocol):
    name: str
    exact: bool
    """False for an estimate: the number may be wrong by some percent."""

    def count(self, text: str) -> int: ...


class Exact:
    """Tokens as the vocabulary's own model would see them; special tokens in text are text."""

    exact = True

    def __init__(self, vocabulary: str = "o200k") -> None:
        if vocabulary not in VOCABULARIES:
            raise UnknownName("vocabulary", vocabulary, known=tuple(VOCABULARIES))
        self.name = vocabulary

    def count(self, text: str) -> int:
        if not text:
            return 0
        tokenizer = _tokenizer(VOCABULARIES[self.name])
        try:
            if len(text) <= PIECE:
                return _encoded(tokenizer, text)
            return sum(_encoded(tokenizer, piece) for piece in _pieces(text))
        except UnicodeEncodeError:  # half a surrogate pair
            return self.count(_SURROGATE.sub("\ufffd", text))


class Scaled:
    """An estimate for a vocabulary that is not public: another counter's number times a factor."""

    exact = False

    def __init__(self, base: Counter, factor: float) -> None:
        self.base, self.factor = base, factor
        self.name = f"{base.name} × {factor:.2f}"

    def count(self, text: str) -> int:
        return round(self.base.count(text) * self.factor)


def _encoded(tokenizer: splintr.AnyTokenizer, text: str) -> int:
    """How many tokens; as bytes, which takes a third less than a list of numbers. It would take
    the name of a special token for one."""
    if _SPECIAL in text:
        return len(tokenizer.encode_ordinary(text))
    return len(tokenizer.encode_flat(text)) // BYTES_PER_ID


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces that have as many tokens as it has; one without such line ends is cut
    wherever it must be, which may add a token."""
    at = 0
    while at < len(text):
        end = at + PIECE
        seam = _SEAM.search(text, end, end + PIECE) if end < len(text) else None
        end = seam.end() if seam else end
        yield text[at:end]
        at = end


@cache
def _tokenizer(name: str) -> splintr.AnyTokenizer:
    import splintr  # loaded with the first count: the vocabulary takes a tenth of a second

    return splintr.Tokenizer.from_pretrained(name)


EXACT = Exact()
"""What turns are counted with unless told otherwise; its vocabulary loads with the first text."""


# An estimate without any vocabulary, for where loading one would take too long.

_WEIGHTS = (
    (0.201, string.ascii_letters.encode()),
    (0.568, string.punctuation.encode()),
    (0.959, string.digits.encode()),
    (1.712, b"\n"),
)
"""Tokens per character of a kind."""
PER_WORD = 0.061
PER_EXTRA_BYTE = 0.375
"""For each byte beyond the first of a character: scripts other than Latin."""


class Estimate:
    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        if not text:
            return 0
        data = text.encode(errors="replace")
        size = len(data)
        weight = PER_WORD * len(text.split()) + PER_EXTRA_BYTE * (size - len(text))
        weight += sum(each * (size - len(data.translate(None, kind))) for each, kind in _WEIGHTS)
        return max(1, round(weight))


# Images and files: tokens from their size, never from the text of their base64.

PIXELS_PER_TOKEN = 750
"""Anthropic's published rule: tokens = width × height / 750."""
IMAGE_MOST = 1_600
"""Larger images are scaled down before they are read; also what an image of unknown size counts."""
BYTES_PER_PAGE = 50_000
"""A usual PDF page; pages cannot be counted without decompressing."""
TOKENS_PER_PAGE = 2_000
"""Anthropic's documentation gives 1,500 to 3,000 a page."""
BYTES_PER_SECOND_OF_SOUND = 16_000
"""Compressed speech at 128 kbit/s."""
TOKENS_PER_SECOND_OF_SOUND = 32
"""Google's published rate for audio."""
HEADER = 65_536
"""Base64 characters looked at for an image's size; a JPEG's is behind its thumbnails."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]{64,}={0,2})")
"""Up to the first character that is not base64: a line end could be followed by prose, which must
not be taken for data."""


def media_tokens(media: Media) -> int:
    """An estimate of what a model is charged for an image, document or sound."""
    size = len(media.data) * 3 // 4
    if media.kind == "image" or media.mime.startswith("image/"):
        width, height = image_size(media.data)
        tokens = width * height // PIXELS_PER_TOKEN if width and height else IMAGE_MOST
        return max(1, min(IMAGE_MOST, tokens))
    if media.kind in ("audio", "video"):
        return max(1, size // BYTES_PER_SECOND_OF_SOUND) * TOKENS_PER_SECOND_OF_SOUND
    return max(1, size // BYTES_PER_PAGE) * TOKENS_PER_PAGE


def image_size(data: str) -> tuple[int, int]:
    """Width and height from the head of a base64 image; zeros when it does not say."""
    head = data[:HEADER]
    try:
        raw = base64.b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return 0, 0
    if raw.startswith(b"\x89PNG") and len(raw) >= 24:
        return int.from_bytes(raw[16:20]), int.from_bytes(raw[20:24])
    if raw.startswith(b"GIF8") and len(raw) >= 10:
        return int.from_bytes(raw[6:8], "little"), int.from_bytes(raw[8:10], "little")
    position = 2  # a JPEG's segments, up to the header of its frame
    while raw.startswith(b"\xff\xd8") and position + 9 < len(raw) and raw[position] == 0xFF:
        marker = raw[position + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = raw[position + 5 : position + 7], raw[position + 7 : position + 9]
            return int.from_bytes(width), int.from_bytes(height)
        position += 2 + int.from_bytes(raw[position + 2 : position + 4])
    return 0, 0


def split_data_urls(text: str) -> tuple[str, tuple[Media, ...]]:
    """Text without the `data:` URLs in it, and these as media.

    Base64 without a `data:` URL around it stays: to the model it is text.
    """
    if ";base64," not in text:
        return text, ()
    found = tuple(
        Media(kind="image" if mime.startswith("image/") else "file", mime=mime, data=data)
        for mime, data in _DATA_URL.findall(text)
    )
    return _DATA_URL.sub("", text), found


# Which counter fits which model.


VOCABULARY_OF: tuple[tuple[str, str, float | None], ...] = (
    (r"gpt-4o|gpt-4\.|gpt-5|gpt-oss|chatgpt-4o|codex|(?<!-)o\d\b", "o200k", None),
    (r"gpt-4|gpt-3\.5|text-embedding-", "cl100k", None),
    # Measured: growth of the reported context over 1,155 turns of Claude Opus 4.5, Opus 4.6 and
    # Sonnet 4.5 against o200k counts of what was added; 1.21, 1.21 and 1.22, call overhead
    # included.
    (r"claude", "o200k", 1.21),
    (r"", "o200k", 1.0),  # models nobody has measured
)
"""How the name of a family begins, inside the model's name, as vendors and routers put their own
before it (`openai/…`, `us.anthropic.…`); the vocabulary; and a factor where it is not the model's
own and counts are no more exact. The first match wins."""


@cache
def counter_for(model: str) -> Counter:
    """The best counter for a model by name; an estimate where its vocabulary is not public."""
    name = model.casefold()
    rows = (row for row in VOCABULARY_OF if re.search(rf"(?<![a-z0-9])(?:{row[0]})", name))
    _, vocabulary, factor = next(rows)
    exact = Exact(vocabulary)
    return exact if factor is None else Scaled(exact, factor)


class ByModel:
    """Counts what is said to a model as that model has it: a turn by the model that answered it,
    all else by the one given here."""

    def __init__(self, model: str = "") -> None:
        self._counter = counter_for(model)
        self.name, self.exact = self._counter.name, self._counter.exact

    def count(self, text: str) -> int:
        return self._counter.count(text)


BY_MODEL = ByModel()
"""For sessions whose model is not known yet."""


def fitting(counter: Counter, model: str) -> Counter:
    """The counter for what a model is sent; one that was chosen for everything stays."""
    return ByModel(model) if model and isinstance(counter, ByModel) else counter


def counter_named(name: str) -> Counter:
    """A counter by the name that settings and options have for it."""
    if name == "model":
        return BY_MODEL
    if name == Estimate.name:
        return Estimate()
    if name not in VOCABULARIES:
        raise UnknownName("vocabulary", name, known=("model", *VOCABULARIES, Estimate.name))
    return Exact(name)


# Tokens of a turn, by who or what they come from.


class Tokens(Value, frozen=True):
    system: int = 0
    """System prompts, and system messages between turns."""
    user: int = 0
    assistant: int = 0
    thinking: int = 0
    tool_calls: int = 0
    """Names and arguments of the calls."""
    tool_output: int = 0
    notes: int = 0
    """Text that clients put into the conversation."""
    media: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in self.__struct_fields__)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


def tokens_of(turn: Turn, counter: Counter) -> Tokens:
    """Count one turn. Images and `data:` URLs count by their size; all else counts as text, base64
    without a `data:` URL too."""
    counter = fitting(counter, turn.model)
    images = [*turn.media, *(m for result in turn.tool_results for m in result.media)]

    def count(text: str) -> int:
        plain, found = split_data_urls(text)
        images.extend(found)
        return counter.count(plain)

    system = (message for message in turn.messages if message.role == "system")
    return Tokens(
        system=sum(count(p.text) for m in system for p in m.parts if isinstance(p, Text)),
        user=count(turn.user_message),
        assistant=count(turn.assistant_response),
        thinking=count(turn.thinking),
        tool_calls=sum(
            count(call.tool) + count(msgspec.json.encode(call.parameters).decode())
            for call in turn.tool_calls
        ),
        tool_output=sum(count(result.output) for result in turn.tool_results),
        notes=sum(count(note.text) for note in turn.notes),
        media=sum(map(media_tokens, images)),
    )


def head_tokens(head: Iterable[Message], counter: Counter) -> Tokens:
    """Count the system messages before the first turn."""
    parts = [part for message in head for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, (Text, Note))]
    return Tokens(
        system=sum(text_tokens(text, counter) for text in texts),
        media=sum(media_tokens(part) for part in parts if isinstance(part, Media)),
    )


def overhead_tokens(transcript: Transcript, counter: Counter) -> int:
    """What a transcript says is sent beside its turns: the system prompt, and the tools."""
    body = (transcript.wire or {}).get("body")
    tools = body.get("tools") if isinstance(body, dict) else None
    described = counter.count(msgspec.json.encode(tools).decode()) if tools else 0
    return head_tokens(transcript.head, counter).total + described


def text_tokens(text: str, counter: Counter) -> int:
    """Tokens of a text without the `data:` URLs in it."""
    return counter.count(split_data_urls(text)[0])


# How large a session's context is: what its next request would send.

Kind = Literal["counted", "reported", "estimated"]
RECENT = 8
"""Turns at the end among which a report is looked for: clients leave out the usage of a turn that
failed or was cut short. An older report would say less than the count."""
LEAST, MOST = 0.3, 3.0
"""Reported over counted tokens, beyond which the report measured something else: one part of the
context, or several requests."""
MOST_HIDDEN = 150_000
"""Tokens of a system prompt and tools that a session does not show, at the most."""


class ContextTokens(Value, frozen=True):
    """What the next request would send."""

    total: int
    kind: Kind
    """reported: by the provider, with what came since counted. counted: with the vocabulary of its
    model. estimated: with another one."""
    shown: int = 0
    """Of the total: the system prompt, the tools and what is pinned, as far as the session has
    them."""
    hidden: int = 0
    """Of the total: what the provider was sent beyond all that the session has, such as a client's
    own system prompt and tools."""

    @property
    def overhead(self) -> int:
        """What no compaction touches."""
        return self.shown + self.hidden

    def within(self, window: int) -> ContextTokens:
        """For a compaction into this window. What was hidden in a larger context was another
        window's."""
        return self if self.total <= window else replace(self, hidden=0)

    def told(self) -> str:
        return f"{self.total:,} tokens ({self.kind})"


class Sized(NamedTuple):
    """A turn's numbers."""

    tokens: int
    reported: int
    """Tokens the model was sent for it; 0 where nobody says."""
    answered: int
    """Of its tokens, what came after that: the answer, calls and results."""
    model: str


class _Sizes(Protocol):
    """The numbers of the turns that stand."""

    def since(self, start: int) -> int:
        """Tokens of all turns from an index on."""

    def newest(self, start: int) -> Iterable[Sized]:
        """The same turns, newest first; only a few are taken."""


class Folded(NamedTuple):
    """What a compaction of ours left."""

    cut: int
    """Index of the first turn that it kept."""
    turns: int
    """How many stood when it was made: only later reports are of what it left."""
    leads: int
    """Tokens of what stands for the folded turns, less what is masked in the others."""
    hidden: int


class OfTurns:
    """The numbers of turns in memory that are counted."""

    def __init__(self, turns: tuple[Turn, ...], counter: Counter) -> None:
        self._turns, self._counter = turns, counter

    def since(self, start: int) -> int:
        return sum(turn.tokens for turn in self._turns[start:])

    def newest(self, start: int) -> Iterable[Sized]:
        return (sized(turn, self._counter) for turn in reversed(self._turns[start:]))


def sized(turn: Turn, counter: Counter, tokens: Tokens | None = None) -> Sized:
    """The numbers of a turn that is counted, or of which the `tokens` are these."""
    total = turn.tokens if tokens is None else tokens.total
    if turn.usage is None or not turn.usage.context:
        return Sized(total, 0, 0, turn.model)
    found = tokens or tokens_of(turn, counter)
    before = found.system + found.user + found.notes + sum(map(media_tokens, turn.media))
    return Sized(total, turn.usage.context, found.total - before, turn.model)


def context_of(
    about: Transcript,
    sizes: _Sizes,
    counter: Counter,
    *,
    done: Folded | None = None,
    pinned: int = 0,
) -> ContextTokens:
    """`about` is the session without its turns, with the words that wait; `done` the compaction of
    ours that its view rests on, `pinned` tokens that stand in every view. Rewound turns and those
    of sub-agents are in no request; nor are those that the client folded."""
    waiting = tokens_of(about.pending, counter).total if about.pending else 0
    shown = overhead_tokens(about, counter) + pinned
    client = last_fold(about.compactions)
    start = reported_from = base = hidden = 0
    if done is not None and (client is None or client.turn < done.turns):
        start, reported_from, base, hidden = done
    elif client is not None:
        start = reported_from = client.turn
        base = counter.count(client.summary)
    talked = base + sizes.since(start) + waiting
    after = waiting
    for turn in islice(sizes.newest(reported_from), RECENT):
        if turn.reported:
            total = turn.reported + turn.answered + after
            if LEAST * (talked + shown) <= total <= MOST * (talked + shown) + MOST_HIDDEN:
                return ContextTokens(total, "reported", shown, max(0, total - shown - talked))
            break
        after += turn.tokens
    exact = counter.exact and not hidden
    return ContextTokens(
        talked + shown + hidden, "counted" if exact else "estimated", shown, hidden
    )


def last_fold(compactions: tuple[EarlierCompaction, ...]) -> EarlierCompaction | None:
    """The last compaction of the client that took turns out of its context. A summary of ours that
    leads a conversation stands in its turns."""
    folds = (
        one
        for one in reversed(compactions)
        if one.kind != "outputs_cleared" and one.by != "kedgeline"
    )
    return next(folds, None)


def model_of(about: Transcript, newest: Iterable[Turn | Sized]) -> str:
    """The model that a session goes on with, as far as it says or its newest turns do."""
    named = (turn.model for turn in islice(newest, RECENT) if turn.model)
    return about.session.latest("model") or next(named, "")


# Context windows by the name of a model.

USUAL = 200_000
"""Tokens, where nobody knows: what most agents run with."""
FAMILIES = (
    ("claude", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-5", 400_000),
    ("gpt-oss", 131_072),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("mistral-large", 128_000),
    ("grok-4", 256_000),
)
"""What a name contains and the window its vendor documents; of larger ones that must be asked for
the smaller. Prices of `genai-prices`, where it is installed, know further models."""


class Window(NamedTuple):
    tokens: int
    known_from: str
    """How it is known, in words: given, the name of a model, or that nobody knows."""


def window_of(model: str = "", *, given: int | None = None, framework: int | None = None) -> Window:
    """The window that the caller has `given`; else the one that the `framework` knows of its model;
    else what the model's name tells; else the usual one."""
    if given:
        return Window(given, "given")
    if framework:
        return Window(framework, f"the framework knows it of {model or 'the model'}")
    if model and (tokens := window_named(model)):
        return Window(tokens, f"the name of the model {model!r}")
    about = f"the window of {model!r} is not known" if model else "no model is named"
    return Window(USUAL, f"{about}: the usual one; give window=")


@cache
def window_named(model: str) -> int | None:
    """Tokens of the window that a model of this name has; None where nobody knows."""
    if not model:
        return None
    name = model.lower().rpartition("/")[2]
    for family, tokens in FAMILIES:
        if family in (name if len(family) > 2 else name[: len(family)]):
            return tokens
    return _of_prices(name)


def _of_prices(name: str) -> int | None:
    if find_spec("genai_prices") is None:
        return None
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    snapshot = DataSnapshot(providers=providers, from_auto_update=False)
    try:
        found: int | None = snapshot.find_provider_model(name, None, None, None)[1].context_window
    except LookupError:
        return None
    return found
