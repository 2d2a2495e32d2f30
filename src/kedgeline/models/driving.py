"""Running a step: what it asks is handed to a model, and the reply back to the step."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from math import inf, isfinite
from threading import Thread
from typing import Generic, Protocol, TypeVar, cast

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, ModelFailed, UserError
from kedgeline.model import Ask, ModelCall, Reply, Step, Usage, Wait
from kedgeline.model.ask import reported_name, words_of
from kedgeline.settings import FAULTS

T = TypeVar("T")
M = TypeVar("M")

POLL = 0.05
"""Seconds between two looks at whether a request is to be abandoned."""
BY_ITSELF = "call it by itself to see what is wrong"


class Model(Protocol):
    """Answers one request at a time; raises `ModelFailed` when it cannot. Whatever else it raises
    counts as `failed`. It keeps to the time that the request allows."""

    def __call__(self, ask: Ask, /) -> Reply: ...


class AsyncModel(Protocol):
    """The same, awaited."""

    def __call__(self, ask: Ask, /) -> Awaitable[Reply]: ...


class Stop(Protocol):
    """Is set when nobody wants to wait any longer, as a `threading.Event`."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float, /) -> object: ...


class NotAsked(ModelFailed):
    """No request was made: nothing was sent, and nothing is paid."""


class StepRun(Generic[T]):
    """A step on its way: what it wants next, and its result when that is nothing. No model is
    called in here: a StopIteration of its own would look like the end of the step."""

    result: T

    def __init__(self, step: Step[T]) -> None:
        self._step = step
        self.wants: Ask | Wait | None = None
        self.send()

    def send(self, reply: Reply | ModelFailed | None = None) -> None:
        """The reply or the failure of what it asked for; nothing after a pause."""
        try:
            if isinstance(reply, ModelFailed):
                self.wants = self._step.throw(reply)
            else:
                self.wants = self._step.send(cast(Reply, reply))
        except StopIteration as done:
            self.wants, self.result = None, done.value


def drive(step: Step[T], model: Model | None, *, stop: Stop | None = None) -> T:
    """Run a step to its end. A failure of the model is the step's to handle; it is raised here
    where the step does not. Without a model, a step that asks for one is told that there is none.

    Once `stop` is set, the request under way is abandoned, its late reply is thrown away, and the
    step is told so, also whenever it asks again."""
    with closing(step):
        if model is not None:
            refuse_awaited(model)
        run = StepRun(step)
        while run.wants:
            if isinstance(run.wants, Wait):
                (time.sleep if stop is None else stop.wait)(run.wants.seconds)
                run.send()
                continue
            try:
                reply: Reply | ModelFailed = _reply(_given(model), run.wants, stop)
            except ModelFailed as failure:
                reply = failure
            run.send(reply)
    return run.result


async def drive_async(step: Step[T], model: AsyncModel | None) -> T:
    """The same for a model that is awaited; a step that is cancelled is closed."""
    with closing(step):
        run = StepRun(step)
        while run.wants:
            if isinstance(run.wants, Wait):
                from asyncio import sleep  # heavy, and only for those who have loaded it anyway

                await sleep(run.wants.seconds)
                run.send()
                continue
            try:
                reply: Reply | ModelFailed = await _reply_awaited(_given(model), run.wants)
            except ModelFailed as failure:
                reply = failure
            run.send(reply)
    return run.result


def awaited(model: Model | AsyncModel) -> AsyncModel:
    """A model for those who await: by its own method `awaited`, as it is where it is awaited
    anyway, else each request in a thread. One that is cancelled ends in its own time."""
    refuse_uncallable(model)
    own = getattr(model, "awaited", None) or (model if is_awaited(model) else None)
    if own is not None:
        return cast(AsyncModel, own)

    async def asked(ask: Ask, /) -> Reply:
        from asyncio import wrap_future

        return await wrap_future(in_thread(lambda: _called(cast(Model, model), ask)))

    asked.__name__ = name_of(model)
    return asked


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Work in a daemon thread. Unlike a pool's, it does not hold up the end of the program or of
    the loop when nobody waits for it any more."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()

    def run() -> None:
        with _Settled(future):
            future.set_result(context.run(work))

    Thread(target=run, name="kedgeline request", daemon=True).start()
    return future


