"""Sessions that grow step by step: how often they are compacted, how much each compaction frees,
and whether it makes a difference how the messages arrive."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Literal, get_args

from bench.corpus import Watch
from bench.tables import Table
from kedgeline.model import Compaction, Transcript, Value
from kedgeline.planning import POLICY
from kedgeline.session.following import SeenFile, Tail
from kedgeline.session.session import Session
from kedgeline.store.sqlite import open_memory
from kedgeline.tokens import EXACT, tokens_of

Shape = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "claude-code"]
Arrival = Literal["message", "pair", "whole", "view", "file"]
"""Message by message, a call with its result, the whole list each time, the view sent back with
what is new behind it, or a session file that is followed."""
Message = dict[str, Any]

LISTS: tuple[Shape, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
ARRIVALS: tuple[Arrival, ...] = get_args(Arrival)
WINDOWS = (8_000, 16_000, 32_000, 64_000, 200_000)
OUTPUTS = (300, 3_000)
"""Tokens of what a call gives back."""
EVERY = (0, 9)
"""Steps from one request of the user's to the next; 0: only the first."""
STEPS = 400
LINE = 10
"""Tokens of one line of it. It is prose: names in it would all be facts, and what is measured here
is not how fast they are found."""
FILES = 12
"""So many files are read and edited in turn: what is known of them does not grow for ever, as what
is measured here is not how fast a large summary is made."""


class Case(Value, frozen=True):
    shape: Shape
    arrival: Arrival
    window: int
    output: int
    every: int


class Loop(Value, frozen=True):
    """What became of one session."""

    case: Case
    tokens: int
    """That came in all."""
    compactions: int
    most: int
    """Compactions that the growth of the session asks for, and one."""
    refused: int
    """Compactions that would have freed too little and were not made."""
    freed: tuple[float, ...]
    """Of each compaction the share of the context."""
    peak: float
    """The fullest the usable window was, as a share of it."""
    over_budget: int


class Loops(Value, frozen=True):
    version: str
    steps: int
    loops: tuple[Loop, ...]


def measure(
    *,
    steps: int = STEPS,
    windows: Sequence[int] = WINDOWS,
    shapes: Sequence[Shape] = LISTS,
    watch: Watch,
    processes: int | None = None,
) -> Loops:
    """One session for each case; `processes` is how many are worked on at a time."""
    cases = [
        Case(shape=shape, arrival=arrival, window=window, output=output, every=every)
        for window, output, every in product(windows, OUTPUTS, EVERY)
        for shape, arrival in _ways(shapes)
    ]
    found: list[Loop] = []
    with ProcessPoolExecutor(processes) if processes != 1 else nullcontext() as pool:
        for loop in (pool.map if pool else map)(partial(_looped, steps=steps), cases):
            found.append(loop)
            watch(f"{len(found)} of {len(cases)} sessions")
    return Loops(version=version("kedgeline"), steps=steps, loops=tuple(found))


def _ways(shapes: Sequence[Shape]) -> Iterator[tuple[Shape, Arrival]]:
    """The first shape arrives in every way, the others message by message and behind the view,
    which are the hardest."""
    yield from product(shapes[:1], ARRIVALS[:-1])
    yield from product(shapes[1:], ("message", "view"))
    yield "claude-code", "file"


def _looped(case: Case, steps: int) -> Loop:
    made: list[Compaction] = []
    usable = POLICY.usable(case.window)
    peak = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_memory("memory:", owner="")) as store,
    ):
        session = Session("loop", store, window=case.window, redactor=None)
        for _ in grown(session, case, steps, Path(folder)):
            decision = session.should_compact()
            if decision.compacts:
                made.append(session.compact())
                peak = max(peak, made[-1].tokens_before)
            elif decision.action == "warn":  # it was held back, and goes on growing
                peak = max(peak, _tokens(session.context()))
        tokens = _tokens(session.transcript())
    done = [one for n, one in enumerate(made) if one.count > (made[n - 1].count if n else 0)]
    return Loop(
        case=case,
        tokens=tokens,
        compactions=len(done),
        most=most_compactions(tokens, usable),
        refused=len(made) - len(done),
        freed=tuple(one.context_reduction for one in done),
        peak=(peak or tokens) / usable,
        over_budget=sum(one.plan.over_budget for one in done),
    )


def most_compactions(tokens: int, usable: int) -> int:
    """As many as so much growth asks for, from the target to where a compaction begins, and one."""
    return int(tokens / (usable * (POLICY.begin - POLICY.target))) + 1


def _tokens(transcript: Transcript) -> int:
    return sum(turn.tokens or tokens_of(turn, EXACT).total for turn in transcript.turns)


# How the messages arrive


def grown(session: Session, case: Case, steps: int, folder: Path) -> Iterator[None]:
    """The session after each thing that is appended to it."""
    arriving = _Arriving(session, case, folder / "session.jsonl")
    for step in range(steps):
        messages = [*asked(case, step), *STEP[case.shape](step, case.output)]
        for piece in [[one] for one in messages] if case.arrival == "message" else [messages]:
            arriving.take(piece)
            yield


