"""Sentences about what tests, builds and other checks came to."""

from __future__ import annotations

import re

from kedge.wording.claims.clauses import OPEN, is_negated
from kedge.wording.claims.numerals import WORDS
from kedge.wording.claims.standing import RUN_KINDS, RunKind, Standing

_SUBJECT: dict[RunKind, str] = {
    "test": r"(?:tests?|test\s?suite|suite|specs?|pytest|unittest|jest|vitest|mocha|rspec)",
    "build": r"(?:builds?|compil\w+)",
    "lint": r"(?:lint\w*|formatting|type\s?checks?|static\s+analysis|mypy|ruff|eslint)",
}
_ANY = r"(?:checks?|ci|pipeline|everything|all)"
_GOOD = (
    r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:es|ful|fully)?|clean(?:ly)?|ok|okay"
    r"|works?|worked|fine|healthy)"
)
_BAD = r"(?:fail(?:s|ed|ing|ures?)?|red|broken|breaks?)"
_NOW_BAD = re.compile(rf"\btests?\b.{{0,30}}?\b(?:still|now|currently)\s+{_BAD}\b")
_PATTERNS: tuple[tuple[tuple[RunKind, ...], re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (
        checks,
        re.compile(rf"\b{s}\b.{{0,50}}?\b{_GOOD}\b|\b{_GOOD}\s+(?:\w+\s+){{0,3}}{s}\b"),
        re.compile(rf"\b{s}\b.{{0,50}}?\b{_BAD}\b|\b{_BAD}\s+(?:\w+\s+){{0,3}}{s}\b"),
    )
    for checks, s in (*(((c,), s) for c, s in _SUBJECT.items()), (RUN_KINDS, _ANY))
)
"""By kinds of checks: that they succeed, and that they fail."""
_NUMBER = rf"\d[\d,]*|one|{'|'.join(word for word, its in WORDS.items() if its)}"
_OF = re.compile(rf"\b({_NUMBER})\s+(?:out\s+)?of\s+(?:(?:the|all|these|its)\s+)*({_NUMBER})?\b")
_COUNT = re.compile(
    rf"(?<![\w.])({_NUMBER})\s+(?:\w+\s+){{0,3}}?(?:tests?|specs?|checks?)?\s?(?:\w+\s+){{0,2}}?"
    r"\b(pass(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?)\b"
)


def contradicts_runs(clause: str, standing: Standing) -> bool:
    """Whether a clause says another outcome than the newest run of a check, or another count."""
    return (
        _passes(clause, standing)
        or (_NOW_BAD.search(clause) is not None and standing.runs.get("test") is True)
        or _miscounts(clause, standing)
    )


def speaks_of_tests(lowered: str) -> bool:
    return re.search(rf"\b{_SUBJECT['test']}\b", lowered) is not None


def tells_run(clause: str, standing: Standing) -> bool:
    """Whether a clause says what the newest run of a check came to, as it was."""
    for checks, good, bad in _PATTERNS[:-1]:
        found = _says(clause, good, bad)
        if found is not None and not OPEN.search(clause):
            return found is standing.runs.get(checks[0])
    return False


def _passes(clause: str, standing: Standing) -> bool:
    """Says that checks succeed, where the newest run failed or there was none."""
    if OPEN.search(clause):
        return False
    for checks, good, bad in _PATTERNS:
        if _says(clause, good, bad) and not _is_counted(clause, standing):
            ran = [standing.runs[check] for check in checks if check in standing.runs]
            return not ran or not all(ran)
    return False


def _says(clause: str, good: re.Pattern[str], bad: re.Pattern[str]) -> bool | None:
    """Whether checks succeed, by a clause: what does not fail does."""
    succeeds, fails = good.search(clause) is not None, bad.search(clause) is not None
    if succeeds == fails:
        return None
    return succeeds is not is_negated(clause)


def _is_counted(clause: str, standing: Standing) -> bool:
    """Says how many, as a test runner did: that others failed may stand beside it."""
    found = _COUNT.search(_counted_of(clause))
    return (
        found is not None
        and not re.search(r"\b(?:all|every)\b", clause)
        and found[2].startswith("pass")
        and _number(found[1]) in standing.counted.passed
    )


def _miscounts(clause: str, standing: Standing) -> bool:
    counted = standing.counted
    sums = counted.whole | counted.passed | counted.failed if speaks_of_tests(clause) else ()
    if sums and any(whole and _number(whole) not in sums for _, whole in _OF.findall(clause)):
        return True
    for number, verb in _COUNT.findall(_counted_of(clause)):
        column = counted.passed if verb.startswith("pass") else counted.failed
        told = number[0].isdigit() or speaks_of_tests(clause)
        if column and told and _number(number) not in column:
            return True
    return False


def _counted_of(clause: str) -> str:
    """Without the whole of which some are counted: three of four."""
    return _OF.sub(r"\1 ", clause)


def _number(word: str) -> int:
    return int(WORDS.get(word) or word.replace(",", "").replace("one", "1"))
