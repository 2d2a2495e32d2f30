"""Write all samples: `python examples/make`, or into another folder: `python examples/make FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import harbor
from writing import json_lines

SAMPLES: dict[str, Callable[[], str]] = {
    "claude-code-long.jsonl": lambda: json_lines(harbor.record()),
}


def main(folder: Path) -> None:
    for name, made in SAMPLES.items():
        (folder / name).write_text(made(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
