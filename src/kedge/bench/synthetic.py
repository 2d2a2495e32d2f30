"""A Claude Code session of any size, invented, for measuring only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

BLOCK_TURNS = 200
"""Turns written once and repeated with new ids: writing gigabytes must not take longer than reading
them."""
MARK = b"@@@@@@@@"
"""Stands in every id of the block for the number of the repetition."""


def write_session(path: Path, size: int) -> int:
    """Write a session of at least `size` bytes; how many turns it has."""
    block = b"".join(_line(record) for turn in range(BLOCK_TURNS) for record in _turn(turn))
    repetitions = -(-size // len(block))
    with path.open("wb") as file:
        for number in range(repetitions):
            file.write(block.replace(MARK, b"%08d" % number))
    return repetitions * BLOCK_TURNS


def _turn(turn: int) -> list[dict[str, Any]]:
    """The records of one turn, with the proportions of real ones: two fifths of the bytes repeat
    the tool's output, a fifth is progress."""
    call = f"toolu_{MARK.decode()}{turn:04d}"
    path = f"/home/sam/harbor/src/berths/module_{turn % 37}.py"
    body = "\n".join(
        f"{line:>6}→    berth_{line} = assign(vessel={line * turn}, pier='{turn % 7}')"
        for line in range(1, 60 + turn % 40)
    )
    records: list[dict[str, Any]] = []
    if turn % 20 == 0:
        text = f"Now look at module {turn % 37} and make the assignment of berths fair."
        records.append(_record("user", turn, 0, {"role": "user", "content": text}))
    thinking = {
        "type": "thinking",
        "thinking": "The pier decides first. " * 8,
        "signature": "x" * 300,
    }
    use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}}
    records.append(_record("assistant", turn, 1, _message(turn, thinking)))
    records.append(_record("assistant", turn, 2, _message(turn, use)))
    records.append(_progress(turn, body))
    result = {"type": "tool_result", "tool_use_id": call, "content": body}
    answered = _record("user", turn, 4, {"role": "user", "content": [result]})
    answered["toolUseResult"] = {"type": "text", "file": {"filePath": path, "content": body}}
    records.append(answered)
    return records


def _message(turn: int, block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 1_000 * turn, "output_tokens": 200}
    return {
        "id": f"msg_{MARK.decode()}{turn:04d}",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [block],
        "usage": usage,
    }


def _record(kind: str, turn: int, step: int, message: dict[str, Any]) -> dict[str, Any]:
    return {**_common(turn, step), "type": kind, "message": message}


def _progress(turn: int, body: str) -> dict[str, Any]:
    data = {"type": "bash_progress", "output": "", "fullOutput": body[: len(body) // 2]}
    return {**_common(turn, 3), "type": "progress", "data": data}


def _common(turn: int, step: int) -> dict[str, Any]:
    return {
        "uuid": f"{MARK.decode()}-{turn:04d}-{step}",
        "parentUuid": f"{MARK.decode()}-{turn:04d}-{step - 1}" if step else "before",
        "isSidechain": False,
        "cwd": "/home/sam/harbor",
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "version": "2.1.0",
        "gitBranch": "main",
        "timestamp": f"2026-01-01T00:{turn % 60:02d}:0{step}.000Z",
    }


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"
