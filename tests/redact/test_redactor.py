"""One text: marks, slices, time, and what must hold for any text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedgeline.redact import REDACTOR, Redactor, all_rules
from kedgeline.redact.rules import Rule
from kedgeline.redact.scanning import OVERLAP, SLICE, Scanner, SecretSpan, merged_spans
from tests.redact.benign import FAMILIES
from tests.redact.places import PLAIN, WRAPPED, pieces, unmarked
from tests.redact.seeds import PREFIXED, private_key

RULES = all_rules()
GITHUB = PREFIXED["github"](Random(1))
FILLER = "nothing to see here, move on. "


def seeded(number: int) -> str:
    """A text with secrets among benign lines."""
    rng = Random(number)
    kind, place = rng.choice(sorted(PREFIXED)), rng.choice(sorted(PLAIN | WRAPPED))
    lines = [rng.choice(FAMILIES)(rng) for _ in range(4)]
    lines.insert(rng.randrange(4), (PLAIN | WRAPPED)[place](PREFIXED[kind](rng), rng))
    lines.insert(rng.randrange(4), next(unmarked(rng)).text)
    return "\n".join(lines)


SNIPPETS = st.sampled_from(
    [
        *(rule.prefixes[0] for rule in RULES if rule.prefixes),
        *("password=", '"token": "', "Bearer ", "://a:", "@host", "[secret: ", "token]", "]", "\n"),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "a1B2c3D4e5F6g7H8", "\\n"),
        *("Cookie: sid=", "eyJhbGciOi.eyJzdWIi", "é", "密", "\ud800", "\x00", "=", "%3D", "&sig="),
        "[secret: GitHub token]",
        GITHUB,
    ]
)
TEXTS = st.one_of(
    st.text(st.characters(codec=None)),
    st.lists(st.one_of(SNIPPETS, st.text(max_size=12))).map("".join),
    st.integers(0, 10**6).map(seeded),
)


@given(TEXTS)
@example(f"token={GITHUB}{GITHUB}")
@example("password=[secret: password]hunter2horse9")
@settings(max_examples=400)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = REDACTOR.clean(text)
    assert REDACTOR.clean(once) == once


@given(TEXTS)
def test_what_is_found_is_what_is_marked_and_the_rest_stays(text: str) -> None:
    found = REDACTOR.found(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert (REDACTOR.clean(text) == text) == (not found)
    position, once = 0, []
    for secret in found:
        assert 0 <= secret.start < secret.end <= len(text)
        once += [text[position : secret.start], f"[secret: {secret.kind}]"]
        position = secret.end
    assert REDACTOR.clean("".join([*once, text[position:]])) == REDACTOR.clean(text)


@given(st.integers(0, 10**6), st.text(st.characters(codec=None), max_size=40))
@example(0, "=012A\x81À")
@example(0, ": a1B2c3D4e5")
def test_the_text_around_a_secret_stays(number: int, around: str) -> None:
    secret = PREFIXED["anthropic"](Random(number))
    before, after = f"{around} | ", f" | {around}"
    assert REDACTOR.clean(before + secret + after) == before + "[secret: Anthropic key]" + after


def test_a_text_without_a_secret_is_given_back_itself() -> None:
    text = FILLER * 100
    assert REDACTOR.clean(text) is text


def test_brackets_around_a_secret_do_not_hide_it() -> None:
    assert GITHUB not in REDACTOR.clean(f"[secret: {GITHUB}]")


def test_a_mark_is_no_secret_of_another_redactor() -> None:
    marked = Redactor([("MY_TOKEN", "kx82!ma0-q")]).clean("token=kx82!ma0-q")
    assert marked == "token=[secret: MY_TOKEN]"
    assert REDACTOR.clean(marked) == marked


def borders() -> Iterator[int]:
    """Lengths of what stands before a secret so that it lies on the border of two slices."""
    yield from range(SLICE - 70, SLICE + 8, 3)
    yield from range(2 * SLICE - 60, 2 * SLICE + 4, 9)


def missed_on_borders() -> list[int]:
    missed = []
    for before in borders():
        text = (FILLER * (before // len(FILLER) + 1))[: before - 1] + " " + GITHUB + FILLER * 9
        if any(piece in REDACTOR.clean(text) for piece in pieces(GITHUB)):
            missed.append(before)
    return missed


def test_a_secret_on_the_border_of_two_slices_is_found() -> None:
    assert missed_on_borders() == []


def test_a_private_key_over_two_slices_is_found() -> None:
    key = private_key(Random(3))
    for before in range(SLICE - len(key), SLICE + 30, 97):
        cleaned = REDACTOR.clean("x" * before + "\n" + key + "\nend")
        assert cleaned == "x" * before + "\n[secret: private key]\nend"


def test_a_secret_that_begins_inside_another_on_a_border_is_found() -> None:
    """What reaches over the end of a slice must not hide where the next one begins."""
    rules = (Rule("first", "abc*d", hint="ab"), Rule("second", "cde+f", hint="cd"))
    data = b"cdef" + b" " * (SLICE - 8) + b"abccccdeef" + b" " * SLICE
    spans, reached = Scanner(rules).find(data, lambda: False)
    assert reached == len(data)
    assert merged_spans(spans, data)[1:] == [SecretSpan(SLICE - 4, SLICE + 6, "first", 0)]


def test_what_is_cut_by_the_end_of_the_overlap_is_not_judged_by_its_half() -> None:
    line = "token=a1B2c3D4e5F6-your-own"
    text = " " * (SLICE + OVERLAP - 18) + line + FILLER
    assert REDACTOR.clean(text) == text


def test_a_long_key_without_an_end_is_followed_beyond_the_overlap() -> None:
    first, *lines, _ = private_key(Random(3)).split("\n")
    key = "\n".join((first, *lines * 4))
    assert len(key) > OVERLAP
    text = "x" * (SLICE - 50) + "\n" + key + "\n… cut"
    assert REDACTOR.clean(text) == "x" * (SLICE - 50) + "\n[secret: private key]\n… cut"


def test_a_value_that_reaches_into_a_mark_leaves_the_mark_whole() -> None:
    cleaned = Redactor([("V", "token] x9")]).clean(f"{GITHUB} x9")
    assert cleaned == "[secret: GitHub token][secret: V]"


class Ticking:
    """A clock that moves on by one second whenever somebody looks."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> float:
        return float(next(self._seconds))


