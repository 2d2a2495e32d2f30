"""Bugs in what is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kedgeline.store.sqlite.search import Named, forget_passages, write_passages
from kedgeline.store.values import Entry, Passage, Query, words
from tests.store.conformance.planted.core import Planted, altered, bug


def without(name: str, *fields: str) -> None:
    """A search that leaves out a part of the query."""
    default = Query()

    def find(self: Planted, query: Query) -> Any:
        left_out = {field: getattr(default, field) for field in fields}
        return self.inner.find(replace(query, **left_out))

    altered(name, find=find)


without("PhrasesLeftOut", "phrases")
without("FilesLeftOut", "files")
without("CommandsLeftOut", "commands")
without("SessionsLeftOut", "sessions")
without("SpeakerLeftOut", "who")
without("ErrorsLeftOut", "errors")
without("SinceLeftOut", "since")
without("UntilLeftOut", "until")
without("FirstLeftOut", "first")
without("LastLeftOut", "last")
without("LimitLeftOut", "limit")


def _word_by_word(self: Planted, query: Query) -> Any:
    """A phrase as words that stand anywhere."""
    phrases = [replace(each, words=(word,)) for each in query.phrases for word in each.words]
    return self.inner.find(replace(query, phrases=tuple(phrases)))


def _as_syntax(self: Planted, query: Query) -> Any:
    either = [
        replace(query, phrases=(replace(each, words=(part,)),))
        for each in query.phrases
        for text in each.words
        for part in text.split(" OR ")
    ]
    return [found for one in either or [query] for found in self.inner.find(one)]


def _anything_goes(self: Planted, query: Query) -> Any:
    """What cannot be read by the index is an error of the index."""
    if any('"' in word for phrase in query.phrases for word in phrase.words):
        raise ValueError('fts5: syntax error near """')
    return self.inner.find(query)


def _every_passage(self: Planted, query: Query) -> Any:
    found = self.inner.find(query)
    return [*found, *found][: query.limit]


def _few_candidates(self: Planted, query: Query) -> Any:
    """Only the newest passages are looked at, whichever turn they are from."""
    ((count,),) = self.sql("SELECT count(*) FROM passage")
    found = self.inner.find(query)
    return found[:1] if count > 2_000 else found


def _empty_phrase(self: Planted, query: Query) -> Any:
    phrases = (*query.phrases, *query.files)
    empty = any(not words(" ".join(each.words)) for each in phrases)
    return [] if empty else self.inner.find(query)


def _standing(self: Planted, query: Query) -> Any:
    """Turns that were taken back are not found."""
    return [
        each
        for each in self.inner.find(query)
        if each.number in {place.number for place in self.inner.places(each.session)}
    ]


altered("PhraseIsWords", find=_word_by_word)
altered("SyntaxIsRead", find=_as_syntax)
altered("SyntaxFails", find=_anything_goes)
altered("TurnFoundTwice", find=_every_passage)
altered("GiantHidesOthers", find=_few_candidates)
altered("EmptyPhraseFindsNothing", find=_empty_phrase)
altered("WorstFirst", find=lambda self, query: self.inner.find(query)[::-1])
altered(
    "OldestFirst",
    find=lambda self, query: sorted(
        self.inner.find(query), key=lambda each: (-each.score, each.session)
    ),
)
altered(
    "ByTheClock",
    find=lambda self, query: sorted(self.inner.find(query), key=lambda each: -each.at),
)
altered(
    "PrefixLeftOut",
    find=lambda self, query: self.inner.find(
        replace(query, phrases=tuple(replace(each, prefix=False) for each in query.phrases))
    ),
)
altered(
    "CaseCounts",
    find=lambda self, query: [
        each for each in self.inner.find(query) if each.start == 0 and each.index != 2
    ],
)
altered(
    "FieldForgotten",
    find=lambda self, query: [replace(each, field="") for each in self.inner.find(query)],
)
altered("OnlyStandingFound", find=_standing)


def _passages(change: Callable[[str], str]) -> Callable[..., Entry]:
    def add(self: Planted, writing: Any, entry: Entry, **more: Any) -> Entry:
        passages = more.pop("passages", ())
        changed = [Passage(**{**_fields(each), "text": change(each.text)}) for each in passages]
        written: Entry = writing.add(entry, passages=changed, **more)
        return written

    return add


def _fields(passage: Passage) -> dict[str, Any]:
    return {name: getattr(passage, name) for name in passage.__struct_fields__}


altered("OnlyAscii", add=_passages(lambda text: text.encode("ascii", "replace").decode()))
altered("NamesAreOneWord", add=_passages(lambda text: text.replace("/", "").replace(".", "")))
altered("PassageCutAtZero", add=_passages(lambda text: text.partition("\0")[0]))


@bug
class FilesInText(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        more["passages"] = [
            replace(each, text=f"{each.text} {each.files} {each.command}")
            for each in more.get("passages", ())
        ]
        return super().add(writing, entry, **more)


@bug
class ReindexAdds(Planted):
    forgets = False

    def reindex(self, session: str, passages: Any) -> None:
        named = Named(self.owner, session)
        with self.inner._held() as database:
            for number, new in passages:
                entry = self.inner.entry(session, number)
                if self.forgets:
                    forget_passages(database, named, number)
                if entry is not None:
                    write_passages(database, named, entry, new)


@bug
class ReindexedIsNewest(ReindexAdds):
    forgets = True


@bug
class CountsNoPassages(Planted):
    def indexed(self, session: str) -> Any:
        return {number: 1 for number in self.inner.indexed(session)}
