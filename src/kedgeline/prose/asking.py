"""A structured reply asked of a language model: words from files, data fenced, one repair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from string import Template
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Fallback, ModelRole, Reply, Step

__all__ = [
    "PROBLEM",
    "Outcome",
    "Prompt",
    "Request",
    "Unusable",
    "ask_of",
    "asked",
    "asked_again",
    "fenced",
    "is_no_answer",
    "prompt_named",
    "read_reply",
    "schema_of",
]


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

    text = files("kedgeline.prose").joinpath("prompts", f"{name}.md").read_text("utf-8")
    system, _, body = text.partition("---\n")
    return Prompt(system.strip(), Template(body.strip()), sha256(text.encode()).hexdigest()[:16])


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


# Words in the place of an answer: a model's refusal, or the error of the server before it.

SHORT = 120
"""Characters of a sentence that is nothing but an error: a longer one may tell of one."""

_SORRY = r"i(?:['’]m|\s+am)\s+(?:very\s+|so\s+|really\s+)?sorry|sorry\b|i\s+apologi[sz]e"
_UNWILLING = (
    r"i\s+(?:can(?:not|['’]t|\s+not)|won['’]t|will\s+not|must\s+decline|decline)\b"
    r"|i(?:['’]m|\s+am)\s+(?:unable|not\s+able)\b"
)
_FAILED = (
    r"rate[\s_-]?limit|too\s+many\s+requests|quota\s+exceeded|insufficient[\s_-]?quota"
    r"|service\s+unavailable|bad\s+gateway|gateway\s+time[\s-]?out|overloaded"
)
_REPLY_REFUSED = re.compile(
    rf"[\s\"'*#>_`-]{{0,8}}(?:{_SORRY}|(?:unfortunately,?\s+)?(?:{_UNWILLING}|i\s+declined\b)"
    r"|as\s+an\s+ai\b)",
    re.IGNORECASE,
)
_REPLY_FAILED = re.compile(
    r"[\s\"'*#>_`\[(-]{0,8}(?:(?:api |http |internal |server |request |fatal |unexpected )*"
    r"(?:error|exception|failure|failed)\b|traceback \(most|(?:http\W{0,4})?[45]\d\d\b"
    rf"|upstream |connection |(?:request )?time[d-]? ?out|{_FAILED})",
    re.IGNORECASE,
)
_SENTENCE_REFUSED = re.compile(
    rf"\W*(?:{_SORRY}|{_UNWILLING}|my\s+apologies|as\s+an?\s+(?:ai|artificial|language|large)\b"
    r"|i['’]m\s+an?\s+(?:ai|language)|i(?:['’]m|\s+am)\s+(?:afraid|just\s+an?)\b"
    r"|i\s+(?:do\s+not|don['’]t)\s+have\s+(?:access|enough|the\s+ability|any)\b"
    r"|unfortunately,?\s+i\b|please\s+provide\b|es\s+tut\s+mir\s+leid|je\s+suis\s+désolé|lo\s+siento"
    r"|抱歉|对不起|申し訳)",
    re.IGNORECASE,
)
_SENTENCE_FAILED = re.compile(
    rf"\W*(?:error|http|status|api|code|\d{{3}}|\W)*\W*(?:{_FAILED}"
    r"|internal\s+server\s+error|internal_server_error|request\s+timed?\s?-?out|invalid[_ ]api"
    r"|(?:maximum\s+)?context\s+length|unauthorized|forbidden|an?\s+(?:unexpected\s+)?error\s+occurred"
    r"|something\s+went\s+wrong|the\s+server\s+(?:had|encountered)\s+an\s+error"
    r"|please\s+try\s+again|connection\s+(?:refused|reset|error)|upstream\s+connect\s+error)\b",
    re.IGNORECASE,
)
"""Narrower than for a reply without an object: what an answer tells of an error is no error."""


def is_refusal(reply: str) -> bool:
    """Whether a reply that has not what was asked for begins as a refusal does."""
    return _REPLY_REFUSED.match(reply) is not None


def is_error(reply: str) -> bool:
    """Whether such a reply begins as the message of an error does."""
    return _REPLY_FAILED.match(reply) is not None


def is_no_answer(sentence: str) -> bool:
    """Whether a sentence of an answer says that there is none, or is an error of whoever should
    give it."""
    return _SENTENCE_REFUSED.match(sentence) is not None or (
        len(sentence) <= SHORT and _SENTENCE_FAILED.match(sentence) is not None
    )


# The shape of a reply: as a schema for the model, and as a type for what it then writes.

S = TypeVar("S", bound=msgspec.Struct)

_OURS = ("title", "description", "default")
"""Names and words for those who read the code: a model is told by the prompt."""


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a shape, in the form that most providers and local servers take: no
    references, no property but those named, and all of them required. No shape of ours holds
    itself, so that every reference can be written out."""
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