class _Settled(Generic[T]):
    """Whatever is raised inside is raised where the result is taken."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return True


class _Faults:
    """A model is anybody's code: what it raises becomes a `ModelFailed` with the name of its class.
    Its text stays out: nobody knows what is in it. What ends a program or a task is left alone."""

    def __init__(self, model: object) -> None:
        self._model = model

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, ModelFailed):
            ours = isinstance(error, KedgelineError)
            why = str(error) if ours else f"it raised {type(error).__name__}"
            raise ModelFailed(name_of(self._model), why, next_step=BY_ITSELF) from error


def name_of(model: object) -> str:
    """What a model is called in reports; one that has no name, by its kind."""
    owner = getattr(model, "__self__", None)
    named = ((model, "name"), (owner, "name"), (model, "__name__"))
    name = next(filter(None, (getattr(one, attribute, "") for one, attribute in named)), "")
    return reported_name(str(name)) or type(model).__name__


def is_awaited(model: object) -> bool:
    return iscoroutinefunction(model) or iscoroutinefunction(getattr(model, "__call__", None))  # noqa: B004


def refuse_uncallable(model: object) -> None:
    if not callable(model):
        raise UserError(
            f"a model is a function from an Ask to a Reply, and not a {type(model).__name__}; "
            f"kedgeline.models.model_named makes one from a name"
        )


def refuse_awaited(model: object, given: object = None) -> None:
    """Who cannot await is given no model that must be, nor what such a one `gave` back."""
    refuse_uncallable(model)
    if not is_awaited(model) and not isawaitable(given):
        return
    if iscoroutine(given):
        given.close()
    raise UserError(
        f"the model {name_of(model)!r} must be awaited; call compact_async, acompact or "
        "drive_async, which await it"
    )


def _called(model: Model, ask: Ask) -> Reply:
    with _Faults(model):
        return model(ask)


def _reply(model: Model, ask: Ask, stop: Stop | None) -> Reply:
    given = _called(model, ask) if stop is None else _unless_stopped(model, ask, stop)
    refuse_awaited(model, given)
    return _checked(model, given)


async def _reply_awaited(model: AsyncModel, ask: Ask) -> Reply:
    with _Faults(model):
        given = await model(ask)
        if isawaitable(given):  # of a function that blocks nobody and looks as if it did
            given = await given
    return _checked(model, given)


def _checked(model: object, given: object) -> Reply:
    """What a model gave back, where that is a reply."""
    if isinstance(given, Reply) and isinstance(given.text, str) and isinstance(given.model, str):
        return given
    why = f"it gave back {type(given).__name__}, and not a Reply with words"
    raise ModelFailed(name_of(model), why, next_step=BY_ITSELF)


def _unless_stopped(model: Model, ask: Ask, stop: Stop) -> Reply:
    name = name_of(model)
    if stop.is_set():
        raise NotAsked(name, "it was stopped before", next_step="ask again", kind="cancelled")
    request = in_thread(lambda: _called(model, ask))
    while not stop.is_set():
        if wait({request}, POLL).done and not stop.is_set():
            return request.result()
    raise ModelFailed(name, "it was stopped", next_step="ask again", kind="cancelled")


def _given(model: M | None) -> M:
    if model is None:
        raise NotAsked("none", "no model was given", next_step="name one, as in command:PROGRAM")
    return model


# Between a step and its model: secrets are taken out, failures that may pass are retried, time and
# tokens are limited, every request is written down.


@dataclass(frozen=True, slots=True)
class Terms:
    """Time and tokens. What is 0 has no limit."""

    window: int = 32_000
    """Tokens that the model takes at once, its reply included: all current ones take as many."""
    call_seconds: float = 60.0
    """How long one request may take."""
    seconds: float = 180.0
    """How long all of them may take together, with pauses and repetitions. In a session, a
    compaction that begins again goes on with what is left of it."""
    tries: int = 3
    """How often one request is made where the failure may pass."""
    tokens: int = 0
    """Tokens sent and written by all requests of a session."""


TERMS = Terms()


class Meter:
    """Knows all calls of a session, and refuses a request that could exceed its limit of tokens. It
    counts what was reported, else what was sent and written; of a try without a reply, nothing:
    nobody knows whether that is paid."""

    def __init__(
        self,
        terms: Terms = TERMS,
        *,
        count: Callable[[str], int],
        earlier: Iterable[ModelCall] = (),
        on_call: Callable[[ModelCall], None] | None = None,
    ) -> None:
        """`earlier` are the calls that the session has paid already; `on_call` is given each that
        is made, at once."""
        self._limit, self._count, self._on_call = terms.tokens, count, on_call
        self._calls: list[ModelCall] = []
        self.tokens = sum(call.usage.total for call in earlier)
        """Sent and written by the whole session so far."""

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Those that were made here, in their order."""
        return tuple(self._calls)

    def needs(self, ask: Ask) -> Usage:
        """The most that a request takes, as we count."""
        return Usage(input=self._count(words_of(ask)), output=max(0, ask.most_tokens))

    def asked(self, ask: Ask, *, model: str, clock: Callable[[], float]) -> Step[Reply]:
        """One try: refused, or made and written down."""
        most = self.needs(ask)
        if self._limit and self.tokens + most.total > self._limit:
            used = f"{self.tokens:,} of {self._limit:,} tokens"
            why = f"the session has used {used}, and this request may take {most.total:,}"
            raise NotAsked(model, why, next_step="allow more (model_tokens)", kind="over budget")
        at, began = datetime.now(UTC), clock()

        def took(usage: Usage, *, estimated: bool = True, failure: str = "") -> None:
            call = ModelCall(
                role=ask.role,
                model=model,
                sent=most.input,
                usage=usage,
                estimated=estimated,
                prompt_hash=ask.prompt_hash,
                at=at,
                seconds=max(0.0, clock() - began),
                failure=failure,
            )
            self._calls.append(call)
            self.tokens += usage.total
            if self._on_call is not None:
                self._on_call(call)

        try:
            reply = yield ask
        except NotAsked:
            raise
        except ModelFailed as failure:
            took(Usage(), failure=failure.kind)
            raise
        except GeneratorExit:
            # Nobody waits any longer. It was sent all the same, so it is written down, but whatever
            # goes wrong with that must not take the place of why it ended.
            with suppress(KedgelineError, *FAULTS):
                took(Usage(), failure="cancelled")
            raise
        if reply.usage is None or reply.usage == Usage():
            took(Usage(input=most.input, output=self._count(reply.text)))
        else:
            took(reply.usage, estimated=False)
        return reply


FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 2.0, 20.0
"""Seconds before the second try, how much longer each pause is, and the longest."""
LONGEST_WAIT = 3_600.0
"""Seconds that a provider may ask for: more means that the quota of the day is used up."""


class ModelPatience:
    """Of all requests of one step together, or of several steps that share it: the time begins with
    the first."""

    def __init__(
        self, terms: Terms, *, model: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terms, self._model, self._clock = terms, model, clock
        self._deadline: float | None = None

    def asked(self, ask: Ask, once: Callable[[Ask], Step[Reply]]) -> Step[Reply]:
        """Try until a reply comes, the failure is one that stays, or time or tries are used up."""
        if self._deadline is None:
            self._deadline = self._clock() + (self._terms.seconds or inf)
        pause, tries = FIRST_PAUSE, max(1, self._terms.tries)
        while True:
            left = self.left()
            if left <= 0:
                raise self._too_late(NotAsked)
            tries -= 1
            seconds = min(ask.seconds or inf, self._terms.call_seconds or inf, left)
            limited = replace(ask, seconds=seconds if isfinite(seconds) else 0.0)
            try:
                reply = yield from once(limited)
            except ModelFailed as failure:
                # those who were refused together do not come back together
                wait = max(failure.wait or 0.0, random.uniform(0.5, 1.0) * pause)
                if not failure.passes or not tries or wait >= self.left() or wait > LONGEST_WAIT:
                    raise
            else:
                if self.left() <= 0:
                    raise self._too_late(ModelFailed)
                return reply
            yield Wait(seconds=wait)
            pause = min(LONGEST_PAUSE, GROWTH * pause)

    def left(self) -> float:
        """Seconds; without end where there is no limit, or nothing was asked yet."""
        return inf if self._deadline is None else self._deadline - self._clock()

    def _too_late(self, failure: type[ModelFailed]) -> ModelFailed:
        return failure(
            self._model,
            f"all requests together took more than {self._terms.seconds:g} seconds",
            next_step="use a faster model, or allow more (model_seconds)",
            kind="timed out",
        )


def guarded_step(
    step: Step[T],
    terms: Terms,
    *,
    model: str,
    clean: Callable[[str], str],
    meter: Meter,
    clock: Callable[[], float] = time.monotonic,
    patience: ModelPatience | None = None,
) -> Step[T]:
    """A step whose requests have no secrets in them, are made again where the failure may pass, and
    stay within time and budget. What cannot be had within them fails, as a model does.

    `model` is the name that calls are written down with; `clean` takes secrets out, of failures
    too. Steps that are given one `patience` share its time."""
    name = clean(model)
    patience = patience or ModelPatience(terms, model=name, clock=clock)

    def once(ask: Ask) -> Step[Reply]:
        return meter.asked(ask, model=name, clock=clock)

    with closing(step):
        run = StepRun(step)
        while wants := run.wants:
            if isinstance(wants, Wait):
                yield Wait(seconds=max(0.0, min(wants.seconds, patience.left())))
                run.send()
                continue
            try:
                ask = replace(wants, system=clean(wants.system), prompt=clean(wants.prompt))
                reply = yield from patience.asked(ask, once)
            except ModelFailed as failure:
                answer: Reply | ModelFailed = _cleaned(failure, clean)
            else:
                answer = replace(reply, model=clean(reply.model))
            run.send(answer)
    return run.result


def _cleaned(failure: ModelFailed, clean: Callable[[str], str]) -> ModelFailed:
    """The same without secrets: a program or a provider may have complained with them."""
    kind = NotAsked if isinstance(failure, NotAsked) else ModelFailed
    name, why, then = (clean(one) for one in (failure.name, failure.why, failure.next_step))
    return kind(name, why, next_step=then, kind=failure.kind, wait=failure.wait)
