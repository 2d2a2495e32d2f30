"""A request in a thread of its own, for which nobody has to wait."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import Event, Thread
from types import TracebackType
from typing import cast

from kedge.model import Ask, Reply


class UnderWay:
    """Sent from the beginning. Whoever has waited long enough goes away: the thread does not
    hold up the end of the program, and what comes late is nobody's."""

    def __init__(
        self, model: Callable[[Ask], Reply], ask: Ask, then: Callable[[], None] | None = None
    ) -> None:
        """`then` is called, in that thread, when the reply or the failure is there."""
        self._model, self._ask, self._then = model, ask, then
        self._reply: Reply | None = None
        self._error: BaseException | None = None
        self._ended = Event()
        context = copy_context()
        Thread(target=context.run, args=(self._run,), name="kedge request", daemon=True).start()

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        """Nothing is lost of what the model raises, whatever it is: it is raised where the result
        is taken."""
        self._error = error
        self._ended.set()
        if self._then is not None:
            self._then()
        return True
