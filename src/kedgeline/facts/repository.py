"""What a repository came to: commits, branches, pushes, pull requests, tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.git_output import Console, Sighting, newest_in, repository_line, seen_in
from kedgeline.facts.paths import Paths
from kedgeline.model import Committed, SessionNoted, Speaker, Turn
from kedgeline.shell import Outcome

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


REMEMBERED = 50
"""Pull requests remembered, so that one that is edited is given once."""
ELSEWHERE = frozenset({"commit", "push", "pull_request", "merge", "tag"})
"""What counts wherever it happened: in another repository, or by a sub-agent, who may work in a
folder of its own."""

_Found = Committed | SessionNoted


class RepositoryExtractor:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._branch = ""
        self._commits = Commits()
        self._pulls = Recent[str, str](REMEMBERED)
        """Pull requests that were given, with their titles."""
        self._console = Console(Paths(setting.root, setting.checkouts))

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[_Found]:
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
        elif seen.what != "pull_request" or self._is_new(seen):
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

    def _is_new(self, pull: Sighting) -> bool:
        known = self._pulls.get(pull.name)
        self._pulls.put(pull.name, pull.about or known or "")
        return known is None or pull.about not in ("", known)

    def _on_branch(self, seen: Sighting, turn: int) -> Iterator[_Found]:
        """A branch that the session is on and was not before."""
        if seen.name == self._branch:
            return
        if self._branch and seen.about != "created":
            self._commits.moved()
        self._branch = seen.name
        yield Committed(turn=turn, what="branch", name=seen.name, about=seen.about)
        yield SessionNoted(turn=turn, name="branch", value=seen.name)
