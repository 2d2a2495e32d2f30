"""Originals are found again, with where they stand."""

from __future__ import annotations

import pytest

from kedgeline.errors import NoSuchSession
from kedgeline.model import Note, ToolResult
from kedgeline.session.query import query_of
from kedgeline.session.recall import Recalled, recall
from kedgeline.store import Store
from tests.recall.keeping import DAY, keep
from tests.turns import bash, called, edit, turn

NOON = 1_790_000_000_000_000
"""Microseconds: a day in 2026."""


def marks(found: tuple[Recalled, ...]) -> list[str]:
    return [f"{one.mark} {one.field}" for one in found]


@pytest.fixture
def kept(store: Store) -> Store:
    keep(
        store,
        "harbor",
        turn(
            0,
            bash("pytest -q tests/test_pier.py", "E   TideError: too low\n1 failed", exit_code=1),
            user="Please mend the tide table.",
        ),
        turn(1, edit("src/tide_table.py"), says="The tide table is mended."),
        turn(
            2,
            called("Read", "tide = 1\n", file_path="src/tide_table.py"),
            thinking="Is the tide right now?",
            notes=(Note(kind="environment", text="tide gauge attached"),),
        ),
        at=NOON,
    )
    keep(store, "quay", turn(0, user="Another tide, another day."), at=NOON + 10 * DAY)
    return store


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"who": "user"}, {"harbor t0 user", "quay t0 user"}),
        ({"who": "user", "sessions": ["harbor"]}, {"harbor t0 user"}),
        ({"who": "client"}, {"harbor t2 note:0"}),
        ({"errors": True}, set()),
        ({"files": ["tide_table.py"], "who": "agent"}, {"harbor t1 call:0", "harbor t2 call:0"}),
        ({"commands": ["pytest"]}, set()),
        ({"since": NOON + 9 * DAY}, {"quay t0 user"}),
        ({"until": NOON, "who": "user"}, {"harbor t0 user"}),
        ({"turns": range(1, 2), "who": "agent"}, {"harbor t1 answer"}),
    ],
)
def test_every_filter(kept: Store, asked: dict[str, object], expected: set[str]) -> None:
    found = recall(kept, query_of("tide", **asked))  # type: ignore[arg-type]
    assert {f"{one.session} {one.mark} {one.field}" for one in found} == expected


def test_filters_alone_find_too(kept: Store) -> None:
    assert marks(recall(kept, query_of(errors=True, who="tool"))) == ["t0 result:0"]
    assert marks(recall(kept, query_of(commands=["pytest -q"], who="agent"))) == ["t0 call:0"]
    assert marks(recall(kept, query_of("failed", commands=["pytest"], errors=True))) == [
        "t0 result:0"
    ]
    assert recall(kept, query_of("failed", commands=["cargo"])) == ()


def test_an_answer_says_where_it_is_from(kept: Store) -> None:
    (one,) = recall(kept, query_of("TideError"))
    assert (one.session, one.mark, one.turn, one.thread, one.number) == ("harbor", "t0", 0, "", 1)
    assert (one.who, one.at, one.error, one.stands) == ("tool", NOON, True, True)
    assert (one.title, one.output) == ("Bash pytest -q tests/test_pier.py", "t0.0")
    assert [(line.number, line.text, line.spans) for line in one.lines] == [
        (1, "E   TideError: too low", ((4, 13),)),
        (2, "1 failed", ()),
    ]
    titles = {who: recall(kept, query_of("tide", who=who))[0].title for who in ("user", "client")}
    assert titles == {"user": "message", "client": "environment"}
    (edited,) = recall(kept, query_of('"src/tide_table.py"', turns=range(1, 2)))
    assert (edited.title, edited.output) == ("Edit src/tide_table.py", "t1.0")


