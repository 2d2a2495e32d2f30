"""Choices that were made: by the user, in answers and words; by the agent, as it states them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.facts.said.choice_cues import (
    chooses,
    chooses_instead,
    corrects,
    points_back,
    takes_up,
)
from kedge.facts.said.choices import Offer, answered_in, chosen_in, options_in
from kedge.facts.said.kept import Kept, Replaced
from kedge.facts.said.proposals import answered, proposal_in
from kedge.facts.said.reasons import Doing, Stated, stated_in
from kedge.facts.said.rules import asks_for_work, is_question
from kedge.facts.said.spoken import Said, said_in
from kedge.facts.session.tool_names import is_served
from kedge.model import Decided, ToolCall, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line
from kedge.spoken import spoken

SHOWN = 240
"""Characters of a decision."""
LONG = 400
"""Characters of a decision that repeats what was proposed."""
ASKS = 300
"""Characters at the end of an answer in which it asks something."""
FILES = 8
"""Files that were changed since the user spoke, remembered: a correction names a few."""
KEY = 80
"""Characters of a key."""
SHORT = 280
"""Characters of a message in which a correction is most of what is said."""
SUBJECTS = 256
"""Things that were chosen or dropped, remembered to know what a later choice replaces."""
PLAN_TOOLS = frozenset({"exitplanmode", "planexit"})

APPROVED = "## Approved Plan"
"""Behind it a client repeats the plan that was approved."""

_BEYOND = "in|for|on|at|when|because|since|so|to|as|from|if|and|but|then|there|here|now"
"""Behind what is left, begin something else."""
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
        self._proposal = ""
        """What the last answer asked leave to do."""
        self._proposed_in = -1
        self._asked = False
        """Whether it ended with a question."""
        self._edited: dict[str, int] = {}
        """The files the agent changed since the user last spoke, with the turns."""
        self._kept = Kept()
        self._paths = Paths(setting.root)
        self._fix = ""
        """The key of what is to be done about something, until files are changed."""
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
        edits = any(outcome.changed for outcome in outcomes)
        doing = Doing(bool(self._edited) or edits, bool(turn.tool_calls), edits)
        found += (
            self._by_agent(stated, turn.index)
            for stated in stated_in(turn.assistant_response, doing)
        )
        for outcome in outcomes:
            found += (self._replaced(one, turn.index) for one in self._kept.replaced(outcome))
            changed = (self._paths.name(path) for path in outcome.changed[:FILES])
            self._edited.update(dict.fromkeys(changed, turn.index))
            self._fix = "" if outcome.changed else self._fix
        while len(self._edited) > FILES:
            del self._edited[next(iter(self._edited))]
        self._hear(turn)
        return found

    def _hear(self, turn: Turn) -> None:
        """What the agent laid before the user."""
        answer = turn.assistant_response
        self._proposal, self._proposed_in = proposal_in(answer), turn.index
        self._asked = "?" in answer[-ASKS:]
        if options := options_in(answer):
            self._offer = Offer(turn.index, options)

    def _said(self, said: Said, turn: int) -> Iterator[Decided]:
        if said.way == "plan":
            yield _plan_approved(said.text, turn)
        if said.way not in ("prompt", "queued"):
            return
        edited, self._edited, self._fix = self._edited, {}, ""
        chosen = self._chosen(said.text, turn) or self._agreed(said.text, turn)
        self._proposal = ""
        if chosen is not None:
            yield chosen
            return
        sentences = spoken(said.text)
        short = sum(len(one.plain) for one in sentences) <= SHORT
        for place, sentence in enumerate(sentences):
            words = said.text[sentence.start : sentence.end]
            if is_question(sentence.plain):
                continue
            if edited and short and place == 0 and corrects(sentence.plain):
                yield self._by_user(said.text, turn, edited)
                return
            taken_up = self._asked and place == 0 and takes_up(sentence.plain)
            named = bool(edited) or not points_back(sentence.plain)
            if named and (chooses(sentence.plain) or taken_up):
                yield self._by_user(words, turn, edited)

    def _chosen(self, words: str, turn: int) -> Decided | None:
        """Options of the last answer, by their numbers or their words."""
        options = self._offer.options
        numbers = chosen_in(words, options) if len(words) <= SHORT else []
        if not numbers or is_question(words):
            return None
        taken = [options[one] for one in numbers]
        others = [option for option in options.values() if option not in taken]
        told = one_line(words)
        if any(option not in told for option in taken):
            told = f"{told}: {'; '.join(taken)}"
        return Decided(
            turn=turn,
            by="user",
            key=f"offer t{self._offer.turn}",
            decision=cut(told, SHOWN),
            offered=self._offer.turn,
            rejected=cut("; ".join(others), SHOWN),
        )

    def _agreed(self, words: str, turn: int) -> Decided | None:
        """What the last answer asked leave to do, and got or did not get."""
        answer = answered(words) if self._proposal else ""
        said = spoken(words) if answer else []
        if not said or is_question(said[0].plain):
            return None
        key = _key(self._proposal)
        if answer == "no":
            short = said if len(words) <= SHORT else said[:1]
            own = list(takewhile(lambda one: not _asks(one.plain), short)) or said[:1]
            text = cut(one_line(words[: own[-1].end]), SHOWN)
            return Decided(
                turn=turn,
                by="user",
                key=key,
                decision=text,
                rejected=self._proposal,
                offered=self._proposed_in,
            )
        if len(words) > SHORT or any(is_question(one.plain) for one in said):
            return None
        text = cut(f"{one_line(words).rstrip(' .!')}: {self._proposal}", LONG)
        return Decided(turn=turn, by="user", key=key, decision=text, offered=self._proposed_in)

    def _by_user(self, words: str, turn: int, edited: Mapping[str, int]) -> Decided:
        text = one_line(words)
        key, left = self._subject(text)
        if points_back(text):
            left = left or _changes(edited)
        return Decided(turn=turn, by="user", key=key, decision=cut(text, SHOWN), rejected=left)

    def _by_agent(self, stated: Stated, turn: int) -> Decided:
        key, left = self._subject(stated.choice)
        self._kept.state(stated.choice, key)
        if stated.fix:
            key = self._fix = self._fix or key
        return Decided(
            turn=turn,
            by="agent",
            key=key,
            decision=stated.choice,
            rationale=stated.reason,
            rejected=stated.rejected or left,
        )

    def _replaced(self, one: Replaced, turn: int) -> Decided:
        """An edit shows that a choice of the agent's holds no longer."""
        now = f"`{one.now}` in {self._paths.name(one.path)}, not `{one.name}`"
        return Decided(turn=turn, by="tool", key=one.key, decision=now)

    def _called(self, outcome: Outcome, turn: int) -> Iterator[Decided]:
        call, result = outcome.call, outcome.result
        if result is None:
            return
        if result.refused:
            if chooses_instead(call.verb, result.reason):
                yield self._refused(call, result.reason, turn)
        elif call.verb == "ask" and result.success and not is_served(call):
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


def _asks(plain: str) -> bool:
    return asks_for_work(plain) or plain.endswith("?")


def _changes(edited: Mapping[str, int]) -> str:
    """What the agent has just changed."""
    turns = sorted(set(edited.values()))
    if not turns:
        return ""
    span = f"t{turns[0]}" if len(turns) == 1 else f"t{turns[0]}-{turns[-1]}"
    return f"the changes of {span} in {', '.join(edited)}"


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
