"""Whatever a model writes: nothing is raised, nothing rewritten, nothing changed gets through."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.wording import Packet, Prose, Sources
from kedge.wording.claims import checked
from kedge.wording.shape import Change, Reason
from tests.wording.harbour import FACTS, PACKET, SAID, SOURCES, check

EXAMPLES = settings(max_examples=60)
WORDS = sorted(set(re.findall(r"[a-z]{4,}", SAID)) - {"instructs", "never", "must", "twice"})
ANY_TEXT = st.one_of(
    st.text(st.characters(codec=None), max_size=80),  # surrogates and NUL included
    st.text(
        st.sampled_from("`\"'[]()<>|#-.…!?/\\\n\t t12%$@_:;,“”‘’«»「」lamp\x00\ud800\u202e７二"),
        max_size=120,
    ),
    st.builds(lambda part, times: part * times, st.text(max_size=8), st.integers(0, 20_000)),
)
LINES = st.lists(ANY_TEXT, max_size=4)
NUMBERS = st.integers(-2, 120)


@EXAMPLES
@given(
    intent=ANY_TEXT,
    state=ANY_TEXT,
    steps=LINES,
    questions=LINES,
    changes=st.lists(st.tuples(NUMBERS, ANY_TEXT), max_size=3),
    reasons=st.lists(st.tuples(NUMBERS, ANY_TEXT), max_size=3),
    shown=ANY_TEXT,
)
def test_no_reply_makes_it_raise(
    intent: str,
    state: str,
    steps: list[str],
    questions: list[str],
    changes: list[tuple[int, str]],
    reasons: list[tuple[int, str]],
    shown: str,
) -> None:
    reply = Prose(
        intent=intent,
        changes=[Change(*one) for one in changes],
        reasons=[Reason(*one) for one in reasons],
        state=state,
        next_steps=steps,
        questions=questions,
    )
    found = checked(reply, PACKET, Sources(SAID + shown, shown, intent), FACTS, known=questions)
    for one in found.worded:
        assert one.text.isprintable()
    for lost in found.dropped:
        lost.text.encode()
        assert len(lost.text) <= 120


@st.composite
def held(draw: st.DrawFn) -> str:
    """A sentence of words of the session."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=4, max_size=9, unique=True))
    return "The " + " ".join(words) + " lamp"


@EXAMPLES
@given(text=held(), number=st.integers(100, 10**9).filter(lambda n: str(n) not in SOURCES.shown))
def test_a_number_of_its_own_is_dropped(text: str, number: int) -> None:
    assert check("state", f"{text} {number}.").worded == ()
    assert check("state", f"{text} {number:,}.").worded == ()


@EXAMPLES
@given(text=held(), name=st.from_regex(r"[a-z]{3,8}", fullmatch=True))
def test_a_path_of_its_own_is_dropped(text: str, name: str) -> None:
    for path in (f"src/beacon/{name}q.py", f"{name}q.py", f"/{name}/beacon/relay.py"):
        assert check("state", f"{text} in {path}.").worded == ()


@EXAMPLES
@given(words=st.lists(st.sampled_from(WORDS), min_size=3, max_size=6))
def test_a_quote_that_nobody_said_is_dropped(words: list[str]) -> None:
    quote = " ".join(words)
    if quote not in " ".join(SAID.split()):
        for signs in ("“”", '""', "``", "«»"):
            text = f"The relay of the lamp tells {signs[0]}{quote}{signs[1]}."
            assert check("state", text).worded == ()


@EXAMPLES
@given(texts=st.lists(held(), min_size=1, max_size=4))
def test_what_is_taken_is_written_there(texts: list[str]) -> None:
    reply = " ".join(f"{text}." for text in texts)
    for one in check("state", *(f"{text}." for text in texts)).worded:
        assert all(f"{part}." in reply for part in one.text.rstrip(".").split(". "))


def test_one_of_these_sentences_is_taken() -> None:
    """A test of the tests above: what they add is what is dropped."""
    text = "The watchdog waits seconds attempts filament lamp"
    assert check("state", f"{text}.").worded != ()
    assert check("state", f"{text} 45.").worded != ()
    assert check("state", f"{text} in relay.py.").worded != ()
    assert check("state", f"{text} “power cut”.").worded != ()


def test_a_hundred_kilobytes_of_anything_are_one_piece() -> None:
    for long in ("lamp " * 20_000, "`" * 100_000, "a.b/" * 25_000, "9," * 50_000, "\x00" * 100_000):
        for about in ("state", "next step"):
            found = checked(
                Prose(
                    intent="",
                    changes=[],
                    reasons=[],
                    state=long if about == "state" else "",
                    next_steps=[long] if about != "state" else [],
                    questions=[],
                ),
                Packet(0, 1, ""),
                SOURCES,
                FACTS,
            )
            assert found.worded == ()
            assert "too long" in {one.why for one in found.dropped}
