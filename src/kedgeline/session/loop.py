"""An agent's loop: before each request its list of messages is looked at, and compacted when it
must be. From one compaction to the next the list begins with the same messages, so that a
provider's cache of what was sent before breaks only there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as _replaced
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from kedgeline.errors import BadSettings, KedgelineError, NotAMessage, UserError
from kedgeline.formats.editing import is_editable
from kedgeline.model import Budget, Compaction, Losses, Transcript, Verdict
from kedgeline.pipeline.compact import Options
from kedgeline.pipeline.compact import compact as compact_transcript
from kedgeline.pipeline.compact import compact_async as compact_transcript_async
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.lists import FoldedList, fold_of, native_of, sample
from kedgeline.pipeline.read import read
from kedgeline.pipeline.view import lead, leading, numbered
from kedgeline.planning import POLICY, Decision, History, Signals, policy_of, should_compact
from kedgeline.settings import FAULTS as ANY_FAULTS
from kedgeline.tokens import BY_MODEL, ContextTokens, Counter, Window, overhead_tokens, window_of

if TYPE_CHECKING:
    from kedgeline.models import AsyncModel, Model
    from kedgeline.session.compacting import CompactOptions
    from kedgeline.session.session import Session

LOG = logging.getLogger("kedgeline")
OnError = Literal["open", "raise"]
"""What an error of ours does: the list goes on as it is, or the caller gets it."""
FAULTS = (KedgelineError, *ANY_FAULTS)
MOST_HIDDEN = 150_000
"""Tokens that a report may have beyond what we count; more is another request's."""

M = TypeVar("M")


# How large a list is, without counting anything twice.

SHORT = 24
"""Characters of a text that is not worth remembering."""
REMEMBERED = 10_000
"""Texts whose tokens are known at the most."""
AROUND = 4
"""Tokens that stand around each message."""
IMAGE = 1_600
"""Tokens of an image, about."""
LONG = 4_000
"""Characters from which a text without a blank is taken for encoded bytes."""
MOST_STEPS = 100_000
"""Values that are looked at in one message."""
SAMPLED = 8
"""One of so many messages is compared where a framework makes all objects anew."""
SPARSE = "google.genai"
"""Its objects have a dozen fields each, of which one or two are set."""
UNSENT = frozenset(
    {
        *("id", "usage", "usage_metadata", "response_metadata", "timestamp", "run_id", "meta"),
        *("metadata", "provider_details", "raw_representation", "additional_properties", "kind"),
        *("role", "type", "signature", "thought_signature", "encrypted_content", "artifact"),
        "items",  # a result once more, as blocks
        *("conversation_id", "tool_call_id", "call_id", "provider_name", "model_name", "part_kind"),
    }
)
"""Fields that hold no words of the conversation."""


