"""Texts and files that stand next to the stories."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
SUFFIX = ".txt"
"""Stored files carry it behind their own name, so that no tool takes them for code of ours."""


def text(story: str, name: str) -> str:
    """A stored text without its last line break: what a command printed, what somebody wrote."""
    return _stored(story, "texts", name).removesuffix("\n")


def file(story: str, name: str) -> str:
    """A stored file, whole: what an agent writes in the course of a story."""
    return _stored(story, "files", name)


def project(story: str) -> dict[str, str]:
    """The files of an invented project as they are when its story begins."""
    root = HERE / story / "project"
    return {
        path.relative_to(root).as_posix().removesuffix(SUFFIX): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob(f"*{SUFFIX}"))
    }


def _stored(story: str, folder: str, name: str) -> str:
    return (HERE / story / folder / f"{name}{SUFFIX}").read_text(encoding="utf-8")
