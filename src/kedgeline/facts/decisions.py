"""What was asked and what was chosen: questions of tools with their answers, what an answer
proposes or asks at its end, the user's replies to it, plans that were approved, and choices as
they are stated. What else was said stands among the statements in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kedgeline.facts.extractor import EXIT_PLAN, Setting, first_text, key_of, object_in, plain_name
from kedgeline.facts.requests import Said, said_in
from kedgeline.facts.rules import is_question
from kedgeline.facts.todos import APPROVED, blockers_in, texts_of, title_of
from kedgeline.model import Asked, Decided, Speaker, ToolCall, Turn
from kedgeline.shell import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line, sentences
from kedgeline.text.spoken import at_beginning, spoken

# Questions that a tool puts to the user, with the answers.

SHOWN = 240
"""Characters of a decision, a question, an answer."""
WITH_OPTIONS = 300
"""Characters of a question with what can be chosen."""
QUESTIONS = 4
"""Questions taken of one call or one answer: clients ask no more at once."""
OUTPUT = 8_000
"""Characters of a result in which the user's choices stand."""
OPTION = 120
"""Characters of an option that are said again."""
_REPLY = re.compile(r"<answer>\s{0,9}(.{1,4000}?)\s{0,9}</answer>", re.DOTALL)
_ANSWER_END = re.compile(
    r"\"(?:, \"|\. (?:You can now|Take|The user)|\.?\s*$| selected| user notes)"
)


class Put(NamedTuple):
    """A question that a tool puts."""

    question: str
    options: Mapping[str, str]
    """What can be chosen, with its description."""
    answer: str = ""
    plain: bool = False
    """The answer is all that the tool gave back, whatever it says."""

    @property
    def shown(self) -> str:
        text = cut(one_line(self.question), SHOWN)
        chosen = " / ".join(cut(one_line(label), 60) for label in self.options)
        return cut(f"{text} ({chosen})", WITH_OPTIONS) if chosen else text


def put_by(call: ToolCall, output: str) -> list[Put]:
    """The questions of a call, each with the user's answer where there is one."""
    listed = call.parameters.get("questions")
    given = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    given = [one for one in (given or [call.parameters])[:QUESTIONS] if _text(one.get("question"))]
    text = output[:OUTPUT]
    answers = object_in(text).get("answers")
    found = []
    for place, one in enumerate(given):
        question = one["question"]
        answer = _quoted(question, text)
        if not answer and isinstance(answers, dict):
            answer = _in_json(answers, (first_text(one, ("id",)), str(place), question))
        found.append(Put(question, dict(_options(one)), one_line(answer)))
    if len(found) == 1 and not found[0].answer:
        reply = _REPLY.search(text)
        plain = "" if text.lstrip()[:1] in "{[" else text
        found = [found[0]._replace(answer=one_line(reply[1] if reply else plain), plain=not reply)]
    return found


def _options(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    options = given.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, str) and option:
            yield option, ""
        elif isinstance(option, Mapping) and (label := _text(option.get("label"))):
            yield label, _text(option.get("description"))


def _quoted(question: str, output: str) -> str:
    """The answer in `"question"="answer"`."""
    _, found, behind = output.partition(f'"{question}"="')
    end = _ANSWER_END.search(behind) if found else None
    return behind[: end.start()] if end else behind


def _in_json(answers: Mapping[str, Any], names: Iterable[str]) -> str:
    """The answer to a question, which is known by its id, its number or its words."""
    value = next((answers[name] for name in names if name in answers), "")
    if isinstance(value, dict):
        value = value.get("answers", value.get("answer", ""))
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# What an answer lays before the user as it ends: options, a proposal, a question.

LOOKED_AT = 8_000
"""Characters of an answer, from its end, in which options are looked for."""
TAIL = 1_500
"""Characters at its end in which it asks."""
BEHIND = 2
"""Sentences that may stand behind the question: they say more of what is proposed."""
TELLING = 40
"""Characters from which a proposal is understood although it says "it"."""
LEAST = 12
"""Characters below which a proposal says nothing alone: `do that`."""

