"""What was chosen, in the words it was said in: answers to questions of tools, the user's replies
to what the agent offered or did, plans that were approved, choices the agent says it makes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from kedgeline.facts.choices import (
    ABOUT,
    KEY,
    MOST,
    decided,
    is_choice,
    key_of,
    left_out,
    pair_key,
    stated_in,
    taken_up,
)
from kedgeline.facts.extractor import EXIT_PLAN, Setting, plain_name
from kedgeline.facts.paths import Paths
from kedgeline.facts.questions import OPTION, SHOWN, put_by
from kedgeline.facts.requests import Utterance, said_in
from kedgeline.facts.rules import is_question, stems
from kedgeline.facts.statements import Piece, ends_of, pieces_of, without_folded
from kedgeline.facts.todos import APPROVED, plan_title
from kedgeline.model import Decided, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.text.prose import announces, cut, first_sentence, one_line, sentences
from kedgeline.text.spoken import anywhere, at_beginning, spoken

LOOKED_AT = 8_000
"""Characters of an answer, from its end, in which options are looked for."""

# Options that an answer ends with, and the numbers by which the user takes some.

QUOTED = 24
"""Characters of an option by which it is known again in the user's words."""
_NUMBERED = re.compile(
    r"^[ \t]{0,6}(?:[-*] |#{1,5} )?(?:\*\*)?(?P<named>(?i:option|approach|issue|finding) )?"
    r"(?P<number>\d{1,2}|(?-i:[A-I]))(?:[.):]|(?:\*\*)?[ \t]{0,2}[—–:-])[ \t]{0,3}"
    r"(?P<text>[^\n]{2,400})",
    re.MULTILINE,
)
_MARKS = re.compile(r"[*`#]{1,80}")
_CODE = re.compile(r"^```.*?(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_NUMBERS = re.compile(
    r"\W{0,3}(?:(?:ok|okay|yes|yeah|sure|let's|lets|do|go with|go for|i'll take|take|please|the"
    r"|(?:can|could) you"
    r"|i (?:think|like|prefer|choose|want)|implement|fix|use|address)[\s,]+){0,4}"
    r"(?P<first>(?:option|approach|number|item|issue|point|suggestion|comment|finding)s? "
    r"#?(?:\d{1,2}|[a-e])|#?(?:\d{1,2}|(?-i:[A-E])))"
    r"(?P<more>(?:(?:,| and|, and| &|\+) ?#?(?:\d{1,2}|(?-i:[A-E]))){0,8})"
    r"(?=$|[\s,!:;]|\.\s*$)(?! (?:does|is)(?:n't| not)| won't| can't)",
    re.IGNORECASE,
)
"""Numbers or letters of options at the beginning of a message."""
_WITH_NUMBER = re.compile(
    r"\b(?:with|use|using|do|take|prefer|choose|like) (?:the )?(?P<first>(?:option|approach) #?"
    r"(?:\d{1,2}|[a-e])\b)(?P<more>)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,2}|\b[A-Ea-e]\b")
_CALLED = re.compile(r"\b(?=[\w-]{0,40}\d)[\w-]{4,40}\b")
"""A name with digits: of a flight, a card, a ticket."""


def options_in(answer: str) -> dict[str, str]:
    """The options an answer ends with, by number or letter: the last list that begins with the
    first. Where some are called options, only these are."""
    if not ("2" in answer or "B" in answer):
        return {}
    rows = [*_NUMBERED.finditer(_CODE.sub("", answer)[-LOOKED_AT:])]
    rows = [row for row in rows if row["named"]] or rows
    found: dict[str, str] = {}
    for row in rows:
        number = row["number"].upper()
        if number in ("1", "A"):
            found = {}
        text = _MARKS.sub("", one_line(row["text"])).strip(" :—–-")
        found.setdefault(number, cut(text, OPTION))
    return found if 1 < len(found) < 10 else {}


def chosen_in(words: str, options: Mapping[str, str]) -> list[str]:
    """The numbers of the options that words choose."""
    if not options:
        return []
    if said := [one for one, text in options.items() if len(text) >= QUOTED and text in words]:
        return said  # in its own words
    found = _NUMBERS.match(words.strip()) or _WITH_NUMBER.search(words)
    named = _NUMBER.findall(found["first"] + found["more"]) if found else []
    numbers = [number.upper() for number in named]
    return [number for number in numbers if number in options]


