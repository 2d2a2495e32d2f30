"""Compactors side by side: ours, those of other packages, and any that is given as a command, each
with the same messages and the same room."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench import conformance, outcomes, questions, recall
from bench.corpus import SEED, Mean, Watch, fingerprint, mean_of
from bench.pictures import Picture
from bench.plots import SHARES, Dot, panels
from bench.replay.measuring import OWN, UNLIMITED, Replay
from bench.replay.measuring import measure as replay_of
from bench.replay.methods import RECORDED, Given, Latest, head_and_tail, last_turns, masking
from bench.replay.methods import Method as Replayed
from bench.replay.names import tail
from bench.tables import Table, with_interval
from kedgeline.errors import UserError
from kedgeline.model import Transcript, Value
from kedgeline.pipeline.handoff import hand_on, summarize
from kedgeline.pipeline.read import read, write
from kedgeline.pipeline.view import wrapped
from kedgeline.tokens import EXACT

OURS = "kedgeline"
SHAPE = "openai-chat"
"""Of the messages that every method is given."""
ROOMS = (questions.HOST, 5_000)
REPLAYED = 2_048
TALK = 0.20
"""Of the characters of a session of compaction-conformance-kit."""
ROUNDS = 5
"""Compactions in a row that a rule must live through."""
PATIENCE = 300
"""Seconds for one text."""
RULES = (
    "Never edit files below vendor/.",
    "Always run `make check` before you commit.",
    "Do not push to main, whatever happens.",
    "Keep every public function documented.",
    "Use tabs in the Makefile and nowhere else.",
    "Never print a customer's address.",
    "Answer in English, also where I write German.",
    "Do not add a dependency without asking me.",
)
"""Invented; each is said once, in the user's words of some turn."""
PROGRAM = Path(__file__).with_name("others.py")
ENVIRONMENTS = Path(__file__).parents[1] / ".adapters"

Messages = list[dict[str, Any]]


class Method(NamedTuple):
    """A way to make a text of messages, in so many tokens about."""

    name: str
    text: Callable[[Messages, int], str]
    origin: str = "a few lines of this benchmark"
    tries: int = 3
    """How often it is asked for less, before what is too much is cut off its beginning."""


class Package(NamedTuple):
    method: str
    """As `others.py` calls it."""
    environment: str
    requirement: str
    what: str


PACKAGES = (
    Package("langchain", "common", "langchain", "ClearToolUsesEdit"),
    Package("deepagents", "deepagents", "deepagents", "arguments and outputs cut, newest messages"),
    Package(
        "harness", "harness", "pydantic-ai-harness", "ClearToolResults, SlidingWindowCompaction"
    ),
    Package("haystack", "haystack", "haystack-ai", "ToolResultPruning-, SlidingWindowCompactor"),
    Package("headroom", "headroom", "headroom-ai", "compress without its language model"),
)


# Methods.


def _ours(messages: Messages, tokens: int) -> str:
    return hand_on(summarize(_session(messages)), tokens, EXACT.count).text


def _session(messages: Messages) -> Transcript:
    return read(json.dumps({"messages": messages}).encode(), counter=None)


def _of_turns(make: Callable[[Transcript, int], str]) -> Callable[[Messages, int], str]:
    return lambda messages, tokens: make(_session(messages), tokens)


def _command(words: str) -> Callable[[Messages, int], str]:
    """A submission: the command writes the text to stdout."""
    if "{file}" not in words or "{tokens}" not in words:
        raise UserError(f"--method {words!r} must have {{file}} and {{tokens}} in it")

    def text(messages: Messages, tokens: int) -> str:
        with TemporaryDirectory() as place:
            file = Path(place, "session.json")
            file.write_text(json.dumps({"messages": messages}), "utf-8")
            given = {"{file}": str(file), "{tokens}": str(tokens)}
            asked = [given.get(word, word) for word in shlex.split(words)]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise UserError(f"{words}: {done.stderr.strip()[-300:] or 'it failed'}")
        return done.stdout

    return text


