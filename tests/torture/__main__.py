"""Runs one check and says what it found, as the last line of its output."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module

from tests.torture.outcome import Skipped


def main(name: str, options: str) -> None:
    check = import_module(name if "." in name else f"tests.torture.{name}").check
    try:
        said = asdict(check(**json.loads(options)).ended())
    except Skipped as why:
        said = {"skipped": str(why)}
    sys.stdout.write(f"{json.dumps(said)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
