"""The mark in files that are ours as a whole: by it they are known, and whether a person changed
them since."""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import sha256

from kedge.integrations.hosts.pieces import OwnFile

LENGTH = 12
"""Characters of the code: nobody writes a text that has it by chance."""


def marked(file: OwnFile, text: str) -> str:
    """The text with our mark."""
    rest = text.removeprefix(file.opening)
    line = f"{file.comment} kedge install {_code(text)}{file.ending}\n"
    return f"{text[: len(text) - len(rest)]}{line}{rest}"


def is_ours(file: OwnFile, found: str, plugin: Collection[str] = ()) -> bool:
    """Whether a file has our mark and is as we wrote it, or is one of the plugin, which has none;
    but for the ends of its lines."""
    text = found.replace("\r\n", "\n")
    line = rf"^{re.escape(file.comment)} kedge install ([0-9a-f]{{12}}){re.escape(file.ending)}\n"
    mark = re.search(line, text, re.MULTILINE)
    if not mark:
        return text in plugin
    return _code(text[: mark.start()] + text[mark.end() :]) == mark[1]


def reduces(file: OwnFile, found: str) -> bool:
    """Whether a file of ours, of whichever kedge, is the one that reduces tool outputs."""
    only = set(file.reducing.splitlines()) - set(file.text.splitlines())
    return bool(only) and only <= set(found.splitlines())


def _code(text: str) -> str:
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:LENGTH]
