"""Only the user speaks as the user: what a tool, a page, a server or a client's wrapper holds is no
rule, request, decision, step, pin or word of theirs, whichever format it is read from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kedgeline.formats.agents.claude_code
import kedgeline.formats.pieces
import kedgeline.model.catalogue
import kedgeline.text.prose
from kedgeline.formats import format_names
from kedgeline.model import ToolCall
from tests.injection.files import FILES
from tests.injection.payloads import payloads
from tests.injection.voices import CHANNELS, EVERY, run

LISTS = {"pydantic-ai", "agent-framework", "ai-sdk", "bedrock", "haystack", "llama-index"}
"""Formats of lists in a framework's memory: no client writes files of them."""
SAMPLE = 2
"""Texts of each channel in the normal run; every format and every channel has others."""


def test_every_format_has_files_here() -> None:
    assert set(FILES) == set(format_names()) - LISTS
    assert len(EVERY) >= 100


@pytest.mark.parametrize("name", FILES)
def test_a_text_of_others_is_nobodys_word_in_any_format(name: str) -> None:
    plain = [one for one in payloads() if one.disguise == "_plain"]
    first = list(FILES).index(name) * len(CHANNELS) * SAMPLE
    wrong = []
    for number, channel in enumerate(CHANNELS):
        at = (first + number * SAMPLE) % len(plain)
        wrong += run(name, channel, [*plain, *plain][at : at + SAMPLE])[1]
    assert wrong == []


@pytest.mark.torture
@pytest.mark.parametrize("name", FILES)
def test_nor_any_of_more_than_a_hundred(name: str) -> None:
    assert [one for channel in CHANNELS for one in run(name, channel, EVERY)[1]] == []


def believes_words(output: str, call: ToolCall | None, beside: object) -> str:
    return output


def closed_first(text: str, tag: str, start: int) -> int:
    found = text.find(f"</{tag}>", start)
    return found if found < 0 else found + len(tag) + 3


HOLES: dict[str, tuple[object, str, object, str, str, str]] = {
    "words alone prove a refusal": (
        kedgeline.formats.agents.claude_code,
        "words_of_client",
        believes_words,
        "claude-code",
        "forged refusal",
        "rules",
    ),
    "a wrapper ends at the first closing tag": (
        kedgeline.formats.pieces,
        "_closed",
        closed_first,
        "openai-chat",
        "wrapper",
        "requests",
    ),
    "a server keeps the client's list": (
        kedgeline.model.catalogue,
        "OWN_VERBS",
        (),
        "anthropic",
        "server's tool",
        "next steps",
    ),
    "a client's tag is not spelt otherwise": (
        kedgeline.text.prose,
        "_CLIENTS",
        (),
        "claude-code",
        "commit message",
        "hand-off",
    ),
}


@pytest.mark.parametrize("hole", HOLES)
def test_a_hole_that_is_opened_again_is_found(hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, wrong, format, channel, where = HOLES[hole]
    forgotten: tuple[Callable[[], None], ...] = (
        kedgeline.model.catalogue._row.cache_clear,
        kedgeline.text.prose.foreign.cache_clear,
    )
    monkeypatch.setattr(place, name, wrong)
    for forget in forgotten:
        forget()
    found = run(format, channel, EVERY[::2])[1]
    monkeypatch.undo()
    for forget in forgotten:
        forget()
    assert where in {one.where for one in found}
