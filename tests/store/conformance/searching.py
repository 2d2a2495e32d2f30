"""Searching within limits: by file, command, speaker, error, time, turn and session; in order."""

from __future__ import annotations

from msgspec.structs import replace

from kedgeline.store.protocol import Passage, Phrase, Query
from tests.store.conformance.fresh import (
    SESSION,
    Fresh,
    Unfit,
    added,
    expect,
    indexes,
    phrase,
    sought,
    turn,
    written,
)


def files_and_commands_are_apart_from_the_text(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "made", files="src/a.py\nsrc/b.py", command="pytest -q tests")
    written(store, "src/a.py pytest", first=1)
    expect(indexes(store.find(Query(files=(phrase("a.py"),)))), [0], "turns by file")
    expect(indexes(store.find(Query(files=(phrase("src/b.py"),)))), [0], "turns by second file")
    expect(indexes(store.find(Query(commands=(phrase("pytest"),)))), [0], "turns by command")
    expect(indexes(store.find(sought("pytest"))), [1], "turns by text")
    both = Query(files=(phrase("src/a.py"), phrase("src/b.py")), commands=(phrase("tests"),))
    expect(indexes(store.find(both)), [0], "turns by files and command")
    expect(list(store.find(sought("src", files=(phrase("a.py"),)))), [], "text and file apart")
    may_go_on = Query(files=(phrase("src/a.p", prefix=True),))
    expect(indexes(store.find(may_go_on)), [0], "turns by the beginning of a file")


def speakers_and_errors_narrow_a_search(fresh: Fresh) -> None:
    store = fresh.store()
    for index, who in enumerate(("user", "agent", "tool", "client")):
        written(store, "word", first=index, who=who)
    written(store, "word", first=4, error=True)
    for index, who in enumerate(("user", "agent")):
        expect(indexes(store.find(sought("word", who=who))), [index], f"words of the {who}")
    expect(sorted(indexes(store.find(sought("word", who="tool")))), [2, 4], "words of tools")
    expect(indexes(store.find(sought("word", errors=True))), [4], "errors")
    expect(list(store.find(sought("word", who="user", errors=True))), [], "errors of the user")
    expect(list(store.find(sought("failed"))), [], "a word that no text has")
    expect(list(store.find(sought("user"))), [], "a speaker as a word")


def time_and_turn_narrow_a_search(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, *["word"] * 6)  # at the time of their index
    expect(sorted(indexes(store.find(sought("word", since=4)))), [4, 5], "since")
    expect(sorted(indexes(store.find(sought("word", until=1)))), [0, 1], "until")
    expect(sorted(indexes(store.find(sought("word", since=0, until=0)))), [0], "at")
    expect(sorted(indexes(store.find(sought("word", first=3)))), [3, 4, 5], "from a turn on")
    expect(sorted(indexes(store.find(sought("word", first=0, last=2)))), [0, 1, 2], "turns")
    expect(list(store.find(sought("word", since=2, last=1))), [], "both, which exclude each other")
    expect(list(store.find(sought("word", since=5, until=1))), [], "a time that ends too soon")


def any_time_can_be_sought(fresh: Fresh) -> None:
    """Before 1970, within a day and over many years."""
    store = fresh.store()
    day = 86_400_000_000
    times = (-5 * day, 0, 1, day - 1, day, 40 * day, 1_500 * day, 20_000 * day, 99_999 * day)
    with store.writing(SESSION) as writing:
        for index, at in enumerate(times):
            writing.add(turn(index, at=at), passages=[Passage(text="word")])
    for since in (None, *times):
        for until in (None, *times):
            wanted = [
                index
                for index, at in enumerate(times)
                if (since is None or since <= at) and (until is None or at <= until)
            ]
            found = store.find(sought("word", since=since, until=until))
            expect(sorted(indexes(found)), wanted, f"turns from {since} to {until}")


