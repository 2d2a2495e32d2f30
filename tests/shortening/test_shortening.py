"""Cutting a giant text: exact to the token, with what matters kept and the rest accounted for."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedgeline.text.shortening import error_lines, shortened
from kedgeline.tokens import Estimate, Exact

count = Exact().count
MARK = re.compile(r"\[… ([\d,]+) (lines|characters) left out(?:; line ([\d,]+):)? …\]\n?")


def log(lines: int, **others: str) -> str:
    """A log of plain lines; `l12="…"` puts another text into line 12, counted from 1."""
    texts = [f"10:00:{number % 60:02d} request {number} handled" for number in range(1, lines + 1)]
    for place, text in others.items():
        texts[int(place[1:]) - 1] = text
    return "".join(f"{text}\n" for text in texts)


def test_a_text_that_fits_stays_as_it_is() -> None:
    text = log(20)
    assert text == shortened(text, room=count(text), count=count)


def test_blanks_that_fit_a_tiny_room_stay() -> None:
    """Two hundred of them are two tokens, far fewer than for any other text."""
    assert shortened(" " * 200, room=2, count=count) == " " * 200


def test_head_and_tail_stay_and_the_mark_counts_the_lines_between() -> None:
    text = log(1_000)
    short = shortened(text, room=200, count=count)
    lines = short.splitlines()
    [mark] = [line for line in lines if line.startswith("[…")]
    assert text.splitlines()[0] == lines[0]
    assert text.splitlines()[-1] == lines[-1]
    assert f"[… {1_000 - (len(lines) - 1)} lines left out …]" == mark


def test_error_lines_between_stay_in_order_and_with_their_numbers() -> None:
    text = log(
        4_000,
        l1500="TypeError: cannot add a buoy to a chain",
        l1501="FAILED tests/test_chain.py::test_sum",
        l2750="\x1b[31merror\x1b[0m: linking with cc",
    )
    short = shortened(text, room=300, count=count)
    assert "; line 1,500: …]\nTypeError: cannot add a buoy to a chain\nFAILED tests" in short
    assert "; line 2,751: …]" not in short
    assert "; line 2,750: …]\n\x1b[31merror\x1b[0m: linking with cc\n[… " in short


def test_the_first_and_the_last_error_lines_go_before_those_between() -> None:
    wrong = {f"l{number}": f"error {number}: the line parted" for number in range(500, 1_500)}
    short = shortened(log(2_000, **wrong), room=300, count=count)
    assert "error 500: " in short
    assert "error 1499: " in short
    assert "error 1000: " not in short


def test_an_error_line_that_repeats_stands_once() -> None:
    again = {f"l{number}": "error: no harbour in sight" for number in range(500, 1_500, 3)}
    short = shortened(log(2_000, **again), room=1_000, count=count)
    assert short.count("error: no harbour in sight") == 1


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: bad depth",
        "java.lang.IllegalStateException",
        "error[E0382]: borrow of moved value",
        "thread 'main' panicked at src/lib.rs",
        "FATAL: role does not exist",
        "Traceback (most recent call last):",
        "12 tests failed",
        "\x1b[1;31merror\x1b[0m TS2304",
        "\x1b[merror",
    ],
)
def test_what_speaks_of_an_error_is_found(line: str) -> None:
    text = f"fine\n{line}\nfine\n"
    assert [text[e.start : e.end] for e in error_lines(text, 0, len(text))] == [f"{line}\n"]


@pytest.mark.parametrize(
    "line", ["terror", "errors_total 5", "unfailed", "panicky", "errorless", "my_error = None"]
)
def test_a_word_that_only_holds_another_is_no_error(line: str) -> None:
    assert error_lines(f"fine\n{line}\nfine\n", 0, len(line) + 11) == []


def test_of_a_long_line_the_part_around_the_error_stays() -> None:
    text = log(500, l250="x" * 5_000 + " fatal: tide too low " + "y" * 5_000)
    short = shortened(text, room=400, count=count)
    assert re.search(r"characters left out; line 250: …\]x+ fatal: tide too low y+\[…", short)


def test_errors_in_one_endless_line_are_found_too() -> None:
    text = '{"ok":1},' * 20_000 + '{"error":"anchor lost"},' + '{"ok":1},' * 20_000
    assert '"error":"anchor lost"' in shortened(text, room=300, count=count)


@pytest.mark.parametrize("room", [-1, 0, 1, 5])
def test_a_room_too_small_for_a_mark_gets_nothing(room: int) -> None:
    assert shortened(log(100), room=room, count=count) == ""


def test_a_room_for_no_more_than_a_mark_gets_the_mark() -> None:
    mark = "[… 1,000 lines left out …]\n"
    assert mark == shortened(log(1_000), room=count(mark), count=count)


@pytest.mark.parametrize(
    "whole", ["👩\u200d👩\u200d👧", "🇩🇪", "e\u0301\u0323", "👍🏽", "\x1b[38;5;196m", "\r\n"]
)
def test_what_is_drawn_as_one_is_not_parted(whole: str) -> None:
    for room in range(30, 60):
        kept = MARK.sub("", shortened(f"~{whole}" * 3_000, room=room, count=count))
        assert kept.replace(whole, "").strip("~") == ""


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(
            (
                "\n",
                "\r\n",
                "an error here\n",
                "漢字を読む" * 30,
                "👩\u200d👧🇩🇪é" * 20,
                "QUJDRA==" * 40,
                "\x1b[31mred\x1b[0m ",
                " " * 200,
                "TypeError: x\n" * 30,
                "a line like any other\n" * 30,
                "\ud83d",
                "[… 3 lines left out …]\n",
            )
        ),
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    "counted", [count, Estimate().count, len, lambda text: len(text.encode(errors="replace"))]
)
def test_the_room_is_never_exceeded(counted: Callable[[str], int]) -> None:
    @settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
    @given(TEXTS, st.integers(0, 120))
    def check(text: str, room: int) -> None:
        short = shortened(text, room=room, count=counted)
        assert counted(short) <= room
        assert len(short) <= len(text)
        assert (short == text) == (counted(text) <= room)
        assert short == shortened(text, room=room, count=counted)

    check()


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(("plain\n", "error one\n", "x" * 90, "漢字", "fatal: two\r\n", "\n")),
        max_size=300,
    ).map("".join),
    st.integers(12, 90),
)
def test_all_that_is_not_kept_is_accounted_for(text: str, room: int) -> None:
    """Kept parts are verbatim and in order; between them stands how much is missing."""
    short = shortened(text, room=room, count=count)
    if not short:
        return
    position = end = 0
    for mark in (*MARK.finditer(short), None):
        kept = short[end : mark.start() if mark else len(short)]
        assert text.startswith(kept, position)
        position += len(kept)
        if mark is None:
            break
        end = mark.end()
        amount = int(mark[1].replace(",", ""))
        for _ in range(amount if mark[2] == "lines" else 0):
            position = text.index("\n", position) + 1
        position += amount if mark[2] == "characters" else 0
        if mark[3]:
            assert int(mark[3].replace(",", "")) == text.count("\n", 0, position) + 1
    assert len(text) == position


@pytest.mark.torture
@pytest.mark.parametrize(
    "text", ["ab" * 10_000_000, log(400_000), "error: again\n" * 1_000_000, "漢" * 5_000_000]
)
def test_a_giant_text_costs_little_more_than_what_is_kept(text: str) -> None:
    """A tool once gave 733,000 characters of error text, which went past every limit."""
    counted: list[int] = []

    def counting(part: str) -> int:
        counted.append(len(part))
        return count(part)

    tracemalloc.start()
    started = time.perf_counter()
    short = shortened(text, room=1_000, count=counting)
    took = time.perf_counter() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 900 < count(short) <= 1_000
    assert sum(counted) < 100_000
    assert peak < 4_000_000
    assert took < 3
