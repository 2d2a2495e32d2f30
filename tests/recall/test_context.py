"""What is shown of an original: its own lines, and the right ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.model import Turn
from kedgeline.session.archive import field_text, passages_of
from kedgeline.session.query import query_of
from kedgeline.session.recall import WIDTH, RecalledLine, matches, recall
from kedgeline.session.recall import context as shown
from kedgeline.store import Phrase, Store, words
from kedgeline.store.protocol import open_store
from tests.recall.keeping import keep
from tests.turns import bash, called, turn


def phrase(text: str) -> Phrase:
    return Phrase(words=tuple(words(text)))


def lines_of(text: str, *phrases: str, lines: int = 1) -> list[RecalledLine]:
    return [*shown(text, 0, len(text), [phrase(one) for one in phrases], lines=lines).lines]


def test_lines_are_numbered_and_marked() -> None:
    found = lines_of("a\nb\nthe tide\nd\ne\n", "tide")
    assert [(line.number, line.text, line.spans) for line in found] == [
        (2, "b", ()),
        (3, "the tide", ((4, 8),)),
        (4, "d", ()),
    ]


def test_a_long_line_is_cut_around_what_was_found() -> None:
    text = "x " * 500 + "the tide " + "y " * 500
    (line,) = lines_of(text, "tide")
    assert len(line.text) == WIDTH
    assert text[line.column : line.column + WIDTH] == line.text
    assert [line.text[begin:end] for begin, end in line.spans] == ["tide"]
    assert line.cut
    (last,) = lines_of(text + "tail", "tail")
    assert (last.text.endswith("tail"), last.cut) == (True, False)


@pytest.mark.parametrize(
    ("text", "asked", "marked"),
    [
        ("“tide”—gauge", "tide gauge", "tide”—gauge"),
        ("请修复错误处理模块", "错误", "错误"),
        ("修复auth模块", "auth", "auth"),
        ("see a/b_c.py:3", "a/b_c.py", "a/b_c.py"),
    ],
)
def test_marks_stand_on_the_words_as_they_are_written(text: str, asked: str, marked: str) -> None:
    (match,) = matches(text, [phrase(asked)])
    assert text[match.start : match.end] == marked


LINE = st.text(st.sampled_from("abc xyz .,/_-ü你\t"), max_size=120)


@given(st.lists(LINE, max_size=40), st.integers(0, 3), st.data())
def test_lines_shown_are_the_lines_of_the_text(
    made: list[str], around: int, data: st.DataObject
) -> None:
    text = "\n".join(made)
    found = words(text)
    asked = [
        Phrase(words=(word,), prefix=data.draw(st.booleans()))
        for word in data.draw(
            st.lists(st.sampled_from(found), max_size=3) if found else st.just([])
        )
    ]
    result = shown(text, 0, len(text), asked, lines=around)
    assert result.missing == ()
    numbers = [line.number for line in result.lines]
    assert numbers == sorted(set(numbers))
    for line in result.lines:
        whole = text.split("\n")[line.number - 1]
        assert whole[line.column : line.column + len(line.text)] == line.text
        assert line.cut == (line.column + len(line.text) < len(whole))
        for begin, end in line.spans:
            assert words(line.text[begin:end])


@pytest.fixture(scope="module")
def session() -> Turn:
    """A turn with a text of every kind, each of several passages."""
    told = "\n".join(
        f"row {n}: pier_{n * 7 % 1000} has a depth of {n}.{n % 9} metres" for n in range(300)
    )
    wide = " ".join(f"cell{n} Größe{n % 5} 水位{n}" for n in range(900))
    return turn(
        0,
        bash("cat depths.txt\n" + told, told, exit_code=1),
        called("Fetch", wide, url="https://example.com/depths", body={"rows": told.split("\n")}),
        user="please\n" + told,
        says=wide,
    )


def test_any_line_is_found_again_by_four_of_its_words(session: Turn) -> None:
    with_words = open_store("memory:")
    keep(with_words, "harbor", session)
    fields = {passage.field for passage in passages_of(session)}
    assert fields >= {"user", "answer", "call:0", "call:1", "result:0", "result:1"}

    @settings(max_examples=40)
    @given(st.sampled_from(sorted(fields)), st.data())
    def check(field: str, data: st.DataObject) -> None:
        lines = [line for line in field_text(session, field).split("\n") if len(words(line)) >= 4]
        found = words(data.draw(st.sampled_from(lines)))
        begin = data.draw(st.integers(0, len(found) - 4))
        four = found[begin : begin + 4]
        (one,) = recall(with_words, query_of(f'"{" ".join(four)}"'))
        assert one.relaxed == ()
        marked = [line for line in one.lines if line.spans]
        text = field_text(session, one.field).split("\n")
        for line in marked:
            whole = text[line.number - 1]
            assert whole[line.column : line.column + len(line.text)] == line.text
        assert any(" ".join(four) in " ".join(words(line.text)) for line in marked)

    check()


def test_a_hit_in_a_large_output_has_the_right_line_and_is_shown_at_once(store: Store) -> None:
    rows = [f"{n:06} the harbour log goes on and on" for n in range(140_000)]
    rows[99_998] = "099998 the zeppelin has landed"
    keep(store, "harbor", turn(0, called("Log", "\n".join(rows))))
    begun = time.process_time()
    (one,) = recall(store, query_of("zeppelin landed"))
    took = time.process_time() - begun
    assert [(line.number, line.text) for line in one.lines] == [
        (n + 1, rows[n]) for n in range(99_996, 100_001)
    ]
    assert took < 0.5, "5 MB must not be looked through word by word"
