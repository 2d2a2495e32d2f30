"""What a decision about compacting is made from: sizes, and what became of earlier compactions."""

from __future__ import annotations

import msgspec

from kedge.model import Rates, Value
from kedge.planning.policy import POLICY, Policy, reached, within


class History(Value, frozen=True):
    """What happened since the last compaction. A living session folds its events into it."""

    turns_since: int = 0
    """Turns since the last compaction; from the start where there was none."""
    tokens_since: int = 0
    """Tokens those turns added."""
    anchor_since: str | None = None
    """Description of the newest anchor among those turns."""
    freed: int | None = None
    """Tokens the last compaction freed. None: there was none yet."""
    usable: int = 0
    """The usable window at the last compaction."""
    weak: int = 0
    """Weak compactions in a row; `Policy.weak` says which are."""
    failures: int = 0
    """Compactions that failed in a row."""
    turns_since_failure: int = 0

    def turn(self, tokens: int, *, anchor: str | None = None) -> History:
        """A turn was added, and maybe it is an anchor."""
        return msgspec.structs.replace(
            self,
            turns_since=self.turns_since + 1,
            tokens_since=self.tokens_since + tokens,
            anchor_since=anchor or self.anchor_since,
            turns_since_failure=self.turns_since_failure + 1,
        )

    def new_tokens(self, usable: int) -> int:
        """Tokens that came since the last compaction. What the window lost since then, as with a
        change to a smaller model, is as good a reason to try again as what came."""
        return self.tokens_since + max(0, self.usable - usable)

    def waited(self) -> History:
        """A request could not be sent, so there is no turn. The cool-down goes on counting:
        otherwise a session that is too large to be sent would never get its next try."""
        return msgspec.structs.replace(self, turns_since_failure=self.turns_since_failure + 1)

    def compacted(
        self, *, before: int, after: int, usable: int, policy: Policy = POLICY
    ) -> History:
        """A compaction was made, or found nothing to do (`after` is then `before`)."""
        freed = max(0, before - after)
        weak = freed < reached(policy.weak, usable) and after > within(policy.target, usable)
        return History(freed=freed, usable=usable, weak=self.weak + 1 if weak else 0)

    def failed(self) -> History:
        """A compaction failed and changed nothing."""
        return msgspec.structs.replace(self, failures=self.failures + 1, turns_since_failure=0)


class Signals(Value, frozen=True):
    """A session at one moment."""

    context_tokens: int
    """Of the conversation as it would be sent now: summary, turns, words that wait for an answer.
    Without `overhead`; cached tokens count as any other; never a sum over several calls."""
    window: int = 0
    """The model's context window in tokens. 0: not known."""
    overhead: int = 0
    """What the system prompt and the tools take."""
    max_output: int | None = None
    """The model's longest answer in tokens. None: not known."""
    session_tokens: int = 0
    """Spent by the session so far, over all its calls."""
    session_budget: int | None = None
    """What the session may spend in all. None or 0: no budget was given."""
    history: History = History()
    manual: bool = False
    """The user asks for a compaction now."""
    turns: int = 0
    """Of the session so far, those of earlier compactions included."""
    remaining_turns: int | None = None
    """Turns that are still to come. None: not known, as many as come in real sessions."""
    after: int | None = None
    """Tokens a compaction would leave. None: not planned, as much as one may leave."""
    rates: Rates | None = None
    """What the model's tokens cost. None: not known, weights of a typical provider."""
    caches: bool | None = None
    """Whether the provider caches what was sent before. None: it does, unless `rates` are known and
    have no price for it."""

    def usable(self, policy: Policy = POLICY) -> int:
        """The usable window in tokens; 0 where the window is not known or nothing is left of it."""
        if self.window <= 0:
            return 0
        return policy.usable(self.window, overhead=self.overhead, max_output=self.max_output)
