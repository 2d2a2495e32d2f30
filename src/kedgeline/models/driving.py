"""Running a step: what it asks is handed to a model, and the reply back to the step."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import closing
from contextvars import copy_context
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from threading import Thread
from typing import Generic, Protocol, TypeVar, cast

from kedgeline.errors import KedgelineError, ModelFailed, UserError
from kedgeline.model import Ask, Reply, Step, Wait
from kedgeline.model.ask import reported_name

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
