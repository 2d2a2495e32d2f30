"""A living session: append, decide, compact, view, undo. All of it is in the store; what is here
can be thrown away at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeVar, Unpack

from msgspec.structs import replace

from kedgeline.errors import NothingToUndo
from kedgeline.files import checked
from kedgeline.formats import Written
from kedgeline.model import Ask, Compaction, Rates, Step, ToolCall, Transcript, Turn
from kedgeline.pipeline.read import Readable, Reading
from kedgeline.planning import POLICY, Decision, Policy, Signals, policy_of
from kedgeline.redact import REDACTOR, Redactor, secrets_in
from kedgeline.session.alignment import sendable
from kedgeline.session.appending import Appended, Appending, End
from kedgeline.session.archive import Original, original
from kedgeline.session.deciding import (
    Watch,
    context_tokens,
    copy_session,
    decided,
    fitted,
    in_force,
    pin_named,
    pin_of,
    session_context,
)
from kedgeline.session.following import (
    Appendable,
    CaughtUp,
    Tail,
    follow_source,
    follow_tail,
    take,
)
from kedgeline.session.journal import (
    Event,
    Journal,
    Keeping,
    Known,
    Pin,
    Prepared,
    add_mark,
    add_value,
    keep_output,
    written,
)
from kedgeline.session.query import RecallOptions, query_of
from kedgeline.session.recall import Recalled, recall
from kedgeline.settings import load_settings, surroundings
from kedgeline.store import Durability, Store
from kedgeline.store.protocol import open_store
from kedgeline.tokens import BY_MODEL, ContextTokens, Counter, model_of, window_of

if TYPE_CHECKING:
    from kedgeline.models import AsyncModel, Model, Stop, Terms
    from kedgeline.pipeline.draft import Writer
    from kedgeline.session.compacting import CompactOptions, Instead
    from kedgeline.session.loop import Beside as KnownBeside
    from kedgeline.session.loop import Loop

M = TypeVar("M")


class Session:
    """One session of one owner. Objects in any number of processes may stand for the same one."""

    def __init__(
        self,
        name: str,
        store: Store,
        *,
        window: int | None = None,
        counter: Counter = BY_MODEL,
        redactor: Redactor | None = REDACTOR,
        keep_secrets: bool = True,
        policy: Policy = POLICY,
        rates: Rates | None = None,
    ) -> None:
        """`window` is the model's context window in tokens; None asks the model's name. What is not
        the archive goes through the `redactor`; without `keep_secrets` the archive does too.
        `rates` are what the model's tokens cost, for the advice whether to compact. Who opened the
        store closes it."""
        self.name, self.store, self.window = checked("session", name), store, window
        self._owns_store = False
        self.keeping = Keeping(counter, redactor, keep_secrets)
        self._policy, self._rates, self._watch = policy, rates, Watch()
        self._known: Known = {}
        self._end: End | None = None
        self._stepped: Loop | None = None

    @classmethod
    def open(
        cls,
        name: str,
        store: str | PathLike[str],
        *,
        owner: str = "",
        durability: Durability = "durable",
        window: int | None = None,
        at: float = POLICY.begin,
        target: float = POLICY.target,
        counter: Counter = BY_MODEL,
        redactor: Redactor | Literal["environment"] | None = "environment",
        keep_secrets: bool = True,
        rates: Rates | None = None,
    ) -> Session:
        """The session of this name in the store at a folder or an address; a new one where there is
        none, which is written with its first entry. Closing it closes the store. From the share
        `at` of the usable window on it is compacted, to `target` at the most. The redactor knows
        the secrets of this environment, unless another one is given."""
        checked("session", name)
        if redactor == "environment":
            redactor = Redactor(secrets_in(surroundings(), load_settings().secrets))
        opened = cls(
            name,
            open_store(store, owner=owner, durability=durability),
            window=window,
            counter=counter,
            redactor=redactor,
            keep_secrets=keep_secrets,
            policy=policy_of(at, target),
            rates=rates,
        )
        opened._owns_store = True
        return opened

    def append(self, said: Appendable, *, format: str | None = None, key: str = "") -> Appended:
        """Take what comes next. What is there already is known by its content and left out, so that
        a list may be sent again as a whole; under a `key`, a call is made once however often it is
        tried. A transcript is what the session is from now on."""
        return take(self._held, said, self.keeping, format=format, key=key)

    def follow(
        self,
        source: Readable,
        *,
        format: str | None = None,
        session: int | None = None,
        watch: Callable[[Reading], Iterable[Turn]] = iter,
        force: bool = False,
    ) -> Appended:
        """Make the session what an agent's own file is now, however large: only what is new is
        written, and what the user rewound is taken back. `session` chooses where the file holds
        several; `watch` sees the turns pass. The file of another session, and an old copy, are
        refused unless `force` is given."""
        return follow_source(
            self._held,
            source,
            self.keeping,
            format=format,
            session=session,
            watch=watch,
            expected="" if force else self.name,
        )

    def catch_up(self, tail: Tail) -> CaughtUp:
        """The same for a file of which all but its end was followed before: only what was added is
        compared and written."""
        return follow_tail(self._held, tail, self.keeping)

    def compaction(self) -> Compaction | None:
        """The one that the view rests on."""
        done = in_force(self._journal())
        return done.compaction if done else None

    def context_tokens(self) -> ContextTokens:
        """What the next request would send, and how that is known."""
        return context_tokens(self._journal(), fitted(self._journal(), self.keeping))

    def should_compact(
        self, *, manual: bool = False, remaining_turns: int | None = None
    ) -> Decision:
        """Whether to compact now, and why; whether it would pay is in its `advice`. Who knows how
        many turns are to come says so."""
        journal, window = self._journal(), self._usual()
        context = self.context_tokens().within(window)
        signals = Signals(
            context_tokens=context.total - context.overhead,
            window=window,
            overhead=context.overhead,
            history=journal.history(),
            manual=manual,
            turns=journal.count(),
            remaining_turns=remaining_turns,
            rates=self._rates,
        )
        self._watch.last = decided(journal, signals, self._policy, self._watch)
        return self._watch.last

    def compact(
        self,
        *,
        model: Model | None = None,
        terms: Terms | None = None,
        stop: Stop | None = None,
        **options: Unpack[CompactOptions],
    ) -> Compaction:
        """Compact what is there, and write the record down. What is appended meanwhile comes behind
        it; what was taken back meanwhile makes it begin again. A `model` writes prose on top, under
        `terms`; once `stop` is set it is waited for no longer."""
        from kedgeline.pipeline.job import alone

        if model is None:
            return alone(self._compacting(None, options))
        from kedgeline.models import drive

        return drive(self._compacting(self._writer(model, terms), options), model, stop=stop)

    async def compact_async(
        self,
        *,
        model: Model | AsyncModel,
        terms: Terms | None = None,
        **options: Unpack[CompactOptions],
    ) -> Compaction:
        """The same for those who await: the model is waited for, the store is not."""
        from kedgeline.models import awaited, drive_async

        step = self._compacting(self._writer(model, terms), options)
        return await drive_async(step, awaited(model))

    def requests_to_compact(
        self, *, terms: Terms | None = None, **options: Unpack[CompactOptions]
    ) -> list[Ask]:
        """What a model would be sent if the session was compacted now; nothing is written."""
        from kedgeline.pipeline.job import alone
        from kedgeline.pipeline.words import rehearsal_for

        writer = rehearsal_for(terms, self.keeping.redactor)
        alone(self._compacting(writer, options, instead=lambda _: None))
        return writer.asks

    def prepare(self, **options: Unpack[CompactOptions]) -> Prepared:
        """Compact what is there, for `take_up` to write down when it is wanted."""
        from kedgeline.pipeline.job import alone

        found: list[Prepared] = []
        alone(self._compacting(None, options, instead=found.append))
        return found[0]

    def take_up(self, ready: Prepared) -> bool:
        """Write down what was prepared, if that still stands; what was appended since comes behind
        it."""
        return written(self._held, self._journal(), self.keeping, ready)

    def _compacting(
        self, writer: Writer | None, options: CompactOptions, *, instead: Instead | None = None
    ) -> Step[Compaction]:
        from kedgeline.session.compacting import (
            SessionCompaction,  # facts and summary: half a second
        )

        trigger = "" if instead else self._watch.trigger()
        compaction = SessionCompaction(
            self.name,
            self._held,
            self._journal,
            self.keeping,
            self._policy,
            usual=self._usual(),
            writer=writer,
            instead=instead,
            **options,
        )
        return compaction.run(trigger)

    def _writer(self, model: Model | AsyncModel, terms: Terms | None) -> Writer:
        from kedgeline.session.compacting import writer_of

        return writer_of(model, terms, self._journal(), self._held, self.keeping)

    def step(self, messages: list[M], **known: Unpack[KnownBeside]) -> list[M]:
        """Take an agent's whole list, compact it when it must be, and give back what to send: the
        messages that stay are the very objects of the list."""
        return self._loop().step(messages, **known)

    async def astep(self, messages: list[M], **known: Unpack[KnownBeside]) -> list[M]:
        """The same for those who await: other tasks go on while a compaction is made."""
        return await self._loop().astep(messages, **known)

    def _loop(self) -> Loop:
        from kedgeline.session.loop import Loop  # as above

        if self._stepped is None:
            at, target = self._policy.begin, self._policy.target
            self._stepped = Loop(self.window, at, target, on_error="raise", session=self)
        return self._stepped

    def _usual(self) -> int:
        """Tokens of the window: as given, else as the model's name tells, else those of most."""
        journal = self._journal()
        model = "" if self.window else model_of(journal.about(), journal.newest())
        return window_of(model, given=self.window).tokens

    def compaction_mark(self) -> int:
        """A number that is another one as soon as another compaction is in force; 0 for none."""
        mark = self._journal().compaction_mark()
        return mark.number if mark else 0

    def standing(self) -> tuple[Compaction | None, Sequence[Turn], int]:
        """The compaction in force, the turn that stands for what it folded, and how many turns the
        session has."""
        done, count = self.compaction(), self._journal().count()
        leads = self.context().turns[: bool(done and done.summary)] if done else ()
        return done, leads, count

    def context(self, ready: Prepared | None = None) -> Transcript:
        """The session as the agent goes on with it, or will once what is ready is taken up."""
        return session_context(self._journal(), ready.record if ready else None)

    def view(self, provider: str) -> Written:
        """The same as the message list of a provider."""
        return sendable(self.context(), provider)

    def transcript(self) -> Transcript:
        """The whole session, as it was said."""
        return self._journal().transcript()

    def about(self) -> Transcript:
        """What is known beside the turns, with the words that wait for an answer."""
        return self._journal().known()

    def turns(self) -> Iterator[Turn]:
        """The turns that stand, one by one; those of sub-agents first, as they explain others."""
        return self._journal().all_turns()

    def undo(self) -> Compaction:
        """Leave the newest compaction out of the view from now on; it is given back."""
        with self._held() as held:
            standing = held.journal.recorded()
            if standing is None:
                raise NothingToUndo(self.name)
            add_mark(held.writing, "undo", self.keeping, index=standing.number)
        return standing.record.compaction

    def rewind(self, turns: int) -> None:
        """Take back all turns behind the first so many, and the compactions that folded them."""
        with self._held() as held:
            held.cut(turns)

    def pin(self, what: str | int) -> Pin:
        """Keep words of the user's, or a turn (12, t12), word for word in every view to come."""
        with self._held() as held:
            pin = self.keeping.kept(pin_of(held.journal, self.name, what))
            entry = add_value(held.writing, "pin", pin, self.keeping)
        return replace(pin, number=entry.number)

    def unpin(self, what: str | int) -> Pin:
        """Take a pin back: by its turn (12, t12), its words, or its own number ("#7")."""
        with self._held() as held:
            pin = pin_named(held.journal, self.name, what)
            add_mark(held.writing, "unpin", self.keeping, index=pin.number)
        return pin

    def pins(self) -> list[Pin]:
        return self._journal().pins()

    def fork(self, name: str, *, through: int | None = None) -> Session:
        """A session of its own that begins as this one is now, or was after a turn."""
        forked = self.beside(name)
        with forked._held() as held:
            copy_session(held, self.name, name, self.keeping, through=through)
        return forked

    def beside(self, name: str) -> Session:
        """Another session of the same store, kept in the same way."""
        return Session(
            name,
            self.store,
            window=self.window,
            counter=self.keeping.counter,
            redactor=self.keeping.redactor,
            keep_secrets=self.keeping.originals,
            policy=self._policy,
            rates=self._rates,
        )

    def history(self) -> list[Event]:
        """Compactions, attempts and forks, oldest first, those that were undone marked."""
        return self._journal().all_events()

    def recall(self, text: str = "", **options: Unpack[RecallOptions]) -> tuple[Recalled, ...]:
        """Originals of this session by words, file, command, error, time or turn."""
        return recall(self.store, query_of(text, sessions=(self.name,), **options))

    def original(self, mark: str) -> Original:
        """A turn (t12), or what one call of it gave back (t12.0, t12:toolu_1), as it was."""
        return original(self.store, self.name, mark)

    def keep_output(self, call: ToolCall, output: str) -> str:
        """Keep what a call gave back, before something shorter takes its place; the mark by which
        `original` finds it. It is kept once, however often it is told."""
        with self._held() as held:
            return keep_output(held.writing, self.name, call, output, self.keeping)

    def close(self) -> None:
        """Close the store, where this session has opened it."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _held(self) -> Iterator[Appending]:
        with self.store.writing(self.name) as writing:
            held = Appending(writing, self.name, self.keeping, self.view, self._end)
            yield held
        self._end = held.known_end

    def _journal(self) -> Journal:
        return Journal(self.store, self.name, self._known)