def _called_in(words: str, options: Mapping[str, str]) -> list[str]:
    """The options that words call by a name with digits which no other option has."""
    names = {number: set(_CALLED.findall(text)) for number, text in options.items()}
    every = Counter(name for found in names.values() for name in found)
    said = {name for name in _CALLED.findall(words) if every[name] == 1}
    return [number for number, found in names.items() if found & said]


# What of an answer a short reply is about, quoted.

BEHIND = 2
"""Sentences that may stand behind the question: they say more of what is proposed."""
_WAITS = re.compile(
    r"\?$|\b(?:please (?:confirm|let me know|choose|tell me|provide)"
    r"|let me know (?:if|which|what))\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:this|that|these|those|them|it|its|so|either|any|both|here|one|ones|above|again"
    r"|(?:which|the) (?:option|approach|way|change|fix)s?|proceed|go ahead|correct|right)\b",
    re.IGNORECASE,
)
"""Stands for what was said before."""
_NAMED = re.compile(r"`|\w[_./]\w|\w\(\)|[a-z][A-Z]|\b[A-Z]{2,}\d|[\"“]|(?<=[a-z,] )[A-Z][a-z]{2,}")
"""Names in a sentence: code, paths, quotes, capitals within it."""


def asked_at_end(answer: str) -> str:
    """The question an answer closes with, with as much before it as says what it is about."""
    pieces = _prose(answer[-4 * LOOKED_AT :])
    for place in range(len(pieces) - 1, max(-1, len(pieces) - 2 - BEHIND), -1):
        if _WAITS.search(pieces[place].text):
            return _leading_to(pieces, place)
    return ""


def offered_in(answer: str) -> str:
    """The last sentence of an answer that proposes something without asking."""
    offers = [piece.text for piece in _prose(answer) if _OFFERS.search(piece.text)]
    return cut(offers[-1], ABOUT) if offers else ""


def _prose(text: str) -> list[Piece]:
    """The pieces of a text; of code only what introduces it."""
    pieces = (
        Piece(piece.head) if piece.code else piece for piece in pieces_of(without_folded(text))
    )
    return [piece for piece in pieces if piece.text]