@cache
def unbounded(shape: type[S]) -> type[S]:
    """The same shape without the bounds of its texts, numbers and lists."""
    hints = get_type_hints(shape)  # these leave out what an annotation adds to its type
    fields = [(name, _unbounded(hints[name])) for name in shape.__struct_fields__]
    made: Any = msgspec.defstruct(shape.__name__, fields, bases=(shape,))
    return made  # type: ignore[no-any-return]


def _unbounded(hint: Any) -> Any:
    if get_origin(hint) is list:
        return list[_unbounded(get_args(hint)[0])]  # type: ignore[misc]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return unbounded(hint)
    return hint


# What a reply comes to: a value of the shape that was asked for, or why it is none.

LARGEST_READ = 200_000
"""Characters of a reply that are looked at: several times the longest that is asked for."""
PROBLEM = 300
"""Characters of what is wrong with a reply: it is told to the model too."""


_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
"""Reasoning that a server leaves in the text: before the reply, or all of it."""
_PAGE = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype|html)\b", re.IGNORECASE)


class Unusable(NamedTuple):
    kind: Fallback
    problem: str
    """In our words, for the report and for the model."""
    final: bool = False
    """The model would not say anything else if it was asked again."""


def read_reply(reply: Reply, shape: type[S], *, most_tokens: int) -> S | Unusable:
    """The value in a reply, or what is wrong with it. Words around the object do no harm."""
    if reply.ending == "refused":
        return Unusable("refusal", "the model refused", final=True)
    if len(reply.text) > LARGEST_READ:
        told = f"it has {len(reply.text):,} characters, and {LARGEST_READ:,} are read at the most"
        return Unusable("too large", told)
    text = _THOUGHTS.sub("", reply.text, count=1) if "<" in reply.text[:PROBLEM] else reply.text
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        found = _decoded(text[start : end + 1], shape)
        if not isinstance(found, Unusable):
            return found
    else:
        found = Unusable("not JSON", "it has no JSON object")
    return _ended(text, reply, most_tokens) or _said(text) or found


def _ended(text: str, reply: Reply, most_tokens: int) -> Unusable | None:
    """What a reply is whose end explains that there is no object in it."""
    if not text.strip() and (reply.reasoned or reply.text.strip()):
        return Unusable("reasoning only", "it has nothing but reasoning")
    if reply.ending == "cut off":
        told = f"it was cut off at its limit of {most_tokens:,} tokens: it must be much shorter"
        return Unusable("cut off", told)
    if reply.ending == "tool call":
        return Unusable("tool call", "it calls a tool, and there are none")
    return None if text.strip() else Unusable("empty", "it is empty")


def _said(text: str) -> Unusable | None:
    """What a reply is whose words say that it is none."""
    if _PAGE.match(text):
        return Unusable("not JSON", "it is a page of HTML")
    if is_refusal(text):
        return Unusable("refusal", "the model refused, in words", final=True)
    if is_error(text):
        return Unusable("error text", "it is the message of an error")
    return None


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
        return _misshapen(data, error)
    except (ValueError, RecursionError) as error:
        return Unusable("not JSON", f"its JSON cannot be read: {error}"[:PROBLEM])


def _misshapen(data: bytes, error: msgspec.ValidationError) -> Unusable:
    if re.match(rb'\{\s*"(?:error|type"\s*:\s*"error)"', data):
        return Unusable("error text", "it is the message of an error")
    return Unusable("another shape", f"its JSON has another shape: {error}"[:PROBLEM])


# Asking a model for a structured reply: the words from files, the data fenced, one repair.

ATTEMPTS = 2
"""Replies that are looked at; who cannot do it after being told what is wrong never will."""
REPEATED = 2_000
"""Characters of a reply that cannot be used that a model is shown again."""


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