def sessions_narrow_a_search(fresh: Fresh) -> None:
    store = fresh.store()
    for number, session in enumerate(("one", "two", "three")):
        written(store, "word", session=session, first=number)
    expect(sorted(indexes(store.find(sought("word")))), [0, 1, 2], "in all sessions")
    expect(indexes(store.find(sought("word", sessions=("two",)))), [1], "in one")
    two = sought("word", sessions=("one", "three"))
    expect(sorted(indexes(store.find(two))), [0, 2], "in two")
    expect(list(store.find(sought("word", sessions=("nobody",)))), [], "in one that is not there")
    expect({each.session for each in store.find(two)}, {"one", "three"}, "names of sessions")


def a_turn_is_found_once(fresh: Fresh) -> None:
    """With its best passage."""
    store = fresh.store()
    passages = [
        Passage(text="word " + "and much else that was said " * 3, start=1),
        Passage(text="word word word " + "and much else that was said " * 3, start=2),
    ]
    added(store, turn(0), passages=passages)
    expect([each.start for each in store.find(sought("word"))], [2], "where the passage begins")
    expect(len(store.find(Query())), 1, "how often the turn is found without words")


def a_giant_turn_hides_no_other(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "word", "word")
    added(store, turn(2), passages=[Passage(text=f"word {part}") for part in range(2_100)])
    expect(sorted(indexes(store.find(sought("word")))), [0, 1, 2], "turns")


def the_best_comes_first(fresh: Fresh) -> None:
    store = fresh.store()
    other = "and other things that stand here too"
    written(store, f"word {other} word word word", f"{other} word {other}", f"word {other} {other}")
    found = store.find(sought("word"))
    expect(indexes(found)[:1], [0], "the turn that has the word most often")
    scores = [each.score for each in found]
    if scores != sorted(scores, reverse=True):
        raise Unfit(f"scores do not fall: {scores}")


def equal_ones_come_newest_first(fresh: Fresh) -> None:
    """By when they were written: clocks go backwards."""
    store = fresh.store()
    for index, at in enumerate((300, 200, 100)):
        entry = turn(index, at=at)
        added(store, entry, session=f"s{index}", passages=[Passage(text="the same words")])
    expect(indexes(store.find(sought("same"))), [2, 1, 0], "turns with equal passages")
    expect(indexes(store.find(Query())), [2, 1, 0], "turns without words to look for")
    expect(indexes(store.find(Query(limit=2, until=250))), [2, 1], "the newest that are allowed")


def no_more_is_given_than_asked_for(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, *["word"] * 30)
    expect(indexes(store.find(sought("word", limit=3))), [29, 28, 27], "three turns")
    expect(len(store.find(sought("word"))), 20, "turns where no number is given")
    expect(list(store.find(sought("word", limit=0))), [], "none")
    expect(len(store.find(sought("word", limit=1_000))), 30, "all")


def an_entry_takes_over_the_passages_of_another(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "first", "second")
    with store.writing(SESSION) as writing:
        writing.add(turn(1, at=9), passages=[Passage(text="second third")], instead_of=2)
    expect([each.number for each in store.find(sought("second"))], [3], "entries with the word")
    expect([each.number for each in store.find(sought("first"))], [1], "the entry that stays")


def turns_that_were_taken_back_are_still_found(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "regretted", "better")
    written(store, "best", first=0)
    expect(indexes(store.find(sought("regretted"))), [0], "the turn that was taken back")


def passages_can_be_made_anew(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "old", "kept")
    written(store, "other", session="another")
    passages = [Passage(text="new words"), Passage(text="more", error=True)]
    store.reindex(SESSION, [(1, passages), (2, [Passage(text="kept", who="user")]), (99, passages)])
    expect(list(store.find(sought("old"))), [], "what the session no longer has")
    expect(indexes(store.find(sought("new"))), [0], "what it has now")
    expect([each.who for each in store.find(sought("kept"))], ["user"], "whose words these are")
    expect(indexes(store.find(sought("more", errors=True))), [0], "errors")
    expect([each.session for each in store.find(sought("other"))], ["another"], "another session")
    expect(list(store.problems()), [], "problems")


def passages_are_counted(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "one", "two")
    written(store, "other", session="another")
    expect(dict(store.indexed(SESSION)), {1: 1, 2: 1}, "passages of each entry")
    store.reindex(SESSION, [(2, [Passage(text="a"), Passage(text="b")])])
    expect(dict(store.indexed(SESSION)), {1: 1, 2: 2}, "passages after a reindex")
    expect(dict(store.indexed("nowhere")), {}, "passages of a session that is not there")


