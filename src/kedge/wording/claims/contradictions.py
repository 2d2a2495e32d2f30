"""Sentences that say of the work what the facts do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from kedge.wording.claims.clauses import clauses_of, is_negated, is_open
from kedge.wording.claims.outcomes import contradicts_runs, tells_run
from kedge.wording.claims.standing import Standing
from kedge.wording.claims.words import content, matter, tells

SHARED = 2
"""Words that a sentence shares with an error or a todo that it speaks of."""
LEAST_OF_TODO = 0.5
"""Share of the words of a todo in a sentence that speaks of it."""

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
_THERE: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (
        re.compile(
            r"\b(?:is|are|was|were|now|landed|lives?|arrived|already)\s+(?:\w+\s+){0,2}?(?:on|in|into)"
            r"\s+(?:main|master|trunk|production|prod|upstream)\b"
        ),
        frozenset({"trunk", "deploy"}),
    ),
    (
        re.compile(
            r"\bcommits?\b.{0,60}\b(?:exists?|(?:was|were|been|is|are)\s+(?:made|created|there))\b"
        ),
        frozenset({"commit", "push", "pull_request", "merge", "tag"}),
    ),
    (
        re.compile(
            r"\b(?:pull|merge)\s+request\b.{0,80}\b(?:exists?|waits?|(?:is|was|been)\s+"
            r"(?:open|opened|made|created|there|up))\b"
        ),
        frozenset({"pull_request"}),
    ),
    (
        re.compile(
            r"\b(?:release|version|package)\b.{0,30}\bis\s+out\b|\b(?:is|are|went)\s+live\b"
        ),
        frozenset({"tag", "deploy"}),
    ),
)
"""What is said to be there, and the facts that say so."""
_ABSENT = re.compile(
    r"\b(?:commit\w*|push\w*|merg\w*|deploy\w*|releas\w*|publish\w*|uncommitted|unpushed|unmerged)\b"
)
_REACHED = frozenset({"commit", "push", "pull_request", "merge", "tag", "deploy"})
_READY = re.compile(
    r"\b(?:ready\s+(?:to|for)\s+(?:be\s+)?(?:ship|releas|merg|deploy|go\b|publish|push|production|launch)"
    r"|(?:shippable|releasable|mergeable|deployable|production-ready))"
)
_TOLD_DONE = re.compile(
    r"\b(?:is|are|was|were|been|got|gets|now|already|has|have)\s+(?:(?:\w+ly|now|already|been|all)\s+)*"
    r"(?!(?:plann|need|requir|request|ask|start|consider|discuss|describ|expect|want|list|suppos"
    r"|call|nam|bas|schedul|block|postpon|deferr|us|track|record|not|mention|referr|offer|relat)ed\b)"
    r"(?:\w+ed|written|done|built|made|run|ran|set|put|open|there|up|in\s+place|available)\b|\bexists?\b"
)
"""Says of something that it was done, and not only spoken of."""
_SOLVED = re.compile(
    r"\b(?:fixed|resolved|solved|gone|cured|repaired|error-free|bug-free|works\s+(?:now|again|fine)"
    r"|works\s+as\s+(?:expected|intended)|disappeared|dealt\s+with|taken\s+care\s+of|addressed"
    r"|handled|sorted(?:\s+out)?|overcome|cleared(?:\s+up)?|out\s+of\s+the\s+way|behind\s+us|eliminated"
    r"|no\s+longer\s+(?:occurs?|appears?|happens?|raised|fails?|there|shows?|seen))\b"
)
_FAILURE = re.compile(r"\b(?:tests?|bugs?|errors?|fail\w*|issues?|problems?|crash\w*|defects?)\b")
"""With one of these a sentence speaks of an error by a single word of its matter."""
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


def contradicts(lowered: str, rest: str, standing: Standing, path: str = "") -> bool:
    """Whether a sentence says what the facts do not. `rest`: the same without quotes and names;
    `path`: the file it is about, if any."""
    return any(check(clause, standing) for clause in clauses_of(rest) for check in _CHECKS) or (
        _other_action(lowered, standing, path)
    )


def is_known(rest: str, standing: Standing) -> bool:
    """Whether all that a sentence says is known by code: that nothing was committed, what a check
    came to."""
    return all(
        _is_absent(clause, standing) or tells_run(clause, standing) for clause in clauses_of(rest)
    )


def _is_absent(clause: str, standing: Standing) -> bool:
    said = _ABSENT.search(clause)
    return (
        said is not None
        and (is_negated(clause) or said[0].startswith("un"))
        and not _REACHED & standing.done
    )


def _is_done(clause: str, standing: Standing) -> bool:
    """Says that something went to the repository or to the users, where no fact does."""
    if is_open(clause):
        return False
    if any(there.search(clause) and not facts & standing.done for there, facts in _THERE):
        return True
    return any(
        re.search(rf"(?:{_SAID_OF}|^\W*)(?:{verb})\b(?!-){_BEHIND}|{_SAID_OF}(?:{verb})\b", clause)
        is not None
        and not (means and re.search(rf"\b(?:{means})", clause))
        and not (facts & standing.done)
        for verb, facts, means in _DONE
    )


def _is_ready(clause: str, standing: Standing) -> bool:
    """Says that it may go out, where something is open or the newest run of a check failed."""
    if not _READY.search(clause) or is_open(clause):
        return False
    return bool(standing.errors or standing.todos) or False in standing.runs.values()


def _is_solved(clause: str, standing: Standing) -> bool:
    """Says that an error is gone which is still open."""
    if not standing.errors:
        return False
    if _FLAWLESS.search(clause):
        return True
    found = _SOLVED.search(clause)
    rest = clause[: found.start()] + clause[found.end() :] if found else ""
    if not found or is_open(rest):
        return False
    least = 1 if _FAILURE.search(rest) else SHARED
    return _is_about(rest, standing.errors, least)


def _is_finished(clause: str, standing: Standing) -> bool:
    """Says that work is finished which is still on the list."""
    if not standing.todos:
        return False
    if _ALL_FINISHED.search(clause):
        return not re.search(r"\b(?:not|n't|yet|almost|nearly|until|if|once)\b", clause)
    if is_open(clause):
        return False
    if _FINISHED.search(clause) and _is_about(clause, standing.todos):
        return True
    return _TOLD_DONE.search(clause) is not None and _is_todo(clause, standing.untouched)


def _is_todo(clause: str, todos: Iterable[frozenset[str]]) -> bool:
    words = frozenset(content(clause))
    for todo in todos:
        shared = words & todo
        if len(shared) >= max(SHARED, LEAST_OF_TODO * len(todo)) and any(map(tells, shared)):
            return True
    return False


def _is_lifted(clause: str, standing: Standing) -> bool:
    """Says that a rule of the user's does not hold any more. Only the user's own words say that."""
    if _RULES_LIFTED.search(clause):
        return True
    return _LIFTED.search(clause) is not None and _is_about(clause, standing.rules)


def _is_about(clause: str, matters: Iterable[frozenset[str]], least: int = SHARED) -> bool:
    words = frozenset(matter(clause))
    return any(len(words & one) >= min(least, len(words)) for one in matters if words)


def _other_action(lowered: str, standing: Standing, path: str) -> bool:
    """Says of a file that it was created, deleted or renamed, where it was something else."""
    if path in standing.actions:
        done = standing.actions[path]
        if any(cue.search(lowered) and action not in done for cue, action in _ACTIONS):
            return True
    return any(
        action not in done
        for action, name in _NAMED.findall(lowered)
        for known, done in standing.actions.items()
        if f"/{known.casefold()}".endswith(f"/{name}")
    )


_CHECKS: tuple[Callable[[str, Standing], bool], ...] = (
    contradicts_runs,
    _is_done,
    _is_ready,
    _is_solved,
    _is_finished,
    _is_lifted,
)
