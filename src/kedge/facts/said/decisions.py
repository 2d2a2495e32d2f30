"""Choices that were made: by the user, in answers and words; by the agent, as it states them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.said.choices import Offer, answered_in, options_in
from kedge.facts.said.reasons import Stated, stated_in
from kedge.facts.said.rules import is_question
from kedge.facts.said.spoken import Said, said_in
from kedge.model import Decided, ToolCall, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line
from kedge.spoken import at_beginning, spoken

SHOWN = 240
"""Characters of a decision."""
KEY = 80
"""Characters of a key."""
SHORT = 280
"""Characters of a message in which a correction is most of what is said."""
SUBJECTS = 256
"""Things that were chosen or dropped, remembered to know what a later choice replaces."""
PLAN_TOOLS = frozenset({"exitplanmode", "planexit"})

APPROVED = "## Approved Plan"
"""Behind it a client repeats the plan that was approved."""

CHOOSES = (
    # English
    r"(?:let's|lets|i'll|i will|i'd like to|we'll|we) (?:just )?(?:go|proceed|stick|continue) with",
    r"(?:i think |i'd say )?(?:option|approach|number)? ?#?(?:\d{1,2}|[a-e]) "
    r"(?:is|seems|sounds|looks) (?:the |like |a )?(?:right|best|good|better|fine|correct)",
    r"i(?:'d| would)? (?:like|prefer|choose|pick|want|vote for) "
    r"(?:option|approach|the (?:first|second|third|last|former|latter)|number|#?\d)",
    r"(?:(?:choose|pick|take|do|implement|go with|use) )?(?:the )?"
    r"(?:option|approach|number) ?#?(?:\d{1,2}|[a-e])\b",
    r"i(?:'d| would)?(?: really| much)? prefer|(?:let's|lets) (?:use|keep|store|call|put|do it)",
    r"(?:no|nope|nah)[,.!]? (?:please )?(?:keep|use|leave|put|make|remove|revert|undo|do|just|don't"
    r"|the|it should|i think)",
    r"(?:so )?we (?:could|can|should) (?:just |also )?(?:use|keep|store)\b",
    r"we (?:do not|don't|dont) need|(?:please )?use .{1,80}? (?:instead of|rather than|not)\b",
)
"""Say which way to go."""
CORRECTS = (
    # English
    r"no\b|nope|wait|actually|instead|not like|don't|dont|i undid|i reverted|undo|revert",
    r"(?:the|it|this|that|they|we|you|there|\w+) (?:\w+ ){0,3}should(?:n't| not)?\b(?! (?:i|we)\b)",
    r"what i (?:actually )?(?:meant|want\w*)|i (?:meant|want(?:ed)?) |that's not",
)
"""Turn the agent away from what it has just written."""

_BEYOND = "in|for|on|at|when|because|since|so|to|as|from|if|and|but|then|there|here|now"
"""Behind what is left, begin something else."""
_CHOOSES, _CORRECTS = at_beginning(CHOOSES), at_beginning(CORRECTS)
_NUMBERS = re.compile(
    r"\W{0,3}(?:(?:ok|okay|yes|yeah|sure|let's|lets|do|go with|go for|i'll take|take|please|the"
    r"|i (?:think|like|prefer|choose|want)|implement|fix|use|address)[\s,]+){0,4}"
    r"(?P<first>(?:option|approach|number|item)s? #?(?:\d{1,2}|[a-e])|#?(?:\d{1,2}|(?-i:[A-E])))"
    r"(?P<more>(?:(?:,| and|, and| &|\+) ?#?(?:\d{1,2}|(?-i:[A-E]))){0,8})"
    r"(?=$|[\s,!:;]|\.\s*$)(?! (?:does|is)(?:n't| not)| won't| can't)",
    re.IGNORECASE,
)
"""Numbers or letters of options at the beginning of a message."""
_NUMBER = re.compile(r"\d{1,2}|\b[A-Ea-e]\b")
_INSTEAD = re.compile(
    r"(?:use|using|keep|prefer|take|want|go with|switch to|called?(?: it)?)\s+(?P<taken>.{1,80}?)"
    r",?\s+(?:instead of|rather than|not|over)\s+(?P<left>(?:[^,;!?.\s]|\.(?=\w)){1,60}"
    rf"(?: (?!(?:{_BEYOND})\b)(?:[^,;!?.\s]|\.(?=\w)){{1,40}}){{0,4}})",
    re.IGNORECASE,
)
"""One thing taken, another left."""
_KEEP = re.compile(r"(?:keep|use|stay with|stick (?:to|with))\s+(?P<taken>[^,.;!?\n]{1,60})", re.I)
_FOLDED = re.compile(
    r"\b(?:the|a|an|our|your|my|using|to|it|just|please)\b|[^\w./-]+", re.IGNORECASE
)
_HEADING = re.compile(r"^#{1,5} +(?:plan: *)?([^\n]{2,200})", re.MULTILINE | re.IGNORECASE)
_NO_WORDS = re.compile(r"\W+")


class DecisionExtractor:
    def __init__(self, setting: Setting) -> None:
        self._offer = Offer(-1, {})
        """What the last answer laid before the user."""
        self._edited = False
        """Whether the agent changed files since the user last spoke."""
        self._subjects: dict[str, str] = {}
        """What was taken or left in a choice, and that choice's key."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[Decided]:
        if turn.agent:
            return ()
        found: list[Decided] = []
        for said in said_in(turn):
            found += self._said(said, turn.index)
        for outcome in outcomes:
            found += self._called(outcome, turn.index)
            self._edited = self._edited or bool(outcome.changed)
        found += (
            self._by_agent(stated, turn.index)
            for stated in stated_in(turn.assistant_response, changed=self._edited)
        )
        if turn.assistant_response and (options := options_in(turn.assistant_response)):
            self._offer = Offer(turn.index, options)
        return found

    def _said(self, said: Said, turn: int) -> Iterator[Decided]:
        if said.way == "plan":
            yield _plan_approved(said.text, turn)
        if said.way not in ("prompt", "queued"):
            return
        chosen = self._chosen(said.text, turn)
        edited, self._edited = self._edited, False
        if chosen is not None:
            yield chosen
            return
        sentences = spoken(said.text)
        short = sum(len(one.plain) for one in sentences) <= SHORT
        for place, sentence in enumerate(sentences):
            if is_question(sentence.plain):
                continue
            if edited and short and place == 0 and _CORRECTS.match(sentence.plain):
                yield self._by_user(said.text, turn)
                return
            if _CHOOSES.match(sentence.plain):
                yield self._by_user(said.text[sentence.start : sentence.end], turn)

    def _chosen(self, words: str, turn: int) -> Decided | None:
        """Options of the last answer, by their numbers."""
        found = _NUMBERS.match(words.strip()) if len(words) <= SHORT else None
        if found is None or is_question(words):
            return None
        numbers = [number.upper() for number in _NUMBER.findall(found["first"] + found["more"])]
        taken = [self._offer.options[one] for one in numbers if one in self._offer.options]
        if not taken:
            return None
        others = [option for option in self._offer.options.values() if option not in taken]
        return Decided(
            turn=turn,
            by="user",
            key=f"offer t{self._offer.turn}",
            decision=cut(f"{one_line(words)}: {'; '.join(taken)}", SHOWN),
            rejected=cut("; ".join(others), SHOWN),
        )

    def _by_user(self, words: str, turn: int) -> Decided:
        text = one_line(words)
        key, left = self._subject(text)
        return Decided(turn=turn, by="user", key=key, decision=cut(text, SHOWN), rejected=left)

    def _by_agent(self, stated: Stated, turn: int) -> Decided:
        key, left = self._subject(stated.choice)
        return Decided(
            turn=turn,
            by="agent",
            key=key,
            decision=stated.choice,
            rationale=stated.reason,
            rejected=stated.rejected or left,
        )

    def _called(self, outcome: Outcome, turn: int) -> Iterator[Decided]:
        call, result = outcome.call, outcome.result
        if result is None:
            return
        if result.refused:
            if result.reason.strip() and not is_question(one_line(result.reason)):
                yield self._refused(call, result.reason, turn)
        elif call.verb == "ask" and result.success:
            if _NO_WORDS.sub("", call.tool).replace("_", "").casefold() in PLAN_TOOLS:
                plan = call.parameters.get("plan") or result.output.partition(APPROVED)[2]
                yield _plan_approved(plan if isinstance(plan, str) else "", turn)
            for one in answered_in(call, result):
                yield Decided(
                    turn=turn,
                    by="user",
                    key=_key(one.question),
                    decision=cut(f"{cut(one.question, SHOWN // 2)} {one.answer}", SHOWN),
                    rationale=cut(one.why, SHOWN),
                    rejected=cut("; ".join(one.others), SHOWN),
                )

    def _refused(self, call: ToolCall, reason: str, turn: int) -> Decided:
        text = one_line(reason)
        command = call.parameters.get("command", call.parameters.get("cmd"))
        about = command if isinstance(command, str) else call.filename() or _title(call)
        return Decided(
            turn=turn,
            by="user",
            key=self._subject(text)[0],
            decision=cut(text, SHOWN),
            rejected=cut(one_line(f"{call.tool} {about}"), SHOWN // 2),
        )

    def _subject(self, text: str) -> tuple[str, str]:
        """The key of a choice, and what it leaves. "Use A instead of B" is about whatever an
        earlier choice that took or left A or B was about."""
        found = _INSTEAD.search(text)
        taken = _key(found["taken"]) if found else ""
        left = _key(found["left"]) if found else ""
        if found is None and (kept := _KEEP.search(text)):
            taken = _key(kept["taken"]) if _key(kept["taken"]) in self._subjects else ""
        known = self._subjects.get(left) or self._subjects.get(taken)
        key = known or (f"instead of {left}" if left else _key(text))
        for name in filter(None, (taken, left)):
            self._subjects.pop(name, None)
            self._subjects[name] = key
        while len(self._subjects) > SUBJECTS:
            del self._subjects[next(iter(self._subjects))]
        return key, one_line(found["left"]) if found else ""


def _key(text: str) -> str:
    return " ".join(_FOLDED.sub(" ", text.casefold().replace("`", "")).split())[:KEY].strip()


def _title(call: ToolCall) -> str:
    """Of the plan that a call holds."""
    plan = call.parameters.get("plan")
    heading = _HEADING.search(plan) if isinstance(plan, str) else None
    return heading[1] if heading else ""


def _plan_approved(plan: str, turn: int) -> Decided:
    heading = _HEADING.search(plan)
    title = one_line(heading[1]) if heading else cut(first_sentence(plan), KEY)
    decision = f"plan approved: {title}" if title else "plan approved"
    return Decided(turn=turn, by="user", key=_key(decision), decision=cut(decision, SHOWN))
