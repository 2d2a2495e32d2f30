"""A bank in a git repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kedgeline.bank.documents import read_document
from kedgeline.bank.verify import Findings, verify

LOG = "decisionLog.md"


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def commit(folder: Path, text: str, name: str = LOG) -> None:
    (folder / name).write_text(text, "utf-8")
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "--allow-empty", "-m", "words")


def checked(folder: Path, name: str = LOG) -> Findings:
    return verify([read_document(name, (folder / name).read_bytes())], {}, folder=folder)


def lost(folder: Path, name: str = LOG) -> list[str]:
    return [f.what for f in checked(folder, name).found if f.gravity == "violation"]
