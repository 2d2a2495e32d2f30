"""What a repository came to: commits, branches, pushes, pull requests, tags, tickets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.git_output import Console, Sighting, newest_in, repository_line, seen_in
from kedgeline.facts.paths import Paths
from kedgeline.model import Committed, SessionNoted, Speaker, Turn
from kedgeline.shell import Outcome
from kedgeline.text.prose import cut, first_sentence

# The commits that are known, and which of them another one took the place of.

MOST = 100
"""Commits remembered, the newest."""
NOTHING = Sighting("")


class Commits:
    """An amend takes the place of the newest commit; a rebase writes those of a branch anew, and
    what shows one later tells by its message which it is."""

    def __init__(self) -> None:
        self._newest = NOTHING
        """The newest commit, where it is known."""
        self._made = Recent[str, str](MOST)
        """Commits of the session by their messages."""
        self._old: dict[str, str] = {}
        """Those made before the last rebase, which have other hashes now."""

    def moved(self, *, rewritten: bool = False) -> None:
        """The newest commit is not known any more."""
        if rewritten:
            self._old = dict(self._made)
        self._newest = NOTHING

    def undone(self, head: Committed) -> None:
        for about in [about for about, name in self._made.items() if name == head.replaces]:
            del self._made[about]
        self._newest = Sighting("head", head.name, head.about)

    def take(self, seen: Sighting) -> tuple[str, str]:
        """The message of a commit, as far as it is known, and the hash of the one it replaces."""
        before, about, replaces = self._newest, seen.about, ""
        if not about and seen.name and before.name.startswith(seen.name):
            about = before.about
        if seen.amends:
            replaces = before.name
        elif seen.what == "head":
            replaces = self._old.pop(about, "")
        if seen.name.startswith(replaces) or replaces.startswith(seen.name):
            replaces = ""
        if (seen.what == "commit" or replaces) and seen.name and about:
            self._made.put(about, seen.name)
        self._newest = seen._replace(about=about)
        return about, replaces


# Tickets and pull requests that are named in words, by their shape.

LOOKED_AT = 8_000
"""Characters of a message: what stands behind is pasted."""
TICKETS_MOST = 6
"""Tickets of one message: more of them are a pasted list."""

_NUMBERED = re.compile(
    r"\b(?P<word>prs?|mrs?|pull requests?|merge requests?|issues?|tickets?|bugs?|gh"
    r"|(?:fix|close|resolve)(?:e?[sd])?|refs?)[ :]{1,2}#(?P<number>[1-9]\d{0,6})\b",
    re.IGNORECASE,
)
_URL = re.compile(
    r"https?://[\w.-]{1,100}/[\w./~-]{1,200}?/(?P<kind>issues|pull|merge_requests)/[1-9]\d{0,6}\b"
)
_FENCED = re.compile(r"^ {0,3}```[^\n]*\n.*?(?:^ {0,3}```|\Z)", re.MULTILINE | re.DOTALL)


_SHAPED = re.compile(
    r"(?<![\w.-])(?!(?:ISO|UTF|UCS|SHA|MD|RFC|HTTPS?|CVE|CWE|TLS|SSL|AES|RSA|UTC|GMT|PEP|IPV|IEEE|ASCII"
    r"|ES|TS|CSS|GPT|CLAUDE|GEMINI|JAVA|PYTHON|NODE|GO|ARM|AMD|STEP|PHASE|PART|LEVEL|TABLE|OPTION"
    r"|CASE|WEEK|DAY|ITEM|TODO|LINE|PAGE|VERSION|SPRINT|ERROR|PORT|TEST|RC|TOP|MAX|MIN)-)"
    r"[A-Z][A-Z0-9]{1,9}-[1-9]\d{1,5}(?![\w-])(?!\.\d)"
)
"""A ticket as trackers write it, and no norm, product or heading."""


class Ticket(NamedTuple):
    what: Literal["ticket", "pull_request"]
    name: str


def tickets_in(text: str) -> list[Ticket]:
    """What words or the title of a commit name, code blocks left out."""
    plain = _FENCED.sub(" ", text[:LOOKED_AT])
    found = [
        Ticket("ticket" if one["kind"] == "issues" else "pull_request", one[0])
        for one in _URL.finditer(plain)
    ]
    for one in _NUMBERED.finditer(plain):
        pull = one["word"].casefold().startswith(("pr", "mr", "pull", "merge"))
        found.append(Ticket("pull_request" if pull else "ticket", f"#{one['number']}"))
    found += (Ticket("ticket", one[0]) for one in _SHAPED.finditer(plain))
    return list(dict.fromkeys(found))[:TICKETS_MOST]


REMEMBERED = 200
"""Tickets remembered, so that each is given once; the oldest are forgotten."""
SAID_SHOWN = 120
"""Characters of the sentence that names a ticket."""
ELSEWHERE = frozenset({"commit", "push", "pull_request", "merge", "tag", "ticket"})
"""What counts wherever it happened: in another repository, or by a sub-agent, who may work in a
folder of its own."""

_Found = Committed | SessionNoted


class RepositoryExtractor:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._branch = ""
        self._commits = Commits()
        self._console = Console(Paths(setting.root, setting.checkouts))
        self._tickets = Recent[Ticket, str](REMEMBERED)
        """With what was last said of them, the newest last."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[_Found]:
        for words in turn.user_words():
            about = cut(first_sentence(words), SAID_SHOWN)
            yield from self._named(tickets_in(words), turn.index, about, "user")
        yield from self._by_client(turn, outcomes)
        for outcome in outcomes:
            yield from self._shown(outcome, turn.index, "tool")
            for _, results in agent_turns(self._setting, outcome):
                for inner in results:
                    yield from self._shown(inner, turn.index, "agent")

    def _by_client(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[_Found]:
        """Commits that the client itself made, or undid for the user."""
        for commit in self._console.see(turn, outcomes):
            if commit.undone:
                name, about = commit.head
                head = Committed(
                    turn=turn.index, what="head", name=name, about=about, replaces=commit.name
                )
                self._commits.undone(head)
                yield head
            else:
                seen = Sighting("commit", commit.name, commit.about)
                yield from self._fact(seen, turn.index, "tool", here=True)

    def _shown(self, outcome: Outcome, turn: int, by: Speaker) -> Iterator[_Found]:
        line = repository_line(outcome, self._setting.root)
        if line is None or line.place == "trial":
            return
        here = line.place == "here"
        own = here and by == "tool"
        for seen in (*seen_in(line), *newest_in(line)):
            if own or seen.what in ELSEWHERE:
                yield from self._fact(seen, turn, by, here=here)

    def _fact(self, seen: Sighting, turn: int, by: Speaker, *, here: bool) -> Iterator[_Found]:
        if seen.what == "" or seen.what == "rewritten":
            self._commits.moved(rewritten=seen.what == "rewritten")
        elif seen.what == "current" or seen.what == "branch":
            yield from self._on_branch(seen, turn)
        elif seen.what == "ticket" or seen.what == "pull_request":
            yield from self._named([Ticket(seen.what, seen.name)], turn, seen.about, by)
            yield from self._named(tickets_in(seen.about), turn, seen.about, by)
        else:
            own = here and seen.what in ("commit", "head")
            about, replaces = self._commits.take(seen) if own else (seen.about, "")
            yield Committed(
                turn=turn,
                by=by,
                what=seen.what,
                name=seen.name,
                about=about,
                replaces=replaces,
            )
            if seen.what == "commit":
                yield from self._named(tickets_in(seen.about), turn, seen.about, by)

    def _on_branch(self, seen: Sighting, turn: int) -> Iterator[_Found]:
        """A branch that the session is on and was not before."""
        if seen.name == self._branch:
            return
        if self._branch and seen.about != "created":
            self._commits.moved()
        self._branch = seen.name
        yield Committed(turn=turn, what="branch", name=seen.name, about=seen.about)
        yield SessionNoted(turn=turn, name="branch", value=seen.name)
        named = tickets_in(re.sub(r"[/_]|(?<=\d)-", " ", seen.name))
        yield from self._named(named, turn, f"branch {seen.name}", "tool")

    def _named(
        self, tickets: Iterable[Ticket], turn: int, about: str, by: Speaker
    ) -> Iterator[Committed]:
        """Tickets that were not named before, or of which something else is said."""
        for named in tickets:
            ticket = self._in_full(named)
            known = self._tickets.get(ticket)
            if known is None or (by != "user" and about not in ("", known)):
                yield Committed(turn=turn, by=by, what=ticket.what, name=ticket.name, about=about)
            self._tickets.put(ticket, about or known or "")

    def _in_full(self, ticket: Ticket) -> Ticket:
        """A number by the address it is known by, for a pull request has but one."""
        number = ticket.name.removeprefix("#")
        if ticket.what != "pull_request" or not number.isdigit():
            return ticket
        known = (one for one in self._tickets if one.name.endswith(f"/{number}"))
        return next((one for one in known if one.what == ticket.what), ticket)