def _served(package: Package, stack: ExitStack) -> Callable[[Messages, int], str]:
    """A process in the package's environment that is asked again and again."""
    python = ENVIRONMENTS / package.environment / "bin" / "python"
    process = stack.enter_context(
        subprocess.Popen(
            [python, PROGRAM, package.method],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    stack.callback(process.kill)
    assert process.stdin is not None
    assert process.stdout is not None
    ask, hear = process.stdin, process.stdout

    def text(messages: Messages, tokens: int) -> str:
        ask.write(json.dumps({"messages": messages, "tokens": tokens}) + "\n")
        ask.flush()
        if not (line := hear.readline()):
            raise UserError(f"{package.method} ended; try it alone: {python} {PROGRAM.name}")
        told: str = json.loads(line)
        return told

    return text


def methods(commands: Sequence[str], stack: ExitStack) -> Iterator[Method]:
    """Those that are here; a package whose environment is not there is left out."""
    yield Method(OURS, _ours, f"kedgeline {version('kedgeline')}")
    for words in commands:
        yield Method(words, _command(words), "submitted", tries=1)
    yield Method("last turns", _of_turns(last_turns))
    yield Method("head and tail", _of_turns(head_and_tail))
    yield Method("masking", _of_turns(masking))
    for package in PACKAGES:
        if pinned := _version(package):
            origin = f"{package.requirement} {pinned}: {package.what}"
            yield Method(package.method, _served(package, stack), origin)


def _version(package: Package) -> str:
    place = ENVIRONMENTS / package.environment
    name = package.requirement.replace("-", "_")
    found = next(place.glob(f"lib/python3*/site-packages/{name}-*.dist-info"), None)
    return found.name.removeprefix(f"{name}-").removesuffix(".dist-info") if found else ""


class Fitted:
    """A method held to its room: asked for less where its text is too long, then cut."""

    def __init__(self, method: Method) -> None:
        self.name, self._text, self._tries = method.name, method.text, method.tries
        self.seconds: list[float] = []
        self.cut = 0
        """Texts that had to be cut."""
        self._messages = Latest[Messages](lambda session: write(session, to=SHAPE).messages)

    def of(self, session: Transcript, tokens: int) -> str:
        return self.text(self._messages.of(session), tokens)

    def text(self, messages: Messages, tokens: int) -> str:
        began, asked = time.monotonic(), tokens
        for _ in range(self._tries):
            text = self._text(messages, asked)
            size = EXACT.count(text)
            if size <= tokens:
                break
            asked = max(1, int(asked * tokens / size))
        else:
            self.cut += 1
            text = tail(text, tokens)
        self.seconds.append(time.monotonic() - began)
        return text


# Measures.


class Told(Value, frozen=True):
    """What one method came to."""

    method: str
    origin: str
    milliseconds: float
    """Of a text, the middle one; for a command with its start."""
    cut: int
    texts: int
    means: dict[str, Mean | None]
    """By measure."""
    talk: conformance.Survived | None = None


class Public(Value, frozen=True):
    version: str
    fingerprint: str
    seeds: tuple[int, ...]
    minutes: float
    told: tuple[Told, ...]
    """Ours, those of others, and the hosts' own summaries, which were not asked for."""
    replay: Replay
    recall: recall.Recall
    outcomes: outcomes.Outcomes


def measure(
    corpus: Path,
    folder: Path,
    *,
    commands: Sequence[str] = (),
    seeds: Sequence[int] = (1, 2, 3),
    sheets: Path | None = None,
    watch: Watch,
) -> Public:
    """`folder` has the questions; `sheets` is where texts for readers are written."""
    began = time.monotonic()
    with ExitStack() as stack:
        every = list(methods(commands, stack))
        fitted = [Fitted(one) for one in every]
        seen = questions.Sheets(sheets).write if sheets else None
        asked = questions.measure(folder, watch=watch, texts=_texts(fitted), seen=seen).texts
        talks = {one.name: _talk(one, seeds, watch) for one in fitted}
        cases = questions.cases_in(folder)
        rules = {one.name: _rules(one, cases, seeds, watch) for one in fitted}
        replayed = replay_of(
            corpus,
            budgets=(REPLAYED,),
            compared=_replayed(fitted),
            places=("boundary",),
            watch=watch,
        )
        after = outcomes.measure(corpus, {one.name: one.of for one in fitted}, watch=watch)
        told = [
            Told(
                method=one.name,
                origin=one.origin,
                milliseconds=1_000 * median(made.seconds),
                cut=made.cut,
                texts=len(made.seconds),
                means={**_answered(asked, one.name), "rules": rules[one.name]},
                talk=talks[one.name],
            )
            for one, made in zip(every, fitted, strict=True)
        ]
    means = {"hosted": _share(asked, questions.RECORDED)}
    host = Told(questions.RECORDED, "as recorded", 0, 0, len(cases), means)
    return Public(
        version=version("kedgeline"),
        fingerprint=fingerprint(corpus),
        seeds=tuple(seeds),
        told=(*told, host),
        replay=replayed,
        recall=recall.measure(folder, sizes=(), watch=watch),
        outcomes=after,
        minutes=(time.monotonic() - began) / 60,
    )


def _texts(fitted: Sequence[Fitted]) -> Callable[[questions.Case], questions.Texts]:
    def texts(case: questions.Case) -> questions.Texts:
        session = questions.window_of(case)
        texts = {questions.RECORDED: case.recorded} if case.recorded else {}
        for one in fitted:
            for room in ROOMS:
                texts[_at(one.name, room)] = one.of(session, room or case.room)
        return texts

    return texts


def _at(name: str, room: int) -> str:
    return f"{name}, {questions.label(room)}"


def _answered(asked: Sequence[questions.Answered], name: str) -> dict[str, Mean | None]:
    own, longer = (_at(name, room) for room in ROOMS)
    return {
        "hosted": _share([one for one in asked if one.hosted], own),
        "unhosted": _share([one for one in asked if not one.hosted], own),
        "longer": _share(asked, longer),
    }


def _share(asked: Sequence[questions.Answered], text: str) -> Mean | None:
    return mean_of(
        (one.case, float(len(one.answered)), len(one.questions))
        for one in asked
        if one.text == text
    )


def _talk(fitted: Fitted, seeds: Sequence[int], watch: Watch) -> conformance.Survived:
    watch(f"{fitted.name}: talk")

    def text(told: Sequence[Any], tokens: int, again: bool) -> str:
        messages = [
            {"role": "user", "content": wrapped(one.text)}
            if again
            else {"role": one.role, "content": one.text}
            for one in told
        ]
        return fitted.text(messages, tokens)

    made = {fitted.name: lambda: conformance.Compactor(text)}
    return next(conformance.scored(made, TALK, seeds))


def _rules(
    fitted: Fitted, cases: Sequence[questions.Case], seeds: Sequence[int], watch: Watch
) -> Mean | None:
    """Real sessions with rules said in them, compacted again and again as they go on: what is
    handed on is all that the next round has of what came before."""
    parts = []
    for case in cases:
        watch(f"{fitted.name}: rules, {case.name}")
        whole = write(questions.window_of(case), to=SHAPE).messages
        for seed in seeds:
            messages = _planted(whole, random.Random(f"{case.name} {seed}"))
            text = ""
            for part in _parts(messages):
                lead = [{"role": "user", "content": wrapped(text)}] if text else []
                text = fitted.text([*lead, *part], REPLAYED)
            parts.append((case.name, float(sum(rule in text for rule in RULES)), len(RULES)))
    return mean_of(parts)


def _parts(messages: Messages) -> Iterator[Messages]:
    """About as long ones; results stay with their calls."""
    begin = 0
    for number in range(1, ROUNDS + 1):
        end = len(messages) * number // ROUNDS
        while end < len(messages) and messages[end]["role"] == "tool":
            end += 1
        if end > begin:
            yield messages[begin:end]
        begin = end


def _planted(messages: Messages, chance: random.Random) -> Messages:
    """Each rule in a message of its own before an answer: never between a call and its result."""
    places = [n for n, one in enumerate(messages) if one["role"] == "assistant"]
    planted = list(messages)
    chosen = sorted(chance.choices(places or [0], k=len(RULES)), reverse=True)
    for place, rule in zip(chosen, chance.sample(RULES, len(RULES)), strict=True):
        planted.insert(place, {"role": "user", "content": rule})
    return planted


def _replayed(fitted: Sequence[Fitted]) -> list[Replayed]:
    def method(one: Fitted) -> Replayed:
        return Replayed(one.name, "budget", lambda of: one.of(of.session, of.tokens))

    def everything(of: Given) -> None:
        return None

    def recorded(of: Given) -> str:
        return of.recorded

    known = [
        Replayed("no compaction", "none", everything),
        Replayed(RECORDED, "recorded", recorded),
    ]
    return [*known, *map(method, fitted)]


# Tables, and a picture of them.

METHODS = ("method", "version and what is asked of it", "ms a text", "texts cut to their room")
MEASURES = {
    "hosted": "at the length of the host's summary",
    "unhosted": "sessions without one, 2,048 tokens",
    "longer": "all, 5,000 tokens",
    "rules": "rules after five compactions",
}
ANSWERED = ("questions answered", *list(MEASURES.values())[:3])
SURVIVES = ("after five compactions", "rules", "talk", "old values that stand")
NEEDED = {
    "names": ("needed names", ".2f"),
    "commands": ("commands run again", ".2f"),
    "request": ("last request", ".2f"),
    "files_f1": ("file and action, F1", ".2f"),
    "task_tokens": ("tokens per finished task", ",.0f"),
    "task_ratio": ("of no compaction", ".3f"),
}
REPLAY = ("text", *(name for name, _ in NEEDED.values()))


def tables(found: Public) -> list[Table]:
    did = outcomes.rows(found.outcomes.measured, ".1f")
    stood = outcomes.rows(found.outcomes.stood, ".2f")
    return [
        Table("public-methods", METHODS, method_rows(found), ""),
        Table("public-questions", ANSWERED, question_rows(found), ""),
        Table("public-surviving", SURVIVES, surviving_rows(found), ""),
        Table("public-replay", REPLAY, replay_rows(found), ""),
        Table("public-recall", recall.HEADER, list(recall.rows(found.recall))[:3], ""),
        Table("public-did", outcomes.DID, did, ""),
        Table("public-stood", outcomes.STOOD, stood),
    ]


def method_rows(found: Public) -> Iterator[tuple[str, ...]]:
    for one in found.told:
        yield (one.method, one.origin, f"{one.milliseconds:,.0f}", f"{one.cut} of {one.texts}")


def question_rows(found: Public) -> Iterator[tuple[str, ...]]:
    for one in found.told:
        yield (one.method, *(with_interval(one.means.get(name)) for name in list(MEASURES)[:3]))


def surviving_rows(found: Public) -> Iterator[tuple[str, ...]]:
    for one in found.told:
        if talk := one.talk:
            old = f"{talk.stale} of {talk.updates}"
            yield (one.method, with_interval(one.means["rules"]), f"{talk.survived:.0%}", old)


def replay_rows(found: Public) -> Iterator[tuple[str, ...]]:
    for group in found.replay.groups:
        if group.budget in (OWN, UNLIMITED):
            for one in group.methods:
                cells = (with_interval(one.means.get(at), NEEDED[at][1]) for at in NEEDED)
                yield (one.method, *cells)


def picture(found: Public) -> Picture:
    dots = [
        Dot(panel, one.method, mean.mean, mean.low, mean.high)
        for panel, name in ((MEASURES[name], name) for name in ("hosted", "longer", "rules"))
        for one in found.told
        if (mean := one.means.get(name)) is not None
    ]
    title = "Questions answered, and rules that survive"
    made = panels(dots, SHARES, title=title, subtitle=["Lines are 95 % intervals over sessions."])
    return Picture("public", f"{title}, by method and room.", made)


def origin(found: Public) -> str:
    return (
        f"kedgeline {found.version}, {found.minutes:,.0f} minutes. In brackets 95 % intervals "
        f"over sessions; seeds {', '.join(map(str, found.seeds))} for what is planted, {SEED} for "
        f"intervals. Corpus: sha256 `{found.fingerprint}`."
    )