_NUMBERED = re.compile(
    r"^[ \t]{0,6}(?:[-*] |#{1,5} )?(?:\*\*)?(?P<named>[Oo]ption |[Aa]pproach )?"
    r"(?P<number>\d{1,2}|(?-i:[A-I]))(?:[.):]|(?:\*\*)?[ \t]{0,2}[—–:-])[ \t]{0,3}"
    r"(?P<text>[^\n]{2,400})",
    re.MULTILINE,
)
_LEAVE = re.compile(
    r"(?:would you like|do you want|want)(?: me| us)? to (?P<a>.{0,400}?)\?"
    r"|(?:^|[,.;:—–-] |\bso )(?:shall|should|may|can) (?:i|we)(?: go ahead and)?"
    r"(?P<b> .{0,400}?)?\?",
    re.IGNORECASE,
)
"""How an answer asks leave."""
_ROUTINE = re.compile(
    r"(?:(?:also|now|just|go ahead and|proceed (?:with|to)|start|continue with) ){0,3}"
    r"(?:commit\w*|push\w*|stag(?:e|ing)|amend\w*|run(?:ning)?|re-?run|tag\w*|rebas\w+|publish\w*"
    r"|merge (?:it|this|the (?:pr|pull|branch))|open (?:a|the|it)|explain|elaborate|show|help"
    r"|adjust|anything|do anything|get more|know|clarify|see|check|look at|review)\b"
    r"|(?:create|draft|make|update) (?:a |the |an? new )?(?:pr|pull request|commit|branch)\b"
    r"|(?:proceed|continue|go ahead|start)\s*$",
    re.IGNORECASE,
)
"""Steps of any work, and offers to talk: agreeing to them decides nothing."""
_POINTS = re.compile(
    r"\b(?:this|that|these|those|them|it|so|either|any|both)\b"
    r"(?=\s*$|\s?[,.;)]|\s(?:now|too|for|to|in|into|before|with|and|first|as|of)\b)",
    re.IGNORECASE,
)
"""Stands for what was said before."""
_UNNAMED = re.compile(
    r"\b(?:this|that|these|those|all (?:two|three|four|five|six|of them|the))\b", re.IGNORECASE
)
_NAMED = re.compile(r"`|\w[_./]\w|\w\(\)|[a-z][A-Z]|\b[A-Z]{2,}\d|[\"“]|(?<=[a-z,] )[A-Z][a-z]{2,}")
"""Names in a sentence: code, paths, quotes, marked words, capitals within it."""
_MARKS = re.compile(r"[*`#]{1,80}")
_CODE = re.compile(r"^```.*?(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_ASKS = re.compile(r"[?？][\"'”’)\]*_`\s!]{0,6}$")
_COURTESY = re.compile(
    r"anything else|something else|(?:help|assist)(?: you)?(?: with)?(?: further| today| more)?\?"
    r"|any (?:other |further |more )?questions|does (?:that|this) (?:help|make sense)\?",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\W{0,3}(?:[-*•+]|\d{1,2}[.)]|[A-Da-d][.)])\s|^\*\*(?:\d|[A-D])[.):]")
_LEAD = re.compile(r"^(?:[-*•+>]|\d{1,2}[.)])\s{1,4}")


def options_in(answer: str) -> dict[str, str]:
    """The options an answer ends with, by number or letter: the last list that begins with the
    first. Where some are called options, only these are."""
    if not ("2" in answer or "B" in answer):
        return {}
    rows = [*_NUMBERED.finditer(_CODE.sub("", answer[-LOOKED_AT:]))]
    rows = [row for row in rows if row["named"]] or rows
    found: dict[str, str] = {}
    for row in rows:
        number = row["number"].upper()
        if number in ("1", "A"):
            found = {}
        text = _MARKS.sub("", one_line(row["text"])).strip(" :—–-")
        found.setdefault(number, cut(text, OPTION))
    return found if 1 < len(found) < 10 else {}


