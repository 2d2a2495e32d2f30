"""Choices that were made: by the user, in answers and words; by the agent, as it states them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.files.paths import Paths
from kedgeline.facts.said.questions import answer_in_json
from kedgeline.facts.said.reasons import Doing, Stated, answered, proposal_in, stated_in
from kedgeline.facts.said.requests import Said, said_in
from kedgeline.facts.said.rules import asks_for_work, is_question, is_rule
from kedgeline.facts.session import EXIT_PLAN, plain_name
from kedgeline.facts.tasks.plans import APPROVED
from kedgeline.model import Decided, ToolCall, ToolResult, Turn
from kedgeline.outcomes import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line
from kedgeline.text.spoken import at_beginning, spoken

# How a user's words choose, correct, or refuse and say what is to be done instead.

REASON = 2_000
"""Characters of the words that refuse a call."""
_NAMELESS = r"(?!(?:this|that|these|those|it|them)\b)"
"""What points at something else names no subject."""
_OPTION = r"(?:option|approach|number) ?#?(?:\d{1,2}|[a-e])"
CHOOSES = (
    r"(?:let's|lets|i'll|i will|i'd like to|we'll|we will|we) (?:just )?(?:go|stick|stay)"
    rf" with {_NAMELESS}\w+",
    rf"(?:let's|lets|we'll|we will|i'll) (?:just )?(?:use|keep|store|call|put|take) {_NAMELESS}\w+",
    r"(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chose|chosen|picked|opted)\b"
    r"|(?:final )?decision(?: is)?[:—–-]",
    r"(?:i think |i'd say )?(?:option|approach|number)? ?#?(?:\d{1,2}|[a-e]) "
    r"(?:is|seems|sounds|looks) (?:the |like |a )?(?:right|best|good|better|fine|correct)",
    r"i(?:'d| would)? (?:like|prefer|choose|pick|want|vote for) "
    r"(?:option|approach|the (?:first|second|third|last|former|latter)\b|number|#?\d(?=\W*$))",
    rf"(?:(?:choose|pick|take|do|implement|go with|use) )?(?:the )?{_OPTION}"
    r"(?=\s*(?:[,.!;:]|$|please|for\b)| (?:doesn't|won't|can't|does not) work)",
    r"i(?:'d| would)?(?: really| much)? prefer",
    r"(?:no|nope|nah)[,.!]? (?:please )?(?:keep|use|leave|put|make|remove|revert|undo|do|just|don't"
    r"|the|it should|i think)",
    r"we (?:do not|don't|dont) need"
    r"|(?:(?:please|can we|can you|could we|could you) ){0,2}use .{1,80}?"
    r" (?:instead of|rather than|not)\b",
)
"""Say which way to go."""
TAKES_UP = (
    r"(?:let's|lets|let us) (?:just )?(?:rename|drop|skip|remove|make (?!sure)|merge|split|switch"
    r"|replace|move|leave|delete|revert|change|implement|take|have|set)",
)
"""The same, where the agent asked."""
STALLS = (
    r"wait|stop|hold on|hang on|one (?:question|moment|sec)|(?:let's|lets) (?:talk|discuss)",
    r"(?:i'll|i will|let me) (?:take|do|handle|fix|run|check|look|think|test|try)\b",
    r"(?:can|could) (?:you|we) (?:explain|check|clarify|tell)\b",
)
"""Refuse a call and choose nothing."""
CORRECTS = (
    r"no\b|nope|wait|actually|instead|not like|i undid|i reverted|undo|revert",
    r"(?:but )?(?:the|it|this|that|they|we|you|there|\w+) (?:\w+ ){0,3}should\b.*(?:,|\.) not\b",
    r"what i (?:actually )?(?:meant|want\w*)|i (?:meant|want(?:ed)?) |that's not",
)
"""Turn the agent away from what it has just written."""

_POINTS_BACK = re.compile(
    r"(?:remove|revert|undo|drop|delete|take out|kill) (?:this|that|it|them|these|those)\b", re.I
)
"""Takes back what "this" stands for, and does not say what it is."""

_CHOOSES, _CORRECTS = at_beginning(CHOOSES), at_beginning(CORRECTS)
_NO = at_beginning((r"no|nope",))
_TAKES_UP, _STALLS = at_beginning(TAKES_UP, ending=""), at_beginning(STALLS)


def points_back(text: str) -> bool:
    """Whether words take back something that they do not name."""
    return _POINTS_BACK.search(text) is not None


def chooses_instead(verb: str, reason: str) -> bool:
    """Whether the words that refuse a call say what is to be done instead. Of a command they must
    say a rule or a choice: else only this command was not wanted."""
    said = [one.plain for one in spoken(reason[:REASON])]
    if not said or _STALLS.match(said[0]) or any(map(is_question, said)):
        return False
    if verb in ("edit", "write", "ask") or (_NO.match(said[0]) and len(said) > 1):
        return True
    return any(is_rule(one) or _CHOOSES.match(one) for one in said)


# Choices a user made among what was offered: answered questions, options of an answer.

LOOKED_AT = 8_000
"""Characters of an answer, from its end, in which options are looked for."""
MOST_OPTIONS = 9
OPTION = 120
"""Characters of an option that are said again."""
MOST_QUESTIONS = 8
"""Questions of one call."""


class Answered(NamedTuple):
    question: str
    answer: str
    others: tuple[str, ...] = ()
    """The options that were not taken."""
    why: str = ""
    """What the option was described with when it was offered."""


class Offer(NamedTuple):
    """Options that an answer laid before the user."""

    turn: int
    options: dict[str, str]
    """By number or letter."""


_NUMBERED = re.compile(
    r"^[ \t]{0,6}(?:[-*] |#{1,5} )?(?:\*\*)?(?P<named>[Oo]ption |[Aa]pproach )?"
    r"(?P<number>\d{1,2}|(?-i:[A-I]))(?:[.):]|(?:\*\*)?[ \t]{0,2}[—–:-])[ \t]{0,3}"
    r"(?P<text>[^\n]{2,400})",
    re.MULTILINE,
)
QUOTED = 24
"""Characters of an option's beginning by which its words are known again."""
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
_WHY = re.compile(
    r"^#{1,6} (?:context|problem|background|why|motivation|goal)\b[^\n]*\n\s*([^\n#]{20,600})",
    re.IGNORECASE | re.MULTILINE,
)
"""What a plan says of its reason."""
_MARKS = re.compile(r"[*`#]{1,80}")
_CODE = re.compile(r"^```.*?^[ \t]*```[^\n]*$", re.DOTALL | re.MULTILINE)
_ANSWER_END = re.compile(r"\"(?:, \"|\. (?:You can now|Take|The user)|\.?\s*$)")


