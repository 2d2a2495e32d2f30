"""What of a model's sentences is taken word for word, and for which reason the others are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.model import FileChanged, Unfit
from kedgeline.pipeline.asking import (
    LINE,
    Reason,
    WordChange,
    WrittenProse,
    checked_words,
    material_of,
    request_for,
)
from tests.pipeline.harbour import MATERIAL, TURNS, check

REASONS = {
    "path": "a path that is not in the turns",
    "command": "a command that is not in the turns",
    "number": "a number that is not in the turns",
    "quote": "a quote that is not in the turns",
    "name": "a name that is not in the turns",
    "user": "speaks for the user",
    "instruction": "gives an instruction",
    "secret": "a secret",
    "markup": "markup or control characters",
    "refusal": "an error message or a refusal",
    "repeat": "said already",
    "long": "too long",
}


def rows() -> list[tuple[str, str, str]]:
    """`reason | about | text`, where no reason means that it is taken."""
    lines = Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
    cut = [line.split(" | ", 2) for line in lines if line and not line.startswith("#")]
    return [(reason.strip(), about.strip(), text) for reason, about, text in cut]


ROWS = [
    *rows(),
    ("secret", "state", "The lamp relay takes ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    ("markup", "state", "The lamp relay\x00 has a latch."),
    ("markup", "state", "The lamp relay \ud800 has a latch."),
    ("markup", "state", "The lamp \u202erelay has a latch."),
    ("long", "next step", "Describe the latch in the timetable" + ", in the timetable" * 12),
    ("long", "state", "The lamp relay has a latch" + ", and the lamp relay has a latch" * 20),
]


@pytest.mark.parametrize(("reason", "about", "text"), ROWS)
def test_a_sentence_is_taken_as_it_is_or_dropped_with_its_reason(
    reason: str, about: str, text: str
) -> None:
    found = check(about, text)
    assert [one.why for one in found.dropped] == ([REASONS[reason]] if reason else [])
    assert [one.text for one in found.worded] == ([] if reason else [text])


def test_every_reason_is_tried() -> None:
    tried = {REASONS[reason] for reason, _, _ in ROWS if reason}
    assert tried | {"about nothing that was listed"} == set(get_args(Unfit))


def test_a_change_and_a_reason_stand_at_their_matter_and_its_turns() -> None:
    (change,) = check("change", "The watchdog waits 45 seconds for the lamp.", number=2).worded
    assert (change.key, change.first, change.turn) == ("src/beacon/relay.py", 0, 9)
    (reason,) = check("rationale", "A longer delay would hide a broken filament.").worded
    assert (reason.about, reason.key, reason.turn) == ("rationale", "relay latch", 5)
    for number in (-1, 0, 4):
        (lost,) = check("change", "The watchdog waits 45 seconds.", number=number).dropped
        assert lost.why == "about nothing that was listed"


@pytest.mark.parametrize("written", ["- {}", "1. {}", "  {}\n"])
def test_marks_of_lists_are_taken_out(written: str) -> None:
    latch = "The latch keeps the relay of the lamp quiet."
    assert [one.text for one in check("state", written.format(latch)).worded] == [latch]


# What it is told.


def test_files_and_decisions_are_listed_as_they_stand_in_the_end() -> None:
    assert MATERIAL.facts.split("\n") == [
        "Files changed:",
        "1. src/beacon/controller.py (modified): relight_lamp",
        "2. src/beacon/relay.py (created)",
        "3. docs/timetable.md (modified)",
        "Decisions:",
        "1. a latch",
    ]
    made = FileChanged(turn=1, path="a.py", action="created")
    taken_back = FileChanged(turn=2, path="a.py", action="deleted", takes_back=1)
    assert material_of([made, taken_back], 0, 2).files == ()
    many = [FileChanged(turn=n, path=f"p{n}.py", action="modified") for n in range(90)]
    assert material_of(many, 0, 90, most=3).files == ("p87.py", "p88.py", "p89.py")


def test_the_request_says_how_much_may_be_replied_and_fences_all_that_is_data() -> None:
    request = request_for(MATERIAL, 500)
    assert (request.most_tokens, request.words["words"]) == (500, "250")
    assert set(request.data) == {"known", "facts", "turns"}
    assert set(request_for(MATERIAL._replace(known=""), 500).data) == {"facts", "turns"}


# Whatever a model writes.

EXAMPLES = settings(max_examples=40)
WORDS = sorted(set(re.findall(r"[a-z]{4,}", TURNS)) - {"twice", "three"})
ANY_TEXT = st.one_of(
    st.text(st.characters(codec=None), max_size=80),  # surrogates and NUL included
    st.text(
        st.sampled_from("`\"'[]()<>|#-.…!?/\\\n\t t12%$@_:,“”«»lamp\x00\ud800７二"), max_size=99
    ),
    st.builds(lambda part, times: part * times, st.text(max_size=8), st.integers(0, 20_000)),
)
LINES = st.lists(ANY_TEXT, max_size=4)
NUMBERED = st.lists(st.tuples(st.integers(-2, 120), ANY_TEXT), max_size=3)


@EXAMPLES
@given(texts=st.tuples(ANY_TEXT, ANY_TEXT), lists=st.tuples(LINES, LINES), numbered=NUMBERED)
def test_no_reply_makes_it_raise_or_puts_in_what_cannot_be_seen(
    texts: tuple[str, str], lists: tuple[list[str], list[str]], numbered: list[tuple[int, str]]
) -> None:
    changes, reasons = [WordChange(*one) for one in numbered], [Reason(*one) for one in numbered]
    found = checked_words(WrittenProse(texts[0], changes, reasons, texts[1], *lists), MATERIAL)
    assert all(one.text.isprintable() for one in found.worded)
    for lost in found.dropped:
        lost.text.encode()
        assert len(lost.text) <= LINE


@EXAMPLES
@given(
    words=st.lists(st.sampled_from(WORDS), min_size=4, max_size=9, unique=True),
    number=st.integers(100, 10**9).filter(lambda n: str(n) not in TURNS),
    name=st.from_regex(r"[a-z]{3,8}", fullmatch=True),
)
def test_numbers_paths_and_quotes_of_its_own_are_dropped(
    words: list[str], number: int, name: str
) -> None:
    text, quote = f"The {' '.join(words)} lamp", " ".join(words)
    own = [str(number), f"{number:,}", f"in src/beacon/{name}q.py", f"in /{name}/beacon/relay.py"]
    if quote not in " ".join(TURNS.split()):
        own += [f"“{quote}”", f'"{quote}"', f"`{quote}`", f"«{quote}»"]
    for one in own:
        assert check("state", f"{text} {one}.").worded == ()
