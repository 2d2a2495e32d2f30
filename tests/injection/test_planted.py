"""Tests of the tests: with one safeguard taken out, the checks must find something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kedgeline.facts.decisions
import kedgeline.facts.requests
import kedgeline.facts.rules
import kedgeline.formats.providers.shape
import kedgeline.model.catalogue
import kedgeline.pipeline.outcomes
import kedgeline.pipeline.view
import kedgeline.summary.files
import kedgeline.summary.listing
import kedgeline.summary.markdown
import kedgeline.text.prose
from kedgeline.facts.requests import Utterance, said_in
from kedgeline.model import Text, Transcript, Turn
from tests.injection.payloads import SEED, Payload
from tests.injection.runs import wrong_in_lines, wrong_with
from tests.injection.sessions import AGENT, SUMMARY, through
from tests.injection.test_corpus import PARTS, batches


def same(text: str) -> str:
    return text


def all_is_said(turn: Turn) -> list[Utterance]:
    """Takes what tools gave back for the user's words."""
    return [*said_in(turn), *(Utterance(one.output) for one in turn.tool_results if one.output)]


def believes_all(transcript: Transcript) -> str:
    ours = [one for one in transcript.compactions if one.by == "kedgeline"]
    return kedgeline.pipeline.view.unwrapped(ours[-1].summary) if ours else ""


def is_text(text: str) -> tuple[Text, ...]:
    return (Text(text=text),)


RAW = [(kedgeline.summary.markdown, name, same) for name in ("foreign", "neutral", "without_tags")]
BUGS: dict[str, tuple[str, list[tuple[object, str, object]], str]] = {
    "the renderer passes raw text": ("name", RAW, "a tag"),
    "a closing tag is not spelt otherwise": ("name", RAW, "not closed once"),
    "tags stay in what changed in a file": (
        "file",
        [(kedgeline.summary.markdown, "without_tags", same)],
        "a tag",
    ),
    "marks stay in what changed in a file": (
        "file",
        [(kedgeline.summary.files, "unmarked", same)],
        "a mark",
    ),
    "what nobody sees stays": (
        "name",
        [(kedgeline.text.prose, "_LEFT_OUT", kedgeline.text.prose._CONTROLS)],
        "nobody sees",
    ),
    "tool output becomes a rule": (
        "tool result",
        [(kedgeline.facts.rules, "said_in", all_is_said)],
        "instruction",
    ),
    "a page becomes a request": (
        "web page",
        [(kedgeline.facts.requests, "said_in", all_is_said)],
        "intent",
    ),
    "a file becomes a choice": (
        "file",
        [(kedgeline.facts.decisions, "said_in", all_is_said)],
        "decision",
    ),
    "a server asks and answers for the user": (
        "tool result",
        [(kedgeline.model.catalogue, "OWN_VERBS", ())],
        "decision",
    ),
    "a server sets the next steps": (
        "tool result",
        [(kedgeline.model.catalogue, "OWN_VERBS", ())],
        "next step",
    ),
    "any summary is believed to be ours": (
        SUMMARY,
        [(kedgeline.pipeline.view, "leading", believes_all)],
        "instruction",
    ),
    "a client's note keeps tags of ours": (
        SUMMARY,
        [(kedgeline.pipeline.view, "neutral", same)],
        "a tag of ours",
    ),
    "nobody says whose decision it is": (
        AGENT,
        [(kedgeline.summary.listing, "WHO", {"user": "", "agent": "", "tool": ""})],
        "decision",
    ),
    "a note is read back as the user's words": (
        "name",
        [(kedgeline.formats.providers.shape, "said_by_user", is_text)],
        "not the user's words",
    ),
}


def every() -> Iterator[tuple[Payload, ...]]:
    """The whole corpus, from both ends: what looks most like ours stands at one of them, what
    looks most like the user at the other."""
    found = [batch for part in range(PARTS) for batch in batches(SEED, part)]
    found.sort(
        key=lambda batch: ("</kedgeline-summary>" not in batch[0].text, batch[0].number % 70)
    )
    yield from found


def found_in(channel: str) -> Iterator[str]:
    for batch in every():
        yield from wrong_with(through(channel, batch), "anthropic")


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, places, expected = BUGS[bug]
    for place, name, wrong in places:
        monkeypatch.setattr(place, name, wrong)
    kedgeline.model.catalogue._row.cache_clear()
    try:
        assert any(one in told for told in found_in(channel) for one in expected.split("|"))
    finally:
        monkeypatch.undo()
        kedgeline.model.catalogue._row.cache_clear()


def test_a_planted_bug_in_the_lines_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kedgeline.pipeline.outcomes, "foreign", same)
    sessions = (through(channel, batch) for batch in every() for channel in (AGENT, "name"))
    assert any(told for session in sessions for told in wrong_in_lines(session))
