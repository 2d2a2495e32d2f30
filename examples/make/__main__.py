"""Write all samples: `python examples/make`, into another folder: `python examples/make FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import attic
import ferry
import gauge
import harbor
import larder
import rowing
import spade
import swifts
import tides
from writing import json_document, json_lines

SAMPLES: dict[str, Callable[[], str]] = {
    "claude-code-long.jsonl": lambda: json_lines(harbor.record()),
    "claude-code-compacted.jsonl": lambda: json_lines(larder.record()),
    "codex.jsonl": lambda: json_lines(gauge.record()),
    "opencode.json": lambda: json_document(ferry.record()),
    "gemini-cli.json": lambda: json_document(attic.record()),
    "openai-chat.json": lambda: json_document(spade.record()),
    "anthropic.json": lambda: json_document(swifts.record()),
    "aider.chat.history.md": rowing.record,
    "swe-agent.traj": lambda: json_document(tides.record()),
}


def main(folder: Path) -> None:
    for name, made in SAMPLES.items():
        (folder / name).write_text(made(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
