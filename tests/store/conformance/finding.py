"""Searching for words: what is found, and what is not."""

from __future__ import annotations

from kedgeline.store.protocol import Found, Passage, Phrase, Query
from tests.store.conformance.fresh import (
    SESSION,
    Fresh,
    expect,
    indexes,
    phrase,
    sought,
    turn,
    written,
)

HOSTILE = (
    *('"', "'", '"" OR ""', "*", "a*", "^zebra", "-zebra", "(", ")", "zebra)", "{text}:zebra"),
    *("text:zebra", "NEAR(zebra lion)", "zebra OR lion", "zebra NOT lion", "zebra | lion"),
    *("zebra & !lion", "zebra <-> lion", "zebra:*", "zebra\0lion", "\ud800", "zebra' OR '1'='1"),
    *("; DROP TABLE entry; --", "%", "_", "\\", "$1", "?", ":name", "zebra\nlion", "owner : x"),
)


def words_are_found_in_any_case(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "The Parser failed", "nothing here", "PARSER, again", "parsers only")
    for text in ("parser", "Parser", "PARSER"):
        expect(sorted(indexes(store.find(sought(text)))), [0, 2], f"turns with {text!r}")
    expect(list(store.find(sought("unheard"))), [], "what no turn has")


def a_phrase_is_words_next_to_each_other(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "connection was reset by peer", "reset the connection by hand", "reset; by!peer")
    expect(sorted(indexes(store.find(sought("reset by peer")))), [0, 2], "the phrase")
    expect(list(store.find(sought("peer by reset"))), [], "the phrase backwards")
    expect(sorted(indexes(store.find(sought("by", "reset")))), [0, 1, 2], "both words anywhere")


def all_phrases_must_be_there(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "alpha beta", "alpha", "beta")
    expect(indexes(store.find(sought("alpha", "beta"))), [0], "turns with both")


def names_are_found_by_their_parts(fresh: Fresh) -> None:
    store = fresh.store()
    written(
        store,
        "edit src/kedgeline/store_words.py:12",
        "kedgeline.store.protocol",
        "src/other/words.py",
    )
    found = {
        "src/kedgeline/store_words.py": [0],
        "store_words": [0],
        "kedgeline/store": [0, 1],
        "kedgeline.store": [0, 1],
        "words.py": [0, 2],
        "py:12": [0],
        "store/words/kedgeline": [],
    }
    for name, turns in found.items():
        expect(sorted(indexes(store.find(sought(name)))), turns, f"turns with {name!r}")


def scripts_without_blanks_are_found(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "日本語のテスト", "本日は晴天なり", "Größe ÄNDERN naïve", "ｆｕｌｌ width")
    found = {"日本": [0], "テスト": [0], "本日": [1], "日": [0, 1], "größe": [2], "ändern": [2]}
    for text, turns in {**found, "GRÖSSE": [2], "full": [3], "naïve": [2]}.items():
        expect(sorted(indexes(store.find(sought(text)))), turns, f"turns with {text!r}")


def a_prefix_lets_the_last_word_go_on(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "time out", "timeout expired", "time outside", "the timer", "日本語")
    for text, turns in {
        "timeo": [1],
        "time": [0, 1, 2, 3],
        "time out": [0, 2],
        "日本": [4],
    }.items():
        query = Query(phrases=(phrase(text, prefix=True),))
        expect(sorted(indexes(store.find(query))), turns, f"turns with {text!r} that may go on")
    expect(sorted(indexes(store.find(sought("time")))), [0, 2], "turns with the word alone")


def odd_characters_hide_no_words(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "before\0after", "left\ud800right", "\ufffe start", "", "tab\tnew\r\nline")
    found = {"before": [0], "after": [0], "left": [1], "right": [1], "start": [2], "new line": [4]}
    for text, turns in found.items():
        expect(indexes(store.find(sought(text))), turns, f"turns with {text!r}")


def nothing_that_is_sought_is_taken_for_syntax(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "zebra", "lion")
    for text in HOSTILE:
        raw = Query(phrases=(Phrase(words=("quagga", text)),))
        expect(list(store.find(raw)), [], f"turns with {text!r} as it is")
        for prefix in (False, True):
            one = Phrase(words=(text,), prefix=prefix)
            store.find(Query(phrases=(one,), files=(one,), commands=(one,), who=text))
            expect(list(store.find(Query(files=(one, phrase("quagga"))))), [], f"files {text!r}")
    expect(list(store.find(Query(phrases=(Phrase(words=("zebra OR lion",)),)))), [], "both")
    expect(list(store.find(Query(who="user OR tool"))), [], "a speaker that is none")
    written(store, "zebra or lion", first=2)
    both = Query(phrases=(Phrase(words=("zebra OR lion",)),))
    expect(indexes(store.find(both)), [2], "turns that say so")


def a_phrase_without_words_is_left_out(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "zebra", "lion")
    empty = (Phrase(words=()), Phrase(words=("!?",), prefix=True))
    query = Query(phrases=(*empty, phrase("lion")), files=empty, commands=empty)
    expect(indexes(store.find(query)), [1], "turns with what is left")
    expect(indexes(store.find(Query(phrases=empty))), [1, 0], "turns where nothing is left")


def found_passages_say_where_they_are(fresh: Fresh) -> None:
    store = fresh.store()
    given = turn(4, thread="sub", at=77, id="content")
    passage = Passage(text="some ünusual words", who="agent", field="call 2", start=31, error=True)
    with store.writing(SESSION) as writing:
        writing.add(turn(0))
        writing.add(given, passages=[Passage(text="before"), passage])
    (found,) = store.find(sought("ünusual"))
    wanted = Found(
        session=SESSION,
        thread="sub",
        index=4,
        number=2,
        at=77,
        id="content",
        who="agent",
        field="call 2",
        start=31,
        size=len(passage.text),
        error=True,
        score=found.score,
    )
    expect(found, wanted, "the passage")