def test_a_session_that_is_not_there_is_named(kept: Store) -> None:
    with pytest.raises(NoSuchSession, match="there is harbor"):
        recall(kept, query_of("tide", sessions=["harbour"]))


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("over the\nend of a line", '"the end of"'),
        ("see src/deep/a_b.test.ts:14", "src/deep/a_b.test.ts"),
        ("see src/deep/a_b.test.ts:14", "a_b.test.ts:14"),
        ("git commit --no-verify -m x", "--no-verify"),
        ("calls Harbor.open_gate() twice", "harbor.open_gate()"),
        ("error[E0308]: mismatched types", "E0308"),
        ("getUserById failed", "getUser*"),
        ("Die Größe der Brücke", "GRÖSSE brücke"),
        ("Die Bru\u0308cke steht", "br\u00fccke"),
        ("Die Br\u00fccke steht", "bru\u0308cke"),
        ("请修复错误处理模块", "错误处理"),
        ("港の潮位を確認する", "潮位"),
        ("the ﬁle is gone", "file"),
        ("İstanbul ﬆart", "start"),
    ],
)
def test_words_are_found_however_they_are_written(store: Store, said: str, asked: str) -> None:
    keep(store, "harbor", turn(0, user=said), turn(1, user="nothing of it"))
    (one,) = recall(store, query_of(asked))
    assert (one.mark, one.relaxed) == ("t0", ())
    assert any(line.spans for line in one.lines)


def test_what_stands_together_comes_before_what_is_scattered(store: Store) -> None:
    keep(
        store,
        "harbor",
        turn(0, user="refused refused refused, a connection"),
        turn(1, user="the " * 100 + "connection refused" + " at the quay" * 40),
        turn(2, user="connection, refused? refused connection connection. refused"),
    )
    found = recall(store, query_of("connection refused"))
    assert {one.mark: one.together for one in found} == {"t0": False, "t1": True, "t2": True}
    assert found[-1].mark == "t0"


def test_a_turn_that_a_fork_shares_comes_once(store: Store) -> None:
    shared = turn(0, user="the tide table")
    for name in ("harbor", "fork-1", "fork-2"):
        keep(store, name, shared)
    keep(store, "quay", turn(0, user="the tide table of another"))
    first, second = sorted(recall(store, query_of("tide table")), key=lambda one: len(one.also))
    assert (first.session, first.also) == ("quay", ())
    assert {second.session, *second.also} == {"harbor", "fork-1", "fork-2"}


def test_a_conversation_that_hook_and_replacement_keep_comes_once(store: Store) -> None:
    keep(store, "5ea-1", turn(0, user="the tide table"))
    keep(store, "claude-code-5ea-1", turn(0, user="the tide table", thinking="seen later"))
    keep(store, "quay", turn(0, user="the tide table", thinking="of another"))
    first, second = recall(store, query_of("tide table"))
    assert {first.session, second.session, *first.also, *second.also} == {
        "5ea-1",
        "claude-code-5ea-1",
        "quay",
    }
    assert sorted(map(len, (first.also, second.also))) == [0, 1]


def test_a_turn_comes_once_with_its_best_place(store: Store) -> None:
    lines = "\n".join(f"{n} the tide gauge says {n % 7}" for n in range(1_000))
    keep(store, "harbor", turn(0, called("Log", lines)), turn(1, user="tide gauge"))
    found = recall(store, query_of("tide gauge", limit=5))
    assert sorted(marks(found)) == ["t0 result:0", "t1 user"]


def test_nothing_with_all_words_gives_what_has_some_and_says_so(store: Store) -> None:
    keep(store, "harbor", turn(0, user="the tide gauge"), turn(1, user="the red buoy"))
    (one,) = recall(store, query_of("gauge tide zeppelin"))
    assert (one.mark, one.relaxed) == ("t0", ("zeppelin",))
    both = recall(store, query_of("gauge buoy"))
    assert {one.mark: one.relaxed for one in both} == {"t0": ("buoy",), "t1": ("gauge",)}
    two_of_three = recall(store, query_of("buoy gauge tide"))
    assert [one.mark for one in two_of_three] == ["t0", "t1"]
    assert recall(store, query_of("zeppelin airship")) == ()


