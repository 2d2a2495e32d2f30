"""One compaction of a living session with a model that a real server stands for, looked at from
all sides."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace as changed
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from unittest.mock import patch

import msgspec
from msgspec.structs import replace

from kedgeline.model import Compaction, Transcript
from kedgeline.models import Terms
from kedgeline.models import metering as patience
from kedgeline.models.provider import ProviderModel
from kedgeline.session.session import Session
from tests.models.server import Line, Request, Server, serving
from tests.validity import problems
from tests.wording.histories import histories, living
from tests.wording.history import History
from tests.wording.kinds import SECRET, Kind, Variant

PROVIDERS = ("anthropic", "openai-chat")
IN_TIME = 30.0
"""Seconds for a request that is answered, also on a machine that is busy."""
TOO_SOON = 0.12
"""Seconds for one that is not."""
WRITTEN = {"call", "compaction"}
"""What a compaction adds to a session."""


class Way(NamedTuple):
    """The way that requests take."""

    shape: Literal["openai", "anthropic"]
    stream: bool


WAYS = tuple(Way(*one) for one in product(("openai", "anthropic"), (True, False)))


class Trial(NamedTuple):
    done: Compaction
    problems: list[str]
    requests: list[Request]


def tried(
    history: History, kind: Kind, variant: Variant, way: Way, *, awaited: bool = False
) -> Trial:
    """A compaction with this failure, and what is wrong with what came of it."""
    stop, late = threading.Event(), threading.Event()

    def rule(request: Request) -> Line:
        if kind.stopped:
            stop.set()
            late.wait(IN_TIME)
        if variant.first is not None and len(server.requests) == 1:
            return variant.first
        return variant.lines(history, prompt_of(request))

    terms = Terms(
        call_seconds=TOO_SOON if kind.slow else IN_TIME,
        seconds=2 * IN_TIME,
        tries=1 if kind.slow else 2 if variant.asked > 1 else 1,
    )
    with (
        patch.object(patience, "FIRST_PAUSE", 0.001),
        TemporaryDirectory() as place,
        serving(rule=rule) as server,
        living(history, Path(place)) as session,
    ):
        model = changed(ProviderModel.named(server.name(way.shape)), stream=way.stream)
        before = Before(session)
        if awaited:
            done = asyncio.run(session.compact_async(model=model, terms=terms))
        else:
            done = session.compact(model=model, terms=terms, stop=stop if kind.stopped else None)
        late.set()
        arrive()
        views = {name: session.view(name).messages for name in PROVIDERS}
        found = [
            *before.problems(session, done),
            *named(done, variant, model.name),
            *clean(session, done, variant, history, "\n".join(strings([*views.values()]))),
            *no_worse(done, plain(history.name)),
            *kept(session, history, views),
            *asked(server, session, done, variant, history),
        ]
        return Trial(done, found, list(server.requests))


def arrive() -> None:
    """Wait for replies that nobody waits for."""
    for thread in threading.enumerate():
        if thread.name == "kedgeline request":
            thread.join(IN_TIME)


class Before:
    """A session as it was."""

    def __init__(self, session: Session) -> None:
        self.transcript = session.transcript()
        self.entries = list(session.store.entries(session.name))

    def problems(self, session: Session, done: Compaction) -> list[str]:
        found = []
        entries = list(session.store.entries(session.name))
        old, new = entries[: len(self.entries)], entries[len(self.entries) :]
        if old != self.entries:
            found.append("entries that were there are others now")
        if {entry.kind for entry in new} - WRITTEN or session.transcript() != self.transcript:
            found.append(f"the originals changed: {[entry.kind for entry in new]}")
        if not done.plan.folded or done.tokens_after >= done.tokens_before:
            found.append("the context is not smaller")
        return found


def named(done: Compaction, variant: Variant, model: str) -> list[str]:
    """Whether the report says what happened."""
    wording = done.wording
    if wording is None:
        return ["nothing is said of the model"]
    found = []
    if wording.fallback not in variant.fallback:
        found.append(f"called {wording.fallback!r} in place of {variant.fallback}: {wording.why}")
    warned = [one for one in done.warnings if model in one and wording.fallback in one]
    if bool(wording.fallback) != bool(warned):
        found.append(f"its warnings are {done.warnings}")
    if wording.fallback and not wording.why:
        found.append("no sentence says why")
    if variant.fallback == ("",) and not wording.taken:
        found.append("nothing was taken")
    if variant.why and variant.why not in {one.why for one in wording.dropped}:
        found.append(f"dropped {wording.dropped} and none as {variant.why}")
    return found


def clean(
    session: Session, done: Compaction, variant: Variant, history: History, view: str
) -> list[str]:
    """Whether bad words stand anywhere but among those that were dropped."""
    assert done.wording is not None
    told = replace(done, wording=replace(done.wording, dropped=()))
    places = {
        "summary": done.summary,
        "record": text_of(told),
        "view": view,
    }
    own = words(session.transcript()) + text_of(plain(history.name))  # a page is quoted as one
    found = [
        f"{bad!r} stands in the {place}"
        for place, text in places.items()
        for bad in variant.bad
        if bad in text and bad not in own
    ]
    everything = "\n".join([places["record"], *(one.text for one in done.wording.dropped)])
    secrets = [one for one in (history.secret, SECRET[:8]) if one and one in everything]
    return [*found, *("a secret stands in the record" for _ in secrets)]


def text_of(done: Compaction) -> str:
    """The record, decoded: escapes hide nothing."""
    return "\n".join(strings(json.loads(msgspec.json.encode(done))))


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [one for pair in value.items() for part in pair for one in strings(part)]
    return [one for part in value for one in strings(part)] if isinstance(value, list) else []


def no_worse(done: Compaction, before: Compaction) -> list[str]:
    """Probes, against those of the summary that code makes alone."""
    now, then = passing(done), passing(before)
    found = [f"a probe fails: {one}" for one in then - now]
    if score(done) < score(before):
        found.append(f"the score is {score(done)}, and was {score(before)}")
    assert done.wording is not None
    if not done.wording.taken and done.summary != before.summary:
        found.append("nothing was taken, and the summary is another")
    return found


def kept(session: Session, history: History, views: dict[str, Any]) -> list[str]:
    """Rules, pins, and a list that can be sent."""
    found = []
    for provider, messages in views.items():
        found += problems(provider, messages)
        text = "\n".join(strings(messages))
        found += [f"lost: {one}" for one in (*history.rules, *history.pins) if one not in text]
    said = words(session.transcript())
    missing = [one for one in history.said if one.user not in said or one.says not in said]
    return [*found, *(f"not among the originals: {one}" for one in missing)]


def words(transcript: Transcript) -> str:
    turns = [*transcript.turns, *([transcript.pending] if transcript.pending else [])]
    return "\n".join(text for one in turns for text in (*one.user_words(), one.assistant_response))


def asked(
    server: Server, session: Session, done: Compaction, variant: Variant, history: History
) -> list[str]:
    """Whether each request was made once, had no secret in it, and is written down."""
    assert done.wording is not None
    found = []
    came = len(server.requests)
    if came > variant.asked or (came < variant.asked and done.wording.fallback != "timed out"):
        found.append(f"asked {came} times")  # on a busy machine, time may be over before it comes
    if history.secret and any(history.secret in one.everything for one in server.requests):
        found.append("a secret was sent")
    calls = [one for one in session.store.entries(session.name) if one.kind == "call"]
    if not len(calls) == len(done.wording.calls) == variant.asked:
        found.append(f"{len(calls)} calls are written down")
    return found


def passing(done: Compaction) -> set[object]:
    answers = done.verdict.answers if done.verdict else ()
    return {answer.probe for answer in answers if answer.passed}


def score(done: Compaction) -> float:
    return (done.verdict.score or 0.0) if done.verdict else 0.0


@cache
def plain(name: str) -> Compaction:
    """What code makes of it alone."""
    with TemporaryDirectory() as place, living(histories()[name], Path(place)) as session:
        return session.compact()


def prompt_of(request: Request) -> str:
    return "\n".join(strings(request.body["messages"]))
