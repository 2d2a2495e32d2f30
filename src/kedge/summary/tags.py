"""Text that cannot close the tag around a summary."""

from __future__ import annotations

import re

_TAG = re.compile(r"(< ?/? ?kedge)-(?=summary)", re.IGNORECASE)


def neutral(text: str) -> str:
    return _TAG.sub(r"\1_", text)
