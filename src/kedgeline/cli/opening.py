"""What commands open by name: a file, a session that is kept, a language model; and files that they
write."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import msgspec
import typer

from kedgeline.cli.options import SessionSource, WindowSize
from kedgeline.cli.output import (
    count,
    fields,
    say,
    shorten,
    show,
    watch_turns,
    write_json,
)
from kedgeline.errors import BadName, NoSuchSession, UnknownName
from kedgeline.files import checked, folder_below
from kedgeline.settings import Settings, load_settings, store_place, surroundings

if TYPE_CHECKING:
    from kedgeline.model import (
        Ask,
        Budget,
        Compaction,
        ModelCall,
        Rates,
        Transcript,
        Usage,
        Wording,
    )
    from kedgeline.models import Meter, Model, Terms
    from kedgeline.redact import Redactor
    from kedgeline.session.session import Session
    from kedgeline.store import Store
    from kedgeline.tokens import ContextTokens
    from kedgeline.tokens import Counter as TokenCounter

PATIENCE = 0.7
"""Seconds that a command waits for a store that another process holds: who typed it looks on, and
is to be told within two, in which the command has to start as well."""
NEAR = 3
"""Names that are offered where one is not known."""
_ID = re.compile(r"[0-9a-f]{6,8}(?:-[0-9a-f-]{0,27})?")
"""A UUID, or how it begins."""


def configured_store(place: str | None) -> Store:
    from kedgeline.store import protocol

    settings = load_settings()
    place = place or store_place(settings)
    owner, durability = settings.owner, settings.durability
    return protocol.open_store(place, owner=owner, durability=durability, wait=PATIENCE)


def open_kept(
    name: str, store: Store | str | None = None, *, new: bool = False, window: int | None = None
) -> Session:
    """A session of a store, which may be given by its place. One that is not there is an error,
    unless it may be `new`; a name may be cut short where only one begins so."""
    from difflib import get_close_matches

    from kedgeline.session.session import Session
    from kedgeline.tokens import counter_named

    settings = load_settings()
    kept = configured_store(store) if store is None or isinstance(store, str) else store
    if not new and not kept.head(checked("session", name)).number:
        names = [info.name for info in kept.sessions()]
        begun = [one for one in names if one.startswith(name)]
        if len(begun) != 1:
            near = begun[:NEAR] or get_close_matches(name, names, NEAR)
            raise NoSuchSession(name, known=tuple(near))
        name = begun[0]
    return Session(
        name,
        kept,
        window=settings.window if window is None else window,
        counter=counter_named(settings.vocabulary),
        redactor=make_redactor(),
        keep_secrets=settings.keep_secrets,
    )


def make_redactor() -> Redactor:
    """One that knows the secrets of this environment."""
    from kedgeline.redact import Redactor, secrets_in

    return Redactor(secrets_in(surroundings(), load_settings().secrets))


def is_file(argument: str) -> bool:
    """Whether an argument that names a file or a session is a file: whatever is there as one, and
    whatever could not be the name of a session."""
    if argument == "-" or Path(argument).exists():
        return True
    try:
        checked("session", argument)
    except BadName:
        return True
    return False


def located(source: SessionSource) -> SessionSource:
    """A session that an agent keeps on this machine, where its id is given or how that begins, and
    none is kept under such a name; anything else as it is."""
    if not _ID.fullmatch(source.file) or is_file(source.file):
        return source
    from kedgeline.web.session import agents_files

    try:
        open_kept(source.file, source.store)
    except NoSuchSession:
        files = agents_files(Path.home())
        found = [str(path) for _, path in files if source.file in path.stem]
        return source._replace(file=found[0]) if len(found) == 1 else source
    return source


class CountedSession(NamedTuple):
    transcript: Transcript
    counter: TokenCounter
    counted_as: str
    """What a token is here, for people."""
    context: ContextTokens
    """What the next request would send."""
    model: str
    """The one that answered last."""
    previous: Compaction | None = None
    """The compaction that the view of a kept session rests on."""


def open_session(source: SessionSource, *, secrets: bool = False) -> CountedSession:
    """A session with its tokens counted: with the vocabulary asked for, else as settings say.
    Secrets are sent to the model, so that they count in any case."""
    from kedgeline.pipeline.read import counted
    from kedgeline.tokens import OfTurns, context_of, counter_named, fitting, model_of

    kept = None if is_file(source.file) else open_kept(source.file, source.store)
    if kept:
        refuse_for_kept(source)
    transcript = read_transcript(source, secrets=True)
    general = counter_named(source.vocabulary or load_settings().vocabulary)
    model = model_of(transcript, reversed(transcript.turns))
    counter = fitting(general, model)
    counted_as = counter.name if counter is general else f"{counter.name} for {model}"
    if kept:
        context, previous = kept.context_tokens(), kept.compaction()
    else:
        transcript, previous = counted(transcript, general), None
        context = context_of(transcript, OfTurns(transcript.turns, counter), counter)
    transcript = transcript if secrets else make_redactor().transcript(transcript)
    return CountedSession(transcript, counter, counted_as, context, model, previous)


def read_transcript(source: SessionSource, *, secrets: bool = False) -> Transcript:
    """The session of a file, or one that is kept, not counted. What reports are made from is
    without secrets; with `secrets`, it is as it was said."""
    from kedgeline.pipeline.read import collect, stream

    if is_file(source.file):
        reading = stream(source.file, format=source.format)
        transcript = reading.choose(collect(reading, turns=watch_turns(reading)), source.session)
    else:
        transcript = open_kept(source.file, source.store).transcript()
    return transcript if secrets else make_redactor().transcript(transcript)


def refuse_for_kept(source: SessionSource) -> None:
    """Options that say how a file is read have no meaning for a session that is kept."""
    if (source.format, source.session, source.vocabulary) != (None, None, None):
        raise typer.BadParameter(
            f"{source.file!r} is a kept session: --format, --session and --vocabulary are"
            " for files; leave them out"
        )


class Room(NamedTuple):
    """A window, and what of it a compaction may spend."""

    window: int
    known_from: str
    """Who said how large it is."""
    overhead: int
    """System prompt and tools, those of the session's own included."""
    budget: Budget
    context: ContextTokens
    """As it counts in this window."""


