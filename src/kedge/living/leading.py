"""A host that goes on with our view sends it back: what is ours in it is not taken for said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kedge.formats import Written, is_provider
from kedge.living.alignment import Said, said
from kedge.model import PINNED_TAG, SUMMARY_TAG

Shown = Callable[[str], Written]
"""The view of the session for a provider."""
OURS = tuple(
    f"{before}<{tag}>"
    for tag in (SUMMARY_TAG, PINNED_TAG)
    for before in ("", "<system-reminder>\n")
)
"""How a message begins that leads a view, as writers write notes."""


def without_lead(found: list[Said], format: str, shown: Shown) -> list[Said]:
    """The messages behind a view of ours; the list as it is where it does not begin with one.

    A list that is the view as it is now, and more, goes on behind it. Of another the lead alone is
    left out: what was kept is known by its content."""
    if not found or not _is_lead(found[0]):
        return found
    if is_provider(format):
        written = [one.id for one in said(shown(format).messages) if not one.is_system]
        given = [one.id for one in found[: len(written)]]
        if given == written[: len(given)]:
            return found[len(written) :]
    return found[1:]


def _is_lead(one: Said) -> bool:
    return one.message.get("role") == "user" and any(
        text.lstrip().startswith(OURS) for text in _texts(one.message)
    )


def _texts(message: Any) -> list[str]:
    """The texts of a message, whatever the provider calls its blocks."""
    found: list[str] = []
    for field in ("content", "parts"):
        content = message.get(field)
        blocks = content if isinstance(content, list) else [content]
        texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
        found += [text for text in texts if isinstance(text, str)]
    return found
