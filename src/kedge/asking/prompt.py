"""The words of a request, from files, and the data in it, fenced."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from string import Template
from typing import NamedTuple

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

    text = files("kedge.asking").joinpath("prompts", f"{name}.md").read_text("utf-8")
    system, _, body = text.partition("---\n")
    return Prompt(system.strip(), Template(body.strip()), sha256(text.encode()).hexdigest()[:16])


def fenced(data: Mapping[str, str]) -> dict[str, str]:
    """Each text between marks that cannot stand in it, and the code of the marks."""
    texts = "\n".join(data.values())
    digest = sha256(texts.encode(errors="replace")).hexdigest()
    mark = digest[:MARK]
    while mark in texts:  # nobody can write a text that holds its own digest, but a short one may
        digest = sha256(digest.encode()).hexdigest()
        mark = digest[:MARK]
    return {"mark": mark} | {
        name: f"<{name} {mark}>\n{text}\n</{name} {mark}>" for name, text in data.items()
    }
