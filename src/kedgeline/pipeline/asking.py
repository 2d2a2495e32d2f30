"""A structured reply asked of a language model: words from files, data fenced, one repair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from string import Template
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Fallback, ModelRole, Reply, Step

# The words of a request, from files, and the data in it, fenced.

MARK = 12
"""Characters of the code on a fence: more than anybody writes by chance."""


class Prompt(NamedTuple):
    """The words of one file: what goes before a line `---` is for the system."""

    system: str
    body: Template
    hash: str


@cache
def prompt_named(name: str) -> Prompt:
    from importlib.resources import files  # heavy, and only needed with a model

    text = files("kedgeline.pipeline").joinpath("prompts", f"{name}.md").read_text("utf-8")
    system, _, body = text.partition("---\n")
    return Prompt(system.strip(), Template(body.strip()), sha256(text.encode()).hexdigest()[:16])


def fenced(data: Mapping[str, str]) -> dict[str, str]:
    """Each text between marks that cannot stand in it, and the code of the marks."""
    texts = "\n".join(data.values())
    digest = sha256(texts.encode(errors="replace")).hexdigest()
    while (mark := digest[:MARK]) in texts:  # a short text may hold its own digest
        digest = sha256(digest.encode()).hexdigest()
    return {"mark": mark} | {
        name: f"<{name} {mark}>\n{text}\n</{name} {mark}>" for name, text in data.items()
    }


# The shape of a reply, as a schema for the model, and what a reply comes to.

S = TypeVar("S", bound=msgspec.Struct)

LARGEST_READ = 200_000
"""Characters of a reply that are looked at: several times the longest that is asked for."""
PROBLEM = 300
"""Characters of what is wrong with a reply: it is told to the model too."""
_OURS = ("title", "description", "default")
"""Names and words for those who read the code: a model is told by the prompt."""
_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
"""Reasoning that a server leaves in the text: before the reply, or all of it."""


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a shape, in the form that most providers and local servers take: no
    references, no property but those named, and all of them required."""
    schema = msgspec.json.schema(shape)
    written: dict[str, Any] = _written_out(schema, schema.get("$defs", {}))
    return written


def _written_out(node: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_written_out(one, named) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _written_out(named[node["$ref"].rpartition("/")[2]], named)
    if "properties" not in node:
        return {key: _written_out(one, named) for key, one in node.items() if key not in _OURS}
    fields = {name: _written_out(one, named) for name, one in node["properties"].items()}
    return {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }


class Unusable(NamedTuple):
    kind: Fallback
    problem: str
    """In our words, for the report and for the model."""


def read_reply(reply: Reply, shape: type[S], *, most_tokens: int) -> S | Unusable:
    """The value in a reply, or what is wrong with it. Words around the object do no harm."""
    if reply.ending == "refused":
        return Unusable("refusal", "the model refused")
    if len(reply.text) > LARGEST_READ:
        told = f"it has {len(reply.text):,} characters, and {LARGEST_READ:,} are read at the most"
        return Unusable("too large", told)
    text = _THOUGHTS.sub("", reply.text, count=1) if "<" in reply.text[:PROBLEM] else reply.text
    found = Unusable("not JSON", "it has no JSON object")
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        decoded = _decoded(text[start : end + 1], shape)
        if not isinstance(decoded, Unusable):
            return decoded
        found = decoded
    if reply.ending == "cut off":
        told = f"it was cut off at its limit of {most_tokens:,} tokens: it must be much shorter"
        return Unusable("cut off", told)
    if reply.ending == "tool call":
        return Unusable("tool call", "it calls a tool, and there are none")
    if text.strip():
        return found
    thought = reply.reasoned or reply.text.strip()
    return Unusable("empty", "it has nothing but reasoning" if thought else "it is empty")


def _decoded(text: str, shape: type[S]) -> S | Unusable:
    data = text.encode(errors="replace")
    try:
        try:
            return msgspec.json.decode(data, type=shape)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # Raw line breaks and halves of characters, which others let pass.
            read = json.dumps(json.loads(data, strict=False), ensure_ascii=False)
            return msgspec.json.decode(read.encode(errors="replace"), type=shape)
    except msgspec.ValidationError as error:
        return Unusable("another shape", f"its JSON has another shape: {error}"[:PROBLEM])
    except (ValueError, RecursionError) as error:
        return Unusable("not JSON", f"its JSON cannot be read: {error}"[:PROBLEM])


# One request: made again once, with what was wrong, where the reply cannot be used.


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
    most_tokens: int
    problem: Callable[[S], str] = lambda _: ""
    """What is wrong with a reply of the right shape; empty where nothing is."""


class AskOutcome(NamedTuple, Generic[S]):
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


def prose_asked(request: Request[S]) -> Step[AskOutcome[S]]:
    """The reply, read and checked. One that cannot be used is asked for once more, with the reason;
    one that cannot be used then is none. A refusal is taken as it is."""
    ask = ask_of(request)
    problems: list[str] = []
    while True:
        outcome = AskOutcome[S](None, prompts=tuple(ask.prompt_hash.split("+")))
        try:
            reply = yield ask
        except ModelFailed as failure:
            known: tuple[Fallback, ...] = get_args(Fallback)
            outcome = outcome._replace(model=failure.name, problem=str(failure), failed=True)
            kind = next((kind for kind in known if kind and kind == failure.kind), None)
            return outcome._replace(kind=kind or "failed")
        read = read_reply(reply, request.shape, most_tokens=request.most_tokens)
        if not isinstance(read, Unusable):
            if not (problem := request.problem(read)[:PROBLEM]):
                return outcome._replace(value=read, model=reply.model)
            read = Unusable("another shape", problem)
        problems.append(f"{reply.model}: {read.problem}")
        if read.kind == "refusal" or len(problems) > 1:
            told = "; asked again, ".join(problems)
            return outcome._replace(model=reply.model, problem=told, kind=read.kind)
        ask = asked_again(ask, read.problem)


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
    prompt = prompt_named("again")
    return msgspec.structs.replace(
        first,
        prompt=f"{first.prompt}\n\n{prompt.body.substitute(problem=problem)}",
        prompt_hash=f"{first.prompt_hash}+{prompt.hash}",
    )