def answered_in(call: ToolCall, result: ToolResult) -> Iterator[Answered]:
    """What the user answered to a tool that asks; clients write it down in two ways."""
    questions = call.parameters.get("questions")
    asked = (
        [one for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []
    )
    for place, one in enumerate(asked[:MOST_QUESTIONS]):
        question = _string(one.get("question"))
        answer = _answer(question, place, one, result.output)
        if not question or not answer:
            continue
        offered = dict(_offered(one))
        chosen = {label for label in offered if label in answer}
        if offered and not chosen and (len(answer) > OPTION or "\n" in answer):
            continue  # it tells something, and chooses nothing
        others = (
            tuple(label for label in offered if label not in chosen) if chosen else tuple(offered)
        )
        why = next((offered[label] for label in chosen), "") if len(chosen) == 1 else ""
        yield Answered(one_line(question), one_line(answer), others, one_line(why))


def _answer(question: str, place: int, asked: dict[str, Any], output: str) -> str:
    quoted = f'"{question}"="'
    if (start := output.find(quoted)) >= 0:
        start += len(quoted)
        end = _ANSWER_END.search(output, start)
        return output[start : end.start() if end else len(output)]
    return answer_in_json(output[:LOOKED_AT], (asked.get("id"), str(place), question))


def _offered(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    options = asked.get("options")
    for option in options[:MOST_OPTIONS] if isinstance(options, list) else ():
        if isinstance(option, str):
            yield option, ""
        elif isinstance(option, dict) and (label := _string(option.get("label"))):
            yield label, _string(option.get("description"))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def options_in(answer: str) -> dict[str, str]:
    """The options an answer ends with, by number or letter: the last list that begins with the
    first. Where some are called options, only these are."""
    if not ("2" in answer or "B" in answer):
        return {}
    text = _CODE.sub("", answer[-LOOKED_AT:])
    rows = [
        (row["number"].upper(), row["text"], bool(row["named"])) for row in _NUMBERED.finditer(text)
    ]
    if any(named for _, _, named in rows):
        rows = [row for row in rows if row[2]]
    found: dict[str, str] = {}
    for number, words, _ in rows:
        if number in ("1", "A"):
            found = {}
        found.setdefault(number, cut(_MARKS.sub("", one_line(words)).strip(" :—–-"), OPTION))
    return dict(list(found.items())[:MOST_OPTIONS]) if len(found) > 1 else {}


def chosen_in(words: str, options: dict[str, str]) -> list[str]:
    """The numbers of the options that words choose: by number, or by repeating one."""
    if found := _NUMBERS.match(words.strip()):
        named = (number.upper() for number in _NUMBER.findall(found["first"] + found["more"]))
        if numbers := [number for number in named if number in options]:
            return numbers
    lowered = one_line(words).casefold()
    repeated = [
        number
        for number, option in options.items()
        if len(option) >= QUOTED and option[:QUOTED].casefold() in lowered
    ]
    return repeated if len(repeated) == 1 else []


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
        self._paths = Paths(setting.root)
        self._fix = ""
        """The key of what is to be done about something, until files are changed."""
        self._subjects = Recent[str, str](SUBJECTS)
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
        doing = Doing(bool(self._edited) or edits, bool(turn.tool_calls))
        found += (
            self._by_agent(stated, turn.index)
            for stated in stated_in(turn.assistant_response, doing)
        )
        for outcome in outcomes:
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
            yield from _plan_approved(said.text, turn)
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
            if edited and short and place == 0 and _CORRECTS.match(sentence.plain):
                yield self._by_user(said.text, turn, edited)
                return
            taken_up = self._asked and place == 0 and _TAKES_UP.match(sentence.plain)
            named = bool(edited) or not points_back(sentence.plain)
            if named and (_CHOOSES.match(sentence.plain) or taken_up):
                before = said.text[: sentence.start] if short else ""
                why = one_line(f"{before} {said.text[sentence.end :]}")
                yield self._by_user(words, turn, edited, cut(why, SHORT))
                if short:
                    return

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

    def _by_user(self, words: str, turn: int, edited: Mapping[str, int], why: str = "") -> Decided:
        """`why` is what else the message says: the reason stands there, if anywhere."""
        text = one_line(words)
        key, left = self._subject(text)
        if points_back(text):
            left = left or _changes(edited)
        told = cut(text, SHOWN)
        return Decided(turn=turn, by="user", key=key, decision=told, rationale=why, rejected=left)

    def _by_agent(self, stated: Stated, turn: int) -> Decided:
        key, left = self._subject(stated.choice)
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

    def _called(self, outcome: Outcome, turn: int) -> Iterator[Decided]:
        call, result = outcome.call, outcome.result
        if result is None:
            return
        if result.refused:
            if chooses_instead(call.verb, result.reason):
                yield self._refused(call, result.reason, turn)
        elif call.verb == "ask" and result.success:
            if plain_name(call) in EXIT_PLAN:
                plan = call.parameters.get("plan") or result.output.partition(APPROVED)[2]
                yield from _plan_approved(plan if isinstance(plan, str) else "", turn)
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
            self._subjects.put(name, key)
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


def _plan_approved(plan: str, turn: int) -> Iterator[Decided]:
    heading = _HEADING.search(plan)
    title = one_line(heading[1]) if heading else cut(first_sentence(plan), KEY)
    if title:
        decision = f"plan approved: {title}"
        why = _WHY.search(plan)
        yield Decided(
            turn=turn,
            by="user",
            key=_key(decision),
            decision=cut(decision, SHOWN),
            rationale=cut(first_sentence(why[1]), SHOWN) if why else "",
        )
