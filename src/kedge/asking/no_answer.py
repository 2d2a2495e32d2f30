"""Words in the place of an answer: a model's refusal, or the error of the server before it."""

from __future__ import annotations

import re

SHORT = 120
"""Characters of a sentence that is nothing but an error: a longer one may tell of one."""

_SORRY = r"i(?:['’]m|\s+am)\s+(?:very\s+|so\s+|really\s+)?sorry|sorry\b|i\s+apologi[sz]e"
_UNWILLING = (
    r"i\s+(?:can(?:not|['’]t|\s+not)|won['’]t|will\s+not|must\s+decline|decline)\b"
    r"|i(?:['’]m|\s+am)\s+(?:unable|not\s+able)\b"
)
_FAILED = (
    r"rate[\s_-]?limit|too\s+many\s+requests|quota\s+exceeded|insufficient[\s_-]?quota"
    r"|service\s+unavailable|bad\s+gateway|gateway\s+time[\s-]?out|overloaded"
)
_REPLY_REFUSED = re.compile(
    rf"[\s\"'*#>_`-]{{0,8}}(?:{_SORRY}|(?:unfortunately,?\s+)?(?:{_UNWILLING}|i\s+declined\b)"
    r"|as\s+an\s+ai\b)",
    re.IGNORECASE,
)
_REPLY_FAILED = re.compile(
    r"[\s\"'*#>_`\[(-]{0,8}(?:(?:api |http |internal |server |request |fatal |unexpected )*"
    r"(?:error|exception|failure|failed)\b|traceback \(most|(?:http\W{0,4})?[45]\d\d\b"
    rf"|upstream |connection |(?:request )?time[d-]? ?out|{_FAILED})",
    re.IGNORECASE,
)
_SENTENCE_REFUSED = re.compile(
    rf"\W*(?:{_SORRY}|{_UNWILLING}|my\s+apologies|as\s+an?\s+(?:ai|artificial|language|large)\b"
    r"|i['’]m\s+an?\s+(?:ai|language)|i(?:['’]m|\s+am)\s+(?:afraid|just\s+an?)\b"
    r"|i\s+(?:do\s+not|don['’]t)\s+have\s+(?:access|enough|the\s+ability|any)\b"
    r"|unfortunately,?\s+i\b|please\s+provide\b|es\s+tut\s+mir\s+leid|je\s+suis\s+désolé|lo\s+siento"
    r"|抱歉|对不起|申し訳)",
    re.IGNORECASE,
)
_SENTENCE_FAILED = re.compile(
    rf"\W*(?:error|http|status|api|code|\d{{3}}|\W)*\W*(?:{_FAILED}"
    r"|internal\s+server\s+error|internal_server_error|request\s+timed?\s?-?out|invalid[_ ]api"
    r"|(?:maximum\s+)?context\s+length|unauthorized|forbidden|an?\s+(?:unexpected\s+)?error\s+occurred"
    r"|something\s+went\s+wrong|the\s+server\s+(?:had|encountered)\s+an\s+error"
    r"|please\s+try\s+again|connection\s+(?:refused|reset|error)|upstream\s+connect\s+error)\b",
    re.IGNORECASE,
)
"""Narrower than for a reply without an object: what an answer tells of an error is no error."""


def is_refusal(reply: str) -> bool:
    """Whether a reply that has not what was asked for begins as a refusal does."""
    return _REPLY_REFUSED.match(reply) is not None


def is_error(reply: str) -> bool:
    """Whether such a reply begins as the message of an error does."""
    return _REPLY_FAILED.match(reply) is not None


def is_no_answer(sentence: str) -> bool:
    """Whether a sentence of an answer says that there is none, or is an error of whoever should
    give it."""
    return _SENTENCE_REFUSED.match(sentence) is not None or (
        len(sentence) <= SHORT and _SENTENCE_FAILED.match(sentence) is not None
    )