def proposal_in(answer: str) -> str:
    """What an answer asks leave to do as it ends, in its own words; nothing where it asks which of
    two, or for a step of any work."""
    if "?" not in answer[-TAIL:]:
        return ""
    said = [one.replace("**", "") for one in sentences(_CODE.sub("", answer[-TAIL:]))]
    for place in range(len(said) - 1, max(-1, len(said) - 2 - BEHIND), -1):
        if found := _LEAVE.search(said[place]):
            what = one_line(found["a"] or found["b"] or "").strip(" ,")
            if re.search(r"\bor\b", said[place], re.IGNORECASE) or _ROUTINE.match(what):
                return ""
            if len(what) >= LEAST and (len(what) >= TELLING or not _POINTS.search(what)):
                return cut(what, SHOWN)
            before = [one for one in said[:place] if not one.endswith((":", "?"))]
            around = said[place + 1 :] or before[-1 if what else -2 :]
            told = cut(" ".join(around).rstrip(" ."), SHOWN)
            return f"{what}: {told}".strip(": ") if told or len(what) >= LEAST else ""
        if said[place].endswith("?"):
            return ""
    return ""


def question_at_end(answer: str) -> str:
    """The question an answer closes with; what can be chosen may stand below it as a list."""
    lines = [line.strip() for line in _CODE.sub("", answer[-TAIL:]).split("\n")]
    for line in reversed([line for line in lines if line]):
        last = [*sentences(line)][-1:]
        if last and _ASKS.search(last[0]) and not _COURTESY.search(last[0]):
            return cut(_LEAD.sub("", last[0]).replace("**", ""), SHOWN)
        if not _ITEM.match(line):
            break
    return ""


# The user's reply to it.

