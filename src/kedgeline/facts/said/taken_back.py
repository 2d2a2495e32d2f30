"""Which earlier rule a user's later words take back, or give in another form.

A rule outranks all else, so it ends only by the user's own words, and only where these leave no
doubt which one they mean: the same thing allowed that was forbidden, another value for the same
thing, the same order said more fully, "undo that" right behind it, or "forget what I said about"
and what the rule says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Recent
from kedgeline.text.prose import one_line
from kedgeline.text.spoken import at_beginning

REMEMBERED = 64
"""Rules remembered: more are given in no conversation by its user."""
LOOKED_AT = 400
"""Characters of a rule that are compared: a longer one introduces a list or an example."""
SUBJECT = 2
"""Words of substance that tell a subject."""
RESTATED = 5
"""Words of substance of an order, all of which another says again, to be a form of it."""
MORE = 3
"""Words of substance that a new value may stand among beside those of its subject."""
MOST_OF = 0.6
"""Share of a message from which a rule is what "that" in the next message stands for; and of a rule
that words must name to take it back."""

UNDONE = (
    # English
    r"(?:(?:you can|please|let's|lets|just|actually|then|now)[, ]{1,2}){0,3}"
    r"(?:undo|revert|roll back|forget|scratch|ignore|drop|take back)"
    r" (?:that|this|it|what i said)(?: (?:again|change|please|now|one|rule)){0,2}"
    r"(?=\s?[,.!;:—–-]|$)",
    r"(?:no|nope)?,? ?remove (?:that|this|it) again|never ?mind(?: that| this)?(?=\s?[,.!;]|$)",
    r"i(?:'ve| have)? changed my mind",
)
"""Take back what was said right before."""
_FORGOTTEN = re.compile(
    r"(?:forget|scratch|ignore|drop|take back) "
    r"(?:what i (?:said|told you|wrote)|(?:the|my|that) (?:rule|instruction|order)) "
    r"(?:about|on|that|not to|to) (?P<what>[^.!?;:,]{3,120})(?P<more>[:,;]?)",
    re.IGNORECASE,
)
"""Takes back what it names."""
_FORBIDS = (
    r"(?:(?:do not|don'?t) (?:need|have) to|no need to|do not|don'?t|never|must not|mustn'?t"
    r"|should not|shouldn'?t|no longer|stop|quit|not allowed to)"
)
_ALLOWS = (
    r"(?:you (?:can|may)(?: now| again)?|feel free to|(?:it'?s|it is|that'?s) (?:ok|okay|fine) to"
    r"|(?:ok|okay) to|go ahead and|always)"
)
_WHEN = r"(?:before|until|unless|when|if|because|since|so|to|without|as|otherwise|or|and|but)\b"
_ORDER = re.compile(
    rf"\b(?:(?P<forbids>{_FORBIDS})|(?P<allows>{_ALLOWS})) "
    rf"(?P<verb>[a-z]{{2,20}})(?P<rest>(?: (?!{_WHEN})[^\s,;:!?()—–]{{1,60}}){{0,8}})",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:use|using|take|prefer|want|switch to)\s+(?P<taken>[^\s,;]{1,60}(?: [^\s,;]{1,60}){0,3}?)"
    r",?\s+(?:instead of|rather than|not|over)\s+(?P<left>[^\s,;!?]{1,60})",
    re.IGNORECASE,
)
_VALUED = re.compile(
    r"(?P<subject>[^.!?;,:]{3,80}?) (?:should|must|has to|have to|needs? to) (?:always )?be "
    r"(?P<value>[^.!?;,]{1,40})",
    re.IGNORECASE,
)
_LITERALS = {
    "colour": re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?=[a-fA-F]{0,5}\d)[0-9a-fA-F]{6}\b"),
    "number": re.compile(r"(?<![\w.#-])\d{1,9}(?:\.\d{1,6})?\s?(?:%|px|ms|s|kb|mb|gb)?(?![\w.-])"),
}
_WORD = re.compile(r"[^\W\d_][\w./-]{1,60}")
COMMON = (
    # English
    "the|a|an|it|its|is|are|was|be|been|being|in|on|at|of|for|to|with|and|or|not|no|so|that|this",
    "these|those|they|them|there|we|you|i|our|your|my|me|do|does|did|what|which|how|why|when",
    "should|must|has|have|had|need|needs|can|could|would|will|use|using|used|as|same|just|also",
    "all|any|please|ok|okay|yes|yeah|hmm|actually|again|now|anymore|more|only|ever|always|never",
    "don",
)
"""Words that tell no subject."""
_COMMON = frozenset("|".join(COMMON).split("|"))
_POINTS = re.compile(r"\b(?:it|that|them|this|these|those)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(?:now|once)\b", re.IGNORECASE)
_ENDING = re.compile(r"(?:ing|ed|es|s|e)$")

_UNDONE = at_beginning(UNDONE, ending="")


class _Order(NamedTuple):
    way: Literal["forbids", "allows"]
    verb: str
    about: frozenset[str]
    points: bool
    """It names what it is about by "it" or "that"."""


class _Rule(NamedTuple):
    text: str
    message: int
    alone: bool
    """It is most of its message."""


class Standing:
    """The rules a user gave, to know which of them later words mean."""

    def __init__(self) -> None:
        self._rules = Recent[str, _Rule](REMEMBERED)
        self._message = 0

    def __bool__(self) -> bool:
        return bool(self._rules)

    def next_message(self) -> None:
        self._message += 1

    def give(self, text: str, words: str) -> None:
        """Remember a rule out of a message."""
        alone = len(text) >= MOST_OF * len(words.strip())
        self._rules.put(text, _Rule(text, self._message, alone))

    def end(self, text: str) -> None:
        self._rules.pop(text, None)

    def undone_by(self, sentence: str) -> str:
        """The rule that a sentence takes back and gives no other for: the one that it names, or, of
        such as "undo that", the one the message before consists of. What forbids something is none:
        then the work is meant."""
        named = _FORGOTTEN.search(_plain(sentence))
        if named is not None and not named["more"]:
            return next((rule.text for rule in self._earlier() if _forgotten(rule.text, named)), "")
        if not _UNDONE.match(sentence):
            return ""
        before = [rule for rule in self._rules.values() if rule.message == self._message - 1]
        if len(before) != 1 or not before[0].alone:
            return ""
        order = _order(before[0].text)
        return "" if order is not None and order.way == "forbids" else before[0].text

    def replaced_by(self, text: str) -> str:
        """The rule of an earlier message that words allow, forbid, or say anew, whether these are a
        rule themselves or not."""
        named = _FORGOTTEN.search(_plain(text))
        for rule in self._earlier():
            if rule.text != text and (
                (named is not None and _forgotten(rule.text, named))
                or _reversed(rule.text, text)
                or _other_choice(rule.text, text)
                or _other_value(rule.text, text)
                or _restated(rule.text, text)
            ):
                return rule.text
        return ""

    def _earlier(self) -> Iterator[_Rule]:
        """The newest first."""
        return (rule for rule in reversed(self._rules.values()) if rule.message < self._message)


def _forgotten(rule: str, named: re.Match[str]) -> bool:
    """Whether it is what these words name, and they name most of it: of a rule that says more, the
    rest stands."""
    subject, about = set(stems(_plain(rule))), set(stems(named["what"]))
    return bool(about) and about <= subject and len(about) >= MOST_OF * len(subject)


def _reversed(earlier: str, later: str) -> bool:
    old, new = _order(earlier), _order(later)
    if old is None or new is None or old.way == new.way or old.verb != new.verb:
        return False
    if "never" in earlier.lower() and _NOW.search(later):
        return False  # allowed this once
    if not new.about:
        return not old.about or new.points
    return new.about <= old.about


def _order(text: str) -> _Order | None:
    found = _ORDER.search(_plain(text))
    if found is None:
        return None
    about = frozenset(stems(found["rest"]))
    way: Literal["forbids", "allows"] = "forbids" if found["forbids"] else "allows"
    return _Order(way, _stem(found["verb"]), about, bool(_POINTS.search(found["rest"])))


def _other_choice(earlier: str, later: str) -> bool:
    """`use B instead of A` behind `use A instead of …`."""
    old, new = _INSTEAD.search(_plain(earlier)), _INSTEAD.search(_plain(later))
    if old is None or new is None:
        return False
    return _named(new["left"]) == _named(old["taken"]) != _named(new["taken"])


def _other_value(earlier: str, later: str) -> bool:
    """`the header should be green` behind `the header should be blue`."""
    if _other_literal(earlier, later):
        return True
    old, new = _VALUED.search(_plain(earlier)), _VALUED.search(_plain(later))
    if old is None or new is None:
        return False
    subject = set(stems(old["subject"]))
    same = bool(subject) and subject == set(stems(new["subject"]))
    return same and _named(old["value"]) != _named(new["value"])


def _other_literal(earlier: str, later: str) -> bool:
    """Another colour or number for the same thing, each the only one where it stands."""
    before, behind = _plain(earlier), _plain(later)
    for literal in _LITERALS.values():
        old, new = literal.findall(before), literal.findall(behind)
        if len(old) != 1 or len(new) != 1 or _named(old[0]) == _named(new[0]):
            continue
        subject = set(stems(literal.sub(" ", before)))
        about = set(stems(literal.sub(" ", behind)))
        if len(subject) >= SUBJECT and subject <= about and len(about) <= len(subject) + MORE:
            return True
    return False


def _restated(earlier: str, later: str) -> bool:
    """The same order with more words: all of the earlier one stands in it."""
    old, new = set(stems(_plain(earlier))), set(stems(_plain(later)))
    if len(old) < RESTATED or not old <= new:
        return False
    before, behind = _order(earlier), _order(later)
    return (before and before.way) == (behind and behind.way)


def _plain(text: str) -> str:
    return one_line(text[:LOOKED_AT]).replace("’", "'").replace("`", "")


def stems(text: str) -> Iterator[str]:
    """The words of a text that tell its subject, without their endings."""
    for word in _WORD.findall(text):
        if (lowered := word.lower().strip("./-")) not in _COMMON:
            yield _stem(lowered)


def _stem(word: str) -> str:
    """Without its ending; a name is left as it is."""
    lowered = word.lower()
    if not lowered.isalpha():
        return lowered
    stem = _ENDING.sub("", lowered)
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem


def _named(text: str) -> str:
    return text.casefold().strip("#\"'` .!?")
