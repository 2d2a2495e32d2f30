"""Something that is awaited, for those who cannot."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

T = TypeVar("T")


def blocked(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end in a thread and a loop of its own: the caller may run a loop already, as in
    a notebook. Where waiting is interrupted, the work is cancelled."""
    import asyncio
    from threading import Thread

    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = Thread(target=_run, args=(loop, task), name="kedge model", daemon=True)
    thread.start()
    try:
        thread.join()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
    return task.result()


def _run(loop: AbstractEventLoop, task: Task[Any]) -> None:
    import asyncio

    try:
        loop.run_until_complete(asyncio.wait({task}))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        # It does not wait for a lookup of a host's name that hangs: that has no limit.
        loop.close()
