"""What a person types becomes a query, whatever it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kedgeline.errors import UnknownName, UserError
from kedgeline.session.query import moment_given, query_of
from kedgeline.session.recall import recall
from kedgeline.store import Phrase, Store, words
from tests.recall.keeping import keep
from tests.turns import bash, turn

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def phrases(text: str) -> list[tuple[str, ...]]:
    return [phrase.words + ("*",) * phrase.prefix for phrase in query_of(text).phrases]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("two words", [("two",), ("words",)]),
        ('"exactly this" here', [("exactly", "this"), ("here",)]),
        ("“exactly this” «and that»", [("exactly", "this"), ("and", "that")]),
        ('"never closed at all', [("never", "closed", "at", "all")]),
        ('say"side by side"', [("say",), ("side", "by", "side")]),
        ("src/a_b.py", [("src", "a", "b", "py")]),
        ("foo.bar()", [("foo", "bar")]),
        ("--no-verify", [("no", "verify")]),
        ("E0308 ECONNREFUSED", [("e0308",), ("econnrefused",)]),
        ("getUser*", [("getuser", "*")]),
        ('"no such f*"', [("no", "such", "f", "*")]),
        ('"no such f"*', [("no", "such", "f", "*")]),
        ("Mu\u0308l*", [("mül", "*")]),
        ("src/*", [("src",)]),
        ("*.py", [("py",)]),
        ("错误处理", [("错", "误", "处", "理")]),
        ("修复auth模块", [("修", "复", "auth", "模", "块")]),
        ("Größe", [("grösse",)]),
        ("a AND b OR NOT c", [("a",), ("and",), ("b",), ("or",), ("not",), ("c",)]),
        ("same same", [("same",)]),
        ("-> word ???", [("word",)]),
    ],
)
def test_words_phrases_and_names(typed: str, expected: list[tuple[str, ...]]) -> None:
    assert phrases(typed) == expected


@pytest.mark.parametrize("typed", ["", "  ", '""', "***", "-> ?!", '"', "\0"])
def test_nothing_to_look_for_is_one_sentence(typed: str) -> None:
    with pytest.raises(UserError, match=r"nothing to look for|no word in"):
        query_of(typed)


def test_a_filter_is_enough() -> None:
    assert query_of(errors=True).errors
    assert query_of(files=["src/a.py"]).files == (Phrase(words=("src", "a", "py")),)
    assert query_of(commands=["git pu*"]).commands == (Phrase(words=("git", "pu"), prefix=True),)
    assert query_of(turns=range(10, 21)).first == 10
    assert query_of(turns=range(10, 21)).last == 20


def test_words_that_are_none_are_not_passed_over_in_silence() -> None:
    """With a filter beside them they would otherwise find whatever the filter lets through."""
    with pytest.raises(UserError, match="no word in '->'"):
        query_of("->", errors=True)
    with pytest.raises(UserError, match="no word to look for"):
        query_of("word", files=["..."])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"who": "boss"}, "unknown speaker 'boss'; choose one of user, agent, tool, client"),
        ({"limit": 0}, "give 1 or more"),
        ({"text": "x" * 2_001}, "give at most 2,000"),
        ({"text": " ".join(f"w{n}" for n in range(65))}, "give at most 64"),
        ({"since": "last week"}, "is not a time; write 2026-11-01"),
        ({"since": "9999-99-99"}, "is not a time"),
        ({"until": "9999-12-31"}, "is not a time"),
        ({"since": "2026-11-02", "until": "2026-11-01"}, "swap them"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(wrong: dict[str, str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        query_of(**{"text": "word", **wrong})  # type: ignore[arg-type]
    assert issubclass(UnknownName, UserError)


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2026-11-01T14:30Z", datetime(2026, 11, 1, 14, 30, tzinfo=UTC)),
        ("2026-11-01T14:30+02:00", datetime(2026, 11, 1, 12, 30, tzinfo=UTC)),
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        ("30m", NOW - timedelta(minutes=30)),
        (" 2w ", NOW - timedelta(weeks=2)),
        (NOW, NOW),
    ],
)
def test_times(given_time: str | datetime, expected: datetime) -> None:
    assert moment_given(given_time, now=NOW) == round(expected.timestamp() * 1_000_000)


def test_a_date_is_a_day_of_the_place_one_is_at() -> None:
    begin, end = moment_given("2026-11-01"), moment_given("2026-11-01", end=True)
    assert begin == datetime(2026, 11, 1).timestamp() * 1_000_000
    assert end == datetime(2026, 11, 2).timestamp() * 1_000_000 - 1
    assert moment_given("999999w", now=NOW) is not None


@pytest.mark.parametrize("typed", ["a*", "ab*", '"b"*', "a.b*"])
def test_a_beginning_of_a_letter_or_two_is_refused_with_what_to_do(typed: str) -> None:
    with pytest.raises(UserError, match="begins too many words; give 3 letters or more"):
        query_of(typed)


HOSTILE = st.text(st.sampled_from("\"*()^:-+{}[]\\'; aANDORNEART\0ü你\ud800") | st.characters())


def test_hostile_queries_raise_nothing_but_a_sentence(store: Store) -> None:
    """T-S4: full-text syntax that is typed stays text, in every store."""
    keep(store, "harbor", turn(0, bash("ls", "a b"), user="AND OR NEAR ü 你"))

    @given(HOSTILE)
    @example('NEAR("a" "b", 2) OR text : a* AND NOT ^b')
    @example("a' OR 1=1; DROP TABLE passage; --")
    def check(typed: str) -> None:
        said = ""
        try:
            recall(store, query_of(typed))
        except UserError as refused:
            said = str(refused)
        worded = any(words(piece) for piece in typed.split())
        expected = "begins too many words" if worded else "no word in|nothing to look for"
        assert re.search(expected, said) if said else worded

    check()
    assert len(recall(store, query_of("near"))) == 1
