"""What a language model is asked, and what of its reply is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from string import Template
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from kedgeline.errors import ModelFailed
from kedgeline.model import (
    AnyFact,
    Ask,
    Decided,
    Dropped,
    Fallback,
    FileChanged,
    ModelRole,
    Reply,
    Step,
    Unfit,
    Worded,
)
from kedgeline.model.fact import standing
from kedgeline.redact import REDACTOR
from kedgeline.text.prose import cut, foreign, holds_plain, one_line, plain, unmarked, visible

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


# What a model is asked about folded turns, and what of its words is taken.
#
# Names, paths, numbers, quotes and turns must stand in what it was given, and nothing may speak
# for the user, command the reader or look like a line of ours. The rest is taken, marked as the
# model's words: its truth is not checked.

# What a model may reply. The bounds are for the schema: small models write on to the limit where
# there is none. What is beyond them is dropped here, and not the whole reply.

LINE = 200
"""Characters of one change, reason, step or question: a sentence."""
PARAGRAPH = 500
"""Characters of the intent and of the state: a few sentences."""
WORDS_PER_TOKEN = 0.5
"""Of a reply; prose has more, but JSON around short texts has less."""


def _bounded(**bounds: int) -> Meta:
    return Meta(extra_json_schema=bounds)


Line = Annotated[str, _bounded(maxLength=LINE)]
Paragraph = Annotated[str, _bounded(maxLength=PARAGRAPH)]
Number = Annotated[int, _bounded(minimum=1, maximum=99)]


class WordChange(Struct):
    file: Number
    """Its number in the list of files: a model names no paths."""
    what: Line


class Reason(Struct):
    decision: Number
    """Its number in the list of decisions."""
    why: Line


class WrittenProse(Struct):
    intent: Paragraph
    changes: Annotated[list[WordChange], _bounded(maxItems=12)]
    reasons: Annotated[list[Reason], _bounded(maxItems=8)]
    state: Paragraph
    next_steps: Annotated[list[Line], _bounded(maxItems=5)]
    questions: Annotated[list[Line], _bounded(maxItems=5)]


# What it is given: the turns as the summary tells them, the files and decisions by number, and what
# the earlier summary says of intent and state.

LISTED = 160
"""Characters of one line of a list."""
MOST_LISTED = 40
"""Lines of a list, the newest: a few times what a reply has room for."""


PLACES = ("known", "facts", "turns")
"""Of the prompt, for what is anybody's words."""


class Material(NamedTuple):
    first: int
    last: int
    """The turns it is about."""
    turns: str
    """What was said and done in them."""
    facts: str = ""
    """Files and decisions, line by line."""
    files: tuple[str, ...] = ()
    """Those of the list; the first has the number 1."""
    decisions: tuple[Decided, ...] = ()
    known: str = ""
    """What is known of intent and state already."""


def material_of(
    facts: Iterable[AnyFact], first: int, last: int, *, known: str = "", most: int = MOST_LISTED
) -> Material:
    """All but the turns themselves. Files and decisions as they stand at the end of the turns: what
    was taken back is in none."""
    most = min(most, MOST_LISTED)
    changes: dict[str, list[FileChanged]] = {}
    decided: dict[str, Decided] = {}
    for fact in facts:
        if isinstance(fact, FileChanged) and not fact.scratch:
            changes[fact.path] = [*changes.pop(fact.path, []), fact]
        elif isinstance(fact, Decided):
            decided.pop(fact.key, None)
            decided[fact.key] = fact
    left = [(path, events) for path, every in changes.items() if (events := standing(every))]
    files = left[-most:]
    decisions = [*decided.values()][-most:]
    listed = (
        ("Files changed", [_changed(path, events) for path, events in files]),
        ("Decisions", [one.decision for one in decisions]),
    )
    lines: list[str] = []
    for name, items in listed:
        numbered = (f"{n}. {cut(foreign(item), 2 * LISTED)}" for n, item in enumerate(items, 1))
        lines += [f"{name}:", *numbered] if items else []
    return Material(
        *(first, last, "", "\n".join(lines)),
        files=tuple(path for path, _ in files),
        decisions=tuple(decisions),
        known=known,
    )


