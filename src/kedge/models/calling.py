"""A model called once. It is anybody's code: whatever it raises or gives back in the place of a
reply is its failure, and not that of the work it is asked for."""

from __future__ import annotations

from inspect import isawaitable, iscoroutine, iscoroutinefunction
from types import TracebackType

from kedge.errors import KedgeError, ModelFailed, UserError
from kedge.model import Reply
from kedge.model.rates import reported_name

BY_ITSELF = "call it by itself to see what is wrong"
TO_AWAIT = "call compact_async or drive_async, which await it"


class Faults:
    """Turns what a model raises into a `ModelFailed` with the name of its class. Its text stays
    out: nobody knows what is in it. What ends a program or a task is left alone."""

    def __init__(self, model: object) -> None:
        self._model = model

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, ModelFailed):
            return
        why = str(error) if isinstance(error, KedgeError) else f"it raised {type(error).__name__}"
        raise ModelFailed(name_of(self._model), why, next_step=BY_ITSELF) from error


def name_of(model: object) -> str:
    """What a model is called in reports; one that has no name, by its kind."""
    owner = getattr(model, "__self__", None)
    name = (
        getattr(model, "name", "") or getattr(owner, "name", "") or getattr(model, "__name__", "")
    )
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
        given = type(model).__name__
        raise UserError(
            f"a model is a function from an Ask to a Reply, and not a {given}; "
            f"kedge.models.model_named makes one from a name"
        )


def refuse_awaited(model: object, given: object = None) -> None:
    """Who cannot await is given no model that must be, nor what such a one `gave` back."""
    refuse_uncallable(model)
    if not is_awaited(model) and not isawaitable(given):
        return
    if iscoroutine(given):
        given.close()
    raise UserError(f"the model {name_of(model)!r} must be awaited; {TO_AWAIT}")
