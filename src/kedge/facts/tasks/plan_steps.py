"""The steps of the plan that was approved last."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.facts.tasks.checklists import box_items
from kedge.facts.tasks.ledger import Item, Ledger, keyed
from kedge.facts.tasks.plans import approved_plan, checkboxes_in, is_plan_file, steps_in
from kedge.facts.tasks.rule import says_done
from kedge.model import TodoSet, Turn
from kedge.outcomes import Outcome

OPENING = 700
"""Characters in which a closing answer says that all is done."""
GIVEN_IN = 200
"""Characters in which a user's words say that a plan follows."""
LEFT_IN = 8_000
"""Characters of it in which it says what is left."""

_GIVEN = re.compile(
    r"\s{0,9}(?:please )?(?:implement|execute|carry out|follow) (?:the|this) "
    r"(?:following |approved )?plan\b[^\n]{0,40}:?\s*\n",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(step|task|phase|stage|milestone|part|batch)\s+\d{1,3}[a-z]?", re.IGNORECASE)
_DONE = r"(?:complete|completed|done|implemented|finished|in place|re-implemented)\b"
_ALL_DONE = re.compile(
    r"(?:^|[\n.!:*#] {0,3})(?:\*\*)?(?:"
    r"all done\b"
    r"|all (?:of )?(?:the |these )?(?:\d{1,3} )?(?:planned )?"
    r"(?P<of>changes|tasks|steps|phases|parts|items|work|pieces)(?: in the plan| of the plan)?"
    rf"(?: are| is| have been| has been| were)?(?: now)? (?:all )?{_DONE}"
    r"|(?:the )?(?:implementation|work)(?: is| has been)?(?: now)? (?:complete|completed|done)\b"
    r"|(?:the )?plan (?:is|has been)(?: now)? (?:fully )?(?:implemented|carried out|executed)\b"
    r"|(?:i've |i have )?(?:fully )?implemented the (?:whole |full |entire |complete )?plan\b"
    r"|(?:here's|here is) (?:a |the )?(?:\w{1,12} )?summary of (?:(?:all )?(?:the )?changes"
    r"|what was (?:implemented|done|added|changed|built))\b"
    r")",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:not (?:yet |been )?(?:done|implemented|completed?|finished|started)\b"
    r"|remaining (?:step|task|phase|work|item)|still (?:need|to do|missing|pending)|left to do"
    r"|to be done|(?:next|following) (?:phase|task)s?\b|(?:i|was|were|steps?|tasks?) skipped\b"
    r"|you(?:'ll| will)? (?:still |also |then )?(?:need|have) to|next steps|manual steps?|by hand"
    r"|(?:required|remaining) set-?up|before (?:this|it) works|deferred"
    r"|did(?:n't| not) (?:get to|implement|finish))",
    re.IGNORECASE,
)
"""Then not all is done, or that is not said."""


class PlanSteps:
    """A newly approved plan takes the place of the one before. The agent's own words complete a
    step: one by its label, or all when the closing answer says that all is done: of the exchange
    that carries the plan out, or in so many words ("all tasks are complete")."""

    def __init__(self) -> None:
        self._steps = Ledger(by="agent")
        self._written: tuple[Item, ...] = ()
        """Steps of the plan file that was written last: what is approved where the call that asks
        does not repeat it."""
        self._file = ""
        self._exchange = -1
        """The one in which the plan was given or approved: what is all done later is another
        matter."""

    def given(self, turn: Turn) -> Iterator[TodoSet]:
        """Plans that the client, or the user, gives the agent as its task."""
        plans = [note.text for note in turn.notes if note.kind == "plan"]
        if _GIVEN.match(turn.user_message[:GIVEN_IN]):
            plans.append(turn.user_message)
        for plan in plans:
            self._exchange = turn.exchange
            yield from self._steps.replace(turn.index, _items(plan))

    def take(self, turn: Turn, outcome: Outcome) -> Iterator[TodoSet]:
        plan = approved_plan(outcome)
        if plan is not None:
            self._exchange = turn.exchange
            yield from self._steps.replace(turn.index, _items(plan) if plan else self._written)
        elif outcome.call.verb in ("write", "edit") and outcome.success:
            self._remember(outcome)

    def told(self, turn: Turn) -> Iterator[TodoSet]:
        """What the agent says is done."""
        words = turn.assistant_response
        if not words or not len(self._steps):
            return
        done = "" if turn.tool_calls else _all_done(words)
        here = turn.exchange == self._exchange
        for step in self._steps.open():
            label = _LABEL.match(step.text)
            named = label is not None and done == f"{label[1].casefold()}s"
            if (done and here) or named or says_done(label[0] if label else step.text, words):
                yield from self._steps.put(turn.index, step._replace(status="completed"))

    def _remember(self, outcome: Outcome) -> None:
        path = next((path for path in outcome.call.paths() if is_plan_file(path)), "")
        content = outcome.call.parameters.get("content")
        if path and outcome.call.verb == "write" and isinstance(content, str):
            self._written, self._file = tuple(_items(content)), path[:400]
        elif path and path[:400] == self._file:
            self._written = ()


def _items(plan: str) -> Iterator[Item]:
    for place, (key, text) in enumerate(keyed(steps_in(plan), "plan: ")):
        yield Item(key, text, "pending", place, "plan")
    yield from box_items(checkboxes_in(plan), "plan: [] ")


def _all_done(answer: str) -> str:
    """What an answer says all of is done, or nothing: a word such as `tasks`, else `all`."""
    said = _ALL_DONE.search(answer.lstrip()[:OPENING])
    if said is None or _LEFT.search(answer[:LEFT_IN]):
        return ""
    return (said["of"] or "all").casefold()