def what_is_made_anew_stays_as_old_as_it_was(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "word")
    written(store, "word", session="newer", first=1)
    store.reindex(SESSION, [(1, [Passage(text="word")])])
    expect(indexes(store.find(Query())), [1, 0], "turns, newest first")


def _topic(*words: str) -> tuple[tuple[Phrase, ...], ...]:
    """Each word with its forms, `a|b`; `a b` stands side by side."""
    return tuple(tuple(map(phrase, forms.split("|"))) for forms in words)


def any_word_of_a_topic_will_do(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "we drop redis", "nothing of it", "redis was dropped", "drop it", "a.b of redis")
    about = Query(topic=_topic("drop|dropped", "redis", "zeppelin"))
    expect(sorted(indexes(store.find(about))), [0, 2, 3, 4], "turns with any of the words")
    expect(sorted(indexes(store.find(about))[:2]), [0, 2], "those with most of them first")
    sides = Query(topic=_topic("was dropped", "a b"))
    expect(sorted(indexes(store.find(sides))), [2, 4], "side by side")
    expect(list(store.find(Query(topic=_topic("zeppelin")))), [], "a word that nothing has")
    expect(list(store.find(Query(topic=_topic("->")))), [], "a word that is none")
    expect(len(store.find(Query(topic=_topic("redis"), limit=2))), 2, "two of them")
    begun = ((Phrase(words=("dropp",), prefix=True),),)
    expect(indexes(store.find(Query(topic=begun))), [2], "the beginning of a word")


def rare_words_of_a_topic_count_more(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "redis here", *["the cache"] * 9, "nothing")
    found = store.find(Query(topic=_topic("cache", "redis"), limit=5))
    expect(indexes(found)[0], 0, "the turn with the rare word")
    scores = [each.score for each in found]
    if scores != sorted(scores, reverse=True):
        raise Unfit(f"scores do not fall: {scores}")


def all_else_holds_of_a_topic(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "redis and too many files", "redis alone")
    added(store, turn(2, at=9), passages=[Passage(text="redis", who="user", error=True)])
    written(store, "redis", session="another")
    about = Query(topic=_topic("redis"), sessions=(SESSION,))
    expect(sorted(indexes(store.find(about))), [0, 1, 2], "of one session")
    expect(indexes(store.find(replace(about, phrases=(phrase("many files"),)))), [0], "a phrase")
    expect(indexes(store.find(replace(about, who="user"))), [2], "who said it")
    expect(indexes(store.find(replace(about, errors=True))), [2], "what failed")
    expect(indexes(store.find(replace(about, since=9))), [2], "when")
    expect(indexes(store.find(replace(about, first=1, last=1))), [1], "which turns")
    expect(list(fresh.store("stranger").find(replace(about, sessions=()))), [], "of a stranger")


def words_of_a_topic_count_for_the_whole_entry(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "redis here", "cache there")
    parts = [Passage(text="redis here"), Passage(text="cache there", start=10)]
    added(store, turn(2), passages=parts)
    written(store, *["something else"] * 5, first=3)
    found = store.find(Query(topic=_topic("redis", "cache")))
    expect(indexes(found)[0], 2, "the turn that has both, in two passages")
    expect(len(found), 3, "turns, each once")


def what_is_favoured_comes_first(fresh: Fresh) -> None:
    store = fresh.store()
    for index, failed in enumerate((True, False, False)):
        added(store, turn(index), passages=[Passage(text="redis " * (2 - index), error=failed)])
    about = Query(topic=_topic("redis"))
    expect(indexes(store.find(replace(about, favour=("failed",))))[0], 0, "what failed")
    expect(indexes(store.find(replace(about, favour=("recent",))))[0], 1, "the newest")


def a_giant_turn_hides_no_other_of_a_topic(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "redis", "redis")
    added(store, turn(2), passages=[Passage(text=f"redis {part}") for part in range(1_100)])
    found = store.find(Query(topic=_topic("redis")))
    expect(sorted(indexes(found)), [0, 1, 2], "turns")
