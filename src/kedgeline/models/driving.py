"""Running a step: what it asks is handed to a model, and the reply back to the step."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from contextvars import copy_context
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from threading import Event, Thread
from typing import Generic, Protocol, TypeVar, cast

from kedgeline.errors import KedgelineError, ModelFailed, UserError
from kedgeline.model import Ask, Reply, Step, Wait
from kedgeline.model.ask import reported_name

T = TypeVar("T")
M = TypeVar("M")

LOOK_EVERY = 0.05
"""Seconds between two looks at whether a request is to be abandoned."""
BY_ITSELF = "call it by itself to see what is wrong"
TO_AWAIT = "call compact_async, acompact or drive_async, which await it"


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


class Run(Generic[T]):
    """A step on its way: what it wants next, and its result when that is nothing. No model is
    called in here: a StopIteration of its own would look like the end of the step."""

    result: T

    def __init__(self, step: Step[T]) -> None:
        self._step = step
        self.wants: Ask | Wait | None = None
        self.go_on()

    def go_on(self, reply: Reply | ModelFailed | None = None) -> None:
        """With the reply or the failure of what it asked for, or after its pause."""
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
        run = Run(step)
        while run.wants:
            if isinstance(run.wants, Wait):
                (time.sleep if stop is None else stop.wait)(run.wants.seconds)
                run.go_on()
                continue
            try:
                reply: Reply | ModelFailed = _asked(_given(model), run.wants, stop)
            except ModelFailed as failure:
                reply = failure
            run.go_on(reply)
    return run.result


async def drive_async(step: Step[T], model: AsyncModel | None) -> T:
    """The same for a model that is awaited; a step that is cancelled is closed."""
    with closing(step):
        run = Run(step)
        while run.wants:
            if isinstance(run.wants, Wait):
                from asyncio import sleep  # heavy, and only for those who have loaded it anyway

                await sleep(run.wants.seconds)
                run.go_on()
                continue
            try:
                reply: Reply | ModelFailed = await _awaited(_given(model), run.wants)
            except ModelFailed as failure:
                reply = failure
            run.go_on(reply)
    return run.result


class UnderWay:
    """A request in a thread of its own. Whoever has waited long enough goes away: the thread does
    not hold up the end of the program, and what comes late is nobody's."""

    def __init__(
        self, model: Callable[[Ask], Reply], ask: Ask, then: Callable[[], object] | None = None
    ) -> None:
        """`then` is called, in that thread, when the reply or the failure is there."""
        self._model, self._ask, self._then = model, ask, then
        self._reply: Reply | None = None
        self._error: BaseException | None = None
        self._ended = Event()
        context = copy_context()
        Thread(target=context.run, args=(self._run,), name="kedgeline request", daemon=True).start()

    def ended(self, seconds: float) -> bool:
        """Whether it is answered, now or within some seconds."""
        return self._ended.wait(seconds)

    def result(self) -> Reply:
        """What the model gave back, of one that has ended; what it raised is raised."""
        if self._error is not None:
            raise self._error
        return cast(Reply, self._reply)

    def _run(self) -> None:
        with self:
            self._reply = self._model(self._ask)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Whatever the model raises is raised where the result is taken."""
        self._error = error
        self._ended.set()
        if self._then is not None:
            self._then()
        return True


def threaded(model: Model) -> AsyncModel:
    """A model that blocks, for those who await: each request waits in a thread of its own. One
    that is cancelled ends in its own time, and holds up nobody."""

    async def asked(ask: Ask, /) -> Reply:
        from asyncio import Event, get_running_loop

        loop, ended = get_running_loop(), Event()

        def then() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(ended.set)

        request = UnderWay(model, ask, then)
        await ended.wait()
        return request.result()

    asked.__name__ = name_of(model)
    return asked


def awaited(model: Model | AsyncModel) -> AsyncModel:
    """A model for those who await: by its own method `awaited`, as it is where it is awaited
    anyway, else in threads."""
    refuse_uncallable(model)
    own = getattr(model, "awaited", None) or (model if is_awaited(model) else None)
    return cast(AsyncModel, own) if own is not None else threaded(cast(Model, model))


class Faults:
    """A model is anybody's code: what it raises becomes a `ModelFailed` with the name of its class.
    Its text stays out: nobody knows what is in it. What ends a program or a task is left alone."""

    def __init__(self, model: object) -> None:
        self._model = model

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, ModelFailed):
            return
        why = (
            str(error) if isinstance(error, KedgelineError) else f"it raised {type(error).__name__}"
        )
        raise ModelFailed(name_of(self._model), why, next_step=BY_ITSELF) from error


def name_of(model: object) -> str:
    """What a model is called in reports; one that has no name, by its kind."""
    owner = getattr(model, "__self__", None)
    named = ((model, "name"), (owner, "name"), (model, "__name__"))
    name = next(filter(None, (getattr(one, attribute, "") for one, attribute in named)), "")
    return reported_name(str(name)) or type(model).__name__


def reply_of(model: object, given: object) -> Reply:
    """What a model gave back, where that is a reply."""
    if isinstance(given, Reply) and isinstance(given.text, str) and isinstance(given.model, str):
        return given
    kind = type(given.text if isinstance(given, Reply) else given).__name__
    what = f"a reply with {kind} for its text" if isinstance(given, Reply) else f"{kind}"
    why = f"it gave back {what}, and not a Reply with words"
    raise ModelFailed(name_of(model), why, next_step=BY_ITSELF)


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
    raise UserError(f"the model {name_of(model)!r} must be awaited; {TO_AWAIT}")


def _asked(model: Model, ask: Ask, stop: Stop | None) -> Reply:
    with Faults(model):
        given = model(ask) if stop is None else _unless_stopped(model, ask, stop)
    refuse_awaited(model, given)
    return reply_of(model, given)


async def _awaited(model: AsyncModel, ask: Ask) -> Reply:
    with Faults(model):
        given = await model(ask)
        if isawaitable(given):  # of a function that blocks nobody and looks as if it did
            given = await given
    return reply_of(model, given)


def _unless_stopped(model: Model, ask: Ask, stop: Stop) -> Reply:
    name = name_of(model)
    if stop.is_set():
        raise NotAsked(name, "it was stopped before", next_step="ask again", kind="cancelled")
    request = UnderWay(model, ask)
    while not stop.is_set():
        if request.ended(LOOK_EVERY) and not stop.is_set():
            return request.result()
    raise ModelFailed(name, "it was stopped", next_step="ask again", kind="cancelled")


def _given(model: M | None) -> M:
    if model is None:
        raise NotAsked("none", "no model was given", next_step="name one, as in command:PROGRAM")
    return model
