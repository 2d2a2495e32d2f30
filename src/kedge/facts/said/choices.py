"""Choices a user made among what was offered: answered questions, options of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from kedge.model import ToolCall, ToolResult
from kedge.sentences import cut, one_line

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
    if not output.lstrip().startswith("{"):
        return ""
    try:
        answers = msgspec.json.decode(output[:LOOKED_AT], type=dict[str, Any]).get("answers")
    except (msgspec.DecodeError, RecursionError):
        return ""
    if not isinstance(answers, dict):
        return ""
    found = answers.get(_string(asked.get("id")), answers.get(str(place), answers.get(question)))
    while isinstance(found, (dict, list)):
        found = found.get("answers") if isinstance(found, dict) else ", ".join(map(_string, found))
    return _string(found)


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
