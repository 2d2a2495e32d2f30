"""Tests of the tests: with one safeguard taken out, the checks must find something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kedge.earlier
import kedge.facts.said.decisions
import kedge.facts.said.instructions
import kedge.facts.said.requests
import kedge.facts.session.tool_names
import kedge.formats.providers.anthropic.content
import kedge.outcomes.todos
import kedge.sentences
import kedge.summary.markdown
import kedge.summary.outcomes.lines
import kedge.summary.sections.decisions
import kedge.summary.sections.files
import kedge.viewing
from kedge.facts.said.spoken import Said, said_in
from kedge.model import Text, Transcript, Turn
from tests.injection.payloads import SEED, Payload
from tests.injection.runs import wrong_in_lines, wrong_with
from tests.injection.sessions import Session, by_agent
from tests.injection.test_corpus import PARTS, SUMMARY, batches, made

AGENT = "agent"


def same(text: str) -> str:
    return text


def all_is_said(turn: Turn) -> list[Said]:
    """Takes what tools gave back for the user's words."""
    return [*said_in(turn), *(Said(one.output) for one in turn.tool_results if one.output)]


def believes_all(transcript: Transcript) -> str:
    ours = [one for one in transcript.compactions if one.by == "kedge"]
    return kedge.viewing.unwrapped(ours[-1].summary) if ours else ""


def is_text(text: str) -> tuple[Text, ...]:
    return (Text(text=text),)


def not_served(call: object) -> bool:
    return False


RAW = [(kedge.summary.markdown, name, same) for name in ("foreign", "neutral", "without_tags")]
BUGS: dict[str, tuple[str, list[tuple[object, str, object]], str]] = {
    "the renderer passes raw text": ("name", RAW, "a tag"),
    "a closing tag is not spelt otherwise": ("name", RAW, "not closed once"),
    "tags stay in what changed in a file": (
        "file",
        [(kedge.summary.markdown, "without_tags", same)],
        "a tag",
    ),
    "marks stay in what changed in a file": (
        "file",
        [(kedge.summary.sections.files, "unmarked", same)],
        "a mark",
    ),
    "what nobody sees stays": (
        "name",
        [(kedge.sentences, "_LEFT_OUT", kedge.sentences._CONTROLS)],
        "nobody sees",
    ),
    "tool output becomes a rule": (
        "tool result",
        [(kedge.facts.said.instructions, "said_in", all_is_said)],
        "instruction",
    ),
    "a page becomes a request": (
        "web page",
        [(kedge.facts.said.requests, "said_in", all_is_said)],
        "intent",
    ),
    "a file becomes a choice": (
        "file",
        [(kedge.facts.said.decisions, "said_in", all_is_said)],
        "decision",
    ),
    "a server asks and answers for the user": (
        "tool result",
        [(kedge.facts.said.decisions, "is_served", not_served)],
        "decision",
    ),
    "a server sets the next steps": (
        "tool result",
        [(kedge.outcomes.todos, "_SERVER", kedge.outcomes.todos._BLOCKED)],
        "next step",
    ),
    "any summary is believed to be ours": (
        SUMMARY,
        [(kedge.earlier, "leading", believes_all)],
        "instruction",
    ),
    "a client's note keeps tags of ours": (
        SUMMARY,
        [(kedge.viewing, "neutral", same)],
        "a tag of ours",
    ),
    "nobody says whose decision it is": (
        AGENT,
        [(kedge.summary.sections.decisions, "WHO", {"user": "", "agent": "", "tool": ""})],
        "decision",
    ),
    "a note is read back as the user's words": (
        "name",
        [(kedge.formats.providers.anthropic.content, "said_by_user", is_text)],
        "not the user's words",
    ),
}


def through_names(batch: tuple[Payload, ...]) -> Session:
    return made("name", batch)


def every() -> Iterator[tuple[Payload, ...]]:
    """The whole corpus, from both ends: what looks most like ours stands at one of them, what
    looks most like the user at the other."""
    found = [batch for part in range(PARTS) for batch in batches(SEED, part)]
    found.sort(key=lambda batch: ("</kedge-summary>" not in batch[0].text, batch[0].number % 70))
    yield from found


def found_in(channel: str) -> Iterator[str]:
    for batch in every():
        session: Session = by_agent(batch) if channel == AGENT else made(channel, batch)
        yield from wrong_with(session, "anthropic")


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, places, expected = BUGS[bug]
    for place, name, wrong in places:
        monkeypatch.setattr(place, name, wrong)
    assert any(one in told for told in found_in(channel) for one in expected.split("|"))


def test_a_planted_bug_in_the_lines_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kedge.summary.outcomes.lines, "foreign", same)
    sessions = (make(batch) for batch in every() for make in (by_agent, through_names))
    assert any(told for session in sessions for told in wrong_in_lines(session))
