"""The mark in files that are ours as a whole: by it they are known, and whether a person changed
them since."""

from __future__ import annotations

import re
from hashlib import sha256

from kedge.integrations.hosts.pieces import OwnFile

LENGTH = 12
"""Characters of the code: nobody writes a text that has it by chance."""
_MARK = re.compile(r"^(?:#|//) kedge install ([0-9a-f]{12})\r?\n", re.MULTILINE)


def marked(file: OwnFile, text: str) -> str:
    """The text with our mark, where the format has comments."""
    if not file.comment:
        return text
    rest = text.removeprefix(file.opening)
    line = f"{file.comment} kedge install {_code(text)}\n"
    return f"{text[: len(text) - len(rest)]}{line}{rest}"


def is_ours(file: OwnFile, found: str) -> bool:
    """Whether a file has our mark and is as we wrote it, but for the ends of its lines."""
    if not file.comment:
        return file.sign in found
    mark = _MARK.search(found)
    return mark is not None and _code(_MARK.sub("", found, count=1)) == mark[1]


def _code(text: str) -> str:
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:LENGTH]