class Sizes:
    """Tokens of messages as they are, JSON or objects: of a text or a message seen before they are
    known, also where a framework makes all of its messages anew for each request."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._texts: dict[str, int] = {}
        self._last: list[Any] = []
        self._tokens: list[int] = []
        self._by_id: dict[int, int] = {}
        """Of the last list, whose messages are held so that no other gets the id of one."""

    def of(self, messages: list[Any]) -> int:
        copied = self._is_copied(messages)
        tokens = [self._sized(place, message, copied) for place, message in enumerate(messages)]
        self._last, self._tokens = list(messages), tokens
        self._by_id = dict(zip(map(id, messages), tokens, strict=True))
        return sum(tokens)

    def _is_copied(self, messages: list[Any]) -> bool:
        """Whether the framework has made all objects of the last list anew. One of eight is
        compared, as that costs microseconds for an object of many fields."""
        end = len(self._last)
        return (
            bool(end)
            and not isinstance(messages[0], Mapping)
            and messages[0] is not self._last[0]
            and messages[:end:SAMPLED] == self._last[::SAMPLED]
            and messages[end - 1 : end] == self._last[-1:]
        )

    def _sized(self, place: int, message: Any, copied: bool) -> int:
        tokens = self._by_id.get(id(message))
        if tokens is not None:
            return tokens
        if place < len(self._last) and (copied or self._last[place] == message):
            return self._tokens[place]
        return AROUND + self.value(message)

    def text(self, text: str) -> int:
        if len(text) <= SHORT:
            return 1 + len(text) // 4
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            known = self._texts[text] = self._counted(text)
        return known

    def _counted(self, text: str) -> int:
        encoded = len(text) > LONG and " " not in text[:LONG] and "\n" not in text[:LONG]
        return IMAGE if encoded and len(set(text[:LONG])) > 30 else self._counter.count(text)

    def value(self, value: Any) -> int:
        """Tokens of all texts in a value."""
        tokens, steps = 0, 0
        waiting = [value]
        while waiting and steps < MOST_STEPS:  # something may hold itself
            one = waiting.pop()
            steps += 1
            if isinstance(one, str):
                tokens += self.text(one)
            elif isinstance(one, (bytes, bytearray)):
                tokens += IMAGE
            elif isinstance(one, (list, tuple)):
                waiting.extend(one)
            elif one is not None and not isinstance(one, (int, float)):
                waiting.extend(_held(one))
        return tokens


def _held(value: Any) -> list[Any]:
    """What the fields of a mapping or an object hold, as far as a model is sent it."""
    fields = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if fields is None:
        names = getattr(type(value), "__slots__", ())
        fields = {name: getattr(value, name, None) for name in names}
    elif type(value).__module__.startswith(SPARSE):
        fields = {name: fields.get(name) for name in value.__pydantic_fields_set__}
    return [one for name, one in fields.items() if one is not None and name not in UNSENT]


def reported_by(message: Any) -> int:
    """Tokens that the model was sent for an answer, where the answer says so; else 0."""
    for path in _REPORTS:
        found: Any = message
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
            if found is None:
                break
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return 0


_REPORTS = (
    ("usage_metadata", "input_tokens"),  # LangChain
    ("usage", "input_tokens"),  # Pydantic AI
    ("metadata", "usage", "inputTokens"),  # Strands
    ("meta", "usage", "prompt_tokens"),  # Haystack
)


# What came of a step.


@dataclass(frozen=True)
class Step:
    """One look at a list."""

    messages: list[Any]
    """What to send."""
    compacted: bool
    reason: str
    """Why it was compacted, or why not."""
    window: Window
    tokens_before: int
    """Of the request as it would have been sent, and as it is."""
    tokens_after: int
    compaction: Compaction | None = None
    """The one that the list rests on; none where all of it is there."""
    error: Exception | None = None
    """What went wrong, where the list is left as it was for that."""

    @property
    def summary(self) -> str:
        return self.compaction.summary if self.compaction else ""

    @property
    def verdict(self) -> Verdict | None:
        return self.compaction.verdict if self.compaction else None

    @property
    def losses(self) -> Losses | None:
        return self.compaction.losses if self.compaction else None

    @property
    def warnings(self) -> tuple[str, ...]:
        failed = (f"nothing was compacted: {self.error}",) if self.error else ()
        return (*failed, *(self.compaction.warnings if self.compaction else ()))

    def report(self) -> str:
        """What was done and what is missing, a line each."""
        lines = [
            f"{'compacted' if self.compacted else 'not compacted'}: {self.reason}",
            f"tokens: {self.tokens_before:,} before, {self.tokens_after:,} after",
            f"window: {self.window.tokens:,} ({self.window.known_from})",
        ]
        if self.compacted and self.compaction is not None:
            made = self.compaction
            lines.append(
                f"folded: {made.plan.cut:,} turns; outputs masked: {len(made.plan.masked)}"
            )
            if made.losses is not None:
                lines.append(
                    f"entries left out of the summary: {sum(made.losses.left_out.values())}"
                )
            if made.verdict is not None:
                lines.append(f"score of the probes: {made.verdict.score}")
        return "\n".join((*lines, *(f"warning: {one}" for one in self.warnings)))


class _Due(NamedTuple):
    """A compaction that is to be made."""

    listed: Transcript
    window: Window
    size: int
    """Tokens of the request as it would be sent."""
    overhead: int
    """Of these, what does not stand in the list."""
    masking: bool
    reason: str


@dataclass
class Loop:
    """One run of one agent: what was decided for its list, and holds until the next compaction.

    `step` is called before each request with the whole list; it gives back the list to send. Where
    nothing is to do that is the very list, or what the last compaction made of it and what came
    since. One object for one run: runs in parallel have one each."""

    window: int | None = None
    """Tokens of the model's context window; None asks the framework, then the model's name."""
    at: float = POLICY.begin
    """Share of the usable window from which on the list is compacted."""
    target: float = POLICY.target
    """Share of the usable window that a compacted list has at the most."""
    pins: Sequence[str] = ()
    """Texts that stand in every compacted list word for word."""
    on_error: OnError = "open"
    model: Model | AsyncModel | None = None
    """Writes prose on top of the facts; without one nothing is asked."""
    format: str | None = None
    """What the messages are; None finds out."""
    session: Session | None = None
    """Keeps the originals and the compactions, which can be undone; None keeps nothing."""
    rewrites: bool = False
    """Whether the caller goes on with the list that is given back, and not with the whole one."""
    counter: Counter = BY_MODEL
    last: Step | None = field(default=None, init=False)
    """What came of the last step."""
    fold: FoldedList | None = field(default=None, init=False)
    """What the list rests on. Whoever stores it and puts it back goes on where it was."""
    compactions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.window is not None and not (isinstance(self.window, int) and self.window > 0):
            raise BadSettings("window", f"must be a number of tokens, not {self.window!r}")
        if isinstance(self.pins, str) or not all(isinstance(one, str) for one in self.pins):
            raise BadSettings("pins", f"must be a list of texts, not {self.pins!r}")
        if self.on_error not in ("open", "raise"):
            raise BadSettings("on_error", f"must be 'open' or 'raise', not {self.on_error!r}")
        self._policy = policy_of(self.at, self.target)
        self.sizes = Sizes(self.counter)
        self._history = History()
        self._size = self._hidden = self._mark = 0
        self._sent = _Sent()
        self._taken: list[Any] = []
        self._natives: dict[int, Any] = {}

    def step(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        """What to send in place of the list; the list itself where all of it fits."""
        try:
            due = self._look(messages, known)
            if due is None:
                return self._given(messages)
            return self._took(messages, due, self._make(due))
        except FAULTS as error:
            return self.failed(messages, error)

    async def astep(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        """The same for those who await: other tasks go on while a compaction is made."""
        try:
            due = self._look(messages, known)
            if due is None:
                return self._given(messages)
            if self.model is None:
                from asyncio import to_thread  # who awaits has loaded it

                record = await to_thread(self._make, due)
            else:
                record = await self._make_async(due, self.model)
            return self._took(messages, due, record)
        except FAULTS as error:
            return self.failed(messages, error)

    # What is to be done with a list.

    def _look(self, messages: list[Any], known: Beside) -> _Due | None:
        """The compaction that is due; None where there is none, and `last` says why."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            what = f"a {type(messages).__name__}, which is no list"
            raise NotAMessage("messages", what, "give the list of messages of a request")
        if not messages:
            return None
        self._keep(messages)
        self._settle(messages)
        sent = self._applied(messages)
        self._learn(messages, known.get("reported", 0))
        beside = self.sizes.value(known.get("beside"))
        counted = self.sizes.of(sent) + beside
        size, overhead = counted + self._hidden, beside + self._hidden
        self._sent = _Sent(len(messages), counted)
        window = window_of(
            known.get("model_name", ""), given=self.window, framework=known.get("model_window")
        )
        decision = self._decision(size, overhead, window.tokens, known.get("now", False))
        record = self.fold.record if self.fold else None
        self.last = Step(sent, False, decision.reason, window, size, size, record)
        if not decision.compacts:
            return None
        listed = numbered(read(messages, format=self.format, counter=None))
        if not is_editable(listed.format):
            what = f"a list in the format {listed.format!r}, of which no message can be made"
            raise NotAMessage("messages", what, "give messages of a provider's API")
        return _Due(listed, window, size, overhead, decision.masking, decision.reason)

    def _decision(self, size: int, overhead: int, window: int, now: bool) -> Decision:
        self._history = replace(
            self._history,
            tokens_since=self._history.tokens_since + max(0, size - self._size),
            turns_since_failure=self._history.turns_since_failure + 1,
        )
        self._size = size
        signals = Signals(
            context_tokens=size - overhead,
            window=window,
            overhead=overhead,
            history=self._history,
            manual=now,
        )
        decision = should_compact(signals, self._policy)
        over = signals.context_tokens > signals.usable(self._policy)
        if over and not decision.compacts and self._history.tokens_since:
            return should_compact(replace(signals, manual=True), self._policy)
        return decision

    def _keep(self, messages: list[Any]) -> None:
        """Give the session what is new in the list, and what is pinned."""
        if self.session is None:
            return
        if not self._taken:
            pinned = {pin.text for pin in self.session.pins()}
            for text in self.pins:
                if text not in pinned:
                    self.session.pin(text)
        known = len(self._taken)
        if self._taken[-2:] != messages[max(0, known - 2) : known]:
            known = 0
        if new := messages[known:]:
            self.session.append(list(new), format=self.format)
        self._taken = list(messages)

    def _settle(self, messages: list[Any]) -> None:
        """Let go of a fold that was made of another list, or is no longer in force."""
        if self.session is not None and self._mark != (mark := self.session.compaction_mark()):
            self._mark = mark
            self._adopt(messages)
        elif self.fold is not None and not self._is_settled(messages, self.fold):
            self._put(None)

    def _is_settled(self, messages: list[Any], fold: FoldedList) -> bool:
        if len(messages) < fold.end:
            return False
        known = self._natives.get(ANCHOR)
        return messages[fold.end - 1] is known or fold.holds(messages)

    def _adopt(self, messages: list[Any]) -> None:
        """Take over the compaction that is in force in the session."""
        assert self.session is not None
        record, leads, total = self.session.standing()
        listed = numbered(read(messages, format=self.format, counter=None)) if record else None
        if record is None or listed is None or not is_editable(listed.format) or leading(listed):
            self._put(None)
        else:
            self._put(fold_of(messages, listed, record, leads=leads, total=total), messages)

    def _learn(self, messages: list[Any], reported: int) -> None:
        """What the last request had beyond what is counted, such as tools that nobody shows us."""
        came, went = self._sent
        if not reported and 0 < came < len(messages):
            reported = reported_by(messages[came])
        if reported and came:
            self._hidden = min(max(0, reported - went), MOST_HIDDEN)

    # A compaction, and the list that it leaves.

    def _make(self, due: _Due) -> Compaction:
        model: Any = self.model
        if self.session is not None:
            return self.session.compact(model=model, **self._terms(due))
        options = self._options(due)
        return compact_transcript(due.listed, self._budget(due), model=model, **options)

    async def _make_async(self, due: _Due, model: Model | AsyncModel) -> Compaction:
        if self.session is not None:
            return await self.session.compact_async(model=model, **self._terms(due))
        return await compact_transcript_async(
            due.listed, self._budget(due), model=model, **self._options(due)
        )

    def _terms(self, due: _Due) -> CompactOptions:
        return {
            "window": due.window.tokens,
            "target": self.target,
            "overhead": due.overhead,
            "provider": due.listed.format,
            "masking": due.masking,
        }

    def _budget(self, due: _Due) -> Budget:
        return budget_for(
            due.listed,
            due.window.tokens,
            counter=self.counter,
            overhead=due.overhead,
            policy=self._policy,
        )

    def _options(self, due: _Due) -> Options:
        shown = overhead_tokens(due.listed, self.counter)
        return Options(
            provider=due.listed.format,
            previous=self.fold.record if self.fold else None,
            counter=self.counter,
            masking=due.masking,
            context=ContextTokens(
                total=due.size, kind="estimated", shown=shown, hidden=due.overhead
            )
            if due.overhead
            else None,
        )

    def _took(self, messages: list[M], due: _Due, record: Compaction) -> list[M]:
        before = self.fold.record.count if self.fold else 0
        if record.count == before:
            return self._idle(messages, record.plan.reason)
        if self.session is not None:
            self._mark = self.session.compaction_mark()
            _, leads, total = self.session.standing()
        else:
            leads, total = lead(due.listed, record, pinned=self.pins), None
        fold = fold_of(messages, due.listed, record, leads=leads, total=total)
        if fold is None:
            return self._idle(messages, "the list does not reach back to the cut")
        earlier, natives = self.fold, self._natives
        self._put(fold, messages)
        made = self._applied(messages)
        after = self.sizes.of(made) + due.overhead
        if after >= due.size:
            self.fold, self._natives = earlier, natives
            return self._idle(messages, "the list would not be smaller")
        self.compactions += 1
        self._size = after
        self._history = History(
            freed=due.size - after,
            usable=self._policy.usable(due.window.tokens, overhead=due.overhead),
            held_up=record.plan.held_up,
        )
        self._sent = _Sent(len(made) if self.rewrites else len(messages), after - self._hidden)
        self.last = Step(made, True, due.reason, due.window, due.size, after, record)
        if self.rewrites:
            self._put(None)
            self._taken = list(made)
        return self._given(made)

    def _idle(self, messages: list[M], reason: str) -> list[M]:
        assert self.last is not None
        self._history = History(freed=0, usable=self._history.usable, held_up=reason)
        self.last = _replaced(self.last, reason=reason)
        return self._given(messages)

    def failed(self, messages: list[M], error: Exception) -> list[M]:
        """The list as the last compaction left it, or as it is."""
        if self.on_error == "raise":
            raise error
        LOG.warning("kedgeline: the list was not compacted: %s: %s", type(error).__name__, error)
        self._history = self._history.failed()
        try:
            settled = self.fold is not None and self._is_settled(messages, self.fold)
            sent = self._applied(messages) if settled else messages
        except FAULTS:  # what a host puts into its list may be anything
            sent = messages
        window = self.last.window if self.last else window_of(given=self.window)
        reason, size = f"{type(error).__name__}: {error}", self._size
        self.last = Step(sent, False, reason, window, size, size, error=error)
        return sent

    # The fold in the caller's own kind of objects, made once.

    def _put(self, fold: FoldedList | None, messages: Sequence[Any] = ()) -> None:
        self.fold, self._natives = fold, {}
        if fold is None:
            return
        like = sample(messages)
        if fold.lead is not None:
            stay = {*fold.head, *fold.tail}
            folded = [m for n, m in enumerate(messages[: fold.end]) if n not in stay]
            self._natives[LEAD] = self.led(native_of(fold.lead, like), folded)
        for place, record in fold.changed.items():
            self._natives[place] = native_of(record, messages[place])
        self._natives[ANCHOR] = messages[fold.end - 1]

    def led(self, message: Any, folded: Sequence[Any]) -> Any:
        """The message that stands for those that are folded; who extends a loop adds to it what
        must not be lost of them."""
        return message

    def _applied(self, messages: list[M]) -> list[M]:
        fold = self.fold
        if fold is None:
            return messages
        if ANCHOR not in self._natives:  # it was put back from where a framework keeps it
            self._put(fold, messages)
        kept = (self._natives.get(place, messages[place]) for place in fold.tail)
        leading = [self._natives[LEAD]] if LEAD in self._natives else []
        return [*(messages[n] for n in fold.head), *leading, *kept, *messages[fold.end :]]

    def _given(self, messages: list[M]) -> list[M]:
        if self.last is None or not messages:
            return messages
        size, window = self.last.tokens_after, self.last.window.tokens
        if size > window:
            why = "; ".join((self.last.reason, *self.last.warnings))
            LOG.warning(f"kedgeline: {size:,} tokens do not fit the window of {window:,}: {why}")
        return self.last.messages