def _changed(path: str, changes: Sequence[FileChanged]) -> str:
    created = any(change.action == "created" for change in changes)
    what = cut("; ".join(dict.fromkeys(one.what for one in changes if one.what)), LISTED)
    return f"{path} ({'created' if created else changes[-1].action}){what and f': {what}'}"


def request_for(material: Material, reply_tokens: int) -> Request[WrittenProse]:
    texts = {name: _sendable(getattr(material, name)) for name in PLACES}
    return Request(
        prompt="summarise",
        role="summarise",
        words=dict.fromkeys(PLACES, "") | {"words": str(int(reply_tokens * WORDS_PER_TOKEN))},
        data={name: text for name, text in texts.items() if text},
        shape=WrittenProse,
        most_tokens=reply_tokens,
    )


def _sendable(text: str) -> str:
    return unmarked(visible(text)).encode(errors="replace").decode().strip()


# What is taken of the reply, sentence by sentence.

SHOWN, SEARCHED = 120, 2_000
"""Characters of a dropped sentence that a report shows, and that are searched for secrets."""
AROUND, ENDS = "()[]{}<>,;:!?\"'“”‘’«»*…|~≈", ".,;:!?…"
COMMAND: Unfit = "a command that is not in the turns"

_MARKUP = re.compile(
    r"(?s)```|~~~|^\s*(?:#{1,6}|>)\s|</?[A-Za-z!?|][^<>]*>|\]\(|\|.*\||^\s*[\[{].*[\]}]\s*$"
)
_POINT = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
"""Of a list, before one of its items."""
_LABEL = re.compile(r"\W*(?:[A-Za-z]+[ /-]){0,3}[A-Za-z]+ ?[:：](?=\s|$)")
"""The name of a list, or of who speaks: those are ours."""
_SPEAKS = re.compile(
    r"(?i)\b(?:they|users?|customers?|clients?|managers?|reviewers?|maintainers?|teams?)\b.{0,12}"
    r"\b(?:sa(?:id|ys)|told|agree\w*|confirm\w*|decid\w+|insist\w*)\b"
    r"|\b(?:approv\w+|authori[sz]\w+|permi(?:tted|ssion)|allowed|consent\w*|waive\w*|go-ahead)\b"
    r"|\bsign(?:ed)?[ -]off\b|\bit was agreed\b|\bwithout asking\b"
    r"|\bas (?:you |they )?(?:requested|asked|instructed)\b"
)
"""Something is granted or said in somebody's name; only the record tells that, in their words."""
_WISHES = re.compile(r"(?i)\busers?\b.{0,20}\b(?:want|ask|need|request|prefer|wish)")
"""The intent alone may say what the user wants."""
_COMMANDS = re.compile(
    r"(?i)\byour?\b|\b(?:agents?|assistant|reader) (?:must|should|shall|may|is to|has to)\b"
    r"|\b(?:must|shall|forbidden|mandatory|from now on|at all times)\b"
    r"|(?:^|[:;.,]\s*|should )(?:always|never|do not|don't|please|make sure|remember)\b"
    r"|\b(?:ignor|disregard|overrid|bypass)\w*\b|\bsystem (?:prompt|message)\b"
    r"|\b(?:instructions?|rules?)\b"
)
"""Whoever reads is told what to do, or a rule is made or lifted."""
_NO_ANSWER = re.compile(
    r"(?i)\W*(?:i(?:['’]m|\s+am)\s+(?:very\s+)?(?:sorry|unable|not\s+able|an?\s+(?:ai|language))"
    r"|sorry\b|unfortunately,?\s+i\b|i\s+(?:can(?:not|['’]t)|won['’]t|do\s+not\s+have)\b|as\s+an\s+ai\b)"
)

