"""What a person does to a file between the installation and its end: all of theirs stays."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

from kedge.integrations.hosts.launch import Launch
from kedge.integrations.installing import documents, editing
from kedge.integrations.installing.documents import Document, Malformed, Node, parsed
from kedge.integrations.installing.merging import merged
from kedge.integrations.installing.removing import without
from tests.integrations.install.wanted import LAUNCH, OTHERS, plain, settings, texts

few = tried(max_examples=25)
many = tried(max_examples=4_000)
WANTED = settings()
MOVED = settings(Launch(("/usr/lib/new/kedge",)))
STARTS = {LAUNCH.words[0], "/usr/lib/new/kedge"}
GAPS = ["", " ", "\n", "\r\n", "/* c */", "// c, }\n", " // c\r\n\t", "/* a\n b */"]
"""What may stand between a person's entry and its neighbours."""


def is_kedge(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and command.split(" ")[0] in STARTS


def without_kedge(value: Any) -> Any:
    """What a document says without kedge, by dictionaries alone; what is empty then is left out."""
    made = json.loads(json.dumps(value or {}))
    if is_kedge(made.get("statusLine")):
        del made["statusLine"]
    events: dict[str, Any] = {}
    for event, groups in made.pop("hooks", {}).items():
        kept = [_group(group) for group in groups] if isinstance(groups, list) else groups
        events[event] = [group for group in kept if group is not None]
    hooks = {event: groups for event, groups in events.items() if groups}
    return {**made, "hooks": hooks} if hooks else made


def _group(group: Any) -> Any:
    """Nothing for a group that has only handlers of kedge."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list) or not any(is_kedge(one) for one in handlers):
        return group
    others = [one for one in handlers if not is_kedge(one)]
    return {**group, "hooks": others} if others else None


def places(document: Document) -> list[tuple[Node, str]]:
    """Every object and list that a person may write into, and what they would write there."""
    root = document.root
    assert root is not None
    found = [(root, '"mine": {"name": "pro"}')]
    hooks = root.child("hooks")
    if hooks is None or hooks.value.kind != "object":
        return found
    found.append((hooks.value, f'"Mine": [{json.dumps({"hooks": [OTHERS]})}]'))
    for event in hooks.value.children:
        found.append((event.value, json.dumps({"hooks": [OTHERS]})))
        for group in event.value.children if event.value.kind == "array" else ():
            handlers = group.value.child("hooks") if group.value.kind == "object" else None
            if handlers and handlers.value.kind == "array":
                found.append((handlers.value, json.dumps(OTHERS)))
    return found


def changed(text: str, hand: random.Random) -> str:
    """The text with an entry of a person's, before or behind any other, on the same line or not."""
    document = parsed(text)
    container, entry = hand.choice(places(document))
    if container.kind == "object" and entry.split('"')[1] in {c.key for c in container.children}:
        return text
    written = f"{hand.choice(GAPS)}{entry}{hand.choice(GAPS)}"
    if not container.children:
        place = container.end - 1
        return f"{text[:place]}{written}{text[place:]}"
    child = hand.choice(container.children)
    if hand.random() < 0.5:
        return f"{text[: child.value.end]},{written}{text[child.value.end :]}"
    return f"{text[: child.start]}{written},{hand.choice(GAPS)}{text[child.start :]}"


def check(text: str, seed: int) -> None:
    hand = random.Random(seed)
    made = merged(text, WANTED, reduce=hand.choice([None, True])).text
    for _ in range(hand.randint(1, 3)):
        made = changed(made, hand)
    expected = without_kedge(plain(made))
    updated = merged(made, MOVED, reduce=hand.choice([None, False]), earlier=text).text
    assert without_kedge(plain(updated)) == expected
    for grown in (made, updated):
        for earlier in (None, text):
            rest = without(grown, WANTED, earlier)
            assert without_kedge(plain(rest or "")) == expected
            assert not any(start in (rest or "") for start in STARTS)


@few
@given(texts(), st.integers(0, 2**20))
def test_all_that_a_person_wrote_since_stays(text: str, seed: int) -> None:
    check(text, seed)


@pytest.mark.torture
@many
@given(texts(), st.integers(0, 2**20))
def test_thousands_of_changes_stay(text: str, seed: int) -> None:
    check(text, seed)


def swallowed() -> str:
    made = merged('{"ui": {"theme": "dark"} // mine\n}', WANTED, reduce=None).text
    return made.rstrip().removesuffix("}").rstrip() + ', "model": {"name": "pro"}\n}\n'


def test_a_comment_before_several_of_ours_does_not_swallow_what_comes_behind() -> None:
    rest = without(swallowed(), WANTED, None)
    assert plain(rest or "") == {"ui": {"theme": "dark"}, "model": {"name": "pro"}}
    assert "// mine" in (rest or "")


def test_a_removal_that_loses_an_entry_is_seen_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: the end of the line behind a comment goes too."""
    text = swallowed()
    monkeypatch.setattr(editing.Layout, "_begin", lambda _, span, __: span.start)
    with pytest.raises(Malformed, match="cannot be taken out alone"):
        without(text, WANTED, None)


def test_comments_and_values_in_our_entries_stay_when_they_are_brought_up_to_date() -> None:
    made = merged("{}", WANTED, reduce=None).text
    mine = made.replace('"timeout": 10', '// slow here\n "timeout": 10, "note": "\\ud83d"', 1)
    mine = mine.replace('"hooks": [', '"hooks": [ // of kedge\n', 1)
    updated = merged(mine, MOVED, reduce=None).text
    assert updated == mine.replace(LAUNCH.words[0], MOVED.hooks["Stop"]["hooks"][0]["command"])


ODD = {
    "digits of another script": ('{"a": 1\u0662}', "expected ',' or '}'"),
    "a number in our entry": ('{"hooks": {"Stop": [{"hooks": [{"timeout": %s}]}]}}', "too many"),
}


@pytest.mark.parametrize(("text", "why"), ODD.values(), ids=ODD)
def test_what_python_cannot_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        merged(text.replace("%s", "1" * 5_000), WANTED, reduce=None)


def test_what_is_none_of_ours_is_not_looked_into() -> None:
    deep = "[" * 400 + "]" * 400
    for value in ("1" * 5_000, deep, '"\\ud83d"', "{}", "1e999"):
        text = f'{{\n  "mine": {value}\n}}\n'
        made = merged(text, WANTED, reduce=None).text
        assert f'"mine": {value},' in made
        assert without(made, WANTED, text) == text


@few
@given(texts())
def test_a_text_that_is_not_looked_into_has_its_entries_in_the_same_places(text: str) -> None:
    whole, part = parsed(text), parsed(text, {"hooks"})
    assert whole.root is not None
    assert part.root is not None
    assert whole.plain == part.plain
    assert whole.value(whole.root) == part.value(part.root)
    spans = [[(c.start, c.value.end, c.comma) for c in d.root.children] for d in (whole, part)]  # type: ignore[union-attr]
    assert spans[0] == spans[1]


@pytest.mark.parametrize("value", ["NaN", "[1, -Infinity]", "{'a': 1}", "[1 2]", '["\n"]', "[tru]"])
def test_what_is_wrong_is_seen_also_where_nobody_looks(value: str) -> None:
    with pytest.raises(Malformed):
        parsed(f'{{"mine": {value}}}', {"hooks"})


def test_history_beside_the_settings_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host keeps megabytes there; each of their values taken apart costs half a minute."""
    seen, real = [0], documents._Parser._value

    def counted(self: Any, depth: int, **more: Any) -> Node:
        seen[0] += 1
        return real(self, depth, **more)

    monkeypatch.setattr(documents._Parser, "_value", counted)
    text = json.dumps({"projects": {str(n): {"history": [n] * 9} for n in range(500)}}, indent=2)
    made = merged(text, WANTED, reduce=None).text
    assert merged(made, WANTED, reduce=None, earlier=text).done == ()
    assert without(made, WANTED, text) == text
    assert seen[0] < 1_000