LEAD, ANCHOR = -1, -2
"""Places of the message that leads the list, and of the last that it had."""


class Beside(TypedDict, total=False):
    """What a framework knows beside the list."""

    beside: Any
    """What is sent beside it: system prompt, tools."""
    model_name: str
    model_window: int | None
    """Tokens of the model's context window."""
    reported: int
    """Tokens that the provider says the last request had."""
    now: bool
    """Compact whatever the fill is: somebody else has decided."""


class _Sent(NamedTuple):
    """The last request."""

    came: int = 0
    """Messages that the list had."""
    tokens: int = 0
    """What was sent of it, as we count."""


class LoopOptions(TypedDict, total=False):
    """What a loop takes by name, beside its window."""

    at: float
    target: float
    pins: Sequence[str]
    model: Model | AsyncModel | None
    format: str | None
    counter: Counter


# One call for one list.


def compact(
    messages: list[M],
    window: int | None = None,
    *,
    full: bool = False,
    model_name: str = "",
    beside: Any = None,
    session: str | Session = "",
    store: str | Path | None = None,
    on_error: OnError = "raise",
    **options: Unpack[LoopOptions],
) -> Any:
    """The list made to fit the window: what is old is folded into a summary, the rest are the very
    messages of the list. A list that fits is returned as it is.

    With `full`, a `Step` is returned, which has the messages and says what was done. Without a
    window the `model_name` tells it; `beside` is what is sent beside the list, such as a system
    prompt and tools. Nothing is kept anywhere unless a `session` is named, with the `store` it is
    in: then originals can be recalled, and the compaction undone."""
    with _opened(session, store) as kept:
        loop = Loop(window=window, session=kept, on_error=on_error, rewrites=True, **options)
        done = loop.step(messages, model_name=model_name, beside=beside)
        return loop.last if full else done


async def acompact(
    messages: list[M],
    window: int | None = None,
    *,
    full: bool = False,
    model_name: str = "",
    beside: Any = None,
    session: str | Session = "",
    store: str | Path | None = None,
    on_error: OnError = "raise",
    **options: Unpack[LoopOptions],
) -> Any:
    """`compact` for those who await."""
    with _opened(session, store) as kept:
        loop = Loop(window=window, session=kept, on_error=on_error, rewrites=True, **options)
        done = await loop.astep(messages, model_name=model_name, beside=beside)
        return loop.last if full else done


@contextmanager
def _opened(session: str | Session, store: str | Path | None) -> Iterator[Session | None]:
    if not session and store is None:
        yield None
    elif not isinstance(session, str):
        yield session
    elif not session or store is None:
        raise UserError(
            "session= and store= are given together: session='fix-login', store='~/.kedgeline'"
        )
    else:
        from kedgeline.session.session import Session

        with Session.open(session, store) as opened:
            yield opened
