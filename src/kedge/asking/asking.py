"""Asking a model for a structured reply: the words from files, the data fenced, one repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

from kedge.asking.prompt import fenced, prompt_named
from kedge.asking.reading import PROBLEM, Unusable, read_reply
from kedge.asking.shape import schema_of, unbounded
from kedge.errors import ModelFailed
from kedge.model import Ask, Fallback, ModelRole, Reply, Step

ATTEMPTS = 2
"""Replies that are looked at; who cannot do it after being told what is wrong never will."""
REPEATED = 2_000
"""Characters of a reply that cannot be used that a model is shown again."""

S = TypeVar("S", bound=msgspec.Struct)


class Request(NamedTuple, Generic[S]):
    """What is asked, and what makes a reply usable."""

    prompt: str
    """Name of its file."""
    role: ModelRole
    words: Mapping[str, str]
    """Ours, for the places of the file."""
    data: Mapping[str, str]
    """Anybody's, for the places of the file; each is fenced."""
    shape: type[S]
    problem: Callable[[S], str]
    """What is wrong with a reply of the right shape; empty where nothing is."""
    most_tokens: int
    bounded: bool = True
    """Whether a reply beyond the bounds of the shape is unusable. Where not, the model is told the
    bounds as well, and whoever asks drops what is beyond them."""
    repeated: int = REPEATED
    """Characters of an unusable reply that the model is shown again. With 0 it is only told what
    was wrong: the second request is hardly larger than the first."""


class Outcome(NamedTuple, Generic[S]):
    value: S | None
    model: str = ""
    """Who replied, or failed to."""
    problem: str = ""
    """Why there is no value."""
    failed: bool = False
    """The model gave no reply: there is no point in asking it more."""
    kind: Fallback = ""
    """The same in a word; empty where there is a value."""
    prompts: tuple[str, ...] = ()
    """Hashes of the files whose words were used."""


def asked(request: Request[S]) -> Step[Outcome[S]]:
    """The reply, read and checked. One that cannot be used is asked for once more, with the reason;
    one that cannot be used then is none. A refusal is taken as it is."""
    ask = first = ask_of(request)
    problems: list[str] = []
    while True:
        outcome = Outcome[S](None, prompts=tuple(ask.prompt_hash.split("+")))
        try:
            reply = yield ask
        except ModelFailed as failure:
            return outcome._replace(
                model=failure.name, problem=str(failure), failed=True, kind=_kind(failure)
            )
        read = _read(reply, request)
        if not isinstance(read, Unusable):
            return outcome._replace(value=read, model=reply.model)
        problems.append(f"{reply.model}: {read.problem}")
        if read.final or len(problems) == ATTEMPTS:
            told = "; asked again, ".join(problems)
            return outcome._replace(model=reply.model, problem=told, kind=read.kind)
        ask = _again(first, reply, read, request)


def ask_of(request: Request[Any]) -> Ask:
    """A request as it is first made."""
    prompt = prompt_named(request.prompt)
    return Ask(
        role=request.role,
        system=prompt.system,
        prompt=prompt.body.substitute(request.words, **fenced(request.data)),
        most_tokens=request.most_tokens,
        schema=schema_of(request.shape),
        prompt_hash=prompt.hash,
    )


def asked_again(first: Ask, problem: str) -> Ask:
    """A request as it is made again, without the reply that cannot be used."""
    words = prompt_named("again").body.substitute(problem=problem)
    return _joined(first, words, "again")


def _again(first: Ask, reply: Reply, read: Unusable, request: Request[S]) -> Ask:
    if not request.repeated:
        return asked_again(first, read.problem)
    shown = fenced({"reply": reply.text[: request.repeated]})
    words = prompt_named("repair").body.substitute(problem=read.problem, **shown)
    return _joined(first, words, "repair")


def _joined(first: Ask, words: str, name: str) -> Ask:
    return msgspec.structs.replace(
        first,
        prompt=f"{first.prompt}\n\n{words}",
        prompt_hash=f"{first.prompt_hash}+{prompt_named(name).hash}",
    )


def _read(reply: Reply, request: Request[S]) -> S | Unusable:
    shape = request.shape if request.bounded else unbounded(request.shape)
    read = read_reply(reply, shape, most_tokens=request.most_tokens)
    if isinstance(read, Unusable):
        return read
    problem = request.problem(read)
    return Unusable("another shape", problem[:PROBLEM]) if problem else read


def _kind(failure: ModelFailed) -> Fallback:
    known: tuple[Fallback, ...] = get_args(Fallback)
    return next((kind for kind in known if kind and kind == failure.kind), "failed")