class _Arriving:
    def __init__(self, session: Session, case: Case, path: Path) -> None:
        self._session, self._case, self._path = session, case, path
        self._list: list[Message] = []
        self._mark = 0
        self._seen: SeenFile | None = None

    def take(self, messages: list[Message]) -> None:
        session, arrival = self._session, self._case.arrival
        if arrival == "file":
            self._follow(messages)
        elif arrival in ("message", "pair"):
            session.append(messages, format=self._case.shape)
        else:
            if arrival == "view" and (mark := session.compaction_mark()) != self._mark:
                self._list, self._mark = [*session.view(self._case.shape).messages], mark
            self._list += messages
            session.append(self._list, format=self._case.shape)

    def _follow(self, records: list[Message]) -> None:
        with self._path.open("ab") as file:
            file.writelines(json.dumps(record).encode() + b"\n" for record in records)
        tail = Tail(self._path, self._seen, format="claude-code")
        self._seen = self._session.catch_up(tail).seen


# What is said, in the shape of each provider


def asked(case: Case, step: int) -> Iterator[Message]:
    """The request that comes before a step, where one does."""
    if step and not (case.every and step % case.every == 0):
        return
    text = f"Make the tests of module {step % FILES} pass. Never touch billing."
    if case.shape == "gemini":
        yield {"role": "user", "parts": [{"text": text}]}
    elif case.shape == "claude-code":
        yield _record("user", step, "ask", {"role": "user", "content": text})
    else:
        yield {"role": "user", "content": text}


def _call(step: int) -> tuple[str, dict[str, Any]]:
    """Two files are read, the second is edited, and tests are run."""
    path = f"src/berths/module_{(step - step % 4) % FILES}.py"
    if step % 4 == 2:
        return "Edit", {"file_path": path, "old_string": "low", "new_string": "high"}
    if step % 4 == 3:
        return "Bash", {"command": f"pytest -q tests/test_module_{step % FILES}.py"}
    return "Read", {"file_path": path if step % 4 else f"docs/pier_{step % FILES}.md"}


def _says(step: int) -> str:
    return f"Step {step}: the pier decides first, so I look at module {step % FILES}."


def _output(step: int, tokens: int) -> str:
    """About so many tokens, and other ones at each step."""
    lines = range(max(1, tokens // LINE))
    return "\n".join(f"{step + n} vessels wait, and the pier decides first" for n in lines)


def _openai_chat(step: int, tokens: int) -> list[Message]:
    name, given = _call(step)
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": f"call_{step}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": _says(step), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": _output(step, tokens)},
    ]


def _openai_responses(step: int, tokens: int) -> list[Message]:
    name, given = _call(step)
    call = {"call_id": f"call_{step}", "name": name, "arguments": json.dumps(given)}
    said = [{"type": "output_text", "text": _says(step)}]
    return [
        {"type": "message", "role": "assistant", "content": said},
        {"type": "function_call", **call},
        {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": _output(step, tokens),
        },
    ]


def _anthropic(step: int, tokens: int) -> list[Message]:
    name, given = _call(step)
    use = {"type": "tool_use", "id": f"toolu_{step}", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": _output(step, tokens)}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": _says(step)}, use]},
        {"role": "user", "content": [result]},
    ]


def _gemini(step: int, tokens: int) -> list[Message]:
    name, given = _call(step)
    call = {"functionCall": {"name": name, "args": given}}
    response = {"name": name, "response": {"output": _output(step, tokens)}}
    return [
        {"role": "model", "parts": [{"text": _says(step)}, call]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]


def _claude_code(step: int, tokens: int) -> list[Message]:
    said, answered = _anthropic(step, tokens)
    message = {**said, "id": f"msg_{step}", "model": "claude-opus-4-5"}
    return [_record("assistant", step, "say", message), _record("user", step, "tool", answered)]


def _record(kind: str, step: int, part: str, message: Message) -> Message:
    return {
        "type": kind,
        "uuid": f"{step:06d}-{part}",
        "parentUuid": None,
        "sessionId": "loop",
        "timestamp": f"2026-01-01T{step // 60:02d}:{step % 60:02d}:00.000Z",
        "cwd": "/home/sam/harbor",
        "message": message,
    }


STEP: dict[Shape, Callable[[int, int], list[Message]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "claude-code": _claude_code,
}


HEADER = (
    "window",
    "output",
    "requests",
    "sessions",
    "compactions",
    "at the most",
    "not made",
    "freed: least",
    "median",
    "peak",
    "over budget",
)


def tables(found: Loops) -> list[Table]:
    return [Table("loops", HEADER, _rows(found))]


def origin(found: Loops) -> str:
    return (
        f"kedgeline {found.version}, invented sessions of {found.steps:,} steps each, in the "
        "shapes of four providers, and as a session file that is followed."
    )


def _rows(found: Loops) -> Iterator[tuple[str, ...]]:
    """One for each kind of session, over all shapes and all ways to arrive."""
    kinds = dict.fromkeys((one.case.window, one.case.output, one.case.every) for one in found.loops)
    for kind in kinds:
        loops = [
            one for one in found.loops if kind == (one.case.window, one.case.output, one.case.every)
        ]
        window, output, every = kind
        freed = [share for one in loops for share in one.freed]
        yield (
            f"{window:,}",
            f"{output:,}",
            f"one in {every} steps" if every else "one",
            str(len(loops)),
            _between([one.compactions for one in loops]),
            _between([one.most for one in loops]),
            str(sum(one.refused for one in loops)),
            f"{min(freed):.0%}" if freed else "–",
            f"{median(freed):.0%}" if freed else "–",
            f"{max(one.peak for one in loops):.0%}",
            str(sum(one.over_budget for one in loops)),
        )


def _between(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least}–{most}"