def test_a_word_that_is_nowhere_does_not_let_the_others_stand_apart(store: Store) -> None:
    keep(
        store,
        "harbor",
        turn(0, user="tide " * 5),
        turn(1, user="the tide and the gauge"),
        turn(2, user="gauge " * 5),
    )
    assert marks(recall(store, query_of("gauge tide zeppelin")))[:1] == ["t1 user"]


def test_filters_still_hold_where_words_are_dropped(store: Store) -> None:
    keep(store, "harbor", turn(0, user="the tide gauge"), turn(1, says="a gauge"))
    found = recall(store, query_of("gauge zeppelin", who="agent"))
    assert marks(found) == ["t1 answer"]


def test_a_turn_that_was_taken_back_is_found_and_named_by_its_entry(store: Store) -> None:
    keep(store, "harbor", turn(0, user="first"), turn(1, user="the tide"), turn(1, user="a buoy"))
    (one,) = recall(store, query_of("tide"))
    assert (one.mark, one.stands) == ("#2", False)
    (other,) = recall(store, query_of("buoy"))
    assert (other.mark, other.stands) == ("t1", True)


def test_words_that_wait_for_an_answer_stand(store: Store) -> None:
    keep(store, "harbor", turn(0, user="first"))
    keep(store, "harbor", turn(1, user="the tide"), kind="words")
    (one,) = recall(store, query_of("tide"))
    assert (one.mark, one.stands) == ("t1", True)


def test_a_sub_agents_turn_names_its_thread(store: Store) -> None:
    keep(store, "harbor", turn(0, user="main"), turn(0, says="the tide", agent="explore-1"))
    (one,) = recall(store, query_of("tide"))
    assert (one.mark, one.thread) == ("explore-1/t0", "explore-1")


def test_a_result_without_its_call_is_named_by_its_id(store: Store) -> None:
    orphan = ToolResult(call_id="toolu_9", output="the tide")
    lost = turn(0).__class__(index=0, tool_results=(orphan,))
    keep(store, "harbor", lost)
    (one,) = recall(store, query_of("tide"))
    assert (one.title, one.output) == ("output", "t0:toolu_9")


def test_what_was_cleaned_is_found_by_the_words_around_it(store: Store) -> None:
    """The index has no secret; what is shown is the original."""
    secret = "key-" + "q" * 3_000
    text = "first line\n" * 300 + f"token {secret} for the quay\n" + "last line\n" * 50
    keep(
        store,
        "harbor",
        turn(0, called("Read", text)),
        clean=lambda text: text.replace(secret, "[left out]"),
    )
    assert recall(store, query_of("qqqqqq*")) == ()
    (one,) = recall(store, query_of('"for the quay"'))
    (line,) = [line for line in one.lines if line.spans]
    assert (line.number, line.column > 2_000) == (301, True)
    assert line.text[line.spans[0][0] : line.spans[0][1]] == "for the quay"
    (placeholder,) = recall(store, query_of('"left out"'))
    assert not any(line.spans for line in placeholder.lines)


def test_an_original_that_is_damaged_keeps_no_other_from_being_shown(store: Store) -> None:
    keep(store, "harbor", turn(0, called("Log", "tide\n" * 1_000)), turn(1, user="tide"))

    class Damaged:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def blob(self, hash: str) -> None:
            return None

    found = recall(Damaged(), query_of("tide"))  # type: ignore[arg-type]
    told = {one.mark: (bool(one.lines), one.damage) for one in found}
    assert told["t1"] == (True, "")
    assert told["t0"][0] is False
    assert "kedgeline fsck" in told["t0"][1]


def test_words_in_several_texts_of_a_turn_bring_it_first(store: Store) -> None:
    keep(
        store,
        "harbor",
        turn(0, bash("dredge --deep", "stuck in the mud", exit_code=1)),
        turn(1, user="dredge dredge dredge"),
        turn(2, user="mud mud mud"),
    )
    assert recall(store, query_of("dredge mud"))[0].mark == "t0"