def _leading_to(pieces: Sequence[Piece], place: int) -> str:
    """A question with what is said behind it and, where it does not name its subject, before it:
    the list or the sentences above it, else how the answer begins."""
    told = " ".join(piece.text for piece in pieces[place:])
    if _NAMED.search(told) and not _POINTS.search(pieces[place].text):
        return cut(told, ABOUT)
    head = pieces[place - 1].head if place else ""
    start, room = place, ABOUT - len(told) - len(head)
    while start and pieces[start - 1].head == head and room > len(pieces[start - 1].text):
        start -= 1
        room -= len(pieces[start].text) + 2
    before = " ".join(_ends(piece.text) for piece in pieces[start:place])
    if head and start and pieces[start - 1].head == head:  # the list is too long
        head = before = ""
    told = " ".join(part for part in (head, before, told) if part)
    first = conclusion_of(pieces)
    if first and first not in told and (len(before) < OPTION // 2 or not _NAMED.search(told)):
        told = f"{first} … {told}"
    return cut(told, ABOUT + OPTION)


def _ends(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text};"


def conclusion_of(pieces: Sequence[Piece]) -> str:
    """The first sentence of an answer that says something; of one that begins by announcing what
    it will do, the last."""
    said = [piece.head if piece.head.endswith(":") else piece.text for piece in pieces]
    if pieces and announces(pieces[0].text):
        said = [text for text in reversed(said) if not text.endswith("?")]
    told = (text for text in said if len(text) >= OPTION // 4 and not announces(text))
    return cut(next(told, "").rstrip(":"), ABOUT // 2)


# The user's replies.

SHORT = 300
"""Characters of a message in which a reply is most of what is said."""
_ASKS_TO_LOOK = re.compile(
    r"\byou (?:please )?(?:check|tell|find|look|show|confirm|explain|try|see|let me|provide|give"
    r"|help|still)\b",
    re.IGNORECASE,
)
SHARED = 3
"""Words that a reply shares with the question whose choice it takes up."""
_YES = at_beginning(
    (
        r"yes|yep|yeah|yup|y|please do|go ahead(?! and)|do (?:it|that|so|this)|sounds good|agreed",
        r"exactly|(?:let's|lets) do (?:it|that|this)|good idea|makes sense|approved|lgtm|correct",
        r"(?:that|this) works",
    )
)
"""Agree, whatever follows."""
_FINE = re.compile(
    r"(?:(?:ok|okay|sure|great|perfect|good|fine|cool|nice|alright|please|thanks|thank you|then"
    r"|that)[\s,.!]{0,3}){1,4}",
    re.IGNORECASE,
)
"""Agree where nothing follows: else they only open the next request."""
_NO = at_beginning((r"no|nope|nah|not (?:now|yet)|don't|do not|rather not|please don't",))
_ROUTINE = re.compile(
    r"(?:would you like|do you want|want)(?: me| us)? to (?P<a>.*)"
    r"|(?:shall|should|may|can|ready to|ready for me to)(?: (?:i|we))?(?: go ahead and)? (?P<b>.*)",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?:(?:also|now|just|go ahead and|proceed (?:with|to)|start|continue with) ){0,3}"
    r"(?:commit\w*|push\w*|stag(?:e|ing)|amend\w*|run(?:ning)?|re-?run|tag\w*|rebas\w+|publish\w*"
    r"|merge (?:it|this|the (?:pr|pull|branch))|open (?:a|the|it)|explain|elaborate|show|help"
    r"|adjust|anything|do anything|get more|know|clarify|see|check|look at|review)\b"
    r"|(?:create|draft|make|update) (?:a |the |an? new )?(?:pr|pull request|commit|branch)\b",
    re.IGNORECASE,
)
"""Steps of any work, and offers to talk: agreeing to them decides nothing."""
_CHOOSES = anywhere(
    (
        r"instead|rather|prefer|no need (?:to|for)|(?:we|you|it|i) (?:don'?t|do not) (?:need|want)",
        r"(?:don'?t|do not|never|stop) (?:use|add|change|modify|touch|remove|include|put|make|do)",
        r"(?:just|only|let'?s|we(?:'ll| can| will)?|i(?:'ll| will|'d like to| would like to| want"
        r" to)|please|can you|and|then) (?:also )?"
        r"(?:keep|leave|skip|drop|stick|stay|go (?:with|for)|choose)",
        r"(?:let'?s|i'll|we'll|we) (?:just |also )?(?:use|delete|remove|apply)"
        r"|keep (?:it|this|that|the)",
        r"should(?:n'?t| not| also| only| always)?"
        r" (?:be|stay|use|have|check|keep|show|return|handle|say|go|contain|not)"
        r"(?! (?:good|ok|okay|fine|able|ready|done|under|been|happen))",
        r"(?:is|are|was) (?:fine|the right|better|enough|too (?:much|risky|big))|i chose",
        r"(?:remove|revert|undo) (?:it|this|that|these|those)|as is|(?:not in|out of) scope",
    )
)
"""Words with which a short message of the user's settles how something is to be."""
_OFFERS = re.compile(r"\byou (?:can|could|should)\b|\bi(?:'d| would) (?:suggest|recommend)\b", re.I)
"""How an answer proposes without asking."""
_ORDERS = re.compile(r"(?:can|could|would|will|please)\b", re.IGNORECASE)
"""How a question begins that asks for something to be done."""
_ELSE = re.compile(
    r",? or (?:do|would|are|is|any|if)\b[^?]{0,80}?\b(?:different|else|another|other|adjust\w*"
    r"|chang\w*|tweaks?|rather|concerns?|thoughts?|questions?)\b[^?]*",
    re.IGNORECASE,
)
"""The second half of a question that only asks whether there is more to say."""
_WHICH = re.compile(r"\W*(?:and |so |but )?(?:which|what|how|when|where|who)\b", re.IGNORECASE)
"""A question that no yes answers."""
_LISTED = re.compile(r"\s*(?:1[.)]|#\d) ")
"""Answers to several questions, by number."""
_LISTED_NUMBER = re.compile(r"(?:^|\s)#?(\d{1,2})(?:(?<=#\d)|[.)])(?=\s)")
_COMPLAINS = re.compile(
    r"\b(?:problem|issue|bug|error|fail(?:s|ed|ing)?|broken|crash\w*|currently|in theory"
    r"|doesn'?t work|that'?s not (?:it|true|right)|wrong|still (?:not|the same|get\w*|see\w*)"
    r"|wait|discuss|hold on|didn'?t ask)\b",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\b(?:this|that|these|those|them|it(?!'?s)|one|both|either|same|too|again|as is|here)\b",
    re.IGNORECASE,
)


def replied(words: str) -> Literal["yes", "no", ""]:
    """Whether words begin by agreeing to what was proposed, or by refusing it."""
    line = one_line(words[:400]).replace("’", "'")
    if _NO.match(line):
        return "no"
    return "yes" if _YES.match(line) or _FINE.fullmatch(line) else ""


def _opening(text: str) -> str:
    """A short message; of one that is not pasted its first sentences."""
    if len(text) <= SHORT or (_LISTED.match(text) and len(text) <= 2 * SHORT):
        return one_line(text)
    if len(text) > 4 * SHORT or not replied(text):
        return ""
    told = ""
    for sentence in sentences(text):
        if len(told) + len(sentence) > SHORT:
            break
        told = f"{told} {sentence}".strip()
    return told


def _proposes(asked: str) -> bool:
    """Whether a yes to it decides something."""
    last = next(reversed([*sentences(asked)]), "")
    return bool(last) and not _is_routine(asked) and not _WHICH.match(last)


def _takes_one(words: str, asked: str) -> bool:
    """Whether an order takes up what a question gives to choose from, in its words."""
    choice = asked.endswith("?") and " or " in (*sentences(asked),)[-1]
    order = _ORDERS.match(words) and not _ASKS_TO_LOOK.search(words)
    return bool(choice and order) and len(set(stems(words)) & set(stems(asked))) >= SHARED


def _settles(sentence: str) -> bool:
    chooses = _CHOOSES.search(sentence) or is_choice(sentence, "user")
    return bool(chooses) and not _COMPLAINS.search(sentence)


def _is_routine(asked: str) -> bool:
    """Whether a question asks leave for a step of any work, or which of two."""
    last = next((part for part in reversed(re.split(r"(?<=[.!:;]) ", asked)) if "?" in part), "")
    last = _ELSE.sub("", last)
    found = _ROUTINE.search(last)
    what = (found["a"] or found["b"] or "") if found else ""
    return bool(_STEP.match(what)) or re.search(r"\bor\b", last, re.IGNORECASE) is not None


_WHY = re.compile(
    r"^#{1,6} (?:context|problem|background|why|motivation|goal)\b[^\n]*\n\s*([^\n#]{20,600})",
    re.IGNORECASE | re.MULTILINE,
)
"""What a plan says of its reason."""


class DecisionExtractor:
    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root, setting.checkouts)
        self._answer = ""
        """What the agent said in the last turn."""
        self._answered = -1
        self._options: dict[str, str] = {}
        self._offered = -1
        """The turn of the last answer with options."""
        self._edited = False
        """Whether the agent changed files since the user last spoke."""
        self._worked = False
        """Whether it changed any."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Decided]:
        if turn.agent:
            return
        for said in said_in(turn):
            if said.way == "plan":
                yield from _plan_approved(said.text, turn.index)
            elif said.way in ("prompt", "queued"):
                yield from self._said(said, turn.index)
        for outcome in outcomes:
            yield from self._called(outcome, turn.index)
        answer = ends_of(turn.assistant_response)
        if not any(outcome.call.verb == "ask" for outcome in outcomes):
            most = 1 if turn.tool_calls else MOST
            yield from [*stated_in(answer, turn.index, "agent")][-most:]
            made = taken_up(answer, turn.index, acts=bool(outcomes), edited=self._worked)
            yield from [*made][-MOST:]
        self._edited = self._edited or any(outcome.changed for outcome in outcomes)
        self._worked = self._worked or self._edited
        self._answer, self._answered = answer, turn.index
        if options := options_in(answer):
            self._options, self._offered = options, turn.index

    def _said(self, said: Utterance, turn: int) -> Iterator[Decided]:
        edited, self._edited = self._edited, False
        answer, self._answer = self._answer, ""
        words = _opening(said.text)
        heard = [one.plain for one in spoken(words)]
        told = [one for one in heard if not is_question(one)]
        numbers = chosen_in(words, self._options)
        if not numbers and self._offered == self._answered and asked_at_end(answer):
            numbers = _called_in(words, self._options)
        taken = [self._options[one] for one in numbers]
        if taken and len(told) == len(heard):
            yield self._option_taken(turn, words, taken)
            return
        if not words or not (answer or edited):
            yield from stated_in(said.text[:LOOKED_AT], turn, "user")
            return
        asked, reply = self._put_by_number(words) or asked_at_end(answer), replied(words)
        if (reply == "yes" and len(told) < len(heard)) or not told:
            return
        if reply == "yes":
            asked = asked or offered_in(answer)
            decides = _proposes(asked)
        elif reply == "no":
            decides = bool(asked or edited or len(answer) > SHORT)
            decides = decides and not _COMPLAINS.search(words)
        else:
            decides = len(said.text) <= SHORT and _takes_one(words, asked)
        settles = len(said.text) <= SHORT and any(map(_settles, told))
        if decides or settles or (asked and _LISTED.match(words)):
            quote = ""
            if reply or decides or _LEANS.search(words) or _LISTED.match(words):
                quote = asked or conclusion_of(_prose(answer))
            yield decided(
                turn,
                "user",
                words,
                key=key_of(quote if reply == "yes" else "") or pair_key(words) or key_of(words),
                rejected=left_out(words),
                about=f"to the agent's “{quote}”" if quote else "",
                offered=self._answered if quote else -1,
            )

    def _put_by_number(self, words: str) -> str:
        """The questions that words answer by their numbers."""
        asked = self._options if self._offered == self._answered else {}
        named = _LISTED_NUMBER.findall(words) if _LISTED.match(words) else []
        put = [f"{one}. {cut(asked[one], ABOUT // 3)}" for one in named if one in asked]
        return "; ".join(put) if len(put) > 1 else ""

    def _option_taken(self, turn: int, words: str, taken: Sequence[str]) -> Decided:
        others = [option for option in self._options.values() if option not in taken]
        return decided(
            turn,
            "user",
            words,
            key=f"offer t{self._offered}",
            about=f"that is: {'; '.join(taken)}",
            rejected="; ".join(others),
            offered=self._offered,
        )

    def _called(self, outcome: Outcome, turn: int) -> Iterator[Decided]:
        """What the user answered to a tool that asks, or said on refusing a call."""
        call, result = outcome.call, outcome.result
        if result is None:
            return
        if result.refused and (words := one_line(result.reason[: SHORT + 1])):
            asks = is_question(words) or (words.endswith("?") and not _ORDERS.match(words))
            if not (asks or _COMPLAINS.search(words)) and len(words.split()) > 2:
                about = self._refused(outcome)
                yield decided(turn, "user", cut(words, SHORT), about=about)
        elif call.verb == "ask" and result.success:
            if plain_name(call) in EXIT_PLAN:
                plan = call.parameters.get("plan") or result.output.partition(APPROVED)[2]
                yield from _plan_approved(plan if isinstance(plan, str) else "", turn)
            else:
                yield from _answers(outcome, turn)

    def _refused(self, outcome: Outcome) -> str:
        call = outcome.call
        line, path = shell_line(call), next(iter(call.paths()), "")
        what = f"`{cut(one_line(line), OPTION)}`" if line else self._paths.name(path) or call.tool
        return f"on refusing {'to run' if line else 'the ' + call.verb + ' of'} {what}"


def _answers(outcome: Outcome, turn: int) -> Iterator[Decided]:
    output = outcome.result.output if outcome.result is not None else ""
    for put in put_by(outcome.call, output):
        chosen = [label for label in put.options if label in put.answer]
        told = put.plain or len(put.answer) > OPTION
        if not put.answer or (told and not chosen):
            continue  # it tells something, and chooses nothing
        others = [label for label in put.options if label not in chosen]
        yield decided(
            turn,
            "user",
            f"{cut(one_line(put.question), SHOWN)} {put.answer}",
            key=key_of(put.question),
            rationale=one_line(put.options[chosen[0]]) if len(chosen) == 1 else "",
            rejected="; ".join(others),
        )


def _plan_approved(plan: str, turn: int) -> Iterator[Decided]:
    if title := plan_title(plan) or cut(first_sentence(plan), KEY):
        why = _WHY.search(plan)
        rationale = first_sentence(why[1]) if why else ""
        yield decided(turn, "user", f"plan approved: {title}", rationale=rationale)