_QUOTE = re.compile(
    r"`+([^`]+)`+|[\"“„]([^\"“”]+)[\"“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|[\"`]"
    r"|(?<![\w)])['‘]([^\s'‘’](?:[^'‘’]|(?<=\w)['’](?=\w))*)['’](?!\w)"
)
_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:=\S+)?")
_PATH = re.compile(r"(?=.*[^\W\d]).*[/\\].*|\.?[^\W_][\w-]*(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}")
_NAME = re.compile(
    r"\w*[^\W_]_+\w+|_\w+|\w*[a-z0-9][A-Z]\w*|[^\W\d_]\w*(?:(?:\.|::|->)\w+)+"
    r"|[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]*|v?\d+(?:\.\d+){2,}\S*|#\d+|[A-Z]{2,10}-\d+"
    r"|[@$]\w\S*|\S+@\S+\.\w+|[^\W\d_]+\d\w*"
)
_MEASURE = re.compile(r"\d[\d,._]*(?:st|nd|rd|th|x|k|ms?|s|h|d|[kmgt]b|px|%)?", re.IGNORECASE)
_EVERYWHERE = re.compile(r"(?i)e\.g|i\.e|and/or|yes/no|on/off|ci/cd|i/o|n/a|git\w+|\w+script|macos")
_LINES = re.compile(r"(?<=\w):\d+(?:[-:]\d+)?$|#L\d+(?:-L?\d+)?$")
_DIGITS = re.compile(r"(?<![A-Za-z\d])\d+(?:[,_]\d{3})*(?:\.\d+)*(?!\d|[A-Za-z_]\w*\d)")
NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}