def late_text() -> str:
    return f"{GITHUB} first\n" + "é" * SLICE * 3 + f"\n{GITHUB[:-1]}x last"


def leaks_when_late(redactor: Redactor) -> bool:
    """Whether anything gets through that was not searched."""
    cleaned = redactor.clean(late_text())
    return "last" in cleaned or "[withheld: " not in cleaned


def test_what_cannot_be_searched_in_time_is_withheld() -> None:
    """agent-glovebox#503: a time-out switched redaction off."""
    cleaned = Redactor(seconds=5, clock=Ticking()).clean(late_text())
    kept, _, sentence = cleaned.partition("[withheld: ")
    assert kept.startswith("[secret: GitHub token] first\né")
    assert set(kept.partition("\n")[2]) == {"é"}
    number = int(sentence.split()[0].replace(",", ""))
    assert number == len(late_text()) - len(kept) - len(GITHUB) + len("[secret: GitHub token]")
    assert sentence.endswith(" characters could not be searched for secrets in time]")
    assert not leaks_when_late(Redactor(seconds=5, clock=Ticking()))


def test_the_sentence_and_the_marks_are_left_alone() -> None:
    text = Redactor(seconds=5, clock=Ticking()).clean(late_text())
    assert REDACTOR.clean(text) == text
    assert all(REDACTOR.clean(f"[secret: {r.kind}]") == f"[secret: {r.kind}]" for r in RULES)
