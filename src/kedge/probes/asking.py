"""Asking a model for a structured reply: the words from files, the data fenced, one repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from string import Template
from typing import Generic, NamedTuple, TypeVar

import msgspec

from kedge.errors import ModelFailed
from kedge.model import Ask, ModelRole, Reply, Step

MARK = 12
"""Characters of the code on a fence: more than anybody writes by chance."""
LARGEST_READ = 200_000
"""Characters of a reply that are looked at: several times the longest that is asked for."""
REPEATED = 2_000
"""Characters of a reply that cannot be used that a model is shown again."""

S = TypeVar("S", bound=msgspec.Struct)


class Prompt(NamedTuple):
    """The words of one file: what goes before a line `---` is for the system."""

    system: str
    body: Template
    hash: str


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


class Outcome(NamedTuple, Generic[S]):
    value: S | None
    model: str = ""
    problem: str = ""
    """Why there is no value."""
    failed: bool = False
    """The model gave no reply: there is no point in asking it more."""


@cache
def prompt_named(name: str) -> Prompt:
    from importlib.resources import files  # heavy, and only needed with a model

    text = files("kedge.probes").joinpath("prompts", f"{name}.md").read_text("utf-8")
    system, _, body = text.partition("---\n")
    return Prompt(system.strip(), Template(body.strip()), sha256(text.encode()).hexdigest()[:16])


def asked(request: Request[S]) -> Step[Outcome[S]]:
    """The reply, read and checked. One that cannot be used is asked for once more, with the reason;
    one that cannot be used then is none."""
    ask = first = _ask(request)
    problems: list[str] = []
    for _ in range(2):
        try:
            reply = yield ask
        except ModelFailed as failure:
            return Outcome(None, problem=str(failure), failed=True)
        read = _read(reply.text, request)
        if not isinstance(read, str):
            return Outcome(read, model=reply.model)
        problems.append(f"{reply.model}: {read}")
        ask = _again(first, reply, read)
    return Outcome(None, problem="; asked again, ".join(problems))


def fenced(data: Mapping[str, str]) -> dict[str, str]:
    """Each text between marks that cannot stand in it, and the code of the marks."""
    texts = "\n".join(data.values())
    digest = sha256(texts.encode(errors="replace")).hexdigest()
    mark = digest[:MARK]
    while mark in texts:  # nobody can write a text that holds its own digest, but a short one may
        digest = sha256(digest.encode()).hexdigest()
        mark = digest[:MARK]
    return {"mark": mark} | {
        name: f"<{name} {mark}>\n{text}\n</{name} {mark}>" for name, text in data.items()
    }


def _ask(request: Request[S]) -> Ask:
    prompt = prompt_named(request.prompt)
    return Ask(
        role=request.role,
        system=prompt.system,
        prompt=prompt.body.substitute(request.words, **fenced(request.data)),
        most_tokens=request.most_tokens,
        schema=msgspec.json.schema(request.shape),
        prompt_hash=prompt.hash,
    )


def _again(first: Ask, reply: Reply, problem: str) -> Ask:
    repair = prompt_named("repair")
    words = repair.body.substitute(problem=problem, **fenced({"reply": reply.text[:REPEATED]}))
    return msgspec.structs.replace(
        first, prompt=f"{first.prompt}\n\n{words}", prompt_hash=f"{first.prompt_hash}+{repair.hash}"
    )


def _read(text: str, request: Request[S]) -> S | str:
    """The value in a reply, or what is wrong with it. Words around the object do no harm."""
    if not text.strip():
        return "it is empty"
    if len(text) > LARGEST_READ:
        return f"it has {len(text):,} characters, and {LARGEST_READ:,} are read at the most"
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return "it has no JSON object"
    try:
        value = msgspec.json.decode(
            text[start : end + 1].encode(errors="replace"), type=request.shape
        )
    except msgspec.ValidationError as error:
        return f"its JSON has another shape: {error}"
    except (msgspec.DecodeError, RecursionError) as error:
        return f"its JSON cannot be read: {error}"
    return request.problem(value) or value
