"""What a repository came to: commits, branches, pushes, pull requests, tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedgeline.facts.extractor import Recent, Setting, agent_turns
from kedgeline.facts.git_output import Console, Sighting, repository_line, seen_in
from kedgeline.facts.paths import Paths
from kedgeline.model import Committed, SessionNoted, Speaker, Turn
from kedgeline.shell import Outcome

NOTHING = Sighting("")
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
        self._newest = NOTHING
        """The newest commit, where it is known."""
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
                self._newest = Sighting("head", name, about)
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
        for seen in seen_in(line):
            if own or seen.what in ELSEWHERE:
                yield from self._fact(seen, turn, by, here=here)

    def _fact(self, seen: Sighting, turn: int, by: Speaker, *, here: bool) -> Iterator[_Found]:
        if seen.what == "":
            self._newest = NOTHING
        elif seen.what == "current" or seen.what == "branch":
            yield from self._on_branch(seen, turn)
        elif seen.what != "pull_request" or self._is_new(seen):
            own = here and seen.what in ("commit", "head")
            about, replaces = self._taken(seen) if own else (seen.about, "")
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
            self._newest = NOTHING
        self._branch = seen.name
        yield Committed(turn=turn, what="branch", name=seen.name, about=seen.about)
        yield SessionNoted(turn=turn, name="branch", value=seen.name)

    def _taken(self, seen: Sighting) -> tuple[str, str]:
        """The message of what is the newest commit now, as far as it is known, and the hash of the
        one it took the place of."""
        before, about = self._newest, seen.about
        if not about and seen.name and before.name.startswith(seen.name):
            about = before.about
        replaces = before.name if seen.amends else ""
        if seen.name.startswith(replaces) or replaces.startswith(seen.name):
            replaces = ""
        self._newest = seen._replace(about=about)
        return about, replaces
