"""Sentences that say of the work what the facts do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from kedge.wording.claims.standing import CHECKS, Check, Standing
from kedge.wording.claims.words import matter

SHARED = 2
"""Words that a sentence shares with an error or a todo that it speaks of."""

_LEFT_OPEN = re.compile(
    r"\b(?:not|nothing|none|nobody|neither|nor|no\s+(?:longer|tests?|changes?|commits?|checks?|fix"
    r"|work|code)|never|cannot|can't|\w+n't|without|whether|if|until|unless|should|must"
    r"|make|makes|making|ensure|ensures|verify|check\s+that|confirm|get|want|wants|need|needs"
    r"|so\s+that|will|would|could|can|may|might|expected|expects|yet|hardly|barely|nearly|almost"
    r"|fail|fails|failed|failing|before|to\s+be|except|partly|partially|remain|remains|remaining"
    r"|still|nicht|noch|kein|keine|pas|ne|sin|aún)\b"
)
"""Words with which it is not said that something is so."""
_CLAUSE = re.compile(r"[,;:.–—]\s|\s(?:but|and|while|although|though|however|whereas)\s")
_SUBJECT: dict[Check, str] = {
    "test": r"(?:tests?|test\s?suite|suite|specs?)",
    "build": r"(?:builds?|compil\w+)",
    "lint": r"(?:lint\w*|formatting|type\s?checks?|static\s+analysis)",
}
_ANY = r"(?:checks?|ci|pipeline|everything|all)"
_GOOD = (
    r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean(?:ly)?|ok|okay"
    r"|works?|worked|fine)"
)
_BAD = r"(?:fail(?:s|ing)?|red|broken)"
_COUNT = re.compile(
    r"(?<![\w.])(\d[\d,]*)\s+(?:\w+\s+){0,3}?(?:tests?|specs?|checks?)?\s?(?:\w+\s+){0,2}?"
    r"\b(pass(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?)\b"
)
_SAID_OF = (
    r"\b(?:is|are|was|were|been|be|got|has|have|had|already|now|then|all|both|successfully|just|it|we|i"
    r"|changes?|fix|fixes|work|code|everything|branch|version|commit|commits|release|patch|and)\s+"
    r"(?:\w+ly\s+)?"
)
"""Words in front of what was done; others make it say of what kind something is."""
_BEHIND = (
    r"(?=\s+(?:the|all|both|these|those|this|it|to|as|in|a|an|and|with|everything|changes)\b|\W*$)"
)
_DONE: tuple[tuple[str, frozenset[str], str], ...] = (
    (r"committed", frozenset({"commit", "push", "pull_request", "merge", "tag"}), "transaction"),
    (r"pushed", frozenset({"push", "pull_request"}), "stack|list|queue|array|down|back|up|into"),
    (r"merged", frozenset({"merge"}), "list|dict|config|into\\s+(?:one|a|the)|setting|result|two"),
    (r"deployed|shipped|rolled\s+out", frozenset({"deploy"}), ""),
    (r"released|published", frozenset({"tag", "deploy"}), "lock|memory|handle|mutex|event|message"),
)
"""What is said to be done, the facts that say so, and words with which it means something else."""
_SOLVED = re.compile(
    r"\b(?:fixed|resolved|solved|gone|cured|repaired|error-free|bug-free|works\s+(?:now|again|fine)"
    r"|works\s+as\s+(?:expected|intended)|disappeared)\b"
)
_FLAWLESS = re.compile(
    r"\bno\s+(?:more\s+|longer\s+any\s+|remaining\s+|open\s+|known\s+|further\s+)*"
    r"(?:errors?|failures?|issues?|problems?|bugs?)\b|\bnothing\s+(?:fails|is\s+broken)\b"
    r"|\b(?:all|every|everything)\b.{0,40}\b(?:fixed|resolved|solved)\b|\b(?:everything|all)\s+(?:now\s+)?(?:works|is\s+working)\b"
    r"|\bwithout\s+(?:any\s+)?errors\b"
)
_FINISHED = re.compile(r"\b(?:done|complete|completed|finished|ready|implemented)\b")
_ALL_FINISHED = re.compile(
    r"\b(?:all|everything|work|task|tasks|project|job|whole|entire)\b.{0,40}"
    r"\b(?:done|complete|completed|finished)\b|^\W*(?:done|complete|completed|finished)\W*$"
    r"|\bnothing\s+(?:is\s+|else\s+is\s+)?(?:left|remains|remaining|to\s+do|open)\b"
    r"|\bno\s+(?:open|remaining|further|outstanding|more)\s+(?:tasks?|todos?|steps?|work|items?)\b"
)
_LIFTED = re.compile(
    r"\b(?:no\s+longer|any\s?more|lifted|void|withdrawn|revoked|rescinded|waived|obsolete|superseded"
    r"|overruled|overridden|cancell?ed|dropped|relaxed|suspended|expired|optional|irrelevant|ignored"
    r"|(?:may|can)\s+(?:now|again)|(?:fine|ok|okay|allowed|permitted|safe|possible)\s+(?:now|again)"
    r"|(?:now|again)\s+(?:fine|ok|okay|allowed|permitted|safe|possible)|allowed|permitted)\b"
)
"""Words with which a rule would not hold any more."""
_RULES_LIFTED = re.compile(
    rf"\b(?:instructions?|rules|restrictions?|constraints|prohibitions?|(?:every|each|any|user's)\s+rule)"
    rf"\b.{{0,40}}?(?:{_LIFTED.pattern}|\b(?:removed|deleted|gone)\b|\bnot\s+(?:apply|hold|matter|bind))"
    r"|\bno\s+(?:\w+\s+){0,2}(?:instructions|rules|restrictions|constraints|prohibitions)\b"
)
"""The same of all rules, whatever they are about."""
_ACTIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"^(?:newly\s+)?created\W*$|\b(?:created|new)\s+(?:(?:the|this|as|a|new)\s+)*(?:file|module|script)\b|\bfile\s+(?:was\s+|is\s+|has\s+been\s+)?(?:newly\s+)?created\b"
        ),
        "created",
    ),
    (
        re.compile(
            r"^(?:deleted|removed)\W*$|\b(?:deleted|removed)\s+(?:(?:the|this|whole|entire)\s+)*file\b|\bfile\s+(?:was\s+|is\s+|has\s+been\s+)?(?:deleted|removed)\b"
        ),
        "deleted",
    ),
    (
        re.compile(
            r"^renamed\W*$|\brenamed\s+(?:(?:the|this)\s+)*file\b|\bfile\s+(?:was\s+|is\s+|has\s+been\s+)?(?:renamed|moved)\b"
        ),
        "renamed",
    ),
)
_NAMED = re.compile(
    r"\b(created|deleted|renamed)\s+(?:the\s+)?(?:file\s+)?`?([^\s`,;]+?)`?(?=[\s,;.]*(?:\s|$))"
)


def contradicts(folded: str, rest: str, standing: Standing, path: str = "") -> bool:
    """Whether a sentence says what the facts do not. `rest`: the same without quotes and names;
    `path`: the file it is about, if any."""
    clauses = [part for part in _CLAUSE.split(rest) if part and part.strip()]
    return any(check(clause, standing) for clause in clauses for check in _CHECKS) or (
        _other_action(folded, standing, path)
    )


def _passes(clause: str, standing: Standing) -> bool:
    """Says that checks succeed, where the newest run failed or there was none."""
    for checks, subject in (*(((c,), s) for c, s in _SUBJECT.items()), (CHECKS, _ANY)):
        good = re.search(
            rf"\b{subject}\b.{{0,50}}?\b{_GOOD}\b|\b{_GOOD}\s+(?:\w+\s+)?{subject}\b", clause
        )
        if good and not _LEFT_OPEN.search(clause) and not _is_counted(clause, standing):
            ran = [standing.runs[check] for check in checks if check in standing.runs]
            return not ran or not all(ran)
    return False


def _is_counted(clause: str, standing: Standing) -> bool:
    """Says how many, as a test runner did: that others failed may stand beside it."""
    found = _COUNT.search(clause)
    return (
        found is not None
        and not re.search(r"\b(?:all|every)\b", clause)
        and (_number(found[1]) in standing.counted.passed)
    )


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _fails(clause: str, standing: Standing) -> bool:
    """Says that tests fail now, where the newest run succeeded."""
    bad = re.search(rf"\btests?\b.{{0,30}}?\b(?:still|now|currently)\s+{_BAD}\b", clause)
    return bad is not None and standing.runs.get("test") is True


def _counts(clause: str, standing: Standing) -> bool:
    """Gives another count than any test runner gave."""
    for digits, verb in _COUNT.findall(clause):
        column = standing.counted.passed if verb.startswith("pass") else standing.counted.failed
        if column and _number(digits) not in column:
            return True
    return False


def _is_done(clause: str, standing: Standing) -> bool:
    """Says that something went to the repository or to the users, where no fact does."""
    if _LEFT_OPEN.search(clause):
        return False
    return any(
        re.search(rf"(?:{_SAID_OF}|^\W*)(?:{verb})\b(?!-){_BEHIND}|{_SAID_OF}(?:{verb})\b", clause)
        is not None
        and not (means and re.search(rf"\b(?:{means})", clause))
        and not (facts & standing.done)
        for verb, facts, means in _DONE
    )


def _is_solved(clause: str, standing: Standing) -> bool:
    """Says that an error is gone which is still open."""
    if not standing.errors:
        return False
    if _FLAWLESS.search(clause):
        return True
    if not _SOLVED.search(clause) or _LEFT_OPEN.search(clause):
        return False
    return _is_about(clause, standing.errors)


def _is_finished(clause: str, standing: Standing) -> bool:
    """Says that work is finished which is still on the list."""
    if not standing.todos:
        return False
    if _ALL_FINISHED.search(clause):
        return not re.search(r"\b(?:not|n't|yet|almost|nearly|until|if|once)\b", clause)
    if not _FINISHED.search(clause) or _LEFT_OPEN.search(clause):
        return False
    return _is_about(clause, standing.todos)


def _is_lifted(clause: str, standing: Standing) -> bool:
    """Says that a rule of the user's does not hold any more. Only the user's own words say that."""
    if _RULES_LIFTED.search(clause):
        return True
    return _LIFTED.search(clause) is not None and _is_about(clause, standing.rules)


def _is_about(clause: str, matters: Iterable[frozenset[str]]) -> bool:
    words = frozenset(matter(clause))
    return any(len(words & one) >= min(SHARED, len(words)) for one in matters if words)


def _other_action(folded: str, standing: Standing, path: str) -> bool:
    """Says of a file that it was created, deleted or renamed, where it was something else."""
    if path in standing.actions:
        done = standing.actions[path]
        if any(cue.search(folded) and action not in done for cue, action in _ACTIONS):
            return True
    return any(
        action not in done
        for action, name in _NAMED.findall(folded)
        for known, done in standing.actions.items()
        if f"/{known.casefold()}".endswith(f"/{name}")
    )


_CHECKS: tuple[Callable[[str, Standing], bool], ...] = (
    _passes,
    _fails,
    _counts,
    _is_done,
    _is_solved,
    _is_finished,
    _is_lifted,
)