def room_for(found: CountedSession, limits: WindowSize) -> Room:
    """`overhead` is what the user says that the session does not show; else it is what providers
    reported beyond it."""
    from kedgeline.pipeline.job import budget_for

    size, known_from = window_for(limits.window, found.model)
    context = found.context.within(size)
    hidden = limits.overhead or context.hidden
    budget = budget_for(found.transcript, size, counter=found.counter, overhead=hidden)
    return Room(size, known_from, context.shown + hidden, budget, context)


def window_for(given: int | None, model: str) -> tuple[int, str]:
    """The window that is given, that settings name, or the model's own; and which it was."""
    from kedgeline.tokens import window_named

    if given is not None:
        return given, "--window"
    if named := window_of_settings():
        return named, "from settings"
    if own := window_named(model):
        return own, f"that of {model}"
    return Settings().window, "the usual one; --window says another"


def window_of_settings() -> int | None:
    """The window that settings name; None where they leave the usual one."""
    named = load_settings().window
    return None if named == Settings().window else named


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """A name that nobody knows is an error and no silent default."""
    names = tuple(known)
    if name not in names:
        raise UnknownName(what, name, known=names)


def check_provider(name: str | None) -> str:
    """The provider's name, or nothing."""
    from kedgeline.formats import load_provider

    return load_provider(name).name if name else ""


@contextmanager
def written_to(file: str) -> Iterator[BinaryIO]:
    """A file that takes its name only when it is whole, private to its owner; - is stdout."""
    if file == "-":
        yield sys.stdout.buffer
        return
    path = Path(file)
    if path.name in ("", ".."):
        raise typer.BadParameter(f"{file!r} names no file")
    with folder_below(path.parent) as folder:
        assert folder is not None  # it is the root itself
        with folder.replacing(path.name) as target:
            yield target


# Language models for a command: which one, under which terms, what it is sent and what it did.

NAME = 60
"""Characters of a model's name for people: that of one at an address of its own may be long."""


class Asking(NamedTuple):
    """A model that a command asks."""

    name: str
    model: Model
    terms: Terms

    def meter(self) -> Meter:
        """For what it uses apart from a session."""
        from kedgeline.models import Meter
        from kedgeline.tokens import EXACT

        return Meter(self.terms, count=EXACT.count)