SHORT = 280
"""Characters of a message in which a reply is most of what is said."""
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
_YES = at_beginning(
    (
        r"yes|yep|yeah|yup|y|please do|go ahead(?! and)|do (?:it|that|so|this)|sounds good|agreed",
        r"exactly|(?:let's|lets) do (?:it|that|this)|good idea|makes sense|approved|lgtm|correct",
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


def chosen_in(words: str, options: Mapping[str, str]) -> list[str]:
    """The numbers of the options that words choose."""
    if found := _NUMBERS.match(words.strip()):
        named = (number.upper() for number in _NUMBER.findall(found["first"] + found["more"]))
        if numbers := [number for number in named if number in options]:
            return numbers
    return []


def replied(words: str) -> Literal["yes", "no", ""]:
    """Whether words begin by agreeing to what was proposed, or by refusing it."""
    line = one_line(words[:400]).replace("’", "'")
    if _NO.match(line):
        return "no"
    return "yes" if _YES.match(line) or _FINE.fullmatch(line) else ""


# Choices in somebody's own sentence: only those that say so of themselves.

MOST = 2
"""Choices taken from one answer: more of them are an explanation."""
LONGEST = 420
"""Characters of a sentence; longer ones describe."""
_STATED = re.compile(
    r"\W{0,4}(?:(?:so|ok|okay|now|then|also|and|but)\b\s*[,:—–-]?\s*){0,2}"
    r"(?:(?P<label>(?:final |key |design |architecture )?decisions?(?: made| taken)?\s*[:—–-]\s*)\S"
    r"|(?:i|we)(?:'ve| have)? (?:also |deliberately |intentionally |finally )?"
    r"(?:chose|chosen|opted|decided|agreed|picked|settled|went with|preferred)\b"
    r"|(?:i'll|i will|we'll|we will|let's|we should) (?!see|check|look)\w+ .{3,}"
    r"\b(?:instead of|rather than)\b"
    r"|(?:i|we) (?:used|kept|left|avoided) .{3,}\b(?:because|since)\b)",
    re.IGNORECASE,
)
_USERS = at_beginning(
    (
        r"(?:let's|lets|i'll|we'll|we) (?:just )?(?:(?:go|stick|stay) with|use|keep)"
        r" (?!(?:this|that|these|those|it|them)\b)\w+",
        r"i(?:'d| would)?(?: really| much)? prefer",
        r"(?:please )?(?:use|keep) .{1,80}? (?:instead of|rather than)\b",
    )
)
_OPEN = re.compile(r"\b(?:would|could|might|may|if you|you can|you'd)\b|\?$", re.IGNORECASE)
"""Leave open what is done."""
_BECAUSE = re.compile(r",?\s+\(?(?:because|since|so that|in order to)\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|(?<=, )not)\s"
    r"|\b(?:chose|chosen|picked|preferred|use) .{1,80}? over\s",
    re.IGNORECASE,
)
_PAUSE = re.compile(r"[,;.()](?:\s|$)|\s(?:because|since|so that|to|for)\s|\s[—–-]\s")


class Choice(NamedTuple):
    text: str
    why: str
    rejected: str
    key: str


def stated_in(text: str, by: Speaker) -> Iterator[Choice]:
    """Choices with their reasons where the agent's sentence gives one; a user's stands whole."""
    for sentence in sentences(text.replace("’", "'")):
        plain = sentence.lstrip("-*• ").replace("**", "")
        found = _STATED.match(plain) or (_USERS.match(plain) if by == "user" else None)
        if found is None or len(sentence) > LONGEST or _OPEN.search(plain) or plain.endswith(":"):
            continue
        label = found.groupdict().get("label")
        choice = plain[found.end("label") :] if label else plain
        reason = _BECAUSE.search(choice) if by == "agent" else None
        why = choice[reason.start() :] if reason else ""
        told = sentence if by == "user" else _shown(choice.removesuffix(why))
        yield Choice(told, _shown(why), _left(choice), _pair(choice))


def _left(choice: str) -> str:
    """What was not taken."""
    left = _CONTRAST.search(choice)
    return _shown(_PAUSE.split(choice[left.end() :], maxsplit=1)[0]) if left else ""


def _pair(choice: str) -> str:
    """A key for the two things one is chosen from, whichever it is: a later choice between them
    takes the place of this one."""
    left, rejected = _CONTRAST.search(choice), _left(choice)
    before = choice[: left.start()].split() if left else []
    pair = sorted(_key(one.strip(".")) for one in (before[-1], rejected)) if before else []
    return f"{pair[0]} or {pair[1]}" if all(pair) and pair else ""


def _shown(text: str) -> str:
    return cut(text.strip(" ,.(—–-"), SHOWN)


KEY = 80
"""Characters of a key."""
_FOLDED = re.compile(
    r"\b(?:the|a|an|our|your|my|using|to|it|just|please)\b|[^\w./-]+", re.IGNORECASE
)
_WHY = re.compile(
    r"^#{1,6} (?:context|problem|background|why|motivation|goal)\b[^\n]*\n\s*([^\n#]{20,600})",
    re.IGNORECASE | re.MULTILINE,
)
"""What a plan says of its reason."""


class DecisionExtractor:
    def __init__(self, setting: Setting) -> None:
        self._answered = -1
        """The turn of the last answer."""
        self._options: dict[str, str] = {}
        self._offered = -1
        """The turn of the last answer with options."""
        self._proposal = ""
        self._edited = False
        """Whether the agent changed files since the user last spoke."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Decided]:
        if turn.agent:
            return
        for said in said_in(turn):
            yield from self._said(said, turn.index)
        for outcome in outcomes:
            yield from _called(outcome, turn.index)
        answer = turn.assistant_response
        for one in [*stated_in(answer, "agent")][:MOST]:
            yield _stated(turn.index, "agent", one)
        self._edited = self._edited or any(outcome.changed for outcome in outcomes)
        self._proposal, self._answered = proposal_in(answer), turn.index
        if options := options_in(answer):
            self._options, self._offered = options, turn.index

    def _said(self, said: Said, turn: int) -> Iterator[Decided]:
        if said.way == "plan":
            yield from _plan_approved(said.text, turn)
        if said.way not in ("prompt", "queued"):
            return
        edited, self._edited = self._edited, False
        proposal, self._proposal = self._proposal, ""
        words = one_line(said.text) if len(said.text) <= SHORT else ""
        reply, asks = replied(words), any(is_question(one.plain) for one in spoken(words))
        taken = [self._options[one] for one in chosen_in(words, self._options)]
        if taken and not asks:
            others = [option for option in self._options.values() if option not in taken]
            told = "" if all(option in words for option in taken) else f": {'; '.join(taken)}"
            yield _decided(
                turn,
                "user",
                words + told,
                key=f"offer t{self._offered}",
                rejected="; ".join(others),
                offered=self._offered,
            )
        elif proposal and reply == "yes" and not asks and not _lacks_its_subject(words, proposal):
            told = f"{words.rstrip(' .!')}: {proposal}"
            yield _decided(turn, "user", told, key=_key(proposal), offered=self._answered)
        elif reply == "no" and (proposal or edited) and not is_question(words):
            yield _decided(
                turn,
                "user",
                words,
                key=_key(proposal) or _pair(words) or _key(words),
                rejected=proposal or _left(words),
                offered=self._answered if proposal else -1,
            )
        else:
            for one in stated_in(said.text[:LOOKED_AT], "user"):
                yield _stated(turn, "user", one)


def _lacks_its_subject(words: str, proposal: str) -> bool:
    """Whether a consent names nothing that it is about: the Story has both turns then. A proposal
    that goes on behind a colon says it there."""
    both = f"{words}: {proposal}"
    named = ": " in proposal or _NAMED.search(both)
    return not named and _UNNAMED.search(both) is not None


def _stated(turn: int, by: Speaker, one: Choice) -> Decided:
    return _decided(turn, by, one.text, key=one.key, rationale=one.why, rejected=one.rejected)


def _called(outcome: Outcome, turn: int) -> Iterator[Decided]:
    """What the user answered to a tool that asks."""
    call, result = outcome.call, outcome.result
    if call.verb != "ask" or result is None or not result.success:
        return
    if plain_name(call) in EXIT_PLAN:
        plan = call.parameters.get("plan") or result.output.partition(APPROVED)[2]
        yield from _plan_approved(_text(plan), turn)
        return
    for put in put_by(call, result.output):
        chosen = [label for label in put.options if label in put.answer]
        told = put.plain or len(put.answer) > OPTION
        if not put.answer or (told and not chosen):
            continue  # it tells something, and chooses nothing
        others = [label for label in put.options if label not in chosen]
        yield _decided(
            turn,
            "user",
            f"{cut(one_line(put.question), SHOWN // 2)} {put.answer}",
            key=_key(put.question),
            rationale=one_line(put.options[chosen[0]]) if len(chosen) == 1 else "",
            rejected="; ".join(others),
        )


def _plan_approved(plan: str, turn: int) -> Iterator[Decided]:
    if title := title_of(plan) or cut(first_sentence(plan), KEY):
        why = _WHY.search(plan)
        rationale = first_sentence(why[1]) if why else ""
        yield _decided(turn, "user", f"plan approved: {title}", rationale=rationale)


def _decided(
    turn: int,
    by: Speaker,
    decision: str,
    *,
    key: str = "",
    rationale: str = "",
    rejected: str = "",
    offered: int = -1,
) -> Decided:
    return Decided(
        turn=turn,
        by=by,
        key=key or _key(decision),
        decision=cut(decision, 2 * SHOWN),
        rationale=cut(rationale, SHOWN),
        rejected=cut(rejected, SHOWN),
        offered=offered,
    )


def _key(text: str) -> str:
    return " ".join(_FOLDED.sub(" ", text.casefold().replace("`", "")).split())[:KEY].strip()


# Questions of the agent's that wait for the user, and what is said to be in the way.

BLOCKER = "Blocker: "
"""Before what is in the way: no question, but it waits like one."""
_UNBLOCKED = re.compile(
    r"[^.\n]{0,80}\b(?:unblocked|no longer blocked|blockers? (?:is|are|was|were|has been|have been)"
    r" (?:now )?(?:resolved|gone|removed|fixed|cleared))\b[^.\n]{0,80}",
    re.IGNORECASE,
)


class QuestionExtractor:
    """An agent's question waits for the user's next words; a blocker, until it is said anew or to
    be gone. A user's question is a request, and stands there."""

    def __init__(self, setting: Setting) -> None:
        self._waiting: list[Asked] = []
        self._blockers: list[Asked] = []

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Asked]:
        if turn.user_message:
            words = cut(one_line(turn.user_message[: SHOWN * 4]), SHOWN)
            yield from (_closed(one, turn, words, "user") for one in self._waiting)
            self._waiting = []
        for outcome in outcomes:
            for question, answer in _put(outcome) if outcome.call.verb == "ask" else ():
                yield from self._ask(turn, question, answer)
        if not turn.tool_calls and (question := question_at_end(turn.assistant_response)):
            yield from self._ask(turn, question, "")
        for by, text in texts_of(turn):
            yield from self._blocked(turn, text, by)

    def _ask(self, turn: Turn, question: str, answer: str) -> Iterator[Asked]:
        by: Speaker = "user" if answer else "agent"
        asked = Asked(
            turn=turn.index, by=by, key=key_of(question), question=question, answer=answer
        )
        if not answer:
            self._waiting = [*self._waiting[1 - QUESTIONS :], asked]
        yield asked

    def _blocked(self, turn: Turn, text: str, by: Speaker) -> Iterator[Asked]:
        named = blockers_in(text)
        gone = _UNBLOCKED.search(text) if self._blockers else None
        if named is None and gone is None:
            return
        kept = {key_of(one) for one in named or ()}
        for one in self._blockers:
            if one.key not in kept:
                yield _closed(one, turn, cut(one_line(gone[0] if gone else text), SHOWN), by)
        self._blockers = [one for one in self._blockers if one.key in kept]
        known = {one.key for one in self._blockers}
        for blocker in (named or ())[:QUESTIONS]:
            if key_of(blocker) not in known:
                said = f"{BLOCKER}{cut(blocker, SHOWN)}"
                asked = Asked(turn=turn.index, by=by, key=key_of(blocker), question=said)
                self._blockers.append(asked)
                yield asked


def _closed(asked: Asked, turn: Turn, answer: str, by: Speaker) -> Asked:
    return Asked(turn=turn.index, by=by, key=asked.key, question=asked.question, answer=answer)


def _put(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The questions of a call with their answers: chosen, or in the user's words on refusing."""
    result = outcome.result
    reason = "" if result is None else cut(one_line(result.reason[: SHOWN * 4]), SHOWN)
    output = result.output if result is not None and result.success else ""
    if plain_name(outcome.call) in EXIT_PLAN:
        title = title_of(_text(outcome.call.parameters.get("plan")))
        named = f"Approve the plan: {cut(title, SHOWN)}?" if title else "Approve the plan?"
        if result is not None and result.refused and not reason:
            named = f"{BLOCKER}the plan was refused without a word: {title or 'no title'}"
        yield named, reason or cut(first_sentence(output[: SHOWN * 4]), SHOWN)
        return
    for put in put_by(outcome.call, output):
        yield put.shown, cut(put.answer, SHOWN) or reason