class Checked(NamedTuple):
    worded: tuple[Worded, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class _Unit(NamedTuple):
    """One thing that a model says."""

    about: Literal["intent", "change", "rationale", "state", "next step", "question"]
    text: str
    most: int = LINE
    key: str = ""
    turn: int = -1
    listed: bool = True
    """Whether it is about something that was listed."""


def checked_words(prose: WrittenProse, material: Material) -> Checked:
    """What of a reply becomes part of the summary, and what does not."""
    known = _Record(f"{material.known}\n{material.facts}\n{material.turns}")
    taken: list[Worded] = []
    dropped: list[Dropped] = []
    for unit in _units(prose, material):
        unit = unit._replace(text=_POINT.sub("", unit.text.strip()))
        if not unit.text:
            continue
        if why := _unfit(unit, known):
            # as a report may show it: no secret, and no halves of characters, which no file takes
            text = REDACTOR.clean(unit.text[:SEARCHED].encode(errors="replace").decode())
            dropped.append(Dropped(text=cut(one_line(text), SHOWN), why=why))
        else:
            taken.append(
                Worded(
                    turn=material.last if unit.turn < 0 else unit.turn,
                    first=material.first if unit.turn < 0 else unit.turn,
                    about=unit.about,
                    text=one_line(unit.text),
                    key=unit.key,
                )
            )
    return Checked(tuple(taken), tuple(dropped))


def _units(prose: WrittenProse, material: Material) -> Iterator[_Unit]:
    yield _Unit("intent", prose.intent, PARAGRAPH)
    for change in prose.changes:
        listed = 0 < change.file <= len(material.files)
        path = material.files[change.file - 1] if listed else ""
        yield _Unit("change", change.what, key=path, listed=listed)
    for reason in prose.reasons:
        listed = 0 < reason.decision <= len(material.decisions)
        about = material.decisions[reason.decision - 1] if listed else None
        key, turn = (about.key, about.turn) if about else ("", -1)
        yield _Unit("rationale", reason.why, key=key, turn=turn, listed=listed)
    yield _Unit("state", prose.state, PARAGRAPH)
    yield from (_Unit("next step", step) for step in prose.next_steps)
    yield from (_Unit("question", question) for question in prose.questions)


class _Record:
    """What the model was given, in the form in which sentences are held against it."""

    def __init__(self, text: str) -> None:
        self._text = plain(text)
        self.numbers = set(_numbers(self._text))
        self.said: set[str] = set(map(plain, text.split("\n")))

    def holds(self, *parts: str) -> bool:
        """Whether one of them stands there, and not as a part of another word."""
        return any(holds_plain(self._text, plain(part)) for part in parts)

    def holds_path(self, path: str) -> bool:
        """A file by the end of its path, or a folder by its beginning, in whole names."""
        if path.startswith("/"):
            exact = re.compile(rf"(?<![\w.~-]){re.escape(plain(path))}(?!\w|[.-]\w)")
            return exact.search(self._text) is not None
        end = path.removeprefix("./")
        return self.holds(path, f"/{end}", f"\\{end}", f"{end}/", f"/{end}/")


def _unfit(unit: _Unit, record: _Record) -> Unfit | None:
    """Why it is not taken; the first reason is the one that is told."""
    text = unit.text
    if len(text) > unit.most:
        return "too long"
    visible = all(one.isprintable() or one in "\u200c\u200d\u00a0\u3000" for one in text)
    ours = foreign(text) != one_line(text) or _LABEL.match(text)
    if not visible or ours or _MARKUP.search(text):
        return "markup or control characters"
    if REDACTOR.found(text):
        return "a secret"
    if not unit.listed:
        return "about nothing that was listed"
    if _NO_ANSWER.match(text):
        return "an error message or a refusal"
    plainly = text.replace("’", "'")
    wishes = unit.about != "intent" and _WISHES.search(plainly)
    if wishes or _SPEAKS.search(plainly):
        return "speaks for the user"
    if _COMMANDS.search(plainly):
        return "gives an instruction"
    if plain(text) in record.said:
        return "said already"
    record.said.add(plain(text))
    return _unheld(text, record)


def _unheld(text: str, record: _Record) -> Unfit | None:
    """The first quote, path, name or number that is not in the record."""
    for found in _QUOTE.finditer(text):
        inner = next(filter(None, found.groups()), "").strip()
        code = found[0].startswith("`")
        if code and inner and " " not in inner:
            continue  # a name or a path, as below
        if not inner or not record.holds(inner, inner.rstrip(ENDS)):
            return COMMAND if code else "a quote that is not in the turns"
    rest = _QUOTE.sub(lambda one: f" {one[0].strip('`')} " if one[0][0] == "`" else " ", text)
    for token in rest.split():
        if why := _unheld_token(token, record):
            return why
    words = {word: value for word, value in NUMBERS.items() if word in rest.casefold().split()}
    for number in {*_numbers(rest), *words.values()} - record.numbers:
        if not record.holds(*(word for word, value in NUMBERS.items() if value == number)):
            return "a number that is not in the turns"
    return None


def _unheld_token(token: str, record: _Record) -> Unfit | None:
    word = token.strip(AROUND).rstrip(".")
    for ending in ("'s", "’s", "()"):
        word = word.removesuffix(ending)
    word = _LINES.sub("", word)
    if _FLAG.fullmatch(word):
        return None if record.holds(word) else COMMAND
    if _MEASURE.fullmatch(word) or _EVERYWHERE.fullmatch(word):
        return None
    if _PATH.fullmatch(word):
        parts = word.split("/")
        prose = len(parts) == 2 and all(one.isalpha() and record.holds(one) for one in parts)
        held = prose or record.holds_path(word)  # prose: start/stop
        return None if held else "a path that is not in the turns"
    if _NAME.fullmatch(word) and not record.holds(word, f".{word}", f"::{word}", f"@{word}"):
        return "a name that is not in the turns"
    return None


def _numbers(text: str) -> Iterator[str]:
    for found in _DIGITS.findall(text):
        whole = found.replace(",", "").replace("_", "")
        yield whole if "." in whole else whole.lstrip("0") or "0"
