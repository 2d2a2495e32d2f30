"""What kedgeline makes of every session, written into a folder or compared with one made before:
shows that a change of the inside moves nothing a user sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import msgspec

from bench.corpus import Watch
from kedgeline.errors import KedgelineError
from kedgeline.model import Transcript
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.handoff import hand_on, summarize
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.read import read_all, write
from kedgeline.pipeline.view import view
from kedgeline.tokens import EXACT

ROOMS = (512, 2_048, 10_000)
WINDOWS = (8_000, 32_000, 100_000)
PROVIDERS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SHOWN = 12
"""Changed lines of a difference that are shown."""


def snapshots(folder: Path, watch: Watch) -> Iterator[tuple[str, str]]:
    """Name and text of everything that is made of the sessions below a folder."""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = path.relative_to(folder).as_posix()
        watch(name)
        try:
            transcripts = tuple(read_all(path, counter=EXACT))
        except KedgelineError as problem:
            yield f"{name}/refused", type(problem).__name__
            continue
        for number, transcript in enumerate(transcripts):
            for kind, text in _made_of(transcript):
                yield f"{name}/{number}/{kind}", text


def _made_of(transcript: Transcript) -> Iterator[tuple[str, str]]:
    yield "turns", _json(transcript.turns)
    if not transcript.turns:
        return
    summary = summarize(transcript)
    yield "facts", _json(summary)
    for room in ROOMS:
        yield f"summary-{room}", hand_on(summary, room, EXACT.count).text
    for window in WINDOWS:
        try:
            done = compact(transcript, budget_for(transcript, window), provider="anthropic")
        except KedgelineError as problem:
            yield f"plan-{window}", type(problem).__name__
            continue
        yield f"plan-{window}", _json(done.plan)
        yield f"verdict-{window}", _json(done.verdict)
        if window == WINDOWS[1]:
            seen = view(transcript, done)
            for provider in PROVIDERS:
                yield f"view-{provider}", _json(write(seen, to=provider).messages)


def _json(value: object) -> str:
    plain = msgspec.to_builtins(value, str_keys=True)
    return json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True)


def differences(new: Path, old: Path) -> dict[str, str]:
    """What differs between two folders of snapshots, by the first lines of its difference."""
    found = {}
    for name in sorted({*_names(new), *_names(old)}):
        one, other = (
            (root / name).read_text("utf-8", "surrogatepass") if (root / name).is_file() else ""
            for root in (old, new)
        )
        if one != other:
            before, now = one.split("\n"), other.split("\n")
            lines = unified_diff(before, now, "before", "now", n=0, lineterm="")
            found[name] = "\n".join(
                line[:240] for line, _ in zip(lines, range(SHOWN), strict=False)
            )
    return found


def _names(root: Path) -> Iterator[str]:
    return (one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file())
