"""What a repository came to: commits, branches, pushes, pull requests, tags, tickets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.facts.repository.calls import Line, repository_line
from kedge.facts.repository.commits import Commits
from kedge.facts.repository.console import Console
from kedge.facts.repository.logs import newest_in, older_in
from kedge.facts.repository.outputs import Seen, seen_in
from kedge.facts.repository.tickets import (
    Ticket,
    tickets_in_branch,
    tickets_in_subject,
    tickets_in_words,
)
from kedge.model import Committed, SessionNoted, Speaker, Transcript, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence

REMEMBERED = 200
"""Tickets remembered, so that each is given once; the oldest are forgotten."""
SAID_SHOWN = 120
"""Characters of the sentence that names a ticket."""
DEEPEST = 3
"""Sub-agents of sub-agents that are followed."""
ELSEWHERE = frozenset({"commit", "push", "pull_request", "merge", "tag", "ticket"})
"""What counts wherever it happened: in another repository, or by a sub-agent, who may work in a
folder of its own."""

_Found = Committed | SessionNoted


class RepositoryExtractor:
    def __init__(self, setting: Setting) -> None:
        self._root = setting.root
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._branch = ""
        self._commits = Commits()
        self._console = Console(Paths(setting.root))
        self._tickets: dict[Ticket, str] = {}
        """With what was last said of them, the newest last."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[_Found]:
        for words in turn.user_words():
            about = cut(first_sentence(words), SAID_SHOWN)
            yield from self._named(tickets_in_words(words), turn.index, about, "user")
        self._commits.begin(turn.exchange)
        yield from self._by_client(turn, outcomes)
        for outcome in outcomes:
            yield from self._shown(outcome, turn.index, "tool")
            if (agent := self._agents.get(outcome.call.id)) is not None:
                yield from self._by_agent(agent, turn.index, DEEPEST)

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
                seen = Seen("commit", commit.name, commit.about)
                yield from self._fact(seen, turn.index, "tool", here=True)

    def _by_agent(self, agent: Transcript, turn: int, depth: int) -> Iterator[_Found]:
        for step in agent.turns:
            for outcome in self._outcomes(step):
                yield from self._shown(outcome, turn, "agent")
                inner = self._agents.get(outcome.call.id)
                if inner is not None and depth > 1:
                    yield from self._by_agent(inner, turn, depth - 1)

    def _shown(self, outcome: Outcome, turn: int, by: Speaker) -> Iterator[_Found]:
        line = repository_line(outcome, self._root)
        if line is None or line.place == "trial":
            return
        here = line.place == "here"
        own = here and by == "tool"
        for seen in (*seen_in(line), *newest_in(line)):
            if own and seen.what == "head":
                yield from self._again(line, turn)
            if own or seen.what in ELSEWHERE:
                yield from self._fact(seen, turn, by, here=here)

    def _again(self, line: Line, turn: int) -> Iterator[Committed]:
        """Commits of the session that a log shows behind the head with the hashes a rebase gave
        them, the oldest first."""
        for seen in reversed(list(older_in(line))) if self._commits.rewritten else ():
            if before := self._commits.renewed(seen):
                yield Committed(
                    turn=turn, what="commit", name=seen.name, about=seen.about, replaces=before
                )

    def _fact(self, seen: Seen, turn: int, by: Speaker, *, here: bool) -> Iterator[_Found]:
        if seen.what == "" or seen.what == "rewritten":
            self._commits.moved(seen)
        elif seen.what == "current" or seen.what == "branch":
            yield from self._on_branch(seen, turn)
        elif seen.what == "ticket" or seen.what == "pull_request":
            yield from self._named([Ticket(seen.what, seen.name)], turn, seen.about, by)
            yield from self._named(tickets_in_subject(seen.about), turn, seen.about, by)
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
                yield from self._named(tickets_in_subject(seen.about), turn, seen.about, by)

    def _on_branch(self, seen: Seen, turn: int) -> Iterator[_Found]:
        """A branch that the session is on and was not before."""
        if seen.name == self._branch:
            return
        if self._branch and seen.about != "created":
            self._commits.moved(Seen(""))
        self._branch = seen.name
        yield Committed(turn=turn, what="branch", name=seen.name, about=seen.about)
        yield SessionNoted(turn=turn, name="branch", value=seen.name)
        yield from self._named(tickets_in_branch(seen.name), turn, f"branch {seen.name}", "tool")

    def _named(
        self, tickets: Iterable[Ticket], turn: int, about: str, by: Speaker
    ) -> Iterator[Committed]:
        """Tickets that were not named before, or of which something else is said."""
        for named in tickets:
            ticket = self._in_full(named)
            known = self._tickets.pop(ticket, None)
            if known is None or (by != "user" and about not in ("", known)):
                yield Committed(turn=turn, by=by, what=ticket.what, name=ticket.name, about=about)
            self._tickets[ticket] = about or known or ""
            if len(self._tickets) > REMEMBERED:
                del self._tickets[next(iter(self._tickets))]

    def _in_full(self, ticket: Ticket) -> Ticket:
        """A number by the address it is known by, for a pull request has but one."""
        number = ticket.name.removeprefix("#")
        if ticket.what != "pull_request" or not number.isdigit():
            return ticket
        known = (one for one in self._tickets if one.name.endswith(f"/{number}"))
        return next((one for one in known if one.what == ticket.what), ticket)
