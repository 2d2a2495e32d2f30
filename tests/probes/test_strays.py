"""No rendering says what no fact holds, and a changed character does not go unnoticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.facts import facts_of
from kedgeline.model import (
    AnyFact,
    Called,
    Entry,
    InstructionGiven,
    Stated,
    Summary,
)
from kedgeline.pipeline.handoff import asked, unheld, verify
from kedgeline.pipeline.read import read
from kedgeline.probes import Shown, answer, answers, strays
from kedgeline.summary import Standing, build, entries_of, handoff, parse, render
from kedgeline.summary.state import Item
from tests.conftest import EXAMPLES
from tests.probes.facts import NO_LIMIT, facts, size

SAMPLES = sorted(
    path.name
    for path in EXAMPLES.iterdir()
    if path.suffix not in (".md", ".py") and not path.is_dir()
)
ROOMS = (0, 200, 700, 2_000, NO_LIMIT)
STANDINGS: tuple[Standing, ...] = ("here", "beside", "later")
ENTRY = Entry(section="Files Modified", text="a.py", turns=(3,), action="created", detail="x [t3]")


def told(text: str, state: Summary, standing: Standing = "here") -> list[Entry]:
    return list(unheld(state, entries_of(text), standing))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_rendering_of_a_sample_has_a_stray(name: str) -> None:
    transcript = read(EXAMPLES / name)
    state = build(facts_of(transcript), through=transcript.turns[-1].index)
    for standing in STANDINGS:
        for room in ROOMS:
            text = handoff(state, room, size, standing=standing)
            assert told(text, state, standing) == [], (room, standing)


@settings(max_examples=60)
@given(facts, st.integers(0, 1_500), st.sampled_from(STANDINGS))
def test_no_rendering_has_a_stray(found: list[AnyFact], room: int, standing: Standing) -> None:
    state = build(found)
    assert told(handoff(state, room, size, standing=standing), state, standing) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(ENTRY, text="b.py"),
        replace(ENTRY, action="modified"),
        replace(ENTRY, detail="y [t3]"),
        replace(ENTRY, turns=(4,)),
        replace(ENTRY, section="Index"),
    ],
)
def test_whatever_is_different_is_a_stray(other: Entry) -> None:
    assert list(strays([ENTRY], [ENTRY])) == []
    assert list(strays([other, ENTRY], [ENTRY])) == [other]
    assert list(strays([ENTRY], [])) == [ENTRY]


def test_a_line_that_somebody_added_is_a_stray() -> None:
    state = build([InstructionGiven(turn=0, by="user", text="never push")])
    text = handoff(state, NO_LIMIT, size)
    added = text.replace('- "never push" [t0]', '- "never push" [t0]\n- "always push" [t0]')
    verdict = verify(state, added, asked(state, 0))
    assert verdict.strays[0] == 'Standing Instructions: "always push"'
    assert verdict.score == 1.0
    assert not verdict.accepted


def test_an_entry_under_another_heading_is_a_stray() -> None:
    state = build([InstructionGiven(turn=0, by="user", text="never push")])
    text = handoff(state, NO_LIMIT, size)
    moved = text.replace(
        '## Standing Instructions\n- "never push" [t0]', "## Standing Instructions\nN/A"
    )
    moved = moved.replace("## Current State\nN/A", '## Current State\n- "never push" [t0]')
    verdict = verify(state, moved, asked(state, 0))
    assert verdict.strays[0] == 'Current State: "never push"'
    assert [one.probe.matter for one in verdict.critical_failures] == ["rule"]


@pytest.mark.parametrize("room", [700, NO_LIMIT])
def test_an_entry_that_is_gone_or_told_twice_is_noticed(room: int) -> None:
    """A text says how many entries it leaves out: they have to add up."""
    transcript = read(EXAMPLES / "openai-chat.json")
    state = build(facts_of(transcript), through=transcript.turns[-1].index)
    items, left_out = parse(handoff(state, room, size))
    assert verify(state, render(items, left_out), ()).strays == ()
    for number, item in enumerate(items):
        if item.section == "Story":
            continue  # it leaves out without counting
        without = render([*items[:number], *items[number + 1 :]], left_out)
        twice = render([*items, item], left_out)
        assert verify(state, without, ()).strays, item
        assert verify(state, twice, ()).strays, item


def test_words_that_nobody_said_do_not_stand_in_the_story() -> None:
    said = Stated(turn=4, by="agent", text="The lock is stale.", where="answer")
    done = Called(turn=5, kind="run", what="ran `make test`", came="9 passed", place=1)
    state = build([said, done, Called(turn=7, kind="run", what="ran `ls`", place=1)])
    text = handoff(state, NO_LIMIT, size)
    assert told(text, state) == []
    for was, now in (("is stale", "is fresh"), ("9 passed", "8 passed"), ("[t4]", "[t5]")):
        assert "Story" in [one.section for one in told(text.replace(was, now), state)]


def changed(text: str, place: int, character: str, how: str) -> str:
    after = place if how == "insert" else place + 1
    return text[:place] + ("" if how == "delete" else character) + text[after:]


class Critic:
    """Knows one summary, and what was left unnoticed of the changes to its whole rendering."""

    def __init__(self, state: Summary, standing: Standing = "here") -> None:
        self.state, self.standing = state, standing
        self.text = handoff(state, NO_LIMIT, size, standing=standing)
        self.items = [item for item in parse(self.text)[0] if item.section != "Story"]
        self._entries = entries_of(render(self.items))
        self._asked = asked(state, NO_LIMIT, standing=standing)

    def notices(self, number: int, item: Item) -> bool:
        """Whether a changed entry is seen, where it reads different at all."""
        items = [*self.items[:number], item, *self.items[number + 1 :]]
        entries = entries_of(render(items))
        if entries == self._entries or unheld(self.state, entries, self.standing):
            return True
        before = {one.probe for one in answers(self._asked, Shown(self._entries)) if one.passed}
        return any(not answer(one, Shown(entries)).passed for one in before)


def every_change(items: list[Item]) -> Iterator[tuple[int, Item]]:
    """Each entry with its first, middle and last character changed in each way."""
    for number, item in enumerate(items):
        for place in {0, len(item.text) // 2, len(item.text) - 1}:
            for how in ("delete", "insert", "substitute"):
                yield number, item._replace(text=changed(item.text, place, "q", how))


@pytest.mark.parametrize("name", ["codex.jsonl", "gemini-cli.json", "openai-chat.json"])
def test_a_changed_character_of_a_sample_does_not_go_unnoticed(name: str) -> None:
    transcript = read(EXAMPLES / name)
    critic = Critic(build(facts_of(transcript), through=transcript.turns[-1].index))
    assert len(critic.items) >= 10
    assert [one for one in every_change(critic.items) if not critic.notices(*one)] == []


def test_without_strays_changes_would_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the tests around it: the probes alone do not see everything."""
    monkeypatch.setattr("tests.probes.test_strays.unheld", lambda *given: ())
    transcript = read(EXAMPLES / "openai-chat.json")
    critic = Critic(build(facts_of(transcript), through=transcript.turns[-1].index))
    noticed = {critic.notices(*one) for one in every_change(critic.items)}
    assert noticed == {True, False}


@settings(max_examples=150)
@given(facts.filter(bool), st.sampled_from(STANDINGS), st.data())
def test_a_changed_character_does_not_go_unnoticed(
    found: list[AnyFact], standing: Standing, data: st.DataObject
) -> None:
    critic = Critic(build(found), standing)
    assume(critic.items)
    number = data.draw(st.integers(0, len(critic.items) - 1))
    item = critic.items[number]
    row = item.section == "Files Modified"
    field = data.draw(st.sampled_from(("text", "action", "detail") if row else ("text",)))
    words = getattr(item, field)
    assume(words)
    place = data.draw(st.integers(0, len(words) - 1))
    character = data.draw(st.sampled_from("abx1é漢.- `\n"))
    how = data.draw(st.sampled_from(("delete", "insert", "substitute")))
    other: Any = {field: changed(words, place, character, how)}
    assert critic.notices(number, item._replace(**other))