def choose_model(given: str | None, role: Literal["model", "judge"]) -> Asking | None:
    """The model that is given, or else the one that settings name for this role; none where there
    is none. One that nobody knows is an error before any work."""
    settings = load_settings()
    name = getattr(settings, role) if given is None else given
    if name.strip().lower() in ("", "off"):
        return None
    from kedgeline.models import Terms, model_named, name_of
    from kedgeline.pipeline.telemetry import watched

    terms = Terms(
        window=settings.model_window,
        call_seconds=settings.model_call_seconds,
        # A judge is asked as often as there are probes: each request has its own time.
        seconds=0.0 if role == "judge" else settings.model_seconds,
        tokens=settings.model_tokens,
    )
    model = model_named(name)
    known_as = name_of(model)  # what is typed may hold more than is to stand in reports
    return Asking(known_as, watched(model, known_as), terms)


# What it costs.


def rates(model: str) -> Rates | None:
    """What a model costs; nothing is known of it where the prices are not installed."""
    from kedgeline.economy import rates_of
    from kedgeline.economy.ledger import prices_installed

    return rates_of(model) if prices_installed() else None


def _cost_of(model: str, usages: Sequence[Usage]) -> float | None:
    """In US dollars; none where a price is not known."""
    from kedgeline.economy.ledger import cost_of as price
    from kedgeline.model.ask import bare_name

    known = rates(bare_name(model))
    costs = [price(usage, known, model=model) for usage in usages]
    if not costs or any(cost.unknown for cost in costs):
        return None
    return sum(cost.amount or 0.0 for cost in costs)


def call_as_json(call: ModelCall) -> dict[str, Any]:
    """One of the `calls` that commands tell of."""
    return {**msgspec.to_builtins(call), "cost": _cost_of(call.model, [call.usage])}


def wording_as_json(wording: Wording | None) -> dict[str, Any] | None:
    """The key `wording` of `kedgeline compact --json`."""
    if wording is None:
        return None
    return {
        **fields(wording, "model outcome taken fallback why not_taken"),
        "dropped": [fields(one, "text why") for one in wording.dropped],
        "calls": [call_as_json(call) for call in wording.calls],
        "prompts": wording.prompts,
    }


def wording_told(wording: Wording) -> str:
    """What was taken of a model's words and what was not, in a line."""
    parts = [f"{wording.taken:,} entries of {shorten(wording.model, NAME)} taken"]
    if wording.dropped:
        counts = Counter(one.why for one in wording.dropped)
        why = ", ".join(f"{number:,} {reason}" for reason, number in counts.most_common())
        parts.append(f"{wording.not_taken:,} not ({why})")
    answered = [call for call in wording.calls if not call.failure]
    if wording.calls:
        failed = len(wording.calls) - len(answered)
        parts.append(count(len(wording.calls), "request"))
        parts[-1] += f" ({failed:,} without a reply)" if failed else ""
    if answered:
        about = "about " if any(call.estimated for call in answered) else ""
        sent = sum(call.usage.context for call in answered)
        written = sum(call.usage.output for call in answered)
        cost = _cost_of(answered[0].model, [call.usage for call in answered])
        price = f", ${cost:.4f}" if cost is not None else ""
        parts[-1] += f", {about}{sent:,} tokens sent and {written:,} written{price}"
    return f"model: {'; '.join(parts)}"


def show_requests(asks: Sequence[Ask], asked: Asking, *, json: bool) -> None:
    """What a model would be sent, in tokens and money. Nothing is sent."""
    meter = asked.meter()
    needs = [meter.needs(ask) for ask in asks]
    sent, written = sum(need.input for need in needs), sum(need.output for need in needs)
    total = _cost_of(asked.name, needs)
    if json:
        requests = [
            {
                "tokens": need.input,
                "most_reply_tokens": need.output,
                "cost": _cost_of(asked.name, [need]),
            }
            for need in needs
        ]
        write_json({"model": asked.name, "requests": requests, "tokens": sent, "cost": total})
    elif not needs:
        show("nothing would be folded, so that nothing would be sent")
    else:
        price = "at a cost that is not known" if total is None else f"for ${total:.4f} at the most"
        show(
            f"{shorten(asked.name, NAME)} would be sent {sent:,} tokens in "
            f"{count(len(needs), 'request')} and write {written:,} at the most, {price}"
        )
        say("nothing was sent, and nothing was written down")
